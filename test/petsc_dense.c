/* Products with dense matrices: all columns at once, each what a product with that column gives. */
#include "petsc_common.h"

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
    ASSERT_ALL(difference <= 2 * COLS * PETSC_MACHINE_EPSILON * size, "%s: column %d of %d is off by %g of %g", when, (int)j, (int)n,
               (double)difference, (double)size);
  }
  OK(VecDestroy(&expected));
  OK(VecDestroy(&right));
  OK(VecDestroy(&left));
}

static Mat dense(const char *type, PetscInt rows, PetscInt cols)
{
  Mat         B;
  PetscRandom random;
  OK(MatCreate(PETSC_COMM_WORLD, &B));
  OK(MatSetSizes(B, rows, PETSC_DECIDE, PETSC_DETERMINE, cols));
  OK(MatSetType(B, type));
  OK(MatSetUp(B));
  OK(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  OK(MatSetRandom(B, random));
  OK(PetscRandomDestroy(&random));
  return B;
}

static const int widths[] = {1, 2, 3, 8, 13};

START_TEST(columns_agree_with_vectors)
{
  const char *type = MATDENSE;
  for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++) {
    Mat      A, B, X;
    PetscInt m, n;
    OK(make_matrix(PREALLOCATED, our_type(ROOT_TYPE), ROWS, COLS, 7, &A));
    OK(MatGetLocalSize(A, &m, &n));
    B = dense(type, n, widths[w]);
    OK(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
    compare_columns(A, B, X, PETSC_FALSE, "MatMatMult");
    OK(MatScale(A, 3));
    OK(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
    compare_columns(A, B, X, PETSC_FALSE, "MatMatMult again, with other values");
    OK(MatDestroy(&X));
    OK(MatDestroy(&B));
    B = dense(type, m, widths[w]);
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
  Mat A, P, B, X, Y;
  PetscReal norm, difference;
  PetscInt  n;
  OK(make_matrix(PREALLOCATED, our_type(ROOT_TYPE), COLS, COLS, 5, &A));
  OK(make_matrix(PREALLOCATED, plain_type(ROOT_TYPE), COLS, COLS, 5, &P));
  OK(MatGetLocalSize(A, NULL, &n));
  B = dense(MATDENSE, n, 4);
  OK(MatPtAP(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
  OK(MatPtAP(P, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
  OK(MatNorm(Y, NORM_FROBENIUS, &norm));
  OK(MatAXPY(X, -1, Y, SAME_NONZERO_PATTERN));
  OK(MatNorm(X, NORM_FROBENIUS, &difference));
  ASSERT_ALL(difference <= 1e-13 * norm, "B' A B differs by %g of %g", (double)difference, (double)norm);
  OK(MatDestroy(&X));
  OK(MatDestroy(&Y));
  OK(MatDestroy(&B));
  OK(MatDestroy(&P));
  OK(MatDestroy(&A));
}
END_TEST

static Suite *dense_suite(void)
{
  Suite *s = suite_create("products with dense matrices");
  TCase *t = tcase_create("dense");
  tcase_add_test(t, columns_agree_with_vectors);
  tcase_add_test(t, other_products_are_left_to_petsc);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, dense_suite, 1);
}
