/* The halo of a parallel product on GPUs: whom this concerns, when, and the product. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo.h"

#include <petscdevice_cuda.h>

/* A parallel matrix keeps this for its exchange; Mat_Macko points to it. */
struct MackoHalo {
  /* MatHeaderMerge may hand the struct to another matrix, which the address tells, as in Mat_Macko. */
  Mat              owner;
  /* This is the option that the choice was made with; another one makes it anew. */
  MackoHaloPath    asked;
  /* This is the state of the matrix when it was last looked at. */
  PetscObjectState state;
  /* These are the columns of the off-diagonal block, by their numbers in the whole matrix. */
  PetscInt         ncols, *cols;
  /* One of these two is there, the same on all ranks, and neither where a rank has no GPU. */
  MackoHaloHost   *host;
  MackoHaloPeer   *peer;
  /* The sentence says why there is no peer. */
  MackoHaloReason  why;
  /* This is NULL before the first product. */
  MackoHaloRows   *rows;
};

PetscErrorCode MackoHaloCudaCheck(cudaError_t error)
{
  PetscFunctionBegin;
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "halo exchange: %s", cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective, since the ranks of an exchange from GPU to GPU must not free memory that others have mapped. */
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

/* Says whether the exchange is to be made anew because the off-diagonal block of any rank has other columns. They are compared
   one by one, because no counter of PETSc says so for certain, but only where the matrix has changed at all. Collective. */
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

/* Takes the way from GPU to GPU where that is possible and nothing else was asked for; otherwise the way through host memory.
   That is so even where MPI takes memory of GPUs, because AIJ's own exchange would receive in host memory that is not pinned.
   Collective. */
static PetscErrorCode Choose(Mat A, PetscInt ncols, const PetscInt *cols, struct MackoHalo *h)
{
  MPI_Comm comm = PetscObjectComm((PetscObject)A);
  /* The graph leads from the entries of x to the columns of the off-diagonal block. */
  PetscSF  entries;

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

/* Makes the exchange of A where there is none yet or the one there is stale. Collective. Where any rank may not use a GPU,
   neither way is taken, and products go as AIJ's. */
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

/* The exchange is made for this if no product has made it, so that the answer is what products will do. Collective. */
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

/* The diagonal block's product lies between sending and receiving, so that entries travel while the GPU multiplies. The hosts of
   all ranks queue in the same order; x is open only while its entries are picked, since the stream keeps the order from there. */
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
  /* This comes before anything is queued, as it may wait for the GPU. */
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

/* Vectors of one layout are taken to be on the GPU on all ranks or on none, so that *done is the same before any rank
   communicates. The size of x is checked here because AIJ's own product, which would, is not called. */
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

#else /* here no vector is on a GPU */

/* *done says that the caller is to use AIJ's exchange. */
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
