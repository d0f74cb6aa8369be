/* Layout slice where elements of x lie anywhere: several vectors side by side. A file of its own, as kernels take long to
 * compile. */
#include "macko/slice_steps.cuh"

/* Multiplies by slices, a warp each, group number blockIdx.y. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) beside_kernel(slices a, device_values values, device_vectors v)
{
  whole_slices<STORED, VECTOR, SUM, GROUP, 0, 1>(a, values, v);
}

/* Does so by a.split warps a slice. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) split_beside_kernel(slices a, device_values values, device_vectors v)
{
  shared_slices<STORED, VECTOR, SUM, GROUP, 1>(a, values, v);
}

/* This is what multiply_beside calls to start the kernel. */
struct beside_launch {
  slices a;
  cudaStream_t stream;
  template <int STORED> static constexpr bool HAS = true; /* all that are listed */
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    const auto kernel = a.split > 1 ? split_beside_kernel<STORED, VECTOR, SUM, GROUP> : beside_kernel<STORED, VECTOR, SUM, GROUP>;
    return launch(kernel, dim3(blocks_for(a.count * a.split), (unsigned)v.count), THREADS, 0, stream, a, values, v);
  }
};

/* Where entries near by ask for the same sectors, each vector's elements are in the first-level cache as they are. Gives how many
 * sectors an entry it takes that side by side is faster (H200, f64: 0.17 83 %, 0.13 150 % of the time; 16 bits, of which one load
 * brings four: 0.14 54 %, 0.07 78 to 119 %). */
static double worth_it(macko_type vector_type)
{
  return vector_type == MACKO_F16 || vector_type == MACKO_BF16 ? 0.1 : 0.15;
}

int64_t macko_slices_multiply_beside(const slices &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream)
{
  if (!macko_goes_beside(d, p, worth_it(p->vector_type))) return 0;
  return multiply_beside(beside_launch{a, stream}, d, p, ((const device_macko *)d->own)->beside, stream);
}
