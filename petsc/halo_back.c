/* The exchange the other way, for products with a transpose: sums for columns of other ranks go to the owners of these, which add
 * them to theirs. It is an exchange over the reversed graph: its roots are a rank's halo, its leaves the entries of this rank that
 * other ranks have in theirs, once for each of those ranks. */
#include "halo.h"

#if defined(PETSC_HAVE_CUDA) && defined(MACKO_WITH_CUDA)
#include "device.h"
#include "halo_ways.h"
#include "macko_cuda.h"

#include <stdlib.h>

struct MackoHaloBack {
  MackoHaloWay way;
  /* This vector has a sum for each column of the halo; it is in GPU memory, which the array points to. */
  PetscScalar *sums;
  Vec          sums_vec;
  /* Other ranks, rising, send sums for the entries of this rank that are numbered in rows, in GPU memory: those of rank i from
     starts[i] on. No row occurs twice among those of one rank. */
  PetscInt     count, *starts;
  int64_t     *rows;
};

/* This is what a leaf stands for: place `index` in the halo of a rank is entry `row` of this rank. */
typedef struct {
  PetscInt rank, index, row;
} leaf;

/* This is the order for qsort in which the way between GPUs wants leaves: those of one rank together, as they are in its halo. */
static int by_rank(const void *a, const void *b)
{
  const leaf *l = a, *m = b;
  if (l->rank != m->rank) return l->rank < m->rank ? -1 : 1;
  return l->index < m->index ? -1 : l->index > m->index;
}

/* Lists the leaves: ranks tell the owners of their halos' entries where those are there. nghosts is the size of this rank's own
   halo. The caller frees the list. */
static PetscErrorCode FindLeaves(PetscSF entries, PetscInt nghosts, PetscInt *nleaves, leaf **leaves)
{
  const PetscInt *degree;
  PetscInt       *here, *there, nroots, at = 0;
  PetscMPIInt     rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)entries), &rank));
  PetscCall(PetscSFGetGraph(entries, &nroots, NULL, NULL, NULL));
  PetscCall(PetscSFComputeDegreeBegin(entries, &degree));
  PetscCall(PetscSFComputeDegreeEnd(entries, &degree));
  *nleaves = 0;
  for (PetscInt i = 0; i < nroots; i++) *nleaves += degree[i];
  PetscCall(PetscMalloc2(2 * nghosts, &here, 2 * *nleaves, &there));
  PetscCall(PetscMalloc1(*nleaves, leaves));
  for (PetscInt i = 0; i < nghosts; i++) here[2 * i] = rank, here[2 * i + 1] = i;
  PetscCall(PetscSFGatherBegin(entries, MPIU_2INT, here, there));
  PetscCall(PetscSFGatherEnd(entries, MPIU_2INT, here, there));
  for (PetscInt i = 0; i < nroots; i++)
    for (PetscInt k = 0; k < degree[i]; k++, at++) (*leaves)[at] = (leaf){there[2 * at], there[2 * at + 1], i};
  PetscCall(PetscFree2(here, there));
  if (*nleaves) qsort(*leaves, (size_t)*nleaves, sizeof **leaves, by_rank);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph leads from halos to the leaves. */
static PetscErrorCode Reverse(MPI_Comm comm, PetscInt nghosts, PetscInt nleaves, const leaf *leaves, PetscSF *reversed)
{
  PetscSFNode *roots;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nleaves, &roots));
  for (PetscInt i = 0; i < nleaves; i++) roots[i].rank = leaves[i].rank, roots[i].index = leaves[i].index;
  PetscCall(PetscSFCreate(comm, reversed));
  PetscCall(PetscSFSetGraph(*reversed, nghosts, nleaves, NULL, PETSC_OWN_POINTER, roots, PETSC_OWN_POINTER));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the memory on the GPU, and returns the first failure. */
static cudaError_t Allocate(MackoHaloBack *b, PetscInt nghosts, PetscInt nleaves, const int64_t *rows)
{
  cudaError_t error = cudaSuccess;
  if (nghosts) error = cudaMalloc((void **)&b->sums, (size_t)nghosts * sizeof *b->sums);
  if (!error && nleaves) error = cudaMalloc((void **)&b->rows, (size_t)nleaves * sizeof *rows);
  if (!error && nleaves) error = cudaMemcpy(b->rows, rows, (size_t)nleaves * sizeof *rows, cudaMemcpyHostToDevice);
  return error;
}

/* Notes which rows whose sums are added to. The ranks agree on whether all have their memory. */
static PetscErrorCode Place(MPI_Comm comm, MackoHaloBack *b, PetscInt nghosts, PetscInt nleaves, const leaf *leaves)
{
  int64_t    *rows;
  cudaError_t error;
  char        why[80] = "";

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(nleaves, &rows));
  PetscCall(PetscMalloc1(nleaves + 1, &b->starts));
  for (PetscInt i = 0; i < nleaves; i++) {
    rows[i] = leaves[i].row;
    if (i == 0 || leaves[i].rank != leaves[i - 1].rank) b->starts[b->count++] = i;
  }
  b->starts[b->count] = nleaves;
  error = Allocate(b, nghosts, nleaves, rows);
  PetscCall(PetscFree(rows));
  if (error) {
    (void)cudaGetLastError(); /* nobody else shall find it */
    PetscCall(PetscSNPrintf(why, sizeof why, "halo exchange: %s", cudaGetErrorString(error)));
  }
  PetscCall(MackoAgree(comm, error ? MACKO_DEVICE : MACKO_OK, why));
  PetscCall(VecCreateSeqCUDAWithArray(PETSC_COMM_SELF, 1, nghosts, b->sums, &b->sums_vec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A failure, which all ranks have, leaves no exchange. */
PetscErrorCode MackoHaloBackCreate(PetscSF entries, PetscInt nghosts, MackoHaloPath asked, MackoHaloBack **back)
{
  MPI_Comm       comm = PetscObjectComm((PetscObject)entries);
  PetscSF        reversed;
  PetscInt       nleaves;
  leaf          *leaves;
  PetscErrorCode error;

  PetscFunctionBegin;
  PetscCall(FindLeaves(entries, nghosts, &nleaves, &leaves));
  PetscCall(Reverse(comm, nghosts, nleaves, leaves, &reversed));
  PetscCall(PetscNew(back));
  error = Place(comm, *back, nghosts, nleaves, leaves);
  if (!error) error = MackoHaloWayCreate(reversed, nghosts, nleaves, asked, &(*back)->way);
  PetscCall(PetscSFDestroy(&reversed));
  PetscCall(PetscFree(leaves));
  if (error) PetscCall(MackoHaloBackDestroy(back));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoHaloBackDestroy(MackoHaloBack **back)
{
  MackoHaloBack *b = *back;

  PetscFunctionBegin;
  if (!b) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MackoHaloWayDestroy(&b->way));
  PetscCall(VecDestroy(&b->sums_vec));
  cudaFree(b->sums); /* cudaFree waits for the GPU */
  cudaFree(b->rows);
  PetscCall(PetscFree(b->starts));
  PetscCall(PetscFree(*back));
  PetscFunctionReturn(PETSC_SUCCESS);
}

Vec MackoHaloBackSums(const MackoHaloBack *b)
{
  return b->sums_vec;
}

PetscErrorCode MackoHaloBackSend(MackoHaloBack *b, const PetscScalar *sums)
{
  PetscFunctionBegin;
  PetscCall(MackoHaloWaySend(&b->way, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several ranks may have sums for one row: they are added rank by rank, so that the bits are the same each time. */
PetscErrorCode MackoHaloBackAdd(MackoHaloBack *b, PetscScalar *y)
{
  Vec                received;
  const PetscScalar *from;
  PetscMemType       where;
  cudaStream_t       stream;
  macko_status       status = MACKO_OK;
  macko_error        err;

  PetscFunctionBegin;
  PetscCall(MackoStream(&stream));
  PetscCall(MackoHaloWayReceive(&b->way, &received));
  PetscCall(VecGetArrayReadAndMemType(received, &from, &where));
  for (PetscInt i = 0, at; i < b->count && !status; i++) {
    at     = b->starts[i];
    status = macko_device_add_at(MACKO_F64, from + at, b->rows + at, b->starts[i + 1] - at, y, stream, &err);
  }
  PetscCall(VecRestoreArrayReadAndMemType(received, &from));
  PetscCall(MackoHaloWayDone(&b->way));
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  PetscCall(PetscLogGpuFlops((PetscLogDouble)b->starts[b->count]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
