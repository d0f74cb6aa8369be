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
  /* It is there on all ranks, or on none where one has no GPU. */
  PetscBool        made;
  MackoHaloWay     way;
  /* The exchange the other way is NULL before the first product with the transpose. */
  MackoHaloBack   *back;
  /* These are the states of the matrix at the last product, and at the last one with its transpose; one is added, as 0 says
     that there was none. */
  PetscObjectState multiplied[2];
};

/* Collective, since the ranks of an exchange from GPU to GPU must not free memory that others have mapped. */
static PetscErrorCode Free(Mat_Macko *m)
{
  PetscFunctionBegin;
  if (!m->halo) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoHaloBackDestroy(&m->halo->back));
  PetscCall(MackoHaloWayDestroy(&m->halo->way));
  PetscCall(PetscFree(m->halo->cols));
  PetscCall(PetscFree(m->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloFree(Mat_Macko *m)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloRowsDestroy(&m->halo_rows));
  PetscCall(Free(m));
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

/* *entries becomes the graph that leads from the entries of x to the columns of the off-diagonal block. Collective. */
static PetscErrorCode Graph(const MackoHalo *h, PetscSF *entries)
{
  PetscFunctionBegin;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)h->owner), entries));
  PetscCall(PetscSFSetGraphLayout(*entries, h->owner->cmap, h->ncols, NULL, PETSC_OWN_POINTER, h->cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails on all ranks or on none. Collective. */
static PetscErrorCode MakeWay(MackoHalo *h)
{
  PetscSF        entries;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(Graph(h, &entries));
  error = MackoHaloWayCreate(entries, h->owner->cmap->n, h->ncols, h->asked, &h->way);
  PetscCall(PetscSFDestroy(&entries));
  PetscCall(error);
  h->made = PETSC_TRUE;
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
  PetscCall(Free(m));
  PetscCall(PetscNew(&h));
  m->halo  = h;
  h->owner = A;
  h->asked = m->halo_path;
  PetscCall(PetscObjectStateGet((PetscObject)A, &h->state));
  h->ncols = ncols;
  PetscCall(PetscMalloc1(ncols, &h->cols));
  PetscCall(PetscArraycpy(h->cols, cols, (size_t)ncols));
  PetscCall(MackoOnAll(A, MackoDeviceAllowed(A, NULL), &allowed));
  if (allowed) error = MakeWay(h);
  if (error) PetscCall(Free(m));
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
  *halo = m->halo->made ? m->halo : NULL;
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

PetscErrorCode MackoHaloChanged(MackoHalo *h, macko_op op, PetscBool *changed)
{
  PetscObjectState state, *last = &h->multiplied[op == MACKO_OP_N ? 0 : 1];

  PetscFunctionBegin;
  PetscCall(PetscObjectStateGet((PetscObject)h->owner, &state));
  *changed = (PetscBool)(*last != state + 1);
  *last    = state + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The exchange is made for this if no product has made it, so that the answer is what products will do. */
PetscErrorCode MackoHaloView(Mat A, PetscInt ncols, const PetscInt *cols, PetscViewer viewer)
{
  MackoHalo *h;

  PetscFunctionBegin;
  PetscCall(MackoHaloGet(A, ncols, cols, &h));
  if (h) PetscCall(MackoHaloWayView(&h->way, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the steps of a product ---- */

/* The array is open only while its entries are picked, since the stream keeps the order from there. */
PetscErrorCode MackoHaloSend(MackoHalo *h, Vec x)
{
  const PetscScalar *a;
  PetscMemType       where;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(x, &a, &where));
  PetscCall(MackoHaloWaySend(&h->way, a));
  PetscCall(VecRestoreArrayReadAndMemType(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloReceive(MackoHalo *h, Vec *received)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloWayReceive(&h->way, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloDone(MackoHalo *h)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloWayDone(&h->way));
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
  PetscCall(MackoHaloWaySend(&h->way, x));
  PetscCall(MackoHaloReceive(h, &received));
  PetscCall(VecGetArrayReadAndMemType(received, &from, &where));
  if (h->ncols)
    PetscCall(MackoHaloCudaCheck(cudaMemcpyAsync(to, from, (size_t)h->ncols * sizeof *to, cudaMemcpyDeviceToDevice, stream)));
  PetscCall(VecRestoreArrayReadAndMemType(received, &from));
  PetscCall(MackoHaloDone(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the steps of a product with the transpose ---- */

PetscErrorCode MackoHaloSums(MackoHalo *h, Vec *sums)
{
  PetscSF        entries;
  PetscErrorCode error = PETSC_SUCCESS;

  PetscFunctionBegin;
  if (!h->back) {
    PetscCall(Graph(h, &entries));
    error = MackoHaloBackCreate(entries, h->ncols, h->asked, &h->back);
    PetscCall(PetscSFDestroy(&entries));
    PetscCall(error);
  }
  *sums = MackoHaloBackSums(h->back);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloReturn(MackoHalo *h, const PetscScalar *sums)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloBackSend(h->back, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloAdd(MackoHalo *h, PetscScalar *y)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloBackAdd(h->back, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays are open only while their steps are queued. */
PetscErrorCode MackoHaloReturnVec(MackoHalo *h)
{
  Vec                sums = MackoHaloBackSums(h->back);
  const PetscScalar *a;
  PetscMemType       where;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(sums, &a, &where));
  PetscCall(MackoHaloBackSend(h->back, a));
  PetscCall(VecRestoreArrayReadAndMemType(sums, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloAddVec(MackoHalo *h, Vec y)
{
  PetscScalar *a;
  PetscMemType where;

  PetscFunctionBegin;
  PetscCall(VecGetArrayAndMemType(y, &a, &where));
  PetscCall(MackoHaloBackAdd(h->back, a));
  PetscCall(VecRestoreArrayAndMemType(y, &a));
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

PetscErrorCode MackoHaloSums(MackoHalo *h, Vec *sums)
{
  PetscFunctionBegin;
  (void)h, (void)sums;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloReturn(MackoHalo *h, const PetscScalar *sums)
{
  PetscFunctionBegin;
  (void)h, (void)sums;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloAdd(MackoHalo *h, PetscScalar *y)
{
  PetscFunctionBegin;
  (void)h, (void)y;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloReturnVec(MackoHalo *h)
{
  PetscFunctionBegin;
  (void)h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloAddVec(MackoHalo *h, Vec y)
{
  PetscFunctionBegin;
  (void)h, (void)y;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
