/* Between the files of the matrix types that call CUDA. */
#ifndef MACKO_PETSC_DEVICE_H
#define MACKO_PETSC_DEVICE_H

#include "matmacko.h"

#include <cuda_runtime_api.h>

/* PETSc's current stream. */
PETSC_INTERN PetscErrorCode MackoStream(cudaStream_t *stream);

/* Copies a csr to the GPU: one allocation, which *memory holds and the caller frees; *done is PETSC_FALSE where there is no room. */
PETSC_INTERN PetscErrorCode MackoCopyRows(const macko_csr *csr, macko_csr *device, void **memory, cudaStream_t stream, PetscBool *done);

/* Fewer entries than this the CPU encodes sooner than it copies them there. */
enum { MACKO_ENCODED_SOONER_BY_CPU = 65536 };

/* Those of k columns of n elements. */
PETSC_INTERN size_t MackoArrayBytes(MackoArray a, PetscInt n, PetscInt k);

/* Gives a the room number which of m on the GPU, filled if it is to be read; and back. */
PETSC_INTERN PetscErrorCode MackoStage(Mat_Macko *m, int which, MackoArray *a, size_t bytes, PetscBool read, cudaStream_t stream);
PETSC_INTERN PetscErrorCode MackoUnstage(MackoArray staged, MackoArray to, size_t bytes, cudaStream_t stream);

#endif
