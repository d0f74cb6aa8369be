/* Products with dense matrices: all columns at once, so that the compressed form is read once for several of them. */
#include "matmacko.h"

static PetscErrorCode ProductNumeric(Mat C)
{
  Mat_Product       *product = C->product;
  Mat                A = product->A, B = product->B;
  macko_op           op = product->type == MATPRODUCT_AtB ? MACKO_OP_T : MACKO_OP_N;
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

static PetscErrorCode ProductSymbolic(Mat C)
{
  Mat_Product *product = C->product;
  Mat          A = product->A, B = product->B;
  PetscInt     rows = product->type == MATPRODUCT_AtB ? A->cmap->n : A->rmap->n;
  PetscBool    dense;

  PetscFunctionBegin;
  PetscCall(MatSetSizes(C, rows, B->cmap->n, rows, B->cmap->n));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C, &dense, MATSEQDENSE, MATSEQDENSECUDA, ""));
  if (!dense) PetscCall(MatSetType(C, ((PetscObject)B)->type_name));
  PetscCall(MatSetUp(C));
  C->ops->productnumeric = ProductNumeric;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is not taken here PETSc does in its own ways. */
static PetscErrorCode ProductSetFromOptions(Mat C)
{
  PetscFunctionBegin;
  if (C->product->type == MATPRODUCT_AB || C->product->type == MATPRODUCT_AtB) C->ops->productsymbolic = ProductSymbolic;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoComposeDense(Mat A, PetscBool in)
{
  PetscErrorCode (*f)(Mat) = in ? ProductSetFromOptions : NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijmacko_seqdense_C", f));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatProductSetFromOptions_seqaijmacko_seqdensecuda_C", f));
  PetscFunctionReturn(PETSC_SUCCESS);
}
