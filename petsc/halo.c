/* The exchange of halo entries on GPUs for the parallel types of ours: whom it concerns, which way is taken, and its steps. */
#include "halo.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "device.h"
#include "halo_ways.h"

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
  PetscCall(MackoHaloRowsDestroy(&m->halo_rows));
  if (!m->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoHaloHostDestroy(&m->halo->host));
  PetscCall(MackoHaloPeerDestroy(&m->halo->peer));
  PetscCall(PetscFree(m->halo->cols));
  PetscCall(PetscFree(m->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- which way ---- */

/* Says whether the exchange is to be made anew because the off-diagonal block of any rank has other columns. They are compared
   one by one, because no counter of PETSc says so for certain, but only where the matrix has changed at all. Collective. */
static PetscErrorCode IsStale(Mat A, PetscInt ncols, const PetscInt *cols, const Mat_Macko *m, PetscBool *stale)
{
  MackoHalo       *h = m->halo;
  PetscObjectState state;
  PetscBool        same = PETSC_FALSE;

  PetscFunctionBegin;
  *stale = (PetscBool)(!h || h->owner != A || h->asked != m->halo_path);
  if (*stale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (state == h->state) PetscFunctionReturn(PETSC_SUCCESS);
  h->state = state;
  if (ncols == h->ncols) PetscCall(PetscArraycmp(cols, h->cols, (size_t)ncols, &same));
  PetscCall(MackoOnAny(A, !same, stale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the way from GPU to GPU where that is possible and nothing else was asked for; otherwise the way through host memory.
   That is so even where MPI takes memory of GPUs, because PETSc's own exchange would receive in host memory that is not pinned.
   Collective; fails on all ranks or on none. */
static PetscErrorCode Choose(Mat A, MackoHalo *h)
{
  MPI_Comm       comm  = PetscObjectComm((PetscObject)A);
  PetscErrorCode error = PETSC_SUCCESS;
  /* The graph leads from the entries of x to the columns of the off-diagonal block. */
  PetscSF        entries;

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(comm, &entries));
  PetscCall(PetscSFSetGraphLayout(entries, A->cmap, h->ncols, NULL, PETSC_OWN_POINTER, h->cols));
  if (h->asked == MACKO_HALO_HOST) PetscCall(PetscStrncpy(h->why, "-mat_macko_halo host", sizeof h->why));
  else PetscCall(MackoHaloPeerCreate(entries, h->ncols, &h->peer, h->why));
  if (!h->peer && h->asked != MACKO_HALO_PEER) error = MackoHaloHostCreate(entries, A->cmap->n, h->ncols, &h->host);
  PetscCall(PetscSFDestroy(&entries));
  PetscCheck(h->peer || h->asked != MACKO_HALO_PEER, comm, PETSC_ERR_SUP, "-mat_macko_halo peer: %s", h->why);
  PetscCall(error);
  if (h->peer) PetscCall(PetscInfo(A, "Halo from GPU to GPU\n"));
  else PetscCall(PetscInfo(A, "Halo through host memory: %s\n", h->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the exchange of A anew. Where any rank may not use a GPU neither way is taken. A failure leaves no exchange, so that the
   next product fails likewise and does not go another way. Collective. */
static PetscErrorCode Make(Mat A, PetscInt ncols, const PetscInt *cols, Mat_Macko *m)
{
  PetscErrorCode error   = PETSC_SUCCESS;
  PetscBool      allowed;
  MackoHalo     *h;

  PetscFunctionBegin;
  PetscCall(MackoHaloFree(m));
  PetscCall(PetscNew(&h));
  m->halo  = h;
  h->owner = A;
  h->asked = m->halo_path;
  PetscCall(PetscObjectStateGet((PetscObject)A, &h->state));
  h->ncols = ncols;
  PetscCall(PetscMalloc1(ncols, &h->cols));
  PetscCall(PetscArraycpy(h->cols, cols, (size_t)ncols));
  PetscCall(MackoOnAll(A, MackoDeviceAllowed(A, NULL), &allowed));
  if (allowed) error = Choose(A, h);
  if (error) PetscCall(MackoHaloFree(m));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The columns are copied, so that those of the caller may go. */
PetscErrorCode MackoHaloGet(Mat A, PetscInt ncols, const PetscInt *cols, MackoHalo **halo)
{
  Mat_Macko *m;
  PetscBool  stale;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  PetscCall(IsStale(A, ncols, cols, m, &stale));
  if (stale) PetscCall(Make(A, ncols, cols, m));
  *halo = m->halo->peer || m->halo->host ? m->halo : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of one layout are taken to be on the GPU on all ranks or on none, so that *halo is NULL on all ranks alike before any
   of them communicates. The size of x is checked here because PETSc's own exchange, which would, is not used. */
PetscErrorCode MackoHaloGetFor(Mat A, Vec x, Vec y, PetscInt ncols, const PetscInt *cols, MackoHalo **halo)
{
  Mat_Macko *m;
  PetscBool  x_on, y_on;
  PetscInt   n;

  PetscFunctionBegin;
  *halo = NULL;
  PetscCall(MackoOnDevice(x, &x_on));
  PetscCall(MackoOnDevice(y, &y_on));
  PetscCall(MackoGet(A, &m));
  if (!x_on || !y_on || MackoBoundToCPU(A) || m->backend == MACKO_BACKEND_CPU) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "x has %" PetscInt_FMT " local entries, the matrix %" PetscInt_FMT " local columns", n, A->cmap->n);
  PetscCall(MackoHaloGet(A, ncols, cols, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exchange is made for this if no product has made it, so that the answer is what products will do. */
PetscErrorCode MackoHaloView(Mat A, PetscInt ncols, const PetscInt *cols, PetscViewer viewer)
{
  MackoHalo *h;

  PetscFunctionBegin;
  PetscCall(MackoHaloGet(A, ncols, cols, &h));
  if (h && h->peer) PetscCall(PetscViewerASCIIPrintf(viewer, "halo from GPU to GPU\n"));
  else if (h) PetscCall(PetscViewerASCIIPrintf(viewer, "halo through host memory: %s\n", h->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the steps of a product ---- */

/* Begins the exchange of the entries of an array in GPU memory. */
static PetscErrorCode Send(MackoHalo *h, const PetscScalar *x)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (h->peer) PetscCall(MackoHaloPeerSend(h->peer, x, stream));
  else PetscCall(MackoHaloHostSend(h->host, x, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The array is open only while its entries are picked, since the stream keeps the order from there. */
PetscErrorCode MackoHaloSend(MackoHalo *h, Vec x)
{
  const PetscScalar *a;
  PetscMemType       where;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(x, &a, &where));
  PetscCall(Send(h, a));
  PetscCall(VecRestoreArrayReadAndMemType(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's stream waits for the entries, the host at most for those that it sends. */
PetscErrorCode MackoHaloReceive(MackoHalo *h, Vec *received)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (h->peer) PetscCall(MackoHaloPeerReceive(h->peer, stream, received));
  else PetscCall(MackoHaloHostReceive(h->host, stream, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neighbours that write into this GPU's memory learn that they may do so again; the way through the host needs no such word. */
PetscErrorCode MackoHaloDone(MackoHalo *h)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (h->peer) PetscCall(MackoHaloPeerDone(h->peer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exchange's own vector is overwritten by the next column, so that its entries are copied, within GPU memory. */
PetscErrorCode MackoHaloBring(MackoHalo *h, const PetscScalar *x, PetscScalar *to)
{
  Vec                received;
  const PetscScalar *from;
  PetscMemType       where;
  cudaStream_t       stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  PetscCall(Send(h, x));
  PetscCall(MackoHaloReceive(h, &received));
  PetscCall(VecGetArrayReadAndMemType(received, &from, &where));
  if (h->ncols)
    PetscCall(MackoHaloCudaCheck(cudaMemcpyAsync(to, from, (size_t)h->ncols * sizeof *to, cudaMemcpyDeviceToDevice, stream)));
  PetscCall(VecRestoreArrayReadAndMemType(received, &from));
  PetscCall(MackoHaloDone(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#else /* here no vector is on a GPU: no matrix has an exchange of ours, and its steps are not reached */

PetscErrorCode MackoHaloGet(Mat A, PetscInt ncols, const PetscInt *cols, MackoHalo **halo)
{
  PetscFunctionBegin;
  (void)A, (void)ncols, (void)cols;
  *halo = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloGetFor(Mat A, Vec x, Vec y, PetscInt ncols, const PetscInt *cols, MackoHalo **halo)
{
  PetscFunctionBegin;
  (void)x, (void)y;
  PetscCall(MackoHaloGet(A, ncols, cols, halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloView(Mat A, PetscInt ncols, const PetscInt *cols, PetscViewer viewer)
{
  PetscFunctionBegin;
  (void)A, (void)ncols, (void)cols, (void)viewer;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloSend(MackoHalo *h, Vec x)
{
  PetscFunctionBegin;
  (void)h, (void)x;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloReceive(MackoHalo *h, Vec *received)
{
  PetscFunctionBegin;
  (void)h, (void)received;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloDone(MackoHalo *h)
{
  PetscFunctionBegin;
  (void)h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloBring(MackoHalo *h, const PetscScalar *x, PetscScalar *to)
{
  PetscFunctionBegin;
  (void)h, (void)x, (void)to;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloFree(Mat_Macko *m)
{
  PetscFunctionBegin;
  (void)m;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
