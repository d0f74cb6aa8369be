/* What PETSc finds by the names of the types: for ours it must find what it finds for AIJ. */
#include "matmacko.h"

/* ---- products ---- */

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
PetscErrorCode MackoForwardProduct(Mat C)
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
};
static const product mpi_products[] = {
  {"MatProductSetFromOptions_mpiaijmacko_mpidense_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijmacko_mpimaij_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpiaijmacko_hypre_C", MackoForwardProduct},
  {"MatProductSetFromOptions_mpidense_mpiaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_is_mpiaijmacko_C", MackoForwardProduct},
  {"MatProductSetFromOptions_transpose_mpiaijmacko_mpiaijmacko_C", MackoForwardProduct},
};

/* ---- conversions: those of AIJ that make a matrix of their own from its arrays ---- */

typedef PetscErrorCode conversion(Mat, MatType, MatReuse, Mat *);

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
  PetscCall((*MackoSeqBase.kron)(A, plain, reuse, C));
  if (ours) PetscCall(MatDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define LENGTH(list) (sizeof list / sizeof *list)

PetscErrorCode MackoComposeSeq(Mat A, PetscBool in)
{
  PetscFunctionBegin;
  for (size_t i = 0; i < LENGTH(seq_products); i++)
    PetscCall(PetscObjectComposeFunction((PetscObject)A, seq_products[i].name, in ? seq_products[i].function : NULL));
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
  for (size_t i = 0; i < LENGTH(mpi_conversions); i++)
    PetscCall(ComposeConversion(A, MATMPIAIJMACKO, MATMPIAIJ, mpi_conversions[i], in));
  PetscFunctionReturn(PETSC_SUCCESS);
}
