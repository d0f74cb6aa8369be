/* Between the files of the halo exchange on GPUs. Both ways below are used by all ranks of a matrix or by none, and each product
 * calls, on PETSc's stream: Send before the product of the diagonal block; Receive after it, which gives the entries of the
 * columns of the off-diagonal block; Done after the product of that block. Creating and destroying are collective. */
#ifndef MACKO_HALO_H
#define MACKO_HALO_H

#include "matmacko.h"

#include <cuda_runtime_api.h>
#include <petscsf.h>

typedef char MackoHaloReason[160];

PETSC_INTERN PetscErrorCode MackoHaloCudaCheck(cudaError_t error);

/* Through pinned host memory and MPI: halo_host.c. entries goes from this rank's entries of x to its columns, nrows to ncols. */
typedef struct MackoHaloHost MackoHaloHost;
PETSC_INTERN PetscErrorCode MackoHaloHostCreate(PetscSF entries, PetscInt nrows, PetscInt ncols, MackoHaloHost **host);
PETSC_INTERN PetscErrorCode MackoHaloHostSend(MackoHaloHost *host, const PetscScalar *x, cudaStream_t stream);
PETSC_INTERN PetscErrorCode MackoHaloHostReceive(MackoHaloHost *host, cudaStream_t stream, Vec *received);
PETSC_INTERN PetscErrorCode MackoHaloHostDestroy(MackoHaloHost **host);

/* From GPU to GPU: halo_peer.c. *peer is NULL where that is not possible, and why says so, the same on all ranks. */
typedef struct MackoHaloPeer MackoHaloPeer;
PETSC_INTERN PetscErrorCode MackoHaloPeerCreate(PetscSF entries, PetscInt ncols, MackoHaloPeer **peer, MackoHaloReason why);
PETSC_INTERN PetscErrorCode MackoHaloPeerSend(MackoHaloPeer *peer, const PetscScalar *x, cudaStream_t stream);
PETSC_INTERN PetscErrorCode MackoHaloPeerReceive(MackoHaloPeer *peer, cudaStream_t stream, Vec *received);
PETSC_INTERN PetscErrorCode MackoHaloPeerDone(MackoHaloPeer *peer, cudaStream_t stream);
PETSC_INTERN PetscErrorCode MackoHaloPeerDestroy(MackoHaloPeer **peer);

/* y += A x for an off-diagonal block most of whose rows are empty: halo_rows.c. Update takes new values or a new pattern; *done
   says whether the block is such a one. */
typedef struct MackoHaloRows MackoHaloRows;
PETSC_INTERN PetscErrorCode MackoHaloRowsUpdate(Mat off, const Mat_Macko *whole, MackoHaloRows **rows);
PETSC_INTERN PetscErrorCode MackoHaloRowsAdd(MackoHaloRows *rows, Vec received, Vec y, cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode MackoHaloRowsDestroy(MackoHaloRows **rows);

#endif
