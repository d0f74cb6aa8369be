/* Format eccsr where several warps of a block share long slices. A file of its own, as kernels take long to compile. */
#include "eccsr/eccsr.cuh"

/* Multiplies by slices of runs of W columns. Of the warps that share a slice the first adds up what all found, always in the same
 * order. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED, int AT_ONCE>
static __global__ void __launch_bounds__(THREADS, resident<GROUP, W, MASKED>)
  split_kernel(eccsr a, device_values values, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, AT_ONCE>(all);
  __shared__ SUM sums[GROUP][WARPS][WARP];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  const eccsr_task t = task_of(a.parts, blockIdx.x, warp);
  SUM sum[GROUP] = {};
  int row = -1;
  if (t.slice < a.count) {
    const macko_eccsr_slice s = load_slice(a, t.slice);
    const eccsr_lane l = open_lane(a, s);
    const eccsr_part part = part_of((int)s.steps, t.number, t.parts, a.parts.starts + (int64_t)blockIdx.x * WARPS + warp);
    row = l.row;
    walk_width<STORED, VECTOR, SUM, GROUP, W, MASKED, 1>(a, values, NULL, v, s, l, part, sum);
  }
#pragma unroll
  for (int g = 0; g < GROUP; g++) sums[g][warp][lane] = sum[g];
  __syncthreads();
  if (t.number || row < 0) return;
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    for (int w = 1; w < t.parts; w++) sum[g] += sums[g][warp + w][lane];
    put_y<VECTOR>(v, g, row, sum[g]);
  }
}

/* Starts it, AT_ONCE for several groups. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED>
static cudaError_t start_split(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  const unsigned blocks = (unsigned)a.parts.count;
  return start_groups<GROUP>(1, split_kernel<STORED, VECTOR, SUM, GROUP, W, MASKED, always_at_once<SUM, GROUP, W, MASKED>>,
                             split_kernel<STORED, VECTOR, SUM, GROUP, W, MASKED, 1>, blocks, THREADS, stream, a, values, v);
}

/* a.width is 1 to 8 here. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
cudaError_t macko_eccsr_run_split(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
#define CASE(w) \
  case w: \
    return a.masked ? start_split<STORED, VECTOR, SUM, GROUP, w, 1>(a, values, v, stream) \
                    : start_split<STORED, VECTOR, SUM, GROUP, w, 0>(a, values, v, stream);
  switch (a.width) {
  CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
  }
#undef CASE
  return cudaErrorInvalidValue;
}

/* These are the combinations of types that other files call. */
#define RUN macko_eccsr_run_split
MACKO_ECCSR_SHARED(MACKO_ECCSR_OF_ONE)
MACKO_ECCSR_FREQUENT(MACKO_ECCSR_OF_GROUP)
