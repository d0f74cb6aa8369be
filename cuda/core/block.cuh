/* What the threads of a block do together. */
#ifndef MACKO_BLOCK_CUH
#define MACKO_BLOCK_CUH

#include "core/warp.cuh"

#include <stdint.h>

/* Gives the sum of what the threads before this one have, and in *all that of all threads. All threads of the block take part;
 * the first barrier lets the shared memory be used again. */
static __device__ uint64_t scan_block(uint64_t mine, uint64_t *all)
{
  __shared__ uint64_t of_warps[WARP];
  const int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, count = (int)blockDim.x / WARP;
  const uint64_t sum = sum_up_to_lane(mine, lane);
  __syncthreads();
  if (lane == WARP - 1) of_warps[warp] = sum;
  __syncthreads();
  uint64_t before = 0;
  *all = 0;
  for (int i = 0; i < count; i++) {
    if (i < warp) before += of_warps[i];
    *all += of_warps[i];
  }
  return before + sum - mine;
}

#endif
