/* The product of a parallel aijmacko with vectors on GPUs: both blocks with our exchange of the halo between them. */
#include "halo.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "device.h"
#include "halo_ways.h"

/* The diagonal block's product lies between sending and receiving, so that entries travel while the GPU multiplies. The hosts of
   all ranks queue in the same order. */
static PetscErrorCode Product(Mat A, MackoHalo *halo, Vec x, PetscBool add, Vec y)
{
  Mat_Macko   *m = MackoOf(A);
  Mat          diagonal, off;
  Vec          received;
  PetscBool    done;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
  /* This comes before anything is queued, as it may wait for the GPU. */
  PetscCall(MackoHaloRowsUpdate(off, m, &m->halo_rows));
  PetscCall(MackoHaloSend(halo, x));
  if (add) PetscUseTypeMethod(diagonal, multadd, x, y, y);
  else PetscUseTypeMethod(diagonal, mult, x, y);
  PetscCall(MackoHaloReceive(halo, &received));
  PetscCall(MackoHaloRowsAdd(m->halo_rows, received, y, stream, &done));
  if (!done) PetscUseTypeMethod(off, multadd, received, y, y);
  PetscCall(MackoHaloDone(halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whatever says that there is no exchange of ours says so on all ranks. */
PetscErrorCode MackoHaloMult(Mat A, Vec x, PetscBool add, Vec y, PetscBool *done)
{
  Mat             off;
  const PetscInt *cols;
  MackoHalo      *halo;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &cols));
  PetscCall(MackoHaloGetFor(A, x, y, off->cmap->n, cols, &halo));
  *done = (PetscBool)(halo != NULL);
  if (halo) PetscCall(Product(A, halo, x, add, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else /* here no vector is on a GPU */

/* *done says that the caller is to use AIJ's exchange. */
PetscErrorCode MackoHaloMult(Mat A, Vec x, PetscBool add, Vec y, PetscBool *done)
{
  PetscFunctionBegin;
  (void)A, (void)x, (void)add, (void)y;
  *done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
