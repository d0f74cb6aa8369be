/* The matrix of macko-bench --solve: one that methods converge on, and this rank's rows of it as lists of entries. */
#include "bench/solve.h"
#include "common/program.h"

#include <math.h>
#include <stdlib.h>

/* Sets diagonal[i] to 1 plus the sizes of all other entries of row i and of column i. The 1 keeps it above their sum, and above 0
   in a row that has nothing else. */
static void sum_rows_and_columns(const macko_csr *a, double *diagonal)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  for (int64_t i = 0; i < a->nrows; i++) diagonal[i] = 1;
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) {
      if (cols[p] == i) continue;
      double size = fabs(((const double *)a->values)[p]);
      diagonal[i] += size, diagonal[cols[p]] += size;
    }
}

/* The diagonal is put in where it belongs in a sorted row; an entry that was there is left out. */
macko_status bench_dominate(const macko_csr *a, macko_csr *to, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t n = a->nrows, count = 0;
  /* Every row may get one entry more. */
  size_t room = (size_t)row_ptr[n] + (size_t)n;
  double *diagonal = malloc((size_t)n * sizeof *diagonal + 1), *values = malloc(room * sizeof *values + 1);
  int32_t *new_ptr = malloc((size_t)(n + 1) * sizeof *new_ptr), *new_cols = malloc(room * sizeof *new_cols + 1);
  if (!diagonal || !values || !new_ptr || !new_cols || room > INT32_MAX) {
    free(diagonal), free(values), free(new_ptr), free(new_cols);
    return bench_refuse(err, MACKO_OUT_OF_MEMORY, "--solve", "no memory, or more than 2^31 nonzeros");
  }
  sum_rows_and_columns(a, diagonal);
  for (int64_t i = 0; i < n; i++) {
    int64_t p = row_ptr[i];
    new_ptr[i] = (int32_t)count;
    for (; p < row_ptr[i + 1] && cols[p] < i; p++, count++) new_cols[count] = cols[p], values[count] = ((double *)a->values)[p];
    new_cols[count] = (int32_t)i, values[count++] = diagonal[i];
    for (; p < row_ptr[i + 1]; p++)
      if (cols[p] != i) new_cols[count] = cols[p], values[count++] = ((double *)a->values)[p];
  }
  new_ptr[n] = (int32_t)count;
  free(diagonal);
  *to = (macko_csr){.nrows = n, .ncols = n, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                    .row_ptr = new_ptr, .cols = new_cols, .values = values};
  return MACKO_OK;
}

/* Rows are shared among ranks as PETSc would do it. */
PetscErrorCode bench_solve_entries(const macko_csr *a, bench_entries *e)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  PetscInt first, n = (PetscInt)a->nrows;

  PetscFunctionBegin;
  *e = (bench_entries){.n = n, .rows = PETSC_DECIDE};
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &e->rows, &n));
  /* MPI_Exscan leaves the first rank's result undefined; it is 0. */
  PetscCallMPI(MPI_Exscan(&e->rows, &first, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &e->rank));
  if (e->rank == 0) first = 0;
  e->count = row_ptr[first + e->rows] - row_ptr[first];
  e->values = (const PetscScalar *)a->values + row_ptr[first];
  PetscCall(PetscMalloc2(e->count, &e->i, e->count, &e->j));
  /* Rows and columns are those of the whole matrix, as PETSc's lists of entries have them. */
  for (PetscInt i = first; i < first + e->rows; i++)
    for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) e->i[p - row_ptr[first]] = i, e->j[p - row_ptr[first]] = cols[p];
  PetscFunctionReturn(PETSC_SUCCESS);
}
