/* Eigenpairs and singular triplets checked, told and written. */
#include "eigs/eigenpairs.h"
#include "common/json.h"
#include "common/output.h"
#include "common/vectors.h"

#include <slepceps.h>
#include <string.h>
#include <unistd.h>

/* ---- the check ---- */

/* Returns a / b, but 0 and not a NaN where both are 0; a NaN where one of them is. */
static PetscReal Over(PetscReal a, PetscReal b)
{
  return a == 0 && b == 0 ? 0 : a / b;
}

/* The 2-norm of a vector in two parts, of which a and b are the norms. */
static PetscReal Norm(PetscReal a, PetscReal b)
{
  return PetscSqrtReal(a * a + b * b);
}

/* Sets y = B x, or y = x without B: then the problem is the ordinary one. */
static PetscErrorCode Second(Mat B, Vec x, Vec y)
{
  PetscFunctionBegin;
  if (B) PetscCall(MatMult(B, x, y));
  else PetscCall(VecCopy(x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes A x - k B x for x = re + i im in real arithmetic, because PETSc is built for real numbers: part i of the residual is A
   x_i minus what the two parts of k and of B x give for it. norm holds ||A|| and ||B||. */
static PetscErrorCode CheckEigenpair(Mat A, Mat B, const PetscReal norm[2], Vec re, Vec im, Pair *pair)
{
  Vec r[2], b[2];
  PetscReal size[2], right[2], rest[2], k = Norm(pair->re, pair->im);

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDuplicate(re, &r[i]));
    PetscCall(VecDuplicate(re, &b[i]));
    PetscCall(VecNorm(i ? im : re, NORM_2, &size[i]));
    PetscCall(MatMult(A, i ? im : re, r[i]));
    PetscCall(Second(B, i ? im : re, b[i]));
    PetscCall(VecNorm(b[i], NORM_2, &right[i]));
  }
  for (int i = 0; i < 2; i++) {
    /* The real part of k (re + i im) is Re k re - Im k im, the imaginary one Re k im + Im k re; b holds B times both. */
    PetscCall(VecAXPY(r[i], -pair->re, b[i]));
    PetscCall(VecAXPY(r[i], i ? -pair->im : pair->im, b[!i]));
    PetscCall(VecNorm(r[i], NORM_2, &rest[i]));
  }
  pair->residual = Norm(rest[0], rest[1]);
  pair->relative = Over(pair->residual, k * Norm(right[0], right[1]));
  pair->backward = Over(pair->residual, (norm[0] + k * norm[1]) * Norm(size[0], size[1]));
  for (int i = 0; i < 2; i++) {
    PetscCall(VecDestroy(&r[i]));
    PetscCall(VecDestroy(&b[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes both residuals of a triplet, in which v is the right and u the left vector; norm is ||A||. SLEPc's vectors have length
   1. */
static PetscErrorCode CheckTriplet(Mat A, PetscReal norm, Vec v, Vec u, Pair *pair)
{
  Vec left, right;
  PetscReal rest[2];

  PetscFunctionBegin;
  PetscCall(VecDuplicate(u, &left));
  PetscCall(VecDuplicate(v, &right));
  PetscCall(MatMult(A, v, left));
  PetscCall(VecAXPY(left, -pair->re, u));
  PetscCall(VecNorm(left, NORM_2, &rest[0]));
  PetscCall(MatMultTranspose(A, u, right));
  PetscCall(VecAXPY(right, -pair->re, v));
  PetscCall(VecNorm(right, NORM_2, &rest[1]));
  pair->residual = Norm(rest[0], rest[1]);
  pair->relative = Over(pair->residual, pair->re);
  pair->backward = Over(pair->residual, norm);
  PetscCall(VecDestroy(&left));
  PetscCall(VecDestroy(&right));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the error is small enough. An infinite value would divide any residual down to nothing, so it never is. */
static int IsMet(const Pair *pair, PetscReal largest)
{
  return pair->backward <= largest && !PetscIsInfOrNanReal(pair->re) && !PetscIsInfOrNanReal(pair->im);
}

/* The matrices are converted in their place, because two copies of each may not fit into memory. */
PetscErrorCode PairsCheck(Pairs *r, Mat *A, Mat *B)
{
  PetscReal norm[2] = {0, 1}, largest;
  PetscInt above = 0;

  PetscFunctionBegin;
  PetscCall(MatConvert(*A, MATAIJ, MAT_INPLACE_MATRIX, A));
  PetscCall(MatNorm(*A, NORM_INFINITY, &norm[0]));
  if (*B) {
    PetscCall(MatConvert(*B, MATAIJ, MAT_INPLACE_MATRIX, B));
    PetscCall(MatNorm(*B, NORM_INFINITY, &norm[1]));
  }
  for (PetscInt i = 0; i < r->count; i++) {
    if (r->singular) PetscCall(CheckTriplet(*A, norm[0], r->re[i], r->im[i], &r->pairs[i]));
    else PetscCall(CheckEigenpair(*A, *B, norm, r->re[i], r->im[i], &r->pairs[i]));
  }
  /* A method that works with a transformed matrix may be deceived: by a factorization that failed silently, for one. What has
     converged leaves at most the tolerance times |k| + ||A||, in norms that are at most sqrt(n) times those of backward. */
  largest = 2 * PetscSqrtReal((PetscReal)PetscMax(r->rows, r->cols)) * r->tolerance;
  for (PetscInt i = 0; i < PetscMin(r->count, r->asked); i++) above += !IsMet(&r->pairs[i], largest);
  /* Pairs beyond those that were asked for are told, but not judged. */
  if (r->converged && above) {
    r->converged = PETSC_FALSE;
    PetscCall(PetscSNPrintf(r->reason_words, sizeof r->reason_words,
                            "the method thinks so, but residuals by plain CSR are above %.2g or no numbers (%lld of %lld)",
                            (double)largest, (long long)above, (long long)PetscMin(r->count, r->asked)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- progress: past a second, on a terminal only ---- */

/* Five times a second is enough, and a method may call this more often. */
PetscErrorCode PairsProgress(Watch *watch, PetscInt iteration, PetscInt found, PetscInt asked)
{
  PetscLogDouble now;

  PetscFunctionBegin;
  PetscCall(PetscTime(&now));
  if (!isatty(STDERR_FILENO) || now - watch->start < 1 || now - watch->shown < 0.2) PetscFunctionReturn(PETSC_SUCCESS);
  watch->shown = now;
  PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "\riteration %lld: %lld of %lld found ", (long long)iteration,
                         (long long)found, (long long)asked));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The line is overwritten with blanks, if there was one. */
PetscErrorCode PairsEndProgress(const Watch *watch)
{
  PetscFunctionBegin;
  if (watch->shown > 0) PetscCall(PetscFPrintf(PETSC_COMM_WORLD, stderr, "\r%60s\r", ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- for people ---- */

/* The sign tells the rest: SLEPc's reasons for success are positive. */
const char *PairsReasonInWords(int reason)
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

/* Prints a line for each pair: the value, with an imaginary part if there is one, and its two relative residuals. */
static void PrintValues(const Pairs *r)
{
  if (!r->count) return;
  if (r->singular) printf("residuals ||A v - s u|| and ||A'u - s v|| together, by plain CSR: over s, and over ||A||\n");
  else printf("residuals ||A x - k %sx||, by plain CSR: over ||k %sx||, and over (||A|| + |k|%s) ||x||\n", r->second ? "B " : "",
              r->second ? "B " : "", r->second ? " ||B||" : "");
  for (PetscInt i = 0; i < r->count; i++) {
    const Pair *pair = &r->pairs[i];
    char imaginary[32] = "";
    /* Real values leave the column of imaginary parts empty. */
    if (pair->im != 0) snprintf(imaginary, sizeof imaginary, "%+.15g i", (double)pair->im);
    printf("%24.15g %-24s %10.3g %10.3g\n", (double)pair->re, imaginary, (double)pair->relative, (double)pair->backward);
  }
}

/* Prints the summary of everything, under headings of ten columns as in macko-solve. */
static void PrintAll(const Pairs *r, const Problem *p)
{
  printf("matrix    %s: %lld x %lld, %lld nonzeros, %s\n", r->path, (long long)r->rows, (long long)r->cols, (long long)p->nnz,
         p->kind);
  StoragePrint(&r->storage);
  if (r->second) {
    printf("second    %s\n", r->second);
    StoragePrint(&r->second_storage);
  }
  if (r->asked == 1) printf("problem   %s: the one %s\n", r->problem, r->which);
  else printf("problem   %s: the %lld %s\n", r->problem, (long long)r->asked, r->which);
  printf("solver    %s%s", r->solver, r->lanczos ? " (Lanczos with thick restart)" : "");
  if (r->transformation[0]) printf(" with transformation %s", r->transformation);
  printf(" on %d rank%s\n", r->ranks, r->ranks > 1 ? "s" : "");
  printf("result    %s, %lld found after %lld iterations: %s (%s)\n", r->converged ? "converged" : "NOT CONVERGED",
         (long long)r->count, (long long)r->iterations, r->reason_words, r->reason);
  PrintValues(r);
  printf("seconds   read %.3g, encode %.3g, solve %.3g (%.0f %% in products)\n", r->read, r->encode, r->solve,
         r->solve > 0 ? 100 * r->products / r->solve : 0.);
}

/* Other ranks have the same numbers and nothing to add. */
PetscErrorCode PairsPrint(const Pairs *r, const Problem *p)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) PrintAll(r, p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- for machines ---- */

/* What WriteAll, which gets one pointer from OutputSave, needs. */
typedef struct {
  const Pairs *r;
  const Problem *p;
} Summary;

/* Writes a pair as an object of JSON. Singular values are real, so their value has one number. */
static void WritePair(FILE *f, const Pairs *r, const Pair *pair)
{
  fprintf(f, "    {");
  put_json_number(f, r->singular ? "value" : "real", (double)pair->re, ", ");
  if (!r->singular) put_json_number(f, "imaginary", (double)pair->im, ", ");
  put_json_number(f, "residual", (double)pair->residual, ", ");
  put_json_number(f, "relative", (double)pair->relative, ", ");
  put_json_number(f, "backward", (double)pair->backward, "}");
}

/* Writes the whole summary as JSON; `summary` is a Summary. */
static void WriteAll(FILE *f, const void *summary)
{
  const Pairs *r = ((const Summary *)summary)->r;
  const Problem *p = ((const Summary *)summary)->p;
  fprintf(f, "{\n  \"version\": \"%s\",\n  \"matrix\": {\"path\": ", MACKO_VERSION_STRING);
  put_json_string(f, r->path);
  fprintf(f, ", \"kind\": \"%s\", \"rows\": %lld, \"cols\": %lld, \"nonzeros\": %lld},\n  \"storage\": ", p->kind,
          (long long)r->rows, (long long)r->cols, (long long)p->nnz);
  StorageWrite(f, &r->storage);
  if (r->second) {
    fprintf(f, ",\n  \"second\": {\"path\": ");
    put_json_string(f, r->second);
    fprintf(f, ", \"storage\": ");
    StorageWrite(f, &r->second_storage);
    fprintf(f, "}");
  }
  fprintf(f, ",\n  \"solver\": {\"problem\": \"%s\", \"which\": \"%s\", \"asked\": %lld, \"type\": \"%s\"", r->problem, r->which,
          (long long)r->asked, r->solver);
  if (r->transformation[0]) fprintf(f, ", \"transformation\": \"%s\"", r->transformation);
  fprintf(f, ", \"ranks\": %d},\n  \"result\": {\"converged\": %s, \"reason\": \"%s\", \"words\": \"%s\", \"iterations\": %lld, ",
          r->ranks, r->converged ? "true" : "false", r->reason, r->reason_words, (long long)r->iterations);
  fprintf(f, "\"count\": %lld},\n  \"%s\": [\n", (long long)r->count, r->singular ? "singular_values" : "eigenvalues");
  for (PetscInt i = 0; i < r->count; i++) {
    WritePair(f, r, &r->pairs[i]);
    fprintf(f, i + 1 < r->count ? ",\n" : "\n");
  }
  fprintf(f, "  ],\n  \"seconds\": {");
  put_json_number(f, "read", r->read, ", "), put_json_number(f, "encode", r->encode, ", ");
  put_json_number(f, "solve", r->solve, ", "), put_json_number(f, "products", r->products, "}\n}\n");
}

/* OutputSave takes one pointer, hence the pair of two. */
PetscErrorCode PairsSave(const Pairs *r, const Problem *p, const char *path)
{
  const Summary summary = {r, p};

  PetscFunctionBegin;
  PetscCall(OutputSave(path, WriteAll, &summary));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- vectors ---- */

/* Whether the real part of vector i, or with `imaginary` its imaginary part, is a column of the file. Without imaginary parts
   every real one is; of two conjugates only the first, with the positive imaginary part, gives columns. */
static int IsColumn(const Pairs *r, PetscInt i, int imaginary, int has_im)
{
  if (!has_im || r->pairs[i].im == 0) return !imaginary;
  return r->pairs[i].im > 0; /* its conjugate has the same two columns */
}

/* `columns` only borrows the vectors: they stay the caller's. */
PetscErrorCode PairsSaveVectors(const Pairs *r, const Vec *re, const Vec *im, const char *path)
{
  Vec *columns;
  PetscInt count = 0;

  PetscFunctionBegin;
  /* There are two columns a pair at most. */
  PetscCall(PetscMalloc1(2 * r->count, &columns));
  for (PetscInt i = 0; i < r->count; i++)
    for (int imaginary = 0; imaginary < 2; imaginary++)
      if (IsColumn(r, i, imaginary, im != NULL)) columns[count++] = imaginary ? im[i] : re[i];
  PetscCall(VectorsSave(count, columns, path));
  PetscCall(PetscFree(columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PairsDestroy(Pairs *r)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < r->count; i++) {
    PetscCall(VecDestroy(&r->re[i]));
    PetscCall(VecDestroy(&r->im[i]));
  }
  PetscCall(PetscFree3(r->pairs, r->re, r->im));
  PetscFunctionReturn(PETSC_SUCCESS);
}
