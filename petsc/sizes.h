/* Checks of the sizes of vectors and matrices that come beside one of ours. */
#ifndef MACKO_PETSC_SIZES_H
#define MACKO_PETSC_SIZES_H

#include "matmacko.h"

/* Every rank raises PETSC_ERR_ARG_SIZ where one has been given so many of something ("elements of the vector") and wants another
   number. Collective. */
PETSC_INTERN PetscErrorCode MackoAgreeSize(Mat A, const char *what, PetscInt given, PetscInt wanted);

/* The same of the elements that v has on this rank; v may be NULL. Collective. */
PETSC_INTERN PetscErrorCode MackoAgreeVector(Mat A, const char *what, Vec v, PetscInt wanted);

/* Raises that on all ranks where B and C are not of the sizes of C = op(A) B. Collective. */
PETSC_INTERN PetscErrorCode MackoCheckDense(Mat A, macko_op op, Mat B, Mat C);

/* Raises it on this rank alone where x or z is of another local size than z = op(A) x wants: PETSc compares those of some products
   on all ranks together only. */
PETSC_INTERN PetscErrorCode MackoCheckVectors(Mat A, macko_op op, Vec x, Vec z);

#endif
