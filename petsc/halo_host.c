/* The halo by MPI, through host memory or, where MPI takes memory of GPUs, from there. PETSc's VecScatter copies through memory
 * that is not pinned, and the GPU waits for the first of its copies. Here the entries to send are picked straight into pinned
 * memory, beside the product of the diagonal block, and those received are copied while it still runs. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo_ways.h"
#include "macko_cuda.h"

#include <stdlib.h>

/* There is one array of each kind, not two: the stream of the copies keeps a product's gather behind the copies of the product
   before, and it waits for PETSc's stream, which has used by then what was received. */
struct MackoHaloHost {
  /* The graph leads from the entries that some rank needs, in their order, to the columns. */
  PetscSF      exchange;
  /* MPI sends from GPU memory and receives there. */
  PetscBool    aware;
  /* So many entries leave this rank, each once however many ranks need it. */
  PetscInt     nsend;
  /* Those that arrive go to places among nleaves: runs of them that follow each other, from starts[i] on, counts[i] of them. */
  PetscInt     nleaves, nreceive, nruns, *starts, *counts;
  /* These places of x, listed in GPU memory, are sent. */
  int64_t     *indices;
  /* Both are in pinned host memory, which CUDA copies beside kernels and to which a kernel writes directly, or in GPU memory. The
     second has nleaves places. The third is the first as a kernel reaches it. */
  PetscScalar *send, *receive, *gathered;
  /* Copies run on a stream of their own, beside the product on PETSc's. ready says that x is there, sendable that the entries to
     send are on the host, arrived that those received are on the GPU. */
  cudaStream_t copies;
  cudaEvent_t  ready, sendable, arrived;
};

/* Frees one of the two arrays. */
static void FreeArray(const MackoHaloHost *h, PetscScalar *array)
{
  if (h->aware) cudaFree(array);
  else if (array) {
    cudaHostUnregister(array);
    free(array);
  }
}

/* Copies that still run are waited for, since they use what is freed. Parts that a failure has left out are NULL. */
PetscErrorCode MackoHaloHostDestroy(MackoHaloHost **host)
{
  MackoHaloHost *h = *host;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->copies) PetscCall(MackoHaloCudaCheck(cudaStreamSynchronize(h->copies)));
  PetscCall(PetscSFDestroy(&h->exchange));
  PetscCall(PetscFree2(h->starts, h->counts));
  cudaFree(h->indices);
  FreeArray(h, h->send);
  FreeArray(h, h->receive);
  if (h->ready) cudaEventDestroy(h->ready);
  if (h->sendable) cudaEventDestroy(h->sendable);
  if (h->arrived) cudaEventDestroy(h->arrived);
  if (h->copies) cudaStreamDestroy(h->copies);
  PetscCall(PetscFree(*host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Notes the runs of places that arrivals go to: ilocal lists them, rising, or is NULL for all from 0 on. */
static PetscErrorCode FindRuns(MackoHaloHost *h, const PetscInt *ilocal)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc2(h->nreceive, &h->starts, h->nreceive, &h->counts));
  for (PetscInt i = 0, at; i < h->nreceive; i++) {
    at = ilocal ? ilocal[i] : i;
    if (h->nruns && at == h->starts[h->nruns - 1] + h->counts[h->nruns - 1]) h->counts[h->nruns - 1]++;
    else h->starts[h->nruns] = at, h->counts[h->nruns++] = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes h->exchange from entries, with as many roots as there are entries that some rank needs: those with a degree above 0. So
   each is picked once and MPI reads them from one array. *sent lists their places among this rank's entries of x; the caller
   frees it. The owners tell the others at what place of theirs an entry is. Collective. */
static PetscErrorCode MakeExchange(PetscSF entries, PetscInt nroots, MackoHaloHost *h, int64_t **sent)
{
  const PetscInt    *degree, *ilocal;
  const PetscSFNode *owners;
  PetscSFNode       *senders;
  PetscInt          *place, *theirs, *local = NULL;

  PetscFunctionBegin;
  PetscCall(PetscSFComputeDegreeBegin(entries, &degree));
  PetscCall(PetscSFComputeDegreeEnd(entries, &degree));
  PetscCall(PetscMalloc2(nroots, &place, h->nleaves, &theirs));
  for (PetscInt i = 0; i < nroots; i++) place[i] = degree[i] > 0 ? h->nsend++ : -1;
  PetscCall(PetscMalloc1(h->nsend, sent));
  for (PetscInt i = 0; i < nroots; i++)
    if (place[i] >= 0) (*sent)[place[i]] = i;
  PetscCall(PetscSFBcastBegin(entries, MPIU_INT, place, theirs, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(entries, MPIU_INT, place, theirs, MPI_REPLACE));
  PetscCall(PetscSFGetGraph(entries, NULL, &h->nreceive, &ilocal, &owners));
  PetscCall(FindRuns(h, ilocal));
  PetscCall(PetscMalloc1(h->nreceive, &senders));
  for (PetscInt i = 0; i < h->nreceive; i++) senders[i] = (PetscSFNode){owners[i].rank, theirs[ilocal ? ilocal[i] : i]};
  if (ilocal) {
    PetscCall(PetscMalloc1(h->nreceive, &local));
    PetscCall(PetscArraycpy(local, ilocal, (size_t)h->nreceive));
  }
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)entries), &h->exchange));
  PetscCall(PetscSFSetGraph(h->exchange, h->nsend, h->nreceive, local, PETSC_OWN_POINTER, senders, PETSC_OWN_POINTER));
  PetscCall(PetscFree2(place, theirs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes one of the two arrays, of n entries. On the host it is memory of the system that is pinned afterwards: other processes may
   not be able to read what CUDA allocates there, and an MPI that copies large messages straight from process to process, as Open
   MPI does, then waits for ever. */
static cudaError_t TakeArray(const MackoHaloHost *h, size_t n, PetscScalar **array)
{
  enum { PAGE = 4096 };
  const size_t bytes = (n * sizeof **array + PAGE - 1) / PAGE * PAGE;
  void        *memory;
  cudaError_t  error;
  if (h->aware) return cudaMalloc((void **)array, bytes);
  if (posix_memalign(&memory, PAGE, bytes)) return cudaErrorMemoryAllocation;
  error = cudaHostRegister(memory, bytes, cudaHostRegisterMapped);
  if (error) free(memory);
  else *array = (PetscScalar *)memory;
  return error;
}

/* Finds where a kernel reaches the array that is sent. */
static cudaError_t ReachArray(MackoHaloHost *h)
{
  if (!h->aware) return cudaHostGetDevicePointer((void **)&h->gathered, h->send, 0);
  h->gathered = h->send;
  return cudaSuccess;
}

/* Makes the stream, the events and the arrays, and returns the first failure. The events measure no time, which makes waiting for
   them cheaper. */
static cudaError_t Allocate(MackoHaloHost *h, const int64_t *sent)
{
  size_t      send = (size_t)h->nsend;
  cudaError_t error = cudaStreamCreateWithFlags(&h->copies, cudaStreamNonBlocking);
  if (!error) error = cudaEventCreateWithFlags(&h->ready, cudaEventDisableTiming);
  if (!error) error = cudaEventCreateWithFlags(&h->sendable, cudaEventDisableTiming);
  if (!error) error = cudaEventCreateWithFlags(&h->arrived, cudaEventDisableTiming);
  if (!error && send) error = cudaMalloc((void **)&h->indices, send * sizeof *sent);
  if (!error && send) error = cudaMemcpy(h->indices, sent, send * sizeof *sent, cudaMemcpyHostToDevice);
  if (!error && send) error = TakeArray(h, send, &h->send);
  if (!error && send) error = ReachArray(h);
  if (!error && h->nreceive) error = TakeArray(h, (size_t)h->nleaves, &h->receive);
  return error;
}

/* The list of what is sent goes to the GPU and is not needed on the host. The ranks agree on whether all have their memory, because
   one that gave up alone would leave the others waiting for its entries. Collective. */
PetscErrorCode MackoHaloHostCreate(PetscSF entries, PetscInt nroots, PetscInt nleaves, PetscBool aware, MackoHaloHost **host)
{
  int64_t        *sent;
  cudaError_t     error;
  MackoHaloReason why = "";

  PetscFunctionBegin;
  PetscCall(PetscNew(host));
  (*host)->aware = aware, (*host)->nleaves = nleaves;
  PetscCall(MakeExchange(entries, nroots, *host, &sent));
  error = Allocate(*host, sent);
  PetscCall(PetscFree(sent));
  if (error) {
    (void)cudaGetLastError(); /* nobody else shall find it */
    PetscCall(PetscSNPrintf(why, sizeof why, "halo exchange: %s", cudaGetErrorString(error)));
  }
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)entries), error ? MACKO_DEVICE : MACKO_OK, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Picks the entries to send. The stream of the copies waits for x to be complete on PETSc's stream, and goes
   on beside it from here. */
PetscErrorCode MackoHaloHostSend(MackoHaloHost *h, const PetscScalar *x, cudaStream_t stream)
{
  macko_status status;
  macko_error  err;

  PetscFunctionBegin;
  PetscCall(MackoHaloCudaCheck(cudaEventRecord(h->ready, stream)));
  PetscCall(MackoHaloCudaCheck(cudaStreamWaitEvent(h->copies, h->ready, 0)));
  status = macko_device_gather(MACKO_F64, x, h->indices, h->nsend, h->gathered, h->copies, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(MackoHaloCudaCheck(cudaEventRecord(h->sendable, h->copies)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host waits only until the entries to send are picked, which was queued before the diagonal block's product; MPI needs them.
   The copies of those received are not waited for here: PETSc's stream waits for them before the off-diagonal block's product.
   Where MPI has received on the GPU PETSc puts entries in their places on its own stream, on which the copies then follow. */
PetscErrorCode MackoHaloHostReceive(MackoHaloHost *h, cudaStream_t stream, PetscScalar *to)
{
  const PetscMemType where  = h->aware ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
  const cudaStream_t copies = h->aware ? stream : h->copies;

  PetscFunctionBegin;
  PetscCall(MackoHaloCudaCheck(cudaEventSynchronize(h->sendable)));
  PetscCall(PetscSFBcastWithMemTypeBegin(h->exchange, MPIU_SCALAR, where, h->send, where, h->receive, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(h->exchange, MPIU_SCALAR, h->send, h->receive, MPI_REPLACE));
  for (PetscInt i = 0; i < h->nruns; i++)
    PetscCall(MackoHaloCudaCheck(cudaMemcpyAsync(to + h->starts[i], h->receive + h->starts[i],
                                                 (size_t)h->counts[i] * sizeof *to, cudaMemcpyDefault, copies)));
  if (!h->aware) PetscCall(PetscLogGpuToCpu((PetscLogDouble)h->nsend * sizeof(PetscScalar)));
  if (!h->aware && h->nreceive) PetscCall(PetscLogCpuToGpu((PetscLogDouble)h->nreceive * sizeof(PetscScalar)));
  PetscCall(MackoHaloCudaCheck(cudaEventRecord(h->arrived, copies)));
  PetscCall(MackoHaloCudaCheck(cudaStreamWaitEvent(stream, h->arrived, 0)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
