/* A matrix file as a distributed PETSc matrix; shared by the programs of this folder. */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <petscksp.h>
#include "macko.h"
#include "petscmacko.h"

#if PETSC_VERSION_LT(3, 19, 0)
#define PETSC_SUCCESS 0
#endif

typedef struct {
  Mat             A;
  char            kind[96];
  PetscBool       symmetric;
  PetscInt64      nnz;
  PetscLogDouble  read_seconds;
} Problem;

/* Reads any file that macko_read takes (rank 0 reads and sends the rows) or a PETSc binary matrix (every rank reads its own rows).
   The matrix is of type aijmacko unless -mat_type says otherwise. Collective. If the file is at fault, *failed is set on all ranks and rank 0 has
   printed one sentence; PETSc's own errors are returned. */
PetscErrorCode ProblemLoad(MPI_Comm comm, const char *path, Problem *p, PetscBool *failed);
PetscErrorCode ProblemDestroy(Problem *p);

/* A right-hand side of the row layout of p->A from a file: a matrix of one column, or a PETSc binary vector. */
PetscErrorCode ProblemLoadVector(const Problem *p, const char *path, Vec b, PetscBool *failed);

/* Text as a JSON string, quotes included. */
PetscErrorCode JSONString(FILE *f, const char *text);

#endif
