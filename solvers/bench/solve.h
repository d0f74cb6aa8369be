/* Between the parts of macko-bench --solve. */
#ifndef BENCH_SOLVE_H
#define BENCH_SOLVE_H

#include "bench/cpu.h"

#include <petscmat.h>

/* *to is *a, square, with diagonal entries larger than the sum of their rows and columns, put in where there were none: its
 * symmetric part is positive definite. Rows of *a are sorted. Freed with macko_free_csr. */
macko_status bench_dominate(const macko_csr *a, macko_csr *to, macko_error *err);

/* This rank's rows of an n x n matrix as the lists that MatSetPreallocationCOO and MatSetValuesCOO take. */
typedef struct {
  PetscMPIInt rank;
  PetscInt n, rows;
  PetscCount count;
  PetscInt *i, *j;           /* freed with PetscFree2 */
  const PetscScalar *values; /* of the matrix that they were made from, which must outlive them */
} bench_entries;

/* Fills *e from *a, of 32-bit indices, which every rank has whole. Collective. */
PetscErrorCode bench_solve_entries(const macko_csr *a, bench_entries *e);

#endif
