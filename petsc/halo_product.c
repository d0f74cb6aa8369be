/* Products of a parallel aijmacko, and of its transpose, with vectors on GPUs: both blocks with our exchange of the halo between
 * them. */
#include "halo.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "device.h"
#include "halo_ways.h"

/* Brings what the product needs of the off-diagonal block up to date. Other ranks would wait for one that failed, so that they
   agree after each change of A, which all notice together: what may fail happens in the first product after one. */
static PetscErrorCode Ready(Mat A, Mat off, MackoHalo *halo)
{
  Mat          multiplies;
  macko_status status;
  macko_error  err = {0};
  PetscBool    changed;

  PetscFunctionBegin;
  PetscCall(MackoHaloRowsUpdate(off, MackoOf(A), &multiplies, &status, &err));
  if (!status) PetscCall(MackoUpdate(multiplies, &status, &err));
  PetscCall(MackoHaloChanged(halo, MACKO_OP_N, &changed));
  if (changed) PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), status, err.text));
  else PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* z = A x, or z = y + A x. The diagonal block's product lies between sending and receiving, so that entries travel while the GPU
   multiplies. The hosts of all ranks queue in the same order. */
static PetscErrorCode Product(Mat A, MackoHalo *halo, Vec x, Vec y, Vec z)
{
  Mat_Macko   *m = MackoOf(A);
  Mat          diagonal, off;
  Vec          received;
  PetscBool    done;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
  PetscCall(Ready(A, off, halo));
  PetscCall(MackoHaloSend(halo, x));
  if (y) PetscUseTypeMethod(diagonal, multadd, x, y, z);
  else PetscUseTypeMethod(diagonal, mult, x, z);
  PetscCall(MackoHaloReceive(halo, &received));
  PetscCall(MackoHaloRowsAdd(m->halo_rows, received, z, stream, &done));
  if (!done) PetscUseTypeMethod(off, multadd, received, z, z);
  PetscCall(MackoHaloDone(halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets sums to the off-diagonal block's part. Where that makes a transpose, ranks agree that all could, as in Ready. */
static PetscErrorCode Sum(Mat A, Mat off, MackoHalo *halo, Vec x, Vec sums)
{
  PetscErrorCode error;
  PetscBool      changed;

  PetscFunctionBegin;
  PetscCall(MackoHaloChanged(halo, MACKO_OP_T, &changed));
  error = (*off->ops->multtranspose)(off, x, sums);
  if (changed) PetscCall(MackoAgree(PetscObjectComm((PetscObject)A), error ? MACKO_DEVICE : MACKO_OK, "product with a transpose"));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same with the transpose. The sums travel while the GPU multiplies by the diagonal block. */
static PetscErrorCode ProductTransposed(Mat A, MackoHalo *halo, Vec x, Vec y, Vec z)
{
  Mat diagonal, off;
  Vec sums;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
  PetscCall(MackoHaloSums(halo, &sums));
  PetscCall(Sum(A, off, halo, x, sums));
  PetscCall(MackoHaloReturnVec(halo));
  if (y) PetscUseTypeMethod(diagonal, multtransposeadd, x, y, z);
  else PetscUseTypeMethod(diagonal, multtranspose, x, z);
  PetscCall(MackoHaloAddVec(halo, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whatever says that there is no exchange of ours says so on all ranks. */
PetscErrorCode MackoHaloMult(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done)
{
  const PetscBool forward = (PetscBool)(op == MACKO_OP_N);
  Mat             off;
  const PetscInt *cols;
  MackoHalo      *halo;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &cols));
  PetscCall(MackoHaloGetFor(A, forward ? x : z, forward ? z : x, off->cmap->n, cols, &halo));
  *done = (PetscBool)(halo != NULL);
  if (halo) PetscCall((*(forward ? Product : ProductTransposed))(A, halo, x, y, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else /* here no vector is on a GPU */

/* *done says that the caller is to use AIJ's exchange. */
PetscErrorCode MackoHaloMult(Mat A, macko_op op, Vec x, Vec y, Vec z, PetscBool *done)
{
  PetscFunctionBegin;
  (void)A, (void)op, (void)x, (void)y, (void)z;
  *done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
