#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *const way_names[WAYS] = {"preallocated", "not preallocated", "loaded", "COO"};

int everywhere(int condition)
{
  int all = 0;
  MPI_Allreduce(&condition, &all, 1, MPI_INT, MPI_LAND, PETSC_COMM_WORLD);
  return all;
}

int ranks(void)
{
  PetscMPIInt size;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return size;
}

const char *our_type(type_choice choice)
{
  return choice == ROOT_TYPE ? MATAIJMACKO : MATMPIAIJMACKO;
}

const char *plain_type(type_choice choice)
{
  return choice == ROOT_TYPE ? MATAIJ : MATMPIAIJ;
}

int entry(PetscInt i, PetscInt j, unsigned seed, PetscScalar *value)
{
  unsigned h = ((unsigned)i * 2654435761u) ^ ((unsigned)j * 2246822519u) ^ (seed * 3266489917u);
  h ^= h >> 15, h *= 2246822519u, h ^= h >> 13;
  *value = (PetscScalar)(h % 20011) / 10000 - 1;
  if (i == j) *value += 4;
  return i == j || (i % 7 != 3 && (h >> 7) % 6 == 0);
}

/* The rank that sets an entry: mostly, but not always, the owner of its row. */
static int setter(PetscInt i, PetscInt j, PetscMPIInt owner, PetscMPIInt size)
{
  return (i + j) % 3 == 0 ? (owner + 1) % size : owner;
}

static PetscMPIInt owner_of(PetscInt i, const PetscInt *ranges)
{
  PetscMPIInt owner = 0;
  while (i >= ranges[owner + 1]) owner++;
  return owner;
}

/* This rank's share of the entries, as coordinates. */
static PetscErrorCode share(Mat A, unsigned seed, PetscInt *count, PetscInt **is, PetscInt **js, PetscScalar **vs)
{
  PetscInt        rows, cols, n = 0;
  PetscMPIInt     rank, size;
  const PetscInt *ranges;
  PetscScalar     v;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(MatGetSize(A, &rows, &cols));
  PetscCall(MatGetOwnershipRanges(A, &ranges));
  PetscCall(PetscMalloc3(rows * cols, is, rows * cols, js, rows * cols, vs));
  for (PetscInt i = 0; i < rows; i++)
    for (PetscInt j = 0; j < cols; j++)
      if (entry(i, j, seed, &v) && setter(i, j, owner_of(i, ranges), size) == rank) {
        (*is)[n] = i, (*js)[n] = j;
        (*vs)[n++] = v;
      }
  *count = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(Mat A, way how, unsigned seed)
{
  PetscInt     n, *is, *js;
  PetscScalar *vs;

  PetscFunctionBegin;
  PetscCall(share(A, seed, &n, &is, &js, &vs));
  if (how == COO) {
    PetscCall(MatSetPreallocationCOO(A, n, is, js));
    PetscCall(MatSetValuesCOO(A, vs, INSERT_VALUES));
  } else {
    for (PetscInt k = 0; k < n; k++) PetscCall(MatSetValue(A, is[k], js[k], vs[k], INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PetscFree3(is, js, vs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode write_matrix(Mat A, const char *path)
{
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Through a file of its own that is gone afterwards. */
PetscErrorCode load_matrix(Mat A, PetscInt rows, PetscInt cols, unsigned seed)
{
  char        path[64];
  int         id = (int)getpid();
  Mat         source;
  PetscMPIInt rank;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Bcast(&id, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  snprintf(path, sizeof path, "petsc_matrix_%d.bin", id);
  PetscCall(make_matrix(PREALLOCATED, MATAIJ, rows, cols, seed, &source));
  PetscCall(write_matrix(source, path));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatDestroy(&source));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  if (!rank) unlink(path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode make_matrix(way how, const char *type, PetscInt rows, PetscInt cols, unsigned seed, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, rows, cols));
  PetscCall(MatSetType(*A, type));
  if (how == LOADED) {
    PetscCall(load_matrix(*A, rows, cols, seed));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (how == PREALLOCATED) {
    PetscCall(MatSeqAIJSetPreallocation(*A, cols, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, cols, NULL, cols, NULL));
  } else {
    PetscCall(MatSetUp(*A));
  }
  PetscCall(fill(*A, how, seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode make_pair(way how, type_choice type, PetscInt rows, PetscInt cols, unsigned seed, Mat *A, Mat *P)
{
  PetscFunctionBegin;
  PetscCall(make_matrix(how, our_type(type), rows, cols, seed, A));
  PetscCall(make_matrix(how, plain_type(type), rows, cols, seed, P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode make_dense(const char *type, PetscInt m, PetscInt n, PetscInt rows, PetscInt cols, Mat *B)
{
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, B));
  PetscCall(MatSetSizes(*B, m, n, rows, cols));
  PetscCall(MatSetType(*B, type));
  PetscCall(MatSetUp(*B));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(MatSetRandom(*B, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void destroy_matrices(Mat *const matrices[])
{
  for (; *matrices; matrices++) OK(MatDestroy(*matrices));
}

static const char *type_of(Mat A)
{
  MatType type;
  return MatGetType(A, &type) ? "?" : type;
}

void assert_ours(Mat A, const char *when)
{
  PetscBool seq, mpi, block;
  Mat       blocks[2];
  OK(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJMACKO, &seq));
  OK(PetscObjectTypeCompare((PetscObject)A, MATMPIAIJMACKO, &mpi));
  ASSERT_ALL(seq || mpi, "%s: the matrix is of type %s", when, type_of(A));
  if (!mpi) return;
  OK(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2; i++) {
    OK(PetscObjectTypeCompare((PetscObject)blocks[i], MATSEQAIJMACKO, &block));
    ASSERT_ALL(block, "%s: block %d is of type %s", when, i, type_of(blocks[i]));
  }
}

PetscErrorCode clear_options(void)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(PetscOptionsSetValue(NULL, "-mat_macko_after", "0"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

KSP new_solver(Mat A, Mat P, const char *method, const char *preconditioner)
{
  KSP ksp;
  PC  pc;
  OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  OK(KSPSetOperators(ksp, A, P));
  OK(KSPSetType(ksp, method));
  OK(KSPGetPC(ksp, &pc));
  OK(PCSetType(pc, preconditioner));
  return ksp;
}

/* ---- the program ---- */

int run_suite(int argc, char **argv, Suite *(*suite)(void), int cycles)
{
  int failed = 0;
  int there;
  MPI_Initialized(&there);
  if (!there) MPI_Init(&argc, &argv); /* PETSc would end MPI with its first cycle */
  for (int cycle = 0; cycle < cycles && !failed; cycle++) {
    if (PetscInitialize(&argc, &argv, NULL, NULL) || PetscOptionsSetValue(NULL, "-mat_macko_after", "0")) return 1;
    if (MatMackoInitializePackage() || MatMackoInitializePackage()) return 1;
    SRunner *runner = srunner_create(suite());
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    failed = !everywhere(srunner_ntests_failed(runner) == 0);
    srunner_free(runner);
    if (PetscFinalize()) return 1;
  }
  MPI_Finalize();
  return failed;
}
