/* One exchange of entries between ranks, from the roots of a graph to its leaves, by the ways that are best here: from GPU to GPU
 * within a node, by MPI between nodes. */
#include "halo_ways.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "device.h"

PetscErrorCode MackoHaloCudaCheck(cudaError_t error)
{
  PetscFunctionBegin;
  PetscCheck(error == cudaSuccess, PETSC_COMM_SELF, PETSC_ERR_GPU, "halo exchange: %s", cudaGetErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- which way ---- */

/* *node becomes the number of the node that this rank is on, the same for all ranks of one. For tests of what runs between nodes
   -mat_macko_ranks_per_node N takes each N ranks in a row for a node of their own. Collective. */
static PetscErrorCode FindNode(MPI_Comm comm, PetscMPIInt *node)
{
  MPI_Comm    shared;
  PetscMPIInt rank;
  int         each;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(MackoReadRanksPerNode(comm, &each));
  *node = rank;
  PetscCallMPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
  if (each > 0) {
    PetscCallMPI(MPI_Comm_free(&shared));
    PetscCallMPI(MPI_Comm_split(comm, rank / each, rank, &shared));
  }
  PetscCallMPI(MPI_Bcast(node, 1, MPI_INT, 0, shared)); /* the rank of its first one */
  PetscCallMPI(MPI_Comm_free(&shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes one of the two parts of a graph: the leaves whose roots are on this rank's node, or the others. */
static PetscErrorCode Part(PetscSF entries, const PetscMPIInt *nodes, PetscMPIInt mine, PetscBool near, PetscSF *part)
{
  PetscInt           nroots, nleaves, n = 0, *places;
  const PetscInt    *ilocal;
  const PetscSFNode *roots;
  PetscSFNode       *taken;

  PetscFunctionBegin;
  PetscCall(PetscSFGetGraph(entries, &nroots, &nleaves, &ilocal, &roots));
  PetscCall(PetscMalloc1(nleaves, &places));
  PetscCall(PetscMalloc1(nleaves, &taken));
  for (PetscInt i = 0; i < nleaves; i++)
    if ((nodes[roots[i].rank] == mine) == near) places[n] = ilocal ? ilocal[i] : i, taken[n++] = roots[i];
  PetscCall(PetscSFCreate(PetscObjectComm((PetscObject)entries), part));
  PetscCall(PetscSFSetGraph(*part, nroots, n, places, PETSC_OWN_POINTER, taken, PETSC_OWN_POINTER));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cuts the graph in two, as above. *some says whether any rank has leaves in the one and in the other. Collective. */
static PetscErrorCode Cut(PetscSF entries, PetscSF parts[2], PetscBool some[2])
{
  MPI_Comm     comm = PetscObjectComm((PetscObject)entries);
  PetscMPIInt *nodes, mine, size;
  PetscInt     n;
  int          have[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCall(PetscMalloc1(size, &nodes));
  PetscCall(FindNode(comm, &mine));
  PetscCallMPI(MPI_Allgather(&mine, 1, MPI_INT, nodes, 1, MPI_INT, comm));
  for (int i = 0; i < 2; i++) {
    PetscCall(Part(entries, nodes, mine, (PetscBool)(i == 0), &parts[i]));
    PetscCall(PetscSFGetGraph(parts[i], NULL, &n, NULL, NULL));
    have[i] = n > 0;
  }
  PetscCall(PetscFree(nodes));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, have, 2, MPI_INT, MPI_MAX, comm));
  some[0] = (PetscBool)(have[0] || !have[1]), some[1] = (PetscBool)have[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes the way by MPI of all entries or of those between nodes, with a vector for them where no way between GPUs has one. */
static PetscErrorCode ByMPI(PetscSF entries, PetscInt nroots, PetscInt nleaves, PetscBool aware, MackoHaloWay *way)
{
  const char *why = "halo exchange: no GPU memory for what arrives";
  cudaError_t error = cudaSuccess;

  PetscFunctionBegin;
  way->aware = aware;
  PetscCall(MackoHaloHostCreate(entries, nroots, nleaves, aware, &way->host));
  if (way->peer) PetscFunctionReturn(PETSC_SUCCESS);
  if (nleaves) error = cudaMalloc((void **)&way->leaves, (size_t)nleaves * sizeof *way->leaves);
  if (error) (void)cudaGetLastError(); /* nobody else shall find it */
  PetscCall(MackoAgree(PetscObjectComm((PetscObject)entries), error ? MACKO_DEVICE : MACKO_OK, error ? why : ""));
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, nleaves, way->leaves, &way->leaves_vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* From GPU to GPU go entries between ranks of one node, where that is possible and nothing else was asked for; all others go by
   MPI, from GPU memory if PETSc says that MPI takes that. */
PetscErrorCode MackoHaloWayCreate(PetscSF entries, PetscInt nroots, PetscInt nleaves, MackoHaloPath asked, MackoHaloWay *way)
{
  MPI_Comm        comm  = PetscObjectComm((PetscObject)entries);
  PetscErrorCode  error = PETSC_SUCCESS;
  const PetscBool aware = (PetscBool)(asked == MACKO_HALO_MPI || (asked != MACKO_HALO_HOST && use_gpu_aware_mpi));
  PetscSF         parts[2]; /* within nodes, and between them */
  PetscBool       some[2], refused;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(way, sizeof *way));
  PetscCall(Cut(entries, parts, some));
  if (asked == MACKO_HALO_HOST) PetscCall(PetscStrncpy(way->why, "-mat_macko_halo host", sizeof way->why));
  else if (asked == MACKO_HALO_MPI) PetscCall(PetscStrncpy(way->why, "-mat_macko_halo mpi", sizeof way->why));
  else if (!some[0] || (asked == MACKO_HALO_PEER && some[1]))
    PetscCall(PetscStrncpy(way->why, "the ranks are on several nodes", sizeof way->why));
  else error = MackoHaloPeerCreate(parts[0], nleaves, &way->peer, way->why);
  refused = (PetscBool)(asked == MACKO_HALO_PEER && !way->peer);
  if (!error && !refused && (!way->peer || some[1]))
    error = ByMPI(way->peer ? parts[1] : entries, nroots, nleaves, aware, way);
  for (int i = 0; i < 2; i++) PetscCall(PetscSFDestroy(&parts[i]));
  PetscCall(error);
  PetscCheck(!refused, comm, PETSC_ERR_SUP, "-mat_macko_halo peer: %s", way->why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloWayDestroy(MackoHaloWay *way)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloHostDestroy(&way->host));
  PetscCall(MackoHaloPeerDestroy(&way->peer));
  PetscCall(VecDestroy(&way->leaves_vec));
  cudaFree(way->leaves); /* cudaFree waits for the GPU */
  way->leaves = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloWayView(const MackoHaloWay *way, PetscViewer viewer)
{
  const char *by_mpi = way->aware ? "by MPI from GPU memory" : "through host memory";

  PetscFunctionBegin;
  if (!way->host) PetscCall(PetscViewerASCIIPrintf(viewer, "halo from GPU to GPU\n"));
  else if (way->peer) PetscCall(PetscViewerASCIIPrintf(viewer, "halo from GPU to GPU within nodes, %s between them\n", by_mpi));
  else PetscCall(PetscViewerASCIIPrintf(viewer, "halo %s: %s\n", by_mpi, way->why));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the steps of an exchange ---- */

PetscErrorCode MackoHaloWaySend(MackoHaloWay *way, const PetscScalar *roots)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (way->peer) PetscCall(MackoHaloPeerSend(way->peer, roots, stream));
  if (way->host) PetscCall(MackoHaloHostSend(way->host, roots, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's stream waits for the entries, the host at most for those that it sends. What comes by MPI joins, in its places, what
   neighbours have written. */
PetscErrorCode MackoHaloWayReceive(MackoHaloWay *way, Vec *leaves)
{
  cudaStream_t stream;
  PetscScalar *to;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  *leaves = way->leaves_vec;
  if (way->peer) PetscCall(MackoHaloPeerReceive(way->peer, stream, leaves));
  if (!way->host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(VecCUDAGetArray(*leaves, &to));
  PetscCall(MackoHaloHostReceive(way->host, stream, to));
  PetscCall(VecCUDARestoreArray(*leaves, &to));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neighbours that write into this GPU's memory learn that they may do so again; the way by MPI needs no such word. */
PetscErrorCode MackoHaloWayDone(MackoHaloWay *way)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  if (way->peer) PetscCall(MackoHaloPeerDone(way->peer, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
