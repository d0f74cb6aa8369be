/* Type macko, which holds nothing but the compressed form: every operation against plain AIJ. */
#include "compressed.h"
#include "macko.h"

#include <petscksp.h>

#include <math.h>
#include <string.h>

enum { ROWS = 61, COLS = 47 };

/* "macko" as the number of ranks has it, and the parallel type also on one rank. */
static const char *macko_type_of(type_choice type)
{
  return type == ROOT_TYPE ? MATMACKO : MATMPIMACKO;
}

static const char *type_name(Mat A)
{
  MatType type;
  return MatGetType(A, &type) ? "?" : type;
}

void assert_compressed(Mat A, const char *when)
{
  PetscBool compressed;
  OK(PetscObjectTypeCompareAny((PetscObject)A, &compressed, MATSEQMACKO, MATMPIMACKO, ""));
  ASSERT_ALL(compressed, "%s: the matrix is of type %s", when, type_name(A));
}

/* One of our type, in pieces of a few rows, and one of plain AIJ. */
void make_both(type_choice type, PetscInt rows, PetscInt cols, Mat *A, Mat *P)
{
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "37"));
  OK(make_matrix(PREALLOCATED, plain_type(type), rows, cols, 11, P));
  OK(MatConvert(*P, macko_type_of(type), MAT_INITIAL_MATRIX, A));
  assert_compressed(*A, "made");
}

/* ---- conversions ---- */

START_TEST(conversions)
{
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    Mat A, P, B, D;
    PetscBool is_aij;
    make_both(type, ROWS, COLS, &A, &P);
    assert_same_products(A, P, "converted");
    OK(MatConvert(A, plain_type(type), MAT_INITIAL_MATRIX, &B));
    assert_same_entries(B, P, 0, "there and back");
    OK(MatScale(B, 2));
    OK(MatConvert(B, macko_type_of(type), MAT_REUSE_MATRIX, &A));
    assert_same_products(A, B, "again into the same matrix");
    OK(MatConvert(A, plain_type(type), MAT_REUSE_MATRIX, &P));
    assert_same_entries(P, B, 0, "back into the same matrix");
    OK(MatConvert(B, macko_type_of(type), MAT_INPLACE_MATRIX, &B));
    assert_compressed(B, "in place");
    assert_same_products(B, P, "in place");
    OK(MatConvert(B, MATDENSE, MAT_INITIAL_MATRIX, &D));
    assert_same_entries(D, P, 0, "dense");
    OK(MatConvert(B, our_type(type), MAT_INPLACE_MATRIX, &B));
    assert_ours(B, "to aijmacko in place");
    assert_same_products(B, P, "to aijmacko in place");
    OK(MatConvert(B, macko_type_of(type), MAT_INPLACE_MATRIX, &B));
    OK(MatConvert(B, plain_type(type), MAT_INPLACE_MATRIX, &B));
    OK(PetscObjectTypeCompareAny((PetscObject)B, &is_aij, MATSEQAIJ, MATMPIAIJ, ""));
    ASSERT_ALL(is_aij, "back in place: type %s", type_name(B));
    assert_same_entries(B, P, 0, "back in place");
    DESTROY(&A, &P, &B, &D);
  }
}
END_TEST

static const char *const formats[] = {
#define MACKO_FORMAT(SYMBOL, name, text) #name,
#include "formats.def"
#undef MACKO_FORMAT
};

START_TEST(every_format)
{
  for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
    Mat A, P, B;
    MatMackoInfo info;
    OK(PetscOptionsSetValue(NULL, "-mat_macko_format", formats[f]));
    make_both(ROOT_TYPE, ROWS, COLS, &A, &P);
    OK(MatMackoGetInfo(A, &info));
    ASSERT_ALL(info.encoded && !strcmp(info.format, formats[f]), "format %s, not %s", info.format, formats[f]);
    assert_same_products(A, P, formats[f]);
    OK(MatScale(A, -0.5));
    OK(MatScale(P, -0.5));
    OK(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &B));
    assert_same_entries(B, P, 0, formats[f]);
    DESTROY(&A, &P, &B);
    OK(clear_options());
  }
}
END_TEST

/* ---- operations against AIJ ---- */

void same_vectors(Vec x, Vec y, double tolerance, const char *when)
{
  PetscReal size, difference;
  OK(VecNorm(y, NORM_INFINITY, &size));
  OK(VecAXPY(x, -1, y));
  OK(VecNorm(x, NORM_INFINITY, &difference));
  ASSERT_ALL(size > 0 && difference <= tolerance * size, "%s: differs by %g of %g", when, (double)difference, (double)size);
}

static void same_rows(Mat A, Mat P)
{
  PetscInt first, past, bad = 0;
  OK(MatGetOwnershipRange(P, &first, &past));
  for (PetscInt k = 0; k < past - first; k++) {
    PetscInt           i = first + k * 29 % (past - first), n, m; /* in no order */
    const PetscInt    *a, *p;
    const PetscScalar *va, *vp;
    if ((past - first) % 29 == 0) i = first + k;
    OK(MatGetRow(A, i, &n, &a, &va));
    OK(MatGetRow(P, i, &m, &p, &vp));
    if (n != m || memcmp(a, p, (size_t)n * sizeof *a) || memcmp(va, vp, (size_t)n * sizeof *va)) bad++;
    OK(MatRestoreRow(P, i, &m, &p, &vp));
    OK(MatRestoreRow(A, i, &n, &a, &va));
  }
  ASSERT_ALL(!bad, "%d rows differ", (int)bad);
}

static void same_norms(Mat A, Mat P)
{
  static const NormType types[] = {NORM_1, NORM_INFINITY, NORM_FROBENIUS};
  for (int i = 0; i < 3; i++) {
    PetscReal a, p;
    OK(MatNorm(A, types[i], &a));
    OK(MatNorm(P, types[i], &p));
    ASSERT_ALL(p > 0 && fabs(a - p) <= 1e-13 * p, "norm %d is %g, not %g", i, (double)a, (double)p);
  }
}

/* Single entries, among them some that are not there and, by a negative number, not asked for. */
static void same_entries(Mat A, Mat P)
{
  const PetscInt cols[] = {0, ROWS - 1, -1, 7, 3};
  PetscScalar    a[2 * 5], p[2 * 5];
  PetscInt       from, to;
  OK(MatGetOwnershipRange(A, &from, &to));
  for (PetscInt i = from; i < to; i++) {
    const PetscInt rows[] = {i, from};
    for (int k = 0; k < 10; k++) a[k] = p[k] = -99;
    OK(MatGetValues(A, 2, rows, 5, cols, a));
    OK(MatGetValues(P, 2, rows, 5, cols, p));
    ck_assert_msg(!memcmp(a, p, sizeof a), "entries of row %ld", (long)i);
  }
}

START_TEST(rows_diagonal_and_norms)
{
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    Mat       A, P;
    Vec       a, p;
    PetscInt *where, rows;
    make_both(type, ROWS, ROWS, &A, &P);
    same_rows(A, P);
    same_entries(A, P);
    same_norms(A, P);
    OK(MatCreateVecs(P, NULL, &a));
    OK(VecDuplicate(a, &p));
    OK(MatGetDiagonal(A, a));
    OK(MatGetDiagonal(P, p));
    same_vectors(a, p, 0, "diagonal");
    OK(MatGetLocalSize(A, &rows, NULL));
    OK(PetscMalloc1(2 * rows + 1, &where));
    OK(MatGetRowMaxAbs(A, a, where));
    OK(MatGetRowMaxAbs(P, p, where + rows));
    same_vectors(a, p, 0, "largest of each row");
    ASSERT_ALL(!memcmp(where, where + rows, (size_t)rows * sizeof *where), "places of the largest");
    OK(PetscFree(where));
    OK(MatGetRowSum(A, a));
    OK(MatGetRowSum(P, p));
    same_vectors(a, p, 1e-13, "sums of rows");
#if PETSC_VERSION_GE(3, 20, 0)
    OK(MatGetRowSumAbs(A, a));
    OK(MatGetRowSumAbs(P, p));
    same_vectors(a, p, 1e-13, "sums of sizes");
#endif
    OK(VecDestroy(&a));
    OK(VecDestroy(&p));
    DESTROY(&A, &P);
  }
}
END_TEST

/* A program may look at other entries, or at the whole matrix, while it holds a row: what it holds stays as it is. There is one row
   at a time, as with a parallel AIJ. */
START_TEST(a_row_that_is_held)
{
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    Mat       A, P;
    Vec       diagonal;
    PetscInt  first, past, wrong = 0;
    PetscReal norm;
    make_both(type, ROWS, ROWS, &A, &P);
    OK(MatGetOwnershipRange(A, &first, &past));
    OK(MatCreateVecs(A, NULL, &diagonal));
    for (PetscInt i = first; i < past; i++) {
      PetscInt           n, m;
      const PetscInt    *a, *p;
      const PetscScalar *va, *vp;
      OK(MatGetRow(A, i, &n, &a, &va));
      for (PetscInt k = first; k < past; k++) {
        PetscScalar other;
        OK(MatGetValue(A, k, i, &other));
      }
      if (i == first) {
        OK(MatNorm(A, NORM_1, &norm));
        OK(MatGetDiagonal(A, diagonal));
        REFUSED(MatGetRow(A, past - 1, &m, &p, &vp), PETSC_ERR_ARG_WRONGSTATE, "MatRestoreRow");
      }
      OK(MatGetRow(P, i, &m, &p, &vp));
      if (n != m || memcmp(a, p, (size_t)n * sizeof *a) || memcmp(va, vp, (size_t)n * sizeof *va)) wrong++;
      OK(MatRestoreRow(P, i, &m, &p, &vp));
      OK(MatRestoreRow(A, i, &n, &a, &va));
    }
    ASSERT_ALL(!wrong, "%d rows changed while they were held", (int)wrong);
    OK(VecDestroy(&diagonal));
    DESTROY(&A, &P);
  }
}
END_TEST

START_TEST(other_values)
{
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    Mat         A, P, B, back;
    Vec         left, right;
    PetscRandom random;
    PetscReal   norm;
    make_both(type, ROWS, COLS, &A, &P);
    OK(MatDuplicate(A, MAT_COPY_VALUES, &B));
    assert_compressed(B, "copied");
    OK(MatScale(A, 3));
    assert_same_products(B, P, "a copy is another matrix");
    OK(MatScale(P, 3));
    assert_same_products(A, P, "scaled");
    OK(MatCreateVecs(P, &right, &left));
    OK(PetscRandomCreate(PETSC_COMM_WORLD, &random));
    OK(VecSetRandom(left, random));
    OK(VecSetRandom(right, random));
    OK(MatDiagonalScale(A, left, right));
    OK(MatDiagonalScale(P, left, right));
    OK(MatDiagonalScale(A, NULL, right));
    OK(MatDiagonalScale(P, NULL, right));
    OK(MatDiagonalScale(A, left, NULL));
    OK(MatDiagonalScale(P, left, NULL));
    assert_same_products(A, P, "rows and columns scaled");
    OK(MatConvert(A, plain_type(type), MAT_INITIAL_MATRIX, &back));
    assert_same_entries(back, P, 0, "rows and columns scaled");
    DESTROY(&back, &B);
    OK(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
    OK(MatNorm(B, NORM_FROBENIUS, &norm));
    ASSERT_ALL(norm == 0, "values were copied");
    OK(PetscRandomDestroy(&random));
    OK(VecDestroy(&left));
    OK(VecDestroy(&right));
    DESTROY(&A, &P, &B);
  }
}
END_TEST

START_TEST(dense_products)
{
  static const PetscInt widths[] = {1, 3, 8, 13};
  Mat A, P;
  make_both(ROOT_TYPE, ROWS, COLS, &A, &P);
  for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
    assert_same_dense_products(A, P, MATDENSE, widths[w], "dense");
    OK(MatScale(A, 3));
    OK(MatScale(P, 3));
  }
  DESTROY(&A, &P);
}
END_TEST

/* On three ranks one has no rows, or no columns. */
START_TEST(few_rows_or_columns)
{
  static const PetscInt sizes[][2] = {{2, COLS}, {ROWS, 2}, {2, 2}};
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    Mat A, P;
    make_both(ROOT_TYPE, sizes[s][0], sizes[s][1], &A, &P);
    assert_same_products(A, P, "few");
    assert_same_dense_products(A, P, MATDENSE, 3, "few");
    DESTROY(&A, &P);
  }
}
END_TEST

/* ---- solvers ---- */

static PetscInt iterations(Mat A, const char *preconditioner)
{
  KSP      ksp;
  Vec      x, b;
  PetscInt its;
  OK(MatCreateVecs(A, &x, &b));
  OK(VecSet(b, 1));
  ksp = new_solver(A, A, KSPGMRES, preconditioner);
  OK(KSPSolve(ksp, b, x));
  OK(KSPGetIterationNumber(ksp, &its));
  OK(KSPDestroy(&ksp));
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  return its;
}

START_TEST(solves_as_aij_does)
{
  Mat          A, P;
  MatMackoInfo info;
  make_both(ROOT_TYPE, ROWS, ROWS, &A, &P);
  PetscInt mine = iterations(A, PCJACOBI), theirs = iterations(P, PCJACOBI);
  ASSERT_ALL(mine == theirs && mine > 2, "%d iterations, not %d", (int)mine, (int)theirs);
  OK(MatMackoGetInfo(A, &info));
  ASSERT_ALL(info.on_device || (info.products >= mine && info.product_seconds > 0 && info.product_seconds < 1),
             "%ld products, %g s each", (long)info.products, info.product_seconds);
  ASSERT_ALL(info.predicted_seconds > 0 && info.csr_predicted_seconds > 0, "%g s predicted, %g with csr", info.predicted_seconds,
             info.csr_predicted_seconds);
  DESTROY(&A, &P);
}
END_TEST

/* The recipe: the compressed matrix is multiplied, another one is the preconditioner's. */
START_TEST(another_matrix_for_the_preconditioner)
{
  Mat      A, P;
  KSP      ksp;
  Vec      x, b;
  PetscInt its;
  make_both(ROOT_TYPE, ROWS, ROWS, &A, &P);
  OK(MatCreateVecs(A, &x, &b));
  OK(VecSet(b, 1));
  ksp = new_solver(A, P, KSPGMRES, PCBJACOBI);
  OK(KSPSolve(ksp, b, x));
  OK(KSPGetIterationNumber(ksp, &its));
  ASSERT_ALL(its > 1, "%d iterations", (int)its);
  OK(KSPDestroy(&ksp));
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  DESTROY(&A, &P);
}
END_TEST

START_TEST(no_entries)
{
  Mat A, P;
  OK(MatCreate(PETSC_COMM_WORLD, &P));
  OK(MatSetSizes(P, PETSC_DECIDE, PETSC_DECIDE, 2, 5)); /* a rank without rows */
  OK(MatSetType(P, MATAIJ));
  OK(MatSetUp(P));
  OK(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  OK(MatConvert(P, MATMACKO, MAT_INITIAL_MATRIX, &A));
  assert_same_products(A, P, "no entries");
  OK(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  OK(PetscViewerPushFormat(PETSC_VIEWER_STDOUT_WORLD, PETSC_VIEWER_ASCII_INFO));
  OK(MatView(A, PETSC_VIEWER_STDOUT_WORLD));
  OK(PetscViewerPopFormat(PETSC_VIEWER_STDOUT_WORLD));
  DESTROY(&A, &P);
}
END_TEST

static void without_options(void)
{
  OK(clear_options());
}

static Suite *suite(void)
{
  Suite *s = suite_create("compressed");
  TCase *t = tcase_create("compressed");
  tcase_set_timeout(t, 0);
  tcase_add_checked_fixture(t, without_options, without_options);
  tcase_add_test(t, conversions);
  tcase_add_test(t, every_format);
  tcase_add_test(t, rows_diagonal_and_norms);
  tcase_add_test(t, a_row_that_is_held);
  tcase_add_test(t, other_values);
  tcase_add_test(t, dense_products);
  tcase_add_test(t, few_rows_or_columns);
  tcase_add_test(t, solves_as_aij_does);
  tcase_add_test(t, another_matrix_for_the_preconditioner);
  tcase_add_test(t, no_entries);
  add_draw_tests(t);
  add_file_tests(t);
  add_layout_tests(t);
  add_norm_tests(t);
  add_row_tests(t);
  add_rule_tests(t);
  add_memory_tests(t);
  add_refusal_tests(t);
  add_change_tests(t);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, suite, 2);
}
