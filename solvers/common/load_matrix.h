/* A matrix file as a distributed PETSc matrix; shared by the programs of this folder. */
#ifndef LOAD_MATRIX_H
#define LOAD_MATRIX_H

#include "common/program.h"
#include "macko.h"
#include "petscmacko.h"

typedef struct {
  Mat            A;
  char           kind[96];     /* what the file is, in words */
  PetscBool      symmetric;    /* known to equal its transpose: from the file, or by ProblemFindSymmetry */
  PetscInt64     nnz;          /* stored entries of all ranks */
  PetscLogDouble read_seconds; /* of this rank */
} Problem;

/* Reads any file that macko_read takes (rank 0 reads it and sends each rank its rows) or a PETSc binary matrix (no rank holds
   more than its rows), or makes what stencil.h knows by its name, into a matrix of type aij. With `straight` and -mat_type macko the
   last two are of type macko from the start. Collective. Errors: PETSC_ERR_FILE_READ on every rank, with a sentence. */
PetscErrorCode ProblemLoad(MPI_Comm comm, const char *path, PetscBool straight, Problem *p);

/* Turns the matrix into type aijmacko, or what -mat_type says, and applies its other -mat_ options. Collective. */
PetscErrorCode ProblemConvert(Problem *p);
PetscErrorCode ProblemDestroy(Problem *p);

/* Whether the matrix, of type aij, equals its transpose in every entry, whatever zeros are stored. Entries are finite. Collective. */
PetscErrorCode ProblemFindSymmetry(Problem *p);

/* Refuses a matrix of type aij that holds a NaN or an infinite entry, with its place; path names it. Collective. Errors:
   PETSC_ERR_FP on every rank. */
PetscErrorCode ProblemCheckFinite(const Problem *p, const char *path);

/* A right-hand side of the row layout of p->A from a file: a matrix of one column, or a PETSc binary vector. Collective. Errors
   as of ProblemLoad. */
PetscErrorCode ProblemLoadVector(const Problem *p, const char *path, Vec b);

#endif
