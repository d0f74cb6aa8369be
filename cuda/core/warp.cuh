/* What the lanes of a warp do together. */
#ifndef MACKO_WARP_CUH
#define MACKO_WARP_CUH

/* This is the number of lanes of a warp, and the mask that says that all of them take part. */
enum { WARP = 32 };
static const unsigned EVERY = 0xffffffffu;

/* Gives the sum over groups of so many lanes, a power of two, which every lane of a group gets. All lanes of the warp must take
 * part. Lanes are added in pairs at falling distances, always in the same order, so that sums of floats have the same bits on
 * every run. */
template <typename SUM> static __device__ __forceinline__ SUM sum_of_lanes(SUM sum, int lanes)
{
  for (int d = lanes / 2; d > 0; d /= 2) sum += __shfl_xor_sync(EVERY, sum, d);
  return sum;
}

/* Gives the sum of the counts of the calling lane, whose number is given, and of those before it. All lanes of the warp must take
 * part. */
template <typename COUNT> static __device__ __forceinline__ COUNT sum_up_to_lane(COUNT sum, int lane)
{
  for (int d = 1; d < WARP; d *= 2) {
    const COUNT before = __shfl_up_sync(EVERY, sum, d);
    if (lane >= d) sum += before;
  }
  return sum;
}

#endif
