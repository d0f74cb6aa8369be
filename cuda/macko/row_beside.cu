/* Layouts row and paper with several vectors side by side: entries near by in a row ask for elements of x that are near by, each of
 * which is a load of its own. A file of its own, as kernels take long to compile. */
#include "macko/row_walk.cuh"

/* Multiplies a group by rows and pieces. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) beside_kernel(rows a, device_values values, device_vectors v)
{
  take_rows<STORED, VECTOR, SUM, GROUP, NOT_WIDE>(a, values, v);
}

/* This is what multiply_beside calls to start the kernel, for one group after the other, as they share the place of what pieces
 * leave. */
struct beside_launch {
  rows a;
  const device_rows *r;
  cudaStream_t stream;
  /* Kernels take long to compile, and weights are of these types. */
  template <int STORED> static constexpr bool HAS = STORED == MACKO_F32 || STORED == MACKO_F16 || STORED == MACKO_BF16;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    cudaError_t error = cudaSuccess;
    for (int j = 0; !error && j < v.count; j++)
      error = macko_rows_start(beside_kernel<STORED, VECTOR, SUM, GROUP>, a, r, values, vectors_after(v, (int64_t)j * GROUP), GROUP,
                               stream);
    return error;
  }
};

int64_t macko_rows_multiply_beside(const rows &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream)
{
  const device_macko *own = (const device_macko *)d->own;
  if (a.bits >= 16 || !macko_goes_beside(d, p, 0)) return 0;
  return multiply_beside(beside_launch{a, &own->rows, stream}, d, p, own->beside, stream);
}
