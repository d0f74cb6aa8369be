/* What the lanes of a warp do together. */
#ifndef MACKO_WARP_CUH
#define MACKO_WARP_CUH

enum { WARP = 32 };
static const unsigned EVERY = 0xffffffffu;

/* The sum over groups of so many lanes, a power of two, for each lane of the group; all lanes of the warp take part. */
template <typename SUM> static __device__ __forceinline__ SUM sum_of_lanes(SUM sum, int lanes)
{
  for (int d = lanes / 2; d > 0; d /= 2) sum += __shfl_xor_sync(EVERY, sum, d);
  return sum;
}

#endif
