/* The product of an off-diagonal block most of whose rows are empty, as where ranks share the face of a body: its other rows
 * only, as a matrix of their own, then their results added to those of the diagonal block. The whole block would read and write
 * all of y. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo_ways.h"
#include "macko_cuda.h"

/* This holds the rows of an off-diagonal block that have entries, as a matrix of their own. */
struct MackoHaloRows {
  /* These are the identity and the state of the block that this was made from. */
  PetscObjectId    id;
  PetscObjectState state;
  /* This is a copy of the block's pattern, of n rows, because no counter of PETSc proves that it is still the same. */
  PetscInt         n, *ia, *ja;
  /* This sequential matrix of ours has count rows and the block's columns; NULL where count is 0. */
  Mat              compact;
  /* So many rows have entries; 0 where no row has, or too many have, so that this way is not taken. */
  PetscInt         count;
  /* No row of the block has entries: a product with it does nothing. */
  PetscBool        empty;
  /* The numbers of those rows in the block are in GPU memory. */
  int64_t         *rows;
  /* Their results are there, too; the vector below is a view of them. */
  PetscScalar     *sums;
  Vec              sums_vec;
};

/* *rows may be NULL, and is NULL afterwards. */
PetscErrorCode MackoHaloRowsDestroy(MackoHaloRows **rows)
{
  PetscFunctionBegin;
  if (!*rows) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatDestroy(&(*rows)->compact));
  PetscCall(PetscFree2((*rows)->ia, (*rows)->ja));
  PetscCall(VecDestroy(&(*rows)->sums_vec));
  cudaFree((*rows)->rows); /* cudaFree waits for the GPU */
  cudaFree((*rows)->sums);
  PetscCall(PetscFree(*rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists the rows that are not empty, and where each begins: starts has room for one more than there are such rows, rows for as
   many. Since the rows left out have no entries, the block's columns and values serve the compact matrix as they are. */
static void FindRows(PetscInt n, const PetscInt *ia, PetscInt *starts, int64_t *rows)
{
  PetscInt count = 0;
  for (PetscInt i = 0; i < n; i++)
    if (ia[i + 1] > ia[i]) starts[count] = ia[i], rows[count++] = i;
  starts[count] = ia[n];
}

/* Makes the compact matrix, with options and backend of the whole one. Columns and values are copied from the block; starts are
   those of FindRows. */
static PetscErrorCode MakeCompact(Mat off, const Mat_Macko *whole, const PetscInt *starts, const PetscInt *ja, MackoHaloRows *h)
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
  PetscCall(MatSeqAIJSetPreallocationCSR(h->compact, starts, ja, values));
  PetscCall(MatSeqAIJRestoreArrayRead(off, &values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the compact matrix and what it needs in GPU memory. ia and ja are the block's rows and columns, of n rows. */
static PetscErrorCode Create(Mat off, const Mat_Macko *whole, PetscInt n, const PetscInt *ia, const PetscInt *ja,
                             MackoHaloRows *h)
{
  PetscInt *starts;
  int64_t  *rows;
  size_t    count = (size_t)h->count;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(count + 1, &starts, count, &rows));
  FindRows(n, ia, starts, rows);
  PetscCall(MackoHaloCudaCheck(cudaMalloc((void **)&h->rows, count * sizeof *rows)));
  PetscCall(MackoHaloCudaCheck(cudaMemcpy(h->rows, rows, count * sizeof *rows, cudaMemcpyHostToDevice)));
  PetscCall(MackoHaloCudaCheck(cudaMalloc((void **)&h->sums, count * sizeof(PetscScalar))));
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, h->count, h->sums, &h->sums_vec));
  PetscCall(MakeCompact(off, whole, starts, ja, h));
  PetscCall(PetscFree2(starts, rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes *rows from the block. It is worth it where at most half of the rows have entries, and some have: with more of them the
   whole block's product reads and writes little of y in vain. */
static PetscErrorCode Build(Mat off, const Mat_Macko *whole, MackoHaloRows **rows)
{
  PetscInt        n, count = 0;
  const PetscInt *ia, *ja;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(PetscNew(rows));
  PetscCall(MatGetRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no access to the rows of the off-diagonal block");
  (*rows)->n = n;
  PetscCall(PetscMalloc2(n + 1, &(*rows)->ia, ia[n], &(*rows)->ja));
  PetscCall(PetscArraycpy((*rows)->ia, ia, (size_t)n + 1));
  PetscCall(PetscArraycpy((*rows)->ja, ja, (size_t)ia[n]));
  for (PetscInt i = 0; i < n; i++) count += ia[i + 1] > ia[i];
  (*rows)->count = count <= n / 2 ? count : 0;
  (*rows)->empty = (PetscBool)!count;
  if ((*rows)->count) PetscCall(Create(off, whole, n, ia, ja, *rows));
  PetscCall(MatRestoreRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Compares row lengths, then columns, with those that the compact matrix was made from. */
static PetscErrorCode HasPattern(Mat off, const MackoHaloRows *h, PetscBool *same)
{
  PetscInt        n;
  const PetscInt *ia, *ja;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(off, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "no access to the rows of the off-diagonal block");
  *same = (PetscBool)(n == h->n);
  if (*same) PetscCall(PetscArraycmp(ia, h->ia, (size_t)n + 1, same));
  if (*same) PetscCall(PetscArraycmp(ja, h->ja, (size_t)ia[n], same));
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
   anew. New options make the compact matrix's form stale, not the matrix. It is encoded here, and not by some later product, in the
   middle of which the other ranks could not be told of a failure. */
PetscErrorCode MackoHaloRowsUpdate(Mat off, const Mat_Macko *whole, MackoHaloRows **rows, macko_status *status, macko_error *err)
{
  PetscObjectId    id;
  PetscObjectState state;
  PetscBool        changed, same = PETSC_TRUE;
  Mat_Macko       *m;

  PetscFunctionBegin;
  *status = MACKO_OK;
  PetscCall(PetscObjectGetId((PetscObject)off, &id));
  PetscCall(PetscObjectStateGet((PetscObject)off, &state));
  changed = (PetscBool)(!*rows || (*rows)->id != id || (*rows)->state != state);
  if (*rows && changed) PetscCall(HasPattern(off, *rows, &same));
  if (!same) PetscCall(MackoHaloRowsDestroy(rows));
  if (!*rows) PetscCall(Build(off, whole, rows));
  else if (changed && (*rows)->count) PetscCall(CopyValues(off, *rows));
  (*rows)->id = id, (*rows)->state = state;
  if (!(*rows)->count) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoGet((*rows)->compact, &m));
  MackoSetOptions(m, &whole->options);
  PetscCall(MackoUpdate((*rows)->compact, status, err));
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
  status = macko_device_add_at(MACKO_F64, h->sums, h->rows, h->count, to, stream, &err);
  PetscCall(VecRestoreArrayAndMemType(y, &to));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(PetscLogGpuFlops((PetscLogDouble)h->count));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
