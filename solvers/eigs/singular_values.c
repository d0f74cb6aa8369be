/* Singular values with SLEPc's SVD. */
#include "eigs/eigenpairs.h"

#include <slepcsvd.h>

/* SLEPc calls this monitor at every iteration; `watch` is the Watch. */
static PetscErrorCode WatchSVD(SVD svd, PetscInt its, PetscInt nconv, PetscReal *sigma, PetscReal *error, PetscInt n, void *watch)
{
  PetscInt nsv;
  (void)sigma, (void)error, (void)n;

  PetscFunctionBegin;
  PetscCall(SVDGetDimensions(svd, &nsv, NULL, NULL));
  PetscCall(PairsProgress((Watch *)watch, its, nconv, nsv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes out of the solver what the summary needs, so that it can be destroyed. Right vectors go into re, left ones into im, and
   the values into the pairs' re; a matrix that is not square gives vectors of two lengths. */
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
  PetscCall(SVDGetTolerances(svd, &r->tolerance, NULL));
  PetscCall(SVDGetConverged(svd, &r->count));
  PetscCall(SVDGetIterationNumber(svd, &r->iterations));
  PetscCall(PetscStrncpy(r->problem, "singular values", sizeof r->problem));
  PetscCall(PetscStrncpy(r->which, which == SVD_LARGEST ? "largest" : "smallest", sizeof r->which));
  PetscCall(PetscStrncpy(r->solver, type, sizeof r->solver));
  PetscCall(PetscStrncpy(r->reason, SVDConvergedReasons[reason], sizeof r->reason));
  PetscCall(PetscStrncpy(r->reason_words, PairsReasonInWords((int)reason), sizeof r->reason_words));
  /* SLEPc's reasons are positive for success. */
  r->converged = (PetscBool)(reason > 0);
  PetscCall(PetscCalloc3(r->count, &r->pairs, r->count, &r->re, r->count, &r->im));
  /* SLEPc gives the left vector before the right one; MatCreateVecs makes the right one first. */
  for (PetscInt i = 0; i < r->count; i++) {
    PetscCall(MatCreateVecs(a->A, &r->re[i], &r->im[i]));
    PetscCall(SVDGetSingularTriplet(svd, i, &r->pairs[i].re, r->im[i], r->re[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Time in products is the difference of PETSc's counts before and after the solve. */
PetscErrorCode SolveSVD(const Problem *a, Pairs *r)
{
  SVD svd;
  Watch watch = {0, 0};
  PetscLogDouble end, before, after;
  PetscBool compressed;
  PetscInt wanted;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(SVDCreate(PETSC_COMM_WORLD, &svd));
  PetscCall(SVDSetOperators(svd, a->A, NULL));
  /* Type macko multiplies with its transpose and does not make one. */
  PetscCall(PetscObjectTypeCompareAny((PetscObject)a->A, &compressed, MATSEQMACKO, MATMPIMACKO, ""));
  if (compressed) PetscCall(SVDSetImplicitTranspose(svd, PETSC_TRUE));
  PetscCall(SVDSetType(svd, SVDTRLANCZOS)); /* SLEPc's default works with A'A, which squares the small ones */
  PetscCall(SVDMonitorSet(svd, WatchSVD, &watch, NULL));
  PetscCall(SVDSetFromOptions(svd));
  PetscCall(SVDGetDimensions(svd, &wanted, NULL, NULL));
  PetscCheck(wanted <= PetscMin(r->rows, r->cols), PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-svd_nsv %lld: a matrix of %lld x %lld has no more than %lld singular values", (long long)wanted, (long long)r->rows,
             (long long)r->cols, (long long)PetscMin(r->rows, r->cols));
  /* SLEPc's Lanczos would fail in the words of LAPACK. */
  PetscCall(MatNorm(a->A, NORM_INFINITY, &norm));
  PetscCheck(norm > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_WRONG,
             "%s: no entry differs from 0, and so does no singular value", r->path);
  PetscCall(StorageProductSeconds(&before));
  PetscCall(PetscTime(&watch.start));
  PetscCall(SVDSolve(svd));
  PetscCall(PetscTime(&end));
  PetscCall(StorageProductSeconds(&after));
  PetscCall(PairsEndProgress(&watch));
  r->solve = end - watch.start, r->products = after - before;
  PetscCall(CollectSVD(svd, a, r));
  PetscCall(SVDDestroy(&svd));
  PetscFunctionReturn(PETSC_SUCCESS);
}

