/* Type macko on a GPU: where vectors live and products run, pieces encoded there and brought back, solvers. */
#include "gpu.h"

#include <petscksp.h>

#include <string.h>

#if defined(PETSC_HAVE_CUDA)

enum { ROWS = 61, COLS = 47, LINE = 300000 };

static void make_both(const char *piece, PetscInt rows, PetscInt cols, Mat *A, Mat *P)
{
  if (piece) OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", piece));
  OK(make_matrix(PREALLOCATED, MATAIJ, rows, cols, 11, P));
  OK(MatConvert(*P, MATMACKO, MAT_INITIAL_MATRIX, A));
}

static void assert_on_device(Mat A, int there, const char *when)
{
  MatMackoInfo info;
  OK(MatMackoGetInfo(A, &info));
  ASSERT_ALL(info.on_device == there && (!there || info.device_bytes > 0), "%s: on_device %d, %g bytes", when, (int)info.on_device,
             (double)info.device_bytes);
}

static const char *const formats[] = {
#define MACKO_FORMAT(SYMBOL, name, text) #name,
#include "formats.def"
#undef MACKO_FORMAT
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* In pieces of a few rows, whose transposes would be larger than they are; and in one piece. */
START_TEST(every_format_in_pieces)
{
  for (int whole = 0; whole < 2; whole++) {
    Mat A, P, copy;
    OK(PetscOptionsSetValue(NULL, "-mat_macko_format", formats[_i]));
    make_both(whole ? NULL : "37", ROWS, COLS, &A, &P);
    assert_vectors(A, 1, formats[_i]);
    assert_same_products(A, P, formats[_i]);
    assert_on_device(A, 1, formats[_i]);
    OK(MatScale(A, 3));
    OK(MatScale(P, 3));
    assert_same_products(A, P, "scaled");
    OK(MatDuplicate(A, MAT_COPY_VALUES, &copy));
    assert_vectors(copy, 1, "a copy");
    assert_same_products(copy, P, "a copy");
    DESTROY(&copy, &A, &P);
    OK(clear_options());
  }
}
END_TEST

START_TEST(bound_to_the_cpu)
{
  Mat         A, P;
  const char *why;
  make_both("37", ROWS, ROWS, &A, &P);
  assert_vectors(A, 1, "made");
  OK(MatBindToCPU(A, PETSC_TRUE));
  assert_vectors(A, 0, "bound to the CPU");
  assert_same_products(A, P, "bound to the CPU");
  OK(MatShift(A, 2)); /* makes all anew that ranks exchange entries by */
  OK(MatShift(P, 2));
  assert_same_dense_products(A, P, MATDENSECUDA, 3, "bound to the CPU");
  OK(MatBindToCPU(A, PETSC_FALSE));
  assert_vectors(A, 1, "unbound");
  assert_same_products(A, P, "unbound");
  assert_same_dense_products(A, P, MATDENSECUDA, 3, "unbound");
  why = difference_with(A, P, P);
  ck_assert_msg(!why, "vectors in host memory: %s", why);
  assert_same_diagonal(A, P, "a vector on the GPU");
  OK(clear_options());
  DESTROY(&A, &P);
}
END_TEST

START_TEST(backend_of_type_macko)
{
  static const char *const backends[] = {"cpu", "cuda"};
  Mat         A, P;
  const char *why;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", backends[_i]));
  make_both("37", ROWS, COLS, &A, &P);
  assert_vectors(A, _i, backends[_i]);
  assert_same_products(A, P, backends[_i]);
  why = difference_with(A, P, P);
  ck_assert_msg(!why, "-mat_macko_backend %s, vectors in host memory: %s", backends[_i], why);
  assert_on_device(A, _i, backends[_i]);
  OK(clear_options());
  DESTROY(&A, &P);
}
END_TEST

/* ---- entries of other ranks ---- */

/* Nothing comes to the host where entries go from GPU to GPU; before, the exchange is set up. */
START_TEST(halo_stays_on_the_gpu)
{
  Mat            A, P;
  Vec            x, y;
  PetscLogDouble copies;
  OK(PetscLogDefaultBegin());
  make_both("37", ROWS, ROWS, &A, &P);
  OK(MatCreateVecs(A, &x, &y));
  OK(VecSet(x, 1));
  OK(MatMult(A, x, y));
  copies = -petsc_gtoc_ct;
  OK(MatMult(A, x, y));
  OK(MatMultAdd(A, x, y, y));
  copies += petsc_gtoc_ct;
  int through_host = ranks() > 1 && !view_says(A, "halo from GPU to GPU\n");
  ASSERT_ALL(copies == 0 || through_host, "%g copies from the GPU", copies);
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(clear_options());
  DESTROY(&A, &P);
}
END_TEST

/* The option outlives what it was given for. */
START_TEST(halo_of_a_copy)
{
  static const char said[] = "halo through host memory: -mat_macko_halo host\n";
  Mat A, P, copy;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_halo", "host"));
  make_both("37", ROWS, COLS, &A, &P);
  OK(clear_options());
  OK(MatDuplicate(A, MAT_COPY_VALUES, &copy));
  ASSERT_ALL(view_says(A, said) == (ranks() > 1), "the view of the matrix");
  ASSERT_ALL(view_says(copy, said) == (ranks() > 1), "the view of a copy");
  assert_same_products(copy, P, "a copy");
  OK(MatBindToCPU(A, PETSC_TRUE));
  ASSERT_ALL(!view_says(A, said), "the view on the CPU");
  assert_same_products(A, P, "bound to the CPU");
  DESTROY(&A, &P, &copy);
}
END_TEST

/* ---- pieces that are encoded there ---- */

static Mat line(const char *type)
{
  Mat      A;
  PetscInt low, high;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, LINE, LINE));
  OK(MatSetType(A, type));
  OK(MatSeqAIJSetPreallocation(A, 3, NULL));
  OK(MatMPIAIJSetPreallocation(A, 3, NULL, 1, NULL));
  OK(MatGetOwnershipRange(A, &low, &high));
  for (PetscInt i = low; i < high; i++)
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, LINE - 1); j++)
      OK(MatSetValue(A, i, j, i == j ? 4 + (double)(i % 97) / 64 : -1, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

/* Pieces are encoded on the GPU; each but the first has its part of the diagonal in later columns. */
START_TEST(diagonal_of_pieces)
{
  static const char *const chosen[] = {"-mat_macko_format macko -mat_macko_layout slice", "-mat_macko_format csr"};
  Mat              A, P;
  Vec              d;
  PetscOffloadMask where;
  OK(PetscOptionsInsertString(NULL, chosen[_i]));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "70000"));
  A = line(MATMACKO), P = line(MATAIJ);
  assert_same_diagonal(A, P, chosen[_i]);
  OK(MatCreateVecs(A, NULL, &d));
  OK(MatGetDiagonal(A, d));
  OK(VecGetOffloadMask(d, &where));
  ASSERT_ALL(where == PETSC_OFFLOAD_GPU, "the diagonal was not computed on the GPU");
  OK(VecDestroy(&d));
  OK(clear_options());
  DESTROY(&A, &P);
}
END_TEST

START_TEST(pieces_encoded_on_the_gpu)
{
  static const char *const pieces[] = {"100000", "30000000"};
  Mat       P = line(MATAIJ), A, back;
  PetscBool same;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", pieces[_i]));
  OK(MatConvert(P, MATMACKO, MAT_INITIAL_MATRIX, &A));
  assert_on_device(A, 1, "before any product");
  assert_vectors(A, 1, pieces[_i]);
  assert_same_products(A, P, pieces[_i]);
  OK(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &back));
  OK(MatEqual(back, P, &same));
  ASSERT_ALL(same, "brought back other entries");
  OK(MatScale(A, 1. / 3));
  OK(MatScale(P, 1. / 3));
  assert_same_products(A, P, "scaled");
  OK(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  assert_same_products(A, P, "a symmetric matrix, whose transpose it is itself");
  OK(clear_options());
  DESTROY(&A, &P, &back);
}
END_TEST

/* ---- dense matrices: in GPU memory or in that of the host, from which they are copied where the option says so ---- */

static const struct {
  const char *type, *backend, *halo;
} dense_kinds[] = {{MATDENSECUDA, "auto", "auto"}, {MATDENSECUDA, "auto", "host"}, {MATDENSECUDA, "cpu", "auto"},
                   {MATDENSECUDA, "cuda", "auto"}, {MATDENSE, "auto", "auto"},     {MATDENSE, "cuda", "auto"}};
enum { DENSE_KINDS = sizeof dense_kinds / sizeof *dense_kinds };

/* In pieces whose transposes would be larger than they are, and in one; with more columns, and with fewer; ranks without rows and
   without columns. */
START_TEST(dense_on_the_gpu)
{
  static const PetscInt sizes[][2] = {{ROWS, COLS}, {2, COLS}, {ROWS, 2}};
  const char *type = dense_kinds[_i].type;
  for (unsigned s = 0; s < 2 * sizeof sizes / sizeof *sizes; s++) {
    Mat A, P;
    OK(PetscOptionsSetValue(NULL, "-mat_macko_backend", dense_kinds[_i].backend));
    OK(PetscOptionsSetValue(NULL, "-mat_macko_halo", dense_kinds[_i].halo));
    make_both(s % 2 ? NULL : "37", sizes[s / 2][0], sizes[s / 2][1], &A, &P);
    assert_same_dense_products(A, P, type, 3, "few columns");
    assert_same_dense_products(A, P, type, 9, "more columns");
    assert_same_dense_products(A, P, type, 1, "one column");
    OK(MatScale(A, 3));
    OK(MatScale(P, 3));
    assert_same_dense_products(A, P, type, 9, "other values");
    assert_same_products(A, P, "vectors afterwards");
    OK(clear_options());
    DESTROY(&A, &P);
  }
}
END_TEST

/* What comes back from the GPU in a product with seven columns, after one that has set up what it needs. */
static PetscLogDouble dense_copies(Mat A, int transposed)
{
  PetscErrorCode (*multiply)(Mat, Mat, MatReuse, PetscReal, Mat *) = transposed ? MatTransposeMatMult : MatMatMult;
  Mat            B, X;
  PetscInt       m, n;
  PetscLogDouble copies;
  OK(MatGetLocalSize(A, &m, &n));
  OK(make_dense(MATDENSECUDA, transposed ? m : n, PETSC_DECIDE, PETSC_DETERMINE, 7, &B));
  OK((*multiply)(A, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &X));
  OK((*multiply)(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
  copies = -petsc_gtoc_ct;
  OK((*multiply)(A, B, MAT_REUSE_MATRIX, PETSC_DEFAULT, &X));
  copies += petsc_gtoc_ct;
  DESTROY(&B, &X);
  return copies;
}

/* Sums for other ranks go as AIJ's do, all else from GPU to GPU where that is possible. */
START_TEST(dense_stays_on_the_gpu)
{
  Mat            P = line(MATAIJ), A;
  PetscLogDouble forward, transposed;
  OK(PetscLogDefaultBegin());
  OK(MatConvert(P, MATMACKO, MAT_INITIAL_MATRIX, &A));
  forward = dense_copies(A, 0), transposed = dense_copies(A, 1);
  int alone = ranks() == 1, through_host = !alone && !view_says(A, "halo from GPU to GPU\n");
  ASSERT_ALL(forward == 0 || through_host, "A B: %g copies from the GPU", forward);
  ASSERT_ALL(transposed == 0 || !alone, "A' B: %g copies from the GPU", transposed);
  OK(MatSetOption(A, MAT_SYMMETRIC, PETSC_TRUE));
  transposed = dense_copies(A, 1);
  ASSERT_ALL(transposed == 0 || through_host, "A' B, symmetric: %g copies from the GPU", transposed);
  assert_same_dense_products(A, P, MATDENSECUDA, 3, "symmetric");
  DESTROY(&A, &P);
}
END_TEST

/* ---- solvers: as many steps as with aij, and on one rank no vector leaves the GPU ---- */

static PetscInt steps(Mat A, PetscLogDouble *copies)
{
  KSP      ksp;
  Vec      x, b;
  PetscInt its;
  OK(MatCreateVecs(A, &x, &b));
  OK(VecSet(b, 1));
  ksp = new_solver(A, A, KSPCG, PCJACOBI);
  OK(KSPSolve(ksp, b, x));
  OK(VecSet(x, 0));
  *copies = -petsc_gtoc_ct;
  OK(KSPSolve(ksp, b, x));
  *copies += petsc_gtoc_ct;
  OK(KSPGetIterationNumber(ksp, &its));
  OK(KSPDestroy(&ksp));
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  return its;
}

START_TEST(solves_on_the_gpu)
{
  Mat            P = line(MATAIJ), A, Q;
  PetscLogDouble ours, theirs;
  OK(PetscLogDefaultBegin());
  OK(MatConvert(P, MATMACKO, MAT_INITIAL_MATRIX, &A));
  OK(MatConvert(P, MATAIJCUSPARSE, MAT_INITIAL_MATRIX, &Q));
  PetscInt mine = steps(A, &ours), peer = steps(Q, &theirs);
  ASSERT_ALL(mine == peer && mine > 2, "%d steps, not %d", (int)mine, (int)peer);
  ASSERT_ALL(ours <= theirs, "%g copies from the GPU, aijcusparse %g", ours, theirs);
  DESTROY(&A, &P, &Q);
}
END_TEST

void add_compressed_tests(TCase *t)
{
  tcase_add_loop_test(t, every_format_in_pieces, 0, FORMATS);
  tcase_add_loop_test(t, diagonal_of_pieces, 0, 2);
  tcase_add_test(t, bound_to_the_cpu);
  tcase_add_loop_test(t, backend_of_type_macko, 0, 2);
  tcase_add_test(t, halo_stays_on_the_gpu);
  tcase_add_test(t, halo_of_a_copy);
  tcase_add_loop_test(t, pieces_encoded_on_the_gpu, 0, 2);
  tcase_add_loop_test(t, dense_on_the_gpu, 0, DENSE_KINDS);
  tcase_add_test(t, dense_stays_on_the_gpu);
  tcase_add_test(t, solves_on_the_gpu);
}

#endif
