/* Between the GPU parts of macko-bench: the peers are prepared once and then run like ours. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include "bench/bench.h"

#include <cuda_runtime_api.h>

/* Something that multiplies. run queues y = A x for k vectors, 1 or as many as it was opened for, which follow each other, on a
 * stream; it is NULL where this matrix cannot be taken. close frees own, and
 * is to be called after a failed opening too. */
typedef struct bench_contender {
  macko_status (*run)(const struct bench_contender *c, int k, cudaStream_t stream, macko_error *err);
  void (*close)(struct bench_contender *c);
  void *own;          /* the contender's data */
  void *x, *y;        /* device */
  int64_t bytes;      /* of the matrix as it has it */
  double rounding;    /* of values that are stored in fewer bits: what bench_check takes; 0: they are exact */
  double preparation; /* seconds that a peer spends once before it multiplies */
  char name[48], detail[512]; /* as in bench_result */
} bench_contender;

enum { BENCH_PEERS = 14 };

/* Opens peer 0 .. BENCH_PEERS - 1 for *csr (32-bit indices) with k vectors x and y in device memory; run is NULL if that peer
 * cannot take this matrix or several vectors, with the reason in detail. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status bench_open_peer(int peer, const macko_csr *csr, int k, void *x, void *y, bench_contender *c, macko_error *err);

/* Opens a matrix type of PETSc's in *c, which has a name, vectors and something to close already. Errors: those of bench_open_peer,
 * and UNSUPPORTED. */
macko_status bench_open_petsc_gpu(const char *type, const macko_csr *csr, int k, bench_contender *c, macko_error *err);

double bench_gpu_now(void); /* seconds */

/* Returns the microseconds between two events that are over. */
double bench_gpu_between(cudaEvent_t from, cudaEvent_t to);

/* Returns MACKO_OK, or fails with DEVICE and "what: " before CUDA's sentence. err may be NULL. */
macko_status bench_cuda(cudaError_t error, const char *what, macko_error *err);

#endif
