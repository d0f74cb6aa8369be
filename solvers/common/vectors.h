/* Vectors to files, as columns. */
#ifndef VECTORS_H
#define VECTORS_H

#include "common/program.h"

/* Vectors of one length to a file. A path that ends in .mtx gets a dense Matrix Market file, any other one PETSc binary vector
   after another. Collective. Errors: PETSC_ERR_FILE_WRITE on every rank. */
PetscErrorCode VectorsSave(PetscInt count, const Vec *v, const char *path);

/* Refuses a file for vectors, named by an option, that could not be written. Collective. */
PetscErrorCode VectorsCheck(const char *option);

#endif
