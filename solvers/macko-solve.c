/* macko-solve MATRIX [-rhs FILE] [-json FILE] [PETSc options]: solves A x = b with A stored compressed, and says what it did. */
#include "problem.h"

#include <errno.h>
#include <string.h>

static char help[] = "Solves a sparse linear system whose matrix is stored compressed.\n"
  "usage: macko-solve MATRIX [-rhs FILE] [-json FILE] [PETSc options]\n"
  "  MATRIX      .mtx .mtx.gz .rb .rua .rsa .pua .psa .hb, NAME.tar.gz of the SuiteSparse collection, or PETSc binary\n"
  "  -rhs FILE   right-hand side, a matrix of one column or a PETSc binary vector (default: A times ones)\n"
  "  -json FILE  writes what is printed for machines too\n"
  "  every -ksp_ -pc_ -mat_ option of PETSc works; -mat_type aij computes with plain CSR instead, -mat_macko_* choose the storage\n"
  "exit status: 0 solved, 2 not converged, 1 anything else\n\n";

typedef struct {
  const char *path;
  KSPType ksp;
  PCType pc;
  MatType type;
  PetscMPIInt ranks;
  PetscInt rows, cols, iterations;
  KSPConvergedReason reason;
  PetscBool ones;
  MatMackoInfo storage;
  PetscReal residual, error;
  PetscLogDouble encode, setup, solve, products;
} Report;

static const char *ReasonInWords(KSPConvergedReason reason)
{
  switch (reason) {
  case KSP_CONVERGED_RTOL: return "the residual fell below -ksp_rtol";
  case KSP_CONVERGED_ATOL: return "the residual fell below -ksp_atol";
  case KSP_CONVERGED_ITS: return "the asked-for number of iterations was done";
  case KSP_DIVERGED_ITS: return "the limit of iterations, -ksp_max_it, was reached";
  case KSP_DIVERGED_DTOL: return "the residual grew beyond -ksp_divtol";
  case KSP_DIVERGED_BREAKDOWN: return "the method broke down";
  case KSP_DIVERGED_INDEFINITE_PC: return "the preconditioner is indefinite, which this method does not allow";
  case KSP_DIVERGED_INDEFINITE_MAT: return "the matrix is indefinite, which this method does not allow";
  case KSP_DIVERGED_NANORINF: return "a NaN or Inf appeared";
  case KSP_DIVERGED_PC_FAILED: return "the preconditioner could not be set up";
  default: return reason > 0 ? "a convergence criterion of the method was met" : "the method gave up";
  }
}

/* Time in products with the matrix so far. */
static PetscErrorCode ProductSeconds(PetscLogDouble *seconds)
{
  static const char *const names[] = {"MatMult", "MatMultAdd", "MatMultTranspose"};
  PetscLogEvent event;
  PetscEventPerfInfo info;

  PetscFunctionBegin;
  *seconds = 0;
  for (int i = 0; i < 3; i++) {
    PetscCall(PetscLogEventGetId(names[i], &event));
    if (event < 0) continue;
    PetscCall(PetscLogEventGetPerfInfo(PETSC_DETERMINE, event, &info));
    *seconds += info.time;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* b = A * ones from the CSR itself: MatMult would be the compressed form's. */
static PetscErrorCode SumRows(Mat A, Vec b)
{
  PetscInt first, last, count;
  const PetscScalar *values;
  PetscScalar *sums;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(VecGetArrayWrite(b, &sums));
  for (PetscInt i = first; i < last; i++) {
    PetscScalar sum = 0;
    PetscCall(MatGetRow(A, i, &count, NULL, &values));
    for (PetscInt k = 0; k < count; k++) sum += values[k];
    PetscCall(MatRestoreRow(A, i, &count, NULL, &values));
    sums[i - first] = sum;
  }
  PetscCall(VecRestoreArrayWrite(b, &sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RightHandSide(const Problem *p, Vec b, Report *r, PetscBool *failed)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  *failed = PETSC_FALSE;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-rhs", path, sizeof path, &given));
  r->ones = (PetscBool)!given;
  if (given) PetscCall(ProblemLoadVector(p, path, b, failed));
  else PetscCall(SumRows(p->A, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Problem *p, Vec b, Vec x, Report *r)
{
  KSP ksp;
  PC pc;
  PetscLogDouble start, end, before, after;
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)p->A, &ours, MATSEQAIJMACKO, MATMPIAIJMACKO, ""));
  PetscCall(PetscTime(&start));
  if (ours) PetscCall(MatMackoEncode(p->A));
  PetscCall(PetscTime(&end));
  r->encode = end - start;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)p->A), &ksp));
  PetscCall(KSPSetOperators(ksp, p->A, p->A));
  PetscCall(KSPSetType(ksp, r->rows == r->cols ? KSPGMRES : KSPLSQR));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, r->rows == r->cols ? PCJACOBI : PCNONE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscTime(&start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PetscTime(&end));
  r->setup = end - start;
  PetscCall(ProductSeconds(&before));
  PetscCall(PetscTime(&start));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(PetscTime(&end));
  r->solve = end - start;
  PetscCall(ProductSeconds(&after));
  r->products = after - before;
  PetscCall(KSPGetIterationNumber(ksp, &r->iterations));
  PetscCall(KSPGetConvergedReason(ksp, &r->reason));
  PetscCall(KSPGetType(ksp, &r->ksp));
  PetscCall(PCGetType(pc, &r->pc));
  if (ours) PetscCall(MatMackoGetInfo(p->A, &r->storage));
  PetscCall(PetscStrallocpy(r->ksp, (char **)&r->ksp));
  PetscCall(PetscStrallocpy(r->pc, (char **)&r->pc));
  PetscCall(PetscStrallocpy(r->storage.reason ? r->storage.reason : "", (char **)&r->storage.reason));
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ||b - A x|| / ||b|| by AIJ's own product, whatever the solver used. */
static PetscErrorCode CheckWithPlainCSR(Problem *p, Vec b, Vec x, Report *r)
{
  Vec residual;
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(MatConvert(p->A, MATAIJ, MAT_INPLACE_MATRIX, &p->A));
  PetscCall(VecDuplicate(b, &residual));
  PetscCall(MatMult(p->A, x, residual));
  PetscCall(VecAYPX(residual, -1, b));
  PetscCall(VecNorm(residual, NORM_2, &norm));
  PetscCall(VecNorm(b, NORM_2, &size));
  r->residual = size > 0 ? norm / size : norm;
  PetscCall(VecDestroy(&residual));
  PetscCall(VecShift(x, -1));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCall(VecShift(x, 1));
  r->error = r->cols ? norm / PetscSqrtReal((PetscReal)r->cols) : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PrintReport(const Problem *p, const Report *r)
{
  PetscFunctionBegin;
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "matrix    %s: %lld x %lld, %lld nonzeros, %s\n", r->path, (long long)r->rows, (long long)r->cols,
                        (long long)p->nnz, p->kind));
  if (r->storage.encoded) {
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "storage   %s: format %s, %lld bytes, %.2f a nonzero, %.2f times smaller than CSR%s\n", r->type,
                          r->storage.format, (long long)r->storage.bytes,
                          p->nnz ? (double)r->storage.bytes / (double)p->nnz : 0.,
                          (double)r->storage.csr_bytes / (double)PetscMax(1, r->storage.bytes), r->storage.lossy ? ", LOSSY values" : ""));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "          %s\n", r->storage.reason));
  } else PetscCall(PetscPrintf(PETSC_COMM_WORLD, "storage   %s: as PETSc stores it\n", r->type));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "solver    %s with %s on %d rank%s\n", r->ksp, r->pc, r->ranks, r->ranks > 1 ? "s" : ""));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "result    %s after %lld iterations: %s (%s)\n",
                        r->reason > 0 ? "converged" : "NOT CONVERGED", (long long)r->iterations, ReasonInWords(r->reason),
                        KSPConvergedReasons[r->reason]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "residual  ||b - A x|| / ||b|| = %.3g by plain CSR", (double)r->residual));
  if (r->ones) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "; error ||x - 1|| / ||1|| = %.3g", (double)r->error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "\nseconds   read %.3g, encode %.3g, set-up %.3g, solve %.3g (%.0f %% in products)\n", p->read_seconds,
                        r->encode, r->setup, r->solve, r->solve > 0 ? 100 * r->products / r->solve : 0.));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void PutNumber(FILE *f, const char *name, double value, const char *end)
{
  /* JSON has no NaN and no Inf. */
  if (PetscIsInfOrNanReal(value)) fprintf(f, "\"%s\": null%s", name, end);
  else fprintf(f, "\"%s\": %.17g%s", name, value, end);
}

static PetscErrorCode WriteJSON(FILE *f, const Problem *p, const Report *r)
{
  PetscFunctionBegin;
  fprintf(f, "{\n  \"matrix\": {\"path\": ");
  PetscCall(JSONString(f, r->path));
  fprintf(f, ", \"kind\": ");
  PetscCall(JSONString(f, p->kind));
  fprintf(f, ", \"rows\": %lld, \"cols\": %lld, \"nonzeros\": %lld},\n", (long long)r->rows, (long long)r->cols, (long long)p->nnz);
  fprintf(f, "  \"storage\": {\"type\": ");
  PetscCall(JSONString(f, r->type));
  if (r->storage.encoded) {
    fprintf(f, ", \"format\": \"%s\", \"layout\": \"%s\", \"values\": \"%s\", \"lossy\": %s, \"bytes\": %lld, \"csr_bytes\": %lld, \"reason\": ",
            r->storage.format, r->storage.layout, r->storage.values, r->storage.lossy ? "true" : "false", (long long)r->storage.bytes,
            (long long)r->storage.csr_bytes);
    PetscCall(JSONString(f, r->storage.reason));
    fprintf(f, ", \"encodes\": %lld, \"refreshes\": %lld", (long long)r->storage.encodes, (long long)r->storage.refreshes);
  }
  fprintf(f, "},\n  \"solver\": {\"ksp\": \"%s\", \"pc\": \"%s\", \"ranks\": %d},\n", r->ksp, r->pc, r->ranks);
  fprintf(f, "  \"result\": {\"converged\": %s, \"reason\": \"%s\", \"words\": ", r->reason > 0 ? "true" : "false", KSPConvergedReasons[r->reason]);
  PetscCall(JSONString(f, ReasonInWords(r->reason)));
  fprintf(f, ", \"iterations\": %lld, ", (long long)r->iterations);
  if (r->ones) PutNumber(f, "error", (double)r->error, ", ");
  PutNumber(f, "residual", (double)r->residual, "},\n");
  fprintf(f, "  \"seconds\": {");
  PutNumber(f, "read", p->read_seconds, ", "), PutNumber(f, "encode", r->encode, ", "), PutNumber(f, "setup", r->setup, ", ");
  PutNumber(f, "solve", r->solve, ", "), PutNumber(f, "products", r->products, "}\n}\n");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SaveJSON(const Problem *p, const Report *r, PetscBool *failed)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;
  PetscMPIInt rank;
  int bad = 0;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-json", path, sizeof path, &given));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (given && rank == 0) {
    FILE *f = fopen(path, "w");
    if (f) PetscCall(WriteJSON(f, p, r));
    bad = !f || ferror(f) || fclose(f);
    if (bad) fprintf(stderr, "%s: %s\n", path, strerror(errno));
  }
  PetscCallMPI(MPI_Bcast(&bad, 1, MPI_INT, 0, PETSC_COMM_WORLD));
  *failed = (PetscBool)bad;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const char *path, int *status)
{
  Problem p;
  Report r = {.path = path};
  Vec x, b;
  PetscBool failed;
  char type[64];

  PetscFunctionBegin;
  *status = 1;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &r.ranks));
  PetscCall(ProblemLoad(PETSC_COMM_WORLD, path, &p, &failed));
  if (failed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(p.A, &r.rows, &r.cols));
  PetscCall(MatGetType(p.A, &r.type));
  PetscCall(PetscStrncpy(type, r.type, sizeof type));
  r.type = type;
  PetscCall(MatCreateVecs(p.A, &x, &b));
  PetscCall(RightHandSide(&p, b, &r, &failed));
  if (!failed) {
    PetscCall(Solve(&p, b, x, &r));
    PetscCall(CheckWithPlainCSR(&p, b, x, &r));
    PetscCall(PrintReport(&p, &r));
    PetscCall(SaveJSON(&p, &r, &failed));
    if (!failed) *status = r.reason > 0 ? 0 : 2;
  }
  PetscCall(PetscFree(r.ksp));
  PetscCall(PetscFree(r.pc));
  PetscCall(PetscFree(r.storage.reason));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int status = 1;

  if (PetscInitialize(&argc, &argv, NULL, help)) return 1;
  if (argc < 2 || argv[1][0] == '-') {
    PetscBool asked = PETSC_FALSE;
    if (PetscOptionsHasName(NULL, NULL, "-help", &asked)) return 1;
    if (!asked && PetscFPrintf(PETSC_COMM_WORLD, stderr, "%s", help)) return 1;
    status = asked ? 0 : 1;
  } else {
    PetscErrorCode ierr = PetscLogDefaultBegin();
    if (!ierr) ierr = MatMackoInitializePackage();
    if (!ierr) ierr = Run(argv[1], &status);
    if (ierr) return 1;
  }
  if (PetscFinalize()) return 1;
  return status;
}
