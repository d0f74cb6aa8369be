/* Type macko: matrices from rows that the program gives one after another. */
#include "compressed.h"

enum { ROWS = 61, COLS = 47 };

typedef struct {
  PetscInt     cols, first, last, calls, fail_at, change_at, outside_at; /* the row before, how many; rows that go wrong */
  PetscInt     entries[3 * ROWS];
  PetscScalar  values[3 * ROWS];
} giver;

/* The row of the pseudo-random matrix backwards, its first entry in two halves. */
static PetscErrorCode give(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  giver      *g = (giver *)context;
  PetscInt    count = 0;
  PetscScalar value;
  g->calls++;
  if (row <= g->last && row != g->first) return PETSC_ERR_PLIB; /* out of order */
  if (row == g->fail_at) return PETSC_ERR_USER;
  g->last = row;
  for (PetscInt j = g->cols - 1; j >= 0; j--)
    if (entry(row, j, 11, &value)) g->entries[count] = j, g->values[count++] = value;
  if (count) g->entries[count] = g->entries[0], g->values[count] = g->values[0] /= 2, count++;
  if (row == g->outside_at) g->entries[0] = g->cols;
  if (row == g->change_at && g->calls > ROWS / ranks() + 1) g->entries[0] = 0, g->entries[1] = g->cols - 1;
  *n = count, *cols = g->entries, *values = g->values;
  return 0;
}

static giver new_giver(PetscInt rows)
{
  PetscMPIInt rank;
  PetscInt    local = PETSC_DECIDE, past = 0, all = rows;
  giver       g     = {.cols = COLS, .last = -1, .fail_at = -1, .change_at = -1, .outside_at = -1};
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  OK(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &all));
  MPI_Scan(&local, &past, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD);
  g.first = past - local;
  return g;
}

START_TEST(rows_are_asked_for_in_order)
{
  Mat      A, P;
  PetscInt rows;
  giver    g = new_giver(ROWS);
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "37"));
  OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A));
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, COLS, 11, &P));
  OK(MatGetLocalSize(P, &rows, NULL));
  ASSERT_ALL(g.calls == (ranks() > 1 ? 2 : 1) * rows, "%d calls for %d rows", (int)g.calls, (int)rows);
  assert_same_products(A, P, "from rows");
  DESTROY(&A, &P);
}
END_TEST

START_TEST(rows_that_go_wrong)
{
  Mat   A = NULL;
  giver g = new_giver(ROWS);
  g.fail_at = ROWS - 2; /* of the last rank */
  REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A), PETSC_ERR_LIB,
          "row 59 is missing");
  g = new_giver(ROWS), g.outside_at = 5;
  REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A), PETSC_ERR_LIB,
          "row 5 has an entry outside the matrix, in column 47");
  if (ranks() == 1) return;
  for (g = new_giver(ROWS), g.change_at = 0;; g.change_at++) { /* a row of rank 0 without an entry in the last column */
    PetscScalar value;
    if (!entry(g.change_at, COLS - 1, 11, &value) && g.change_at % 7 != 3) break;
  }
  REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give, &g, &A), PETSC_ERR_LIB, "");
}
END_TEST

/* Rows of one entry, some without its column or its value. */
static PetscErrorCode give_nothing(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  static PetscInt    col;
  static PetscScalar value = 1;
  const int         *missing = (const int *)context;
  *n = 1, *cols = &col, *values = &value;
  if (row == 7 && *missing == 0) *cols = NULL;
  if (row == 7 && *missing == 1) *values = NULL;
  return 0;
}

START_TEST(rows_without_arrays)
{
  static const char *const expected[] = {"row 7 has no columns, but a number of entries: 1",
                                         "row 7 has no values, but a number of entries: 1"};
  Mat                      A = NULL;
  for (int missing = 0; missing < 2; missing++)
    REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, give_nothing, &missing, &A),
            PETSC_ERR_LIB, expected[missing]);
  REFUSED(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS, NULL, NULL, &A), PETSC_ERR_ARG_NULL,
          "no function that gives rows");
}
END_TEST

enum { GAPS = 300 };

/* A diagonal, and in some rows an entry far from it: in every third row of ten, then in none for a long time. */
static PetscErrorCode give_gaps(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  static PetscInt    at[2];
  static PetscScalar value[2];
  (void)context;
  *n = row % 40 < 10 && row % 3 == 0 ? 2 : 1;
  at[0] = row, at[1] = (row + GAPS / 2) % GAPS;
  value[0] = 2 + row, value[1] = -1. / (1 + row);
  *cols = at, *values = value;
  return 0;
}

/* The same matrix of any type by MatSetValues. */
static void set_gaps(const char *type, Mat *A)
{
  PetscInt           n, first, past;
  const PetscInt    *cols;
  const PetscScalar *values;
  OK(MatCreate(PETSC_COMM_WORLD, A));
  OK(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, GAPS, GAPS));
  OK(MatSetType(*A, type));
  OK(MatSetUp(*A));
  OK(MatGetOwnershipRange(*A, &first, &past));
  for (PetscInt i = first; i < past; i++) {
    OK(give_gaps(NULL, i, &n, &cols, &values));
    OK(MatSetValues(*A, 1, &i, n, cols, values, INSERT_VALUES));
  }
  OK(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
}

/* Pieces of the off-diagonal block begin and end at rows that have entries; short gaps between them are part of a piece. */
START_TEST(long_gaps_between_rows)
{
  static const char *const pieces[] = {"1", "37", "2560", "100000"};
  Mat                      P;
  set_gaps(MATAIJ, &P);
  for (int p = 0; p < 4; p++) {
    Mat A[2], B;
    OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", pieces[p]));
    OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, GAPS, GAPS, give_gaps, NULL, &A[0]));
    set_gaps(MATMACKO, &A[1]);
    for (int k = 0; k < 2; k++) {
      OK(MatConvert(A[k], MATAIJ, MAT_INITIAL_MATRIX, &B));
      assert_same_entries(B, P, 0, pieces[p]);
      assert_same_products(A[k], P, pieces[p]);
      assert_same_dense_products(A[k], P, MATDENSE, 3, pieces[p]);
      OK(MatScale(A[k], 3));
      OK(MatScale(B, 3));
      assert_same_products(A[k], B, "scaled");
      DESTROY(&A[k], &B);
    }
  }
  OK(MatDestroy(&P));
}
END_TEST

/* The CSR of a matrix's rows on this rank; the arrays have room for any row of the pseudo-random matrix. */
static PetscInt csr_of(Mat P, PetscInt starts[ROWS + 1], PetscInt cols[ROWS * COLS], PetscScalar values[ROWS * COLS])
{
  PetscInt           first, past, n;
  const PetscInt    *row_cols;
  const PetscScalar *row_values;
  OK(MatGetOwnershipRange(P, &first, &past));
  starts[0] = 0;
  for (PetscInt i = first; i < past; i++) {
    OK(MatGetRow(P, i, &n, &row_cols, &row_values));
    for (PetscInt k = 0; k < n; k++) cols[starts[i - first] + k] = row_cols[k], values[starts[i - first] + k] = row_values[k];
    starts[i - first + 1] = starts[i - first] + n;
    OK(MatRestoreRow(P, i, &n, &row_cols, &row_values));
  }
  return past - first;
}

/* AIJ's functions of the same name fill a matrix of either type, and leave it as it was where the arrays are wrong. */
START_TEST(arrays_of_a_program)
{
  static PetscInt    starts[ROWS + 1], cols[ROWS * COLS];
  static PetscScalar values[ROWS * COLS];
  Mat                A, P;
  PetscReal          norm;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "37"));
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, COLS, 11, &P));
  const PetscInt rows = csr_of(P, starts, cols, values);
  new_matrix(_i ? MATMPIMACKO : MATMACKO, &A);
  OK(MatSetSizes(A, rows, PETSC_DECIDE, ROWS, COLS));
  OK(MatSeqAIJSetPreallocationCSR(A, starts, cols, values));
  OK(MatMPIAIJSetPreallocationCSR(A, starts, cols, values));
  assert_same_entries(A, P, 0, "from arrays");
  assert_same_products(A, P, "from arrays");
  if (my_rank() == ranks() - 1) starts[rows] = starts[rows - 1] - 1;
  REFUSED((MatSeqAIJSetPreallocationCSR(A, starts, cols, values) || MatMPIAIJSetPreallocationCSR(A, starts, cols, values)), 1,
          "row pointers fall");
  assert_same_products(A, P, "refused");
  csr_of(P, starts, cols, values);
  OK(MatSeqAIJSetPreallocationCSR(A, starts, cols, NULL));
  OK(MatMPIAIJSetPreallocationCSR(A, starts, cols, NULL));
  OK(MatNorm(A, NORM_FROBENIUS, &norm));
  ASSERT_ALL(norm == 0, "without values its norm is %g", norm);
  OK(MatAXPY(A, 1, P, SAME_NONZERO_PATTERN));
  assert_same_entries(A, P, 0, "added to the pattern");
  DESTROY(&A, &P);
}
END_TEST

void add_row_tests(TCase *t)
{
  tcase_add_loop_test(t, arrays_of_a_program, 0, 2);
  tcase_add_test(t, rows_are_asked_for_in_order);
  tcase_add_test(t, rows_that_go_wrong);
  tcase_add_test(t, rows_without_arrays);
  tcase_add_test(t, long_gaps_between_rows);
}
