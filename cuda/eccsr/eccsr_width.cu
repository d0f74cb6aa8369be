/* Format eccsr where all runs are of one width and nothing is masked, as for unknowns that are all coupled. A file of its own, as
 * kernels take long to compile. */
#include "eccsr/eccsr.cuh"

/* Blocks of a multiprocessor: few steps at a time of wide runs, and many warps. */
enum { RESIDENT = 8 };

template <int STORED, int VECTOR, typename SUM, int W>
static __global__ void __launch_bounds__(THREADS, RESIDENT) width_kernel(eccsr a, device_values values, device_vectors v)
{
  take_slices<VECTOR, SUM, 1>(a, v, [&](const macko_eccsr_slice &s, const eccsr_lane &l, SUM *sum) {
    walk<STORED, VECTOR, SUM, 1, W, 0>(a, values_at<STORED>(values, s.values), NULL, v, s, l, sum);
  });
}

template <int STORED, int VECTOR, typename SUM>
void macko_eccsr_run_width(const eccsr &a, int width, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
#define CASE(w) case w: width_kernel<STORED, VECTOR, SUM, w><<<blocks_for(a), THREADS, 0, stream>>>(a, values, v); break;
  switch (width) {
  CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
  }
#undef CASE
}

template void macko_eccsr_run_width<MACKO_F64, MACKO_F64, double>(const eccsr &, int, const device_values &, const device_vectors &,
                                                                  cudaStream_t);
template void macko_eccsr_run_width<MACKO_F32, MACKO_F64, double>(const eccsr &, int, const device_values &, const device_vectors &,
                                                                  cudaStream_t);
template void macko_eccsr_run_width<MACKO_F32, MACKO_F32, float>(const eccsr &, int, const device_values &, const device_vectors &,
                                                                 cudaStream_t);
