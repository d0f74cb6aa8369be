/* GMRES through PETSc on a compressed matrix: reads a file, solves A x = A * ones, prints iterations and error.
 * usage: gmres MATRIX [PETSc options]; one process */
#include <petscksp.h>
#include <macko.h>
#include <petscmacko.h>

int main(int argc, char **argv)
{
  macko_csr   csr;
  macko_error err;
  Mat         A;
  Vec         x, b;
  KSP         ksp;
  PetscInt    iterations;
  PetscReal   error;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatMackoInitializePackage());
  PetscCheck(argc > 1, PETSC_COMM_SELF, PETSC_ERR_USER, "usage: gmres MATRIX [PETSc options]");
  PetscCheck(!macko_read(argv[1], NULL, &csr, NULL, &err), PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "%s", err.text);
  PetscCheck(csr.row_ptr_type == MACKO_I32 && sizeof(PetscInt) == 4, PETSC_COMM_SELF, PETSC_ERR_SUP, "32-bit indices only");

  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, (PetscInt)csr.nrows, (PetscInt)csr.ncols, (PetscInt)csr.nrows, (PetscInt)csr.ncols));
  PetscCall(MatSetType(A, MATAIJMACKO)); /* the only line that differs from a plain AIJ program */
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocationCSR(A, csr.row_ptr, csr.cols, csr.values));
  macko_free_csr(&csr);

  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, b)); /* the first product compresses the matrix */
  PetscCall(VecSet(x, 0));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));

  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecShift(x, -1));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%d iterations, largest error %.2g\n", (int)iterations, (double)error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
