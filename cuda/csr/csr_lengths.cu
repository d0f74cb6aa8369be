/* The lengths of rows of a csr in device memory, as planning asks for them. */
#include "core/device_csr.cuh"
#include "csr/csr_blocks.h"

/* Adds up the lengths of the rows of the sample, a thread a row, a block of threads a stretch. Sums are integers, so that atomics
 * in any order give the same. */
static __global__ void __launch_bounds__(MACKO_CSR_STRETCH) lengths_kernel(macko_device_csr a, macko_csr_lengths *lengths)
{
  const int64_t row = (int64_t)blockIdx.x * MACKO_CSR_EVERY + threadIdx.x;
  const bool there = row < a.nrows;
  const int64_t all = there ? row_start(a, row + 1) - row_start(a, row) : 0;
  const uint64_t n = all < MACKO_CSR_LONGEST ? (uint64_t)all : MACKO_CSR_LONGEST;
  const uint64_t rows = sum_of_lanes((uint64_t)there, WARP), entries = sum_of_lanes(n, WARP), squares = sum_of_lanes(n * n, WARP);
  if (lane_number()) return;
  atomicAdd(&lengths->rows, (unsigned long long)rows), atomicAdd(&lengths->entries, (unsigned long long)entries);
  atomicAdd(&lengths->squares, (unsigned long long)squares);
}

extern "C" cudaError_t macko_csr_add_lengths(const macko_device_csr *a, macko_csr_lengths *lengths, cudaStream_t stream)
{
  const unsigned blocks = (unsigned)((a->nrows + MACKO_CSR_EVERY - 1) / MACKO_CSR_EVERY);
  return blocks ? launch(lengths_kernel, blocks, MACKO_CSR_STRETCH, 0, stream, *a, lengths) : cudaSuccess;
}
