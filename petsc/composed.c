/* What PETSc finds by the names of the types: for ours it must find what it finds for AIJ. */
#include "matmacko.h"

/* ---- products ---- */

/* Returns the name by which A is looked up: that of the type that A stands on, or of AIJ if aij says so and A is ours; else A's
   own. */
static const char *BaseName(Mat A, PetscBool aij)
{
  const Mat_Macko *m = MackoOf(A);
  if (!m) return ((PetscObject)A)->type_name;
  if (!aij) return m->kind->base;
  return m->kind == &MackoSeqDevice ? MackoSeqHost.base : m->kind == &MackoMPIDevice ? MackoMPIHost.base : m->kind->base;
}

/* Looks for the function that PETSc would find if our matrices had the names of those types. The operands are asked in the same
   order as PETSc asks them; *f is NULL where none has the function. */
static PetscErrorCode FindByNames(Mat C, PetscBool aij, PetscErrorCode (**f)(Mat))
{
  Mat  operands[3] = {C->product->A, C->product->B, C->product->type == MATPRODUCT_ABC ? C->product->C : NULL};
  char name[256]   = "MatProductSetFromOptions";

  PetscFunctionBegin;
  *f = NULL;
  for (int i = 0; i < 3 && operands[i]; i++) {
    PetscCall(PetscStrlcat(name, "_", sizeof name));
    PetscCall(PetscStrlcat(name, BaseName(operands[i], aij), sizeof name));
  }
  PetscCall(PetscStrlcat(name, "_C", sizeof name));
  for (int i = 0; i < 3 && operands[i] && !*f; i++) PetscCall(PetscObjectQueryFunction((PetscObject)operands[i], name, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* First come the names of the types that ours stand on, but for products with dense matrices, which AIJ is to do; then AIJ's
   names. Where two sparse matrices have no function by their names it is AIJ's own operation, if both are sequential or both
   parallel. */
PetscErrorCode MackoFindProduct(Mat C, PetscErrorCode (**f)(Mat))
{
  PetscObject A = (PetscObject)C->product->A, B = (PetscObject)C->product->B;
  PetscBool   dense, seq, mpi;

  PetscFunctionBegin;
  *f = NULL;
  PetscCall(PetscObjectBaseTypeCompareAny(B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  if (!dense) PetscCall(FindByNames(C, PETSC_FALSE, f));
  if (!*f) PetscCall(FindByNames(C, PETSC_TRUE, f));
  if (*f) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectBaseTypeCompare(A, MATSEQAIJ, &seq));
  if (seq) PetscCall(PetscObjectBaseTypeCompare(B, MATSEQAIJ, &seq));
  if (seq) *f = MackoSeqHost.does->ops.productsetfromoptions;
  PetscCall(PetscObjectBaseTypeCompare(A, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(PetscObjectBaseTypeCompare(B, MATMPIAIJ, &mpi));
  if (mpi) *f = MackoMPIHost.does->ops.productsetfromoptions;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product with a dense matrix is AIJ's, which does not ask for names; other products are wrapped, as far as AIJCUSPARSE may do
   them. */
PetscErrorCode MackoForwardProduct(Mat C)
{
  PetscErrorCode (*f)(Mat) = NULL;
  PetscBool dense;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)C->product->B, &dense, MATSEQDENSE, MATMPIDENSE, ""));
  PetscCall(MackoFindProduct(C, &f));
  if (f && dense) PetscCall((*f)(C));
  else if (f) PetscCall(MackoCusparseProduct(C, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc looks for a product's function under a name made from the types of its operands. */
typedef struct {
  const char *name;
  PetscErrorCode (*function)(Mat);
} product;

static const product seq_products[] = {
  {"MatProductSetFromOptions_seqaijmacko_seqdense_C", MackoDenseProduct},
  {"MatProductSetFromOptions_seqaijmacko_seqdensecuda_C", MackoDenseProduct},
  {"MatProductSetFromOptions_seqaijmacko_seqmaij_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaijmacko_hypre_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqdense_seqaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_is_seqaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_transpose_seqaijmacko_seqaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaijmacko_seqaijmacko_C", MackoForwardProduct}, /* one is on a GPU, the other not */
  {"MatProductSetFromOptions_seqaijmacko_seqaij_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaij_seqaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaijmacko_seqaijcusparse_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaijcusparse_seqaijmacko_C", MackoForwardProduct},
};
/* These are the same for parallel matrices. Their products with dense matrices call the blocks' products. */
static const product mpi_products[] = {
  {"MatProductSetFromOptions_mpiaijmacko_mpidense_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijmacko_mpimaij_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijmacko_hypre_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpidense_mpiaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_is_mpiaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_transpose_mpiaijmacko_mpiaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijmacko_mpiaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijmacko_mpiaij_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaij_mpiaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijmacko_mpiaijcusparse_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijcusparse_mpiaijmacko_C", MackoForwardProduct},
};

/* ---- conversions ---- */

/* PETSc looks for a conversion under a name made from both types. */
typedef PetscErrorCode conversion(Mat, MatType, MatReuse, Mat *);

/* These lead to and from the types that ours stand on. */
static const struct {
  const char *name;
  conversion *function;
} seq_own[] = {
  {"MatConvert_seqaij_seqaijmacko_C", MatConvert_SeqAIJ_SeqAIJMacko},
  {"MatConvert_seqaijmacko_seqaij_C", MatConvert_SeqAIJMacko_SeqAIJ},
  /* For a parallel matrix on one rank, MatConvert asks a matrix that is what aijmacko names there: a sequential one. */
  {"MatConvert_mpiaij_mpiaijmacko_C", MatConvert_MPIAIJ_MPIAIJMacko},
#if MACKO_ON_CUSPARSE
  {"MatConvert_seqaijcusparse_seqaijmacko_C", MatConvert_SeqAIJ_SeqAIJMacko},
  {"MatConvert_seqaijmacko_seqaijcusparse_C", MatConvert_SeqAIJMacko_SeqAIJCUSPARSE},
#endif
}, mpi_own[] = {
  {"MatConvert_mpiaij_mpiaijmacko_C", MatConvert_MPIAIJ_MPIAIJMacko},
  {"MatConvert_mpiaijmacko_mpiaij_C", MatConvert_MPIAIJMacko_MPIAIJ},
#if MACKO_ON_CUSPARSE
  {"MatConvert_mpiaijcusparse_mpiaijmacko_C", MatConvert_MPIAIJ_MPIAIJMacko},
  {"MatConvert_mpiaijmacko_mpiaijcusparse_C", MatConvert_MPIAIJMacko_MPIAIJCUSPARSE},
#endif
};

/* AIJ has these conversions, which make a matrix of another type from its arrays; they serve ours as they are. */

static const char *const seq_conversions[] = {"seqbaij", "seqsbaij", "seqdense", "seqsell",
                                              "is",      "hypre",    "elemental", "scalapack"};
static const char *const mpi_conversions[] = {"mpibaij", "mpisbaij", "mpidense", "mpisell",
                                              "is",      "hypre",    "elemental", "scalapack"};

/* And these, which give AIJ's arrays to a type that is derived from it: of ours they are asked of a matrix that is AIJ. */
static const char *const seq_derived[] = {"seqaijperm", "seqaijsell", "seqaijcrl", "seqaijmkl"};
static const char *const mpi_derived[] = {"mpiaijperm", "mpiaijsell", "mpiaijcrl", "mpiaijmkl"};

/* Makes the function that A has for conversion from base to another type known under our name, too, or takes our name away again;
   with `instead` that is known in its place. A conversion that A's base does not have stays away. */
static PetscErrorCode ComposeConversion(Mat A, const char *ours, const char *base, const char *to, conversion *instead, PetscBool in)
{
  char        name[128];
  conversion *f = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s_C", base, to));
  if (in) PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &f));
  PetscCall(PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s_C", ours, to));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f && instead ? instead : f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own function takes only a B that is AIJ by name, so B is copied into one for the call if it is ours. */
static PetscErrorCode MatSeqAIJKron_SeqAIJMacko(Mat A, Mat B, MatReuse reuse, Mat *C)
{
  Mat       plain = B;
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)B, MATSEQAIJMACKO, &ours));
  if (ours) PetscCall(MatConvert(B, MATSEQAIJ, MAT_INITIAL_MATRIX, &plain));
  PetscCall((*MackoOf(A)->kind->does->kron)(A, plain, reuse, C));
  if (ours) PetscCall(MatDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For the call A has no options, because -matconvert_type would name another type than AIJ, and might lead back here. */
PetscErrorCode MackoToAIJ(Mat A, MatType aij, Mat *plain)
{
  PetscOptions own = ((PetscObject)A)->options, none;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&none));
  PetscCall(PetscObjectSetOptions((PetscObject)A, none));
  PetscErrorCode error = MatConvert(A, aij, MAT_INITIAL_MATRIX, plain);
  PetscCall(PetscObjectSetOptions((PetscObject)A, own));
  PetscCall(PetscOptionsDestroy(&none));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc itself would go through rows, zeros of dense ones included, or through products with unit vectors. A matrix that is there
   may have more entries than A has, and A may hold it: its values are cleared after A has become AIJ. That is
   sequential or parallel as type says, since one kind of AIJ becomes the other kind of ours by this function alone. */
PetscErrorCode MatConvert_Any_AIJMacko(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B;
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(type, MATSEQAIJMACKO, &seq));
  PetscCall(PetscStrcmp(type, MATMPIAIJMACKO, &mpi));
  PetscCall(MackoToAIJ(A, seq ? MATSEQAIJ : mpi ? MATMPIAIJ : MATAIJ, &B));
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatZeroEntries(*newmat));
    PetscCall(MatCopy(B, *newmat, DIFFERENT_NONZERO_PATTERN));
    PetscCall(MatDestroy(&B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is there is replaced, because some of these types have a copy of the values that only they renew. */
static PetscErrorCode MatConvert_AIJMacko_Derived(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  const Mat_Macko *m = MackoOf(A);
  Mat              B;

  PetscFunctionBegin;
  PetscCall(MackoToAIJ(A, m->kind == &MackoSeqHost || m->kind == &MackoSeqDevice ? MATSEQAIJ : MATMPIAIJ, &B));
  PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
  if (reuse == MAT_INITIAL_MATRIX) *newmat = B;
  else PetscCall(MatHeaderReplace(reuse == MAT_INPLACE_MATRIX ? A : *newmat, &B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define LENGTH(list) (sizeof list / sizeof *list)

/* in says whether A becomes ours or ceases to be. Kronecker products are given back by MackoSetBase, with AIJ's other
   functions. */
PetscErrorCode MackoComposeSeq(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < LENGTH(seq_products); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, seq_products[i].name, in ? seq_products[i].function : NULL));
  for (size_t i = 0; i < LENGTH(seq_own); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, seq_own[i].name, in ? seq_own[i].function : NULL));
  for (size_t i = 0; i < LENGTH(seq_conversions); i++)
    PetscCall(ComposeConversion(A, MATSEQAIJMACKO, MATSEQAIJ, seq_conversions[i], NULL, in));
  for (size_t i = 0; i < LENGTH(seq_derived); i++)
    PetscCall(ComposeConversion(A, MATSEQAIJMACKO, MATSEQAIJ, seq_derived[i], MatConvert_AIJMacko_Derived, in));
  if (in) PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJKron_C", MatSeqAIJKron_SeqAIJMacko));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This does the same for a parallel matrix, which has no Kronecker product. */
PetscErrorCode MackoComposeMPI(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < LENGTH(mpi_products); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, mpi_products[i].name, in ? mpi_products[i].function : NULL));
  for (size_t i = 0; i < LENGTH(mpi_own); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, mpi_own[i].name, in ? mpi_own[i].function : NULL));
  for (size_t i = 0; i < LENGTH(mpi_conversions); i++)
    PetscCall(ComposeConversion(A, MATMPIAIJMACKO, MATMPIAIJ, mpi_conversions[i], NULL, in));
  for (size_t i = 0; i < LENGTH(mpi_derived); i++)
    PetscCall(ComposeConversion(A, MATMPIAIJMACKO, MATMPIAIJ, mpi_derived[i], MatConvert_AIJMacko_Derived, in));
  PetscFunctionReturn(PETSC_SUCCESS);
}
