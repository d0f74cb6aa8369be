/* Where our types stand on AIJ alone: nothing to do. */
#include "matmacko.h"

#if !MACKO_ON_CUSPARSE

#define NOTHING(...) \
  PetscFunctionBegin; \
  __VA_ARGS__; \
  PetscFunctionReturn(PETSC_SUCCESS);

PetscErrorCode MackoCusparseBase(Mat A, PetscBool *device)
{
  NOTHING((void)A, *device = PETSC_FALSE)
}

PetscErrorCode MackoCusparseBaseMPI(Mat A, PetscBool *device)
{
  NOTHING((void)A, *device = PETSC_FALSE)
}

PetscErrorCode MackoCusparseSetOperations(Mat A)
{
  NOTHING((void)A)
}

PetscErrorCode MackoCusparseSetOperationsMPI(Mat A)
{
  NOTHING((void)A)
}

PetscErrorCode MackoCusparseProduct(Mat C, PetscErrorCode (*f)(Mat))
{
  NOTHING(PetscCall((*f)(C)))
}

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

PetscErrorCode MackoValuesToHost(Mat A)
{
  NOTHING((void)A)
}

PetscErrorCode MackoChangedOnHost(Mat A)
{
  NOTHING((void)A)
}

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
