/* Format eccsr where all runs are of one width, as for unknowns that are coupled. A file of its own, as kernels take long to
 * compile. */
#include "eccsr/eccsr.cuh"

template <int STORED, int VECTOR, typename SUM, int W, int MASKED>
static __global__ void __launch_bounds__(THREADS, RESIDENT) width_kernel(eccsr a, device_values values, device_vectors v)
{
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const SUM *table = share_table<STORED>(values, shared_table);
  take_slices<VECTOR, SUM, 1>(a, v, [&](const macko_eccsr_slice &s, const eccsr_lane &l, SUM *sum) {
    walk_slice<STORED, VECTOR, SUM, W, MASKED>(a, values, table, v, s, l, sum);
  });
}

template <int STORED, int VECTOR, typename SUM>
cudaError_t macko_eccsr_run_width(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
#define CASE(w) \
  case w: \
    if (a.masked) return launch(width_kernel<STORED, VECTOR, SUM, w, 1>, blocks_for<STORED>(a), THREADS, 0, stream, a, values, v); \
    else return launch(width_kernel<STORED, VECTOR, SUM, w, 0>, blocks_for<STORED>(a), THREADS, 0, stream, a, values, v);
  switch (a.width) {
  CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
  }
#undef CASE
  return cudaErrorInvalidValue;
}

#define MACKO_CASE(stored, vector, sum) \
  template cudaError_t macko_eccsr_run_width<MACKO_##stored, MACKO_##vector, sum>(const eccsr &, const device_values &, \
                                                                                  const device_vectors &, cudaStream_t);
MACKO_ECCSR_WIDTHS
