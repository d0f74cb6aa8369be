/* The number of a pattern (lib/core/pattern.h) of a csr in device memory: a warp a block, whose lanes keep their keys. */
#include "core/device_csr.cuh"
#include "core/pattern.h"

/* PATTERN_BLOCKS is the most blocks of threads: each warp goes on to further blocks of the pattern with the keys that it has
 * computed once. PER_LANE are the pairs of such a block that a lane takes. */
enum { PATTERN_BLOCKS = 2048, PER_LANE = MACKO_PATTERN_PAIRS / WARP };

/* Adds to *number what the blocks of *w contribute. Integer sums do not depend on the order in which warps add, so that atomics
 * are allowed here. */
static __global__ void pattern_kernel(macko_pattern_words w, unsigned long long *number)
{
  macko_pattern_pair keys[2][PER_LANE];
  const int64_t pairs = macko_pattern_pairs(&w), blocks = macko_pattern_blocks(&w);
  uint64_t sum = 0;
  for (int set = 0; set < 2; set++)
    for (int i = 0; i < PER_LANE; i++) keys[set][i] = macko_pattern_keys(set, i * WARP + lane_number());
  for (int64_t block = warp_number(), step = (int64_t)gridDim.x * blockDim.x / WARP; block < blocks; block += step) {
    uint64_t sums[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
      const int64_t pair = block * MACKO_PATTERN_PAIRS + i * WARP + lane_number();
      if (pair >= pairs) continue;
      const macko_pattern_pair p = macko_pattern_pair_at(&w, pair);
      for (int set = 0; set < 2; set++) sums[set] += macko_pattern_product(p, keys[set][i]);
    }
    for (int set = 0; set < 2; set++) sums[set] = sum_of_lanes(sums[set], WARP);
    sum += macko_pattern_block(&w, block, sums);
  }
  if (lane_number() == 0 && sum) atomicAdd(number, (unsigned long long)sum);
}

/* Starts the kernel for the row starts or for the columns. */
static cudaError_t add(const macko_pattern_words *w, unsigned long long *number, cudaStream_t stream)
{
  const int64_t blocks = macko_pattern_blocks(w), most = (int64_t)PATTERN_BLOCKS * ENCODE_THREADS / WARP;
  return launch(pattern_kernel, blocks_for((blocks < most ? blocks : most) * WARP), ENCODE_THREADS, 0, stream, *w, number);
}

extern "C" cudaError_t macko_sum_pattern(const macko_csr *a, int64_t nnz, unsigned long long *number, cudaStream_t stream)
{
  const macko_pattern_words starts = macko_pattern_starts(a, nnz), columns = macko_pattern_columns(a, nnz);
  cudaError_t error = cudaMemsetAsync(number, 0, sizeof *number, stream);
  if (!error) error = add(&starts, number, stream);
  return error ? error : add(&columns, number, stream);
}
