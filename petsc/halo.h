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

/* Does the same for a product y = A x; *halo is NULL, too, where these vectors are not on the GPU. Collective. */
PETSC_INTERN PetscErrorCode MackoHaloGetFor(Mat A, Vec x, Vec y, PetscInt ncols, const PetscInt *cols, MackoHalo **halo);

/* A product calls these on all ranks: Send before the product of the own block, x being on the GPU; Receive after it, whose vector,
   on the GPU, has an entry for each of those columns and stays the exchange's; Done after the product of the other block, which
   reads it. What they do is queued on PETSc's stream. */
PETSC_INTERN PetscErrorCode MackoHaloSend(MackoHalo *halo, Vec x);
PETSC_INTERN PetscErrorCode MackoHaloReceive(MackoHalo *halo, Vec *received);
PETSC_INTERN PetscErrorCode MackoHaloDone(MackoHalo *halo);

/* Takes all these steps at once for the array of such a vector x, also one column of a dense matrix: the entries are copied to an
   array in GPU memory. */
PETSC_INTERN PetscErrorCode MackoHaloBring(MackoHalo *halo, const PetscScalar *x, PetscScalar *to);

/* Prints the way that A's entries go. Collective, as is freeing the exchange. */
PETSC_INTERN PetscErrorCode MackoHaloView(Mat A, PetscInt ncols, const PetscInt *cols, PetscViewer viewer);
PETSC_INTERN PetscErrorCode MackoHaloFree(Mat_Macko *m);

/* y = A x, or y += A x, of a parallel aijmacko that is up to date, where its vectors are on the GPU: halo_product.c. *done says, on
   all ranks alike, whether that is so; if not, nothing happened. Collective. */
PETSC_INTERN PetscErrorCode MackoHaloMult(Mat A, Vec x, PetscBool add, Vec y, PetscBool *done);

#endif
