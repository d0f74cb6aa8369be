/* The halo of a parallel product on GPUs, where MPI takes host memory only. PETSc's VecScatter copies through memory that is not pinned,
 * and the GPU waits for the first of its copies. Here the entries to send are picked straight into pinned memory, beside the product
 * of the diagonal block, and those received are copied while it still runs. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "macko_cuda.h"

#include <cuda_runtime_api.h>
#include <petscdevice_cuda.h>
#include <petscsf.h>

struct MackoHalo {
  Mat              owner; /* as in Mat_Macko */
  PetscObjectState state, off_state; /* of the matrix when it was last looked at, and of the pattern of its off-diagonal block */
  PetscObjectId    off_id;
  PetscMPIInt      usable; /* the same on all ranks */
  PetscSF          exchange;
  PetscInt         nsend, nreceive;
  int64_t         *indices;        /* of x, on the GPU: what to send */
  PetscScalar     *send, *receive; /* pinned */
  PetscScalar     *received;       /* on the GPU */
  Vec              received_vec;
  cudaStream_t     copies;
  cudaEvent_t      ready, sendable, arrived;
};

static PetscErrorCode CudaCheck(cudaError_t error)
{
  PetscFunctionBegin;
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "halo exchange: %s", cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloFree(Mat_Macko *m)
{
  struct MackoHalo *h = m->halo;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->copies) PetscCall(CudaCheck(cudaStreamSynchronize(h->copies)));
  PetscCall(VecDestroy(&h->received_vec));
  PetscCall(PetscSFDestroy(&h->exchange));
  cudaFree(h->indices);
  cudaFree(h->received);
  cudaFreeHost(h->send);
  cudaFreeHost(h->receive);
  if (h->ready) cudaEventDestroy(h->ready);
  if (h->sendable) cudaEventDestroy(h->sendable);
  if (h->arrived) cudaEventDestroy(h->arrived);
  if (h->copies) cudaStreamDestroy(h->copies);
  PetscCall(PetscFree(m->halo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From the entries that some rank needs, in order, to the columns of the off-diagonal blocks. sent lists those of this rank. */
static PetscErrorCode MakeExchange(Mat A, PetscInt ncols, const PetscInt *cols, struct MackoHalo *h, int64_t **sent)
{
  PetscSF            whole;
  const PetscInt    *degree;
  const PetscSFNode *owners;
  PetscSFNode       *senders;
  PetscInt          *place, *theirs, n = A->cmap->n;

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &whole));
  PetscCall(PetscSFSetGraphLayout(whole, A->cmap, ncols, NULL, PETSC_OWN_POINTER, cols));
  PetscCall(PetscSFComputeDegreeBegin(whole, &degree));
  PetscCall(PetscSFComputeDegreeEnd(whole, &degree));
  PetscCall(PetscMalloc2(n, &place, ncols, &theirs));
  for (PetscInt i = 0; i < n; i++) place[i] = degree[i] > 0 ? h->nsend++ : -1;
  PetscCall(PetscMalloc1(h->nsend, sent));
  for (PetscInt i = 0; i < n; i++)
    if (place[i] >= 0) (*sent)[place[i]] = i;
  PetscCall(PetscSFBcastBegin(whole, MPIU_INT, place, theirs, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(whole, MPIU_INT, place, theirs, MPI_REPLACE));
  PetscCall(PetscSFGetGraph(whole, NULL, NULL, NULL, &owners));
  PetscCall(PetscMalloc1(ncols, &senders));
  for (PetscInt i = 0; i < ncols; i++) senders[i].rank = owners[i].rank, senders[i].index = theirs[i];
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)A), &h->exchange));
  PetscCall(PetscSFSetGraph(h->exchange, h->nsend, ncols, NULL, PETSC_OWN_POINTER, senders, PETSC_OWN_POINTER));
  PetscCall(PetscFree2(place, theirs));
  PetscCall(PetscSFDestroy(&whole));
  h->nreceive = ncols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Allocate(struct MackoHalo *h, const int64_t *sent)
{
  size_t send = (size_t)h->nsend, receive = (size_t)h->nreceive;

  PetscFunctionBegin;
  PetscCall(CudaCheck(cudaStreamCreateWithFlags(&h->copies, cudaStreamNonBlocking)));
  PetscCall(CudaCheck(cudaEventCreateWithFlags(&h->ready, cudaEventDisableTiming)));
  PetscCall(CudaCheck(cudaEventCreateWithFlags(&h->sendable, cudaEventDisableTiming)));
  PetscCall(CudaCheck(cudaEventCreateWithFlags(&h->arrived, cudaEventDisableTiming)));
  if (send) {
    PetscCall(CudaCheck(cudaMalloc((void **)&h->indices, send * sizeof *sent)));
    PetscCall(CudaCheck(cudaMemcpy(h->indices, sent, send * sizeof *sent, cudaMemcpyHostToDevice)));
    PetscCall(CudaCheck(cudaMallocHost((void **)&h->send, send * sizeof(PetscScalar))));
  }
  if (receive) {
    PetscCall(CudaCheck(cudaMallocHost((void **)&h->receive, receive * sizeof(PetscScalar))));
    PetscCall(CudaCheck(cudaMalloc((void **)&h->received, receive * sizeof(PetscScalar))));
  }
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, h->nreceive, h->received, &h->received_vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new off-diagonal block, or new columns in it, on any rank. */
static PetscErrorCode IsStale(Mat A, Mat off, struct MackoHalo *h, PetscBool *stale)
{
  PetscObjectId    id;
  PetscObjectState state, off_state;
  PetscMPIInt      mine, any;

  PetscFunctionBegin;
  *stale = (PetscBool)(!h || h->owner != A);
  if (*stale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  if (state == h->state) PetscFunctionReturn(PETSC_SUCCESS);
  h->state = state;
  PetscCall(PetscObjectGetId((PetscObject)off, &id));
  PetscCall(MatGetNonzeroState(off, &off_state));
  mine = id != h->off_id || off_state != h->off_state;
  PetscCallMPI(MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, PetscObjectComm((PetscObject)A)));
  *stale = (PetscBool)any;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Update(Mat A, Mat_Macko *m)
{
  PetscMPIInt       allowed = MackoDeviceAllowed(A, NULL);
  PetscBool         stale;
  Mat               off;
  struct MackoHalo *h;
  const PetscInt   *cols;
  int64_t          *sent;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJGetSeqAIJ(A, NULL, &off, &cols));
  PetscCall(IsStale(A, off, m->halo, &stale));
  if (!stale) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoHaloFree(m));
  PetscCall(PetscNew(&h));
  m->halo  = h;
  h->owner = A;
  PetscCall(PetscObjectStateGet((PetscObject)A, &h->state));
  PetscCall(PetscObjectGetId((PetscObject)off, &h->off_id));
  PetscCall(MatGetNonzeroState(off, &h->off_state));
  PetscCallMPI(MPI_Allreduce(&allowed, &h->usable, 1, MPI_INT, MPI_MIN, PetscObjectComm((PetscObject)A)));
  if (!h->usable) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MakeExchange(A, off->cmap->n, cols, h, &sent));
  PetscCall(Allocate(h, sent));
  PetscCall(PetscFree(sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Picks the entries to send; the stream of the copies goes on beside PETSc's from here. */
static PetscErrorCode Pack(struct MackoHalo *h, Vec x, cudaStream_t stream)
{
  const PetscScalar *a;
  PetscMemType       where;
  macko_error        err;

  PetscFunctionBegin;
  PetscCall(VecGetArrayReadAndMemType(x, &a, &where));
  PetscCall(CudaCheck(cudaEventRecord(h->ready, stream)));
  PetscCall(CudaCheck(cudaStreamWaitEvent(h->copies, h->ready, 0)));
  PetscCall(MackoRaise(PETSC_COMM_SELF, macko_device_gather(MACKO_F64, a, h->indices, h->nsend, h->send, h->copies, &err), err.text));
  PetscCall(CudaCheck(cudaEventRecord(h->sendable, h->copies)));
  PetscCall(VecRestoreArrayReadAndMemType(x, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The wait is for the entries to send only. PETSc's stream waits for those received. */
static PetscErrorCode Exchange(struct MackoHalo *h, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(CudaCheck(cudaEventSynchronize(h->sendable)));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)h->nsend * sizeof(PetscScalar)));
  PetscCall(PetscSFBcastBegin(h->exchange, MPIU_SCALAR, h->send, h->receive, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(h->exchange, MPIU_SCALAR, h->send, h->receive, MPI_REPLACE));
  if (h->nreceive) {
    PetscCall(CudaCheck(cudaMemcpyAsync(h->received, h->receive, (size_t)h->nreceive * sizeof(PetscScalar), cudaMemcpyHostToDevice,
                                        h->copies)));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)h->nreceive * sizeof(PetscScalar)));
  }
  PetscCall(CudaCheck(cudaEventRecord(h->arrived, h->copies)));
  PetscCall(CudaCheck(cudaStreamWaitEvent(stream, h->arrived, 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OnDevice(Vec v, PetscBool *on)
{
  PetscBool bound;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)v, on, VECSEQCUDA, VECMPICUDA, ""));
  PetscCall(VecBoundToCPU(v, &bound));
  *on = (PetscBool)(*on && !bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloMult(Mat A, Vec x, PetscBool add, Vec y, PetscBool *done)
{
  Mat_Macko   *m;
  Mat          diagonal, off;
  PetscBool    x_on, y_on;
  PetscInt     n;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(OnDevice(x, &x_on));
  PetscCall(OnDevice(y, &y_on));
  PetscCall(MackoGet(A, &m));
  *done = (PetscBool)(x_on && y_on && !use_gpu_aware_mpi && !MackoBoundToCPU(A) && m->backend != MACKO_BACKEND_CPU);
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecGetLocalSize(x, &n));
  PetscCheck(n == A->cmap->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "x has %" PetscInt_FMT " local entries, the matrix %" PetscInt_FMT " local columns", n, A->cmap->n);
  PetscCall(Update(A, m));
  *done = (PetscBool)m->halo->usable;
  if (!*done) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetCurrentCUDAStream(&stream));
  PetscCall(MatMPIAIJGetSeqAIJ(A, &diagonal, &off, NULL));
  PetscCall(Pack(m->halo, x, stream));
  if (add) PetscUseTypeMethod(diagonal, multadd, x, y, y);
  else PetscUseTypeMethod(diagonal, mult, x, y);
  PetscCall(Exchange(m->halo, stream));
  PetscUseTypeMethod(off, multadd, m->halo->received_vec, y, y);
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

PetscErrorCode MackoHaloFree(Mat_Macko *m)
{
  PetscFunctionBegin;
  (void)m;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
