/* Between the parts of macko-bench that multiply with PETSc's own types, on the CPU and on a GPU. */
#ifndef BENCH_PETSC_H
#define BENCH_PETSC_H

#include "macko.h"

#include <petscmat.h>

/* A matrix of PETSc's and the vectors that it is multiplied with. */
typedef struct {
  Mat A;
  Vec x, y; /* without memory of their own: arrays are placed in them, or they are the caller's device memory */
  Mat X, Y; /* of several vectors */
} petsc_product;

/* Destroys them, of which any may be NULL, and frees *p; an error here concerns no result, so that it is only told, of `name`.
   NULL is allowed. */
void bench_free_petsc(petsc_product *p, const char *name);

/* Puts the rows of a csr with indices as PETSc's into A, which has memory for them, and assembles it. MatConvert takes minutes to
   some types. */
PetscErrorCode bench_put_rows(const macko_csr *csr, Mat A);

#endif
