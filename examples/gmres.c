/* Solves A x = A * ones by GMRES through PETSc, with a matrix that is read from a file and stored compressed, and prints how many
 * iterations that took and how far x is from ones.
 * usage: [mpiexec -n N] gmres MATRIX [PETSc options]
 * compile: mpicc gmres.c $(pkg-config --cflags --libs macko-petsc) -o gmres */
#include <petscksp.h>
#include <macko.h>
#include <petscmacko.h>

/* The arrays of a macko_csr hold 32- or 64-bit integers. */
static PetscInt At(macko_type type, const void *array, int64_t i)
{
  return (PetscInt)(type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i]);
}

/* Every rank reads the file and keeps its own rows. */
static PetscErrorCode Load(const char *path, Mat *A)
{
  macko_csr   csr;
  macko_error err;
  PetscLayout layout;
  PetscInt    first, last, begin, *rows, *cols;

  PetscFunctionBegin;
  PetscCheck(!macko_read(path, NULL, &csr, NULL, &err), PETSC_COMM_WORLD, PETSC_ERR_FILE_READ, "%s", err.text);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, (PetscInt)csr.nrows, (PetscInt)csr.ncols));
  PetscCall(MatSetType(*A, MATAIJMACKO)); /* the only line that differs from a plain AIJ program */
  PetscCall(MatSetFromOptions(*A));
  PetscCall(MatGetLayouts(*A, &layout, NULL));
  PetscCall(PetscLayoutSetUp(layout));
  PetscCall(PetscLayoutGetRange(layout, &first, &last));
  begin = At(csr.row_ptr_type, csr.row_ptr, first);
  PetscInt count = At(csr.row_ptr_type, csr.row_ptr, last) - begin;
  PetscCall(PetscMalloc2(count, &rows, count, &cols));
  for (PetscInt i = first, k = 0; i < last; i++)
    for (; k < At(csr.row_ptr_type, csr.row_ptr, i + 1) - begin; k++) rows[k] = i, cols[k] = At(csr.col_type, csr.cols,
                                                                                                begin + k);
  PetscCall(MatSetPreallocationCOO(*A, count, rows, cols));
  PetscCall(MatSetValuesCOO(*A, (const double *)csr.values + begin, INSERT_VALUES));
  PetscCall(PetscFree2(rows, cols));
  macko_free_csr(&csr);
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Mat       A;
  Vec       x, b;
  KSP       ksp;
  PetscInt  iterations;
  PetscReal error;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatMackoInitializePackage());
  PetscCheck(argc > 1, PETSC_COMM_WORLD, PETSC_ERR_USER, "usage: gmres MATRIX [PETSc options]");
  PetscCall(Load(argv[1], &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, b)); /* after some such products the matrix is compressed */
  PetscCall(VecSet(x, 0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));

  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecShift(x, -1));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d iterations, largest error %.2g\n", (int)iterations, (double)error));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
