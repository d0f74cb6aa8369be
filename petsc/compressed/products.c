/* Products of type macko with vectors: the own block while entries of other ranks are on their way, then the off-diagonal
 * block. */
#include "compressed/compressed.h"
#include "sizes.h"

#include <petsctime.h>

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

/* Work is counted as two operations an entry and column. */
PetscErrorCode MackoBlockProduct(Mat A, MackoBlock *b, PetscBool device, macko_op op, PetscInt k, MackoArray x, PetscScalar beta,
                                 MackoArray y, macko_status *status, macko_error *err)
{
  PetscLogDouble flops = 2.0 * (PetscLogDouble)k * (PetscLogDouble)b->nnz;

  PetscFunctionBegin;
  PetscCall(PetscLogEventBegin(MACKO_Mult, A, 0, 0, 0));
  if (device) {
    PetscCall(PetscLogGpuTimeBegin());
    *status = MackoBlockDeviceMultiply(A, b, op, k, x, beta, y, err);
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(PetscLogGpuFlops(flops));
  } else {
    *status = MackoBlockMultiply(b, op, k, x, beta, y, err);
    PetscCall(PetscLogFlops(flops));
  }
  PetscCall(PetscLogEventEnd(MACKO_Mult, A, 0, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = op(A) x of one block, or that added to y. Vectors are opened, too, on ranks whose block is empty: PETSc counts that as a
   change of y, and keeps norms that it must forget on all ranks or on none. */
static PetscErrorCode Multiply(Mat A, MackoBlock *b, PetscBool device, macko_op op, Vec x, PetscBool add, Vec y)
{
  MackoArray   from, to;
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(OpenRead(x, device, &from));
  PetscCall(OpenWrite(y, device, add, &to));
  PetscCall(MackoBlockProduct(A, b, device, op, 1, from, add ? 1 : 0, to, &status, &err));
  PetscCall(CloseWrite(y, device, add, &to));
  PetscCall(CloseRead(x, device, &from));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
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
  PetscCall(MackoCheckVectors(A, MACKO_OP_N, x, z));
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

/* What a rank has room for it says once to the others, and again after its entries or the halo have changed. */
PetscErrorCode MackoCompressedFits(Mat A, macko_op op, PetscInt k, PetscBool *fits)
{
  Mat_Compressed *m      = (Mat_Compressed *)A->data;
  PetscBool       halos  = (PetscBool)(m->halo && k > m->halo_columns && MackoDeviceVectors());
  PetscBool       pieces = (PetscBool)(op == MACKO_OP_T && !m->ready[MACKO_READY_TRANSPOSED]);
  int             mine   = 1;
  PetscScalar    *room;

  PetscFunctionBegin;
  *fits = PETSC_TRUE;
  if (!halos && !pieces) PetscFunctionReturn(PETSC_SUCCESS);
  if (pieces) mine = MackoBlockTransposable(&m->own) && MackoBlockTransposable(&m->off);
  if (mine && halos) mine = MackoHalosOnDevice(A, k, &room);
  PetscCall(MackoOnAll(A, mine, fits));
  /* Where there was too little room for more columns, that for fewer is gone. */
  if (halos) m->halo_columns = *fits ? k : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A^T x + y, or A^T x where y is NULL. On a GPU a matrix that is known to be symmetric needs no transpose; the CPU multiplies
   with it as it is. The off-diagonal block gives sums for entries of other ranks, which are added to theirs at the end. */
static PetscErrorCode Transposed(Mat A, Vec x, Vec y, Vec z)
{
  Mat_Compressed *m    = (Mat_Compressed *)A->data;
  MackoHalo      *ours = NULL;
  Vec             sums = m->halo;
  PetscBool       device, known = PETSC_FALSE, symmetric = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(MackoCheckVectors(A, MACKO_OP_T, x, z));
  PetscCall(MackoCompressedOnDevice(A, x, z, &device));
  if (device) PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric) {
    PetscCall(Forward(A, x, y, z));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (device) PetscCall(MackoCompressedFits(A, MACKO_OP_T, 0, &device));
  PetscCall(MackoCompressedPrepare(A, device ? MACKO_READY_TRANSPOSED : MACKO_READY_HOST));
  if (m->halo && device) PetscCall(MackoHaloGetFor(A, z, x, m->ghosts, m->ghost_cols, &ours));
  if (ours) PetscCall(MackoHaloSums(ours, &sums));
  if (m->halo) PetscCall(Multiply(A, &m->off, device, MACKO_OP_T, x, PETSC_FALSE, sums));
  if (ours) PetscCall(MackoHaloReturnVec(ours)); /* they travel while the GPU multiplies */
  if (y && y != z) PetscCall(VecCopy(y, z));
  PetscCall(Multiply(A, &m->own, device, MACKO_OP_T, x, (PetscBool)(y != NULL), z));
  if (ours) PetscCall(MackoHaloAddVec(ours, z));
  else if (m->halo) {
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
