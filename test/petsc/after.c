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

/* Automatic: at once where an option says how to store; where products run on a GPU, and small matrices do not pay there, at last. */
START_TEST(by_itself)
{
  Mat A, P;
  OK(PetscOptionsClearValue(NULL, "-mat_macko_after"));
  if (_i / TYPES) OK(PetscOptionsSetValue(NULL, "-mat_macko_format", "macko"));
  OK(make_pair(PREALLOCATED, (type_choice)(_i % TYPES), N, N, 3, &A, &P));
  multiply(A, P, 0, "first");
  if (_i / TYPES) ASSERT_ALL(info_of(A).encodes == 1, "not encoded by the first product");
  for (int i = 0; i < 2000 && !info_of(A).encodes; i++) multiply(A, P, i % 2, "many");
  ASSERT_ALL(info_of(A).encodes == 1, "not encoded after 2000 products");
  /* values that change are expected to be multiplied as often */
  OK(MatScale(A, 2));
  OK(MatScale(P, 2));
  multiply(A, P, 1, "scaled");
  ASSERT_ALL(info_of(A).encodes == 1 && info_of(A).refreshes == 1, "not refreshed by the first product");
  DESTROY(&A, &P);
  if (_i / TYPES) OK(PetscOptionsClearValue(NULL, "-mat_macko_format"));
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

static Suite *after_suite(void)
{
  Suite *s = suite_create("products before compressing pays");
  TCase *t = tcase_create("after");
  tcase_add_loop_test(t, products_before_are_the_base_s, 0, WAYS * TYPES);
  tcase_add_loop_test(t, asked_for_it_is_encoded_at_once, 0, TYPES);
  tcase_add_loop_test(t, by_itself, 0, 2 * TYPES);
  tcase_add_loop_test(t, diagonals_agree, 0, TYPES);
  tcase_add_loop_test(t, what_is_no_number_is_refused, 0, 4);
  tcase_set_timeout(t, 200);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, after_suite, 1);
}
