/* Layout slice where slices are few: several warps take a slice. A file of its own, as kernels take long to compile. */
#include "macko/slice_steps.cuh"

/* Multiplies by slices, a.split warps each. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) split_kernel(slices a, device_values values, device_vectors v)
{
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  __shared__ block_sums<SUM, GROUP> sums;
  const block_values<SUM> b = {values, share_table<STORED>(values, shared_table)};
  split_slices<round_steps<STORED>, VECTOR>(a, v, &sums, [&](const macko_slice &s, int64_t slice, int from, int to, SUM *sum) {
    return add_slice<STORED, VECTOR, SUM, GROUP, 0>(a, b, v, s, slice, from, to, sum);
  });
}

/* This is what run_product calls to start the kernel. */
struct split_launch {
  slices a;
  cudaStream_t stream;
  static constexpr int RARE = MACKO_ANY;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    return launch(split_kernel<STORED, VECTOR, SUM, GROUP>, blocks_for(a.count * a.split), THREADS, 0, stream, a, values, v);
  }
};

macko_status macko_split_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                  macko_error *err)
{
  return run_product(split_launch{a, stream}, d, p, err);
}
