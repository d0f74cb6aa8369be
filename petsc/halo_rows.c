/* The product of an off-diagonal block most of whose rows are empty, as where ranks share the face of a body: its other rows
 * only, as a matrix of their own, then their results added to those of the diagonal block. The whole block would read and write
 * all of y. */
#include "halo.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo_ways.h"
#include "macko_cuda.h"

/* This holds the rows of an off-diagonal block that have entries, as a matrix of their own. */
struct MackoHaloRows {
  /* These are the identity and the state of the block that this was made from. */
  PetscObjectId    id;
  PetscObjectState state;
  /* The block has n rows, of which so many have entries; count is 0 where no row has, or too many have, so that this way is not
     taken. */
  PetscInt         n, count;
  /* No row of the block has entries: a product with it does nothing. */
  PetscBool        empty;
  /* These are those rows by their numbers in the block, where each begins, and their columns: kept because no counter of PETSc
     proves that the pattern is still the same. */
  int64_t         *rows;
  PetscInt        *starts, *cols;
  /* This sequential matrix of ours has count rows and the block's columns; NULL where count is 0. */
  Mat              compact;
  /* The numbers of the rows are in GPU memory, too. */
  int64_t         *device_rows;
  /* Their results are there as well; the vector below is a view of them. */
  PetscScalar     *sums;
  Vec              sums_vec;
};

/* *rows may be NULL, and is NULL afterwards. */
PetscErrorCode MackoHaloRowsDestroy(MackoHaloRows **rows)
{
  PetscFunctionBegin;
  if (!*rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(&(*rows)->compact));
  PetscCall(PetscFree3((*rows)->rows, (*rows)->starts, (*rows)->cols));
  PetscCall(VecDestroy(&(*rows)->sums_vec));
  cudaFree((*rows)->device_rows); /* cudaFree waits for the GPU */
  cudaFree((*rows)->sums);
  PetscCall(PetscFree(*rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists the rows that are not empty, and where each begins. Runs of empty rows are passed over by their ends. */
static void FindRows(PetscInt n, const PetscInt *ia, MackoHaloRows *h)
{
  enum { RUN = 128 };
  PetscInt count = 0;
  for (PetscInt i = 0; i < n; i++) {
    while (i + RUN < n && ia[i] == ia[i + RUN]) i += RUN;
    if (ia[i + 1] > ia[i]) h->starts[count] = ia[i], h->rows[count++] = i;
  }
  h->starts[count] = ia[n];
}

/* Makes the compact matrix, with options and backend of the whole one. As the rows left out have no entries, the block's columns
   and values serve it as they are. */
static PetscErrorCode MakeCompact(Mat off, const Mat_Macko *whole, MackoHaloRows *h)
{
  const PetscScalar *values;
  Mat_Macko         *m;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &h->compact));
  PetscCall(MatSetSizes(h->compact, h->count, off->cmap->n, h->count, off->cmap->n));
  PetscCall(MatSetType(h->compact, MATSEQAIJMACKO));
  PetscCall(MackoGet(h->compact, &m));
  MackoSetOptions(m, &whole->options);
  m->backend = whole->backend;
  PetscCall(MackoChooseVectors(h->compact));
  PetscCall(MatSeqAIJGetArrayRead(off, &values));
  PetscCall(MatSeqAIJSetPreallocationCSR(h->compact, h->starts, h->cols, values));
  PetscCall(MatSeqAIJRestoreArrayRead(off, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes what products need in GPU memory. */
static PetscErrorCode MakeRoom(MackoHaloRows *h)
{
  const size_t count = (size_t)h->count, bytes = count * sizeof *h->rows;

  PetscFunctionBegin;
  PetscCall(MackoHaloCudaCheck(cudaMalloc((void **)&h->device_rows, bytes)));
  PetscCall(MackoHaloCudaCheck(cudaMemcpy(h->device_rows, h->rows, bytes, cudaMemcpyHostToDevice)));
  PetscCall(MackoHaloCudaCheck(cudaMalloc((void **)&h->sums, count * sizeof(PetscScalar))));
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, h->count, h->sums, &h->sums_vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes *rows from the block. It is worth it where at most half of the rows have entries, and some have: with more of them the
   whole block's product reads and writes little of y in vain. */
static PetscErrorCode Build(Mat off, const Mat_Macko *whole, MackoHaloRows **rows)
{
  PetscInt        n, count;
  const PetscInt *ia, *ja;
  PetscBool       done;
  MackoHaloRows  *h;

  PetscFunctionBegin;
  PetscCall(PetscNew(&h));
  *rows = h;
  PetscCall(MatGetRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no access to the rows of the off-diagonal block");
  count    = MackoNonemptyRows(n, ia);
  h->n     = n;
  h->count = count <= n / 2 ? count : 0;
  h->empty = (PetscBool)!count;
  if (h->count) {
    PetscCall(PetscMalloc3(count, &h->rows, count + 1, &h->starts, ia[n], &h->cols));
    FindRows(n, ia, h);
    PetscCall(PetscArraycpy(h->cols, ja, (size_t)ia[n]));
    PetscCall(MakeRoom(h));
    PetscCall(MakeCompact(off, whole, h));
  }
  PetscCall(MatRestoreRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares rows and columns with those that the compact matrix was made from; without one there is nothing to keep. Where each
   listed row begins and ends as it did, and the last one at the end of all, the rows between have no entries as before. */
static PetscErrorCode HasPattern(Mat off, const MackoHaloRows *h, PetscBool *same)
{
  PetscInt        n;
  const PetscInt *ia, *ja;
  PetscBool       done;

  PetscFunctionBegin;
  *same = (PetscBool)(h->count > 0);
  if (!*same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no access to the rows of the off-diagonal block");
  *same = (PetscBool)(n == h->n && ia[n] == h->starts[h->count] && off->cmap->n == h->compact->cmap->n);
  for (PetscInt k = 0; k < h->count && *same; k++)
    *same = (PetscBool)(ia[h->rows[k]] == h->starts[k] && ia[h->rows[k] + 1] == h->starts[k + 1]);
  if (*same) PetscCall(PetscArraycmp(ja, h->cols, (size_t)ia[n], same));
  PetscCall(MatRestoreRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes new values. The compact matrix holds all entries of the block in their order, so that they are one copy; in GPU memory
   where both are there, else on the host. */
static PetscErrorCode CopyValues(Mat off, MackoHaloRows *h)
{
  const PetscScalar *from;
  PetscScalar       *to;
  MatInfo            info;
  PetscBool          done;

  PetscFunctionBegin;
  PetscCall(MackoCusparseCopyValues(off, h->compact, &done));
  if (done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(h->compact, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetArrayRead(off, &from));
  PetscCall(MatSeqAIJGetArrayWrite(h->compact, &to));
  PetscCall(PetscArraycpy(to, from, (size_t)info.nz_used));
  PetscCall(MatSeqAIJRestoreArrayWrite(h->compact, &to));
  PetscCall(MatSeqAIJRestoreArrayRead(off, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The state tells whether the block changed at all; only then is its pattern compared. The id tells a block that AIJ has made
   anew. */
static PetscErrorCode Follow(Mat off, const Mat_Macko *whole, MackoHaloRows **rows)
{
  PetscObjectId    id;
  PetscObjectState state;
  PetscBool        same;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)off, &id));
  PetscCall(PetscObjectStateGet((PetscObject)off, &state));
  if (*rows && (*rows)->id == id && (*rows)->state == state) PetscFunctionReturn(PETSC_SUCCESS);
  if (*rows) PetscCall(HasPattern(off, *rows, &same));
  if (*rows && !same) PetscCall(MackoHaloRowsDestroy(rows));
  if (*rows) PetscCall(CopyValues(off, *rows));
  else PetscCall(Build(off, whole, rows));
  (*rows)->id = id, (*rows)->state = state;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New options make the compact matrix's form stale, not the matrix. After a failure nothing is kept. */
PetscErrorCode MackoHaloRowsUpdate(Mat off, Mat_Macko *whole, Mat *multiplies, macko_status *status, macko_error *err)
{
  Mat_Macko *m;

  PetscFunctionBegin;
  *multiplies = off;
  *status     = Follow(off, whole, &whole->halo_rows) ? MACKO_DEVICE : MACKO_OK;
  if (*status) {
    PetscCall(PetscSNPrintf(err->text, sizeof err->text, "keeping the rows of the off-diagonal block that have entries"));
    PetscCall(MackoHaloRowsDestroy(&whole->halo_rows));
  } else if (whole->halo_rows->compact) {
    *multiplies = whole->halo_rows->compact;
    PetscCall(MackoGet(*multiplies, &m));
    MackoSetOptions(m, &whole->options);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloRowsFind(Mat off, const Mat_Macko *whole, Mat *multiplies)
{
  const MackoHaloRows *rows = whole->halo_rows;
  PetscObjectId        id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)off, &id));
  *multiplies = rows && rows->id == id && rows->compact ? rows->compact : off;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The compact matrix is multiplied through its own operation; a kernel then adds count results to their rows of y. One addition a
   row is counted. */
PetscErrorCode MackoHaloRowsAdd(MackoHaloRows *h, Vec received, Vec y, cudaStream_t stream, PetscBool *done)
{
  PetscScalar *to;
  PetscMemType where;
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  *done = (PetscBool)(h->count || h->empty);
  if (!h->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscUseTypeMethod(h->compact, mult, received, h->sums_vec);
  PetscCall(VecGetArrayAndMemType(y, &to, &where));
  status = macko_device_add_at(MACKO_F64, h->sums, h->device_rows, h->count, to, stream, &err);
  PetscCall(VecRestoreArrayAndMemType(y, &to));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(PetscLogGpuFlops((PetscLogDouble)h->count));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else /* here no vector is on a GPU */

PetscErrorCode MackoHaloRowsUpdate(Mat off, Mat_Macko *whole, Mat *multiplies, macko_status *status, macko_error *err)
{
  PetscFunctionBegin;
  (void)whole, (void)err;
  *multiplies = off, *status = MACKO_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloRowsFind(Mat off, const Mat_Macko *whole, Mat *multiplies)
{
  PetscFunctionBegin;
  (void)whole;
  *multiplies = off;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
