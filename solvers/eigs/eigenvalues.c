/* Eigenvalues with SLEPc's EPS. */
#include "eigs/eigenpairs.h"

#include <slepceps.h>
#include <stdio.h>
#include <string.h>

/* Says which eigenvalues were wanted, to go after "the" in the summary. SLEPc has the largest in magnitude where nothing is
   said. */
static const char *WhichInWords(EPSWhich which)
{
  switch (which) {
  case EPS_SMALLEST_MAGNITUDE: return "smallest in magnitude";
  case EPS_LARGEST_REAL: return "with the largest real part";
  case EPS_SMALLEST_REAL: return "with the smallest real part";
  case EPS_LARGEST_IMAGINARY: return "with the largest imaginary part";
  case EPS_SMALLEST_IMAGINARY: return "with the smallest imaginary part";
  case EPS_TARGET_MAGNITUDE: return "nearest the target";
  case EPS_TARGET_REAL: return "with the real part nearest the target";
  case EPS_TARGET_IMAGINARY: return "with the imaginary part nearest the target";
  case EPS_ALL: return "in the interval or region";
  default: return "largest in magnitude";
  }
}

/* SLEPc calls this monitor at every iteration; `watch` is the Watch. */
static PetscErrorCode WatchEPS(EPS eps, PetscInt its, PetscInt nconv, PetscScalar *re, PetscScalar *im, PetscReal *error,
                               PetscInt n, void *watch)
{
  PetscInt nev;
  (void)re, (void)im, (void)error, (void)n;

  PetscFunctionBegin;
  PetscCall(EPSGetDimensions(eps, &nev, NULL, NULL));
  PetscCall(PairsProgress((Watch *)watch, its, nconv, nev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tells SLEPc the matrices and what is known of them. A symmetric problem has real eigenvalues and is solved by Lanczos. With B,
   SLEPc's symmetric problem also supposes that B is positive definite, which is not checked here but shows in the residuals. */
static PetscErrorCode ProblemType(EPS eps, PetscBool symmetric, const Problem *a, const Problem *b)
{
  PetscFunctionBegin;
  if (b->A) PetscCall(EPSSetProblemType(eps, symmetric ? EPS_GHEP : EPS_GNHEP));
  else PetscCall(EPSSetProblemType(eps, symmetric ? EPS_HEP : EPS_NHEP));
  PetscCall(EPSSetOperators(eps, a->A, b->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes PETSc's own LU do. It does not pivot: too small a pivot is moved, and GMRES makes good what that spoils, in a few steps
   or not at all. It does not span ranks either, so that each of them factors the whole matrix. */
static PetscErrorCode FactorWithoutPivoting(KSP ksp, PC pc)
{
  PetscMPIInt ranks;
  KSP whole;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)ksp), &ranks));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  /* The eigenvalues can be no better than these solves. */
  PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 100));
  /* Each rank solves with a copy of the whole matrix, by PETSc's redundant preconditioner. */
  if (ranks > 1) {
    PetscCall(PCSetType(pc, PCREDUNDANT));
    PetscCall(PCRedundantGetKSP(pc, &whole));
    PetscCall(KSPGetPC(whole, &pc));
  }
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets up the solver inside shift-and-invert. It solves with A - target B, which may be as indefinite as can be: a factorization
   that pivots is wanted, the first of a list that this PETSc has. Nothing is changed where the user chose, where the matrix type
   knows no LU, or where the method's own preconditioner or Cholesky's inertia is needed. */
static PetscErrorCode ChooseFactorization(Mat A, ST st)
{
  static const char *const chosen[] = {"-st_pc_type", "-st_ksp_type", "-st_ksp_rtol", "-st_ksp_max_it",
                                       "-st_pc_factor_mat_solver_type", "-eps_interval"};
  static const MatSolverType pivoting[] = {MATSOLVERMUMPS, MATSOLVERSUPERLU, MATSOLVERUMFPACK, MATSOLVERKLU};
  PetscBool given, solves, aij, available = PETSC_FALSE;
  size_t i;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  /* Any of these options means that the user has a solver in mind, which half of another choice would spoil. */
  for (i = 0; i < sizeof chosen / sizeof *chosen; i++) {
    PetscCall(PetscOptionsHasName(NULL, NULL, chosen[i], &given));
    if (given) PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* Only these transformations solve with a matrix, and of our types only those that are AIJ as well can be factored. */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)st, &solves, STSINVERT, STCAYLEY, STSHIFT, ""));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
  if (!solves || !aij) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(STGetKSP(st, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  /* The loop goes one step beyond the one that is available. */
  for (i = 0; i < sizeof pivoting / sizeof *pivoting && !available; i++)
    PetscCall(MatGetFactorAvailable(A, pivoting[i], MAT_FACTOR_LU, &available));
  if (!available) PetscCall(FactorWithoutPivoting(ksp, pc));
  else {
    PetscCall(KSPSetType(ksp, KSPPREONLY));
    PetscCall(PCSetType(pc, PCLU));
    PetscCall(PCFactorSetMatSolverType(pc, pivoting[i - 1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the solver. Inner eigenvalues are out of reach of products alone, so a target brings shift-and-invert unless the user
   says otherwise. Options are taken before the factorization is chosen, because they decide whether there is one. */
static PetscErrorCode MakeEPS(const Problem *a, const Problem *b, EPS *eps, Watch *watch)
{
  PetscBool symmetric = (PetscBool)(a->symmetric && (!b->A || b->symmetric)), target, type, chosen;
  PetscInt wanted, order;
  ST st;

  PetscFunctionBegin;
  PetscCall(EPSCreate(PETSC_COMM_WORLD, eps));
  PetscCall(ProblemType(*eps, symmetric, a, b));
  PetscCall(EPSSetType(*eps, EPSKRYLOVSCHUR)); /* Lanczos with thick restart for symmetric problems */
  PetscCall(EPSMonitorSet(*eps, WatchEPS, watch, NULL));
  PetscCall(EPSGetST(*eps, &st));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-eps_target", &target));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-st_type", &type));
  if (target && !type) PetscCall(STSetType(st, STSINVERT));
  PetscCall(EPSSetFromOptions(*eps));
  PetscCall(EPSGetDimensions(*eps, &wanted, NULL, NULL));
  PetscCall(MatGetSize(a->A, &order, NULL));
  PetscCheck(wanted <= order, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-eps_nev %lld: a matrix of order %lld has no more than %lld eigenvalues", (long long)wanted, (long long)order,
             (long long)order);
  PetscCall(ChooseFactorization(a->A, st));
  /* SLEPc's other Lanczos refuses to choose for itself; does nothing to any other type. */
  PetscCall(PetscOptionsHasName(NULL, NULL, "-eps_lanczos_reorthog", &chosen));
  if (!chosen) PetscCall(EPSLanczosSetReorthog(*eps, EPS_LANCZOS_REORTHOG_FULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes out of the solver what the summary needs, so that it can be destroyed. With EPS_ALL nobody says how many there should be:
   those that were found are what was asked for. */
static PetscErrorCode CollectEPS(EPS eps, const Problem *a, Pairs *r)
{
  EPSType type;
  STType transformation;
  ST st;
  EPSWhich which;
  EPSConvergedReason reason;
  PetscBool symmetric, generalized;
  PetscScalar target, re, im;
  size_t length;

  PetscFunctionBegin;
  PetscCall(EPSGetType(eps, &type));
  PetscCall(EPSGetST(eps, &st));
  PetscCall(STGetType(st, &transformation));
  PetscCall(EPSGetWhichEigenpairs(eps, &which));
  PetscCall(EPSGetTarget(eps, &target));
  PetscCall(EPSGetConvergedReason(eps, &reason));
  PetscCall(EPSIsHermitian(eps, &symmetric));
  PetscCall(EPSIsGeneralized(eps, &generalized));
  PetscCall(EPSGetDimensions(eps, &r->asked, NULL, NULL));
  PetscCall(EPSGetTolerances(eps, &r->tolerance, NULL));
  PetscCall(EPSGetConverged(eps, &r->count));
  if (which == EPS_ALL) r->asked = r->count;
  PetscCall(EPSGetIterationNumber(eps, &r->iterations));
  /* What SLEPc says of the problem is told, as options may have changed it. */
  PetscCall(PetscSNPrintf(r->problem, sizeof r->problem, "%s%s eigenvalues", generalized ? "generalized " : "",
                          symmetric ? "symmetric" : "nonsymmetric"));
  PetscCall(PetscStrncpy(r->which, WhichInWords(which), sizeof r->which));
  PetscCall(PetscStrlen(r->which, &length));
  if (which == EPS_TARGET_MAGNITUDE || which == EPS_TARGET_REAL || which == EPS_TARGET_IMAGINARY)
    snprintf(r->which + length, sizeof r->which - length, " %g", (double)PetscRealPart(target)); /* PETSc writes 2 as "2." */
  PetscCall(PetscStrncpy(r->solver, type, sizeof r->solver));
  PetscCall(PetscStrcmp(type, EPSKRYLOVSCHUR, &r->lanczos));
  r->lanczos = (PetscBool)(r->lanczos && symmetric);
  PetscCall(PetscStrncpy(r->transformation, transformation, sizeof r->transformation));
  PetscCall(PetscStrncpy(r->reason, EPSConvergedReasons[reason], sizeof r->reason));
  PetscCall(PetscStrncpy(r->reason_words, PairsReasonInWords((int)reason), sizeof r->reason_words));
  r->converged = (PetscBool)(reason > 0);
  /* A real problem has real and imaginary parts in vectors of their own, which SLEPc fills even where the imaginary part is
     zero. */
  PetscCall(PetscCalloc3(r->count, &r->pairs, r->count, &r->re, r->count, &r->im));
  for (PetscInt i = 0; i < r->count; i++) {
    PetscCall(MatCreateVecs(a->A, &r->re[i], &r->im[i]));
    PetscCall(EPSGetEigenpair(eps, i, &re, &im, r->re[i], r->im[i]));
    r->pairs[i].re = PetscRealPart(re), r->pairs[i].im = PetscRealPart(im);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An error that waits for what can be said of it. */
typedef struct {
  MPI_Comm comm;
  PetscErrorCode code;
  char text[512];
} Held;

/* PETSc calls this handler in place of the program's while it solves: where an error arises it is held, and nothing is printed. */
static PetscErrorCode Hold(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                           PetscErrorType type, const char *text, void *context)
{
  Held *held = (Held *)context;
  (void)line, (void)function, (void)file;
  if (type != PETSC_ERROR_INITIAL) return code;
  held->comm = comm, held->code = code;
  snprintf(held->text, sizeof held->text, "%s", text ? text : "");
  /* A newline at the end would come before the advice. */
  if (*held->text && held->text[strlen(held->text) - 1] == '\n') held->text[strlen(held->text) - 1] = 0;
  return code;
}

/* Says what to do about a factorization that met a zero pivot: packages have codes and numbers of their own for it, INFOG(1)=-10
   is that of MUMPS. An interval is factored at its ends without pivoting, so that a leading part of the matrix can be at fault;
   without a target it is B that is factored (second). */
static const char *AdviceOnFactors(const Held *held, PetscBool second)
{
  const PetscBool pivot = (PetscBool)(held->code == PETSC_ERR_MAT_LU_ZRPVT || held->code == PETSC_ERR_MAT_CH_ZRPVT ||
                                      strstr(held->text, "INFOG(1)=-10,"));
  PetscBool interval = PETSC_FALSE;
  if (!pivot || PetscOptionsHasName(NULL, NULL, "-eps_interval", &interval)) return "";
  if (second) return ": B, which is factored without a target, is singular: take an -eps_target that is no eigenvalue";
  return interval ? ": the matrix less an end of -eps_interval is singular, or a leading part of it is: move that end a little"
                  : ": the matrix less the target is singular, as the target is an eigenvalue: take another -eps_target near it";
}

/* Solves. Errors are raised again, with advice where there is some. */
static PetscErrorCode Solve(EPS eps)
{
  Held held = {PETSC_COMM_SELF, 0, ""};
  PetscBool second, shift;
  PetscErrorCode error;
  ST st;

  PetscFunctionBegin;
  PetscCall(EPSGetST(eps, &st));
  PetscCall(PetscObjectTypeCompare((PetscObject)st, STSHIFT, &shift));
  PetscCall(EPSIsGeneralized(eps, &second));
  PetscCall(PetscPushErrorHandler(Hold, &held));
  error = EPSSolve(eps);
  PetscCall(PetscPopErrorHandler());
  if (!error) PetscFunctionReturn(PETSC_SUCCESS);
  SETERRQ(held.comm, held.code ? held.code : error, "%s%s", held.text, AdviceOnFactors(&held, (PetscBool)(second && shift)));
}

/* Refuses a second matrix that is zero, of which a factorization would speak in numbers of its package's. */
static PetscErrorCode CheckSecond(const Problem *b, const char *path)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(MatNorm(b->A, NORM_INFINITY, &norm));
  PetscCheck(norm != 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "%s: no entry differs from 0, so that A x = l B x has no finite eigenvalue", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time in products is the difference of PETSc's counts before and after the solve. */
PetscErrorCode SolveEPS(const Problem *a, const Problem *b, Pairs *r)
{
  EPS eps;
  Watch watch = {0, 0};
  PetscLogDouble end, before, after;

  PetscFunctionBegin;
  if (b->A) PetscCall(CheckSecond(b, r->second));
  PetscCall(MakeEPS(a, b, &eps, &watch));
  PetscCall(StorageProductSeconds(&before));
  PetscCall(PetscTime(&watch.start));
  PetscCall(Solve(eps));
  PetscCall(PetscTime(&end));
  PetscCall(StorageProductSeconds(&after));
  PetscCall(PairsEndProgress(&watch));
  r->solve = end - watch.start, r->products = after - before;
  PetscCall(CollectEPS(eps, a, r));
  PetscCall(EPSDestroy(&eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

