/* Times an iteration of conjugate gradients with Jacobi on a box of points, for several matrix types, to show how a solver scales
 * over ranks or GPUs. Points are numbered plane by plane and shared evenly, so that each rank has a slab of the box.
 * usage: [mpiexec -n N] scaling -points 7|27 -nx X -ny Y -nz Z -types aijcusparse,aijmacko [-its I] [PETSc options]
 * Prints ranks, points, type, microseconds an iteration (the least of five solves and the median) and the last residual norm.
 * compile: mpicc scaling.c $(pkg-config --cflags --libs macko-petsc) -o scaling */
#include <petscksp.h>
#include <petscmacko.h>

enum { SOLVES = 5 };

typedef struct {
  PetscInt points, nx, ny, nz, its;
} box;

/* The row of a point: diagonal 6 or 26, -1 for each neighbour. Returns how many entries there are. */
static PetscInt Row(const box *b, PetscInt row, PetscInt cols[27], PetscScalar values[27])
{
  PetscInt x = row % b->nx, y = row / b->nx % b->ny, z = row / b->nx / b->ny, count = 0;

  for (PetscInt k = PetscMax(z - 1, 0); k <= PetscMin(z + 1, b->nz - 1); k++)
    for (PetscInt j = PetscMax(y - 1, 0); j <= PetscMin(y + 1, b->ny - 1); j++)
      for (PetscInt i = PetscMax(x - 1, 0); i <= PetscMin(x + 1, b->nx - 1); i++) {
        PetscInt apart = PetscAbsInt(i - x) + PetscAbsInt(j - y) + PetscAbsInt(k - z);
        if (b->points == 7 && apart > 1) continue;
        values[count] = apart ? -1 : b->points - 1;
        cols[count++] = (k * b->ny + j) * b->nx + i;
      }
  return count;
}

/* An assembled AIJ matrix. Entries are counted first, as a rank may end anywhere in a plane, or have less than one. */
static PetscErrorCode Assemble(const box *b, Mat *A)
{
  PetscInt    first, last, local = PETSC_DECIDE, n = b->nx * b->ny * b->nz, *own, *elsewhere, cols[27], count;
  PetscScalar values[27];

  PetscFunctionBegin;
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &local, &n));
  PetscCallMPI(MPI_Scan(&local, &last, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  first = last - local;
  PetscCall(PetscCalloc2(local, &own, local, &elsewhere));
  for (PetscInt row = first; row < last; row++) {
    count = Row(b, row, cols, values);
    for (PetscInt k = 0; k < count; k++) (cols[k] >= first && cols[k] < last ? own : elsewhere)[row - first]++;
  }
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, local, local, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 0, own));
  PetscCall(MatMPIAIJSetPreallocation(*A, 0, own, 0, elsewhere));
  PetscCall(PetscFree2(own, elsewhere));
  for (PetscInt row = first; row < last; row++) {
    count = Row(b, row, cols, values);
    PetscCall(MatSetValues(*A, 1, &row, count, cols, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* Seconds of the slowest rank for its iterations; the norm of the result waits for a GPU. */
static PetscErrorCode Solve(KSP ksp, Vec b, Vec x, PetscInt its, PetscReal *seconds)
{
  PetscLogDouble start, end;
  PetscReal      norm, mine;

  PetscFunctionBegin;
  PetscCall(KSPSetTolerances(ksp, 0, 0, PETSC_DEFAULT, its));
  PetscCall(VecNorm(b, NORM_2, &norm));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  PetscCall(PetscTime(&start));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(PetscTime(&end));
  mine = end - start;
  PetscCallMPI(MPI_Allreduce(&mine, seconds, 1, MPIU_REAL, MPIU_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

static PetscErrorCode Measure(const box *b, const char *type, Mat plain)
{
  Mat         A;
  Vec         rhs, x, r;
  KSP         ksp;
  PC          pc;
  PetscReal   seconds[SOLVES], norm;
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCall(MatConvert(plain, type, MAT_INITIAL_MATRIX, &A));
  PetscCall(MatCreateVecs(A, &x, &rhs));
  PetscCall(VecSet(rhs, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_NONE));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCJACOBI));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, rhs, x, 10, seconds)); /* copies to the GPU, encodes */
  for (int i = 0; i < SOLVES; i++) PetscCall(Solve(ksp, rhs, x, b->its, &seconds[i]));
  PetscCall(PetscSortReal(SOLVES, seconds));
  PetscCall(VecDuplicate(rhs, &r));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1, rhs));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d %" PetscInt_FMT " %s %.1f %.1f %.3e\n", ranks, b->points, type,
                        1e6 * seconds[0] / b->its, 1e6 * seconds[SOLVES / 2] / b->its, norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&rhs));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  box       b = {7, 20, 20, 20, 50};
  char     *types[8];
  PetscInt  count = 8;
  PetscBool given;
  Mat       plain;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatMackoInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &b.points, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nx", &b.nx, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-ny", &b.ny, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-nz", &b.nz, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-its", &b.its, NULL));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-types", types, &count, &given));
  PetscCheck(given && (b.points == 7 || b.points == 27) && b.its > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
             "usage: scaling -points 7|27 -nx X -ny Y -nz Z -types TYPE,TYPE [-its I]");
  PetscCall(Assemble(&b, &plain));
  for (PetscInt i = 0; i < count; i++) {
    PetscCall(Measure(&b, types[i], plain));
    PetscCall(PetscFree(types[i]));
  }
  PetscCall(MatDestroy(&plain));
  PetscCall(PetscFinalize());
  return 0;
}
