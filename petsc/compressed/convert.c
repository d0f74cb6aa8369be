/* Type macko from and to the types that PETSc has. */
#include "compressed/compressed.h"

/* ---- from any type that gives out its rows ---- */

/* Rows of another matrix are given out one at a time. */
typedef struct {
  Mat                A;
  /* open is the row that has been given out, -1 before the first; it has n entries. */
  PetscInt           open, n;
  const PetscInt    *cols;
  const PetscScalar *values;
} Rows;

/* Gives the row back to its matrix: PETSc has one open at a time. */
static PetscErrorCode CloseRow(Rows *r)
{
  PetscFunctionBegin;
  if (r->open >= 0) PetscCall(MatRestoreRow(r->A, r->open, &r->n, &r->cols, &r->values));
  r->open = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives a row to MackoCompressedBuild. It stays open until the next one is asked for, so that its arrays need no copy. */
static PetscErrorCode RowOf(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  Rows *r = (Rows *)context;

  PetscFunctionBegin;
  PetscCall(CloseRow(r));
  PetscCall(MatGetRow(r->A, row, &r->n, &r->cols, &r->values));
  r->open = row;
  *n = r->n, *cols = r->cols, *values = r->values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes an empty matrix of the given type with A's sizes and prefix, so that its options are those of A. */
static PetscErrorCode New(Mat A, MatType type, Mat *B)
{
  const char *prefix;

  PetscFunctionBegin;
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), B));
  PetscCall(MatSetSizes(*B, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSizesFromMats(*B, A, A));
  PetscCall(MatGetOptionsPrefix(A, &prefix));
  PetscCall(MatSetOptionsPrefix(*B, prefix));
  PetscCall(MatSetType(*B, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets *source to a matrix whose rows are those that AIJ would store: A itself, or a copy as AIJ, where A has no rows to give out,
   or others: a dense matrix gives out its zeros, type sbaij the upper half. The caller destroys it. */
static PetscErrorCode FindRows(Mat A, Mat *source)
{
  PetscBool others;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &others, MATSEQDENSE, MATMPIDENSE, MATSEQSBAIJ, MATMPISBAIJ, ""));
  *source = A;
  if (!A->ops->getrow || others) PetscCall(MackoToAIJ(A, MATAIJ, source));
  else PetscCall(PetscObjectReference((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* In place the matrix is converted next to A first, because its rows are needed until the end. */
PetscErrorCode MatConvert_Any_Macko(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat  B    = *newmat;
  Rows rows = {.open = -1};

  PetscFunctionBegin;
  PetscCall(FindRows(A, &rows.A));
  if (reuse != MAT_REUSE_MATRIX) PetscCall(New(A, type, &B));
  PetscErrorCode error = MackoCompressedBuild(B, RowOf, &rows, NULL);
  PetscCall(CloseRow(&rows));
  PetscCall(MatDestroy(&rows.A));
  if (error && reuse != MAT_REUSE_MATRIX) PetscCall(MatDestroy(&B));
  PetscCall(error);
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- to AIJ, and from there to whatever is asked for ---- */

/* Counts the entries of each row, in columns of this rank (own) and of others, for preallocation: it takes decoding all pieces
   once. */
static macko_status CountEntries(Mat A, PetscInt *own, PetscInt *others, macko_error *err)
{
  Mat_Compressed    *m = (Mat_Compressed *)A->data;
  const int64_t     *cols;
  const PetscScalar *values;
  macko_status       status = MACKO_OK;
  for (PetscInt i = 0; !status && i < A->rmap->n; i++) {
    status = MackoBlockRow(&m->own, i, &own[i], &cols, &values, err);
    if (!status) status = MackoBlockRow(&m->off, i, &others[i], &cols, &values, err);
  }
  return status;
}

/* Gives B, an AIJ, exactly the room that A's entries need. Both calls are made, as each does nothing to a matrix of the other
   kind. */
static PetscErrorCode Preallocate(Mat A, Mat B)
{
  PetscInt    *own, *others;
  macko_error  err = {0};
  macko_status status;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(A->rmap->n, &own, A->rmap->n, &others));
  status = CountEntries(A, own, others, &err);
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  PetscCall(MatSeqAIJSetPreallocation(B, 0, own));
  PetscCall(MatMPIAIJSetPreallocation(B, 0, own, 0, others));
  PetscCall(PetscFree2(own, others));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rank whose piece cannot be decoded stops giving rows, and all ranks raise that before the assembly would wait for it. */
PetscErrorCode MackoCompressedFill(Mat A, Mat B)
{
  PetscInt           n;
  const PetscInt    *cols;
  const PetscScalar *values;
  macko_error        err    = {0};
  macko_status       status = MACKO_OK;

  PetscFunctionBegin;
  for (PetscInt i = 0; !status && i < A->rmap->n; i++) {
    PetscInt row = A->rmap->rstart + i;
    status       = MackoCompressedRow(A, i, &n, &cols, &values, &err);
    if (!status) PetscCall(MatSetValues(B, 1, &row, n, cols, values, INSERT_VALUES));
  }
  MackoCompressedForget(A);
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* AIJ comes first, since PETSc converts that to its other types. With MAT_REUSE_MATRIX *newmat is there, with room for the
   entries. */
PetscErrorCode MatConvert_Macko_Any(Mat A, MatType type, MatReuse reuse, Mat *newmat)
{
  Mat       B = *newmat;
  PetscBool parallel, aij;

  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatZeroEntries(B)); /* it may have entries that A has no more */
    PetscCall(MackoCompressedFill(A, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* A sequential matrix becomes a sequential one, a parallel one parallel, also on one rank. */
  PetscCall(PetscStrcmp(((PetscObject)A)->type_name, MATMPIMACKO, &parallel));
  PetscCall(New(A, parallel ? MATMPIAIJ : MATSEQAIJ, &B));
  PetscCall(Preallocate(A, B));
  PetscCall(MackoCompressedFill(A, B));
  PetscCall(PetscStrcmp(type, MATAIJ, &aij));
  if (!aij) PetscCall(PetscStrcmp(type, parallel ? MATMPIAIJ : MATSEQAIJ, &aij));
  if (!aij) {
    PetscCall(MatPropagateSymmetryOptions(A, B)); /* type sbaij wants to know */
    PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
  }
  if (reuse == MAT_INPLACE_MATRIX) PetscCall(MatHeaderReplace(A, &B));
  else *newmat = B;
  PetscFunctionReturn(PETSC_SUCCESS);
}
