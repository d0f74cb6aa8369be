/* Products with dense matrices: all columns at once, so that the compressed form is read once for several of them. */
#include "compressed/compressed.h"

/* C = op(A) B of a sequential AIJ with a compressed form */
static PetscErrorCode MultiplyBlock(Mat A, macko_op op, Mat B, Mat C)
{
  const PetscScalar *b;
  MackoArray         from = {NULL, PETSC_MEMTYPE_HOST, 0}, to = from;
  PetscBool          device = MackoDeviceAllowed(A, NULL);

  PetscFunctionBegin;
  PetscCall(MackoUpdateSeq(A));
  PetscCall(MatDenseGetLDA(B, &from.ld));
  PetscCall(MatDenseGetLDA(C, &to.ld));
  if (device) {
    PetscCall(MatDenseGetArrayReadAndMemType(B, &b, &from.where));
    PetscCall(MatDenseGetArrayWriteAndMemType(C, &to.data, &to.where));
  } else {
    PetscCall(MatDenseGetArrayRead(B, &b));
    PetscCall(MatDenseGetArrayWrite(C, &to.data));
  }
  from.data = (PetscScalar *)b;
  PetscCall(MackoProduct(A, op, B->cmap->n, from, 0, to));
  if (device) {
    PetscCall(MatDenseRestoreArrayWriteAndMemType(C, &to.data));
    PetscCall(MatDenseRestoreArrayReadAndMemType(B, &b));
  } else {
    PetscCall(MatDenseRestoreArrayWrite(C, &to.data));
    PetscCall(MatDenseRestoreArrayRead(B, &b));
  }
  PetscCall(MatAssemblyBegin(C, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(C, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = op(A) B */
static PetscErrorCode MultiplyDense(Mat A, macko_op op, Mat B, Mat C)
{
  PetscBool compressed;

  PetscFunctionBegin;
  PetscCall(MackoIsCompressed(A, &compressed));
  PetscCall(compressed ? MackoCompressedDense(A, op, B, C) : MultiplyBlock(A, op, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatMatMultNumeric_Macko_Dense(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MultiplyDense(A, MACKO_OP_N, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_Macko_Dense(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MultiplyDense(A, MACKO_OP_T, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductNumeric(Mat C)
{
  Mat_Product *product = C->product;

  PetscFunctionBegin;
  PetscCall(MultiplyDense(product->A, product->type == MATPRODUCT_AtB ? MACKO_OP_T : MACKO_OP_N, product->B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoDenseSymbolic(Mat C)
{
  Mat_Product *product = C->product;
  Mat          A = product->A, B = product->B;
  PetscLayout  rows = product->type == MATPRODUCT_AtB ? A->cmap : A->rmap;
  PetscBool    dense;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, rows->n, B->cmap->n, rows->N, B->cmap->N));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  C->ops->productnumeric          = ProductNumeric;
  C->ops->matmultnumeric          = MatMatMultNumeric_Macko_Dense; /* what products of three matrices call */
  C->ops->transposematmultnumeric = MatTransposeMatMultNumeric_Macko_Dense;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not taken here PETSc does in its own ways. */
PetscErrorCode MackoDenseProduct(Mat C)
{
  PetscBool base = PETSC_FALSE;

  PetscFunctionBegin;
  if (C->product->type == MATPRODUCT_AtB) PetscCall(MackoTransposedByBase(C->product->A, &base));
  if (!base && (C->product->type == MATPRODUCT_AB || C->product->type == MATPRODUCT_AtB)) C->ops->productsymbolic = MackoDenseSymbolic;
  else PetscCall(MackoForwardProduct(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
