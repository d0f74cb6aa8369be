/* Products of type macko with vectors and dense matrices: the own block while entries of other ranks are on their way, then the
 * off-diagonal block. */
#include "compressed/compressed.h"

#include <petsctime.h>
#include <stdlib.h>

/* ---- vectors ---- */

/* Opens the array of a vector: wherever it is where the product is done on the GPU, else in host memory, to which PETSc then
   copies it. */
static PetscErrorCode OpenRead(Vec x, PetscBool device, MackoArray *a)
{
  const PetscScalar *data;

  PetscFunctionBegin;
  *a = (MackoArray){NULL, PETSC_MEMTYPE_HOST, 0};
  PetscCall(device ? VecGetArrayReadAndMemType(x, &data, &a->where) : VecGetArrayRead(x, &data));
  a->data = (PetscScalar *)data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Closes what OpenRead has opened with the same device. */
static PetscErrorCode CloseRead(Vec x, PetscBool device, MackoArray *a)
{
  const PetscScalar *data = a->data;

  PetscFunctionBegin;
  PetscCall(device ? VecRestoreArrayReadAndMemType(x, &data) : VecRestoreArrayRead(x, &data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opens the array of y likewise. Only where the product adds to y (add) is its present content wanted, and copied if need be. */
static PetscErrorCode OpenWrite(Vec y, PetscBool device, PetscBool add, MackoArray *a)
{
  PetscFunctionBegin;
  *a = (MackoArray){NULL, PETSC_MEMTYPE_HOST, 0};
  if (device) PetscCall(add ? VecGetArrayAndMemType(y, &a->data, &a->where) : VecGetArrayWriteAndMemType(y, &a->data, &a->where));
  else PetscCall(add ? VecGetArray(y, &a->data) : VecGetArrayWrite(y, &a->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Closes what OpenWrite has opened with the same device and add. */
static PetscErrorCode CloseWrite(Vec y, PetscBool device, PetscBool add, MackoArray *a)
{
  PetscFunctionBegin;
  if (device) PetscCall(add ? VecRestoreArrayAndMemType(y, &a->data) : VecRestoreArrayWriteAndMemType(y, &a->data));
  else PetscCall(add ? VecRestoreArray(y, &a->data) : VecRestoreArrayWrite(y, &a->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Y = op(A) X + beta Y of one block of A and k columns, with arrays that are open. Work is counted as two operations an entry and
   column. */
static PetscErrorCode MultiplyArrays(Mat A, MackoBlock *b, PetscBool device, macko_op op, PetscInt k, MackoArray x, PetscScalar beta,
                                     MackoArray y)
{
  PetscLogDouble flops = 2.0 * (PetscLogDouble)k * (PetscLogDouble)b->nnz;
  macko_status   status;
  macko_error    err;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MACKO_Mult, A, 0, 0, 0));
  if (device) {
    PetscCall(MackoBlockDeviceMultiply(A, b, op, k, x, beta, y));
    PetscCall(PetscLogGpuFlops(flops));
  } else {
    status = MackoBlockMultiply(b, op, k, x, beta, y, &err);
    PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
    PetscCall(PetscLogFlops(flops));
  }
  PetscCall(PetscLogEventEnd(MACKO_Mult, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x of one block, or that added to y. A block without pieces has no entries, and its vectors need not be opened. */
static PetscErrorCode Multiply(Mat A, MackoBlock *b, PetscBool device, macko_op op, Vec x, PetscBool add, Vec y)
{
  MackoArray from, to;

  PetscFunctionBegin;
  if (!b->count) {
    if (!add) PetscCall(VecSet(y, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(OpenRead(x, device, &from));
  PetscCall(OpenWrite(y, device, add, &to));
  PetscCall(MultiplyArrays(A, b, device, op, 1, from, add ? 1 : 0, to));
  PetscCall(CloseWrite(y, device, add, &to));
  PetscCall(CloseRead(x, device, &from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ready is a property of all ranks, so that only the first product of a kind has to agree; it is lost when the entries change. */
PetscErrorCode MackoCompressedPrepare(Mat A, MackoReady what)
{
  Mat_Compressed *m   = (Mat_Compressed *)A->data;
  macko_error     err = {0};

  PetscFunctionBegin;
  if (m->ready[what]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogEventBegin(MACKO_Upload, A, 0, 0, 0));
  macko_status status = MackoBlockPrepare(&m->own, what, &err);
  if (!status) status = MackoBlockPrepare(&m->off, what, &err);
  PetscCall(PetscLogEventEnd(MACKO_Upload, A, 0, 0, 0));
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  m->ready[what] = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Begins to bring entries of x that other ranks hold: by ours, the exchange for vectors on GPUs, or into the halo's vector. On a
   single rank there are none. */
static PetscErrorCode BeginExchange(const Mat_Compressed *m, MackoHalo *ours, Vec x)
{
  PetscFunctionBegin;
  if (ours) PetscCall(MackoHaloSend(ours, x));
  else if (m->halo) PetscCall(VecScatterBegin(m->exchange, x, m->halo, INSERT_VALUES, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends what BeginExchange has begun with the same arguments; *received has the entries. */
static PetscErrorCode EndExchange(const Mat_Compressed *m, MackoHalo *ours, Vec x, Vec *received)
{
  PetscFunctionBegin;
  *received = m->halo;
  if (ours) PetscCall(MackoHaloReceive(ours, received));
  else PetscCall(VecScatterEnd(m->exchange, x, m->halo, INSERT_VALUES, SCATTER_FORWARD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A x + y, or A x where y is NULL. The own block is multiplied while entries of other ranks are on their way. The time is
   measured on the CPU only, without the exchange. */
static PetscErrorCode Forward(Mat A, Vec x, Vec y, Vec z)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  MackoHalo      *ours = NULL;
  Vec             received;
  PetscBool       device;
  PetscLogDouble  start, end;

  PetscFunctionBegin;
  PetscCall(MackoCompressedOnDevice(A, x, z, &device));
  PetscCall(MackoCompressedPrepare(A, device ? MACKO_READY_DEVICE : MACKO_READY_HOST));
  if (m->halo && device) PetscCall(MackoHaloGetFor(A, x, z, m->ghosts, m->ghost_cols, &ours));
  PetscCall(BeginExchange(m, ours, x));
  if (y && y != z) PetscCall(VecCopy(y, z));
  PetscCall(PetscTime(&start));
  PetscCall(Multiply(A, &m->own, device, MACKO_OP_N, x, (PetscBool)(y != NULL), z));
  PetscCall(PetscTime(&end));
  if (!device) m->products++, m->product_seconds += end - start; /* on a GPU the product has only begun */
  if (m->halo) {
    PetscCall(EndExchange(m, ours, x, &received));
    PetscCall(PetscTime(&start));
    PetscCall(Multiply(A, &m->off, device, MACKO_OP_N, received, PETSC_TRUE, z));
    PetscCall(PetscTime(&end));
    if (!device) m->product_seconds += end - start;
    if (ours) PetscCall(MackoHaloDone(ours));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says whether a product with the transpose is done on the GPU: where every rank has room for the transposes of its pieces, or
   they are there already. Collective where they are not. */
static PetscErrorCode TransposedOnDevice(Mat A, Vec x, Vec z, PetscBool *device)
{
  const Mat_Compressed *m = (const Mat_Compressed *)A->data;
  PetscMPIInt           room = MackoBlockTransposable(&m->own) && MackoBlockTransposable(&m->off), all;

  PetscFunctionBegin;
  PetscCall(MackoCompressedOnDevice(A, x, z, device));
  if (!*device || m->ready[MACKO_READY_TRANSPOSED]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Allreduce(&room, &all, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  *device = (PetscBool)all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A^T x + y, or A^T x where y is NULL. On a GPU a matrix that is known to be symmetric needs no transpose; the CPU multiplies
   with it as it is. The off-diagonal block gives sums for entries of other ranks, which are added to theirs at the end. */
static PetscErrorCode Transposed(Mat A, Vec x, Vec y, Vec z)
{
  Mat_Compressed *m = (Mat_Compressed *)A->data;
  PetscBool       device, known = PETSC_FALSE, symmetric = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MackoCompressedOnDevice(A, x, z, &device));
  if (device) PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric) {
    PetscCall(Forward(A, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(TransposedOnDevice(A, x, z, &device));
  PetscCall(MackoCompressedPrepare(A, device ? MACKO_READY_TRANSPOSED : MACKO_READY_HOST));
  if (m->halo) PetscCall(Multiply(A, &m->off, device, MACKO_OP_T, x, PETSC_FALSE, m->halo));
  if (y && y != z) PetscCall(VecCopy(y, z));
  PetscCall(Multiply(A, &m->own, device, MACKO_OP_T, x, (PetscBool)(y != NULL), z));
  if (m->halo) {
    PetscCall(VecScatterBegin(m->exchange, m->halo, z, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(m->exchange, m->halo, z, ADD_VALUES, SCATTER_REVERSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's four products with a vector differ in two arguments. */
static PetscErrorCode MatMult_Macko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Forward(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A x + y, where z may be y. */
static PetscErrorCode MatMultAdd_Macko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(Forward(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = A^T x, in which x has this rank's rows. */
static PetscErrorCode MatMultTranspose_Macko(Mat A, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Transposed(A, x, NULL, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A^T x + y, where z may be y. */
static PetscErrorCode MatMultTransposeAdd_Macko(Mat A, Vec x, Vec y, Vec z)
{
  PetscFunctionBegin;
  PetscCall(Transposed(A, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc finds products with dense matrices by a composed function instead (MackoCompressedProduct). */
void MackoCompressedProducts(Mat A)
{
  A->ops->mult             = MatMult_Macko;
  A->ops->multadd          = MatMultAdd_Macko;
  A->ops->multtranspose    = MatMultTranspose_Macko;
  A->ops->multtransposeadd = MatMultTransposeAdd_Macko;
}

/* ---- dense matrices: all columns at once, so that the compressed form is read once for several of them ---- */

/* Exchanges entries between a column of a dense matrix and a column of halos, an array of as many elements as the halo has:
   entries of other ranks of B come in (MACKO_OP_N), or sums for theirs of C are added to them (MACKO_OP_T). The halo's own array
   is put aside meanwhile. */
static PetscErrorCode ExchangeColumn(Mat_Compressed *m, Vec column, PetscScalar *halos, macko_op op)
{
  PetscFunctionBegin;
  PetscCall(VecPlaceArray(m->halo, halos));
  if (op == MACKO_OP_N) {
    PetscCall(VecScatterBegin(m->exchange, column, m->halo, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(m->exchange, column, m->halo, INSERT_VALUES, SCATTER_FORWARD));
  } else {
    PetscCall(VecScatterBegin(m->exchange, m->halo, column, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(m->exchange, m->halo, column, ADD_VALUES, SCATTER_REVERSE));
  }
  PetscCall(VecResetArray(m->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does that for all columns of a dense matrix, one after another, because the exchange is made for vectors. */
static PetscErrorCode ExchangeColumns(Mat_Compressed *m, Mat dense, PetscScalar *halos, macko_op op)
{
  Vec column;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < dense->cmap->N; j++) {
    PetscScalar *halo = halos + (size_t)j * m->ghosts;
    if (op == MACKO_OP_N) {
      PetscCall(MatDenseGetColumnVecRead(dense, j, &column));
      PetscCall(ExchangeColumn(m, column, halo, op));
      PetscCall(MatDenseRestoreColumnVecRead(dense, j, &column));
    } else {
      PetscCall(MatDenseGetColumnVec(dense, j, &column));
      PetscCall(ExchangeColumn(m, column, halo, op));
      PetscCall(MatDenseRestoreColumnVec(dense, j, &column));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = op(A) B of both blocks. halos holds the rows of B that are not this rank's, or takes sums for those of C, in columns of
   m->ghosts elements in host memory. On the GPU there is one block only. */
static PetscErrorCode MultiplyBlocks(Mat A, PetscBool device, macko_op op, Mat B, Mat C, PetscScalar *halos)
{
  Mat_Compressed    *m = (Mat_Compressed *)A->data;
  MackoArray         b = {NULL, PETSC_MEMTYPE_HOST, 0}, c = b, halo = {halos, PETSC_MEMTYPE_HOST, m->ghosts};
  const PetscScalar *data;
  PetscInt           k = B->cmap->N;

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &b.ld));
  PetscCall(MatDenseGetLDA(C, &c.ld));
  PetscCall(device ? MatDenseGetArrayReadAndMemType(B, &data, &b.where) : MatDenseGetArrayRead(B, &data));
  PetscCall(device ? MatDenseGetArrayWriteAndMemType(C, &c.data, &c.where) : MatDenseGetArrayWrite(C, &c.data));
  b.data = (PetscScalar *)data;
  PetscCall(MultiplyArrays(A, &m->own, device, op, k, b, 0, c));
  if (m->halo && op == MACKO_OP_N) PetscCall(MultiplyArrays(A, &m->off, device, op, k, halo, 1, c));
  else if (m->halo) PetscCall(MultiplyArrays(A, &m->off, device, op, k, b, 0, halo));
  PetscCall(device ? MatDenseRestoreArrayWriteAndMemType(C, &c.data) : MatDenseRestoreArrayWrite(C, &c.data));
  PetscCall(device ? MatDenseRestoreArrayReadAndMemType(B, &data) : MatDenseRestoreArrayRead(B, &data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The GPU is used without a halo only, and not for the transpose, which would both want room there for as many columns. Sums for
   other ranks are added after the assembly of C, since they change it through vectors. */
PetscErrorCode MackoCompressedDense(Mat A, macko_op op, Mat B, Mat C)
{
  Mat_Compressed *m      = (Mat_Compressed *)A->data;
  PetscBool       device;
  PetscScalar    *halos;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, &device, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  device = (PetscBool)(m->device && (device || MackoOf(A)->backend == MACKO_BACKEND_CUDA) && !m->halo && op == MACKO_OP_N);
  PetscCall(MackoCompressedPrepare(A, device ? MACKO_READY_DEVICE : MACKO_READY_HOST));
  /* The one element more is there so that the array exists even without a halo. */
  PetscCall(PetscMalloc1((size_t)m->ghosts * (size_t)B->cmap->N + 1, &halos));
  /* The halo's entries of all columns are exchanged first, because the blocks' products read B's array as a whole. */
  if (m->halo && op == MACKO_OP_N) PetscCall(ExchangeColumns(m, B, halos, op));
  PetscCall(MultiplyBlocks(A, device, op, B, C, halos));
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  if (m->halo && op == MACKO_OP_T) PetscCall(ExchangeColumns(m, C, halos, op));
  PetscCall(PetscFree(halos));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc finds this for any type of operands. A sparse second operand is refused; products with a dense one that are not A B or
   A^T B PETSc does in its own ways, as those where A is not of this type. */
PetscErrorCode MackoCompressedProduct(Mat C)
{
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscCall(MackoCompressedRefuseProduct(C));
  if (C->product->A->ops->mult != MatMult_Macko) PetscFunctionReturn(PETSC_SUCCESS);
  if (C->product->type == MATPRODUCT_AB || C->product->type == MATPRODUCT_AtB) C->ops->productsymbolic = MackoDenseSymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}
