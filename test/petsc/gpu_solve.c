/* Solvers on a GPU, and matrices large enough to be encoded there. */
#include "gpu.h"

#include <petscksp.h>

#include <string.h>

#if defined(PETSC_HAVE_CUDA)
#include <malloc.h>

enum { EDGE = 40 };

/* The Laplacian on a cube, with 7 points. */
static Mat laplacian(const char *type, PetscInt edge)
{
  Mat      A;
  PetscInt low, high, last = edge - 1, steps[3] = {1, edge, edge * edge};
  OK(MatCreate(PETSC_COMM_WORLD, &A));
  OK(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, edge * edge * edge, edge * edge * edge));
  OK(MatSetType(A, type));
  OK(MatSetUp(A));
  OK(MatGetOwnershipRange(A, &low, &high));
  for (PetscInt i = low; i < high; i++) {
    PetscInt at[3] = {i % edge, i / edge % edge, i / edge / edge};
    OK(MatSetValue(A, i, i, 6, INSERT_VALUES));
    for (int d = 0; d < 3; d++) {
      if (at[d] > 0) OK(MatSetValue(A, i, i - steps[d], -1, INSERT_VALUES));
      if (at[d] < last) OK(MatSetValue(A, i, i + steps[d], -1, INSERT_VALUES));
    }
  }
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  return A;
}

typedef struct {
  PetscInt       steps;
  PetscLogDouble copies;                   /* GPU to CPU, of vectors, inside the second KSPSolve */
  PetscLogDouble flops, gpu_flops, counts; /* of our products, all levels */
} outcome;

static void product_log(outcome *o, int sign)
{
  PetscLogEvent      event;
  PetscEventPerfInfo info;
  if (PetscLogEventGetId("MatMackoMult", &event) || event < 0) return;
  OK(PetscLogEventGetPerfInfo(0, event, &info));
  o->flops += sign * info.flops, o->gpu_flops += sign * info.GpuFlops, o->counts += sign * info.count;
}

static outcome solve(const char *type, const char *options)
{
  outcome o = {0};
  KSP     ksp;
  Mat     A = laplacian(type, EDGE);
  Vec     x, b;
  OK(PetscOptionsInsertString(NULL, options));
  OK(MatCreateVecs(A, &x, &b));
  OK(VecSet(b, 1));
  OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  OK(KSPSetOperators(ksp, A, A));
  OK(KSPSetFromOptions(ksp));
  OK(KSPSolve(ksp, b, x));
  OK(VecSet(x, 0));
  product_log(&o, -1);
  o.copies = -petsc_gtoc_ct;
  OK(KSPSolve(ksp, b, x));
  o.copies += petsc_gtoc_ct;
  product_log(&o, 1);
  OK(KSPGetIterationNumber(ksp, &o.steps));
  OK(KSPDestroy(&ksp));
  OK(VecDestroy(&x));
  OK(VecDestroy(&b));
  OK(MatDestroy(&A));
  OK(clear_options());
  return o;
}

/* Row, slice and stencils, on the GPU. */
START_TEST(diagonals_agree)
{
  static const char *const options[] = {"-mat_macko_layout row", "-mat_macko_layout slice",
                                        "-mat_macko_layout slice -mat_macko_values dict"};
  Mat A, P;
  OK(PetscOptionsInsertString(NULL, options[_i]));
  A = laplacian(MATAIJMACKO, 9), P = laplacian(MATAIJ, 9);
  OK(MatSetValue(A, 3, 3, 7, INSERT_VALUES));
  OK(MatSetValue(P, 3, 3, 7, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyBegin(P, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(P, MAT_FINAL_ASSEMBLY));
  assert_same_diagonal(A, P, options[_i]);
  assert_same_products(A, P, options[_i]);
  OK(clear_options());
  DESTROY(&A, &P);
}
END_TEST

/* Every fifth entry of the diagonal, so that no 32 rows are a stencil. */
static void change_diagonal(Mat A)
{
  PetscInt low, high;
  OK(MatGetOwnershipRange(A, &low, &high));
  for (PetscInt i = low; i < high; i += 5) OK(MatSetValue(A, i, i, 7, INSERT_VALUES));
  OK(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  OK(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

/* A matrix large enough to be encoded on the GPU: new values there, products T and on the CPU from the form brought back.
 * Stencils; and codes for pairs of a gap and a value. */
START_TEST(encoded_on_the_gpu)
{
  if (_i) OK(PetscOptionsInsertString(NULL, "-mat_macko_format macko -mat_macko_layout slice -mat_macko_values pairs"));
  Mat A = laplacian(MATAIJMACKO, EDGE), P = laplacian(MATAIJ, EDGE);
  if (_i) change_diagonal(A), change_diagonal(P);
  assert_vectors(A, 1, "encoded");
  assert_same_products(A, P, "encoded");
  assert_same_diagonal(A, P, "encoded");
  for (int change = 0; change < 3; change++) {
    const char *when = change == 0 ? "scaled" : change == 1 ? "one entry changed" : "changed on the CPU";
    PetscInt    low, high;
    if (change == 2) OK(MatBindToCPU(A, PETSC_TRUE));
    for (int which = 0; which < 2; which++) {
      Mat M = which ? P : A;
      OK(MatGetOwnershipRange(M, &low, &high));
      if (change == 0) OK(MatScale(M, 1.0 / 3));
      else OK(MatSetValue(M, low + 7, low + 7, 5 + change, INSERT_VALUES));
      OK(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
      OK(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
    }
    assert_same_products(A, P, when);
    assert_same_diagonal(A, P, when);
    OK(MatBindToCPU(A, PETSC_TRUE));
    assert_same_products(A, P, when);
    OK(MatBindToCPU(A, PETSC_FALSE));
    assert_same_products(A, P, when);
  }
  OK(clear_options());
  DESTROY(&P, &A);
}
END_TEST

static const char *const methods[] = {
  "-ksp_type cg -pc_type jacobi",
  "-ksp_type gmres -pc_type jacobi",
  "-ksp_type bcgs -pc_type jacobi",
  "-ksp_type chebyshev -pc_type jacobi -ksp_max_it 30",
  "-ksp_type cg -pc_type gamg -mg_levels_pc_type jacobi",
};
enum { METHODS = sizeof methods / sizeof *methods };

/* The same with AIJCUSPARSE, which multiplies with products of which only the pattern is known: their values are what malloc gave,
 * and where these are ones in all bits, as of indices -1, that never ends. So memory is filled when it is taken and given back. */
static outcome solve_as_peer(const char *options)
{
  enum { FINITE = 0x40 }; /* eight of these bytes are a finite number, and eight of their complement */
  outcome o;
  ck_assert(mallopt(M_PERTURB, FINITE));
  o = solve(MATAIJCUSPARSE, options);
  ck_assert(mallopt(M_PERTURB, 0));
  return o;
}

/* The sums of a product are not in cuSPARSE's order, which BiCGStab feels. A direct solver on GAMG's coarsest grid runs on the
 * CPU and copies its right-hand side; all other copies aijcusparse has as well. */
START_TEST(solves_stay_on_the_gpu)
{
  OK(PetscLogDefaultBegin());
  outcome   ours = solve(MATAIJMACKO, methods[_i]), peer = solve_as_peer(methods[_i]);
  int       gamg = strstr(methods[_i], "gamg") != NULL, bcgs = strstr(methods[_i], "bcgs") != NULL;
  PetscInt  apart = ours.steps > peer.steps ? ours.steps - peer.steps : peer.steps - ours.steps;
  ASSERT_ALL(apart <= (bcgs ? peer.steps / 10 : 0), "%s: %d steps, aijcusparse %d", methods[_i], (int)ours.steps,
             (int)peer.steps);
  ASSERT_ALL(ours.counts > 0 && ours.flops == ours.gpu_flops, "%s: %g of %g operations of products ran on the GPU",
             methods[_i], ours.gpu_flops, ours.flops);
  ASSERT_ALL(ours.copies <= peer.copies + 4 * apart + (gamg ? ours.steps + 1 : 0), "%s: %g copies from the GPU, aijcusparse %g",
             methods[_i], ours.copies, peer.copies);
}
END_TEST

void add_solve_tests(TCase *t)
{
  tcase_add_loop_test(t, diagonals_agree, 0, 3);
  tcase_add_loop_test(t, encoded_on_the_gpu, 0, 2);
  tcase_add_loop_test(t, solves_stay_on_the_gpu, 0, METHODS);
}

#endif
