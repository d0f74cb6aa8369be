/* Layout slice where elements of x lie anywhere: several vectors side by side. A file of its own, as kernels take long to
 * compile. */
#include "macko/slice_steps.cuh"

/* Multiplies by slices, a warp each, group number blockIdx.y. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) beside_kernel(slices a, device_values values, device_vectors v)
{
  whole_slices<STORED, VECTOR, SUM, GROUP, 0, 1>(a, values, v);
}

/* This is what multiply_beside calls to start the kernel. */
struct beside_launch {
  slices a;
  cudaStream_t stream;
  template <int STORED> static constexpr bool HAS = true; /* all that are listed */
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    return launch(beside_kernel<STORED, VECTOR, SUM, GROUP>, dim3(blocks_for(a.count), (unsigned)v.count), THREADS, 0, stream, a,
                  values, v);
  }
};

/* Where entries near by ask for the same sectors, each vector's elements are in the first-level cache as they are. It takes so many
 * sectors an entry that side by side is faster (H200, f64: 0.17 83 %, 0.13 150 % of the time). */
static const double worth_it = 0.15;

int64_t macko_slices_multiply_beside(const slices &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream)
{
  if (!macko_goes_beside(d, p, worth_it)) return 0;
  return multiply_beside(beside_launch{a, stream}, d, p, ((const device_macko *)d->own)->beside, stream);
}
