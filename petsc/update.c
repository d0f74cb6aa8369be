/* When the compressed form of a sequential matrix is stale, and how it is made and renewed. */
#include "matmacko.h"

#include <string.h>

static PetscErrorCode CurrentState(Mat A, PetscObjectState *state, PetscObjectState *nonzerostate)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)A, state));
  PetscCall(MatGetNonzeroState(A, nonzerostate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoIsFresh(Mat A, PetscBool *fresh)
{
  Mat_Macko       *m = (Mat_Macko *)A->spptr;
  PetscObjectState state, nonzerostate;

  PetscFunctionBegin;
  PetscCall(CurrentState(A, &state, &nonzerostate));
  *fresh = (PetscBool)(m && (m->compressed || MackoDeviceCurrent(m)) && m->owner == A && m->state == state &&
                       m->nonzerostate == nonzerostate && m->ncols == A->cmap->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool MackoInfo(const Mat_Macko *m, macko_info *info)
{
  if (m->compressed) macko_get_info(m->compressed, info);
  else if (MackoDeviceCurrent(m)) MackoDeviceInfo(m, info);
  else return PETSC_FALSE;
  return PETSC_TRUE;
}

/* On the GPU where the form is wanted there, else on the CPU. */
static PetscErrorCode Encode(Mat_Macko *m, const macko_csr *csr, PetscBool device, macko_status *status, macko_error *err)
{
  macko_matrix  *fresh = NULL;
  PetscBool      done  = PETSC_FALSE;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MACKO_Encode, 0, 0, 0, 0));
  PetscCall(PetscTime(&start));
  if (device) PetscCall(MackoDeviceEncode(m, csr, PETSC_FALSE, &done, status, err));
  if (!done) *status = macko_encode(csr, &m->options, &fresh, err);
  PetscCall(PetscTime(&end));
  PetscCall(PetscLogEventEnd(MACKO_Encode, 0, 0, 0, 0));
  if (*status) PetscFunctionReturn(PETSC_SUCCESS);
  if (!done) {
    macko_destroy(&m->compressed);
    m->compressed = fresh;
  }
  m->encodes++;
  if (done) m->device_encodes = m->encodes, m->device_refreshes = m->refreshes;
  m->encode_seconds += end - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neither the state of the matrix nor that of its nonzeros tells new values from new columns in rows of the same lengths: the
   library does, and *fits is PETSC_FALSE then. */
static PetscErrorCode Refresh(Mat_Macko *m, const macko_csr *csr, PetscBool device, PetscBool *fits, macko_status *status,
                              macko_error *err)
{
  PetscBool      done = PETSC_FALSE;
  PetscLogDouble start, end;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MACKO_Refresh, 0, 0, 0, 0));
  PetscCall(PetscTime(&start));
  if (device && MackoDeviceCurrent(m)) PetscCall(MackoDeviceEncode(m, csr, PETSC_TRUE, &done, status, err));
  if (!done) {
    PetscCall(MackoDeviceFetch(m, status, err));
    if (!*status) *status = macko_refresh(m->compressed, csr, err);
  }
  PetscCall(PetscTime(&end));
  PetscCall(PetscLogEventEnd(MACKO_Refresh, 0, 0, 0, 0));
  *fits = (PetscBool)(*status != MACKO_INVALID_MATRIX);
  if (*status) PetscFunctionReturn(PETSC_SUCCESS);
  m->refreshes++;
  if (done) m->device_refreshes = m->refreshes;
  m->refresh_seconds += end - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy in GPU memory for vectors that A hands out there, or where it was asked for. */
static PetscBool WantsDevice(Mat A, const Mat_Macko *m)
{
  return (PetscBool)(MackoDeviceAllowed(A, NULL) && (!strcmp(A->defaultvectype, VECCUDA) || m->backend == MACKO_BACKEND_CUDA));
}

static PetscErrorCode UpdateDevice(Mat A, Mat_Macko *m, macko_status *status, macko_error *err)
{
  const char *why;

  PetscFunctionBegin;
  if (MackoDeviceAllowed(A, &why)) {
    if (WantsDevice(A, m)) PetscCall(MackoDeviceUpdate(m, status, err));
  } else if (m->backend == MACKO_BACKEND_CUDA && !MackoBoundToCPU(A)) {
    *status = MACKO_DEVICE;
    PetscCall(PetscSNPrintf(err->text, sizeof err->text, "-mat_macko_backend cuda: %s", why));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoUpdate(Mat A, macko_status *status, macko_error *err)
{
  Mat_Macko         *m;
  PetscObjectState   state, nonzerostate;
  PetscBool          fresh, done, fits = PETSC_FALSE;
  PetscInt           n;
  const PetscInt    *ia = NULL, *ja = NULL;
  const PetscScalar *values;
  macko_type         index = sizeof(PetscInt) == 8 ? MACKO_I64 : MACKO_I32;

  PetscFunctionBegin;
  *status = MACKO_OK;
  PetscCall(MackoGet(A, &m));
  PetscCall(MackoIsFresh(A, &fresh));
  if (fresh) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoReadOptions(A, NULL));
  PetscCall(CurrentState(A, &state, &nonzerostate));
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the matrix does not give out its rows");
  PetscCall(MatSeqAIJGetArrayRead(A, &values));
  macko_csr csr = {.nrows = n, .ncols = A->cmap->n, .row_ptr_type = index, .col_type = index, .value_type = MACKO_F64,
                   .row_ptr = ia, .cols = ja, .values = values};
  m->options.target = WantsDevice(A, m) ? MACKO_TARGET_GPU : MACKO_TARGET_CPU;
  m->nonempty_rows = 0;
  for (PetscInt i = 0; i < n; i++) m->nonempty_rows += ia[i + 1] > ia[i];
  if ((m->compressed || MackoDeviceCurrent(m)) && m->owner == A && m->nonzerostate == nonzerostate && m->ncols == A->cmap->n)
    PetscCall(Refresh(m, &csr, WantsDevice(A, m), &fits, status, err));
  if (!fits) PetscCall(Encode(m, &csr, WantsDevice(A, m), status, err));
  PetscCall(MatSeqAIJRestoreArrayRead(A, &values));
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  if (!*status) PetscCall(UpdateDevice(A, m, status, err));
  if (*status) PetscFunctionReturn(PETSC_SUCCESS);
  m->owner = A, m->state = state, m->nonzerostate = nonzerostate, m->ncols = A->cmap->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoUpdateSeq(Mat A)
{
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(MackoUpdate(A, &status, &err));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}
