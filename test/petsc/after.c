/* -mat_macko_after: how many products the type below does before the compressed form is made, and that all of them are right. */
#include "common.h"


enum { N = 90, AFTER = 3 };

static MatMackoInfo info_of(Mat A)
{
  MatMackoInfo info;
  OK(MatMackoGetInfo(A, &info));
  return info;
}

/* y = A x, or the second of products of every kind, by both; fails unless they agree. */
static void multiply(Mat A, Mat P, int kind, const char *when)
{
  Vec       x, y, z, w;
  PetscReal difference, norm;
  OK(MatCreateVecs(P, &x, &y));
  OK(VecSet(x, 0.5));
  OK(VecSet(y, 2));
  OK(VecDuplicate(y, &z));
  OK(VecDuplicate(y, &w));
  if (kind == 0) OK(MatMult(A, x, z));
  if (kind == 0) OK(MatMult(P, x, w));
  if (kind == 1) OK(MatMultAdd(A, x, y, z));
  if (kind == 1) OK(MatMultAdd(P, x, y, w));
  if (kind == 2) OK(MatMultTranspose(A, x, z));
  if (kind == 2) OK(MatMultTranspose(P, x, w));
  if (kind == 3) OK(MatMultTransposeAdd(A, x, y, z));
  if (kind == 3) OK(MatMultTransposeAdd(P, x, y, w));
  OK(VecNorm(w, NORM_2, &norm));
  OK(VecAXPY(z, -1, w));
  OK(VecNorm(z, NORM_2, &difference));
  ASSERT_ALL(difference <= 1e-14 * norm, "%s, product of kind %d: off by %g of %g", when, kind, (double)difference, (double)norm);
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&z));
  OK(VecDestroy(&w));
}

/* Products of every kind count alike; new values start again. */
START_TEST(products_before_are_the_base_s)
{
  Mat A, P;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_after", "3"));
  OK(make_pair((way)(_i / TYPES), (type_choice)(_i % TYPES), N, N, 3, &A, &P));
  for (int i = 0; i < AFTER; i++) {
    multiply(A, P, i, "before");
    ASSERT_ALL(info_of(A).encodes == 0, "encoded by product %d", i);
  }
  for (int kind = 0; kind < 4; kind++) {
    multiply(A, P, kind, "after");
    ASSERT_ALL(info_of(A).encodes == 1 && info_of(A).refreshes == 0, "not encoded by product %d", AFTER);
  }
  OK(MatScale(A, 3));
  OK(MatScale(P, 3));
  for (int i = 0; i < AFTER; i++) {
    multiply(A, P, i, "scaled");
    ASSERT_ALL(info_of(A).refreshes == 0, "refreshed by product %d", i);
  }
  multiply(A, P, 0, "scaled");
  ASSERT_ALL(info_of(A).encodes == 1 && info_of(A).refreshes == 1, "not refreshed");
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

START_TEST(asked_for_it_is_encoded_at_once)
{
  Mat A, P;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_after", "3"));
  OK(make_pair(PREALLOCATED, (type_choice)_i, N, N, 3, &A, &P));
  multiply(A, P, 0, "before");
  OK(MatMackoEncode(A));
  ASSERT_ALL(info_of(A).encodes == 1, "MatMackoEncode did not encode");
  multiply(A, P, 0, "encoded");
  ASSERT_ALL(info_of(A).encodes == 1 && info_of(A).refreshes == 0, "encoded again");
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

static void view(Mat A)
{
  PetscViewer nowhere;
  OK(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &nowhere));
  OK(PetscViewerPushFormat(nowhere, PETSC_VIEWER_ASCII_INFO));
  OK(MatView(A, nowhere));
  OK(PetscViewerDestroy(&nowhere));
}

/* Automatic: at once where an option says how to store; else not for a few products, which do not pay for it, and at last. On a
 * GPU nothing pays for matrices this small. */
START_TEST(by_itself)
{
  Mat A, P;
  OK(PetscOptionsClearValue(NULL, "-mat_macko_after"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  if (_i / TYPES) OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "macko"));
  OK(make_pair(PREALLOCATED, (type_choice)(_i % TYPES), N, N, 3, &A, &P));
  multiply(A, P, 0, "first");
  if (_i / TYPES) ASSERT_ALL(info_of(A).encodes == 1, "not encoded by the first product");
  else {
    for (int i = 1; i < 5; i++) multiply(A, P, i % 2, "few");
    ASSERT_ALL(info_of(A).encodes == 0, "encoded for five products");
  }
  for (int i = 0; i < 5000 && !info_of(A).encodes; i++) multiply(A, P, i % 2, "many");
  ASSERT_ALL(info_of(A).encodes == 1, "not encoded after 5000 products");
  /* Values that change are expected to be multiplied as often, also where a view has seen some that no product has. */
  for (int i = 0; i < 2; i++) {
    OK(MatScale(A, 2));
    OK(MatScale(P, 2));
    view(A);
    ASSERT_ALL(info_of(A).refreshes == 0, "a view took new values");
  }
  multiply(A, P, 1, "scaled");
  ASSERT_ALL(info_of(A).encodes == 1 && info_of(A).refreshes == 1, "not refreshed by the first product");
  DESTROY(&A, &P);
  if (_i / TYPES) OK(PetscOptionsClearValue(NULL, "-mat_macko_format"));
  OK(clear_options());
}
END_TEST

/* What one change of values after another is: few products of each, or many, or many with another pattern each time. */
typedef enum { FEW_PRODUCTS, MANY_PRODUCTS, OTHER_PATTERNS, CHANGES } change;

/* Gives rows entries that some of them were without, in another place every round. */
static void change_pattern(Mat A, int round)
{
  PetscInt first, past;
  OK(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  OK(MatGetOwnershipRange(A, &first, &past));
  for (PetscInt i = first; i < past; i++) OK(MatSetValue(A, i, (i + round) % N, 1, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

/* Values that are multiplied too few times each to pay for encoding do so together, where each of them pays for renewing; fewer
 * never do, nor do those of different patterns. */
START_TEST(many_values_count_together)
{
  const change kind   = (change)(_i / TYPES);
  const int    rounds = kind == OTHER_PATTERNS ? 4 : 40; /* so that rows stay short: with long ones 140 products pay */
  const int    each   = kind == FEW_PRODUCTS ? 20 : 140;
  int          round  = 0;
  Mat          A, P;
  OK(PetscOptionsClearValue(NULL, "-mat_macko_after"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  OK(make_pair(PREALLOCATED, (type_choice)(_i % TYPES), N, N, 3, &A, &P));
  for (; round < rounds && !info_of(A).encodes; round++) {
    for (int i = 0; i < each; i++) multiply(A, P, i % 2, "again");
    if (kind == OTHER_PATTERNS) {
      change_pattern(A, round);
      change_pattern(P, round);
      continue;
    }
    OK(MatScale(A, 2));
    OK(MatScale(P, 2));
  }
  if (kind != MANY_PRODUCTS) ASSERT_ALL(info_of(A).encodes == 0, "kind %d: encoded in round %d", (int)kind, round);
  else ASSERT_ALL(info_of(A).encodes == 1 && round > 2, "encoded %d times, in round %d", (int)info_of(A).encodes, round);
  multiply(A, P, 0, "in the end");
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

/* A view neither encodes nor takes new values. */
START_TEST(a_view_changes_nothing)
{
  Mat A, P;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_after", "3"));
  OK(make_pair(PREALLOCATED, (type_choice)_i, N, N, 3, &A, &P));
  for (int i = 0; i < AFTER; i++) {
    view(A);
    multiply(A, P, i, "before");
    view(A);
    ASSERT_ALL(info_of(A).encodes == 0, "a view encoded after %d products", i + 1);
  }
  multiply(A, P, 0, "after");
  ASSERT_ALL(info_of(A).encodes == 1, "not encoded by product %d", AFTER);
  OK(MatScale(A, 3));
  OK(MatScale(P, 3));
  for (int i = 0; i < AFTER; i++) {
    view(A);
    ASSERT_ALL(info_of(A).refreshes == 0, "a view took new values after %d products", i);
    multiply(A, P, i, "scaled");
  }
  multiply(A, P, 0, "scaled");
  ASSERT_ALL(info_of(A).encodes == 1 && info_of(A).refreshes == 1, "not refreshed");
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

static Mat dense_product(Mat A, Mat B)
{
  Mat X;
  OK(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
  return X;
}

/* The norm of X - Y, which is left in X. */
static double distance(Mat X, Mat Y)
{
  PetscReal norm;
  OK(MatAXPY(X, -1, Y, SAME_NONZERO_PATTERN));
  OK(MatNorm(X, NORM_FROBENIUS, &norm));
  return (double)norm;
}

/* On a CPU transposed products are AIJ's own, and encode nothing, but where an option says how to store. */
START_TEST(transposed_by_itself)
{
  Mat    A, P, B, X, Y;
  double norm;
  if (ranks() > 1) return;
  OK(PetscOptionsClear(NULL));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  if (_i) OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "macko"));
  OK(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 3, &A, &P));
  for (int i = 0; i < 2000; i++) multiply(A, P, 2 + i % 2, "transposed");
  ASSERT_ALL(info_of(A).encodes == _i, "encoded %d times", (int)info_of(A).encodes);
  OK(MatCreateSeqDense(PETSC_COMM_SELF, N, 3, NULL, &B));
  OK(MatSetRandom(B, NULL));
  X = dense_product(A, B), Y = dense_product(P, B);
  norm = distance(X, Y);
  ASSERT_ALL(norm <= 1e-12 && info_of(A).encodes == _i, "with a dense matrix: off by %g, encoded %d times", norm,
             (int)info_of(A).encodes);
  DESTROY(&X, &Y, &B, &A, &P);
  OK(clear_options());
}
END_TEST

/* Where AIJ does the products with several columns nothing is encoded for them, however many there are; for a product with one
 * vector it then is, as there have been enough. */
START_TEST(columns_by_itself)
{
  Mat    A, P, B, X, Y;
  double norm;
  if (ranks() > 1) return;
  OK(PetscOptionsClear(NULL));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  OK(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 3, &A, &P));
  OK(MatCreateSeqDense(PETSC_COMM_SELF, N, 8, NULL, &B));
  OK(MatSetRandom(B, NULL));
  OK(MatMatMult(P, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
  OK(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
  for (int i = 0; i < 1000; i++) OK(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
  norm = distance(X, Y);
  ASSERT_ALL(norm <= 1e-12 && info_of(A).encodes == 0, "off by %g, encoded %d times", norm, (int)info_of(A).encodes);
  multiply(A, P, 0, "then");
  ASSERT_ALL(info_of(A).encodes == 1, "not encoded after 8000 products");
  ASSERT_ALL(info_of(A).predicted_seconds > 0.7 * info_of(A).csr_predicted_seconds, "the matrix is one that ours gains with");
  DESTROY(&X, &Y, &B, &A, &P);
  OK(clear_options());
}
END_TEST

/* Diagonals while products wait; a preconditioner that takes blocks of the matrix. */
START_TEST(diagonals_agree)
{
  Mat       A, P;
  Vec       a, p;
  PetscBool same;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_after", "3"));
  OK(make_pair(PREALLOCATED, (type_choice)_i, N, N, 3, &A, &P));
  OK(MatCreateVecs(A, NULL, &a));
  OK(MatCreateVecs(P, NULL, &p));
  OK(MatGetDiagonal(A, a));
  OK(MatGetDiagonal(P, p));
  ASSERT_ALL(info_of(A).encodes == 0, "the diagonal encoded");
  OK(VecAXPY(p, -1, a));
  PetscReal norm;
  OK(VecNorm(p, NORM_INFINITY, &norm));
  same = (PetscBool)(norm == 0);
  ASSERT_ALL(same, "other diagonals");
  OK(VecDestroy(&a));
  OK(VecDestroy(&p));
  DESTROY(&A, &P);
  OK(clear_options());
}
END_TEST

START_TEST(what_is_no_number_is_refused)
{
  static const char *const wrong[] = {"-1", "x", "3x", "99999999999999999999"};
  Mat            A;
  PetscErrorCode error;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_after", wrong[_i]));
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 3, &A);
  OK(PetscPopErrorHandler());
  ASSERT_ALL(error == PETSC_ERR_USER_INPUT, "%s: error %d", wrong[_i], (int)error);
  OK(clear_options());
  OK(MatDestroy(&A));
}
END_TEST

/* Format csr multiplies from AIJ's arrays, before and after new values, where indices have the width that it stores. */
START_TEST(csr_takes_no_second_copy)
{
  enum { LINE = 200000 };
  PetscInt first, past;
  Mat      A;
  Vec      x, y;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "csr"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  OK(MatCreateAIJ(PETSC_COMM_WORLD, LINE, LINE, PETSC_DETERMINE, PETSC_DETERMINE, 9, NULL, 0, NULL, &A));
  OK(MatSetType(A, MATAIJMACKO));
  OK(MatSeqAIJSetPreallocation(A, 9, NULL));
  OK(MatMPIAIJSetPreallocation(A, 9, NULL, 0, NULL));
  OK(MatGetOwnershipRange(A, &first, &past));
  for (PetscInt i = first; i < past; i++)
    for (PetscInt j = PetscMax(first, i - 4); j < PetscMin(past, i + 5); j++) OK(MatSetValue(A, i, j, 1, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  for (int i = 1; i <= 2; i++) {
    const size_t before = bytes_in_use();
    PetscReal    sum;
    OK(MatMult(A, x, y));
    const size_t more = bytes_in_use() - before;
    OK(VecNorm(y, NORM_INFINITY, &sum));
    ASSERT_ALL(sum == 9 * i, "a row sums up to %g", (double)sum);
    ASSERT_ALL(info_of(A).encodes == 1 && !strcmp(info_of(A).format, "csr"), "stored as %s", info_of(A).format);
    ASSERT_ALL(sizeof(PetscInt) == 8 || more < 9 * LINE * sizeof(PetscScalar) / 4, "%zu bytes more", more);
    OK(MatScale(A, 2));
  }
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(MatDestroy(&A));
  OK(clear_options());
}
END_TEST

/* C = A B with `columns` columns by both; fails unless they agree. */
static void multiply_dense(Mat A, Mat P, Mat B, Mat C, Mat D, const char *when)
{
  PetscReal norm;
  OK(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &C));
  OK(MatMatMult(P, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &D));
  OK(MatNorm(D, NORM_FROBENIUS, &norm));
  const double difference = distance(D, C);
  ASSERT_ALL(difference <= 1e-14 * norm, "%s: off by %g of %g", when, difference, (double)norm);
}

static int stored_as(Mat A, const char *format)
{
  const char *own = info_of(A).format; /* NULL: it is not encoded */
  return own && !strcmp(own, format);
}

/* By itself a product with dense columns is AIJ's too, until the columns together pay for encoding; each rank does its own. The
 * matrix is one that ours is much faster with on a CPU: it has a value for each diagonal. */
START_TEST(dense_columns_count)
{
  enum { ROWS = 2048, HALF = 7, COLUMNS = 8, MOST = 2000 };
  Mat         A, P, B, C, D;
  int         products = 0;
  if (_i == 0) OK(PetscOptionsClearValue(NULL, "-mat_macko_after")); /* which is 0 in these suites */
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  OK(MatCreateSeqAIJ(PETSC_COMM_SELF, ROWS, ROWS, 2 * HALF + 1, NULL, &P));
  for (PetscInt i = 0; i < ROWS; i++)
    for (PetscInt j = PetscMax(i - HALF, 0); j <= PetscMin(i + HALF, ROWS - 1); j++)
      OK(MatSetValue(P, i, j, i == j ? 2 * HALF : -1, INSERT_VALUES));
  OK(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  OK(MatConvert(P, MATSEQAIJMACKO, MAT_INITIAL_MATRIX, &A));
  OK(MatCreateSeqDense(PETSC_COMM_SELF, ROWS, COLUMNS, NULL, &B));
  OK(MatSetRandom(B, NULL));
  OK(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  OK(MatMatMult(P, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  ASSERT_ALL((info_of(A).encodes > 0) == _i, "-mat_macko_after %s: encoded %d times", _i ? "0" : "auto", (int)info_of(A).encodes);
  for (; products < MOST && !info_of(A).encodes; products++) multiply_dense(A, P, B, C, D, "before");
  ASSERT_ALL(info_of(A).encodes == 1, "%d products of %d columns are not encoded", MOST, COLUMNS);
  multiply_dense(A, P, B, C, D, "after");
  ASSERT_ALL(info_of(A).encodes == 1, "encoded again");
  /* What was predicted for one choice of a format says nothing of another. */
  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "csr"));
  OK(MatSetFromOptions(A));
  multiply_dense(A, P, B, C, D, "as csr");
  ASSERT_ALL(_i || !stored_as(A, "csr"), "encoded as csr, which gains nothing");
  OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "macko"));
  OK(MatSetFromOptions(A));
  multiply_dense(A, P, B, C, D, "as macko");
  ASSERT_ALL(stored_as(A, "macko"), "not encoded as macko, which gains much");
  OK(MatDestroy(&B));
  OK(MatDestroy(&C));
  OK(MatDestroy(&D));
  OK(MatDestroy(&A));
  OK(MatDestroy(&P));
  OK(clear_options());
}
END_TEST

static Suite *after_suite(void)
{
  Suite *s = suite_create("products before compressing pays");
  TCase *t = tcase_create("after");
  tcase_add_loop_test(t, products_before_are_the_base_s, 0, WAYS * TYPES);
  tcase_add_loop_test(t, asked_for_it_is_encoded_at_once, 0, TYPES);
  tcase_add_loop_test(t, a_view_changes_nothing, 0, TYPES);
  tcase_add_loop_test(t, by_itself, 0, 2 * TYPES);
  tcase_add_loop_test(t, many_values_count_together, 0, CHANGES * TYPES);
  tcase_add_loop_test(t, transposed_by_itself, 0, 2);
  tcase_add_test(t, columns_by_itself);
  tcase_add_loop_test(t, diagonals_agree, 0, TYPES);
  tcase_add_test(t, csr_takes_no_second_copy);
  tcase_add_loop_test(t, dense_columns_count, 0, 2);
  tcase_add_loop_test(t, what_is_no_number_is_refused, 0, 4);
  tcase_set_timeout(t, 200);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, after_suite, 1);
}
