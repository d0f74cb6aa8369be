/* The summary of macko-solve. */
#include "solve/report.h"
#include "common/json.h"
#include "common/output.h"

#include <string.h>

/* PETSc's reasons as clauses that go after a colon. Reasons that are not listed, which other versions of PETSc may have, are told
   by their sign: those above 0 are success. */
static const struct {
  KSPConvergedReason reason;
  const char *words;
} reasons[] = {
  {KSP_CONVERGED_RTOL, "the residual fell below -ksp_rtol times the first"},
  {KSP_CONVERGED_ATOL, "the residual fell below -ksp_atol"},
  {KSP_CONVERGED_ITS, "the asked-for iterations were done, and no test of the residual ended them"},
  {KSP_CONVERGED_HAPPY_BREAKDOWN, "the method found the solution in its subspace"},
  {KSP_DIVERGED_NULL, "the method met a null vector"},
  {KSP_DIVERGED_ITS, "the limit of iterations, -ksp_max_it, was reached"},
  {KSP_DIVERGED_DTOL, "the residual grew beyond -ksp_divtol times the first"},
  {KSP_DIVERGED_BREAKDOWN, "the method broke down"},
  {KSP_DIVERGED_BREAKDOWN_BICG, "the method broke down: its two residuals became orthogonal"},
  {KSP_DIVERGED_NONSYMMETRIC, "the matrix or the preconditioner is not symmetric, which this method needs"},
  {KSP_DIVERGED_INDEFINITE_PC, "the preconditioner is indefinite, which this method does not allow"},
  {KSP_DIVERGED_INDEFINITE_MAT, "the matrix is indefinite, which this method does not allow"},
  {KSP_DIVERGED_NANORINF, "a NaN or Inf appeared"},
  {KSP_DIVERGED_PC_FAILED, "the preconditioner could not be set up (a zero pivot, or NaN or Inf in the matrix)"},
};

/* PETSc's reasons have both signs and gaps between them, so the list is searched instead of indexed. */
void ReportReason(KSPConvergedReason reason, char *words, size_t size)
{
  const char *found = reason > 0 ? "a convergence criterion of the method was met" : "the method gave up";
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    if (reasons[i].reason == reason) found = reasons[i].words;
  snprintf(words, size, "%s (%s)", found, KSPConvergedReasons[reason]);
}

/* Prints the summary of everything, under headings of ten columns. The warning comes with advice, since "not converged"
   contradicts what the method reports. */
static void PrintAll(const Problem *p, const Report *r)
{
  printf("matrix    %s: %lld x %lld, %lld nonzeros, %s\n", r->path, (long long)r->rows, (long long)r->cols,
         (long long)p->nnz, p->kind);
  StoragePrint(&r->storage);
  printf("solver    %s with %s on %d rank%s\n", r->ksp, r->pc, r->ranks, r->ranks > 1 ? "s" : "");
  printf("result    %s after %lld iterations: %s\n", r->converged ? "converged" : "NOT CONVERGED",
         (long long)r->iterations, r->reason_words);
  printf("residual  ||b - A x|| / ||b|| = %.3g by plain CSR", (double)r->residual);
  if (r->least_squares) printf("; ||A'(b - A x)|| / ||A'b|| = %.3g", (double)r->normal_residual);
  if (r->ones) printf("; error ||x - 1|| / ||1|| = %.3g", (double)r->error);
  if (r->warning[0]) printf("\nWARNING   %s", r->warning);
  printf("\nseconds   read %.3g, encode %.3g, set-up %.3g, solve %.3g (%.0f %% in products)\n", p->read_seconds, r->encode,
         r->setup, r->solve, r->solve > 0 ? 100 * r->products / r->solve : 0.);
}

/* Other ranks have the same numbers and nothing to add. */
PetscErrorCode ReportPrint(const Problem *p, const Report *r)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) PrintAll(p, r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- JSON ---- */

/* What WriteAll, which gets one pointer from OutputSave, needs. */
typedef struct {
  const Problem *p;
  const Report *r;
} Summary;

/* Writes the whole summary as JSON; `summary` is a Summary. "converged" is what the exit status says, by the true residual. */
static void WriteAll(FILE *f, const void *summary)
{
  const Problem *p = ((const Summary *)summary)->p;
  const Report *r = ((const Summary *)summary)->r;
  fprintf(f, "{\n  \"version\": \"%s\",\n  \"matrix\": {\"path\": ", MACKO_VERSION_STRING);
  put_json_string(f, r->path);
  fprintf(f, ", \"kind\": \"%s\", \"rows\": %lld, \"cols\": %lld, \"nonzeros\": %lld},\n", p->kind, (long long)r->rows,
          (long long)r->cols, (long long)p->nnz);
  fprintf(f, "  \"storage\": ");
  StorageWrite(f, &r->storage);
  fprintf(f, ",\n");
  fprintf(f, "  \"solver\": {\"ksp\": \"%s\", \"pc\": \"%s\", \"ranks\": %d},\n", r->ksp, r->pc, r->ranks);
  fprintf(f, "  \"result\": {\"converged\": %s, \"reason\": \"%s\", \"words\": ", r->converged ? "true" : "false",
          KSPConvergedReasons[r->reason]);
  put_json_string(f, r->reason_words);
  fprintf(f, ", \"iterations\": %lld, ", (long long)r->iterations);
  if (r->ones) put_json_number(f, "error", (double)r->error, ", ");
  if (r->least_squares) put_json_number(f, "normal_residual", (double)r->normal_residual, ", ");
  fprintf(f, "\"misled\": %s, ", r->misled ? "true" : "false");
  put_json_number(f, "residual", (double)r->residual, "},\n");
  fprintf(f, "  \"seconds\": {");
  put_json_number(f, "read", p->read_seconds, ", "), put_json_number(f, "encode", r->encode, ", ");
  put_json_number(f, "setup", r->setup, ", ");
  put_json_number(f, "solve", r->solve, ", "), put_json_number(f, "products", r->products, "}\n}\n");
}

/* OutputSave takes one pointer, hence the pair of two. */
PetscErrorCode ReportSave(const Problem *p, const Report *r, const char *path)
{
  const Summary summary = {p, r};

  PetscFunctionBegin;
  PetscCall(OutputSave(path, WriteAll, &summary));
  PetscFunctionReturn(PETSC_SUCCESS);
}
