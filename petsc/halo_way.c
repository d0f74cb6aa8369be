/* One exchange of entries between ranks, from the roots of a graph to its leaves, by the way that is best here: from GPU to GPU, or
 * through host memory. */
#include "halo_ways.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "device.h"

PetscErrorCode MackoHaloCudaCheck(cudaError_t error)
{
  PetscFunctionBegin;
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "halo exchange: %s", cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the way from GPU to GPU where that is possible and nothing else was asked for; otherwise the way through host memory.
   That is so even where MPI takes memory of GPUs, because PETSc's own exchange would receive in host memory that is not pinned. */
PetscErrorCode MackoHaloWayCreate(PetscSF entries, PetscInt nroots, PetscInt nleaves, MackoHaloPath asked, MackoHaloWay *way)
{
  MPI_Comm       comm  = PetscObjectComm((PetscObject)entries);
  PetscErrorCode error = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(way, sizeof *way));
  if (asked == MACKO_HALO_HOST) PetscCall(PetscStrncpy(way->why, "-mat_macko_halo host", sizeof way->why));
  else PetscCall(MackoHaloPeerCreate(entries, nleaves, &way->peer, way->why));
  if (!way->peer && asked != MACKO_HALO_PEER) error = MackoHaloHostCreate(entries, nroots, nleaves, &way->host);
  PetscCheck(way->peer || asked != MACKO_HALO_PEER, comm, PETSC_ERR_SUP, "-mat_macko_halo peer: %s", way->why);
  PetscCall(error);
  if (way->peer) PetscCall(PetscInfo(entries, "Halo from GPU to GPU\n"));
  else PetscCall(PetscInfo(entries, "Halo through host memory: %s\n", way->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloWayDestroy(MackoHaloWay *way)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloHostDestroy(&way->host));
  PetscCall(MackoHaloPeerDestroy(&way->peer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloWaySend(MackoHaloWay *way, const PetscScalar *roots)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (way->peer) PetscCall(MackoHaloPeerSend(way->peer, roots, stream));
  else PetscCall(MackoHaloHostSend(way->host, roots, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's stream waits for the entries, the host at most for those that it sends. */
PetscErrorCode MackoHaloWayReceive(MackoHaloWay *way, Vec *leaves)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (way->peer) PetscCall(MackoHaloPeerReceive(way->peer, stream, leaves));
  else PetscCall(MackoHaloHostReceive(way->host, stream, leaves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neighbours that write into this GPU's memory learn that they may do so again; the way through the host needs no such word. */
PetscErrorCode MackoHaloWayDone(MackoHaloWay *way)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (way->peer) PetscCall(MackoHaloPeerDone(way->peer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
