/* A PETSc program like any other, which has never heard of macko: A x = b with the matrix type and solver of the command line.
 * Built with OTHER_VERSION it claims to run on another minor version of PETSc, with OTHER_INDICES on indices of another width. */
#ifdef OTHER_INDICES
#define _GNU_SOURCE
#include <dlfcn.h>
#endif
#include <petscksp.h>

#ifdef OTHER_VERSION
PetscErrorCode PetscGetVersionNumber(PetscInt *major, PetscInt *minor, PetscInt *subminor, PetscInt *release)
{
  if (major) *major = PETSC_VERSION_MAJOR;
  if (minor) *minor = PETSC_VERSION_MINOR + 1;
  if (subminor) *subminor = 0;
  if (release) *release = 1;
  return 0;
}
#endif

#ifdef OTHER_INDICES
PetscErrorCode PetscDataTypeGetSize(PetscDataType type, size_t *size)
{
  PetscErrorCode (*petsc)(PetscDataType, size_t *), ierr;
  *(void **)&petsc = dlsym(RTLD_NEXT, "PetscDataTypeGetSize");
  ierr = petsc(type, size);
  if (type == PETSC_INT) *size = 12 - *size;
  return ierr;
}
#endif

int main(int argc, char **argv)
{
  Mat      A;
  Vec      x, b;
  KSP      ksp;
  PetscInt begin, end, n = 30, steps;

  if (PetscInitialize(&argc, &argv, NULL, NULL)) return 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, 5, NULL, 5, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (int pass = 0; pass < 2; pass++) { /* twice, for a solve with new values */
    for (PetscInt i = begin; i < end; i++) {
      PetscCall(MatSetValue(A, i, i, 4 + pass, INSERT_VALUES));
      if (i % n > 0) PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES));
      if (i % n < n - 1) PetscCall(MatSetValue(A, i, i + 1, -1, INSERT_VALUES));
      if (i >= n) PetscCall(MatSetValue(A, i, i - n, -1, INSERT_VALUES));
      if (i < n * n - n) PetscCall(MatSetValue(A, i, i + n, -1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSet(b, 1));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &steps));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solve %d: %d steps\n", pass, (int)steps));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscCall(MatViewFromOptions(A, NULL, "-final_view"));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
