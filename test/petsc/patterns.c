/* Columns that change under rows of the same lengths, and patterns that change under the same preallocation: nothing that PETSc
 * counts tells them from new values, and products must follow all the same. No pattern yet; a parallel matrix on one rank. */
#include "changes.h"

#include <petsc/private/petscimpl.h> /* PetscObjectStateIncrease */
#include <stdio.h>

enum { N = 48, WIDTH = 3 };

/* Fails unless A multiplies as the plain matrix P does; both may be this rank's own. */
static void follow(Mat A, Mat P, const char *when)
{
  PetscBool same, transposed;
  OK(MatMultEqual(A, P, 3, &same));
  OK(MatMultTransposeEqual(A, P, 3, &transposed));
  ASSERT_ALL(same && transposed, "%s: %s", when, same ? "A'x is wrong" : "A x is wrong");
}

static int is_ours(Mat A)
{
  PetscBool ours;
  OK(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJMACKO, &ours));
  return ours;
}

/* Columns of row i, in rising order for all i below N - 20; `which` tells one pattern from another. */
static PetscInt column(PetscInt i, int k, int which)
{
  static const PetscInt shifts[2][WIDTH] = {{0, 3, 7}, {1, 4, 9}};
  return (i + shifts[which][k]) % N;
}

/* N rows of 2 N columns, each with as many entries in even columns as in odd ones, in other places. */
static PetscErrorCode make_wide(const char *type, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, 2 * N));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (int which = 0; which < 2; which++)
      for (int k = 0; k < WIDTH; k++)
        PetscCall(MatSetValue(*A, i, 2 * column(i, k, which) + which, (PetscScalar)(1 + i % 4 + k), INSERT_VALUES));
  PetscCall(assemble(*A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows, and the even or the odd columns, of the whole matrix on each rank or of this rank's share. */
static PetscErrorCode index_sets(Mat A, int which, int whole, IS *rows, IS *cols)
{
  PetscInt begin = 0, end = N, first = 0, past = 2 * N;
  MPI_Comm comm = whole ? PETSC_COMM_SELF : PETSC_COMM_WORLD;

  PetscFunctionBegin;
  if (!whole) PetscCall(MatGetOwnershipRange(A, &begin, &end));
  if (!whole) PetscCall(MatGetOwnershipRangeColumn(A, &first, &past));
  first += (first + which) % 2;
  PetscCall(ISCreateStride(comm, end - begin, begin, 1, rows));
  PetscCall(ISCreateStride(comm, (past - first + 1) / 2, first, 2, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode submatrix(Mat A, int which, MatReuse reuse, Mat *B)
{
  IS rows, cols;

  PetscFunctionBegin;
  PetscCall(index_sets(A, which, 0, &rows, &cols));
  PetscCall(MatCreateSubMatrix(A, rows, cols, reuse, B));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode submatrices(Mat A, int which, MatReuse reuse, Mat **B)
{
  IS rows, cols;

  PetscFunctionBegin;
  PetscCall(index_sets(A, which, 1, &rows, &cols));
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &cols, reuse, B));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Under more ranks AIJ itself goes by the first index set. */
START_TEST(submatrix_of_other_columns)
{
  Mat A, P, of_A, of_P;
  if (ranks() > 1) return;
  OK(make_wide(MATAIJMACKO, &A));
  OK(make_wide(MATAIJ, &P));
  OK(submatrix(A, 0, MAT_INITIAL_MATRIX, &of_A));
  OK(submatrix(P, 0, MAT_INITIAL_MATRIX, &of_P));
  assert_ours(of_A, "submatrix");
  for (int which = 0; which < 4; which++) {
    OK(submatrix(A, which % 2, MAT_REUSE_MATRIX, &of_A));
    OK(submatrix(P, which % 2, MAT_REUSE_MATRIX, &of_P));
    follow(of_A, of_P, "submatrix of other columns");
  }
  DESTROY(&A, &P, &of_A, &of_P);
}
END_TEST

/* The parts are of each rank's own, sequential: ours by the option alone where the whole is plain. */
START_TEST(submatrices_of_other_columns)
{
  Mat A, P, *of_A, *of_P;
  OK(make_wide(_i ? MATAIJ : MATAIJMACKO, &A));
  OK(make_wide(MATAIJ, &P));
  OK(submatrices(P, 0, MAT_INITIAL_MATRIX, &of_P));
  OK(PetscOptionsSetValue(NULL, "-mat_seqaij_type", MATSEQAIJMACKO));
  OK(submatrices(A, 0, MAT_INITIAL_MATRIX, &of_A));
  OK(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  ASSERT_ALL(is_ours(of_A[0]), "the part is not ours");
  follow(of_A[0], of_P[0], "submatrices");
  for (int which = 1; which < 4; which++) {
    OK(submatrices(A, which % 2, MAT_REUSE_MATRIX, &of_A));
    OK(submatrices(P, which % 2, MAT_REUSE_MATRIX, &of_P));
    follow(of_A[0], of_P[0], "submatrices of other columns");
  }
  OK(MatDestroySubMatrices(1, &of_A));
  OK(MatDestroySubMatrices(1, &of_P));
  DESTROY(&A, &P);
}
END_TEST

/* All rows and columns of a square matrix, which PETSc gathers in a way of its own. */
static PetscErrorCode gather(Mat A, MatReuse reuse, Mat **B)
{
  IS all;

  PetscFunctionBegin;
  PetscCall(ISCreateStride(PETSC_COMM_SELF, N, 0, 1, &all));
  PetscCall(MatCreateSubMatrices(A, 1, &all, &all, reuse, B));
  PetscCall(ISDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours by the option alone where the whole is plain, as its blocks are then. Slices are no arrays of AIJ's. */
START_TEST(gathered_again)
{
  Mat A, P, *of_A, *of_P;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_layout", "slice"));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 1, &P));
  OK(gather(P, MAT_INITIAL_MATRIX, &of_P));
  OK(PetscOptionsSetValue(NULL, "-mat_seqaij_type", MATSEQAIJMACKO));
  OK(make_matrix(PREALLOCATED, _i ? MATAIJ : MATAIJMACKO, N, N, 1, &A));
  OK(gather(A, MAT_INITIAL_MATRIX, &of_A));
  OK(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  ASSERT_ALL(is_ours(of_A[0]), "the part is not ours");
  follow(of_A[0], of_P[0], "gathered");
  OK(MatScale(A, 2));
  OK(MatScale(P, 2));
  OK(gather(A, MAT_REUSE_MATRIX, &of_A));
  OK(gather(P, MAT_REUSE_MATRIX, &of_P));
  follow(of_A[0], of_P[0], "gathered again");
  OK(PetscOptionsClearValue(NULL, "-mat_macko_layout"));
  OK(MatDestroySubMatrices(1, &of_A));
  OK(MatDestroySubMatrices(1, &of_P));
  DESTROY(&A, &P);
}
END_TEST

/* Rows of WIDTH entries of this rank's own, of 2 N columns. */
static void fill_arrays(int which, PetscInt *i, PetscInt *j, PetscScalar *a)
{
  for (PetscInt row = 0; row <= N; row++) i[row] = row * WIDTH;
  for (PetscInt row = 0; row < N; row++)
    for (int k = 0; k < WIDTH; k++) j[row * WIDTH + k] = row + column(0, k, which), a[row * WIDTH + k] = 1 + row % 5 + k;
}

static PetscErrorCode indices_again(Mat A, PetscInt *j, const PetscScalar *a)
{
  PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJSetColumnIndices(A, j));
  PetscCall(MatSeqAIJGetArray(A, &values));
  PetscCall(PetscArraycpy(values, a, N * WIDTH));
  PetscCall(MatSeqAIJRestoreArray(A, &values));
  PetscCall(assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

START_TEST(column_indices_again)
{
  PetscInt    i[N + 1], j[N * WIDTH];
  PetscScalar a[N * WIDTH];
  Mat         A, P;
  OK(MatCreateSeqAIJ(PETSC_COMM_SELF, N, 2 * N, WIDTH, NULL, &P));
  OK(MatCreate(PETSC_COMM_SELF, &A));
  OK(MatSetSizes(A, N, 2 * N, N, 2 * N));
  OK(MatSetType(A, MATSEQAIJMACKO));
  OK(MatSeqAIJSetPreallocation(A, WIDTH, NULL));
  for (int which = 0; which < 4; which++) {
    fill_arrays(which % 2, i, j, a);
    OK(indices_again(A, j, a));
    OK(indices_again(P, j, a));
    follow(A, P, "column indices");
  }
  DESTROY(&A, &P);
}
END_TEST

/* The arrays of a matrix that stands on AIJCUSPARSE have a copy in GPU memory, which its owner must hear of. */
static PetscErrorCode in_gpu_memory(Mat A, PetscBool *there)
{
  const PetscInt *rows, *cols;
  PetscScalar    *values;
  PetscMemType    where;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetCSRAndMemType(A, &rows, &cols, &values, &where));
  *there = (PetscBool)PetscMemTypeDevice(where);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Through the pointers that AIJ hands out, or in arrays that are the caller's own. */
START_TEST(columns_written_to)
{
  PetscInt        i[N + 1], j[N * WIDTH], plain_j[N * WIDTH];
  PetscScalar     a[N * WIDTH], plain_a[N * WIDTH];
  const PetscInt *rows;
  PetscInt       *cols = j;
  PetscScalar    *values = a, *held;
  PetscMemType    where;
  PetscBool       gpu = PETSC_FALSE;
  Mat             A, P;
  fill_arrays(0, i, j, a);
  fill_arrays(0, i, plain_j, plain_a);
  OK(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, N, 2 * N, i, j, a, &A));
  OK(MatCreateSeqAIJWithArrays(PETSC_COMM_SELF, N, 2 * N, i, plain_j, plain_a, &P));
  OK(MatConvert(A, MATSEQAIJMACKO, MAT_INPLACE_MATRIX, &A));
  for (int which = 0; which < 4; which++) {
    OK(in_gpu_memory(A, &gpu));
    if (gpu) OK(MatSeqAIJGetArray(A, &held));
    else if (_i) OK(MatSeqAIJGetCSRAndMemType(A, &rows, (const PetscInt **)&cols, &values, &where));
    fill_arrays(which % 2, i, cols, values);
    if (gpu) OK(MatSeqAIJRestoreArray(A, &held));
    fill_arrays(which % 2, i, plain_j, plain_a);
    OK(PetscObjectStateIncrease((PetscObject)A));
    OK(PetscObjectStateIncrease((PetscObject)P));
    follow(A, P, _i ? "columns through GetCSRAndMemType" : "columns of the owner");
  }
  DESTROY(&A, &P);
}
END_TEST

/* Row i gets `count` columns from i + shift on; with one half of all columns further, no rank of two or more has any of its own. */
static PetscErrorCode set_band(Mat A, PetscInt shift, PetscInt count)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt k = 0; k < count; k++)
      PetscCall(MatSetValue(A, i, (i + shift + k) % N, (PetscScalar)(1 + i % 3 + k), INSERT_VALUES));
  PetscCall(assemble(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode make_band(const char *type, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSeqAIJSetPreallocation(*A, 4, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 4, NULL, 4, NULL));
  PetscCall(set_band(*A, 0, 2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A block that loses all its entries is not told by its nonzero state, which counts insertions. (On one rank AIJ itself cannot
 * reset the parallel type.) */
START_TEST(preallocation_reset)
{
  static const PetscInt bands[][2] = {{N / 2, 1}, {0, 2}, {0, 0}, {N / 4, 2}, {1, 1}, {0, 0}, {N / 2, 1}};
  Mat A, P;
  OK(make_band(MATAIJMACKO, &A));
  OK(make_band(MATAIJ, &P));
  follow(A, P, "band");
  for (int k = 0; k < (int)(sizeof bands / sizeof *bands); k++) {
    OK(MatResetPreallocation(P));
    OK(MatResetPreallocation(A));
    OK(set_band(A, bands[k][0], bands[k][1]));
    OK(set_band(P, bands[k][0], bands[k][1]));
    follow(A, P, "preallocation reset");
  }
  assert_ours(A, "preallocation reset");
  DESTROY(&A, &P);
}
END_TEST

/* Of a matrix that is being made there is nothing to encode yet: not preallocated, without values, with values set on one rank. */
START_TEST(encode_needs_an_assembled_matrix)
{
  const char    *text;
  char           said[300];
  Mat            A;
  PetscInt       begin;
  PetscErrorCode error;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, our_type((type_choice)(_i % TYPES))));
  if (_i / TYPES > 0) OK(MatSetUp(A));
  OK(MatGetOwnershipRange(A, &begin, NULL));
  if (_i / TYPES == 2) OK(assemble(A));
  if (_i / TYPES == 2 && !begin) OK(MatSetValue(A, 0, 0, 1, INSERT_VALUES));
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = MatMackoEncode(A);
  OK(PetscErrorMessage(error, &text, NULL));
  snprintf(said, sizeof said, "%s", text);
  OK(PetscPopErrorHandler());
  ASSERT_ALL(error == PETSC_ERR_ARG_WRONGSTATE, "error %d: %s", (int)error, said);
  if (_i / TYPES) OK(assemble(A));
  if (_i / TYPES) OK(MatMackoEncode(A));
  DESTROY(&A);
}
END_TEST

/* On one rank too, where aijmacko names the sequential type. */
START_TEST(a_parallel_matrix_stays_parallel)
{
  static const MatReuse ways[] = {MAT_INITIAL_MATRIX, MAT_INPLACE_MATRIX};
  Mat                   A, P, B;
  PetscBool             parallel;
  OK(make_matrix(PREALLOCATED, MATMPIAIJ, N, N, 1, &P));
  OK(MatDuplicate(P, MAT_COPY_VALUES, &A));
  B = _i ? A : NULL;
  OK(MatConvert(A, MATAIJMACKO, ways[_i], &B));
  OK(PetscObjectTypeCompare((PetscObject)B, MATMPIAIJMACKO, &parallel));
  ASSERT_ALL(parallel, "a parallel matrix became a sequential one");
  assert_ours(B, "to aijmacko");
  follow(B, P, "to aijmacko");
  OK(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  OK(PetscObjectTypeCompare((PetscObject)B, MATMPIAIJ, &parallel));
  ASSERT_ALL(parallel, "and back to a sequential one");
  follow(B, P, "back to aij");
  if (B != A) OK(MatDestroy(&B));
  DESTROY(&A, &P);
}
END_TEST

/* PETSc gives the copy the functions that the plain matrix has by name, after it has become ours. Slices are no arrays of AIJ's. */
START_TEST(values_come_back_to_a_copy_of_a_plain_matrix)
{
  Mat A, P, before;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_layout", "slice"));
  OK(make_matrix(PREALLOCATED, _i ? MATMPIAIJ : MATAIJ, N, N, 1, &P));
  OK(PetscOptionsSetValue(NULL, "-mat_seqaij_type", MATSEQAIJMACKO));
  OK(MatDuplicate(P, MAT_COPY_VALUES, &A));
  OK(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  OK(MatGetDiagonalBlock(A, &before)); /* the block of a parallel matrix, or A itself */
  ASSERT_ALL(is_ours(before), "the copy is plain");
  OK(MatDuplicate(P, MAT_COPY_VALUES, &before));
  OK(MatSetOption(A, MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  OK(MatStoreValues(A));
  OK(MatScale(A, -2));
  OK(MatScale(P, -2));
  follow(A, P, "scaled");
  OK(MatRetrieveValues(A));
  follow(A, before, "values as they were stored");
  OK(PetscOptionsClearValue(NULL, "-mat_macko_layout"));
  DESTROY(&A, &P, &before);
}
END_TEST

/* AIJ zeroes rows before it finds that it may not make their diagonal entries; versions of PETSc differ in which they refuse. Each
   rank has a matrix of its own: of a parallel one PETSc loses memory then. */
START_TEST(zeroed_rows_that_are_refused)
{
  Mat            both[2];
  PetscErrorCode errors[2];
  const PetscInt rows[] = {0, N - 2};
  for (int k = 0; k < 2; k++) {
    OK(MatCreate(PETSC_COMM_SELF, &both[k]));
    OK(MatSetSizes(both[k], N, N, N, N));
    OK(MatSetType(both[k], k ? MATAIJ : MATAIJMACKO));
    OK(MatSetUp(both[k]));
    for (PetscInt i = 0; i < N; i++)
      for (int shift = 1; shift < 4; shift++) OK(MatSetValue(both[k], i, (i + shift) % N, (PetscScalar)(i + shift), INSERT_VALUES));
    OK(assemble(both[k]));
    OK(MatSetOption(both[k], MAT_KEEP_NONZERO_PATTERN, PETSC_TRUE));
    OK(MatSetOption(both[k], MAT_NEW_NONZERO_LOCATIONS, PETSC_FALSE));
  }
  follow(both[0], both[1], "before");
  for (int k = 0; k < 2; k++) {
    OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    errors[k] = (_i ? MatZeroRowsColumns : MatZeroRows)(both[k], 2, rows, 1, NULL, NULL);
    OK(PetscPopErrorHandler());
  }
  ASSERT_ALL(errors[0] == errors[1], "error %d, of plain AIJ %d", (int)errors[0], (int)errors[1]);
  follow(both[0], both[1], "refused");
  DESTROY(&both[0], &both[1]);
}
END_TEST

static Suite *patterns_suite(void)
{
  Suite *s = suite_create("patterns that change unseen");
  TCase *t = tcase_create("patterns");
  tcase_add_test(t, submatrix_of_other_columns);
  tcase_add_loop_test(t, submatrices_of_other_columns, 0, 2);
  tcase_add_loop_test(t, gathered_again, 0, 2);
  tcase_add_test(t, column_indices_again);
  tcase_add_loop_test(t, columns_written_to, 0, 2);
  tcase_add_test(t, preallocation_reset);
  tcase_add_loop_test(t, encode_needs_an_assembled_matrix, 0, 3 * TYPES);
  tcase_add_loop_test(t, a_parallel_matrix_stays_parallel, 0, 2);
  tcase_add_loop_test(t, values_come_back_to_a_copy_of_a_plain_matrix, 0, 2);
  tcase_add_loop_test(t, zeroed_rows_that_are_refused, 0, 2);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, patterns_suite, 1);
}
