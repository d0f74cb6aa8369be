/* The matrix type on a GPU: where vectors live, where products run, what is copied. Needs a PETSc with CUDA and a GPU; the other
 * suites run there as well, with vectors in GPU memory. */
#include "gpu.h"

#include <stdio.h>

#if defined(PETSC_HAVE_CUDA)

enum { N = 50 };

int on_gpu(Vec v)
{
  const PetscScalar *a;
  PetscMemType       where;
  OK(VecGetArrayReadAndMemType(v, &a, &where));
  OK(VecRestoreArrayReadAndMemType(v, &a));
  return PetscMemTypeDevice(where);
}

void assert_vectors(Mat A, int gpu, const char *when)
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

void assert_same_diagonal(Mat A, Mat P, const char *when)
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
  DESTROY(&copy, &P, &A);
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
  DESTROY(&P, &A);
}
END_TEST

/* ---- dense matrices, vectors in host memory ---- */

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
  assert_same_entries(X, Y, 1e-14, type);
  OK(MatScale(A, 3));
  OK(MatScale(Y, 3));
  OK(MatMatMult(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
  assert_same_entries(X, Y, 1e-14, "again, with other values");
  OK(PetscOptionsClearValue(NULL, "-matproduct_batch_size"));
  DESTROY(&X, &Y, &B, &P, &A);
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
  assert_same_entries(X, Y, 1e-14, "column by column");
  DESTROY(&X, &Y, &B, &P, &A);
}
END_TEST

/* AIJ, which takes them, reads them on the host; on all ranks, also where one alone has them there. */
START_TEST(coo_values_in_gpu_memory_are_refused_on_the_cpu)
{
  Mat            A;
  Vec            v;
  PetscInt       i[1], begin;
  PetscScalar   *values, host[1] = {3};
  PetscErrorCode error;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", "cpu"));
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, our_type((type_choice)(_i % TYPES))));
  OK(MatGetOwnershipRange(A, &begin, NULL));
  i[0] = begin;
  OK(MatSetPreallocationCOO(A, 1, i, i));
  OK(MatSetValuesCOO(A, host, INSERT_VALUES));
  OK(VecCreateSeqCUDA(PETSC_COMM_SELF, 1, &v));
  OK(VecSet(v, 4));
  OK(VecCUDAGetArray(v, &values));
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  error = MatSetValuesCOO(A, _i / TYPES && begin ? host : values, INSERT_VALUES);
  OK(PetscPopErrorHandler());
  ASSERT_ALL(error == PETSC_ERR_SUP, "error %d", (int)error);
  OK(VecCUDARestoreArray(v, &values));
  OK(MatSetValuesCOO(A, host, INSERT_VALUES));
  OK(VecDestroy(&v));
  DESTROY(&A);
  OK(PetscOptionsClearValue(NULL, "-mat_macko_backend"));
}
END_TEST

static void add_type_tests(TCase *t)
{
  tcase_add_loop_test(t, vectors_live_on_the_gpu, 0, WAYS);
  tcase_add_loop_test(t, backend_can_be_chosen, 0, 2);
  tcase_add_loop_test(t, dense_products_agree, 0, DENSE_KINDS);
  tcase_add_test(t, vectors_in_host_memory_are_multiplied);
  tcase_add_loop_test(t, coo_values_in_gpu_memory_are_refused_on_the_cpu, 0, 2 * TYPES);
}

/* Each part is a case, which CK_RUN_CASE runs alone. */
static Suite *gpu_suite(void)
{
  static const struct {
    const char *name;
    void (*add)(TCase *);
  } parts[] = {{"type", add_type_tests},         {"halo", add_halo_tests},   {"setup", add_setup_tests},
               {"products", add_product_tests}, {"solve", add_solve_tests}, {"compressed", add_compressed_tests}};
  Suite *s = suite_create("the matrix type on a GPU");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    TCase *t = tcase_create(parts[i].name);
    parts[i].add(t);
    tcase_set_timeout(t, 200);
    suite_add_tcase(s, t);
  }
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
