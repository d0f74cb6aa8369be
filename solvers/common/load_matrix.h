/* A matrix file as a distributed PETSc matrix; shared by the programs of this folder. */
#ifndef LOAD_MATRIX_H
#define LOAD_MATRIX_H

#include "common/program.h"
#include "macko.h"
#include "petscmacko.h"

/* The prefix of a matrix's options until it has its type, so that -mat_view is not for AIJ as it was read or made. */
#define UNREAD "unread_"

/* A distributed matrix, and what the summaries of programs say of it. */
typedef struct {
  Mat            A;
  char           kind[96];     /* what the file is, in words */
  PetscBool      symmetric;    /* known to equal its transpose, from the file or by ProblemFindSymmetry */
  PetscBool      lossy;        /* a .macko file's, whose values were rounded when it was made */
  PetscInt64     nnz;          /* stored entries of all ranks */
  PetscLogDouble read_seconds; /* of this rank */
} Problem;

/* Makes p->A, of type aij, of any file that macko_read takes (rank 0 reads it and sends each rank its rows), of a PETSc binary
   matrix (no rank holds more than its rows), or of what stencil.h knows by its name. With `straight` and -mat_type macko a PETSc
   binary matrix, a .macko file and a stencil are of type macko from the start, so that they never are in memory as CSR. *p is
   freed with ProblemDestroy. Collective. Errors: PETSC_ERR_FILE_READ on every rank, with a sentence. */
PetscErrorCode ProblemLoad(MPI_Comm comm, const char *path, PetscBool straight, Problem *p);

/* Turns the matrix into type aijmacko, or what -mat_type says, in its place, and applies its other -mat_ options. Vectors for its
   products are to be made afterwards, as they may live on a device then. Collective. */
PetscErrorCode ProblemConvert(Problem *p);

/* Frees the matrix. Collective. */
PetscErrorCode ProblemDestroy(Problem *p);

/* Sets p->symmetric to whether the matrix, which is of type aij, square and finite, equals its transpose in every entry, whatever
   zeros are stored. Collective. */
PetscErrorCode ProblemFindSymmetry(Problem *p);

/* Says in a clause which entry is the first that is NaN or infinite; words, of that room, are empty where none is. The matrix is of
   type aij or macko. Collective. */
PetscErrorCode ProblemFindBad(const Problem *p, char *words, size_t room);

/* Says the same of a vector, which the clause calls by that name. Collective. */
PetscErrorCode VectorFindBad(Vec v, const char *name, char *words, size_t room);

/* Refuses a matrix of type aij that holds a NaN or an infinite entry, in a sentence that names its place; path is what the
   sentence calls the matrix. Collective. Errors: PETSC_ERR_FP on every rank. */
PetscErrorCode ProblemCheckFinite(const Problem *p, const char *path);

/* Fills b, which has the row layout of p->A, from a file: a matrix of one column, or a PETSc binary vector. Collective. Errors:
   those of ProblemLoad. */
PetscErrorCode ProblemLoadVector(const Problem *p, const char *path, Vec b);

#endif
