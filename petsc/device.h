/* Between the files of the matrix types that call CUDA. */
#ifndef MACKO_PETSC_DEVICE_H
#define MACKO_PETSC_DEVICE_H

#include "matmacko.h"

#include <cuda_runtime_api.h>

/* *stream becomes the stream that PETSc queues its own operations on, so that ours are in order with them. */
PETSC_INTERN PetscErrorCode MackoStream(cudaStream_t *stream);

/* Copies the three arrays of a csr in host memory to the GPU, queued on stream; *device describes the copy. All lie in one
   allocation, which *memory holds and the caller frees with cudaFree. *done is PETSC_FALSE, and *memory NULL, where the GPU has
   no room. */
PETSC_INTERN PetscErrorCode MackoCopyRows(const macko_csr *csr, macko_csr *device, void **memory, cudaStream_t stream,
                                          PetscBool *done);

/* With fewer entries than this the CPU has encoded a matrix sooner than it would have copied it to the GPU. */
enum { MACKO_ENCODED_SOONER_BY_CPU = 65536 };

/* Returns the bytes from the first element to the last one of k columns of n elements each, a.ld apart. */
PETSC_INTERN size_t MackoArrayBytes(MackoArray a, PetscInt n, PetscInt k);

/* Makes so many bytes of room in GPU memory, m->staged[which], which m owns and keeps from one product to the next; what is in it
   is lost where it has to grow. On failure there is none. */
PETSC_INTERN cudaError_t MackoRoom(Mat_Macko *m, MackoRoomFor which, size_t bytes);

/* MackoStage makes a->data such room for an array of so many bytes that is in host memory, filled with it if it is to be read.
   MackoUnstage copies what a product has written there to the array of the host, and waits for that. */
PETSC_INTERN macko_status MackoStage(Mat_Macko *m, MackoRoomFor which, MackoArray *a, size_t bytes, PetscBool read,
                                     cudaStream_t stream, macko_error *err);
PETSC_INTERN macko_status MackoUnstage(MackoArray staged, MackoArray to, size_t bytes, cudaStream_t stream, macko_error *err);

#endif
