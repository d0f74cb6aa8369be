/* Sums of counts up to and including each: within blocks, then of blocks. Counts may be of any type with an operator + that is
 * associative: what comes first stands on its left. */
#ifndef MACKO_SUMS_CUH
#define MACKO_SUMS_CUH

#include "core/launch.cuh"
#include "core/warp.cuh"

#include <stdint.h>

/* This is the number of counts that one block of threads adds up, one a thread. */
enum { SUM_THREADS = 1024 };

/* Gives the count of the lane that is `far` before the calling one. */
template <typename COUNT> static __device__ __forceinline__ COUNT of_lane_before(COUNT count, int far)
{
  return __shfl_up_sync(EVERY, count, far);
}

/* Replaces counts by the sums up to and including each, within each block of threads; element b of sums, which may be NULL,
 * gets the whole of block b. */
template <typename COUNT>
static __global__ void __launch_bounds__(SUM_THREADS) sum_kernel(COUNT *counts, int64_t n, COUNT *sums)
{
  __shared__ COUNT warps[WARP];
  int64_t i = (int64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  COUNT sum = i < n ? counts[i] : COUNT{}, before = COUNT{};
  for (int far = 1; far < WARP; far *= 2) {
    COUNT other = of_lane_before(sum, far);
    if (lane >= far) sum = other + sum;
  }
  if (lane == WARP - 1) warps[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; w++) before = before + warps[w];
  sum = before + sum;
  if (i < n) counts[i] = sum;
  if (sums && threadIdx.x == SUM_THREADS - 1) sums[blockIdx.x] = sum;
}

/* Adds to the sums within each block what all blocks before it hold. sums has been summed up itself. */
template <typename COUNT>
static __global__ void __launch_bounds__(SUM_THREADS) add_kernel(COUNT *counts, int64_t n, const COUNT *sums)
{
  int64_t i = (int64_t)blockIdx.x * SUM_THREADS + threadIdx.x;
  if (i < n && blockIdx.x) counts[i] = sums[blockIdx.x - 1] + counts[i];
}

/* Gives the number of elements of scratch memory that summing up n counts takes beside them: the sums of blocks, of blocks of
 * blocks, and so on. */
static inline int64_t sum_room(int64_t n)
{
  return n / (SUM_THREADS / 2) + 64;
}

/* Replaces n counts in device memory by the sums up to and including each; room has sum_room(n) elements there. Sums of blocks
 * are summed up in the same way, so that there is no limit to n. */
template <typename COUNT> static cudaError_t sum_up(COUNT *counts, int64_t n, COUNT *room, cudaStream_t stream)
{
  int64_t blocks = (n + SUM_THREADS - 1) / SUM_THREADS;
  if (n <= 0) return cudaSuccess;
  cudaError_t error = launch(sum_kernel<COUNT>, (unsigned)blocks, SUM_THREADS, 0, stream, counts, n, blocks > 1 ? room : NULL);
  if (!error && blocks > 1) error = sum_up(room, blocks, room + blocks, stream);
  if (error || blocks <= 1) return error;
  return launch(add_kernel<COUNT>, (unsigned)blocks, SUM_THREADS, 0, stream, counts, n, (const COUNT *)room);
}

#endif
