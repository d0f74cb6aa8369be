/* The halo from GPU to GPU, between the processes of one node: each gathers the entries that a neighbour needs straight into the
 * neighbour's memory, mapped here by CUDA IPC. No MPI and no host takes part in a product; the streams wait for counters in GPU
 * memory.
 *
 * Each process has one allocation that its neighbours map: two counters a neighbour, arrived and consumed, and two slots for the
 * entries received. Product number k, the same on all ranks because products are collective, uses slot k mod 2 and queues on one
 * stream:
 *   1. for each neighbour that is sent to: wait until its counter consumed, here, is at least k - 2;
 *   2. gather into its slots, there;
 *   3. set our counter arrived, there, to k;
 *   4. (the product of the diagonal block;)
 *   5. for each neighbour received from: wait until its counter arrived, here, is at least k;
 *   6. (the product of the off-diagonal block, which reads the slot;)
 *   7. for each neighbour received from: set our counter consumed, there, to k.
 *
 * No race. Each counter has one writer and grows by one. A write that a stream makes is fenced for the whole system after
 * everything that the stream did before, and a kernel after a wait starts after the counter was seen: so step 6 reads what step
 * 2 wrote, and step 2 writes a slot only after step 6 of product k - 2, the last to read it, was over. The writes of step 2 of
 * product k + 1 go to the other slot, so nobody waits for an answer to what it just sent. An event keeps the products of this
 * process in order where its stream changes.
 *
 * No deadlock. Order the steps of all processes by k, then by their number. A process queues them in that order on streams that
 * keep it, and each wait is for a step that comes earlier in it: step 1 for step 7 of product k - 2, step 5 for step 3 of the
 * same product. So the first step that is not over can go on, once its process has queued it; and hosts wait for each other only
 * as MPI would make them wait in a product, since no host waits in one. The waits are those of the GPU's own queues, which let
 * another process have the GPU meanwhile, so processes may share one. */
#include "matmacko.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "halo_ways.h"
#include "macko_cuda.h"

#include <cuda.h>

#include <stdint.h>
#include <string.h>

enum {
  BLOCK     = 2 << 20, /* CUDA maps whole blocks of 2 MiB: nothing else of ours shall be in them */
  ALIGNMENT = 256, /* slots begin at multiples of so many bytes */
  UNSET     = 0xff /* a counter has these bytes until its writer sets it to 0 */
};

typedef struct {
  uint32_t arrived, consumed; /* of so many products the neighbour has sent its entries, and of so many it no longer needs ours */
} counters;

typedef struct {
  PetscMPIInt  rank;
  PetscInt     nsend, nreceive;
  int64_t     *indices; /* these places of x it is sent; they are in GPU memory, a part of all_indices */
  char        *memory; /* this is its allocation, mapped here */
  PetscScalar *slots[2]; /* the entries from here go to these places of it */
  CUdeviceptr  here, there; /* it writes the counters here, this process those there */
} neighbour;

/* A process tells a neighbour these places in its allocation, which are the neighbour's to write to. */
typedef struct {
  cudaIpcMemHandle_t handle;
  uint64_t           counters, slots[2];
} invitation;

typedef CUresult (*stream_operation)(CUstream, CUdeviceptr, cuuint32_t, unsigned int);

struct MackoHaloPeer {
  MPI_Comm         comm;
  PetscMPIInt      tag;
  int              count; /* there are so many neighbours */
  neighbour       *all;
  PetscInt         ncols; /* a slot has room for so many entries */
  char            *memory; /* neighbours map this */
  size_t           slots[2]; /* they are counted in bytes from the start of memory */
  int64_t         *all_indices; /* these are in GPU memory */
  Vec              received[2]; /* they are views of the slots */
  uint32_t         product; /* this is the number k of the last product */
  cudaEvent_t      done; /* it is recorded after the last product */
  stream_operation wait, write; /* they are functions of the driver */
};

/* ---- setting up: what fails on one rank is refused on all ---- */

/* why becomes the sentence of the lowest rank that has one; it stays empty where none has. Collective. */
static PetscErrorCode Agree(MPI_Comm comm, MackoHaloReason why)
{
  struct {
    int failed, rank;
  } mine, worst;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &mine.rank));
  mine.failed = why[0] != 0;
  PetscCallMPI(MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm));
  if (worst.failed) PetscCallMPI(MPI_Bcast(why, sizeof(MackoHaloReason), MPI_CHAR, worst.rank, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Returns PETSC_FALSE, and leaves a sentence, where a call of CUDA failed. */
static PetscBool Works(cudaError_t error, const char *what, MackoHaloReason why)
{
  if (error == cudaSuccess) return PETSC_TRUE;
  (void)cudaGetLastError(); /* nobody else shall find it */
  (void)PetscSNPrintf(why, sizeof(MackoHaloReason), "%s: %s", what, cudaGetErrorString(error));
  return PETSC_FALSE;
}

/* Looks up a function of the driver by its name, because programs need not be linked with libcuda. */
static PetscBool DriverFunction(const char *name, stream_operation *function, MackoHaloReason why)
{
  enum cudaDriverEntryPointQueryResult found;
  void                                *address = NULL;
#if CUDART_VERSION >= 12050
  cudaError_t error = cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found);
#else
  cudaError_t error = cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found);
#endif
  if (!Works(error, name, why)) return PETSC_FALSE;
  if (found != cudaDriverEntryPointSuccess || !address) {
    (void)PetscSNPrintf(why, sizeof(MackoHaloReason), "the driver has no %s", name);
    return PETSC_FALSE;
  }
  *function = (stream_operation)(intptr_t)address;
  return PETSC_TRUE;
}

/* Returns the neighbour of that rank, new at the end of the list if it is not there yet. */
static neighbour *Neighbour(MackoHaloPeer *h, PetscMPIInt rank)
{
  for (int i = 0; i < h->count; i++)
    if (h->all[i].rank == rank) return &h->all[i];
  h->all[h->count].rank = rank;
  return &h->all[h->count++];
}

/* Columns are in the order of their owners, so that those of one owner are one piece of a slot. *first lists where they begin, by
   neighbour; *sent the entries for all neighbours, in their order in h->all. */
static PetscErrorCode FindNeighbours(PetscSF entries, MackoHaloPeer *h, PetscInt **first, int64_t **sent)
{
  PetscMPIInt        sources, targets;
  const PetscMPIInt *source, *target;
  const PetscInt    *source_at, *target_at, *columns, *rows;
  neighbour         *n;
  int64_t           *next;

  PetscFunctionBegin;
  PetscCall(PetscSFSetUp(entries));
  PetscCall(PetscSFGetRootRanks(entries, &sources, &source, &source_at, &columns, NULL));
  PetscCall(PetscSFGetLeafRanks(entries, &targets, &target, &target_at, &rows));
  PetscCall(PetscCalloc1(sources + targets, &h->all));
  PetscCall(PetscCalloc1(sources + targets, first));
  PetscCall(PetscMalloc1(targets ? target_at[targets] : 0, sent));
  next = *sent;
  for (PetscMPIInt t = 0; t < targets; t++) {
    n        = Neighbour(h, target[t]);
    n->nsend = target_at[t + 1] - target_at[t];
    for (PetscInt i = target_at[t]; i < target_at[t + 1]; i++) *next++ = rows[i];
  }
  for (PetscMPIInt s = 0; s < sources; s++) {
    n                  = Neighbour(h, source[s]);
    n->nreceive        = source_at[s + 1] - source_at[s];
    (*first)[n - h->all] = n->nreceive ? columns[source_at[s]] : 0;
    for (PetscInt i = 0; i < n->nreceive; i++)
      PetscCheck(columns[source_at[s] + i] == (*first)[n - h->all] + i, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "columns of the off-diagonal block are not in order");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the memory that neighbours will map, counters unset, and the lists of what to send. A failure leaves a sentence in
   why. */
static void Allocate(MackoHaloPeer *h, const int64_t *sent, MackoHaloReason why)
{
  size_t entries = 0, column_bytes = (size_t)h->ncols * sizeof(PetscScalar), total;

  for (int i = 0; i < h->count; i++) entries += (size_t)h->all[i].nsend;
  h->slots[0] = ((size_t)h->count * sizeof(counters) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  h->slots[1] = (h->slots[0] + column_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  total       = (h->slots[1] + column_bytes + BLOCK - 1) / BLOCK * BLOCK;
  if (!Works(cudaEventCreateWithFlags(&h->done, cudaEventDisableTiming), "an event", why)) return;
  if (!h->count) return;
  if (!Works(cudaMalloc((void **)&h->memory, total), "memory for the halo", why)) return;
  if (!Works(cudaMemset(h->memory, UNSET, h->slots[0]), "memory for the halo", why)) return;
  if (entries) {
    if (!Works(cudaMalloc((void **)&h->all_indices, entries * sizeof *sent), "memory for the halo", why)) return;
    if (!Works(cudaMemcpy(h->all_indices, sent, entries * sizeof *sent, cudaMemcpyHostToDevice), "the indices", why)) return;
  }
  if (!Works(cudaDeviceSynchronize(), "memory for the halo", why)) return;
  for (int i = 0, at = 0; i < h->count; at += (int)h->all[i++].nsend) {
    h->all[i].indices = h->all_indices ? h->all_indices + at : NULL;
    h->all[i].here    = (CUdeviceptr)(uintptr_t)h->memory + (size_t)i * sizeof(counters);
  }
}

/* Neighbours know each other, whoever of the two sends. */
static PetscErrorCode Invite(MackoHaloPeer *h, const PetscInt *first, const cudaIpcMemHandle_t *handle, invitation *received)
{
  MPI_Request *requests;
  invitation  *mine;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(2 * (size_t)h->count, &requests, h->count, &mine));
  for (int i = 0; i < h->count; i++) {
    mine[i].handle   = *handle;
    mine[i].counters = (uint64_t)i * sizeof(counters);
    for (int s = 0; s < 2; s++) mine[i].slots[s] = h->slots[s] + (size_t)first[i] * sizeof(PetscScalar);
    PetscCallMPI(MPI_Irecv(&received[i], sizeof *received, MPI_BYTE, h->all[i].rank, h->tag, h->comm, &requests[2 * i]));
    PetscCallMPI(MPI_Isend(&mine[i], sizeof *mine, MPI_BYTE, h->all[i].rank, h->tag, h->comm, &requests[2 * i + 1]));
  }
  PetscCallMPI(MPI_Waitall(2 * h->count, requests, MPI_STATUSES_IGNORE));
  PetscCall(PetscFree2(requests, mine));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Maps a neighbour's memory and sets our counters there to 0, as products will. */
static void Open(MackoHaloPeer *h, neighbour *n, const invitation *from, MackoHaloReason why)
{
  void    *memory = NULL;
  CUresult result;
  if (!Works(cudaIpcOpenMemHandle(&memory, from->handle, cudaIpcMemLazyEnablePeerAccess), "memory of a neighbour", why)) return;
  n->memory = (char *)memory;
  n->there  = (CUdeviceptr)(uintptr_t)n->memory + from->counters;
  for (int s = 0; s < 2; s++) n->slots[s] = (PetscScalar *)(n->memory + from->slots[s]);
  result = (*h->write)(NULL, n->there + offsetof(counters, arrived), 0, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (!result) result = (*h->write)(NULL, n->there + offsetof(counters, consumed), 0, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (result) (void)PetscSNPrintf(why, sizeof(MackoHaloReason), "error %d of the CUDA driver at a counter", (int)result);
  else Works(cudaStreamSynchronize(NULL), "setting a counter", why);
}

/* Tries the counters, because where GPUs can reach each other by name only, what one writes does not arrive. */
static PetscErrorCode Check(MackoHaloPeer *h, MackoHaloReason why)
{
  counters *here;
  size_t    bytes = (size_t)h->count * sizeof *here;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(h->count, &here));
  if (h->count) Works(cudaMemcpy(here, h->memory, bytes, cudaMemcpyDeviceToHost), "reading counters", why);
  for (int i = 0; i < h->count && !why[0]; i++)
    if (here[i].arrived || here[i].consumed)
      PetscCall(PetscSNPrintf(why, sizeof(MackoHaloReason), "what rank %d writes to this GPU does not arrive",
                              (int)h->all[i].rank));
  PetscCall(PetscFree(here));
  PetscCall(Agree(h->comm, why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the memory, maps that of the neighbours and tries the counters; a failure leaves a sentence in why, on all ranks. */
static PetscErrorCode Connect(MackoHaloPeer *h, const PetscInt *first, const int64_t *sent, MackoHaloReason why)
{
  cudaIpcMemHandle_t handle = {0};
  invitation        *received;

  PetscFunctionBegin;
  Allocate(h, sent, why);
  if (!why[0] && h->count) Works(cudaIpcGetMemHandle(&handle, h->memory), "sharing memory between processes", why);
  if (!why[0]) DriverFunction("cuStreamWaitValue32", &h->wait, why);
  if (!why[0]) DriverFunction("cuStreamWriteValue32", &h->write, why);
  PetscCall(Agree(h->comm, why));
  if (why[0]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(h->count, &received));
  PetscCall(Invite(h, first, &handle, received));
  for (int i = 0; i < h->count && !why[0]; i++) Open(h, &h->all[i], &received[i], why);
  PetscCall(PetscFree(received));
  PetscCall(Agree(h->comm, why));
  if (!why[0]) PetscCall(Check(h, why));
  if (why[0]) PetscFunctionReturn(PETSC_SUCCESS);
  for (int s = 0; s < 2; s++)
    PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, h->ncols, h->memory ? (PetscScalar *)(h->memory + h->slots[s]) : NULL,
                                        &h->received[s]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whatever fails on one rank ends this on all, without an error: halo_way.c then takes the other way. */
PetscErrorCode MackoHaloPeerCreate(PetscSF entries, PetscInt ncols, MackoHaloPeer **peer, MackoHaloReason why)
{
  MackoHaloPeer *h;
  PetscInt      *first;
  int64_t       *sent;

  PetscFunctionBegin;
  *peer = NULL;
  memset(why, 0, sizeof(MackoHaloReason));
  PetscCall(PetscNew(&h));
  *peer    = h;
  h->ncols = ncols;
  PetscCall(PetscCommDuplicate(PetscObjectComm((PetscObject)entries), &h->comm, &h->tag));
  PetscCall(FindNeighbours(entries, h, &first, &sent));
  PetscCall(Connect(h, first, sent, why));
  PetscCall(PetscFree(first));
  PetscCall(PetscFree(sent));
  if (why[0]) PetscCall(MackoHaloPeerDestroy(peer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No process frees memory that another has mapped, or may still write to. */
PetscErrorCode MackoHaloPeerDestroy(MackoHaloPeer **peer)
{
  MackoHaloPeer *h = *peer;

  PetscFunctionBegin;
  if (!h) PetscFunctionReturn(PETSC_SUCCESS);
  if (h->done) PetscCall(MackoHaloCudaCheck(cudaEventSynchronize(h->done)));
  for (int i = 0; i < h->count; i++)
    if (h->all[i].memory) PetscCall(MackoHaloCudaCheck(cudaIpcCloseMemHandle(h->all[i].memory)));
  PetscCallMPI(MPI_Barrier(h->comm));
  for (int s = 0; s < 2; s++) PetscCall(VecDestroy(&h->received[s]));
  cudaFree(h->memory);
  cudaFree(h->all_indices);
  if (h->done) cudaEventDestroy(h->done);
  PetscCall(PetscCommDestroy(&h->comm));
  PetscCall(PetscFree(h->all));
  PetscCall(PetscFree(*peer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- a product ---- */

static PetscErrorCode DriverCheck(CUresult result)
{
  PetscFunctionBegin;
  PetscCheck(result == CUDA_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_GPU, "halo exchange: error %d of the CUDA driver at a counter",
             (int)result);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stream waits, not the host. Values are compared as distances, so that counters may wrap around. */
static PetscErrorCode WaitFor(const MackoHaloPeer *h, CUdeviceptr counter, uint32_t value, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DriverCheck((*h->wait)(stream, counter, value, CU_STREAM_WAIT_VALUE_GEQ))); /* GEQ compares as distances */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The write comes with a fence: whoever sees it sees all that the stream has written before. */
static PetscErrorCode Set(const MackoHaloPeer *h, CUdeviceptr counter, uint32_t value, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DriverCheck((*h->write)(stream, counter, value, CU_STREAM_WRITE_VALUE_DEFAULT))); /* the default has the fence */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This queues steps 1 to 3 of the product. */
PetscErrorCode MackoHaloPeerSend(MackoHaloPeer *h, const PetscScalar *x, cudaStream_t stream)
{
  macko_status status;
  macko_error  err;
  uint32_t     k = ++h->product;

  PetscFunctionBegin;
  PetscCall(MackoHaloCudaCheck(cudaStreamWaitEvent(stream, h->done, 0)));
  for (int i = 0; i < h->count; i++) {
    const neighbour *n = &h->all[i];
    if (!n->nsend) continue;
    PetscCall(WaitFor(h, n->here + offsetof(counters, consumed), k - 2, stream));
    status = macko_device_gather(MACKO_F64, x, n->indices, n->nsend, n->slots[k % 2], stream, &err);
    PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  }
  for (int i = 0; i < h->count; i++)
    if (h->all[i].nsend) PetscCall(Set(h, h->all[i].there + offsetof(counters, arrived), k, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This queues step 5; the vector is a view of this product's slot. */
PetscErrorCode MackoHaloPeerReceive(MackoHaloPeer *h, cudaStream_t stream, Vec *received)
{
  PetscFunctionBegin;
  for (int i = 0; i < h->count; i++)
    if (h->all[i].nreceive) PetscCall(WaitFor(h, h->all[i].here + offsetof(counters, arrived), h->product, stream));
  *received = h->received[h->product % 2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* This queues step 7, and marks the end for a product on another stream. */
PetscErrorCode MackoHaloPeerDone(MackoHaloPeer *h, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int i = 0; i < h->count; i++)
    if (h->all[i].nreceive) PetscCall(Set(h, h->all[i].there + offsetof(counters, consumed), h->product, stream));
  PetscCall(MackoHaloCudaCheck(cudaEventRecord(h->done, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
