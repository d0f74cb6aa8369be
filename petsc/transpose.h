/* Between the files of the matrix type: products with the transpose on a CPU (transpose.c). */
#ifndef MACKO_TRANSPOSE_H
#define MACKO_TRANSPOSE_H

#include "matmacko.h"

/* z = A' x + y, or z = A' x where y is NULL, by a compressed form of the transpose; *done is PETSC_FALSE, and nothing was done,
   where A stands on AIJCUSPARSE or multiplies on a GPU, where memory is preferred, and where there were not enough such products
   yet to pay for the form, or it cannot be encoded. */
PETSC_INTERN PetscErrorCode MackoMultTransposed(Mat A, Vec x, Vec y, Vec z, PetscBool *done);

/* Prints the compressed forms of transposes of A's blocks, if there are any. Collective. */
PETSC_INTERN PetscErrorCode MackoViewTransposed(Mat A, Mat blocks[2], int count, PetscViewer viewer);

/* Makes the form of the transpose stale, if there is one; frees it. */
PETSC_INTERN void           MackoForgetTransposed(Mat_Macko *m);
PETSC_INTERN PetscErrorCode MackoFreeTransposed(Mat_Macko *m);

#endif
