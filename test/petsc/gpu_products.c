/* Products of matrices on a GPU, and what of it AIJ does. */
#include "gpu.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA) && PETSC_VERSION_GE(3, 26, 0)
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

enum { N = 60 };

static const struct {
  MatProductType type;
  const char    *name;
  int            most; /* ranks that PETSc does it for */
} products[] = {
  {MATPRODUCT_AB, "AB", 3},     {MATPRODUCT_AtB, "AtB", 3},   {MATPRODUCT_ABt, "ABt", 1},
  {MATPRODUCT_PtAP, "PtAP", 3}, {MATPRODUCT_RARt, "RARt", 1}, {MATPRODUCT_ABC, "ABC", 1},
};
enum { PRODUCTS = sizeof products / sizeof *products };

Mat product_of(MatProductType type, Mat A, Mat B, Mat C)
{
  Mat D;
  OK(MatProductCreate(A, B, type == MATPRODUCT_ABC ? C : NULL, &D));
  OK(MatProductSetType(D, type));
  OK(MatProductSetFromOptions(D));
  OK(MatProductSymbolic(D));
  OK(MatProductNumeric(D));
  return D;
}

/* Of ours, of ours on the CPU by an option, of ours and PETSc's type for GPUs, of ours and plain ones; again after new values;
   products of products. */
START_TEST(products_of_matrices_agree)
{
  static const char *const others[] = {MATAIJMACKO, MATAIJMACKO, MATAIJCUSPARSE, MATAIJ};
  MatProductType           type     = products[_i % PRODUCTS].type;
  const char              *name = products[_i % PRODUCTS].name, *other = others[_i / PRODUCTS];
  Mat                      A, B, C, D, E, P, Q, R, S, T;
  if (ranks() > products[_i % PRODUCTS].most || (_i >= 2 * PRODUCTS && type == MATPRODUCT_ABC)) return;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  if (_i / PRODUCTS == 1) OK(PetscOptionsSetValue(NULL, "-mat_product_algorithm_backend_cpu", "yes"));
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 3, &A));
  OK(make_matrix(PREALLOCATED, other, N, N, 4, &B));
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 5, &C));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 3, &P));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 4, &Q));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 5, &R));
  D = product_of(type, A, B, C), S = product_of(type, P, Q, R);
  if (_i < 2 * PRODUCTS) assert_ours(D, name);
  assert_same_entries(D, S, 1e-13, name);
  OK(MatScale(A, 3));
  OK(MatScale(P, 3));
  OK(MatProductNumeric(D));
  OK(MatProductNumeric(S));
  assert_same_entries(D, S, 1e-13, "with new values");
  if (_i < 2 * PRODUCTS) {
    E = product_of(MATPRODUCT_AB, D, A, NULL), T = product_of(MATPRODUCT_AB, S, P, NULL);
    assert_ours(E, "a product with a product");
    assert_same_entries(E, T, 1e-13, "a product with a product");
    DESTROY(&E, &T);
  }
  DESTROY(&A, &B, &C, &D, &P, &Q, &R, &S);
  OK(PetscOptionsClearValue(NULL, "-mat_product_algorithm_backend_cpu"));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

/* Makes a matrix of ours and one of that type, and the same two of PETSc's plain type. */
static void make_operands(const char *second, Mat *A, Mat *B, Mat *P, Mat *Q)
{
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 3, A));
  OK(make_matrix(PREALLOCATED, second, N, N, 4, B));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 3, P));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 4, Q));
}

/* PETSc multiplies a matrix that stands for a scaled transpose by the function of the matrix itself, and keeps what that needs in
   its own. */
START_TEST(products_with_a_virtual_transpose_agree)
{
  Mat A, B, T, C, P, Q, R;
  if (ranks() > 1) return;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  make_operands(MATAIJMACKO, &A, &B, &P, &Q);
  OK(MatCreateTranspose(A, &T));
  OK(MatScale(T, -2));
  OK(MatScale(P, -2));
  C = product_of(MATPRODUCT_AB, T, B, NULL), R = product_of(MATPRODUCT_AtB, P, Q, NULL);
  assert_same_entries(C, R, 1e-13, "with a virtual transpose");
  OK(MatScale(B, 3));
  OK(MatScale(Q, 3));
  OK(MatProductNumeric(C));
  OK(MatProductNumeric(R));
  assert_same_entries(C, R, 1e-13, "with a virtual transpose and new values");
  DESTROY(&T, &A, &B, &C, &P, &Q, &R);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

/* cuSPARSE's product has no entry where all its parts are zeros, also if one is asked for on the diagonal. */
START_TEST(products_have_their_diagonal)
{
  Mat      A, B, P, Q;
  Vec      d;
  PetscInt rows[1] = {0};
  if (ranks() > 1) return;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  for (int i = 0; i < 2; i++) {
    Mat *from = i ? &A : &P, *to = i ? &B : &Q;
    OK(make_matrix(PREALLOCATED, i ? MATAIJMACKO : MATAIJ, N, N, 3, from));
    OK(MatSetOption(*from, MAT_KEEP_NONZERO_PATTERN, PETSC_FALSE));
    OK(MatZeroRowsColumns(*from, 1, rows, 0, NULL, NULL));
    OK(MatFilter(*from, 1e-300, PETSC_TRUE, PETSC_FALSE));
    OK(MatProductCreate(*from, *from, NULL, to));
    OK(MatProductSetType(*to, MATPRODUCT_AB));
    OK(MatSetOption(*to, MAT_FORCE_DIAGONAL_ENTRIES, PETSC_TRUE));
    OK(MatProductSetFromOptions(*to));
    OK(MatProductSymbolic(*to));
    OK(MatProductNumeric(*to));
    OK(MatSetOption(*to, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_TRUE));
    OK(MatCreateVecs(*to, &d, NULL));
    OK(VecSet(d, 7));
    OK(MatDiagonalSet(*to, d, INSERT_VALUES));
    OK(VecDestroy(&d));
  }
  assert_same_entries(B, Q, 1e-13, "with a diagonal");
  DESTROY(&A, &B, &P, &Q);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

/* Where one operand is of PETSc's type for GPUs, that type does the product, without such entries: values are those on the GPU. */
START_TEST(products_of_both_types_are_right_if_a_diagonal_is_asked_for)
{
  Mat A, B, C, P, Q, R;
  if (ranks() > 1) return;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  make_operands(MATAIJCUSPARSE, &A, &B, &P, &Q);
  R = product_of(MATPRODUCT_AB, P, Q, NULL);
  OK(MatProductCreate(A, B, NULL, &C));
  OK(MatProductSetType(C, MATPRODUCT_AB));
  OK(MatSetOption(C, MAT_FORCE_DIAGONAL_ENTRIES, PETSC_TRUE));
  OK(MatProductSetFromOptions(C));
  OK(MatProductSymbolic(C));
  OK(MatProductNumeric(C));
  assert_same_entries(C, R, 1e-13, "of both types");
  OK(MatScale(A, 3));
  OK(MatScale(P, 3));
  OK(MatProductNumeric(C));
  OK(MatProductNumeric(R));
  assert_same_entries(C, R, 1e-13, "of both types, with new values");
  DESTROY(&A, &B, &C, &P, &Q, &R);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

/* Leaves ones in all bits, which are NaNs, in memory that malloc gives again. The first block raises glibc's limit below which a
   block is not mapped alone. */
static void leave_nans(void)
{
  enum { BYTES = 24 << 20 };
  for (int i = 0; i < 3; i++) {
    char *block = malloc(BYTES);
    ck_assert_ptr_nonnull(block);
    memset(block, 0xff, BYTES);
    free(block);
  }
}

/* A grid of EDGE^3 points, coupled to all next ones, and the sum of two points after each other for each unknown of a coarse one;
   values of the first are in GPU memory only. */
enum { EDGE = 32, POINTS = EDGE * EDGE * EDGE, COUPLED = 27 };

static PetscCount list_grid(PetscInt *i, PetscInt *j, PetscScalar *v)
{
  PetscCount count = 0;
  for (PetscInt row = 0; row < POINTS; row++)
    for (PetscInt k = 0; k < COUPLED; k++) {
      PetscInt x = row % EDGE + k % 3 - 1, y = row / EDGE % EDGE + k / 3 % 3 - 1, z = row / EDGE / EDGE + k / 9 - 1;
      if (x < 0 || y < 0 || z < 0 || x >= EDGE || y >= EDGE || z >= EDGE) continue;
      i[count] = row, j[count] = (z * EDGE + y) * EDGE + x;
      v[count++] = k == COUPLED / 2 ? 26 : -1;
    }
  return count;
}

static Mat listed(const char *type, PetscInt cols, PetscCount count, const PetscInt *i, const PetscInt *j, const PetscScalar *v)
{
  Mat       A;
  PetscInt *rows, *columns;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, POINTS, cols));
  OK(MatSetType(A, type));
  OK(PetscMalloc2(count, &rows, count, &columns));
  OK(PetscArraycpy(rows, i, count));
  OK(PetscArraycpy(columns, j, count));
  OK(MatSetPreallocationCOO(A, count, rows, columns));
  OK(MatSetValuesCOO(A, v, INSERT_VALUES));
  OK(PetscFree2(rows, columns));
  return A;
}

/* AIJCUSPARSE multiplies with a product of which only the pattern is known, whose values are what malloc gave. */
START_TEST(products_end_whatever_was_in_memory)
{
  PetscInt    *i, *j, coarse = POINTS / 8;
  PetscScalar *v;
  Mat          A, B, C, P, Q, R;
  PetscCount   count;
  void        *there;
  if (ranks() > 1) return;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  OK(PetscMalloc3(COUPLED * POINTS, &i, COUPLED * POINTS, &j, COUPLED * POINTS, &v));
  count = list_grid(i, j, v);
  A = listed(MATAIJMACKO, POINTS, count, i, j, v), P = listed(MATAIJ, POINTS, count, i, j, v);
  there = on_device(v, count);
  OK(MatSetValuesCOO(A, (PetscScalar *)there, INSERT_VALUES));
  for (count = 0; count < 2 * POINTS; count++) i[count] = count / 2, j[count] = (count / 2 / 8 + count % 2) % coarse, v[count] = 1;
  B = listed(MATAIJMACKO, coarse, count, i, j, v), Q = listed(MATAIJ, coarse, count, i, j, v);
  leave_nans();
  OK(MatPtAP(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  OK(MatPtAP(P, Q, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &R));
  assert_same_entries(C, R, 1e-13, "PtAP");
  ck_assert(cudaFree(there) == cudaSuccess);
  OK(PetscFree3(i, j, v));
  DESTROY(&A, &B, &C, &P, &Q, &R);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

void add_product_tests(TCase *t)
{
  tcase_add_loop_test(t, products_of_matrices_agree, 0, 4 * PRODUCTS);
  tcase_add_test(t, products_with_a_virtual_transpose_agree);
  tcase_add_test(t, products_have_their_diagonal);
  tcase_add_test(t, products_of_both_types_are_right_if_a_diagonal_is_asked_for);
  tcase_add_test(t, products_end_whatever_was_in_memory);
}

#else

void add_product_tests(TCase *t)
{
  (void)t;
}

#endif
