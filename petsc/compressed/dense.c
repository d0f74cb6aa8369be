/* Products of type macko with dense matrices: all columns at once, so that the compressed form is read once for several of them. */
#include "compressed/compressed.h"
#include "sizes.h"

/* ---- entries of other ranks: halos has a column of as many elements as there are for each column of the dense matrix ---- */

/* Makes the halo's vector one of the columns of halos, in host or GPU memory; its own array is put aside until Unplace. A rank
   without columns of others has no arrays, and nothing to put anywhere. */
static PetscErrorCode Place(const Mat_Compressed *m, MackoArray halos, PetscInt j)
{
  PetscFunctionBegin;
  if (!m->ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(halos.where)) PetscCall(VecPlaceArray(m->halo, halos.data + (size_t)j * halos.ld));
#if defined(PETSC_HAVE_CUDA)
  else PetscCall(VecCUDAPlaceArray(m->halo, halos.data + (size_t)j * halos.ld));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives the halo's vector the array that it had before Place. */
static PetscErrorCode Unplace(const Mat_Compressed *m, MackoArray halos)
{
  PetscFunctionBegin;
  if (!m->ghosts) PetscFunctionReturn(PETSC_SUCCESS);
  if (PetscMemTypeHost(halos.where)) PetscCall(VecResetArray(m->halo));
#if defined(PETSC_HAVE_CUDA)
  else PetscCall(VecCUDAResetArray(m->halo));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings entries of other ranks of all columns of a dense matrix, one column after another, because the exchange is made for
   vectors. */
static PetscErrorCode BringColumns(const Mat_Compressed *m, Mat dense, MackoArray halos)
{
  Vec column;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < dense->cmap->N; j++) {
    PetscCall(MatDenseGetColumnVecRead(dense, j, &column));
    PetscCall(Place(m, halos, j));
    PetscCall(VecScatterBegin(m->exchange, column, m->halo, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(m->exchange, column, m->halo, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(Unplace(m, halos));
    PetscCall(MatDenseRestoreColumnVecRead(dense, j, &column));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the sums that are in halos to the entries of other ranks, likewise. */
static PetscErrorCode AddByPetsc(const Mat_Compressed *m, MackoArray halos, Mat dense)
{
  Vec column;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < dense->cmap->N; j++) {
    PetscCall(MatDenseGetColumnVec(dense, j, &column));
    PetscCall(Place(m, halos, j));
    PetscCall(VecScatterBegin(m->exchange, m->halo, column, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(VecScatterEnd(m->exchange, m->halo, column, ADD_VALUES, SCATTER_REVERSE));
    PetscCall(Unplace(m, halos));
    PetscCall(MatDenseRestoreColumnVec(dense, j, &column));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Does it by the exchange for vectors on GPUs. The array is closed before a failure, which all ranks have, is passed on. */
static PetscErrorCode AddByOurs(MackoHalo *ours, MackoArray halos, Mat dense)
{
  PetscErrorCode error = PETSC_SUCCESS;
  PetscScalar   *data;
  PetscMemType   where;
  PetscInt       lda;
  Vec            sums;

  PetscFunctionBegin;
  PetscCall(MackoHaloSums(ours, &sums));
  PetscCall(MatDenseGetLDA(dense, &lda));
  PetscCall(MatDenseGetArrayAndMemType(dense, &data, &where));
  for (PetscInt j = 0; !error && j < dense->cmap->N; j++) {
    error = MackoHaloReturn(ours, halos.data + (size_t)j * halos.ld);
    if (!error) error = MackoHaloAdd(ours, data + (size_t)j * lda);
  }
  PetscCall(MatDenseRestoreArrayAndMemType(dense, &data));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Adds the sums in halos by the exchange for vectors on GPUs where they and the dense matrix are there, else by PETSc's. */
static PetscErrorCode AddColumns(Mat A, MackoArray halos, Mat dense)
{
  const Mat_Compressed *m    = (const Mat_Compressed *)A->data;
  MackoHalo            *ours = NULL;
  PetscBool             on_device;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)dense, &on_device, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  if (PetscMemTypeDevice(halos.where) && on_device) PetscCall(MackoHaloGet(A, m->ghosts, m->ghost_cols, &ours));
  if (ours) PetscCall(AddByOurs(ours, halos, dense));
  else PetscCall(AddByPetsc(m, halos, dense));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Brings the entries of other ranks: by the exchange for vectors on GPUs where the matrix and halos are there, else by PETSc's.
   Where the exchange is refused, the matrix's array is closed before that is passed on. */
static PetscErrorCode Bring(Mat A, Mat dense, MackoArray halos)
{
  const Mat_Compressed *m     = (const Mat_Compressed *)A->data;
  MackoHalo            *ours  = NULL;
  PetscErrorCode        error = PETSC_SUCCESS;
  const PetscScalar    *data;
  PetscMemType          where;
  PetscInt              lda;

  PetscFunctionBegin;
  if (PetscMemTypeDevice(halos.where)) {
    PetscCall(MatDenseGetLDA(dense, &lda));
    PetscCall(MatDenseGetArrayReadAndMemType(dense, &data, &where));
    /* The array's place follows from the matrix's type, so that it is the same on all ranks. */
    if (PetscMemTypeDevice(where)) error = MackoHaloGet(A, m->ghosts, m->ghost_cols, &ours);
    for (PetscInt j = 0; !error && ours && j < dense->cmap->N; j++)
      error = MackoHaloBring(ours, data + (size_t)j * lda, halos.data + (size_t)j * halos.ld);
    PetscCall(MatDenseRestoreArrayReadAndMemType(dense, &data));
    PetscCall(error);
  }
  if (!ours) PetscCall(BringColumns(m, dense, halos));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products ---- */

/* Says whether C = op(A) B is done on the GPU, the same on all ranks: where B is there or the user has asked for it, and there is
   room. With a matrix that is known to be symmetric *op becomes the product that needs no transpose. */
static PetscErrorCode OnDevice(Mat A, Mat B, macko_op *op, PetscBool *device)
{
  const Mat_Compressed *m     = (const Mat_Compressed *)A->data;
  PetscBool             known = PETSC_FALSE, symmetric = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)B, device, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  *device = (PetscBool)(m->device && (*device || MackoOf(A)->backend == MACKO_BACKEND_CUDA));
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric) *op = MACKO_OP_N;
  PetscCall(MackoCompressedFits(A, *op, B->cmap->N, device));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = op(A) B of both blocks. halos holds the rows of B that are not this rank's, or takes sums for those of C. The ranks agree at
   the end on whether all went well, because others would wait for the sums of one that failed. */
static PetscErrorCode MultiplyBlocks(Mat A, PetscBool device, macko_op op, Mat B, Mat C, MackoArray halos)
{
  Mat_Compressed    *m = (Mat_Compressed *)A->data;
  MackoArray         b = {NULL, PETSC_MEMTYPE_HOST, 0}, c = b;
  const PetscScalar *data;
  PetscInt           k = B->cmap->N;
  macko_status       status;
  macko_error        err = {0};

  PetscFunctionBegin;
  PetscCall(MatDenseGetLDA(B, &b.ld));
  PetscCall(MatDenseGetLDA(C, &c.ld));
  PetscCall(device ? MatDenseGetArrayReadAndMemType(B, &data, &b.where) : MatDenseGetArrayRead(B, &data));
  PetscCall(device ? MatDenseGetArrayWriteAndMemType(C, &c.data, &c.where) : MatDenseGetArrayWrite(C, &c.data));
  b.data = (PetscScalar *)data;
  PetscCall(MackoBlockProduct(A, &m->own, device, op, k, b, 0, c, &status, &err));
  if (!status && m->halo) {
    if (op == MACKO_OP_N) PetscCall(MackoBlockProduct(A, &m->off, device, op, k, halos, 1, c, &status, &err));
    else PetscCall(MackoBlockProduct(A, &m->off, device, op, k, b, 0, halos, &status, &err));
  }
  PetscCall(device ? MatDenseRestoreArrayWriteAndMemType(C, &c.data) : MatDenseRestoreArrayWrite(C, &c.data));
  PetscCall(device ? MatDenseRestoreArrayReadAndMemType(B, &data) : MatDenseRestoreArrayRead(B, &data));
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums for other ranks are added after the assembly of C, since they change it through vectors. */
static PetscErrorCode Complete(Mat A, macko_op op, MackoArray halos, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  if (((Mat_Compressed *)A->data)->halo && op == MACKO_OP_T) PetscCall(AddColumns(A, halos, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The halo's entries of all columns come first, because the blocks' products read B's array as a whole. */
PetscErrorCode MackoCompressedDense(Mat A, macko_op op, Mat B, Mat C)
{
  Mat_Compressed *m     = (Mat_Compressed *)A->data;
  MackoArray      halos = {NULL, PETSC_MEMTYPE_HOST, m->ghosts};
  PetscInt        k     = B->cmap->N;
  PetscBool       device, there;

  PetscFunctionBegin;
  PetscCall(MackoCheckDense(A, op, B, C));
  PetscCall(OnDevice(A, B, &op, &device));
  PetscCall(MackoCompressedPrepare(A, !device ? MACKO_READY_HOST : op == MACKO_OP_N ? MACKO_READY_DEVICE : MACKO_READY_TRANSPOSED));
  /* In a PETSc without CUDA the halo's vector cannot be on the GPU. */
  there = (PetscBool)(device && MackoDeviceVectors());
  if (there) {
    halos.where = PETSC_MEMTYPE_CUDA;
    (void)MackoHalosOnDevice(A, k, &halos.data); /* the room is there: OnDevice has asked for it */
  } else PetscCall(PetscMalloc1((size_t)m->ghosts * (size_t)k + 1, &halos.data)); /* of one element without a halo */
  if (m->halo && op == MACKO_OP_N) PetscCall(Bring(A, B, halos));
  PetscErrorCode error = MultiplyBlocks(A, device, op, B, C, halos);
  if (!error) error = Complete(A, op, halos, C);
  if (!there) PetscCall(PetscFree(halos.data));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc finds this for any type of operands. A sparse second operand is refused; products with a dense one that are not A B or
   A^T B PETSc does in its own ways, as those where A is not of this type. */
PetscErrorCode MackoCompressedProduct(Mat C)
{
  PetscBool dense, compressed;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscCall(MackoCompressedRefuseProduct(C));
  PetscCall(MackoIsCompressed(C->product->A, &compressed));
  if (!compressed) PetscFunctionReturn(PETSC_SUCCESS);
  if (C->product->type == MATPRODUCT_AB || C->product->type == MATPRODUCT_AtB) C->ops->productsymbolic = MackoDenseSymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}
