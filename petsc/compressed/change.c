/* Type macko with another pattern than before: copies into it, shifts and sums, which go through rows one after another. */
#include "compressed/compressed.h"
#include "sizes.h"

#include <stdlib.h>

/* This is a sum of two matrices by rows: a row gives A's entries, then those to be added. Where a column comes twice encoding
   adds up, A's entry first. */
typedef struct {
  /* X may be NULL: a is then added to the diagonal, which is a shift. */
  Mat          A, X;
  PetscScalar  a;
  /* open is the row of X that has been given out, -1 before the first; it has n entries. room is that of the two arrays for a
     sum. */
  PetscInt     open, n, room;
  const PetscInt    *cols;
  const PetscScalar *values;
  PetscInt    *sum_cols;
  PetscScalar *sum_values;
  macko_error  err;
} Sum;

/* Gives the row of X back to it: PETSc has one open at a time. */
static PetscErrorCode CloseRow(Sum *s)
{
  PetscFunctionBegin;
  if (s->open >= 0) PetscCall(MatRestoreRow(s->X, s->open, &s->n, &s->cols, &s->values));
  s->open = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes room for n entries of a sum, and some more, so that this is seldom done. */
static PetscErrorCode Reserve(Sum *s, PetscInt n)
{
  PetscFunctionBegin;
  if (n <= s->room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscRealloc(2 * (size_t)n * sizeof *s->sum_cols, &s->sum_cols));
  PetscCall(PetscRealloc(2 * (size_t)n * sizeof *s->sum_values, &s->sum_values));
  s->room = 2 * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Appends a times the row of X to the n entries of the sum, or a on the diagonal, where the matrix has one in this row. */
static PetscErrorCode AddRow(Sum *s, PetscInt row, PetscInt *n)
{
  PetscFunctionBegin;
  if (!s->X) {
    if (row < s->A->cmap->N) s->sum_cols[*n] = row, s->sum_values[(*n)++] = s->a;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < s->n; k++, (*n)++) s->sum_cols[*n] = s->cols[k], s->sum_values[*n] = s->a * s->values[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives a row of the sum to MackoCompressedBuild. The sentence for failures of PETSc's functions is put into err beforehand,
   because these return before anything could be written. */
static PetscErrorCode RowOf(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  Sum               *s = (Sum *)context;
  const PetscInt    *own_cols;
  const PetscScalar *own_values;

  PetscFunctionBegin;
  if (MackoCompressedRow(s->A, row - s->A->rmap->rstart, n, &own_cols, &own_values, &s->err)) PetscFunctionReturn(PETSC_ERR_LIB);
  PetscCall(CloseRow(s));
  s->err.status = MACKO_OUT_OF_MEMORY;
  (void)PetscSNPrintf(s->err.text, sizeof s->err.text, "row %lld of the matrix that is added cannot be had", (long long)row);
  if (s->X) PetscCall(MatGetRow(s->X, row, &s->n, &s->cols, &s->values));
  if (s->X) s->open = row;
  /* One place more is for the diagonal of a shift. */
  PetscCall(Reserve(s, *n + s->n + 1));
  PetscCall(PetscArraycpy(s->sum_cols, own_cols, (size_t)*n));
  PetscCall(PetscArraycpy(s->sum_values, own_values, (size_t)*n));
  PetscCall(AddRow(s, row, n));
  *cols = s->sum_cols, *values = s->sum_values;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A += a X, or A += a I without X. The sum is built anew, and takes A's place when all ranks have it. */
static PetscErrorCode Add(Mat A, PetscScalar a, Mat X)
{
  Sum sum = {.A = A, .X = X, .a = a, .open = -1};

  PetscFunctionBegin;
  PetscErrorCode error = MackoCompressedBuild(A, RowOf, &sum, &sum.err);
  PetscCall(CloseRow(&sum));
  PetscCall(PetscFree(sum.sum_cols));
  PetscCall(PetscFree(sum.sum_values));
  MackoCompressedForget(A);
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This adds a diagonal where there is none. */
static PetscErrorCode MatShift_Macko(Mat A, PetscScalar a)
{
  PetscFunctionBegin;
  PetscCall(Add(A, a, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the caller says of both patterns is not needed: the rows tell. */
static PetscErrorCode MatAXPY_Macko(Mat Y, PetscScalar a, Mat X, MatStructure pattern)
{
  PetscFunctionBegin;
  (void)pattern;
  PetscCheck(X->ops->getrow, PetscObjectComm((PetscObject)Y), PETSC_ERR_SUP,
             "a matrix of type macko adds one that gives out its rows, and a matrix of type %s does not: convert it to aij",
             ((PetscObject)X)->type_name);
  PetscCall(Add(Y, a, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* B of this type becomes a copy with entries of its own; a B of another type is cleared and gets the entries, for which it must
   have room. */
static PetscErrorCode MatCopy_Macko(Mat A, Mat B, MatStructure pattern)
{
  MackoBlock own, off;
  PetscBool  compressed;

  PetscFunctionBegin;
  (void)pattern;
  PetscCall(MackoIsCompressed(B, &compressed));
  if (!compressed) {
    PetscCall(MatZeroEntries(B));
    PetscCall(MackoCompressedFill(A, B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MackoAgreeSize(A, "rows of the matrix that is copied to", B->rmap->n, A->rmap->n));
  PetscCall(MackoAgreeSize(A, "columns of the matrix that is copied to", B->cmap->n, A->cmap->n));
  /* The pieces are copied as they are encoded, with the options of A, not of B; where products run stays B's own. */
  PetscCall(MackoCompressedCopy(A, NULL, NULL, NULL, &own, &off));
  PetscCall(MackoCopyHalo((Mat_Compressed *)A->data, (Mat_Compressed *)B->data));
  PetscCall(MackoCompressedPlace(B));
  PetscCall(MackoCompressedTake(B, &own, &off));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The operations of this file are set here. */
void MackoCompressedChanges(Mat A)
{
  A->ops->copy  = MatCopy_Macko;
  A->ops->shift = MatShift_Macko;
  A->ops->axpy  = MatAXPY_Macko;
}
