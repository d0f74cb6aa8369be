/* The halo of a parallel product on GPUs: whom this concerns, when, and the product. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo.h"

#include <petscdevice_cuda.h>

struct MackoHalo {
  Mat              owner; /* as in Mat_Macko */
  MackoHaloPath    asked;
  PetscObjectState state; /* of the matrix when it was last looked at */
  PetscInt         ncols, *cols; /* of the off-diagonal block, as columns of the matrix */
  MackoHaloHost   *host; /* one of the two, the same on all ranks; neither where a rank has no GPU */
  MackoHaloPeer   *peer;
  MackoHaloReason  why; /* not peer */
  MackoHaloRows   *rows;
};

PetscErrorCode MackoHaloCudaCheck(cudaError_t error)
{
  PetscFunctionBegin;
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "halo exchange: %s", cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloFree(Mat_Macko *m)
{
  PetscFunctionBegin;
  if (!m->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoHaloHostDestroy(&m->halo->host));
  PetscCall(MackoHaloPeerDestroy(&m->halo->peer));
  PetscCall(MackoHaloRowsDestroy(&m->halo->rows));
  PetscCall(PetscFree(m->halo->cols));
  PetscCall(PetscFree(m->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- which way ---- */

/* Other columns in the off-diagonal block of any rank; no counter of PETSc says so for certain. */
static PetscErrorCode IsStale(Mat A, PetscInt ncols, const PetscInt *cols, const Mat_Macko *m, PetscBool *stale)
{
  struct MackoHalo *h = m->halo;
  PetscObjectState  state;
  PetscBool         same = PETSC_FALSE;
  PetscMPIInt       mine, any;

  PetscFunctionBegin;
  *stale = (PetscBool)(!h || h->owner != A || h->asked != m->halo_path);
  if (*stale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (state == h->state) PetscFunctionReturn(PETSC_SUCCESS);
  h->state = state;
  if (ncols == h->ncols) PetscCall(PetscArraycmp(cols, h->cols, (size_t)ncols, &same));
  mine = !same;
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  *stale = (PetscBool)any;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From GPU to GPU where that is possible, unless asked otherwise; else through host memory, also where MPI takes memory of GPUs:
   AIJ's own exchange would receive in host memory that is not pinned. */
static PetscErrorCode Choose(Mat A, PetscInt ncols, const PetscInt *cols, struct MackoHalo *h)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscSF  entries; /* from those of x to the columns of the off-diagonal block */

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(comm, &entries));
  PetscCall(PetscSFSetGraphLayout(entries, A->cmap, ncols, NULL, PETSC_OWN_POINTER, cols));
  if (h->asked == MACKO_HALO_HOST) PetscCall(PetscStrncpy(h->why, "-mat_macko_halo host", sizeof h->why));
  else PetscCall(MackoHaloPeerCreate(entries, ncols, &h->peer, h->why));
  PetscCheck(h->peer || h->asked != MACKO_HALO_PEER, comm, PETSC_ERR_SUP, "-mat_macko_halo peer: %s", h->why);
  if (!h->peer) PetscCall(MackoHaloHostCreate(entries, A->cmap->n, ncols, &h->host));
  PetscCall(PetscSFDestroy(&entries));
  if (h->peer) PetscCall(PetscInfo(A, "Halo from GPU to GPU\n"));
  else PetscCall(PetscInfo(A, "Halo through host memory: %s\n", h->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Update(Mat A, Mat_Macko *m)
{
  PetscMPIInt       allowed = MackoDeviceAllowed(A, NULL), all_allowed;
  PetscBool         stale;
  Mat               off;
  struct MackoHalo *h;
  const PetscInt   *cols;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &cols));
  PetscCall(IsStale(A, off->cmap->n, cols, m, &stale));
  if (!stale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoHaloFree(m));
  PetscCall(PetscNew(&h));
  m->halo  = h;
  h->owner = A;
  h->asked = m->halo_path;
  PetscCall(PetscObjectStateGet((PetscObject)A, &h->state));
  h->ncols = off->cmap->n;
  PetscCall(PetscMalloc1(h->ncols, &h->cols));
  PetscCall(PetscArraycpy(h->cols, cols, (size_t)h->ncols));
  PetscCallMPI(MPI_Allreduce(&allowed, &all_allowed, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (all_allowed) PetscCall(Choose(A, off->cmap->n, cols, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloView(Mat A, PetscViewer viewer)
{
  Mat_Macko *m;

  PetscFunctionBegin;
  if (!MackoDeviceVectors()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoGet(A, &m));
  PetscCall(Update(A, m));
  if (m->halo->peer) PetscCall(PetscViewerASCIIPrintf(viewer, "halo from GPU to GPU\n"));
  else if (m->halo->host) PetscCall(PetscViewerASCIIPrintf(viewer, "halo through host memory: %s\n", m->halo->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the product ---- */

static PetscErrorCode Product(Mat A, const Mat_Macko *m, Vec x, PetscBool add, Vec y)
{
  struct MackoHalo  *h = m->halo;
  Mat                diagonal, off;
  Vec                received;
  const PetscScalar *a;
  PetscMemType       where;
  PetscBool          done;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
  PetscCall(MackoHaloRowsUpdate(off, m, &h->rows));
  PetscCall(VecGetArrayReadAndMemType(x, &a, &where));
  if (h->peer) PetscCall(MackoHaloPeerSend(h->peer, a, stream));
  else PetscCall(MackoHaloHostSend(h->host, a, stream));
  PetscCall(VecRestoreArrayReadAndMemType(x, &a));
  if (add) PetscUseTypeMethod(diagonal, multadd, x, y, y);
  else PetscUseTypeMethod(diagonal, mult, x, y);
  if (h->peer) PetscCall(MackoHaloPeerReceive(h->peer, stream, &received));
  else PetscCall(MackoHaloHostReceive(h->host, stream, &received));
  PetscCall(MackoHaloRowsAdd(h->rows, received, y, stream, &done));
  if (!done) PetscUseTypeMethod(off, multadd, received, y, y);
  if (h->peer) PetscCall(MackoHaloPeerDone(h->peer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloMult(Mat A, Vec x, PetscBool add, Vec y, PetscBool *done)
{
  Mat_Macko *m;
  PetscBool  x_on, y_on;
  PetscInt   n;

  PetscFunctionBegin;
  PetscCall(MackoOnDevice(x, &x_on));
  PetscCall(MackoOnDevice(y, &y_on));
  PetscCall(MackoGet(A, &m));
  *done = (PetscBool)(x_on && y_on && !MackoBoundToCPU(A) && m->backend != MACKO_BACKEND_CPU);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "x has %" PetscInt_FMT " local entries, the matrix %" PetscInt_FMT " local columns", n, A->cmap->n);
  PetscCall(Update(A, m));
  *done = (PetscBool)(m->halo->peer || m->halo->host);
  if (*done) PetscCall(Product(A, m, x, add, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else /* no vectors on the GPU */

PetscErrorCode MackoHaloMult(Mat A, Vec x, PetscBool add, Vec y, PetscBool *done)
{
  PetscFunctionBegin;
  (void)A, (void)x, (void)add, (void)y;
  *done = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloView(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  (void)A, (void)viewer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloFree(Mat_Macko *m)
{
  PetscFunctionBegin;
  (void)m;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
