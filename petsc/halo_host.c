/* The halo through host memory and MPI. PETSc's VecScatter copies through memory that is not pinned, and the GPU waits for the
 * first of its copies. Here the entries to send are picked straight into pinned memory, beside the product of the diagonal
 * block, and those received are copied while it still runs. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo_ways.h"
#include "macko_cuda.h"

/* There is one array of each kind, not two: the stream of the copies keeps a product's gather behind the copies of the product
   before, and it waits for PETSc's stream, which has used by then what was received. */
struct MackoHaloHost {
  /* The graph leads from the entries that some rank needs, in their order, to the columns. */
  PetscSF      exchange;
  /* So many entries leave this rank, each once however many ranks need it, and so many arrive. */
  PetscInt     nsend, nreceive;
  /* These places of x, listed in GPU memory, are sent. */
  int64_t     *indices;
  /* Both are in pinned host memory, which CUDA copies beside kernels and to which a kernel writes directly. */
  PetscScalar *send, *receive;
  /* This is in GPU memory; the vector below is a view of it. */
  PetscScalar *received;
  Vec          received_vec;
  /* Copies run on a stream of their own, beside the product on PETSc's. ready says that x is there, sendable that the entries to
     send are on the host, arrived that those received are on the GPU. */
  cudaStream_t copies;
  cudaEvent_t  ready, sendable, arrived;
};

/* Copies that still run are waited for, since they use what is freed. Parts that a failure has left out are NULL. */
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

/* Makes h->exchange from entries, with as many roots as there are entries that some rank needs: those with a degree above 0. So
   each is picked once and MPI reads them from one array. *sent lists their places among this rank's entries of x; the caller
   frees it. The owners tell the others at what place of theirs an entry is. Collective. */
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

/* Makes the stream, the events and the arrays, and returns the first failure. The events measure no time, which makes waiting for
   them cheaper. */
static cudaError_t Allocate(MackoHaloHost *h, const int64_t *sent)
{
  size_t      send = (size_t)h->nsend, receive = (size_t)h->nreceive;
  cudaError_t error = cudaStreamCreateWithFlags(&h->copies, cudaStreamNonBlocking);
  if (!error) error = cudaEventCreateWithFlags(&h->ready, cudaEventDisableTiming);
  if (!error) error = cudaEventCreateWithFlags(&h->sendable, cudaEventDisableTiming);
  if (!error) error = cudaEventCreateWithFlags(&h->arrived, cudaEventDisableTiming);
  if (!error && send) error = cudaMalloc((void **)&h->indices, send * sizeof *sent);
  if (!error && send) error = cudaMemcpy(h->indices, sent, send * sizeof *sent, cudaMemcpyHostToDevice);
  if (!error && send) error = cudaMallocHost((void **)&h->send, send * sizeof(PetscScalar));
  if (!error && receive) error = cudaMallocHost((void **)&h->receive, receive * sizeof(PetscScalar));
  if (!error && receive) error = cudaMalloc((void **)&h->received, receive * sizeof(PetscScalar));
  return error;
}

/* The list of what is sent goes to the GPU and is not needed on the host. The ranks agree on whether all have their memory, because
   one that gave up alone would leave the others waiting for its entries. Collective. */
PetscErrorCode MackoHaloHostCreate(PetscSF entries, PetscInt nrows, PetscInt ncols, MackoHaloHost **host)
{
  int64_t        *sent;
  cudaError_t     error;
  MackoHaloReason why = "";

  PetscFunctionBegin;
  PetscCall(PetscNew(host));
  PetscCall(MakeExchange(entries, nrows, ncols, *host, &sent));
  error = Allocate(*host, sent);
  PetscCall(PetscFree(sent));
  if (error) {
    (void)cudaGetLastError(); /* nobody else shall find it */
    PetscCall(PetscSNPrintf(why, sizeof why, "halo exchange: %s", cudaGetErrorString(error)));
  }
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)entries), error ? MACKO_DEVICE : MACKO_OK, why));
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, ncols, (*host)->received, &(*host)->received_vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Picks the entries to send into pinned memory. The stream of the copies waits for x to be complete on PETSc's stream, and goes
   on beside it from here. */
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

/* The host waits only until the entries to send are picked, which was queued before the diagonal block's product; MPI needs them.
   The copy of those received is not waited for here: PETSc's stream waits for it before the off-diagonal block's product. */
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
