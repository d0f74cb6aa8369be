/* Products with dense matrices: all columns at once, so that the compressed form is read once for several of them. */
#include "after.h"
#include "compressed/compressed.h"
#include "sizes.h"

/* C = op(A) B of a sequential AIJ with a compressed form */
static PetscErrorCode MultiplyBlock(Mat A, macko_op op, Mat B, Mat C)
{
  const PetscScalar *b;
  MackoArray         from = {NULL, PETSC_MEMTYPE_HOST, 0}, to = from;
  PetscBool          device = MackoDeviceAllowed(A, NULL);

  PetscFunctionBegin;
  PetscCall(MackoCheckDense(A, op, B, C));
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

/* C = op(A) B of a matrix that has become one of another type in place since C was made: C still has our functions, as PETSc
   looks at types only where it is another matrix. */
static PetscErrorCode MultiplyAnew(Mat A, macko_op op, Mat B, Mat C)
{
  Mat fresh;

  PetscFunctionBegin;
  if (op == MACKO_OP_T) PetscCall(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &fresh));
  else PetscCall(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &fresh));
  PetscCall(MatCopy(fresh, C, SAME_NONZERO_PATTERN));
  PetscCall(MatDestroy(&fresh));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* C = op(A) B */
static PetscErrorCode MultiplyDense(Mat A, macko_op op, Mat B, Mat C)
{
  const Mat_Macko *m = MackoOf(A);
  PetscBool        compressed;

  PetscFunctionBegin;
  PetscCall(MackoIsCompressed(A, &compressed));
  if (compressed) PetscCall(MackoCompressedDense(A, op, B, C));
  else if (m && m->kind) PetscCall(MultiplyBlock(A, op, B, C));
  else PetscCall(MultiplyAnew(A, op, B, C));
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

/* C = A B as AIJ does it or as we do, whichever is faster: AIJ's product is prepared, ours needs nothing besides. */
static PetscErrorCode ProductNumericAuto(Mat C)
{
  Mat       A = C->product->A, B = C->product->B;
  PetscBool base;

  PetscFunctionBegin;
  PetscCall(MackoDenseByBase(A, B->cmap->n, &base));
  if (base) PetscCall((*C->ops->matmultnumeric)(A, B, C));
  else PetscCall(MultiplyBlock(A, MACKO_OP_N, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductSymbolicAuto(Mat C)
{
  PetscFunctionBegin;
  PetscCall(MackoForwardProduct(C)); /* sets AIJ's in place of this function */
  PetscCall((*C->ops->productsymbolic)(C));
  C->ops->productnumeric = ProductNumericAuto;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not taken here PETSc does in its own ways. */
PetscErrorCode MackoDenseProduct(Mat C)
{
  const MatProductType type = C->product->type;
  PetscBool            base;

  PetscFunctionBegin;
  PetscCall(MackoMayUseBase(C->product->A, &base));
  if (type == MATPRODUCT_AB) C->ops->productsymbolic = base ? ProductSymbolicAuto : MackoDenseSymbolic;
  else if (type == MATPRODUCT_AtB && !base) C->ops->productsymbolic = MackoDenseSymbolic;
  else PetscCall(MackoForwardProduct(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}
