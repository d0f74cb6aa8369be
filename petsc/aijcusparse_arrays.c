/* Standing on AIJCUSPARSE: products by that type, and its arrays in GPU memory, which come and go. */
#include "aijcusparse.h"

#if MACKO_ON_CUSPARSE
#include <petscdevice_cuda.h>

/* Says whether A stands on that type and products with it may run on a GPU. */
static PetscBool MayUseDevice(Mat A)
{
  const Mat_Macko *m = MackoOf(A);
  return (PetscBool)(m && m->kind->device && MackoDeviceAllowed(A, NULL));
}

/* With one vector on the host nothing is done. Where y is given it is z itself: callers have copied it there. */
PetscErrorCode MackoCusparseProductWith(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done)
{
  PetscBool x_on, z_on;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!MayUseDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoOnDevice(x, &x_on));
  PetscCall(MackoOnDevice(z, &z_on));
  if (!x_on || !z_on) PetscFunctionReturn(PETSC_SUCCESS);
  if (y) MACKO_AS_BASE(A, (*(op == MACKO_OP_N ? MackoCusparseOps()->multadd : MackoCusparseOps()->multtransposeadd))(A, x, z, z));
  else MACKO_AS_BASE(A, (*(op == MACKO_OP_N ? MackoCusparseOps()->mult : MackoCusparseOps()->multtranspose))(A, x, z));
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix that is known to be symmetric is left to the compressed form, whose forward product serves then. Otherwise that type's
   product with the transpose is used, which needs no second copy of the matrix. */
PetscErrorCode MackoCusparseMultTranspose(Mat A, Vec x, Vec y, Vec z, PetscBool *done)
{
  PetscBool known = PETSC_FALSE, symmetric = PETSC_FALSE, y_on = PETSC_TRUE;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!MayUseDevice(A)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSymmetricKnown(A, &known, &symmetric));
  if (known && symmetric) PetscFunctionReturn(PETSC_SUCCESS);
  if (y) PetscCall(MackoOnDevice(y, &y_on));
  if (!y_on) PetscFunctionReturn(PETSC_SUCCESS);
  if (y && y != z) PetscCall(VecCopy(y, z)); /* that type adds what was in z before */
  PetscCall(MackoCusparseProductWith(A, MACKO_OP_T, x, y ? z : NULL, z, done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* That type's own function goes wrong where it leaves out empty rows, which would have to be looked for on the host. */
PetscErrorCode MackoCusparseGetDiagonal(Mat A, Vec v, PetscBool *done)
{
  MackoRows rows;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!MayUseDevice(A) || A->factortype || A->rmap->n != A->cmap->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoOnDevice(v, done));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoOpenRows(A, PETSC_TRUE, &rows));
  *done = rows.device;
  if (*done) PetscCall(MackoDeviceRowsDiagonal(&rows, v));
  PetscCall(MackoCloseRows(A, &rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Opening the array for reading brings the values to the host where only the GPU has them. A parallel matrix's values are in its
   blocks. */
PetscErrorCode MackoValuesToHost(Mat A)
{
  const Mat_Macko   *m = MackoOf(A);
  const PetscScalar *values;
  Mat                blocks[2] = {A, NULL};

  PetscFunctionBegin;
  if (!m->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->kind == &MackoMPIDevice) PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
  for (int i = 0; i < 2 && blocks[i]; i++) {
    PetscCall(MatSeqAIJGetArrayRead(blocks[i], &values));
    PetscCall(MatSeqAIJRestoreArrayRead(blocks[i], &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The mask says that the host's values are the valid ones; that type then copies them when it next wants them. */
PetscErrorCode MackoChangedOnHost(Mat A)
{
  PetscFunctionBegin;
  if (MackoOf(A)->kind == &MackoSeqDevice) A->offloadmask = PETSC_OFFLOAD_CPU;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gets the row pointers, columns and values in GPU memory; that type copies there what is missing. */
static PetscErrorCode GetArrays(Mat A, const PetscInt **starts, const PetscInt **cols, const PetscScalar **values)
{
  PetscFunctionBegin;
  MACKO_AS_BASE(A, MatSeqAIJCUSPARSEGetIJ(A, PETSC_FALSE, starts, cols));
  MACKO_AS_BASE(A, MatSeqAIJCUSPARSEGetArrayRead(A, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays that are not there, or older than the host's, are not copied for this: encoding may read the host's. */
PetscErrorCode MackoCusparseArrays(Mat A, const PetscInt **starts, const PetscInt **cols, const PetscScalar **values,
                                   PetscBool *there)
{
  PetscFunctionBegin;
  *there = (PetscBool)(MayUseDevice(A) && (A->offloadmask == PETSC_OFFLOAD_GPU || A->offloadmask == PETSC_OFFLOAD_BOTH));
  if (*there) PetscCall(GetArrays(A, starts, cols, values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays are given back where products have no more use for them. With auto they stay where values arrive on the GPU, so that
   the host's are the older ones, or where something other than a product has used them. Nothing is given back before the
   compressed form is in GPU memory, of a factor, or where a later call needs what that type keeps with the arrays. */
PetscErrorCode MackoCusparseRelease(Mat A)
{
  const Mat_Macko *m = MackoOf(A);
  PetscBool        both;

  PetscFunctionBegin;
  if (m->kind != &MackoSeqDevice || A->boundtocpu || A->factortype || !MackoDeviceCurrent(m)) PetscFunctionReturn(PETSC_SUCCESS);
  /* A mask of both says that the host's values are as new as the GPU's, so that nothing has to be copied back. */
  both = (PetscBool)(A->offloadmask == PETSC_OFFLOAD_BOTH);
  if (m->keep_csr == MACKO_KEEP_YES || (m->keep_csr == MACKO_KEEP_AUTO && (!both || m->csr_used)))
    PetscFunctionReturn(PETSC_SUCCESS);
  if (!both && A->offloadmask != PETSC_OFFLOAD_GPU) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->csr_bound || !A->nonzerostate) PetscFunctionReturn(PETSC_SUCCESS); /* 0: the arrays were never there */
  PetscCall(MackoValuesToHost(A));
  PetscCall(MackoFreeCusparse(A, PETSC_TRUE));
  A->offloadmask       = PETSC_OFFLOAD_CPU;
  MackoOf(A)->csr_gone = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a parallel matrix both blocks get their arrays. Asking for the arrays is what makes that type copy them. */
PetscErrorCode MackoCusparseRetrieve(Mat A)
{
  Mat_Macko         *m = A ? MackoOf(A) : NULL;
  const PetscInt    *starts, *cols;
  const PetscScalar *values;
  Mat                blocks[2] = {NULL, NULL};

  PetscFunctionBegin;
  if (!m || !m->kind || !m->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  m->csr_used = PETSC_TRUE;
  if (m->kind == &MackoMPIDevice) {
    PetscCall(MatMPIAIJGetSeqAIJ(A, &blocks[0], &blocks[1], NULL));
    for (int i = 0; i < 2; i++) PetscCall(MackoCusparseRetrieve(blocks[i]));
  } else if (m->csr_gone && A->boundtocpu) PetscFunctionReturn(PETSC_SUCCESS); /* wanted once A is bound to the GPU again */
  else if (m->csr_gone) PetscCall(GetArrays(A, &starts, &cols, &values));
  m->csr_gone = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts the three arrays of csr; what that type keeps besides is not known from outside. */
PetscErrorCode MackoCusparseAddBytes(Mat A, PetscInt64 *bytes)
{
  const Mat_Macko *m = MackoOf(A);
  MatInfo          info;

  PetscFunctionBegin;
  if (!m || !m->kind || !m->kind->device) PetscFunctionReturn(PETSC_SUCCESS);
  if (A->offloadmask != PETSC_OFFLOAD_GPU && A->offloadmask != PETSC_OFFLOAD_BOTH) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  *bytes += (PetscInt64)info.nz_used * (PetscInt64)(sizeof(PetscScalar) + sizeof(PetscInt)) +
            ((PetscInt64)A->rmap->n + 1) * (PetscInt64)sizeof(PetscInt);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy is queued on PETSc's stream and is not waited for. It has as many values as the target has entries. */
PetscErrorCode MackoCusparseCopyValues(Mat from, Mat to, PetscBool *done)
{
  const PetscInt    *starts, *cols;
  const PetscScalar *source;
  PetscScalar       *target;
  MatInfo            info;
  cudaStream_t       stream;
  cudaError_t        error;

  PetscFunctionBegin;
  PetscCall(MackoCusparseArrays(from, &starts, &cols, &source, done));
  *done = (PetscBool)(*done && MayUseDevice(to));
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetInfo(to, MAT_LOCAL, &info));
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  MACKO_AS_BASE(to, MatSeqAIJCUSPARSEGetArray(to, &target)); /* this makes room for them, if there was none */
  error = cudaMemcpyAsync(target, source, (size_t)info.nz_used * sizeof *source, cudaMemcpyDeviceToDevice, stream);
  MACKO_AS_BASE(to, MatSeqAIJCUSPARSERestoreArray(to, &target));
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "copying values: %s", cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif
