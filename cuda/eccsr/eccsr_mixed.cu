/* Format eccsr where runs are of several widths. A file of its own, as kernels take long to compile. */
#include "eccsr/eccsr.cuh"

/* The width of runs is that of a slice, the same for a warp, so that the switch does not diverge. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int MASKED, int AT_ONCE>
static __global__ void __launch_bounds__(THREADS, resident<GROUP, 0, MASKED>)
  mixed_kernel(eccsr a, device_values values, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, AT_ONCE>(all);
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const SUM *table = share_table<STORED>(values, shared_table);
  take_slices<VECTOR, SUM, GROUP>(a, v, [&](const macko_eccsr_slice &s, const eccsr_lane &l, SUM *sum) {
#define CASE(w) case w: walk_slice<STORED, VECTOR, SUM, GROUP, w, MASKED, 0, 0>(a, values, table, v, s, l, {}, sum); break;
    switch (s.w) {
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
    }
#undef CASE
  });
}

/* Starts it, AT_ONCE for several groups. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int MASKED>
static cudaError_t start_mixed(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  return start_groups<GROUP>(1, mixed_kernel<STORED, VECTOR, SUM, GROUP, MASKED, always_at_once<SUM, GROUP, 0, MASKED>>,
                             mixed_kernel<STORED, VECTOR, SUM, GROUP, MASKED, 1>, blocks_for<STORED>(a), THREADS, stream, a,
                             values, v);
}

/* Only matrices that have masks anywhere pay for asking each slice. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
cudaError_t macko_eccsr_run_mixed(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  return a.masked ? start_mixed<STORED, VECTOR, SUM, GROUP, 1>(a, values, v, stream)
                  : start_mixed<STORED, VECTOR, SUM, GROUP, 0>(a, values, v, stream);
}

/* These are the combinations of types that other files call. */
#define RUN macko_eccsr_run_mixed
MACKO_ECCSR_WIDTHS(MACKO_ECCSR_OF_ONE)
MACKO_ECCSR_FREQUENT(MACKO_ECCSR_OF_GROUP)
