/* A build without CUDA: products run on the CPU. */
#include "matmacko.h"

/* The sentence names the build, unless the machine has no GPU anyway. */
PetscBool MackoDeviceAllowed(Mat A, const char **why)
{
  (void)A;
  if (why) *why = MackoWithoutGpu("libpetscmacko was built without CUDA");
  return PETSC_FALSE;
}

PetscBool MackoDeviceVectors(void)
{
  return PETSC_FALSE;
}

PetscBool MackoDeviceLoads(void)
{
  return PETSC_FALSE;
}

PetscBool MackoDeviceFound(void)
{
  return PETSC_FALSE;
}

/* *done says that nothing was encoded, on which the caller goes by the CPU. */
PetscErrorCode MackoDeviceEncode(Mat_Macko *m, const MackoRows *rows, PetscBool refresh, PetscBool *done,
                                 macko_status *status, macko_error *err)
{
  PetscFunctionBegin;
  (void)m, (void)rows, (void)refresh, (void)status, (void)err;
  *done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every form is on the host here, so nothing is to be fetched. */
PetscErrorCode MackoDeviceFetch(Mat_Macko *m, macko_status *status, macko_error *err)
{
  PetscFunctionBegin;
  (void)m, (void)err;
  *status = MACKO_OK;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No form is in GPU memory, of which the functions below could tell. */
PetscBool MackoDeviceCurrent(const Mat_Macko *m)
{
  (void)m;
  return PETSC_FALSE;
}

void MackoDeviceInfo(const Mat_Macko *m, macko_info *info)
{
  (void)m, (void)info;
}

/* There is no copy that could be brought up to date. */
PetscErrorCode MackoDeviceUpdate(Mat_Macko *m, macko_status *status, macko_error *err)
{
  PetscFunctionBegin;
  (void)m, (void)status, (void)err;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This is not reached: nothing is allowed on a device, and no vector can be there. */
PetscErrorCode MackoDeviceProduct(Mat A, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y)
{
  PetscFunctionBegin;
  (void)op, (void)k, (void)x, (void)beta, (void)y;
  SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "libpetscmacko was built without CUDA");
}

/* AIJ's own function gives the diagonal then. */
PetscErrorCode MackoDeviceDiagonal(Mat A, PetscScalar *diagonal, PetscBool *done)
{
  PetscFunctionBegin;
  (void)A, (void)diagonal;
  *done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No rows are in GPU memory. */
PetscErrorCode MackoDeviceNonemptyRows(const MackoRows *rows, PetscInt *count)
{
  PetscFunctionBegin;
  (void)rows;
  *count = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscInt64 MackoDeviceBytes(const Mat_Macko *m)
{
  (void)m;
  return 0;
}

void MackoDeviceFree(Mat_Macko *m)
{
  (void)m;
}
