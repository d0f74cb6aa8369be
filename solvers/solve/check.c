/* The true residual, and whether it bears out what the method says of itself. */
#include "solve/check.h"

#include <stdio.h>
#include <string.h>

/* Sets *ratio to ||v|| / ||scale||, or to ||v|| where scale is zero. */
static PetscErrorCode Relative(Vec v, Vec scale, PetscReal *ratio)
{
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(VecNorm(v, NORM_2, &norm));
  PetscCall(VecNorm(scale, NORM_2, &size));
  *ratio = size > 0 ? norm / size : norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes y = A x by the rows as they are decoded, for a matrix that may not fit as a whole when it is not compressed. Every
   rank gets all of x for it, which is small beside a matrix. */
static PetscErrorCode MultiplyByRows(Mat A, Vec x, Vec y)
{
  PetscInt first, past, n;
  const PetscInt *cols;
  const PetscScalar *values, *from;
  PetscScalar *to;
  VecScatter all;
  Vec whole;

  PetscFunctionBegin;
  PetscCall(VecScatterCreateToAll(x, &all, &whole));
  PetscCall(VecScatterBegin(all, x, whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(all, x, whole, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecGetArrayRead(whole, &from));
  PetscCall(VecGetArrayWrite(y, &to));
  PetscCall(MatGetOwnershipRange(A, &first, &past));
  for (PetscInt i = first; i < past; i++) {
    PetscScalar sum = 0;
    PetscCall(MatGetRow(A, i, &n, &cols, &values));
    for (PetscInt k = 0; k < n; k++) sum += values[k] * from[cols[k]];
    PetscCall(MatRestoreRow(A, i, &n, &cols, &values));
    to[i - first] = sum;
  }
  /* Rows of this rank are in the order of its part of y. */
  PetscCall(VecRestoreArrayWrite(y, &to));
  PetscCall(VecRestoreArrayRead(whole, &from));
  PetscCall(VecDestroy(&whole));
  PetscCall(VecScatterDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Computes the product by plain CSR, whatever the solver used, so that a fault in a compressed product cannot hide itself. The
   matrix becomes type aij for it, but where it was compressed from the start: then its rows are decoded. */
static PetscErrorCode MultiplyPlainly(Problem *p, Vec x, Vec y)
{
  PetscBool compressed;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)p->A, &compressed, MATSEQMACKO, MATMPIMACKO, ""));
  if (compressed) PetscCall(MultiplyByRows(p->A, x, y));
  else {
    PetscCall(MatConvert(p->A, MATAIJ, MAT_INPLACE_MATRIX, &p->A));
    PetscCall(MatMult(p->A, x, y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the verdict ---- */

/* The residual that the normal equations A'A x = A'b leave, which goes to zero in least squares where that of A x = b does not: as
   a part of ||A'b||, for *r, and of ||A|| ||residual||, which is what LSQR watches. */
static PetscErrorCode CheckNormalEquations(Mat A, Vec b, Vec residual, Report *r, PetscReal *watched)
{
  Vec right, scale;
  PetscReal norm, size, rest;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &right, NULL));
  PetscCall(VecDuplicate(right, &scale));
  PetscCall(MatMultTranspose(A, residual, right));
  PetscCall(MatMultTranspose(A, b, scale));
  PetscCall(Relative(right, scale, &r->normal_residual));
  PetscCall(MatNorm(A, NORM_FROBENIUS, &size));
  PetscCall(VecNorm(residual, NORM_2, &rest));
  PetscCall(VecNorm(right, NORM_2, &norm));
  *watched = rest > 0 ? norm / size / rest : 0;
  PetscCall(VecDestroy(&right));
  PetscCall(VecDestroy(&scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Says what is so where a method ended well and its answer is none. */
static void Warn(Report *r, PetscReal tolerance)
{
  if (r->misled)
    snprintf(r->warning, sizeof r->warning, "the method thinks it converged, but the true residual did not; %s", r->advice);
  else
    snprintf(r->warning, sizeof r->warning, "no test of the residual ended the method, and the residual is %.3g, above %s %.3g",
             (double)r->residual, tolerance > r->rtol ? "-ksp_atol over ||b||," : "-ksp_rtol", (double)tolerance);
}

/* Sets converged, misled and the warning. A good preconditioner may leave a factor between the residual that a method watches and
   the true one, not three orders of magnitude. A method that only counted iterations watched none, so that its residual has to meet
   the tolerance itself. In least squares either residual may be the one that goes to zero. Where nearly all of b is out of reach,
   A'b is no measure and LSQR's own is, for which PETSc estimates an ||A|| that may be a few times too large. */
static void Judge(Report *r, PetscReal norm, PetscReal watched)
{
  const PetscReal tolerance = PetscMax(r->rtol, norm > 0 ? r->atol / norm : r->atol);
  const PetscBool counted = (PetscBool)(r->reason == KSP_CONVERGED_ITS);
  const PetscReal limit = counted ? tolerance : 1000 * tolerance;
  PetscBool solved = (PetscBool)(r->residual <= limit);

  if (r->least_squares) solved = (PetscBool)(solved || r->normal_residual <= limit || watched <= 10 * tolerance);
  r->converged = (PetscBool)(r->reason > 0 && solved);
  r->misled = (PetscBool)(r->reason > 0 && !solved && !counted);
  if (r->reason > 0 && !solved) Warn(r, tolerance);
}

/* Where a method met a NaN, as only the residual may tell, or a preconditioner could not be set up, an entry of the matrix may be
   the cause, or else one of b: the reason says which. */
static PetscErrorCode NameBadEntry(const Problem *p, Vec b, Report *r)
{
  size_t length;
  char words[128];

  PetscFunctionBegin;
  if (r->reason > 0 && PetscIsInfOrNanReal(r->residual)) { /* a method that looks at no residual does not see it */
    r->reason = KSP_DIVERGED_NANORINF;
    ReportReason(r->reason, r->reason_words, sizeof r->reason_words);
  }
  if (r->reason != KSP_DIVERGED_NANORINF && r->reason != KSP_DIVERGED_PC_FAILED) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ProblemFindBad(p, words, sizeof words));
  if (!words[0]) PetscCall(VectorFindBad(b, "the right-hand side", words, sizeof words));
  length = strlen(r->reason_words);
  if (words[0]) snprintf(r->reason_words + length, sizeof r->reason_words - length, "; %s", words);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The error is worth something only if the solution is all ones; it is computed anyway, and told only then. */
PetscErrorCode CheckWithPlainCSR(Problem *p, Vec b, Vec x, Report *r)
{
  Vec residual, ones, error;
  PetscReal norm, watched = 0;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(b, &residual));
  PetscCall(MultiplyPlainly(p, x, residual));
  PetscCall(VecAYPX(residual, -1, b));
  PetscCall(Relative(residual, b, &r->residual));
  PetscCall(NameBadEntry(p, b, r));
  if (r->least_squares) PetscCall(CheckNormalEquations(p->A, b, residual, r, &watched));
  PetscCall(VecNorm(b, NORM_2, &norm));
  Judge(r, norm, watched);
  PetscCall(VecDuplicate(x, &ones));
  PetscCall(VecDuplicate(x, &error));
  PetscCall(VecSet(ones, 1));
  PetscCall(VecWAXPY(error, -1, ones, x));
  PetscCall(Relative(error, ones, &r->error));
  PetscCall(VecDestroy(&residual));
  PetscCall(VecDestroy(&error));
  PetscCall(VecDestroy(&ones));
  PetscFunctionReturn(PETSC_SUCCESS);
}
