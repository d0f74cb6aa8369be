/* Format eccsr where runs are of several widths, or masked. A file of its own, as kernels take long to compile. */
#include "eccsr/eccsr.cuh"

enum { RESIDENT = 8 };

template <int STORED, int VECTOR, typename SUM>
static __global__ void __launch_bounds__(THREADS, RESIDENT) mixed_kernel(eccsr a, device_values values, device_vectors v)
{
  take_slices<VECTOR, SUM, 1>(a, v, [&](const macko_eccsr_slice &s, const eccsr_lane &l, SUM *sum) {
    device_values at = values_at<STORED>(values, s.values);
#define CASE(w) \
  case w: \
    if (s.masked) walk<STORED, VECTOR, SUM, 1, w, 1>(a, at, NULL, v, s, l, sum); \
    else walk<STORED, VECTOR, SUM, 1, w, 0>(a, at, NULL, v, s, l, sum); \
    break;
    switch (s.w) {
    CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8)
    }
#undef CASE
  });
}

template <int STORED, int VECTOR, typename SUM>
void macko_eccsr_run_mixed(const eccsr &a, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  mixed_kernel<STORED, VECTOR, SUM><<<blocks_for(a), THREADS, 0, stream>>>(a, values, v);
}

template void macko_eccsr_run_mixed<MACKO_F64, MACKO_F64, double>(const eccsr &, const device_values &, const device_vectors &,
                                                                  cudaStream_t);
template void macko_eccsr_run_mixed<MACKO_F32, MACKO_F64, double>(const eccsr &, const device_values &, const device_vectors &,
                                                                  cudaStream_t);
template void macko_eccsr_run_mixed<MACKO_F32, MACKO_F32, float>(const eccsr &, const device_values &, const device_vectors &,
                                                                 cudaStream_t);
