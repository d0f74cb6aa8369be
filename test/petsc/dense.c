/* Products with other types. Products with dense matrices: all columns at once, each what a product with that column gives. */
#include "common.h"

enum { ROWS = 41, COLS = 33 };

/* Column j of X against op(A) times column j of B. */
static void compare_columns(Mat A, Mat B, Mat X, PetscBool transposed, const char *when)
{
  PetscInt n;
  Vec      right, left, b, x, expected;
  OK(MatGetSize(B, NULL, &n));
  OK(MatCreateVecs(A, &right, &left));
  b = transposed ? left : right, x = transposed ? right : left;
  OK(VecDuplicate(x, &expected));
  for (PetscInt j = 0; j < n; j++) {
    PetscReal size, difference;
    OK(MatGetColumnVector(B, b, j));
    OK(MatGetColumnVector(X, x, j));
    if (transposed) OK(MatMultTranspose(A, b, expected));
    else OK(MatMult(A, b, expected));
    OK(VecNorm(expected, NORM_INFINITY, &size));
    OK(VecAXPY(x, -1, expected));
    OK(VecNorm(x, NORM_INFINITY, &difference));
    /* Sums of at most COLS products may be taken in another order. */
    ASSERT_ALL(difference <= 2 * COLS * PETSC_MACHINE_EPSILON * size, "%s: column %d of %d is off by %g of %g", when, (int)j,
               (int)n, (double)difference, (double)size);
  }
  OK(VecDestroy(&expected));
  OK(VecDestroy(&right));
  OK(VecDestroy(&left));
}

static const int widths[] = {1, 2, 3, 8, 13};

START_TEST(columns_agree_with_vectors)
{
  for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
    Mat      A, B, X;
    PetscInt m, n;
    OK(make_matrix(PREALLOCATED, our_type(ROOT_TYPE), ROWS, COLS, 7, &A));
    OK(MatGetLocalSize(A, &m, &n));
    OK(make_dense(MATDENSE, n, PETSC_DECIDE, PETSC_DETERMINE, widths[w], &B));
    OK(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
    compare_columns(A, B, X, PETSC_FALSE, "MatMatMult");
    OK(MatScale(A, 3));
    OK(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
    compare_columns(A, B, X, PETSC_FALSE, "MatMatMult again, with other values");
    OK(MatDestroy(&X));
    OK(MatDestroy(&B));
    OK(make_dense(MATDENSE, m, PETSC_DECIDE, PETSC_DETERMINE, widths[w], &B));
    if (ranks() == 1) { /* AIJ has no transposed product with dense matrices in parallel */
      OK(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
      compare_columns(A, B, X, PETSC_TRUE, "MatTransposeMatMult");
      OK(MatDestroy(&X));
    }
    OK(MatDestroy(&B));
    OK(MatDestroy(&A));
  }
}
END_TEST

START_TEST(other_products_are_left_to_petsc)
{
  Mat      A, P, B, X, Y;
  PetscInt n;
  OK(make_pair(PREALLOCATED, ROOT_TYPE, COLS, COLS, 5, &A, &P));
  OK(MatGetLocalSize(A, NULL, &n));
  OK(make_dense(MATDENSE, n, PETSC_DECIDE, PETSC_DETERMINE, 4, &B));
  OK(MatPtAP(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
  OK(MatPtAP(P, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
  assert_same_entries(X, Y, 1e-13, "B' A B");
  DESTROY(&X, &Y, &B, &P, &A);
}
END_TEST

/* Kinds of products in which AIJ is one factor; PETSc looks for most of them by the names of the types. */
static PetscErrorCode galerkin_with_interpolation(Mat A, Mat *C)
{
  Mat P, M, F;
  MatType  type;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(MatGetType(A, &type));
  PetscCall(make_matrix(PREALLOCATED, type, 36, 36, 3, &P)); /* rows that ranks share evenly, twice as many too */
  PetscCall(MatCreateMAIJ(P, 2, &M));
  PetscCall(MatGetSize(M, &n, NULL));
  PetscCall(make_matrix(PREALLOCATED, type, n, n, 4, &F));
  PetscCall(MatPtAP(F, M, MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&M));
  PetscCall(MatDestroy(&P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode product_with_a_transposed_dense_matrix(Mat A, Mat *C)
{
  PetscInt n;
  Mat      B;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, NULL, &n));
  PetscCall(make_dense(MATDENSE, PETSC_DECIDE, n, 5, PETSC_DETERMINE, &B));
  PetscCall(MatMatTransposeMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode product_from_the_right(Mat A, Mat *C)
{
  PetscInt m;
  Mat      B;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(make_dense(MATDENSE, PETSC_DECIDE, m, 5, PETSC_DETERMINE, &B));
  PetscCall(MatMatMult(B, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A B A with B dense. */
static PetscErrorCode product_of_three(Mat A, Mat *C)
{
  PetscInt m;
  Mat      B;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, NULL));
  PetscCall(make_dense(MATDENSE, m, m, PETSC_DETERMINE, PETSC_DETERMINE, &B));
  PetscCall(MatMatMatMult(A, B, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, C));
  PetscCall(MatMatMatMult(A, B, A, MAT_REUSE_MATRIX, PETSC_DEFAULT, C));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode kronecker_product(Mat A, Mat *C)
{
  PetscFunctionBegin;
  PetscCall(MatSeqAIJKron(A, A, MAT_INITIAL_MATRIX, C));
  PetscCall(MatSeqAIJKron(A, A, MAT_REUSE_MATRIX, C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode (*const others[])(Mat, Mat *) = {galerkin_with_interpolation, product_from_the_right, product_of_three,
                                                       product_with_a_transposed_dense_matrix, kronecker_product};
enum { OTHERS = sizeof others / sizeof *others };

START_TEST(products_found_by_type_are_those_of_aij)
{
  Mat A, P, X = NULL, Y = NULL;
  OK(make_pair(PREALLOCATED, ROOT_TYPE, COLS, COLS, 5, &A, &P));
  OK((*others[_i])(P, &Y));
  OK((*others[_i])(A, &X));
  assert_same_action(X, Y, "product", _i);
  DESTROY(&X, &Y, &P, &A);
}
END_TEST

/* PETSc does not look at a product's types again where a matrix becomes another one in its place. */
START_TEST(a_product_outlives_the_type_of_its_matrix)
{
  static const char *const kinds[] = {MATAIJ, MATBAIJ};
  const char *to = kinds[_i % 2];
  Mat         P, A, B, X, Y;
  if (ranks() > 1) return;
  if (_i >= 2) OK(PetscOptionsSetValue(NULL, "-mat_macko_after", "0"));
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, ROWS, 5, &P));
  OK(make_dense(MATDENSE, ROWS, PETSC_DECIDE, PETSC_DETERMINE, 3, &B));
  for (int compressed = 0; compressed < 2; compressed++) {
    if (compressed && _i % 2) continue; /* type macko becomes AIJ alone */
    OK(MatConvert(P, compressed ? MATMACKO : MATAIJMACKO, MAT_INITIAL_MATRIX, &A));
    OK(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
    OK(MatConvert(A, to, MAT_INPLACE_MATRIX, &A));
    OK(MatScale(A, 3));
    OK(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
    compare_columns(A, B, X, PETSC_FALSE, "MatMatMult again, of another type");
    OK(MatDestroy(&X));
    OK(MatTransposeMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
    DESTROY(&A, &Y);
  }
  DESTROY(&P, &B);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_after"));
}
END_TEST

static Suite *dense_suite(void)
{
  Suite *s = suite_create("products with other types");
  TCase *t = tcase_create("dense");
  tcase_add_test(t, columns_agree_with_vectors);
  tcase_add_test(t, other_products_are_left_to_petsc);
  /* AIJ has not the last two in parallel. */
  tcase_add_loop_test(t, products_found_by_type_are_those_of_aij, 0, ranks() == 1 ? OTHERS : OTHERS - 2);
  tcase_add_loop_test(t, a_product_outlives_the_type_of_its_matrix, 0, 4);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, dense_suite, 1);
}
