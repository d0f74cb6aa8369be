/* What programs ask of a matrix before they use it: symmetry, finite entries. */
#include "common/load_matrix.h"

#include <stdio.h>

/* Symmetry is judged by the norm of the difference, which is exactly zero where entries are equal. MatIsSymmetric is no way: it
   reads beyond arrays where ranks have few rows. */
PetscErrorCode ProblemFindSymmetry(Problem *p)
{
  Mat difference;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatTranspose(p->A, MAT_INITIAL_MATRIX, &difference));
  /* The patterns may differ, where zeros are stored on one side only. */
  PetscCall(MatAXPY(difference, -1, p->A, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatNorm(difference, NORM_INFINITY, &norm));
  p->symmetric = (PetscBool)(norm == 0);
  PetscCall(MatDestroy(&difference));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every rank looks for its first bad entry. The lowest rank that found one tells the others: the entry named is the first of the
   matrix. Rows and columns are counted from 1 for people, as in Matrix Market. */
PetscErrorCode ProblemFindBad(const Problem *p, char *words, size_t room)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)p->A);
  PetscInt first, last, count;
  const PetscInt *cols;
  const PetscScalar *values;
  struct {
    PetscInt64 row, col;
    double value;
  } found = {-1, 0, 0};
  PetscMPIInt rank, size, mine, chosen;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(MatGetOwnershipRange(p->A, &first, &last));
  for (PetscInt i = first; i < last && found.row < 0; i++) {
    PetscCall(MatGetRow(p->A, i, &count, &cols, &values));
    for (PetscInt k = 0; k < count && found.row < 0; k++)
      if (PetscIsInfOrNanScalar(values[k])) found.row = i, found.col = cols[k], found.value = (double)PetscRealPart(values[k]);
    PetscCall(MatRestoreRow(p->A, i, &count, &cols, &values));
  }
  /* A rank that found nothing votes for `size`, which is no rank. */
  mine = found.row < 0 ? size : rank;
  words[0] = 0;
  PetscCallMPI(MPI_Allreduce(&mine, &chosen, 1, MPI_INT, MPI_MIN, comm));
  if (chosen == size) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallMPI(MPI_Bcast(&found, sizeof found, MPI_BYTE, chosen, comm));
  snprintf(words, room, "the entry in row %lld, column %lld, counted from 1, is %s", (long long)found.row + 1,
           (long long)found.col + 1, PetscIsNanReal((PetscReal)found.value) ? "NaN" : "infinite");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All ranks raise the same error, so that the program can end in order. */
PetscErrorCode ProblemCheckFinite(const Problem *p, const char *path)
{
  char words[128];

  PetscFunctionBegin;
  PetscCall(ProblemFindBad(p, words, sizeof words));
  PetscCheck(!words[0], PetscObjectComm((PetscObject)p->A), PETSC_ERR_FP, "%s: %s: such a matrix has no values to find", path,
             words);
  PetscFunctionReturn(PETSC_SUCCESS);
}
