/* Between the parts of macko-bench --solve. */
#ifndef BENCH_SOLVE_H
#define BENCH_SOLVE_H

#include "bench/cpu.h"

#include <petscmat.h>

/* Makes *to of *a, which is square with values of f64, 32-bit indices and sorted rows: its diagonal entries, put in where there
 * were none, become larger than the sum of their rows and columns, so that its symmetric part is positive definite and conjugate
 * gradients can be run. *to is freed with macko_free_csr. Errors: OUT_OF_MEMORY. */
macko_status bench_dominate(const macko_csr *a, macko_csr *to, macko_error *err);

/* This rank's rows of an n x n matrix as the lists that MatSetPreallocationCOO and MatSetValuesCOO take. */
typedef struct {
  PetscMPIInt rank;
  PetscInt n, rows;          /* rows of the matrix, and of this rank */
  PetscCount count;          /* entries of this rank */
  PetscInt *i, *j;           /* their rows and columns in the whole matrix; freed with PetscFree2 */
  const PetscScalar *values; /* of the matrix that they were made from, which must outlive them */
} bench_entries;

/* Fills *e from *a, which has 32-bit indices and which every rank has whole. Collective. */
PetscErrorCode bench_solve_entries(const macko_csr *a, bench_entries *e);

#endif
