/* Where our types stand on AIJ alone: nothing to do. */
#include "matmacko.h"

#if !MACKO_ON_CUSPARSE

/* The body of a function that does what is given and succeeds. */
#define NOTHING(...) \
  PetscFunctionBegin; \
  __VA_ARGS__; \
  PetscFunctionReturn(PETSC_SUCCESS);

/* Here and in the next one *device tells that A stands on AIJ, whatever was asked for. */
PetscErrorCode MackoCusparseBase(Mat A, PetscBool *device)
{
  NOTHING((void)A, *device = PETSC_FALSE)
}

PetscErrorCode MackoCusparseBaseMPI(Mat A, PetscBool *device)
{
  NOTHING((void)A, *device = PETSC_FALSE)
}

/* AIJ's own functions stay in place, with no wrapper around them. */
PetscErrorCode MackoCusparseSetOperations(Mat A)
{
  NOTHING((void)A)
}

PetscErrorCode MackoCusparseSetOperationsMPI(Mat A)
{
  NOTHING((void)A)
}

/* No name needs to be changed for AIJ's products, so that f is called as it is. */
PetscErrorCode MackoCusparseProduct(Mat C, PetscErrorCode (*f)(Mat))
{
  NOTHING(PetscCall((*f)(C)))
}

/* Here and in the next two *done says that the caller is to do it with AIJ's functions. */
PetscErrorCode MackoCusparseProductWith(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done)
{
  NOTHING((void)A, (void)op, (void)x, (void)y, (void)z, *done = PETSC_FALSE)
}

PetscErrorCode MackoCusparseMultTranspose(Mat A, Vec x, Vec y, Vec z, PetscBool *done)
{
  NOTHING((void)A, (void)x, (void)y, (void)z, *done = PETSC_FALSE)
}

PetscErrorCode MackoCusparseGetDiagonal(Mat A, Vec v, PetscBool *done)
{
  NOTHING((void)A, (void)v, *done = PETSC_FALSE)
}

/* AIJ's values are on the host, always. */
PetscErrorCode MackoValuesToHost(Mat A)
{
  NOTHING((void)A)
}

PetscErrorCode MackoChangedOnHost(Mat A)
{
  NOTHING((void)A)
}

/* No arrays are in GPU memory, so that callers open those on the host, and there is nothing to give back or to count below. */
PetscErrorCode MackoCusparseArrays(Mat A, const PetscInt **starts, const PetscInt **cols, const PetscScalar **values,
                                   PetscBool *there)
{
  NOTHING((void)A, (void)starts, (void)cols, (void)values, *there = PETSC_FALSE)
}

PetscErrorCode MackoCusparseRelease(Mat A)
{
  PetscFunctionBegin;
  (void)A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoCusparseAddBytes(Mat A, PetscInt64 *bytes)
{
  NOTHING((void)A, (void)bytes)
}

PetscErrorCode MackoCusparseCopyValues(Mat from, Mat to, PetscBool *done)
{
  NOTHING((void)from, (void)to, *done = PETSC_FALSE)
}

PetscErrorCode MackoCusparseRegister(void)
{
  NOTHING((void)0)
}
#endif
