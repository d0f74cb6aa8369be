/* What is done to matrices on a GPU besides multiplying vectors: values from its memory, new matrices, factors. */
#include "gpu.h"

#include <petscksp.h>

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA) && PETSC_VERSION_GE(3, 26, 0)
#include <cuda_runtime_api.h>

enum { N = 60 };

/* Entries of the rows of this rank and, one in four, of the next rank's; some occur twice. */
static PetscCount list(Mat A, PetscInt *i, PetscInt *j, PetscScalar *v)
{
  PetscInt   low, high, n;
  PetscCount count = 0;
  OK(MatGetOwnershipRange(A, &low, &high));
  OK(MatGetSize(A, &n, NULL));
  for (PetscInt row = low; row < high; row++)
    for (PetscInt k = 0; k < 6; k++) {
      i[count]   = k == 5 ? (row + (high - low)) % n : row;
      j[count]   = k == 4 ? row : (row + 7 * k * k) % n;
      v[count++] = 1.0 / (PetscScalar)(1 + row % 5 + k);
    }
  return count;
}

void *on_device(const PetscScalar *values, PetscCount count)
{
  void *copy = NULL;
  ck_assert(cudaMalloc(&copy, (size_t)count * sizeof *values + 1) == cudaSuccess);
  ck_assert(cudaMemcpy(copy, values, (size_t)count * sizeof *values, cudaMemcpyHostToDevice) == cudaSuccess);
  return copy;
}

static Mat sized(const char *type)
{
  Mat         A;
  PetscLayout rows, cols;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, type));
  OK(MatGetLayouts(A, &rows, &cols));
  OK(PetscLayoutSetUp(rows));
  OK(PetscLayoutSetUp(cols));
  return A;
}

/* Values by lists of entries in GPU memory, again and again, set and added, beside a plain matrix that gets them from the host. */
START_TEST(values_come_from_gpu_memory)
{
  PetscInt       i[6 * N], j[6 * N], again[6 * N], once_more[6 * N];
  PetscScalar    v[6 * N];
  Mat            A, P;
  PetscCount     n;
  PetscLogDouble copied;
  void          *there;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  A = sized(MATAIJMACKO), P = sized(MATAIJ);
  n = list(A, i, j, v);
  OK(PetscArraycpy(again, i, n));
  OK(PetscArraycpy(once_more, j, n));
  OK(MatSetPreallocationCOO(A, n, i, j));
  OK(MatSetPreallocationCOO(P, n, again, once_more));
  for (int step = 0; step < 4; step++) {
    InsertMode mode = step == 2 ? ADD_VALUES : INSERT_VALUES;
    for (PetscCount k = 0; k < n; k++) v[k] *= 1.5;
    there  = on_device(v, n);
    copied = petsc_gtoc_ct;
    OK(MatSetValuesCOO(A, (PetscScalar *)there, mode));
    OK(MatSetValuesCOO(P, v, mode));
    if (ranks() == 1) {
      Vec x, y;
      OK(MatCreateVecs(A, &x, &y));
      OK(VecSet(x, 1));
      OK(MatMult(A, x, y));
      ck_assert_msg(petsc_gtoc_ct == copied, "step %d: %g copies from the GPU", step, petsc_gtoc_ct - copied);
      OK(VecDestroy(&x));
      OK(VecDestroy(&y));
    }
    assert_ours(A, "values from GPU memory");
    assert_same_products(A, P, "values from GPU memory");
    ck_assert(cudaFree(there) == cudaSuccess);
    if (step == 1) OK(MatScale(A, -2));
    if (step == 1) OK(MatScale(P, -2));
    assert_same_products(A, P, "scaled");
  }
  DESTROY(&A, &P);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

/* ---- new matrices ---- */

/* One row and one column on each rank. */
static Mat without_preallocation(MatType type)
{
  Mat A;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, 1, 1, PETSC_DETERMINE, PETSC_DETERMINE));
  OK(MatSetType(A, type));
  OK(MatSetUp(A));
  return A;
}

static void fill(Mat A)
{
  PetscInt row;
  OK(MatGetOwnershipRange(A, &row, NULL));
  for (PetscInt i = 0; i < ranks(); i++) OK(MatSetValue(A, row, i, 3 + row - 2 * i, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

/* What AIJ makes first and gives the type's name then: a transpose, with -mat_seqaij_type; and a copy without preallocation. */
START_TEST(new_matrices_are_not_emptied)
{
  Mat A, B, P, Q;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 3, &P));
  OK(MatTranspose(P, MAT_INITIAL_MATRIX, &Q));
  if (_i == 0) OK(PetscOptionsSetValue(NULL, "-mat_seqaij_type", MATSEQAIJMACKO));
  OK(make_matrix(PREALLOCATED, MATAIJMACKO, N, N, 3, &A));
  OK(MatTranspose(A, MAT_INITIAL_MATRIX, &B));
  OK(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  assert_ours(B, "a transpose");
  assert_same_entries(B, Q, 0, "a transpose");
  DESTROY(&A, &B, &P, &Q);
  A = without_preallocation(MATAIJMACKO), P = without_preallocation(MATAIJ);
  OK(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
  fill(B);
  fill(P);
  assert_ours(B, "a copy without preallocation");
  assert_same_entries(B, P, 0, "a copy without preallocation");
  DESTROY(&A, &B, &P);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

/* Gives A11 - A10 inv(A00) A01 of a matrix, where the rows of A00 and A11 take turns, as a matrix of its own. */
static Mat schur_complement(Mat A)
{
  Mat      S, full;
  IS       even, odd;
  PetscInt begin, end;
  OK(MatGetOwnershipRange(A, &begin, &end));
  OK(ISCreateStride(PETSC_COMM_WORLD, (end - begin) / 2, begin, 2, &even));
  OK(ISCreateStride(PETSC_COMM_WORLD, (end - begin) / 2, begin + 1, 2, &odd));
  OK(MatGetSchurComplement(A, even, even, odd, odd, MAT_INITIAL_MATRIX, &S, MAT_SCHUR_COMPLEMENT_AINV_DIAG, MAT_IGNORE_MATRIX,
                           NULL));
  OK(MatSetFromOptions(S));
  OK(MatSchurComplementSetAinvType(S, MAT_SCHUR_COMPLEMENT_AINV_FULL));
  OK(MatSchurComplementGetPmat(S, MAT_INITIAL_MATRIX, &full));
  OK(MatConvert(full, MATAIJ, MAT_INPLACE_MATRIX, &full));
  OK(MatDestroy(&S));
  OK(ISDestroy(&even));
  OK(ISDestroy(&odd));
  return full;
}

/* With -mat_seqaij_type some matrices are made as AIJ and others by the name that the first ones have: all stand on AIJ, and what
   comes of both agrees. */
START_TEST(matrices_made_by_name_agree)
{
  Mat A, R, C, F, P, Q, S, G;
  OK(PetscOptionsInsertString(NULL, "-ksp_rtol 1e-13"));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 3, &P));
  OK(MatShift(P, 20));
  OK(MatTranspose(P, MAT_INITIAL_MATRIX, &Q));
  OK(MatMatMatMult(Q, P, P, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &S));
  G = schur_complement(P);
  OK(PetscOptionsSetValue(NULL, "-mat_seqaij_type", MATSEQAIJMACKO));
  OK(make_matrix(PREALLOCATED, MATAIJ, N, N, 3, &A));
  OK(MatShift(A, 20));
  OK(MatTranspose(A, MAT_INITIAL_MATRIX, &R));
  OK(MatMatMatMult(R, A, A, MAT_INITIAL_MATRIX, PETSC_DETERMINE, &C));
  OK(MatMatMatMult(R, A, A, MAT_REUSE_MATRIX, PETSC_DETERMINE, &C));
  F = schur_complement(A);
  OK(PetscOptionsClearValue(NULL, "-mat_seqaij_type"));
  assert_same_entries(C, S, 1e-13, "of three");
  assert_same_entries(F, G, 1e-9, "a Schur complement");
  DESTROY(&A, &R, &C, &F, &P, &Q, &S, &G);
  OK(PetscOptionsClearValue(NULL, "-ksp_rtol"));
}
END_TEST

/* ---- factors ---- */

static const struct {
  MatFactorType type;
  const char   *name;
} factors[] = {{MAT_FACTOR_LU, "LU"}, {MAT_FACTOR_ILU, "ILU"}, {MAT_FACTOR_CHOLESKY, "Cholesky"}, {MAT_FACTOR_ICC, "ICC"}};
enum { FACTORS = sizeof factors / sizeof *factors };

/* On a GPU, as for PETSc's type, and with vectors that are there or not. */
START_TEST(factors_are_on_the_gpu)
{
  int           symmetric = _i >= 2;
  Mat           A, P, F;
  Vec           b, x, y, z;
  IS            rows, cols;
  MatFactorInfo info;
  MatSolverType solver;
  PetscBool     cusparse;
  PetscReal     norm, error;
  if (ranks() > 1) return;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  OK(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 3, &A, &P));
  if (symmetric) {
    Mat transposed;
    OK(MatTranspose(P, MAT_INITIAL_MATRIX, &transposed));
    OK(MatAXPY(P, 1, transposed, DIFFERENT_NONZERO_PATTERN));
    DESTROY(&transposed, &A);
    OK(MatConvert(P, MATSEQAIJMACKO, MAT_INITIAL_MATRIX, &A));
  }
  OK(MatShift(P, 50));
  OK(MatShift(A, 50));
  if (symmetric) OK(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  for (int again = 0; again < 2; again++) {
    OK(MatGetFactor(A, NULL, factors[_i].type, &F));
    OK(MatFactorGetSolverType(F, &solver));
    OK(PetscStrcmp(solver, MATSOLVERCUSPARSE, &cusparse));
    ck_assert_msg(cusparse, "%s is made by %s", factors[_i].name, solver);
    OK(MatGetOrdering(A, MATORDERINGNATURAL, &rows, &cols));
    OK(MatFactorInfoInitialize(&info));
    info.fill = 5;
    if (_i == 0) OK(MatLUFactorSymbolic(F, A, rows, cols, &info));
    if (_i == 1) OK(MatILUFactorSymbolic(F, A, rows, cols, &info));
    if (_i == 2) OK(MatCholeskyFactorSymbolic(F, A, rows, &info));
    if (_i == 3) OK(MatICCFactorSymbolic(F, A, rows, &info));
    if (symmetric) OK(MatCholeskyFactorNumeric(F, A, &info));
    else OK(MatLUFactorNumeric(F, A, &info));
    OK(MatCreateVecs(again ? P : A, &x, &b)); /* vectors on the host the second time */
    OK(VecDuplicate(x, &y));
    OK(MatCreateVecs(A, NULL, &z));
    OK(VecSet(b, 1));
    OK(MatSolve(F, b, x));
    OK(MatMult(P, x, y));
    OK(VecNorm(b, NORM_2, &norm));
    OK(VecAXPY(y, -1, b));
    OK(VecNorm(y, NORM_2, &error));
    ck_assert_msg(error <= (_i % 2 ? 0.05 : 1e-12) * norm, "%s: residual %g of %g", factors[_i].name, error, norm);
    OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ck_assert_msg(MatForwardSolve(F, b, x) == PETSC_ERR_SUP, "%s: half a solve is not refused", factors[_i].name);
    OK(PetscPopErrorHandler());
    OK(ISDestroy(&rows));
    OK(ISDestroy(&cols));
    OK(VecDestroy(&b));
    OK(VecDestroy(&x));
    OK(VecDestroy(&y));
    OK(VecDestroy(&z));
    OK(MatDestroy(&F));
    OK(MatScale(A, 2));
    OK(MatScale(P, 2));
  }
  DESTROY(&A, &P);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
}
END_TEST

/* ---- what stays in GPU memory beside the compressed form ---- */

static const char kept[] = "aijcusparse in GPU memory";

/* Whether they are there is asked before what compares all products, among them that with the transpose, which copies them
 * again. */
static void multiply_often(Mat A, Mat P, int there, const char *when)
{
  Vec x, y;
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  for (int i = 0; i < 5; i++) OK(MatMult(A, x, y)); /* the first by the type below */
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  ck_assert_msg(there < 0 || view_says(A, kept) == there, "%s: rows, columns and values are%s there", when, there ? " not" : "");
  assert_same_products(A, P, when);
}

/* First products alone leave nothing there, unless it is asked for; all that is done to a matrix later is as right. */
START_TEST(csr_is_given_back)
{
  static const char *const choices[] = {"auto", "yes", "no"};
  Mat                      A, P, C, S;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_base", "aijcusparse"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_after", "2"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_keep_csr", choices[_i]));
  OK(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 3, &A, &P));
  multiply_often(A, P, _i == 1, "first products");
  OK(MatScale(A, 3));
  OK(MatScale(P, 3));
  multiply_often(A, P, -1, "scaled");
  OK(MatShift(A, 2));
  OK(MatShift(P, 2));
  multiply_often(A, P, -1, "shifted");
  OK(MatDuplicate(A, MAT_COPY_VALUES, &C));
  multiply_often(C, P, -1, "a copy");
  OK(MatAXPY(C, 2, A, SAME_NONZERO_PATTERN));
  OK(MatDuplicate(P, MAT_COPY_VALUES, &S));
  OK(MatScale(S, 3));
  multiply_often(C, S, -1, "added");
  DESTROY(&C, &S);
  C = product_of(MATPRODUCT_PtAP, A, A, NULL), S = product_of(MATPRODUCT_PtAP, P, P, NULL);
  assert_same_entries(C, S, 1e-13, "PtAP");
  multiply_often(C, S, -1, "PtAP");
  OK(MatScale(A, 0.5));
  OK(MatScale(P, 0.5));
  OK(MatProductNumeric(C));
  OK(MatProductNumeric(S));
  assert_same_entries(C, S, 1e-13, "PtAP with new values");
  multiply_often(A, P, _i < 2, "an operand of a product");
  DESTROY(&A, &P, &C, &S);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_keep_csr"));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_base"));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_after", "0"));
}
END_TEST

void add_setup_tests(TCase *t)
{
  tcase_add_loop_test(t, csr_is_given_back, 0, 3);
  tcase_add_test(t, values_come_from_gpu_memory);
  tcase_add_loop_test(t, new_matrices_are_not_emptied, 0, 2);
  tcase_add_test(t, matrices_made_by_name_agree);
  tcase_add_loop_test(t, factors_are_on_the_gpu, 0, FACTORS);
}

#else

void add_setup_tests(TCase *t)
{
  (void)t;
}

#endif
