/* What ranks exchange of vectors on GPUs. */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(PETSC_HAVE_CUDA)

enum { N = 50 };

typedef enum { EACH_WITH_EACH, FROM_LOWER_RANKS, WITH_NOBODY, EMPTY_RANKS, PATTERNS } pattern;

/* Both parallel types of ours exchange entries the same way. */
static const char *exchanging_type(int macko)
{
  return macko ? MATMPIMACKO : our_type(PARALLEL_TYPE);
}

/* Of N rows a rank; with empty ranks, of none on every second. */
static PetscErrorCode exchanging_matrix(pattern p, const char *type, const char *path, Mat *A)
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
  PetscCall(MatSetType(*A, type));
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

/* Products of the matrices in turns, each of the result before, without a word between host and GPU; with the transpose too where
   these are ours: cuSPARSE's, which aijmacko's blocks may use, do not give the same bits each time. */
static void assert_same_powers(Mat matrices[], int count, int transposed, const char *when)
{
  enum { MOST = 4, POWERS = 40 };
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
      if (power % 2) OK(VecCopy(x[m], y[m]));
      if (power % 4 == 0) OK(MatMult(matrices[m], x[m], y[m]));
      else if (power % 4 == 1) OK(MatMultAdd(matrices[m], x[m], y[m], y[m]));
      else if (!transposed) OK(MatMult(matrices[m], x[m], y[m]));
      else if (power % 4 == 2) OK(MatMultTranspose(matrices[m], x[m], y[m]));
      else OK(MatMultTransposeAdd(matrices[m], x[m], y[m], y[m]));
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

/* A product with the transpose, which PETSc's exchange does for plain AIJ, to the rounding of another order of additions. */
static void assert_transposed_like_aij(Mat A, const char *when)
{
  Mat       P;
  Vec       x, y, z;
  PetscReal off, all;
  OK(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &P));
  OK(MatCreateVecs(A, &y, &x));
  OK(VecDuplicate(y, &z));
  OK(VecSetRandom(x, NULL));
  OK(MatMultTranspose(A, x, y));
  OK(MatMultTranspose(P, x, z));
  OK(VecNorm(z, NORM_INFINITY, &all));
  OK(VecAXPY(z, -1, y));
  OK(VecNorm(z, NORM_INFINITY, &off));
  ASSERT_ALL(all > 0 && off <= 1e-13 * all, "%s: A'x is off by %g of %g", when, (double)off, (double)all);
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&z));
  OK(MatDestroy(&P));
}

/* How ranks exchange entries is told of a matrix that is encoded, which a view does not do. */
int view_says(Mat A, const char *wanted)
{
  char        path[] = "/tmp/petsc_gpu-XXXXXX", line[400];
  PetscViewer viewer;
  PetscMPIInt rank;
  FILE       *file;
  int         said = 1;
  OK(MatMackoEncode(A));
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
  return everywhere(said);
}

static void assert_view_says(Mat A, const char *wanted)
{
  ck_assert_msg(view_says(A, wanted), "the view does not say \"%s\"", wanted);
}

/* Between ranks that are taken for those of several nodes entries go by MPI, within each from GPU to GPU where that is possible at
   all. It is the way of a matrix that each rank shares with each. */
static void assert_cut_at_nodes(Mat A, PetscInt each)
{
  int peers = view_says(A, "halo from GPU to GPU\n"); /* it is made now, and made anew when its columns change */
  PetscBool aware = PETSC_TRUE; /* PETSc takes MPI for aware of GPUs unless it is told otherwise */
  Mat B;
  OK(PetscOptionsGetBool(NULL, NULL, "-use_gpu_aware_mpi", &aware, NULL));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_ranks_per_node", each == 1 ? "1" : "2"));
  OK(MatDuplicate(A, MAT_COPY_VALUES, &B));
  if (!peers || ranks() <= each) (void)view_says(B, "halo ");
  else if (each == 1 && aware) assert_view_says(B, "halo by MPI from GPU memory: the ranks are on several nodes\n");
  else if (each == 1) assert_view_says(B, "halo through host memory: the ranks are on several nodes\n");
  else if (aware) assert_view_says(B, "halo from GPU to GPU within nodes, by MPI from GPU memory between them\n");
  else assert_view_says(B, "halo from GPU to GPU within nodes, through host memory between them\n");
  OK(MatDestroy(&B));
}

/* From GPU to GPU, where that is possible, through the host, and by MPI from GPU memory: the same bits, also with other columns
   later on, and where ranks are taken for those of several nodes. */
START_TEST(ways_of_exchange_agree)
{
  enum { COUNT = 4 };
  static const char *const names[] = {"each with each", "from lower ranks", "with nobody", "empty ranks"};
  const pattern     p     = (pattern)(_i / 2 % PATTERNS);
  const int         macko = _i % 2, each = _i / 2 / PATTERNS;
  const char *const type  = exchanging_type(macko);
  Mat               matrices[COUNT];
  PetscInt          low, high;
  OK(exchanging_matrix(p, type, "host", &matrices[0]));
  OK(exchanging_matrix(p, type, "auto", &matrices[1]));
  OK(MatDuplicate(matrices[1], MAT_COPY_VALUES, &matrices[2]));
  OK(exchanging_matrix(p, type, "mpi", &matrices[3]));
  if (each && p == EACH_WITH_EACH && (ranks() > 1 || !macko)) assert_cut_at_nodes(matrices[1], each);
  if (each) OK(PetscOptionsSetValue(NULL, "-mat_macko_ranks_per_node", each == 1 ? "1" : "2"));
  if (ranks() > 1 || !macko) { /* type macko has no halo on one rank */
    assert_view_says(matrices[0], "halo through host memory: -mat_macko_halo host\n");
    assert_view_says(matrices[1], "halo ");
    assert_view_says(matrices[3], "halo by MPI from GPU memory: -mat_macko_halo mpi\n");
  }
  assert_same_powers(matrices, COUNT, macko, names[p]);
  for (int m = 0; m < COUNT; m++) assert_transposed_like_aij(matrices[m], names[p]);
  for (int m = 0; m < COUNT; m++) {
    OK(MatSetOption(matrices[m], MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    OK(MatGetOwnershipRange(matrices[m], &low, &high));
    for (PetscInt j = 0; low < high && j < 7; j++) OK(MatSetValue(matrices[m], high - 1, 6 * j, 0.25, INSERT_VALUES));
    OK(MatAssemblyBegin(matrices[m], MAT_FINAL_ASSEMBLY));
    OK(MatAssemblyEnd(matrices[m], MAT_FINAL_ASSEMBLY));
  }
  assert_same_powers(matrices, COUNT, macko, "new columns");
  for (int m = 0; m < COUNT; m++) OK(MatScale(matrices[m], -0.5));
  assert_same_powers(matrices, COUNT, macko, "new values");
  for (int m = 0; m < COUNT; m++) assert_transposed_like_aij(matrices[m], "new values");
  for (int m = 0; m < 2; m++) OK(MatDestroy(&matrices[m])); /* not the last that are in use */
  assert_same_powers(matrices + 2, 2, macko, "the others are gone");
  for (int m = 2; m < COUNT; m++) OK(MatDestroy(&matrices[m]));
  if (each) OK(PetscOptionsClearValue(NULL, "-mat_macko_ranks_per_node"));
}
END_TEST

/* Each rank takes 80 KB of the next one, more than MPI copies through buffers of its own: what it copies from process to process
   must be memory that it can read. */
START_TEST(large_halos_arrive)
{
  enum { LARGE = 10000 };
  static const char *const paths[] = {"host", "auto", "mpi"};
  Mat         A;
  Vec         x, y, z;
  PetscInt    low, high, to;
  PetscScalar value;
  PetscBool   equal;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_halo", paths[_i]));
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, LARGE, LARGE, PETSC_DETERMINE, PETSC_DETERMINE));
  OK(MatSetType(A, our_type(PARALLEL_TYPE)));
  OK(MatMPIAIJSetPreallocation(A, 1, NULL, 1, NULL));
  OK(MatGetOwnershipRange(A, &low, &high));
  for (PetscInt i = low; i < high; i++) OK(MatSetValue(A, i, (i + LARGE) % (ranks() * LARGE), 2, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(MatCreateVecs(A, &x, &y));
  OK(VecDuplicate(x, &z));
  for (PetscInt i = low; i < high; i++) {
    to    = i < LARGE ? i + (ranks() - 1) * LARGE : i - LARGE;
    value = (PetscScalar)i;
    OK(VecSetValue(x, i, value, INSERT_VALUES));
    OK(VecSetValue(z, to, 2 * value, INSERT_VALUES));
  }
  OK(VecAssemblyBegin(x));
  OK(VecAssemblyEnd(x));
  OK(VecAssemblyBegin(z));
  OK(VecAssemblyEnd(z));
  for (int k = 0; k < 3; k++) {
    OK(MatMult(A, x, y));
    OK(VecEqual(y, z, &equal));
    ASSERT_ALL(equal, "%s: A x is not x of the next rank", paths[_i]);
    OK(MatMultTranspose(A, y, z)); /* 4 x comes back */
    OK(VecScale(z, 0.25));
    OK(VecEqual(x, z, &equal));
    ASSERT_ALL(equal, "%s: sums do not come back", paths[_i]);
    OK(VecCopy(y, z));
  }
  OK(PetscOptionsClearValue(NULL, "-mat_macko_halo"));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  OK(VecDestroy(&z));
  OK(MatDestroy(&A));
}
END_TEST

/* The option is read when a matrix becomes ours, outside of PETSc's own reading of options, which would leak its title. */
START_TEST(refuses_an_unknown_way)
{
  Mat A;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, N, N, PETSC_DETERMINE, PETSC_DETERMINE));
  OK(PetscOptionsSetValue(NULL, "-mat_macko_halo", "bus"));
  OK(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ck_assert_int_eq(MatSetType(A, our_type(PARALLEL_TYPE)), PETSC_ERR_USER_INPUT);
  OK(PetscPopErrorHandler());
  OK(PetscOptionsClearValue(NULL, "-mat_macko_halo"));
  OK(MatDestroy(&A));
}
END_TEST

void add_halo_tests(TCase *t)
{
  tcase_add_loop_test(t, ways_of_exchange_agree, 0, 2 * PATTERNS * 3); /* one node, and nodes of 1 and 2 ranks */
  tcase_add_loop_test(t, large_halos_arrive, 0, 3);
  tcase_add_test(t, refuses_an_unknown_way);
}

#endif
