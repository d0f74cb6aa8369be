/* What PETSc finds by the names of the types: for ours it must find what it finds for AIJ. */
#include "matmacko.h"

/* ---- products ---- */

/* The name of the type that A stands on, if A is ours, or of the AIJ below. */
static const char *BaseName(Mat A, PetscBool aij)
{
  const Mat_Macko *m = MackoOf(A);
  if (!m) return ((PetscObject)A)->type_name;
  if (!aij) return m->kind->base;
  return m->kind == &MackoSeqDevice ? MackoSeqHost.base : m->kind == &MackoMPIDevice ? MackoMPIHost.base : m->kind->base;
}

/* Asked of the same operands, in the same order, as PETSc does. */
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

/* With dense matrices as for AIJ. */
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
  {"MatProductSetFromOptions_seqaijmacko_seqaijmacko_C", MackoForwardProduct}, /* one of them on a GPU, the other not */
  {"MatProductSetFromOptions_seqaijmacko_seqaij_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaij_seqaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaijmacko_seqaijcusparse_C", MackoForwardProduct},
  {"MatProductSetFromOptions_seqaijcusparse_seqaijmacko_C", MackoForwardProduct},
};
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

typedef PetscErrorCode conversion(Mat, MatType, MatReuse, Mat *);

/* To and from the types that ours stand on. */
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

/* Those of AIJ that make a matrix of their own from its arrays. */

static const char *const seq_conversions[] = {"seqbaij", "seqsbaij", "seqdense", "seqsell",
                                              "is",      "hypre",    "elemental", "scalapack"};
static const char *const mpi_conversions[] = {"mpibaij", "mpisbaij", "mpidense", "mpisell",
                                              "is",      "hypre",    "elemental", "scalapack"};

static PetscErrorCode ComposeConversion(Mat A, const char *ours, const char *base, const char *to, PetscBool in)
{
  char        name[128];
  conversion *f = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s_C", base, to));
  if (in) PetscCall(PetscObjectQueryFunction((PetscObject)A, name, &f));
  PetscCall(PetscSNPrintf(name, sizeof name, "MatConvert_%s_%s_C", ours, to));
  PetscCall(PetscObjectComposeFunction((PetscObject)A, name, f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ's own takes only a B that is AIJ by name. */
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

#define LENGTH(list) (sizeof list / sizeof *list)

PetscErrorCode MackoComposeSeq(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < LENGTH(seq_products); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, seq_products[i].name, in ? seq_products[i].function : NULL));
  for (size_t i = 0; i < LENGTH(seq_own); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, seq_own[i].name, in ? seq_own[i].function : NULL));
  for (size_t i = 0; i < LENGTH(seq_conversions); i++)
    PetscCall(ComposeConversion(A, MATSEQAIJMACKO, MATSEQAIJ, seq_conversions[i], in));
  if (in) PetscCall(PetscObjectComposeFunction((PetscObject)A, "MatSeqAIJKron_C", MatSeqAIJKron_SeqAIJMacko));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoComposeMPI(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < LENGTH(mpi_products); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, mpi_products[i].name, in ? mpi_products[i].function : NULL));
  for (size_t i = 0; i < LENGTH(mpi_own); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, mpi_own[i].name, in ? mpi_own[i].function : NULL));
  for (size_t i = 0; i < LENGTH(mpi_conversions); i++)
    PetscCall(ComposeConversion(A, MATMPIAIJMACKO, MATMPIAIJ, mpi_conversions[i], in));
  PetscFunctionReturn(PETSC_SUCCESS);
}
