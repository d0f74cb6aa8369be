/* Layout slice where slices are few: several warps take a slice. A file of its own, as kernels take long to compile. */
#include "macko/slice_steps.cuh"

/* Multiplies by slices, a.split warps each; AT_ONCE for several groups. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int AT_ONCE>
static __global__ void __launch_bounds__(THREADS) split_kernel(slices a, device_values values, device_vectors all)
{
  shared_slices<STORED, VECTOR, SUM, GROUP, AT_ONCE>(a, values, all);
}

/* This is what run_product calls to start the kernel. */
struct split_launch {
  slices a;
  cudaStream_t stream;
  static constexpr int AT_ONCE = MACKO_DEVICE_AT_ONCE, RARE = MACKO_ANY;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    constexpr int AT_ONCE_TOO = can_be_at_once<STORED, SUM, GROUP>;
    return start_groups<GROUP>(AT_ONCE_TOO, split_kernel<STORED, VECTOR, SUM, GROUP, 0>,
                               split_kernel<STORED, VECTOR, SUM, GROUP, AT_ONCE_TOO>, blocks_for(a.count * a.split), THREADS,
                               stream, a, values, v);
  }
};

macko_status macko_split_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, int grouped,
                                  cudaStream_t stream, macko_error *err)
{
  return run_product(split_launch{a, stream}, d, p, grouped, err);
}
