/* SLEPc, which knows nothing of the types, must find the same eigenvalues, with aijmacko in as many steps. */
#include "common.h"

#include <slepceps.h>
#include <slepcsvd.h>

enum { N = 60, WANTED = 3 };

static const char *const methods[] = {
  "-eps_type krylovschur",
  "-eps_type krylovschur -eps_target 0 -eps_target_magnitude -st_type sinvert -st_ksp_type gmres -st_pc_type jacobi "
  "-st_ksp_rtol 1e-12",
  "-eps_type arnoldi",
  "-eps_type lobpcg -eps_smallest_real -st_ksp_type preonly -st_pc_type jacobi",
};

/* Symmetric: the one-dimensional Laplacian with a varying diagonal. */
static Mat laplacian(const char *type)
{
  Mat      A;
  PetscInt begin, end;
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, N, N));
  OK(MatSetType(A, type));
  OK(MatSetUp(A));
  OK(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = PetscMax(i - 1, 0); j <= PetscMin(i + 1, N - 1); j++)
      OK(MatSetValue(A, i, j, i == j ? 2 + (PetscScalar)i / N : -1, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

static PetscInt eigenvalues(Mat A, PetscScalar values[WANTED])
{
  EPS      eps;
  PetscInt steps, found;
  OK(EPSCreate(PETSC_COMM_WORLD, &eps));
  OK(EPSSetOperators(eps, A, NULL));
  OK(EPSSetProblemType(eps, EPS_HEP));
  OK(EPSSetDimensions(eps, WANTED, PETSC_DEFAULT, PETSC_DEFAULT));
  OK(EPSSetFromOptions(eps));
  OK(EPSSolve(eps));
  OK(EPSGetConverged(eps, &found));
  ck_assert_msg(found >= WANTED, "%d eigenvalues found", (int)found);
  for (PetscInt i = 0; i < WANTED; i++) OK(EPSGetEigenvalue(eps, i, &values[i], NULL));
  OK(EPSGetIterationNumber(eps, &steps));
  OK(EPSDestroy(&eps));
  return steps;
}

START_TEST(eigenvalues_agree)
{
  Mat         P = laplacian(MATAIJ), A = laplacian(MATAIJMACKO);
  PetscScalar plain[WANTED], ours[WANTED];
  VecType     vectors;
  PetscBool   on_host;
  OK(MatGetVecType(A, &vectors)); /* those on a GPU get other random numbers to begin with */
  OK(MatSetVecType(P, vectors));
  OK(PetscStrcmp(vectors, VECSTANDARD, &on_host)); /* a GPU adds in another order, after which a solver may take other steps */
  OK(PetscOptionsInsertString(NULL, methods[_i]));
  PetscInt plain_steps = eigenvalues(P, plain), our_steps = eigenvalues(A, ours);
  OK(clear_options());
  ck_assert_msg(plain_steps == our_steps || !on_host, "%s: %d steps, plain AIJ %d", methods[_i], (int)our_steps, (int)plain_steps);
  for (int i = 0; i < WANTED; i++) /* both are within SLEPc's default tolerance of the eigenvalue */
    ck_assert_msg(PetscAbsScalar(plain[i] - ours[i]) <= 2e-8 * PetscAbsScalar(plain[i]),
                  "%s: eigenvalue %d is %.17g, plain AIJ %.17g", methods[_i], i, (double)PetscRealPart(ours[i]),
                  (double)PetscRealPart(plain[i]));
  assert_ours(A, "after the solve");
  DESTROY(&A, &P);
}
END_TEST

/* SLEPc asks whether type macko has submatrices before it takes all of a matrix to each rank, and does without. */
START_TEST(dense_solver_of_a_compressed_matrix)
{
  Mat         P = laplacian(MATAIJ), A = laplacian(MATMACKO);
  PetscScalar plain[WANTED], ours[WANTED];
  OK(PetscOptionsSetValue(NULL, "-eps_type", "lapack"));
  eigenvalues(P, plain), eigenvalues(A, ours);
  OK(clear_options());
  for (int i = 0; i < WANTED; i++)
    ck_assert_msg(PetscAbsScalar(plain[i] - ours[i]) <= 1e-12 * PetscAbsScalar(plain[i]), "eigenvalue %d is %.17g, not %.17g", i,
                  (double)PetscRealPart(ours[i]), (double)PetscRealPart(plain[i]));
  DESTROY(&A, &P);
}
END_TEST

static PetscReal largest_singular_value(Mat A)
{
  SVD       svd;
  PetscReal sigma;
  PetscInt  found;
  OK(SVDCreate(PETSC_COMM_WORLD, &svd));
  OK(SVDSetOperators(svd, A, NULL));
  OK(SVDSolve(svd));
  OK(SVDGetConverged(svd, &found));
  ck_assert_msg(found > 0, "no singular value found");
  OK(SVDGetSingularTriplet(svd, 0, &sigma, NULL, NULL));
  OK(SVDDestroy(&svd));
  return sigma;
}

/* It also asks whether the type has a transpose of its own, and multiplies with the transpose. */
START_TEST(singular_values_of_a_compressed_matrix)
{
  Mat       P = laplacian(MATAIJ), A = laplacian(MATMACKO);
  PetscReal plain = largest_singular_value(P), ours = largest_singular_value(A);
  ck_assert_msg(PetscAbsReal(plain - ours) <= 2e-8 * plain, "singular value %.17g, not %.17g", (double)ours, (double)plain);
  DESTROY(&A, &P);
}
END_TEST

static void start(void)
{
  OK(SlepcInitializeNoArguments());
}

static void stop(void)
{
  OK(SlepcFinalize());
}

static Suite *eigen_suite(void)
{
  Suite *s = suite_create("SLEPc's solvers");
  TCase *t = tcase_create("eigenvalues");
  tcase_add_checked_fixture(t, start, stop);
  tcase_add_loop_test(t, eigenvalues_agree, 0, sizeof methods / sizeof *methods);
  tcase_add_test(t, dense_solver_of_a_compressed_matrix);
  tcase_add_test(t, singular_values_of_a_compressed_matrix);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, eigen_suite, 1);
}
