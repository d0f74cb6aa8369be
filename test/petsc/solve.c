/* Solvers that know nothing of the type must take as many steps with it as with plain AIJ, whatever the preconditioner does with
 * the matrix: its diagonal, its blocks, its factors, products with it, or itself on coarser grids. */
#include "common.h"

#include <petscdmda.h>
#include <petscksp.h>

static const char *const preconditioners[] = {
  "-pc_type none",
  "-pc_type jacobi",
  "-pc_type bjacobi",
  "-pc_type bjacobi -sub_pc_type sor -sub_ksp_type gmres -sub_ksp_max_it 3 -ksp_type fgmres",
  "-pc_type bjacobi -sub_pc_type lu",
  "-pc_type asm -pc_asm_overlap 2",
  "-pc_type asm -sub_pc_type ilu -sub_pc_factor_levels 1",
  "-pc_type sor",
  "-pc_type gamg",
  "-pc_type gamg -pc_gamg_agg_nsmooths 0 -mg_levels_pc_type sor",
  "-pc_type mg -pc_mg_levels 3",
  "-pc_type mg -pc_mg_levels 3 -pc_mg_galerkin both",
  "-pc_type redundant -redundant_pc_type lu",
  "-pc_type redundant -redundant_pc_type ilu",
  "-ksp_type bicg -pc_type jacobi", /* transposed products */
  "-ksp_type cg -pc_type jacobi",
};
enum { PRECONDITIONERS = sizeof preconditioners / sizeof *preconditioners };

/* Convection and diffusion on a square grid; not symmetric unless the method needs it. */
static PetscErrorCode operators(KSP ksp, Mat J, Mat A, void *convection)
{
  DM            da;
  DMDALocalInfo grid;

  PetscFunctionBegin;
  (void)J;
  PetscCall(KSPGetDM(ksp, &da));
  PetscCall(DMDAGetLocalInfo(da, &grid));
  for (PetscInt y = grid.ys; y < grid.ys + grid.ym; y++)
    for (PetscInt x = grid.xs; x < grid.xs + grid.xm; x++) {
      const PetscScalar c = *(PetscScalar *)convection / (PetscScalar)grid.mx, v[5] = {4, -1 - c, -1 + c, -1, -1};
      MatStencil        row = {.i = x, .j = y}, cols[5] = {row, row, row, row, row};
      cols[1].i--, cols[2].i++, cols[3].j--, cols[4].j++;
      for (int k = 0; k < 5; k++) {
        if (cols[k].i < 0 || cols[k].j < 0 || cols[k].i >= grid.mx || cols[k].j >= grid.my) continue;
        PetscCall(MatSetValuesStencil(A, 1, &row, 1, &cols[k], &v[k], INSERT_VALUES));
      }
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode right_hand_side(KSP ksp, Vec b, void *context)
{
  PetscFunctionBegin;
  (void)ksp, (void)context;
  PetscCall(VecSet(b, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt           steps;
  KSPConvergedReason reason;
  PetscReal          residual;
} outcome;

static outcome solve(const char *type, PetscScalar convection)
{
  outcome o;
  DM      da;
  KSP     ksp;
  Mat     A;
  OK(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 25, 25, PETSC_DECIDE, PETSC_DECIDE, 1,
                  1, NULL, NULL, &da));
  OK(DMSetMatType(da, type));
  OK(DMSetUp(da));
  OK(KSPCreate(PETSC_COMM_WORLD, &ksp));
  OK(KSPSetDM(ksp, da));
  OK(KSPSetComputeOperators(ksp, operators, &convection));
  OK(KSPSetComputeRHS(ksp, right_hand_side, NULL));
  OK(KSPSetFromOptions(ksp));
  OK(KSPSolve(ksp, NULL, NULL));
  OK(KSPGetIterationNumber(ksp, &o.steps));
  OK(KSPGetConvergedReason(ksp, &o.reason));
  OK(KSPGetResidualNorm(ksp, &o.residual));
  OK(KSPGetOperators(ksp, &A, NULL));
  if (type[3]) assert_ours(A, "after the solve"); /* the type that is not just "aij" */
  OK(KSPDestroy(&ksp));
  OK(DMDestroy(&da));
  return o;
}

START_TEST(solvers_take_as_many_steps)
{
  const char *o = preconditioners[_i];
  PetscBool   symmetric;
  OK(PetscOptionsInsertString(NULL, o));
  OK(PetscStrbeginswith(o, "-ksp_type cg", &symmetric));
  outcome plain = solve(MATAIJ, symmetric ? 0 : 2), ours = solve(MATAIJMACKO, symmetric ? 0 : 2);
  OK(clear_options());
  ck_assert_msg(plain.steps == ours.steps && plain.reason == ours.reason, "%s: %d steps, reason %d; plain AIJ %d, reason %d", o,
                (int)ours.steps, (int)ours.reason, (int)plain.steps, (int)plain.reason);
  ck_assert_msg(plain.reason > 0, "%s: plain AIJ does not converge", o);
}
END_TEST

/* What a program and -ksp_view do with a matrix that is its own factor afterwards. */
static Mat factored_in_place(const char *type)
{
  Mat           A;
  MatFactorInfo info;
  IS            rows, cols;
  PetscViewer   nowhere;
  OK(make_matrix(PREALLOCATED, type, 40, 40, 1, &A));
  OK(MatFactorInfoInitialize(&info));
  OK(MatGetOrdering(A, MATORDERINGND, &rows, &cols));
  OK(MatLUFactor(A, rows, cols, &info));
  OK(PetscViewerASCIIOpen(PETSC_COMM_WORLD, "/dev/null", &nowhere));
  OK(PetscViewerPushFormat(nowhere, PETSC_VIEWER_ASCII_INFO));
  OK(MatView(A, nowhere));
  OK(PetscViewerDestroy(&nowhere));
  OK(MatSetFromOptions(A));
  OK(MatBindToCPU(A, PETSC_TRUE));
  OK(MatBindToCPU(A, PETSC_FALSE));
  OK(ISDestroy(&rows));
  OK(ISDestroy(&cols));
  return A;
}

/* Its products then are AIJ's, which crash no more than those of a plain matrix do. What they come to is not compared: AIJ takes
   the rows of a factor for those of a matrix. */
static void products_once_unfactored(Mat A, Vec x, Vec y)
{
  OK(MatSetUnfactored(A));
  OK(MatMult(A, x, y));
  OK(MatMultTranspose(A, x, y));
  OK(MatMultAdd(A, x, x, y));
  OK(MatMultTransposeAdd(A, x, x, y));
}

/* AIJ itself does so on one rank only. */
START_TEST(factors_in_place)
{
  Mat       A, P;
  Vec       b, x, y;
  PetscBool same;
  if (ranks() > 1) return;
  A = factored_in_place(MATAIJMACKO);
  P = factored_in_place(MATAIJ);
  OK(VecCreateSeq(PETSC_COMM_SELF, 40, &b));
  OK(VecDuplicate(b, &x));
  OK(VecDuplicate(b, &y));
  OK(VecSet(b, 1));
  OK(MatSolve(A, b, x));
  OK(MatSolve(P, b, y));
  OK(VecEqual(x, y, &same));
  ck_assert_msg(same, "another solution than with plain AIJ");
  products_once_unfactored(A, b, y);
  products_once_unfactored(P, b, y);
  OK(VecDestroy(&b));
  OK(VecDestroy(&x));
  OK(VecDestroy(&y));
  DESTROY(&A, &P);
}
END_TEST

static Suite *solve_suite(void)
{
  Suite *s = suite_create("PETSc's solvers");
  TCase *t = tcase_create("solve");
  tcase_add_loop_test(t, solvers_take_as_many_steps, 0, PRECONDITIONERS);
  tcase_add_test(t, factors_in_place);
  suite_add_tcase(s, t);
  return s;
}

int main(int argc, char **argv)
{
  return run_suite(argc, argv, solve_suite, 1);
}
