/* The sectors of x that entries ask for, counted in a sample of a csr in device memory: a block of threads a stretch. */
#include "core/sectors.cuh"

/* Adds to counts[0] and [1] the entries and the sectors of one stretch. */
static __global__ void stretch_kernel(macko_device_csr a, macko_stretches s, macko_hash_key key, unsigned long long *counts)
{
  __shared__ unsigned long long table[MACKO_SECTOR_SLOTS];
  clear_sectors(table);
  const int64_t first = blockIdx.x * s.step, past = min(first + s.rows, a.nrows);
  const int64_t begin = row_start(a, first), end = min(row_start(a, past), begin + MACKO_STRETCH);
  int sectors = 0;
  for (int64_t p = begin + threadIdx.x; p < end; p += blockDim.x) sectors += put_sector(table, key, column(a, p) / s.columns);
  if (sectors) atomicAdd(&counts[1], (unsigned long long)sectors);
  if (threadIdx.x == 0) atomicAdd(&counts[0], (unsigned long long)(end - begin));
}

extern "C" cudaError_t macko_count_sectors(const macko_device_csr *a, const macko_stretches *s, macko_hash_key key,
                                           unsigned long long counts[2], cudaStream_t stream)
{
  cudaError_t error = cudaMemsetAsync(counts, 0, 2 * sizeof *counts, stream);
  return error || !s->count ? error : launch(stretch_kernel, (unsigned)s->count, ENCODE_THREADS, 0, stream, *a, *s, key, counts);
}
