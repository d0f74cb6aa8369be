/* macko-eigs MATRIX [-b MATRIX] [-singular] [SLEPc options]: eigenvalues or singular values of a matrix stored compressed. */
#include "pairs.h"

#include <slepceps.h>
#include <slepcsvd.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "Finds eigenvalues or singular values of a sparse matrix that is stored compressed.\n"
  "usage: macko-eigs MATRIX [-b MATRIX] [-singular] [-vectors FILE] [-json FILE] [SLEPc options]\n"
  "       mpiexec -n N macko-eigs MATRIX ...\n"
  "  MATRIX          .mtx .mtx.gz .rb .rua .rsa .pua .psa .hb, NAME.tar.gz of the SuiteSparse collection, or PETSc binary\n"
  "  -eps_nev N      how many eigenvalues (default 1), the largest in magnitude unless told otherwise:\n"
  "  -eps_smallest_magnitude, -eps_largest_real, -eps_smallest_real\n"
  "  -eps_target T   nearest T, by shift-and-invert unless -st_type says otherwise\n"
  "  -eps_type TYPE  method (default krylovschur, which is Lanczos with thick restart where the matrix is symmetric)\n"
  "  -b MATRIX       generalized problem A x = k B x\n"
  "  -singular       singular values; for a matrix that is not square anyway. -svd_nsv N, -svd_smallest, -svd_type TYPE\n"
  "  -vectors FILE   writes the vectors (right ones of singular values); -left_vectors FILE the left ones of singular values;\n"
  "                  Matrix Market where FILE ends in .mtx, else PETSc binary\n"
  "  -json FILE      writes the summary for machines\n"
  "  -eps_tol T, -eps_max_it N, -eps_monitor, -log_view and every other option of SLEPc and PETSc work\n"
  "  -mat_type TYPE  storage (default aijmacko); aij is PETSc's plain CSR\n"
  "  -mat_macko_format, -mat_macko_layout, -mat_macko_delta_bits, -mat_macko_values, -mat_macko_prefer   of aijmacko\n"
  "exit status: 0 found as many as asked for, 2 not, 1 bad input or another error\n";

/* ---- progress: past a second, on a terminal only ---- */

typedef struct {
  PetscLogDouble start, shown;
} Clock;

static PetscErrorCode Progress(Clock *clock, PetscInt iteration, PetscInt found, PetscInt asked)
{
  PetscLogDouble now;

  PetscFunctionBegin;
  PetscCall(PetscTime(&now));
  if (!isatty(STDERR_FILENO) || now - clock->start < 1 || now - clock->shown < 0.2) PetscFunctionReturn(PETSC_SUCCESS);
  clock->shown = now;
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "\riteration %lld: %lld of %lld found ", (long long)iteration, (long long)found,
                         (long long)asked));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EndProgress(const Clock *clock)
{
  PetscFunctionBegin;
  if (clock->shown > 0) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "\r%60s\r", ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WatchEPS(EPS eps, PetscInt its, PetscInt nconv, PetscScalar *re, PetscScalar *im, PetscReal *error, PetscInt n,
                               void *clock)
{
  PetscInt nev;
  (void)re, (void)im, (void)error, (void)n;

  PetscFunctionBegin;
  PetscCall(EPSGetDimensions(eps, &nev, NULL, NULL));
  PetscCall(Progress((Clock *)clock, its, nconv, nev));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WatchSVD(SVD svd, PetscInt its, PetscInt nconv, PetscReal *sigma, PetscReal *error, PetscInt n, void *clock)
{
  PetscInt nsv;
  (void)sigma, (void)error, (void)n;

  PetscFunctionBegin;
  PetscCall(SVDGetDimensions(svd, &nsv, NULL, NULL));
  PetscCall(Progress((Clock *)clock, its, nconv, nsv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- words ---- */

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
  case EPS_ALL: return "in the interval, and all others there";
  default: return "largest in magnitude";
  }
}

/* SLEPc's reasons of EPS and SVD are the same numbers. */
static const char *ReasonInWords(int reason)
{
  switch (reason) {
  case EPS_CONVERGED_TOL: return "their errors fell below the tolerance";
  case EPS_CONVERGED_USER: return "a stopping test of the user's was met";
  case EPS_DIVERGED_ITS: return "the limit of iterations was reached";
  case EPS_DIVERGED_BREAKDOWN: return "the method broke down";
  case EPS_DIVERGED_SYMMETRY_LOST: return "the problem turned out not to have the symmetry that was claimed";
  default: return reason > 0 ? "a limit of the method was met" : "the method gave up";
  }
}

/* ---- eigenvalues ---- */

static PetscErrorCode ProblemType(EPS eps, PetscBool symmetric, const Problem *a, const Problem *b)
{
  PetscFunctionBegin;
  if (b->A) PetscCall(EPSSetProblemType(eps, symmetric ? EPS_GHEP : EPS_GNHEP));
  else PetscCall(EPSSetProblemType(eps, symmetric ? EPS_HEP : EPS_NHEP));
  PetscCall(EPSSetOperators(eps, a->A, b->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Inner eigenvalues are out of reach of products alone, so a target brings shift-and-invert. */
static PetscErrorCode MakeEPS(const Problem *a, const Problem *b, EPS *eps, Clock *clock)
{
  PetscBool symmetric = (PetscBool)(a->symmetric && (!b->A || b->symmetric)), target, type, chosen;
  ST st;

  PetscFunctionBegin;
  PetscCall(EPSCreate(PETSC_COMM_WORLD, eps));
  PetscCall(ProblemType(*eps, symmetric, a, b));
  PetscCall(EPSSetType(*eps, EPSKRYLOVSCHUR)); /* Lanczos with thick restart for symmetric problems */
  PetscCall(EPSMonitorSet(*eps, WatchEPS, clock, NULL));
  PetscCall(EPSGetST(*eps, &st));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-eps_target", &target));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-st_type", &type));
  if (target && !type) PetscCall(STSetType(st, STSINVERT));
  PetscCall(EPSSetFromOptions(*eps));
  /* SLEPc's other Lanczos refuses to choose for itself; does nothing to any other type. */
  PetscCall(PetscOptionsHasName(NULL, NULL, "-eps_lanczos_reorthog", &chosen));
  if (!chosen) PetscCall(EPSLanczosSetReorthog(*eps, EPS_LANCZOS_REORTHOG_FULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

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
  PetscCall(EPSGetConverged(eps, &r->count));
  PetscCall(EPSGetIterationNumber(eps, &r->iterations));
  PetscCall(PetscSNPrintf(r->problem, sizeof r->problem, "%s%s eigenvalues", generalized ? "generalized " : "", symmetric ? "symmetric" : "nonsymmetric"));
  PetscCall(PetscStrncpy(r->which, WhichInWords(which), sizeof r->which));
  PetscCall(PetscStrlen(r->which, &length));
  if (which == EPS_TARGET_MAGNITUDE || which == EPS_TARGET_REAL || which == EPS_TARGET_IMAGINARY)
    PetscCall(PetscSNPrintf(r->which + length, sizeof r->which - length, " %g", (double)PetscRealPart(target)));
  PetscCall(PetscStrncpy(r->solver, type, sizeof r->solver));
  PetscCall(PetscStrcmp(type, EPSKRYLOVSCHUR, &r->lanczos));
  r->lanczos = (PetscBool)(r->lanczos && symmetric);
  PetscCall(PetscStrncpy(r->transformation, transformation, sizeof r->transformation));
  PetscCall(PetscStrncpy(r->reason, EPSConvergedReasons[reason], sizeof r->reason));
  PetscCall(PetscStrncpy(r->reason_words, ReasonInWords((int)reason), sizeof r->reason_words));
  r->converged = (PetscBool)(reason > 0);
  PetscCall(PetscCalloc3(r->count, &r->pairs, r->count, &r->re, r->count, &r->im));
  for (PetscInt i = 0; i < r->count; i++) {
    PetscCall(MatCreateVecs(a->A, &r->re[i], &r->im[i]));
    PetscCall(EPSGetEigenpair(eps, i, &re, &im, r->re[i], r->im[i]));
    r->pairs[i].re = PetscRealPart(re), r->pairs[i].im = PetscRealPart(im);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveEPS(const Problem *a, const Problem *b, Pairs *r)
{
  EPS eps;
  Clock clock = {0, 0};
  PetscLogDouble end, before, after;

  PetscFunctionBegin;
  PetscCall(MakeEPS(a, b, &eps, &clock));
  PetscCall(StorageProductSeconds(&before));
  PetscCall(PetscTime(&clock.start));
  PetscCall(EPSSolve(eps));
  PetscCall(PetscTime(&end));
  PetscCall(StorageProductSeconds(&after));
  PetscCall(EndProgress(&clock));
  r->solve = end - clock.start, r->products = after - before;
  PetscCall(CollectEPS(eps, a, r));
  PetscCall(EPSDestroy(&eps));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- singular values ---- */

static PetscErrorCode CollectSVD(SVD svd, const Problem *a, Pairs *r)
{
  SVDType type;
  SVDWhich which;
  SVDConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(SVDGetType(svd, &type));
  PetscCall(SVDGetWhichSingularTriplets(svd, &which));
  PetscCall(SVDGetConvergedReason(svd, &reason));
  PetscCall(SVDGetDimensions(svd, &r->asked, NULL, NULL));
  PetscCall(SVDGetConverged(svd, &r->count));
  PetscCall(SVDGetIterationNumber(svd, &r->iterations));
  PetscCall(PetscStrncpy(r->problem, "singular values", sizeof r->problem));
  PetscCall(PetscStrncpy(r->which, which == SVD_LARGEST ? "largest" : "smallest", sizeof r->which));
  PetscCall(PetscStrncpy(r->solver, type, sizeof r->solver));
  PetscCall(PetscStrncpy(r->reason, SVDConvergedReasons[reason], sizeof r->reason));
  PetscCall(PetscStrncpy(r->reason_words, ReasonInWords((int)reason), sizeof r->reason_words));
  r->converged = (PetscBool)(reason > 0);
  PetscCall(PetscCalloc3(r->count, &r->pairs, r->count, &r->re, r->count, &r->im));
  for (PetscInt i = 0; i < r->count; i++) {
    PetscCall(MatCreateVecs(a->A, &r->re[i], &r->im[i]));
    PetscCall(SVDGetSingularTriplet(svd, i, &r->pairs[i].re, r->im[i], r->re[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveSVD(const Problem *a, Pairs *r)
{
  SVD svd;
  Clock clock = {0, 0};
  PetscLogDouble end, before, after;

  PetscFunctionBegin;
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, a->A, NULL));
  PetscCall(SVDSetType(svd, SVDTRLANCZOS)); /* SLEPc's default works with A'A, which squares the small ones */
  PetscCall(SVDMonitorSet(svd, WatchSVD, &clock, NULL));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(StorageProductSeconds(&before));
  PetscCall(PetscTime(&clock.start));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscTime(&end));
  PetscCall(StorageProductSeconds(&after));
  PetscCall(EndProgress(&clock));
  r->solve = end - clock.start, r->products = after - before;
  PetscCall(CollectSVD(svd, a, r));
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the program ---- */

/* Read, its symmetry known, converted and encoded. */
static PetscErrorCode Prepare(const char *path, Problem *p, PetscLogDouble *read, PetscLogDouble *encode)
{
  PetscInt rows, cols;
  PetscLogDouble seconds;

  PetscFunctionBegin;
  PetscCall(ProblemLoad(PETSC_COMM_WORLD, path, p));
  PetscCall(MatGetSize(p->A, &rows, &cols));
  PetscCheck(rows && cols, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ, "%s: %lld x %lld: there is nothing to find", path,
             (long long)rows, (long long)cols);
  if (rows == cols && !p->symmetric) PetscCall(MatIsSymmetric(p->A, 0, &p->symmetric));
  PetscCall(ProblemConvert(p));
  PetscCall(StorageEncode(p->A, &seconds));
  *read += p->read_seconds, *encode += seconds;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrepareSecond(const char *path, const Pairs *r, Problem *b, PetscLogDouble *read, PetscLogDouble *encode)
{
  PetscInt rows, cols;

  PetscFunctionBegin;
  PetscCall(Prepare(path, b, read, encode));
  PetscCall(MatGetSize(b->A, &rows, &cols));
  PetscCheck(r->rows == r->cols && rows == r->rows && cols == r->cols, PETSC_COMM_WORLD, PETSC_ERR_ARG_SIZ,
             "%s: %lld x %lld, and %s: %lld x %lld: both matrices of A x = k B x must be square and of one size", r->path,
             (long long)r->rows, (long long)r->cols, path, (long long)rows, (long long)cols);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The slowest rank's seconds. */
static PetscErrorCode CollectSeconds(Pairs *r)
{
  PetscLogDouble mine[] = {r->read, r->encode, r->solve, r->products}, slowest[4];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(mine, slowest, 4, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  r->read = slowest[0], r->encode = slowest[1], r->solve = slowest[2], r->products = slowest[3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SaveAll(const Pairs *r, const Problem *a)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-json", path, sizeof path, &given));
  if (given) PetscCall(PairsSave(r, a, path));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-vectors", path, sizeof path, &given));
  if (given) PetscCall(PairsSaveVectors(r, r->re, r->singular ? NULL : r->im, path));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-left_vectors", path, sizeof path, &given));
  PetscCheck(!given || r->singular, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-left_vectors: only with singular values");
  if (given) PetscCall(PairsSaveVectors(r, r->im, NULL, path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Find(const char *path, int *status)
{
  Problem a, b;
  Pairs r;
  char second[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  memset(&b, 0, sizeof b);
  memset(&r, 0, sizeof r);
  r.path = path;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &r.ranks));
  PetscCall(Prepare(path, &a, &r.read, &r.encode));
  PetscCall(MatGetSize(a.A, &r.rows, &r.cols));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-b", second, sizeof second, &given));
  if (given) PetscCall(PrepareSecond(r.second = second, &r, &b, &r.read, &r.encode));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-singular", &r.singular));
  PetscCheck(!given || !r.singular, PETSC_COMM_WORLD, PETSC_ERR_ARG_INCOMP, "-singular and -b do not go together");
  r.singular = (PetscBool)(r.singular || r.rows != r.cols);
  if (r.singular) PetscCall(SolveSVD(&a, &r));
  else PetscCall(SolveEPS(&a, &b, &r));
  PetscCall(CollectSeconds(&r));
  PetscCall(StorageCollect(&a, &r.storage));
  if (given) PetscCall(StorageCollect(&b, &r.second_storage));
  PetscCall(PairsCheck(&r, &a.A, &b.A));
  PetscCall(PairsPrint(&r, &a));
  PetscCall(SaveAll(&r, &a));
  *status = r.converged ? STATUS_FINE : STATUS_NOT_CONVERGED;
  PetscCall(PairsDestroy(&r));
  PetscCall(ProblemDestroy(&a));
  PetscCall(ProblemDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const char *path, int *status)
{
  PetscFunctionBegin;
  PetscCall(SlepcInitialize(NULL, NULL, NULL, NULL));
  PetscCall(Find(path, status));
  PetscCall(SlepcFinalize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Program program = {"macko-eigs", help, Run};
  return ProgramMain(&program, argc, argv);
}
