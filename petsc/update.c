/* When the compressed form of a sequential matrix is stale, and how it is made and renewed. */
#include "matmacko.h"

#include <string.h>

/* PETSc counts the first one up with every change of A, the second one with every change of its pattern. */
PetscErrorCode MackoCurrentState(Mat A, PetscObjectState *state, PetscObjectState *nonzerostate)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, state));
  PetscCall(MatGetNonzeroState(A, nonzerostate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of columns is part of the key, because AIJ under MPI may give an off-diagonal block fewer columns (it leaves out
   those without entries) with counters of states as before. */
PetscErrorCode MackoIsFresh(Mat A, PetscBool *fresh)
{
  Mat_Macko       *m = MackoOf(A);
  PetscObjectState state, nonzerostate;

  PetscFunctionBegin;
  PetscCall(MackoCurrentState(A, &state, &nonzerostate));
  *fresh = (PetscBool)(m && (m->compressed || MackoDeviceCurrent(m)) && MackoOwns(m, A) && m->state == state &&
                       m->nonzerostate == nonzerostate && m->ncols == A->cmap->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host's form is asked first; both say the same where both are there. */
PetscBool MackoInfo(const Mat_Macko *m, macko_info *info)
{
  if (m->compressed) macko_get_info(m->compressed, info);
  else if (MackoDeviceCurrent(m)) MackoDeviceInfo(m, info);
  else return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Encodes the rows with m's options: on the GPU if device says so and it has the room, else on the CPU. The CPU cannot encode
   rows that are in GPU memory; then *done is PETSC_FALSE and the caller opens the rows on the host. On the CPU the form may
   borrow AIJ's arrays instead of copying them. A failure leaves the present form as it is. The time is counted, and taken out of
   the product's log event. */
static PetscErrorCode Encode(Mat_Macko *m, const MackoRows *rows, PetscBool device, PetscBool *done, macko_status *status,
                             macko_error *err)
{
  macko_matrix  *fresh   = NULL;
  PetscBool      on_host = PETSC_FALSE;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(PetscLogEventBegin(MACKO_Encode, 0, 0, 0, 0));
  PetscCall(PetscTime(&start));
  if (device) PetscCall(MackoDeviceEncode(m, rows, PETSC_FALSE, done, status, err));
  if (!*done && !rows->device) {
    *status = macko_encode_borrowed(&rows->csr, &m->options, &fresh, err); /* a change of AIJ's arrays makes it stale */
    on_host = *done = PETSC_TRUE;
  }
  PetscCall(PetscTime(&end));
  PetscCall(PetscLogEventEnd(MACKO_Encode, 0, 0, 0, 0));
  if (*status || !*done) PetscFunctionReturn(PETSC_SUCCESS);
  if (on_host) {
    macko_destroy(&m->compressed);
    m->compressed = fresh;
  }
  m->encodes++;
  m->multiplied = m->timed = 0, m->multiply_seconds = 0; /* these were of another form */
  PetscCall(MackoLogOutsideProduct(end - start));
  if (!on_host) m->device_encodes = m->encodes, m->device_refreshes = m->refreshes;
  m->encode_seconds += end - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes new values for the pattern that was encoded. It is done on the GPU only where the form there is the present one; else on
   the host, to which the form is fetched first if need be. *done is as in Encode. MACKO_INVALID_MATRIX says that the pattern is
   another one after all. */
static PetscErrorCode Refresh(Mat_Macko *m, const MackoRows *rows, PetscBool device, PetscBool *done, macko_status *status,
                              macko_error *err)
{
  PetscBool      on_host = PETSC_FALSE;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCall(PetscLogEventBegin(MACKO_Refresh, 0, 0, 0, 0));
  PetscCall(PetscTime(&start));
  if (device && MackoDeviceCurrent(m)) PetscCall(MackoDeviceEncode(m, rows, PETSC_TRUE, done, status, err));
  if (!*done && !rows->device) {
    PetscCall(MackoDeviceFetch(m, status, err));
    if (!*status) *status = macko_refresh(m->compressed, &rows->csr, err);
    on_host = *done = PETSC_TRUE;
  }
  PetscCall(PetscTime(&end));
  PetscCall(PetscLogEventEnd(MACKO_Refresh, 0, 0, 0, 0));
  if (*status || !*done) PetscFunctionReturn(PETSC_SUCCESS);
  m->refreshes++;
  PetscCall(MackoLogOutsideProduct(end - start));
  if (!on_host) m->device_refreshes = m->refreshes;
  m->refresh_seconds += end - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says whether the form is wanted in GPU memory: for vectors that A hands out there, or where -mat_macko_backend cuda asks for
   it. */
PetscBool MackoWantsDevice(Mat A, const Mat_Macko *m)
{
  return (PetscBool)(MackoDeviceAllowed(A, NULL) && (!strcmp(A->defaultvectype, VECCUDA) || m->backend == MACKO_BACKEND_CUDA));
}

/* Brings the form to the GPU after the host has made it. Where the user has asked for the GPU and there is none, that is an error
   with the reason; a matrix that the program has bound to the CPU meanwhile is none. */
static PetscErrorCode UpdateDevice(Mat A, Mat_Macko *m, macko_status *status, macko_error *err)
{
  const char *why;

  PetscFunctionBegin;
  if (MackoDeviceAllowed(A, &why)) {
    if (MackoWantsDevice(A, m)) PetscCall(MackoDeviceUpdate(m, status, err));
  } else if (m->backend == MACKO_BACKEND_CUDA && !MackoBoundToCPU(A)) {
    *status = MACKO_DEVICE;
    PetscCall(PetscSNPrintf(err->text, sizeof err->text, "-mat_macko_backend cuda: %s", why));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row pointers and columns are borrowed from AIJ, not copied. MatRestoreRowIJ is called at once, which is harmless because it
   gives nothing back for AIJ's own arrays. The values stay open until MackoCloseRows. */
PetscErrorCode MackoOpenRows(Mat A, PetscBool device, MackoRows *rows)
{
  macko_type         index = sizeof(PetscInt) == 8 ? MACKO_I64 : MACKO_I32;
  const PetscInt    *ia, *ja;
  const PetscScalar *values;
  PetscInt           n;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the matrix does not give out its rows");
  rows->nnz    = ia[n];
  rows->device = PETSC_FALSE;
  rows->csr    = (macko_csr){.nrows = n, .ncols = A->cmap->n, .row_ptr_type = index, .col_type = index, .value_type = MACKO_F64,
                             .row_ptr = ia, .cols = ja};
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done)); /* AIJ's own arrays stay */
  if (device && rows->nnz) PetscCall(MackoCusparseArrays(A, &ia, &ja, &values, &rows->device));
  if (rows->device) rows->csr.row_ptr = ia, rows->csr.cols = ja;
  else PetscCall(MatSeqAIJGetArrayRead(A, &values));
  rows->csr.values = values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays in GPU memory were only looked at (MackoCusparseArrays), so only the host's values are given back. */
PetscErrorCode MackoCloseRows(Mat A, MackoRows *rows)
{
  const PetscScalar *values = (const PetscScalar *)rows->csr.values;

  PetscFunctionBegin;
  if (!rows->device) PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A run of rows without entries is told by its ends alone: off-diagonal blocks have millions. A compiler adds up the rows of other
   runs in vector registers, as it does not where it must count a rest as well. */
PetscInt MackoNonemptyRows(PetscInt n, const PetscInt *ia)
{
  enum { RUN = 128 };
  PetscInt count = 0, i = 0;
  for (; i + RUN <= n; i += RUN) {
    if (ia[i] == ia[i + RUN]) continue;
    for (PetscInt k = i; k < i + RUN; k++) count += ia[k + 1] > ia[k];
  }
  for (; i < n; i++) count += ia[i + 1] > ia[i];
  return count;
}

/* AIJ counts operations by them. Rows that are in GPU memory are counted there: reading the host's takes as long as half of what
   encoding does. */
static PetscErrorCode CountNonemptyRows(const MackoRows *rows, PetscInt *count)
{
  PetscFunctionBegin;
  if (rows->device) PetscCall(MackoDeviceNonemptyRows(rows, count));
  else *count = MackoNonemptyRows((PetscInt)rows->csr.nrows, (const PetscInt *)rows->csr.row_ptr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is done where the form is fresh. Otherwise options are read (the first time), and the form is refreshed where the
   pattern is known to be the encoded one, or encoded anew. The loop runs at most twice: with rows in GPU memory first, then,
   if the GPU lacks the room, with rows on the host. What m remembers of A is written last, so that a failure leaves the form
   stale. */
PetscErrorCode MackoUpdate(Mat A, macko_status *status, macko_error *err)
{
  Mat_Macko       *m;
  PetscObjectState state, nonzerostate;
  PetscBool        fresh, refresh, device, done = PETSC_FALSE;
  MackoRows        rows;

  PetscFunctionBegin;
  *status = MACKO_OK, err->place = 0; /* not all sentences are the library's */
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoIsFresh(A, &fresh));
  if (fresh) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoKeepComposed(A)); /* from here on a change that goes unnoticed would count */
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(MackoCurrentState(A, &state, &nonzerostate));
  device            = MackoWantsDevice(A, m);
  m->options.target = device ? MACKO_TARGET_GPU : MACKO_TARGET_CPU;
  /* The pattern is taken for the encoded one where its state says so; the refresh then proves it. */
  refresh = (PetscBool)((m->compressed || MackoDeviceCurrent(m)) && MackoOwns(m, A) && m->nonzerostate == nonzerostate &&
                        m->ncols == A->cmap->n);
  /* Rows in GPU memory come first; the second time round, where that lacks the room, rows are on the host. */
  for (PetscBool there = device; !done && !*status; there = PETSC_FALSE) {
    PetscCall(MackoOpenRows(A, there, &rows));
    if (refresh) PetscCall(Refresh(m, &rows, device, &done, status, err));
    /* The rows have the same lengths and other columns, which no state tells of. */
    if (*status == MACKO_INVALID_MATRIX) {
      *status = MACKO_OK, refresh = PETSC_FALSE;
      nonzerostate = ++A->nonzerostate; /* AIJCUSPARSE, too, then copies columns again, and not values alone */
    }
    if (!refresh) PetscCall(CountNonemptyRows(&rows, &m->nonempty_rows));
    if (!refresh) PetscCall(Encode(m, &rows, device, &done, status, err));
    PetscCall(MackoCloseRows(A, &rows));
  }
  if (!*status) PetscCall(UpdateDevice(A, m, status, err));
  if (*status) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoCusparseRelease(A));
  MackoSetOwner(m, A);
  m->state = state, m->nonzerostate = nonzerostate, m->ncols = A->cmap->n, m->nnz = rows.nnz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of sequential matrices, and of blocks that somebody else multiplies with, come here. */
PetscErrorCode MackoUpdateSeq(Mat A)
{
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(MackoUpdate(A, &status, &err));
  if (status) MackoPlaceError(0, 0, NULL, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
