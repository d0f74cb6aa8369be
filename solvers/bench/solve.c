/* macko-bench --solve: when compression pays within a whole solve, through PETSc: conjugate gradients with Jacobi on type aij and
 * on aijmacko, in turn, and what encoding takes. */
#include "bench/cpu.h"
#include "common/program.h"
#include "petscmacko.h"

#include <math.h>
#include <petscksp.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 64 };

/* Medians, seconds; iterations of one solve. */
typedef struct {
  double aij, encode, macko;
  int aij_iterations, macko_iterations;
} solve_times;

/* ---- a matrix that the method converges on ---- */

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

/* *to is *a, square, with diagonal entries larger than the sum of their rows and columns, put in where there were none: its
 * symmetric part is positive definite. Rows of *a are sorted. Freed with macko_free_csr. */
static macko_status dominate(const macko_csr *a, macko_csr *to, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t n = a->nrows, count = 0;
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

/* ---- solving ---- */

static PetscErrorCode solve(Mat A, int most, double *seconds, int *iterations)
{
  KSP ksp;
  PC pc;
  Vec x, b;
  PetscInt count;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetTolerances(ksp, 1e-300, 1e-300, 1e300, most));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  double start = bench_now();
  PetscCall(KSPSolve(ksp, b, x));
  *seconds = bench_now() - start;
  PetscCall(KSPGetIterationNumber(ksp, &count));
  *iterations = (int)count;
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_rounds(const macko_csr *a, int rounds, int most, solve_times *t)
{
  double aij[MOST_ROUNDS], encode[MOST_ROUNDS], macko[MOST_ROUNDS];
  Mat A, B;

  PetscFunctionBegin;
  PetscCall(MatMackoInitializePackage());
  PetscCall(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, (PetscInt)a->nrows, (PetscInt)a->ncols, (PetscInt *)a->row_ptr,
                                      (PetscInt *)a->cols, (PetscScalar *)a->values, &A));
  for (int i = 0; i < rounds; i++) {
    PetscCall(MatConvert(A, MATSEQAIJMACKO, MAT_INITIAL_MATRIX, &B));
    PetscCall(MatSetFromOptions(B));
    double start = bench_now();
    PetscCall(MatMackoEncode(B));
    encode[i] = bench_now() - start;
    PetscCall(solve(B, most, &macko[i], &t->macko_iterations));
    PetscCall(MatDestroy(&B));
    PetscCall(solve(A, most, &aij[i], &t->aij_iterations));
  }
  PetscCall(MatDestroy(&A));
  t->aij = bench_median(aij, rounds), t->encode = bench_median(encode, rounds), t->macko = bench_median(macko, rounds);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void print_times(const char *matrix, int64_t nnz, const solve_times *t)
{
  double saved = t->aij / t->aij_iterations - t->macko / t->macko_iterations;
  char pays[32] = "never";
  if (saved > 0) snprintf(pays, sizeof pays, "%.0f", ceil(t->encode / saved));
  printf("  %-24s %12lld %7d %12.4f %12.4f %12.4f %11s\n", matrix, (long long)nnz, t->macko_iterations, t->aij, t->encode,
         t->macko, pays);
  fflush(stdout);
}

macko_status bench_solve(const char *matrix, const macko_csr *a, bench_settings *settings, bench_table *table, macko_error *err)
{
  macko_csr dominant = {0};
  solve_times t;
  static int printed;
  (void)table;
  if (sizeof(PetscInt) != 4) return bench_refuse(err, MACKO_UNSUPPORTED, "--solve", "needs a PETSc of 32-bit indices");
  if (a->value_type != MACKO_F64 || a->nrows != a->ncols || a->nrows == 0)
    return bench_refuse(err, MACKO_UNSUPPORTED, matrix, "--solve takes square matrices of f64");
  macko_status s = bench_start_petsc(err);
  if (!s) s = dominate(a, &dominant, err);
  if (!s && run_rounds(&dominant, settings->repeats < MOST_ROUNDS ? settings->repeats : MOST_ROUNDS, settings->solve, &t))
    s = bench_refuse(err, MACKO_UNSUPPORTED, matrix, "PETSc reports an error");
  if (!s && !printed++) {
    bench_print_heading(stdout, settings);
    printf("  %-24s %12s %7s %12s %12s %12s %11s\n", "matrix", "nonzeros", "steps", "aij solve, s", "encode, s", "solve, s",
           "pays after");
  }
  if (!s) print_times(matrix, ((const int32_t *)dominant.row_ptr)[dominant.nrows], &t);
  macko_free_csr(&dominant);
  return s;
}
