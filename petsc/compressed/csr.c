/* Type macko from the arrays of a program: MatSeqAIJSetPreallocationCSR and MatMPIAIJSetPreallocationCSR, which bring values. */
#include "compressed/compressed.h"

/* These are a rank's rows. zeros stand for the values where there are none, as many as the longest row has entries. */
typedef struct {
  PetscInt           first;
  const PetscInt    *starts, *cols;
  const PetscScalar *values;
  PetscScalar       *zeros;
} Arrays;

/* Gives a row to MackoCompressedBuild, which looks at its columns. */
static PetscErrorCode RowOf(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  const Arrays  *a     = (const Arrays *)context;
  const PetscInt start = a->starts[row - a->first];

  PetscFunctionBegin;
  *n      = a->starts[row - a->first + 1] - start;
  *cols   = a->cols + start;
  *values = a->values ? a->values + start : a->zeros;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks at the n + 1 row pointers, and sets *longest to the entries of the longest row. */
static macko_status Check(PetscInt n, const PetscInt starts[], PetscInt *longest, macko_error *err)
{
  const char *what = NULL;

  *longest = 0;
  if (!starts) what = "there are no row pointers";
  else if (starts[0]) what = "the first row pointer is not 0";
  for (PetscInt i = 0; !what && i < n; i++) {
    if (starts[i + 1] < starts[i]) what = "row pointers fall";
    *longest = PetscMax(*longest, starts[i + 1] - starts[i]);
  }
  if (!what) return MACKO_OK;
  err->status = MACKO_INVALID_MATRIX;
  (void)PetscSNPrintf(err->text, sizeof err->text, "MatSeqAIJSetPreallocationCSR or MatMPIAIJSetPreallocationCSR: %s", what);
  return err->status;
}

/* For other types PETSc ignores these functions, and the values with them, which would leave a matrix without entries. As with AIJ
   the matrix is assembled then, and further entries have no new places. Collective. */
PetscErrorCode MackoCompressedFromCSR(Mat A, const PetscInt starts[], const PetscInt cols[], const PetscScalar values[])
{
  Arrays      a = {.starts = starts, .cols = cols, .values = values};
  PetscInt    longest;
  macko_error err = {0};

  PetscFunctionBegin;
  PetscCall(MatSetUp(A));
  macko_status status = Check(A->rmap->n, starts, &longest, &err);
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  a.first = A->rmap->rstart;
  PetscCall(PetscCalloc1(values ? 0 : longest, &a.zeros));
  PetscErrorCode error = MackoCompressedBuild(A, RowOf, &a, NULL);
  PetscCall(PetscFree(a.zeros));
  PetscCall(error);
  PetscCall(MackoCompressedSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
