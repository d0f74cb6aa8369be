/* The halo through host memory and MPI. PETSc's VecScatter copies through memory that is not pinned, and the GPU waits for the
 * first of its copies. Here the entries to send are picked straight into pinned memory, beside the product of the diagonal
 * block, and those received are copied while it still runs. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo.h"
#include "macko_cuda.h"

struct MackoHaloHost {
  PetscSF      exchange; /* from the entries that some rank needs, in order, to the columns */
  PetscInt     nsend, nreceive;
  int64_t     *indices;        /* of x, on the GPU: what to send */
  PetscScalar *send, *receive; /* pinned */
  PetscScalar *received;       /* on the GPU */
  Vec          received_vec;
  cudaStream_t copies;
  cudaEvent_t  ready, sendable, arrived;
};

PetscErrorCode MackoHaloHostDestroy(MackoHaloHost **host)
{
  MackoHaloHost *h = *host;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->copies) PetscCall(MackoHaloCudaCheck(cudaStreamSynchronize(h->copies)));
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
  PetscCall(PetscFree(*host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sent lists the entries that some rank needs. */
static PetscErrorCode MakeExchange(PetscSF entries, PetscInt nrows, PetscInt ncols, MackoHaloHost *h, int64_t **sent)
{
  const PetscInt    *degree;
  const PetscSFNode *owners;
  PetscSFNode       *senders;
  PetscInt          *place, *theirs;

  PetscFunctionBegin;
  PetscCall(PetscSFComputeDegreeBegin(entries, &degree));
  PetscCall(PetscSFComputeDegreeEnd(entries, &degree));
  PetscCall(PetscMalloc2(nrows, &place, ncols, &theirs));
  for (PetscInt i = 0; i < nrows; i++) place[i] = degree[i] > 0 ? h->nsend++ : -1;
  PetscCall(PetscMalloc1(h->nsend, sent));
  for (PetscInt i = 0; i < nrows; i++)
    if (place[i] >= 0) (*sent)[place[i]] = i;
  PetscCall(PetscSFBcastBegin(entries, MPIU_INT, place, theirs, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(entries, MPIU_INT, place, theirs, MPI_REPLACE));
  PetscCall(PetscSFGetGraph(entries, NULL, NULL, NULL, &owners));
  PetscCall(PetscMalloc1(ncols, &senders));
  for (PetscInt i = 0; i < ncols; i++) senders[i].rank = owners[i].rank, senders[i].index = theirs[i];
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)entries), &h->exchange));
  PetscCall(PetscSFSetGraph(h->exchange, h->nsend, ncols, NULL, PETSC_OWN_POINTER, senders, PETSC_OWN_POINTER));
  PetscCall(PetscFree2(place, theirs));
  h->nreceive = ncols;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Allocate(MackoHaloHost *h, const int64_t *sent)
{
  size_t send = (size_t)h->nsend, receive = (size_t)h->nreceive;

  PetscFunctionBegin;
  PetscCall(MackoHaloCudaCheck(cudaStreamCreateWithFlags(&h->copies, cudaStreamNonBlocking)));
  PetscCall(MackoHaloCudaCheck(cudaEventCreateWithFlags(&h->ready, cudaEventDisableTiming)));
  PetscCall(MackoHaloCudaCheck(cudaEventCreateWithFlags(&h->sendable, cudaEventDisableTiming)));
  PetscCall(MackoHaloCudaCheck(cudaEventCreateWithFlags(&h->arrived, cudaEventDisableTiming)));
  if (send) {
    PetscCall(MackoHaloCudaCheck(cudaMalloc((void **)&h->indices, send * sizeof *sent)));
    PetscCall(MackoHaloCudaCheck(cudaMemcpy(h->indices, sent, send * sizeof *sent, cudaMemcpyHostToDevice)));
    PetscCall(MackoHaloCudaCheck(cudaMallocHost((void **)&h->send, send * sizeof(PetscScalar))));
  }
  if (receive) {
    PetscCall(MackoHaloCudaCheck(cudaMallocHost((void **)&h->receive, receive * sizeof(PetscScalar))));
    PetscCall(MackoHaloCudaCheck(cudaMalloc((void **)&h->received, receive * sizeof(PetscScalar))));
  }
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, h->nreceive, h->received, &h->received_vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloHostCreate(PetscSF entries, PetscInt nrows, PetscInt ncols, MackoHaloHost **host)
{
  int64_t *sent;

  PetscFunctionBegin;
  PetscCall(PetscNew(host));
  PetscCall(MakeExchange(entries, nrows, ncols, *host, &sent));
  PetscCall(Allocate(*host, sent));
  PetscCall(PetscFree(sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Picks the entries to send; the stream of the copies goes on beside PETSc's from here. */
PetscErrorCode MackoHaloHostSend(MackoHaloHost *h, const PetscScalar *x, cudaStream_t stream)
{
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(MackoHaloCudaCheck(cudaEventRecord(h->ready, stream)));
  PetscCall(MackoHaloCudaCheck(cudaStreamWaitEvent(h->copies, h->ready, 0)));
  status = macko_device_gather(MACKO_F64, x, h->indices, h->nsend, h->send, h->copies, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(MackoHaloCudaCheck(cudaEventRecord(h->sendable, h->copies)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The wait is for the entries to send only. PETSc's stream waits for those received. */
PetscErrorCode MackoHaloHostReceive(MackoHaloHost *h, cudaStream_t stream, Vec *received)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloCudaCheck(cudaEventSynchronize(h->sendable)));
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)h->nsend * sizeof(PetscScalar)));
  PetscCall(PetscSFBcastBegin(h->exchange, MPIU_SCALAR, h->send, h->receive, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(h->exchange, MPIU_SCALAR, h->send, h->receive, MPI_REPLACE));
  if (h->nreceive) {
    PetscCall(MackoHaloCudaCheck(cudaMemcpyAsync(h->received, h->receive, (size_t)h->nreceive * sizeof(PetscScalar),
                                                 cudaMemcpyHostToDevice, h->copies)));
    PetscCall(PetscLogCpuToGpu((PetscLogDouble)h->nreceive * sizeof(PetscScalar)));
  }
  PetscCall(MackoHaloCudaCheck(cudaEventRecord(h->arrived, h->copies)));
  PetscCall(MackoHaloCudaCheck(cudaStreamWaitEvent(stream, h->arrived, 0)));
  *received = h->received_vec;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
