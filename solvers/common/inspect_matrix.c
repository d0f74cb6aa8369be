/* What programs ask of a matrix before they use it: symmetry, finite entries; the latter of a vector, too. */
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

/* A value that is NaN or infinite, and where it is, counted from 0; row is -1 where there is none. */
typedef struct {
  PetscInt64 row, col;
  double value;
} Bad;

/* Makes *found, the first that each rank has found among its rows, that of the lowest rank that has one: it is the first of all. */
static PetscErrorCode FirstOfAll(MPI_Comm comm, Bad *found)
{
  PetscMPIInt rank, size, mine, chosen;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  /* A rank that found nothing votes for `size`, which is no rank. */
  mine = found->row < 0 ? size : rank;
  PetscCallMPI(MPI_Allreduce(&mine, &chosen, 1, MPI_INT, MPI_MIN, comm));
  if (chosen < size) PetscCallMPI(MPI_Bcast(found, sizeof *found, MPI_BYTE, chosen, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char *Kind(const Bad *found)
{
  return PetscIsNanReal((PetscReal)found->value) ? "NaN" : "infinite";
}

/* Rows and columns are counted from 1 for people, as in Matrix Market. */
PetscErrorCode ProblemFindBad(const Problem *p, char *words, size_t room)
{
  PetscInt first, last, count;
  const PetscInt *cols;
  const PetscScalar *values;
  Bad found = {-1, 0, 0};

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(p->A, &first, &last));
  for (PetscInt i = first; i < last && found.row < 0; i++) {
    PetscCall(MatGetRow(p->A, i, &count, &cols, &values));
    for (PetscInt k = 0; k < count && found.row < 0; k++)
      if (PetscIsInfOrNanScalar(values[k])) found.row = i, found.col = cols[k], found.value = (double)PetscRealPart(values[k]);
    PetscCall(MatRestoreRow(p->A, i, &count, &cols, &values));
  }
  words[0] = 0;
  PetscCall(FirstOfAll(PetscObjectComm((PetscObject)p->A), &found));
  if (found.row >= 0)
    snprintf(words, room, "the entry in row %lld, column %lld, counted from 1, is %s", (long long)found.row + 1,
             (long long)found.col + 1, Kind(&found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode VectorFindBad(Vec v, const char *name, char *words, size_t room)
{
  PetscInt first, last;
  const PetscScalar *values;
  Bad found = {-1, 0, 0};

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, &last));
  PetscCall(VecGetArrayRead(v, &values));
  for (PetscInt i = first; i < last && found.row < 0; i++)
    if (PetscIsInfOrNanScalar(values[i - first])) found.row = i, found.value = (double)PetscRealPart(values[i - first]);
  PetscCall(VecRestoreArrayRead(v, &values));
  words[0] = 0;
  PetscCall(FirstOfAll(PetscObjectComm((PetscObject)v), &found));
  if (found.row >= 0)
    snprintf(words, room, "row %lld of %s, counted from 1, is %s", (long long)found.row + 1, name, Kind(&found));
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
