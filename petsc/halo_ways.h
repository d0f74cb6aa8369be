/* Between the files of the halo exchange on GPUs. Both ways below are used by all ranks of a matrix or by none, and halo.c calls
 * their steps, on PETSc's stream, as products call its own (halo.h). Creating and destroying are collective. */
#ifndef MACKO_HALO_WAYS_H
#define MACKO_HALO_WAYS_H

#include "matmacko.h"

#include <cuda_runtime_api.h>
#include <petscsf.h>

/* This is a sentence for people, empty where there is none; in an array of fixed size, so that ranks can send it to each
   other. */
typedef char MackoHaloReason[160];

/* Raises a failure of CUDA as PETSc's error. */
PETSC_INTERN PetscErrorCode MackoHaloCudaCheck(cudaError_t error);

/* The way by MPI is in halo_host.c: through pinned host memory or, with aware, from GPU memory. The graph of entries leads from
   nroots entries of this rank to places among nleaves. Receive copies what has arrived to these places of an array in GPU
   memory. */
typedef struct MackoHaloHost MackoHaloHost;
PETSC_INTERN PetscErrorCode MackoHaloHostCreate(PetscSF entries, PetscInt nroots, PetscInt nleaves, PetscBool aware,
                                                MackoHaloHost **host);
PETSC_INTERN PetscErrorCode MackoHaloHostSend(MackoHaloHost *host, const PetscScalar *x, cudaStream_t stream);
PETSC_INTERN PetscErrorCode MackoHaloHostReceive(MackoHaloHost *host, cudaStream_t stream, PetscScalar *to);
PETSC_INTERN PetscErrorCode MackoHaloHostDestroy(MackoHaloHost **host);

/* The way from GPU to GPU is in halo_peer.c; all that entries leads to is on one node. Create leaves *peer NULL where that is not
   possible, and why says so, the same on all ranks. The vector that Receive gives is valid until Done. */
typedef struct MackoHaloPeer MackoHaloPeer;
PETSC_INTERN PetscErrorCode MackoHaloPeerCreate(PetscSF entries, PetscInt ncols, MackoHaloPeer **peer, MackoHaloReason why);
PETSC_INTERN PetscErrorCode MackoHaloPeerSend(MackoHaloPeer *peer, const PetscScalar *x, cudaStream_t stream);
PETSC_INTERN PetscErrorCode MackoHaloPeerReceive(MackoHaloPeer *peer, cudaStream_t stream, Vec *received);
PETSC_INTERN PetscErrorCode MackoHaloPeerDone(MackoHaloPeer *peer, cudaStream_t stream);
PETSC_INTERN PetscErrorCode MackoHaloPeerDestroy(MackoHaloPeer **peer);

/* One exchange, by the better of the two ways for each entry, is in halo_way.c. Both are there where ranks are on several nodes,
   else one, the same on all ranks; the sentence says why there is none from GPU to GPU. Create leads entries of the nroots roots of
   this rank to its nleaves leaves by the way that is asked for; it is collective, and fails on all ranks or on none. Send begins,
   with an array of roots in GPU memory; Receive sets *leaves to a vector of all leaves there, which stays the exchange's and valid
   until Done. */
typedef struct {
  MackoHaloHost  *host;
  MackoHaloPeer  *peer;
  PetscBool       aware;  /* the first takes GPU memory */
  PetscScalar    *leaves; /* what Receive gives where there is no second, in GPU memory; the vector is a view of it */
  Vec             leaves_vec;
  MackoHaloReason why;
} MackoHaloWay;
PETSC_INTERN PetscErrorCode MackoHaloWayCreate(PetscSF entries, PetscInt nroots, PetscInt nleaves, MackoHaloPath asked,
                                               MackoHaloWay *way);
PETSC_INTERN PetscErrorCode MackoHaloWaySend(MackoHaloWay *way, const PetscScalar *roots);
PETSC_INTERN PetscErrorCode MackoHaloWayReceive(MackoHaloWay *way, Vec *leaves);
PETSC_INTERN PetscErrorCode MackoHaloWayDone(MackoHaloWay *way);
PETSC_INTERN PetscErrorCode MackoHaloWayDestroy(MackoHaloWay *way);
PETSC_INTERN PetscErrorCode MackoHaloWayView(const MackoHaloWay *way, PetscViewer viewer);

/* The exchange the other way is in halo_back.c: entries is the graph that leads from the entries of x to halos, of which this
   rank's has nghosts. Sums gives a vector of as many in GPU memory, for a product to fill; Send takes such an array; Add brings
   what other ranks have sent and adds it to the array y of this rank's entries. Create is collective, and fails on all ranks or on
   none. */
typedef struct MackoHaloBack MackoHaloBack;
PETSC_INTERN PetscErrorCode MackoHaloBackCreate(PetscSF entries, PetscInt nghosts, MackoHaloPath asked, MackoHaloBack **back);
PETSC_INTERN Vec            MackoHaloBackSums(const MackoHaloBack *back);
PETSC_INTERN PetscErrorCode MackoHaloBackSend(MackoHaloBack *back, const PetscScalar *sums);
PETSC_INTERN PetscErrorCode MackoHaloBackAdd(MackoHaloBack *back, PetscScalar *y);
PETSC_INTERN PetscErrorCode MackoHaloBackDestroy(MackoHaloBack **back);

/* The rows that halo_rows.c keeps (MackoHaloRowsUpdate): Add multiplies with them and adds to y, or sets *done to PETSC_FALSE and
   does nothing where the block itself is to be multiplied with. */
typedef struct MackoHaloRows MackoHaloRows;
PETSC_INTERN PetscErrorCode MackoHaloRowsAdd(MackoHaloRows *rows, Vec received, Vec y, cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode MackoHaloRowsDestroy(MackoHaloRows **rows);

#endif
