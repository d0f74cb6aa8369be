#include "petsc_common.h"

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
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, path, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatView(source, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
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

/* ---- comparison with plain AIJ ---- */

typedef PetscErrorCode product(Mat, Vec, Vec, Vec);

static PetscErrorCode forward(Mat A, Vec x, Vec y, Vec z)
{
  (void)y;
  return MatMult(A, x, z);
}

static PetscErrorCode transpose(Mat A, Vec x, Vec y, Vec z)
{
  (void)y;
  return MatMultTranspose(A, x, z);
}

/* Entries replaced by their absolute values, or by ones. */
static PetscErrorCode replaced(Mat P, PetscBool ones, Mat *R)
{
  Mat          blocks[2] = {NULL, NULL};
  PetscBool    mpi;
  PetscScalar *a;
  MatInfo      info;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(P, MAT_COPY_VALUES, R));
  PetscCall(PetscObjectTypeCompare((PetscObject)*R, MATMPIAIJ, &mpi));
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(*R, &blocks[0], &blocks[1], NULL));
  else blocks[0] = *R;
  for (int b = 0; b < 2 && blocks[b]; b++) {
    PetscCall(MatGetInfo(blocks[b], MAT_LOCAL, &info));
    PetscCall(MatSeqAIJGetArray(blocks[b], &a));
    for (PetscInt k = 0; k < (PetscInt)info.nz_used; k++) a[k] = ones ? 1 : PetscAbsScalar(a[k]);
    PetscCall(MatSeqAIJRestoreArray(blocks[b], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* gamma(m) = m u / (1 - m u). Each of the two results is within gamma(n) S of the exact one, n the terms of the row; with the
   roundings of S = |A||x| + |y| itself that is at most gamma(2 n + 1) S between them. */
static double gamma_of(double m)
{
  double mu = m * PETSC_MACHINE_EPSILON / 2;
  return mu / (1 - mu);
}

/* For one vector x: the terms of each row of op(A) x, and (|A||x|) */
typedef struct {
  Vec counts, sums;
} bound;

static bound make_bound(Mat absolute, Mat ones, product *op, Vec x, Vec z)
{
  bound b;
  Vec   ax;
  OK(VecDuplicate(z, &b.counts));
  OK(VecDuplicate(z, &b.sums));
  OK(VecDuplicate(x, &ax));
  OK(VecSet(ax, 1));
  OK((*op)(ones, ax, NULL, b.counts));
  OK(VecCopy(x, ax));
  OK(VecAbs(ax));
  OK((*op)(absolute, ax, NULL, b.sums));
  OK(VecDestroy(&ax));
  return b;
}

static void free_bound(bound *b)
{
  OK(VecDestroy(&b->counts));
  OK(VecDestroy(&b->sums));
}

double stored_unit = 0;

/* The largest |z - reference| / bound over all ranks; enormous where the bound is 0 and the difference is not, or for a NaN.
   y is what was added to the product, or NULL. */
static double excess(const bound *b, Vec y, Vec z, Vec reference)
{
  const PetscScalar *za, *ra, *sa, *ca, *ya = NULL;
  PetscInt           n;
  double             mine = 0, worst;
  OK(VecGetLocalSize(z, &n));
  OK(VecGetArrayRead(z, &za));
  OK(VecGetArrayRead(reference, &ra));
  OK(VecGetArrayRead(b->sums, &sa));
  OK(VecGetArrayRead(b->counts, &ca));
  if (y) OK(VecGetArrayRead(y, &ya));
  for (PetscInt i = 0; i < n; i++) {
    double size       = PetscRealPart(sa[i]) + (y ? PetscAbsScalar(ya[i]) : 0);
    double allowed    = (gamma_of(2 * (PetscRealPart(ca[i]) + 3 + ranks()) + 1) + stored_unit) * size;
    double difference = PetscAbsScalar(za[i] - ra[i]);
    if (difference <= allowed) mine = PetscMax(mine, allowed > 0 ? difference / allowed : 0);
    else mine = allowed > 0 && difference == difference ? PetscMax(mine, difference / allowed) : PETSC_MAX_REAL;
  }
  if (y) OK(VecRestoreArrayRead(y, &ya));
  OK(VecRestoreArrayRead(z, &za));
  OK(VecRestoreArrayRead(reference, &ra));
  OK(VecRestoreArrayRead(b->sums, &sa));
  OK(VecRestoreArrayRead(b->counts, &ca));
  MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
  return worst;
}

/* One product of both; y is added, or only of the right sizes, or the result's own place. */
typedef struct {
  const char *name;
  product    *op;
  int         adds, in_place;
} kind;

/* What differs, in room for it; or nothing. */
typedef char reason[200];

static void compare(Mat A, Mat P, kind k, const bound *b, Vec x, Vec y, reason why)
{
  Vec    mine, theirs;
  double worst;
  OK(VecDuplicate(y, &mine));
  OK(VecDuplicate(y, &theirs));
  OK(VecSet(mine, PETSC_MAX_REAL)); /* nothing of it may survive */
  if (k.in_place) OK(VecCopy(y, mine));
  OK((*k.op)(A, x, k.in_place ? mine : y, mine));
  OK((*k.op)(P, x, y, theirs));
  worst = excess(b, k.adds ? y : NULL, mine, theirs);
  if (!(worst <= 1))
    snprintf(why, sizeof(reason), "%s%s is off by %g times the bound", k.name, k.in_place ? " in place" : "", worst);
  OK(VecDestroy(&mine));
  OK(VecDestroy(&theirs));
}

static const kind forward_kinds[]   = {{"MatMult", forward, 0, 0},
                                       {"MatMultAdd", MatMultAdd, 1, 0},
                                       {"MatMultAdd", MatMultAdd, 1, 1}};
static const kind transpose_kinds[] = {{"MatMultTranspose", transpose, 0, 0},
                                       {"MatMultTransposeAdd", MatMultTransposeAdd, 1, 0},
                                       {"MatMultTransposeAdd", MatMultTransposeAdd, 1, 1}};

const char *difference_with(Mat A, Mat P, Mat like)
{
  static reason why;
  Mat         absolute, ones;
  Vec         right, left;
  PetscRandom random;
  bound       bounds[2];
  why[0] = 0;
  OK(MatCreateVecs(like, &right, &left));
  OK(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  OK(PetscRandomSetInterval(random, -1, 1));
  OK(VecSetRandom(right, random));
  OK(VecSetRandom(left, random));
  OK(replaced(P, PETSC_FALSE, &absolute));
  OK(replaced(P, PETSC_TRUE, &ones));
  bounds[0] = make_bound(absolute, ones, forward, right, left);
  bounds[1] = make_bound(absolute, ones, transpose, left, right);
  for (int i = 0; i < 3; i++) {
    compare(A, P, forward_kinds[i], &bounds[0], right, left, why);
    compare(A, P, transpose_kinds[i], &bounds[1], left, right, why);
  }
  free_bound(&bounds[0]);
  free_bound(&bounds[1]);
  OK(MatDestroy(&absolute));
  OK(MatDestroy(&ones));
  OK(PetscRandomDestroy(&random));
  OK(VecDestroy(&right));
  OK(VecDestroy(&left));
  return why[0] ? why : NULL;
}

const char *difference(Mat A, Mat P)
{
  return difference_with(A, P, A);
}

void assert_same_products(Mat A, Mat P, const char *when)
{
  const char *why = difference(A, P);
  ck_assert_msg(!why, "%s: %s", when, why);
}

/* ---- the program ---- */

int run_suite(int argc, char **argv, Suite *(*suite)(void), int cycles)
{
  int failed = 0;
  int there;
  MPI_Initialized(&there);
  if (!there) MPI_Init(&argc, &argv); /* PETSc would end MPI with its first cycle */
  for (int cycle = 0; cycle < cycles && !failed; cycle++) {
    if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
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
