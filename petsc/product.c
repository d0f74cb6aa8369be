/* Products with matrices. Dense ones: all columns at once, so that the compressed form is read once for several of them. Others are
   PETSc's own. */
#include "matmacko.h"

/* C = op(A) B */
static PetscErrorCode MultiplyDense(Mat A, macko_op op, Mat B, Mat C)
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

static PetscErrorCode MatMatMultNumeric_SeqAIJMacko_SeqDense(Mat A, Mat B, Mat C)
{
  PetscFunctionBegin;
  PetscCall(MultiplyDense(A, MACKO_OP_N, B, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatTransposeMatMultNumeric_SeqAIJMacko_SeqDense(Mat A, Mat B, Mat C)
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
  C->ops->productnumeric          = ProductNumeric;
  C->ops->matmultnumeric          = MatMatMultNumeric_SeqAIJMacko_SeqDense; /* what products of three matrices call */
  C->ops->transposematmultnumeric = MatTransposeMatMultNumeric_SeqAIJMacko_SeqDense;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- products that PETSc finds by the names of the types ---- */

/* "seqaij" for "seqaijmacko"; other names as they are. */
static PetscErrorCode AppendBaseName(Mat A, char *name, size_t room)
{
  char  type[64];
  char *end;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(type, ((PetscObject)A)->type_name, sizeof type));
  PetscCall(PetscStrstr(type, "aijmacko", &end));
  if (end) end[3] = 0;
  PetscCall(PetscStrlcat(name, "_", room));
  PetscCall(PetscStrlcat(name, type, room));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc would call if ours were AIJ: asked of the same operands, in the same order. */
static PetscErrorCode ForwardToBase(Mat C)
{
  Mat operands[3] = {C->product->A, C->product->B, C->product->type == MATPRODUCT_ABC ? C->product->C : NULL};
  char name[256]  = "MatProductSetFromOptions";
  PetscErrorCode (*f)(Mat) = NULL;

  PetscFunctionBegin;
  for (int i = 0; i < 3 && operands[i]; i++) PetscCall(AppendBaseName(operands[i], name, sizeof name));
  PetscCall(PetscStrlcat(name, "_C", sizeof name));
  for (int i = 0; i < 3 && operands[i] && !f; i++) PetscCall(PetscObjectQueryFunction((PetscObject)operands[i], name, &f));
  if (f) PetscCall((*f)(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductSetFromOptions(Mat C)
{
  PetscFunctionBegin;
  if (C->product->type == MATPRODUCT_AB || C->product->type == MATPRODUCT_AtB) C->ops->productsymbolic = ProductSymbolic;
  else PetscCall(ForwardToBase(C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*function)(Mat);
} seq_products[] = {{"MatProductSetFromOptions_seqaijmacko_seqdense_C", ProductSetFromOptions},
                    {"MatProductSetFromOptions_seqaijmacko_seqdensecuda_C", ProductSetFromOptions},
                    {"MatProductSetFromOptions_seqaijmacko_seqmaij_C", ForwardToBase},
                    {"MatProductSetFromOptions_seqaijmacko_hypre_C", ForwardToBase},
                    {"MatProductSetFromOptions_seqdense_seqaijmacko_C", ForwardToBase},
                    {"MatProductSetFromOptions_is_seqaijmacko_C", ForwardToBase},
                    {"MatProductSetFromOptions_transpose_seqaijmacko_seqaijmacko_C", ForwardToBase}},
  mpi_products[] = {{"MatProductSetFromOptions_mpiaijmacko_mpimaij_C", ForwardToBase},
                    {"MatProductSetFromOptions_mpiaijmacko_hypre_C", ForwardToBase},
                    {"MatProductSetFromOptions_mpiaijmacko_mpidense_C", ForwardToBase},
                    {"MatProductSetFromOptions_mpidense_mpiaijmacko_C", ForwardToBase},
                    {"MatProductSetFromOptions_is_mpiaijmacko_C", ForwardToBase},
                    {"MatProductSetFromOptions_transpose_mpiaijmacko_mpiaijmacko_C", ForwardToBase}};

PetscErrorCode MackoComposeSeqProducts(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof seq_products / sizeof *seq_products; i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, seq_products[i].name, in ? seq_products[i].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoComposeMPIProducts(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof mpi_products / sizeof *mpi_products; i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, mpi_products[i].name, in ? mpi_products[i].function : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
