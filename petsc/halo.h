/* What ranks exchange of vectors on GPUs, for all parallel types of ours: halo.c. In a build without CUDA there is no exchange, and
 * its functions do nothing. */
#ifndef MACKO_HALO_H
#define MACKO_HALO_H

#include "matmacko.h"

typedef struct MackoHalo MackoHalo;

/* *halo becomes A's exchange, which brings this rank those entries of vectors that are in ncols columns of other ranks, listed by
   their numbers in the whole matrix, ascending. It is made where there is none yet or A has others now, on all ranks or on none,
   and stays A's. *halo is NULL, on all ranks alike, where one of them may not use a GPU. Collective. */
PETSC_INTERN PetscErrorCode MackoHaloGet(Mat A, PetscInt ncols, const PetscInt *cols, MackoHalo **halo);

/* Does the same for a product with A's columns in x and its rows in y, or with A's transpose; *halo is NULL, too, where these
   vectors are not on the GPU. Collective. */
PETSC_INTERN PetscErrorCode MackoHaloGetFor(Mat A, Vec x, Vec y, PetscInt ncols, const PetscInt *cols, MackoHalo **halo);

/* *changed says whether the matrix has changed since this was last asked for products with it, or with its transpose: the same on
   all ranks. */
PETSC_INTERN PetscErrorCode MackoHaloChanged(MackoHalo *halo, macko_op op, PetscBool *changed);

/* A product calls these on all ranks: Send before the product of the own block, x being on the GPU; Receive after it, whose vector,
   on the GPU, has an entry for each of those columns and stays the exchange's; Done after the product of the other block, which
   reads it. What they do is queued on PETSc's stream. */
PETSC_INTERN PetscErrorCode MackoHaloSend(MackoHalo *halo, Vec x);
PETSC_INTERN PetscErrorCode MackoHaloReceive(MackoHalo *halo, Vec *received);
PETSC_INTERN PetscErrorCode MackoHaloDone(MackoHalo *halo);

/* Takes all these steps at once for the array of such a vector x, also one column of a dense matrix: the entries are copied to an
   array in GPU memory. */
PETSC_INTERN PetscErrorCode MackoHaloBring(MackoHalo *halo, const PetscScalar *x, PetscScalar *to);

/* A product with the transpose calls these on all ranks: Sums, collective at first and failing on all ranks or on none, for a
   vector on the GPU, with an entry for each of those columns, that the other block's product is to fill; Return after that, which
   sends the sums to their owners; Add after the own block's product, which brings what others have sent and adds it to this rank's
   y, rank by rank. They take arrays in GPU memory, also columns of dense matrices, or that vector and y. */
PETSC_INTERN PetscErrorCode MackoHaloSums(MackoHalo *halo, Vec *sums);
PETSC_INTERN PetscErrorCode MackoHaloReturn(MackoHalo *halo, const PetscScalar *sums);
PETSC_INTERN PetscErrorCode MackoHaloAdd(MackoHalo *halo, PetscScalar *y);
PETSC_INTERN PetscErrorCode MackoHaloReturnVec(MackoHalo *halo);
PETSC_INTERN PetscErrorCode MackoHaloAddVec(MackoHalo *halo, Vec y);

/* Prints the way that A's entries go. Collective, as is freeing the exchange. */
PETSC_INTERN PetscErrorCode MackoHaloView(Mat A, PetscInt ncols, const PetscInt *cols, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MackoHaloFree(Mat_Macko *m);

/* Products with our exchange multiply, where most rows of the off-diagonal block are empty, with the others alone, which are kept
   as a matrix of their own: halo_rows.c. Update makes it from the block off of the parallel matrix whole, with its options, or
   takes the block's new values or pattern; *multiplies is that matrix, not encoded yet, or off where it has more rows with entries
   or none. What fails, as for want of memory, comes back in *status and *err, so that ranks can agree first. Find says the same of
   what there is. The matrix stays whole's. */
PETSC_INTERN PetscErrorCode MackoHaloRowsUpdate(Mat off, Mat_Macko *whole, Mat *multiplies, macko_status *status,
                                                macko_error *err);
PETSC_INTERN PetscErrorCode MackoHaloRowsFind(Mat off, const Mat_Macko *whole, Mat *multiplies);

/* z = y + op(A) x, without y where that is NULL, of a parallel aijmacko that is up to date, where its vectors are on the GPU:
   halo_product.c. *done says, on all ranks alike, whether that is so; if not, nothing happened. z is not written before what may
   fail for want of memory is done. Collective. */
PETSC_INTERN PetscErrorCode MackoHaloMult(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done);

#endif
