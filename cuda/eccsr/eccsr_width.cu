/* Format eccsr where all runs are of one width, as for unknowns that are coupled. A file of its own, as kernels take long to
 * compile. */
#include "eccsr/eccsr.cuh"

/* The width of runs is known when this is compiled, so that one kernel has the registers of one width only. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED, int AT_ONCE>
static __global__ void __launch_bounds__(THREADS, resident<GROUP, W, MASKED>)
  width_kernel(eccsr a, device_values values, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, AT_ONCE>(all);
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const SUM *table = share_table<STORED>(values, shared_table);
  take_slices<VECTOR, SUM, GROUP>(a, v, [&](const macko_eccsr_slice &s, const eccsr_lane &l, SUM *sum) {
    walk_width<STORED, VECTOR, SUM, GROUP, W, MASKED, 0>(a, values, table, v, s, l, {}, sum);
  });
}

/* Starts it, AT_ONCE for several groups. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED>
static cudaError_t start_width(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  return start_groups<GROUP>(1, width_kernel<STORED, VECTOR, SUM, GROUP, W, MASKED, always_at_once<SUM, GROUP, W, MASKED>>,
                             width_kernel<STORED, VECTOR, SUM, GROUP, W, MASKED, 1>, blocks_for<STORED>(a), THREADS, stream, a,
                             values, v);
}

/* a.width is 1 to 8 here: matrices with runs of several widths have the other kernel. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
cudaError_t macko_eccsr_run_width(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
#define CASE(w) \
  case w: \
    return a.masked ? start_width<STORED, VECTOR, SUM, GROUP, w, 1>(a, values, v, stream) \
                    : start_width<STORED, VECTOR, SUM, GROUP, w, 0>(a, values, v, stream);
  switch (a.width) {
  CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
  }
#undef CASE
  return cudaErrorInvalidValue;
}

/* These are the combinations of types that other files call. */
#define RUN macko_eccsr_run_width
MACKO_ECCSR_WIDTHS(MACKO_ECCSR_OF_ONE)
MACKO_ECCSR_FREQUENT(MACKO_ECCSR_OF_GROUP)
