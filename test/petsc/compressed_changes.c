/* Type macko by its entries, and with others than before: MatSetValues, lists, copies, shifts, sums. */
#include "compressed.h"

enum { ROWS = 61, COLS = 47 };

/* ---- MatSetValues ---- */

/* Rows of this rank in ascending order; those of 5 modulo 6 have none, and not the last few. By columns every entry twice. */
static PetscErrorCode set_rows(Mat A, PetscInt cols, InsertMode mode, PetscBool by_columns)
{
  PetscInt first, past;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &past));
  if (by_columns) PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_FALSE));
  for (PetscInt i = first; i < past - 2; i++) {
    PetscInt    n = 0, at[2 * ROWS];
    PetscScalar v[2 * ROWS], value;
    if (i % 6 == 5) continue;
    for (PetscInt j = cols - 1; j >= 0; j--)
      if (entry(i, j, 11, &value)) at[n] = j, v[n++] = value;
    at[n] = -1, v[n++] = 99; /* no entry */
    for (PetscInt k = 0; by_columns && k < n; k++) at[n + k] = at[k], v[n + k] = v[k] / 4;
    PetscCall(MatSetValues(A, 1, &i, by_columns ? 2 * n : n, at, v, mode));
    if (n > 2) PetscCall(MatSetValues(A, 1, &i, 1, at, v + 1, mode)); /* once more the first one */
  }
  PetscCall(MatAssemblyBegin(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void open_matrix(const char *type, PetscInt rows, PetscInt cols, Mat *A)
{
  OK(MatCreate(PETSC_COMM_WORLD, A));
  OK(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, cols));
  OK(MatSetType(*A, type));
  OK(MatSetUp(*A));
  OK(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
}

START_TEST(entries_row_by_row)
{
  static const InsertMode modes[] = {INSERT_VALUES, ADD_VALUES};
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "37"));
  for (int by_columns = 0; by_columns < 2; by_columns++) {
    Mat A, P;
    open_matrix(MATMACKO, ROWS, COLS, &A);
    open_matrix(MATAIJ, ROWS, COLS, &P);
    OK(set_rows(A, COLS, modes[_i], (PetscBool)by_columns));
    OK(set_rows(P, COLS, modes[_i], (PetscBool)by_columns));
    assert_compressed(A, "row by row");
    assert_same_products(A, P, "row by row");
    OK(MatConvert(A, MATAIJ, MAT_INPLACE_MATRIX, &A));
    assert_same_entries(A, P, 1e-15, "row by row");
    DESTROY(&A, &P);
  }
}
END_TEST

/* Into a matrix that has entries: some of its own places, others, on one rank only. */
START_TEST(entries_beside_others)
{
  static const InsertMode modes[] = {INSERT_VALUES, ADD_VALUES};
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    Mat pair[2];
    make_both(type, ROWS, COLS, &pair[0], &pair[1]);
    OK(MatSetOption(pair[1], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (int which = 0; which < 2; which++) {
      PetscInt first, past;
      OK(MatGetOwnershipRange(pair[which], &first, &past));
      for (PetscInt i = first; past == ROWS && i < past; i += 3)
        for (PetscInt j = i % 5; j < COLS; j += 4) {
          PetscScalar v = 1 + j;
          OK(MatSetValues(pair[which], 1, &i, 1, &j, &v, modes[_i]));
        }
      OK(MatAssemblyBegin(pair[which], MAT_FINAL_ASSEMBLY));
      OK(MatAssemblyEnd(pair[which], MAT_FINAL_ASSEMBLY));
    }
    assert_compressed(pair[0], "entries beside others");
    assert_same_products(pair[0], pair[1], "entries beside others");
    DESTROY(&pair[0], &pair[1]);
  }
}
END_TEST

START_TEST(entries_that_do_not_fit)
{
  Mat         A, P;
  PetscScalar one = 1;
  PetscInt    first, past, other, outside = COLS;
  open_matrix(MATMACKO, ROWS, COLS, &A);
  OK(MatGetOwnershipRange(A, &first, &past));
  other = past < ROWS ? past : 0;
  OK(MatSetValues(A, 1, (PetscInt[]){first + 3}, 1, (PetscInt[]){2}, &one, INSERT_VALUES));
  REFUSED(MatSetValues(A, 1, &first, 1, (PetscInt[]){2}, &one, INSERT_VALUES), PETSC_ERR_SUP, "in ascending order");
  if (ranks() > 1) REFUSED(MatSetValues(A, 1, &other, 1, (PetscInt[]){2}, &one, INSERT_VALUES), PETSC_ERR_SUP, "another rank");
  OK(MatSetValues(A, 1, (PetscInt[]){first + 4}, 1, (PetscInt[]){5}, &one, INSERT_VALUES));
  REFUSED(MatSetValues(A, 1, (PetscInt[]){first + 4}, 1, &outside, &one, INSERT_VALUES), PETSC_ERR_ARG_OUTOFRANGE, "47");
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  open_matrix(MATAIJ, ROWS, COLS, &P);
  OK(MatSetValues(P, 1, (PetscInt[]){first + 3}, 1, (PetscInt[]){2}, &one, INSERT_VALUES));
  OK(MatSetValues(P, 1, (PetscInt[]){first + 4}, 1, (PetscInt[]){5}, &one, INSERT_VALUES));
  OK(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  assert_same_products(A, P, "after refusals");
  DESTROY(&A, &P);
  open_matrix(MATMACKO, ROWS, COLS, &A); /* destroyed half made */
  OK(MatSetValues(A, 1, (PetscInt[]){first + 3}, 1, (PetscInt[]){2}, &one, INSERT_VALUES));
  DESTROY(&A);
}
END_TEST

/* ---- lists ---- */

typedef struct {
  PetscInt    n, rows[4 * ROWS * COLS], cols[4 * ROWS * COLS];
  PetscScalar values[4 * ROWS * COLS];
} list;

/* The entries of this rank's rows, backwards by columns, some of them twice, one that is none. */
static void fill(list *l, Mat A)
{
  PetscInt    first, past;
  PetscScalar value;
  OK(MatGetOwnershipRange(A, &first, &past));
  l->n = 0;
  for (PetscInt j = COLS - 1; j >= 0; j--)
    for (PetscInt i = past - 1; i >= first; i--)
      for (int again = 0; entry(i, j, 11, &value) && again < 1 + (i + j) % 2; again++)
        l->rows[l->n] = i, l->cols[l->n] = j, l->values[l->n++] = value * (1 + again);
  l->rows[l->n] = -1, l->cols[l->n] = 0, l->values[l->n++] = 5;
}

START_TEST(entries_by_a_list)
{
  Mat   pair[2];
  list *l = malloc(sizeof *l);
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "37"));
  for (int which = 0; which < 2; which++) {
    OK(MatCreate(PETSC_COMM_WORLD, &pair[which]));
    OK(MatSetSizes(pair[which], PETSC_DECIDE, PETSC_DECIDE, ROWS, COLS));
    OK(MatSetType(pair[which], which ? MATAIJ : MATMACKO));
    OK(MatGetOwnershipRange(pair[which], &(PetscInt){0}, &(PetscInt){0}));
    fill(l, pair[which]);
    OK(MatSetPreallocationCOO(pair[which], l->n, l->rows, l->cols));
    fill(l, pair[which]); /* PETSc may have reordered it */
    OK(MatSetValuesCOO(pair[which], l->values, INSERT_VALUES));
  }
  assert_compressed(pair[0], "by a list");
  assert_same_products(pair[0], pair[1], "by a list");
  for (int k = 0; k < l->n; k++) l->values[k] *= 1 + k % 3;
  for (int which = 0; which < 2; which++) OK(MatSetValuesCOO(pair[which], l->values, ADD_VALUES));
  assert_same_products(pair[0], pair[1], "added by a list");
  for (int which = 0; which < 2; which++) OK(MatSetValuesCOO(pair[which], l->values, INSERT_VALUES));
  assert_same_products(pair[0], pair[1], "other values by a list");
  l->rows[0] = 0, l->cols[0] = COLS;
  REFUSED(MatSetPreallocationCOO(pair[0], 1, l->rows, l->cols), PETSC_ERR_SUP, "entry 0 of the list, in row 0 and column 47");
  if (ranks() > 1) {
    PetscInt first, past;
    OK(MatGetOwnershipRange(pair[0], &first, &past));
    l->rows[0] = past < ROWS ? past : 0, l->cols[0] = 1;
    REFUSED(MatSetPreallocationCOO(pair[0], 1, l->rows, l->cols), PETSC_ERR_SUP, "belongs to another rank");
  }
  assert_same_products(pair[0], pair[1], "after refusals");
  free(l);
  DESTROY(&pair[0], &pair[1]);
}
END_TEST

/* ---- copies, shifts, sums ---- */

START_TEST(copies)
{
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    Mat A, P, B, Q, R;
    make_both(type, ROWS, COLS, &A, &P);
    OK(make_matrix(PREALLOCATED, plain_type(type), ROWS, COLS, 23, &Q));
    OK(MatDuplicate(A, MAT_COPY_VALUES, &B));
    OK(MatScale(B, 5));
    OK(MatCopy(A, B, SAME_NONZERO_PATTERN));
    assert_same_products(B, P, "copied");
    OK(MatConvert(Q, type == ROOT_TYPE ? MATMACKO : MATMPIMACKO, MAT_INITIAL_MATRIX, &R));
    OK(MatCopy(A, R, DIFFERENT_NONZERO_PATTERN));
    OK(MatScale(A, 2));
    assert_same_products(R, P, "copied into one of another pattern");
    OK(MatScale(P, 2));
    OK(MatSetOption(Q, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    OK(MatCopy(A, Q, DIFFERENT_NONZERO_PATTERN));
    assert_same_products(Q, P, "copied into aij");
    OK(MatZeroEntries(A));
    OK(MatZeroEntries(P));
    OK(MatConvert(A, plain_type(type), MAT_INPLACE_MATRIX, &A));
    assert_same_products(A, P, "zero");
    DESTROY(&A, &P, &B, &Q, &R);
  }
}
END_TEST

START_TEST(shifts_and_sums)
{
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    for (int square = 0; square < 2; square++) {
      const PetscInt cols = square ? ROWS : COLS;
      Mat A, P, Q, X;
      make_both(type, ROWS, cols, &A, &P);
      OK(MatSetOption(P, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
      if (square) {
        OK(MatShift(A, -2.5));
        OK(MatShift(P, -2.5));
        assert_same_products(A, P, "shifted");
      }
      OK(MatAXPY(A, 0.75, P, SAME_NONZERO_PATTERN));
      OK(MatScale(P, 1.75));
      assert_same_products(A, P, "a sum of the same pattern");
      OK(make_matrix(PREALLOCATED, plain_type(type), ROWS, cols, 23, &Q));
      OK(MatConvert(Q, type == ROOT_TYPE ? MATMACKO : MATMPIMACKO, MAT_INITIAL_MATRIX, &X));
      OK(MatAXPY(A, -3, X, DIFFERENT_NONZERO_PATTERN));
      OK(MatAXPY(P, -3, Q, DIFFERENT_NONZERO_PATTERN));
      assert_same_products(A, P, "a sum with another one of type macko");
      OK(MatAXPY(A, 2, Q, DIFFERENT_NONZERO_PATTERN));
      OK(MatAXPY(P, 2, Q, DIFFERENT_NONZERO_PATTERN));
      assert_same_products(A, P, "a sum with aij");
      OK(MatAXPY(A, 2, A, SAME_NONZERO_PATTERN));
      OK(MatScale(P, 3));
      assert_same_products(A, P, "a sum with itself");
      DESTROY(&A, &P, &Q, &X);
    }
  }
}
END_TEST

void add_change_tests(TCase *t)
{
  tcase_add_loop_test(t, entries_row_by_row, 0, 2);
  tcase_add_loop_test(t, entries_beside_others, 0, 2);
  tcase_add_test(t, entries_that_do_not_fit);
  tcase_add_test(t, entries_by_a_list);
  tcase_add_test(t, copies);
  tcase_add_test(t, shifts_and_sums);
}
