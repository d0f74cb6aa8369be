/* The matrix type on a GPU: where vectors live, where products run, what is copied. Needs a PETSc with CUDA and a GPU; the other
 * suites run there as well, with vectors in GPU memory. */
#include "petsc_common.h"

#include <petscdmda.h>
#include <petscksp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(PETSC_HAVE_CUDA)

enum { N = 50, EDGE = 40 };

static int on_gpu(Vec v)
{
  const PetscScalar *a;
  PetscMemType       where;
  OK(VecGetArrayReadAndMemType(v, &a, &where));
  OK(VecRestoreArrayReadAndMemType(v, &a));
  return PetscMemTypeDevice(where);
}

static void assert_vectors(Mat A, int gpu, const char *when)
{
  Vec right, left;
  OK(MatCreateVecs(A, &right, &left));
  ASSERT_ALL(on_gpu(right) == gpu && on_gpu(left) == gpu, "%s: vectors are on the %s", when, gpu ? "CPU" : "GPU");
  OK(VecSet(right, 1));
  OK(MatMult(A, right, left));
  ASSERT_ALL(on_gpu(left) == gpu, "%s: the product is on the %s", when, gpu ? "CPU" : "GPU");
  OK(VecDestroy(&right));
  OK(VecDestroy(&left));
}

static void assert_same_diagonal(Mat A, Mat P, const char *when)
{
  Vec       mine, theirs;
  PetscBool equal;
  OK(MatCreateVecs(A, NULL, &mine));
  OK(VecDuplicate(mine, &theirs));
  OK(MatGetDiagonal(A, mine));
  OK(MatGetDiagonal(P, theirs));
  OK(VecEqual(mine, theirs, &equal));
  ASSERT_ALL(equal, "%s: the diagonal differs", when);
  OK(VecDestroy(&mine));
  OK(VecDestroy(&theirs));
}

START_TEST(vectors_live_on_the_gpu)
{
  Mat          A, P, copy;
  MatMackoInfo info;
  OK(make_pair((way)_i, ROOT_TYPE, N, N, 3, &A, &P));
  assert_vectors(A, 1, way_names[_i]);
  assert_same_products(A, P, way_names[_i]);
  assert_same_diagonal(A, P, way_names[_i]);
  OK(MatMackoGetInfo(A, &info));
  ASSERT_ALL(info.on_device && info.device_bytes > 0, "%s: nothing is on the device", way_names[_i]);
  OK(MatDuplicate(A, MAT_COPY_VALUES, &copy));
  assert_vectors(copy, 1, "a copy");
  assert_same_products(copy, P, "a copy");
  OK(MatBindToCPU(A, PETSC_TRUE));
  assert_vectors(A, 0, "bound to the CPU");
  assert_same_products(A, P, "bound to the CPU");
  OK(MatBindToCPU(A, PETSC_FALSE));
  assert_vectors(A, 1, "unbound");
  assert_same_products(A, P, "unbound");
  OK(MatConvert(A, plain_type(ROOT_TYPE), MAT_INPLACE_MATRIX, &A));
  assert_vectors(A, 0, "plain AIJ again");
  OK(MatDestroy(&copy));
  OK(MatDestroy(&P));
  OK(MatDestroy(&A));
}
END_TEST

START_TEST(backend_can_be_chosen)
{
  static const char *const backends[] = {"cpu", "cuda"};
  Mat A, P, block;
  Vec x, y;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", backends[_i]));
  OK(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 3, &A, &P));
  assert_vectors(A, _i, backends[_i]);
  assert_same_products(A, P, backends[_i]);
  OK(MatGetDiagonalBlock(A, &block));
  assert_vectors(block, _i, backends[_i]);
  OK(MatCreateVecs(P, &x, &y)); /* plain vectors */
  OK(VecSet(x, 1));
  OK(MatMult(A, x, y));
  ASSERT_ALL(!on_gpu(y), "the product of plain vectors is on the GPU");
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(PetscOptionsClearValue(NULL, "-mat_macko_backend"));
  OK(MatDestroy(&P));
  OK(MatDestroy(&A));
}
END_TEST

/* ---- what ranks exchange ---- */

typedef enum { EACH_WITH_EACH, FROM_LOWER_RANKS, WITH_NOBODY, EMPTY_RANKS, PATTERNS } pattern;

/* Of N rows a rank; with empty ranks, of none on every second. */
static PetscErrorCode exchanging_matrix(pattern p, const char *path, Mat *A)
{
  PetscMPIInt rank;
  PetscInt    low, high;
  PetscScalar value;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_macko_halo", path));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  if (p == EMPTY_RANKS) PetscCall(MatSetSizes(*A, rank % 2 ? 0 : N, rank % 2 ? 0 : N, PETSC_DETERMINE, PETSC_DETERMINE));
  else PetscCall(MatSetSizes(*A, N, N, PETSC_DETERMINE, PETSC_DETERMINE));
  PetscCall(MatSetType(*A, our_type(PARALLEL_TYPE)));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &low, &high));
  for (PetscInt i = low; i < high; i++) {
    PetscCall(MatSetValue(*A, i, i, 2, INSERT_VALUES));
    for (PetscInt j = p == WITH_NOBODY ? low : 0; j < (p == EACH_WITH_EACH || p == EMPTY_RANKS ? ranks() * N : high); j++)
      if (j != i && (p != EMPTY_RANKS || j < (ranks() + 1) / 2 * N) && entry(i, j, 5, &value))
        PetscCall(MatSetValue(*A, i, j, value, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscOptionsClearValue(NULL, "-mat_macko_halo"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Products of the matrices in turns, each of the result before, without a word between host and GPU. */
static void assert_same_powers(Mat matrices[], int count, const char *when)
{
  enum { MOST = 3, POWERS = 40 };
  Vec         x[MOST], y[MOST];
  PetscRandom random;
  PetscBool   equal;
  OK(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  for (int m = 0; m < count; m++) {
    OK(MatCreateVecs(matrices[m], &x[m], &y[m]));
    if (m == 0) OK(VecSetRandom(x[0], random));
    else OK(VecCopy(x[0], x[m]));
  }
  for (int power = 0; power < POWERS; power++)
    for (int m = 0; m < count; m++) {
      if (power % 3 == 2) {
        OK(VecCopy(x[m], y[m]));
        OK(MatMultAdd(matrices[m], x[m], y[m], y[m]));
      } else OK(MatMult(matrices[m], x[m], y[m]));
      OK(VecCopy(y[m], x[m]));
      OK(VecScale(x[m], 1.0 / 64));
    }
  for (int m = 1; m < count; m++) {
    OK(VecEqual(y[0], y[m], &equal));
    ASSERT_ALL(equal, "%s: products of matrix %d differ", when, m);
  }
  for (int m = 0; m < count; m++) {
    OK(VecDestroy(&x[m]));
    OK(VecDestroy(&y[m]));
  }
  OK(PetscRandomDestroy(&random));
}

static void assert_view_says(Mat A, const char *wanted)
{
  char        path[] = "/tmp/petsc_gpu-XXXXXX", line[400];
  PetscViewer viewer;
  PetscMPIInt rank;
  FILE       *file;
  int         said = 1;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  if (rank == 0) {
    int opened = mkstemp(path);
    ck_assert(opened >= 0);
    close(opened);
  }
  OK(PetscViewerASCIIOpen(PETSC_COMM_WORLD, path, &viewer));
  OK(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
  OK(MatView(A, viewer));
  OK(PetscViewerDestroy(&viewer));
  if (rank == 0) {
    said = 0;
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) said = said || strstr(line, wanted);
    if (file) fclose(file);
    remove(path);
  }
  ASSERT_ALL(said, "the view does not say \"%s\"", wanted);
}

/* From GPU to GPU, where that is possible, and through the host: the same bits, also with other columns later on. */
START_TEST(ways_of_exchange_agree)
{
  static const char *const names[] = {"each with each", "from lower ranks", "with nobody", "empty ranks"};
  Mat      matrices[3];
  PetscInt low, high;
  OK(exchanging_matrix((pattern)_i, "host", &matrices[0]));
  OK(exchanging_matrix((pattern)_i, "auto", &matrices[1]));
  OK(MatDuplicate(matrices[1], MAT_COPY_VALUES, &matrices[2]));
  assert_view_says(matrices[0], "halo through host memory: -mat_macko_halo host\n");
  assert_view_says(matrices[1], "halo ");
  assert_same_powers(matrices, 3, names[_i]);
  for (int m = 0; m < 3; m++) {
    OK(MatSetOption(matrices[m], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    OK(MatGetOwnershipRange(matrices[m], &low, &high));
    for (PetscInt j = 0; low < high && j < 7; j++) OK(MatSetValue(matrices[m], high - 1, 6 * j, 0.25, INSERT_VALUES));
    OK(MatAssemblyBegin(matrices[m], MAT_FINAL_ASSEMBLY));
    OK(MatAssemblyEnd(matrices[m], MAT_FINAL_ASSEMBLY));
  }
  assert_same_powers(matrices, 3, "new columns");
  for (int m = 0; m < 3; m++) OK(MatScale(matrices[m], -0.5));
  assert_same_powers(matrices, 3, "new values");
  for (int m = 0; m < 2; m++) OK(MatDestroy(&matrices[m])); /* not the last that is in use */
  assert_same_powers(matrices + 2, 1, "the others are gone");
  OK(MatDestroy(&matrices[2]));
}
END_TEST

START_TEST(refuses_an_unknown_way)
{
  Mat A;
  OK(exchanging_matrix(WITH_NOBODY, "auto", &A));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_halo", "bus"));
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ck_assert_int_eq(MatSetFromOptions(A), PETSC_ERR_USER_INPUT);
  OK(PetscPopErrorHandler());
  OK(PetscOptionsClearValue(NULL, "-mat_macko_halo"));
  OK(MatDestroy(&A));
}
END_TEST

/* ---- solvers ---- */

/* The Laplacian on a cube, with 7 points. */
static Mat laplacian(const char *type, PetscInt edge)
{
  Mat      A;
  PetscInt low, high, last = edge - 1, steps[3] = {1, edge, edge * edge};
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, edge * edge * edge, edge * edge * edge));
  OK(MatSetType(A, type));
  OK(MatSetUp(A));
  OK(MatGetOwnershipRange(A, &low, &high));
  for (PetscInt i = low; i < high; i++) {
    PetscInt at[3] = {i % edge, i / edge % edge, i / edge / edge};
    OK(MatSetValue(A, i, i, 6, INSERT_VALUES));
    for (int d = 0; d < 3; d++) {
      if (at[d] > 0) OK(MatSetValue(A, i, i - steps[d], -1, INSERT_VALUES));
      if (at[d] < last) OK(MatSetValue(A, i, i + steps[d], -1, INSERT_VALUES));
    }
  }
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

typedef struct {
  PetscInt       steps;
  PetscLogDouble copies;                   /* GPU to CPU, of vectors, inside the second KSPSolve */
  PetscLogDouble flops, gpu_flops, counts; /* of our products, all levels */
} outcome;

static void product_log(outcome *o, int sign)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;
  if (PetscLogEventGetId("MatMackoMult", &event) || event < 0) return;
  OK(PetscLogEventGetPerfInfo(0, event, &info));
  o->flops += sign * info.flops, o->gpu_flops += sign * info.GpuFlops, o->counts += sign * info.count;
}

static outcome solve(const char *type, const char *options)
{
  outcome o = {0};
  KSP     ksp;
  Mat     A = laplacian(type, EDGE);
  Vec     x, b;
  OK(PetscOptionsInsertString(NULL, options));
  OK(MatCreateVecs(A, &x, &b));
  OK(VecSet(b, 1));
  OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  OK(KSPSetOperators(ksp, A, A));
  OK(KSPSetFromOptions(ksp));
  OK(KSPSolve(ksp, b, x));
  OK(VecSet(x, 0));
  product_log(&o, -1);
  o.copies = -petsc_gtoc_ct;
  OK(KSPSolve(ksp, b, x));
  o.copies += petsc_gtoc_ct;
  product_log(&o, 1);
  OK(KSPGetIterationNumber(ksp, &o.steps));
  OK(KSPDestroy(&ksp));
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  OK(MatDestroy(&A));
  OK(PetscOptionsClear(NULL));
  return o;
}

/* Row, slice and stencils, on the GPU. */
START_TEST(diagonals_agree)
{
  static const char *const options[] = {"-mat_macko_layout row", "-mat_macko_layout slice",
                                        "-mat_macko_layout slice -mat_macko_values dict"};
  Mat A, P;
  OK(PetscOptionsInsertString(NULL, options[_i]));
  A = laplacian(MATAIJMACKO, 9), P = laplacian(MATAIJ, 9);
  OK(MatSetValue(A, 3, 3, 7, INSERT_VALUES));
  OK(MatSetValue(P, 3, 3, 7, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  assert_same_diagonal(A, P, options[_i]);
  assert_same_products(A, P, options[_i]);
  OK(PetscOptionsClear(NULL));
  OK(MatDestroy(&A));
  OK(MatDestroy(&P));
}
END_TEST

/* A matrix large enough to be encoded on the GPU: new values there, products T and on the CPU from the form brought back. */
START_TEST(encoded_on_the_gpu)
{
  Mat A = laplacian(MATAIJMACKO, EDGE), P = laplacian(MATAIJ, EDGE);
  assert_vectors(A, 1, "encoded");
  assert_same_products(A, P, "encoded");
  assert_same_diagonal(A, P, "encoded");
  for (int change = 0; change < 3; change++) {
    const char *when = change == 0 ? "scaled" : change == 1 ? "one entry changed" : "changed on the CPU";
    PetscInt    low, high;
    if (change == 2) OK(MatBindToCPU(A, PETSC_TRUE));
    for (int which = 0; which < 2; which++) {
      Mat M = which ? P : A;
      OK(MatGetOwnershipRange(M, &low, &high));
      if (change == 0) OK(MatScale(M, 1.0 / 3));
      else OK(MatSetValue(M, low + 7, low + 7, 5 + change, INSERT_VALUES));
      OK(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
      OK(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
    }
    assert_same_products(A, P, when);
    assert_same_diagonal(A, P, when);
    OK(MatBindToCPU(A, PETSC_TRUE));
    assert_same_products(A, P, when);
    OK(MatBindToCPU(A, PETSC_FALSE));
    assert_same_products(A, P, when);
  }
  OK(MatDestroy(&P));
  OK(MatDestroy(&A));
}
END_TEST

static const char *const methods[] = {
  "-ksp_type cg -pc_type jacobi",
  "-ksp_type gmres -pc_type jacobi",
  "-ksp_type bcgs -pc_type jacobi",
  "-ksp_type chebyshev -pc_type jacobi -ksp_max_it 30",
  "-ksp_type cg -pc_type gamg -mg_levels_pc_type jacobi",
};
enum { METHODS = sizeof methods / sizeof *methods };

/* The sums of a product are not in cuSPARSE's order, which BiCGStab feels. A direct solver on GAMG's coarsest grid runs on the
 * CPU and copies its right-hand side; all other copies aijcusparse has as well. */
START_TEST(solves_stay_on_the_gpu)
{
  OK(PetscLogDefaultBegin());
  outcome   ours = solve(MATAIJMACKO, methods[_i]), peer = solve(MATAIJCUSPARSE, methods[_i]);
  int       gamg = strstr(methods[_i], "gamg") != NULL, bcgs = strstr(methods[_i], "bcgs") != NULL;
  PetscInt  apart = ours.steps > peer.steps ? ours.steps - peer.steps : peer.steps - ours.steps;
  ASSERT_ALL(apart <= (bcgs ? peer.steps / 10 : 0), "%s: %d steps, aijcusparse %d", methods[_i], (int)ours.steps,
             (int)peer.steps);
  ASSERT_ALL(ours.counts > 0 && ours.flops == ours.gpu_flops, "%s: %g of %g operations of products ran on the GPU",
             methods[_i], ours.gpu_flops, ours.flops);
  ASSERT_ALL(ours.copies <= peer.copies + 4 * apart + (gamg ? ours.steps + 1 : 0), "%s: %g copies from the GPU, aijcusparse %g",
             methods[_i], ours.copies, peer.copies);
}
END_TEST

/* ---- dense matrices, vectors in host memory ---- */

static void assert_same_dense(Mat X, Mat Y, const char *when)
{
  Mat       mine, theirs;
  PetscReal norm, difference;
  OK(MatConvert(X, MATDENSE, MAT_INITIAL_MATRIX, &mine));
  OK(MatConvert(Y, MATDENSE, MAT_INITIAL_MATRIX, &theirs));
  OK(MatNorm(theirs, NORM_FROBENIUS, &norm));
  OK(MatAXPY(mine, -1, theirs, SAME_NONZERO_PATTERN));
  OK(MatNorm(mine, NORM_FROBENIUS, &difference));
  ASSERT_ALL(norm > 0 && difference <= 1e-14 * norm, "%s: A B differs by %g of %g", when, (double)difference, (double)norm);
  OK(MatDestroy(&mine));
  OK(MatDestroy(&theirs));
}

/* On the GPU, where their products stay, and in host memory; several ranks take all columns at once or three at a time. */
static const struct {
  const char *type, *batch;
} dense_kinds[] = {{MATDENSECUDA, "7"}, {MATDENSECUDA, "3"}, {MATDENSE, "7"}, {MATDENSE, "3"}};
enum { DENSE_KINDS = sizeof dense_kinds / sizeof *dense_kinds };

START_TEST(dense_products_agree)
{
  const char *type = dense_kinds[_i].type;
  Mat         A, P, B, X, Y;
  PetscInt    n;
  PetscBool   cuda, wanted;
  OK(PetscOptionsSetValue(NULL, "-matproduct_batch_size", dense_kinds[_i].batch));
  OK(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 3, &A, &P));
  OK(MatGetLocalSize(A, NULL, &n));
  OK(make_dense(type, n, PETSC_DECIDE, PETSC_DETERMINE, 7, &B));
  OK(MatMatMult(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
  OK(PetscObjectTypeCompareAny((PetscObject)X, &cuda, MATSEQDENSECUDA, MATMPIDENSECUDA, ""));
  OK(PetscStrcmp(type, MATDENSECUDA, &wanted));
  ASSERT_ALL(cuda == wanted, "the product with %s is on the %s", type, cuda ? "GPU" : "CPU");
  OK(MatMatMult(P, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
  assert_same_dense(X, Y, type);
  OK(MatScale(A, 3));
  OK(MatScale(Y, 3));
  OK(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
  assert_same_dense(X, Y, "again, with other values");
  OK(PetscOptionsClearValue(NULL, "-matproduct_batch_size"));
  OK(MatDestroy(&X));
  OK(MatDestroy(&Y));
  OK(MatDestroy(&B));
  OK(MatDestroy(&P));
  OK(MatDestroy(&A));
}
END_TEST

/* The halo is on the GPU, as the products are; x and y need not be. */
START_TEST(vectors_in_host_memory_are_multiplied)
{
  Mat         A, P, B, X, Y;
  PetscInt    m, n;
  const char *why;
  OK(make_pair(PREALLOCATED, ROOT_TYPE, N, N, 3, &A, &P));
  assert_vectors(A, 1, "before");
  for (int again = 0; again < 2; again++) {
    why = difference_with(A, P, P);
    ck_assert_msg(!why, "vectors of a plain matrix: %s", why);
    assert_same_products(A, P, "vectors on the GPU, after plain ones");
  }
  OK(MatGetLocalSize(A, &m, &n));
  OK(make_dense(MATDENSE, n, PETSC_DECIDE, PETSC_DETERMINE, 5, &B));
  OK(make_dense(MATDENSE, m, PETSC_DECIDE, PETSC_DETERMINE, 5, &X));
  OK(MatMatMult(P, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y));
  for (PetscInt j = 0; j < 5; j++) {
    Vec b, x;
    OK(MatDenseGetColumnVecRead(B, j, &b));
    OK(MatDenseGetColumnVecWrite(X, j, &x));
    OK(MatMult(A, b, x));
    OK(MatDenseRestoreColumnVecRead(B, j, &b));
    OK(MatDenseRestoreColumnVecWrite(X, j, &x));
  }
  assert_same_dense(X, Y, "column by column");
  OK(MatDestroy(&X));
  OK(MatDestroy(&Y));
  OK(MatDestroy(&B));
  OK(MatDestroy(&P));
  OK(MatDestroy(&A));
}
END_TEST

static Suite *gpu_suite(void)
{
  Suite *s = suite_create("the matrix type on a GPU");
  TCase *t = tcase_create("gpu");
  tcase_add_loop_test(t, vectors_live_on_the_gpu, 0, WAYS);
  tcase_add_loop_test(t, backend_can_be_chosen, 0, 2);
  tcase_add_loop_test(t, ways_of_exchange_agree, 0, PATTERNS);
  tcase_add_test(t, refuses_an_unknown_way);
  tcase_add_loop_test(t, dense_products_agree, 0, DENSE_KINDS);
  tcase_add_test(t, vectors_in_host_memory_are_multiplied);
  tcase_add_loop_test(t, diagonals_agree, 0, 3);
  tcase_add_test(t, encoded_on_the_gpu);
  tcase_add_loop_test(t, solves_stay_on_the_gpu, 0, METHODS);
  tcase_set_timeout(t, 200);
  suite_add_tcase(s, t);
  return s;
}

/* Whether products could run on a GPU, asked of the type itself; outside of any test. */
static int gpu_found(int argc, char **argv)
{
  Mat          A;
  MatMackoInfo info = {0};
  if (PetscInitialize(&argc, &argv, NULL, NULL) || MatMackoInitializePackage() ||
      make_matrix(PREALLOCATED, our_type(ROOT_TYPE), N, N, 3, &A) || MatMackoEncode(A) || MatMackoGetInfo(A, &info) ||
      MatDestroy(&A) || PetscFinalize())
    return 0;
  return info.on_device;
}

int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  if (!gpu_found(argc, argv)) {
    MPI_Finalize();
    printf("SKIP: no GPU that PETSc can use\n");
    return 77;
  }
  return run_suite(argc, argv, gpu_suite, 1);
}

#else

int main(void)
{
  printf("SKIP: this PETSc has no CUDA\n");
  return 77;
}

#endif
