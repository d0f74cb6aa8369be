/* How many rows of a csr in device memory have entries. */
#include "core/device_csr.cuh"

/* Adds to *count the rows with entries, a thread a row. */
static __global__ void __launch_bounds__(ENCODE_THREADS) count_kernel(macko_device_csr a, unsigned long long *count)
{
  const int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  const int has_entries = row < a.nrows && row_start(a, row + 1) > row_start(a, row);
  const int all = __syncthreads_count(has_entries);
  if (threadIdx.x == 0 && all) atomicAdd(count, (unsigned long long)all);
}

extern "C" cudaError_t macko_start_count_rows(const macko_device_csr *a, unsigned long long *count, cudaStream_t stream)
{
  return launch(count_kernel, blocks_for(a->nrows), ENCODE_THREADS, 0, stream, *a, count);
}
