/* Products with and conversions to and from other types. Products with dense matrices: all columns at once, each what a product
 * with that column gives. */
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

/* X x = Y x for a random x. */
static void assert_same_action(Mat X, Mat Y, const char *what, int which)
{
  Vec       x, y, expected;
  PetscReal norm, difference;
  OK(MatCreateVecs(Y, &x, &expected));
  OK(MatCreateVecs(X, NULL, &y));
  OK(VecSetRandom(x, NULL));
  OK(MatMult(Y, x, expected));
  OK(MatMult(X, x, y));
  OK(VecNorm(expected, NORM_2, &norm));
  OK(VecAXPY(y, -1, expected));
  OK(VecNorm(y, NORM_2, &difference));
  ASSERT_ALL(norm > 0 && difference <= 1e-13 * norm, "%s %d differs by %g of %g", what, which, (double)difference, (double)norm);
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&expected));
}

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

static const char *const other_types[] = {MATBAIJ, MATDENSE, MATSELL, MATIS};
enum { OTHER_TYPES = sizeof other_types / sizeof *other_types };

START_TEST(conversions_to_other_types_keep_the_entries)
{
  Mat A, P, B;
  OK(make_pair(PREALLOCATED, ROOT_TYPE, ROWS, ROWS, 9, &A, &P));
  OK(MatConvert(A, other_types[_i], MAT_INITIAL_MATRIX, &B));
  assert_same_action(B, P, other_types[_i], 0);
  OK(MatConvert(A, other_types[_i], MAT_REUSE_MATRIX, &B));
  assert_same_action(B, P, other_types[_i], 1);
  DESTROY(&B, &P, &A);
}
END_TEST

/* ---- conversions from other types ---- */

static const char *const targets[] = {MATAIJMACKO, MATMACKO};
enum { TARGETS = sizeof targets / sizeof *targets };

static PetscLogDouble stored(Mat A)
{
  MatInfo info;
  OK(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  return info.nz_used;
}

/* D becomes the dense matrix, and *X the plain one, with the entries of a sparse one and, where it is square, its diagonal. */
static void make_dense_of_sparse(PetscInt cols, unsigned seed, Mat *D, Mat *X)
{
  Mat P;
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, cols, seed, &P));
  OK(MatConvert(P, MATDENSE, MAT_INITIAL_MATRIX, D));
  OK(MatConvert(*D, MATAIJ, MAT_INITIAL_MATRIX, X));
  ASSERT_ALL(stored(*X) < 0.9 * ROWS * cols, "%g entries are no sparse matrix", stored(*X));
  DESTROY(&P);
}

/* AIJ does not store what is zero in a dense matrix. */
START_TEST(conversions_from_dense_store_what_aij_stores)
{
  const char *to = targets[_i % TARGETS];
  Mat         D, X, A;
  make_dense_of_sparse(_i / TARGETS ? COLS : ROWS, 5, &D, &X);
  OK(MatConvert(D, to, MAT_INITIAL_MATRIX, &A));
  ASSERT_ALL(stored(A) == stored(X), "%s has %g entries, AIJ %g", to, stored(A), stored(X));
  assert_same_entries(A, X, 0, to);
  DESTROY(&A);
  OK(MatConvert(D, to, MAT_INPLACE_MATRIX, &D));
  ASSERT_ALL(stored(D) == stored(X), "%s in place has %g entries, AIJ %g", to, stored(D), stored(X));
  assert_same_entries(D, X, 0, to);
  DESTROY(&D, &X);
}
END_TEST

/* The matrix that is there has the pattern of a sparse one, and an entry that the dense one has no more becomes zero. */
START_TEST(conversions_from_dense_into_a_sparse_matrix)
{
  const char *to = targets[_i % TARGETS];
  Mat         D, X, A;
  PetscReal   norm;
  make_dense_of_sparse(_i / TARGETS ? COLS : ROWS, 5, &D, &X);
  OK(MatConvert(X, to, MAT_INITIAL_MATRIX, &A));
  OK(MatScale(D, 3));
  OK(MatConvert(D, to, MAT_REUSE_MATRIX, &A));
  OK(MatScale(X, 3));
  assert_same_entries(A, X, 0, to);
  OK(MatZeroEntries(D));
  OK(MatConvert(D, to, MAT_REUSE_MATRIX, &A));
  OK(MatNorm(A, NORM_FROBENIUS, &norm));
  ASSERT_ALL(norm == 0, "%s: entries that are gone have norm %g", to, (double)norm);
  DESTROY(&D, &X, &A);
}
END_TEST

/* These types have no function that gives out a row, or one that gives out half of it. */
static PetscErrorCode nested(Mat P, Mat *S)
{
  Mat blocks[] = {P, NULL, P, P};

  PetscFunctionBegin;
  PetscCall(MatCreateNest(PETSC_COMM_WORLD, 2, NULL, 2, NULL, blocks, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode unassembled(Mat P, Mat *S)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(P, MATIS, MAT_INITIAL_MATRIX, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode composite(Mat P, Mat *S)
{
  Mat parts[] = {P, P};

  PetscFunctionBegin;
  PetscCall(MatCreateComposite(PETSC_COMM_WORLD, 2, parts, S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode upper_half(Mat P, Mat *S)
{
  Mat transposed, sum;

  PetscFunctionBegin;
  PetscCall(MatTranspose(P, MAT_INITIAL_MATRIX, &transposed));
  PetscCall(MatDuplicate(P, MAT_COPY_VALUES, &sum));
  PetscCall(MatAXPY(sum, 1, transposed, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatSetOption(sum, MAT_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatConvert(sum, MATSBAIJ, MAT_INITIAL_MATRIX, S));
  PetscCall(MatDestroy(&transposed));
  PetscCall(MatDestroy(&sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const struct {
  const char *name;
  PetscErrorCode (*make)(Mat, Mat *);
} sources[] = {{"nest", nested}, {"is", unassembled}, {"transpose", MatCreateTranspose}, {"normal", MatCreateNormal},
               {"composite", composite}, {"sbaij", upper_half}};
enum { SOURCES = sizeof sources / sizeof *sources };

START_TEST(conversions_from_types_without_rows)
{
  const char *from = sources[_i / TARGETS].name, *to = targets[_i % TARGETS];
  Mat         P, S, X, A;
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, ROWS, 5, &P));
  OK((*sources[_i / TARGETS].make)(P, &S));
  OK(MatConvert(S, MATAIJ, MAT_INITIAL_MATRIX, &X));
  OK(MatConvert(S, to, MAT_INITIAL_MATRIX, &A));
  assert_same_entries(A, X, 1e-15, from);
  OK(MatScale(A, 3));
  OK(MatConvert(S, to, MAT_REUSE_MATRIX, &A));
  assert_same_entries(A, X, 1e-15, from);
  OK(MatConvert(S, to, MAT_INPLACE_MATRIX, &S));
  assert_same_entries(S, X, 1e-15, from);
  DESTROY(&A, &X, &S, &P);
}
END_TEST

/* On one rank the matrix of type is holds the very matrix that it was made from. */
START_TEST(there_and_back_through_is)
{
  Mat A, P, S;
  OK(make_pair(PREALLOCATED, ROOT_TYPE, ROWS, ROWS, 5, &A, &P));
  OK(MatConvert(A, MATIS, MAT_INITIAL_MATRIX, &S));
  OK(MatConvert(A, MATIS, MAT_REUSE_MATRIX, &S));
  OK(MatConvert(S, MATAIJMACKO, MAT_REUSE_MATRIX, &A));
  assert_same_entries(A, P, 1e-15, "there and back");
  DESTROY(&A, &P, &S);
}
END_TEST

/* On one rank a parallel matrix may become a sequential one, and the other way. */
START_TEST(from_one_kind_to_the_other)
{
  static const char *const kinds[] = {MATSEQAIJ, MATMPIAIJ, MATSEQAIJMACKO, MATMPIAIJMACKO, MATSEQMACKO, MATMPIMACKO};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  Mat P, A, B;
  if (ranks() > 1) return;
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, ROWS, 5, &P));
  for (int from = 0; from < KINDS; from++)
    for (int to = 2; to < KINDS; to++) {
      OK(MatConvert(P, kinds[from], MAT_INITIAL_MATRIX, &A));
      OK(MatConvert(A, kinds[to], MAT_INITIAL_MATRIX, &B));
      assert_same_entries(B, P, 0, kinds[to]);
      OK(MatConvert(A, kinds[to], MAT_REUSE_MATRIX, &B));
      assert_same_entries(B, P, 0, kinds[to]);
      OK(MatConvert(A, kinds[to], MAT_INPLACE_MATRIX, &A));
      assert_same_entries(A, P, 0, kinds[to]);
      DESTROY(&A, &B);
    }
  DESTROY(&P);
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

/* The option takes the place of the type that MatConvert is asked for, and holds for conversions that one goes through, too. */
START_TEST(conversions_by_option)
{
  const char *from = sources[_i / TARGETS].name, *to = targets[_i % TARGETS];
  Mat         P, S, X, A;
  PetscBool   ours;
  OK(make_matrix(PREALLOCATED, MATAIJ, ROWS, ROWS, 5, &P));
  OK((*sources[_i / TARGETS].make)(P, &S));
  OK(MatConvert(S, MATAIJ, MAT_INITIAL_MATRIX, &X));
  OK(MatSetOptionsPrefix(S, "mine_"));
  OK(PetscOptionsSetValue(NULL, "-mine_matconvert_type", to));
  OK(MatConvert(S, MATAIJ, MAT_INITIAL_MATRIX, &A));
  OK(PetscOptionsClearValue(NULL, "-mine_matconvert_type"));
  OK(PetscObjectTypeCompareAny((PetscObject)A, &ours, MATSEQAIJMACKO, MATMPIAIJMACKO, MATSEQMACKO, MATMPIMACKO, ""));
  ASSERT_ALL(ours, "%s does not become %s", from, to);
  assert_same_entries(A, X, 1e-15, from);
  DESTROY(&A, &X, &S, &P);
}
END_TEST


static Suite *dense_suite(void)
{
  Suite *s = suite_create("products with and conversions to and from other types");
  TCase *t = tcase_create("dense");
  tcase_add_test(t, columns_agree_with_vectors);
  tcase_add_test(t, other_products_are_left_to_petsc);
  /* AIJ has not the last two in parallel. */
  tcase_add_loop_test(t, products_found_by_type_are_those_of_aij, 0, ranks() == 1 ? OTHERS : OTHERS - 2);
  tcase_add_loop_test(t, conversions_to_other_types_keep_the_entries, 0, OTHER_TYPES);
  tcase_add_loop_test(t, conversions_from_dense_store_what_aij_stores, 0, 2 * TARGETS);
  tcase_add_loop_test(t, conversions_from_dense_into_a_sparse_matrix, 0, 2 * TARGETS);
  tcase_add_loop_test(t, conversions_from_types_without_rows, 0, SOURCES * TARGETS);
  tcase_add_loop_test(t, conversions_by_option, 0, SOURCES * TARGETS);
  tcase_add_test(t, there_and_back_through_is);
  tcase_add_test(t, from_one_kind_to_the_other);
  tcase_add_loop_test(t, a_product_outlives_the_type_of_its_matrix, 0, 4);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, dense_suite, 1);
}
