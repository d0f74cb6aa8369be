/* Vectors to files, as columns. */
#ifndef VECTORS_H
#define VECTORS_H

#include "common/program.h"

/* Writes `count` vectors of one length to a file, as columns. A path that ends in .mtx gets a dense Matrix Market file, any other
   one PETSc binary vector after another. Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode VectorsSave(PetscInt count, const Vec *v, const char *path);

/* Refuses a file for vectors, named by an option, that could not be written, and standard output. Collective. Errors:
   PETSC_ERR_FILE_WRITE or PETSC_ERR_ARG_WRONG on every rank. */
PetscErrorCode VectorsCheck(const char *option);

#endif
