/* Conversions to and from other types: in each way, with what AIJ makes of the same entries to compare with. */
#include "common.h"

#include <string.h>

enum { ROWS = 41, COLS = 33 };

static const char *type_of(Mat A)
{
  MatType type;
  OK(MatGetType(A, &type));
  return type;
}

/* ---- conversions to other types ---- */

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

/* Types that PETSc derives from AIJ are parallel or sequential as AIJ makes them of a matrix, also of a parallel one on one rank. */
static const char *const derived_types[] = {MATAIJSELL, MATAIJPERM, MATAIJCRL};
enum { DERIVED_TYPES = sizeof derived_types / sizeof *derived_types };

START_TEST(conversions_to_derived_types_are_those_of_aij)
{
  const char *to = derived_types[_i % DERIVED_TYPES];
  Mat         A, P, X, Y;
  OK(make_pair(PREALLOCATED, (type_choice)(_i / DERIVED_TYPES), ROWS, ROWS, 9, &A, &P));
  OK(MatMackoEncode(A));
  OK(MatConvert(P, to, MAT_INITIAL_MATRIX, &Y));
  OK(MatConvert(A, to, MAT_INITIAL_MATRIX, &X));
  ASSERT_ALL(!strcmp(type_of(X), type_of(Y)), "%s becomes %s, AIJ %s", to, type_of(X), type_of(Y));
  assert_same_action(X, P, to, 0);
  OK(MatScale(A, 2));
  OK(MatScale(P, 2));
  OK(MatConvert(A, to, MAT_REUSE_MATRIX, &X));
  assert_same_action(X, P, to, 1);
  OK(MatConvert(A, to, MAT_INPLACE_MATRIX, &A));
  ASSERT_ALL(!strcmp(type_of(A), type_of(Y)), "%s in place becomes %s, AIJ %s", to, type_of(A), type_of(Y));
  assert_same_action(A, P, to, 2);
  DESTROY(&X, &Y, &P, &A);
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

static Suite *conversions_suite(void)
{
  Suite *s = suite_create("conversions to and from other types");
  TCase *t = tcase_create("conversions");
  tcase_add_loop_test(t, conversions_to_other_types_keep_the_entries, 0, OTHER_TYPES);
  tcase_add_loop_test(t, conversions_to_derived_types_are_those_of_aij, 0, DERIVED_TYPES * TYPES);
  tcase_add_loop_test(t, conversions_from_dense_store_what_aij_stores, 0, 2 * TARGETS);
  tcase_add_loop_test(t, conversions_from_dense_into_a_sparse_matrix, 0, 2 * TARGETS);
  tcase_add_loop_test(t, conversions_from_types_without_rows, 0, SOURCES * TARGETS);
  tcase_add_loop_test(t, conversions_by_option, 0, SOURCES * TARGETS);
  tcase_add_test(t, there_and_back_through_is);
  tcase_add_test(t, from_one_kind_to_the_other);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, conversions_suite, 1);
}
