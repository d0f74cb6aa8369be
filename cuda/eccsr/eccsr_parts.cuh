/* Format eccsr on the GPU: which part of which slice a warp takes where several share a slice. */
#ifndef MACKO_ECCSR_PARTS_CUH
#define MACKO_ECCSR_PARTS_CUH

#include "core/warp.cuh"
#include "eccsr/eccsr_device.h"

/* This is what part number `number` of so many has of a slice: steps from .. to - 1, an even number of them but for the last part,
 * as warps take two at once where runs are of three columns. A part may have none. start is read where it does not begin with step
 * 0. */
struct eccsr_part {
  int from, to;
  const eccsr_start *start;
};

static __device__ __forceinline__ eccsr_part part_of(int steps, int number, int parts, const eccsr_start *start)
{
  const int each = (steps + 2 * parts - 1) / (2 * parts) * 2, from = min(number * each, steps);
  return {from, min(from + each, steps), start};
}

/* This is the task of a warp: a part of a slice. */
struct eccsr_task {
  int64_t slice;
  int parts, number;
};

/* Gives the task of warp number `warp` of a block of four: their slices follow each other, and so do the parts of a slice. */
static __device__ __forceinline__ eccsr_task task_of(const eccsr_parts &p, int64_t block, int warp)
{
  const uint64_t word = __ldg((const unsigned long long *)p.blocks + block);
  const int parts = 1 << (word & 3);
  return {(int64_t)(word >> 2) + warp / parts, parts, warp % parts};
}

#endif
