/* Format eccsr where elements of x lie anywhere: several vectors side by side. A file of its own, as kernels take long to
 * compile. */
#include "eccsr/eccsr.cuh"
#include "eccsr/eccsr_device.h"

/* Takes slices of runs of W columns, group number blockIdx.y. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int W, int MASKED>
static __global__ void __launch_bounds__(THREADS, resident<GROUP, W, MASKED>)
  beside_kernel(eccsr a, device_values values, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, 1>(all);
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const SUM *table = share_table<STORED>(values, shared_table);
  take_slices<VECTOR, SUM, GROUP>(a, v, [&](const macko_eccsr_slice &s, const eccsr_lane &l, SUM *sum) {
    walk_width<STORED, VECTOR, SUM, GROUP, W, MASKED, 0>(a, values, table, v, s, l, {}, sum);
  });
}

/* This is what multiply_beside calls to start the kernel. Wider runs need more registers, and four vectors of some took longer so
 * than one after the other (27 points of four unknowns, i8 values: 159 us, one vector 35). */
struct beside_launch {
  eccsr a;
  cudaStream_t stream;
  static constexpr int WIDEST = 3;
  /* Kernels take long to compile, and these types are rare. */
  template <int STORED> static constexpr bool HAS = STORED != MACKO_F16 && STORED != MACKO_BF16;

  template <int STORED, int VECTOR, typename SUM, int GROUP, int W>
  cudaError_t start(const device_values &values, const device_vectors &v) const
  {
    const auto kernel = a.masked ? beside_kernel<STORED, VECTOR, SUM, GROUP, W, 1>
                                 : beside_kernel<STORED, VECTOR, SUM, GROUP, W, 0>;
    return launch(kernel, dim3(blocks_for<STORED>(a), (unsigned)v.count), THREADS, 0, stream, a, values, v);
  }

  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    return a.width == 1   ? start<STORED, VECTOR, SUM, GROUP, 1>(values, v)
           : a.width == 2 ? start<STORED, VECTOR, SUM, GROUP, 2>(values, v)
                          : start<STORED, VECTOR, SUM, GROUP, WIDEST>(values, v);
  }
};

/* Where entries near by ask for the same sectors, each vector's elements are in the first-level cache as they are. It takes so many
 * sectors an entry that side by side is faster (H200, f64: 0.10 72 %, 0.04 112 % of the time), and wider runs have their elements
 * of a vector in one sector. Types that share a kernel for groups are always faster so (27 points of three unknowns, f32 values,
 * 103 instead of 151 us). */
static const double worth_it = 0.07;

int64_t macko_eccsr_multiply_beside(const eccsr &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream)
{
  /* Groups of these types have kernels of their own where they do not lie side by side. */
  const int others = macko_eccsr_is_frequent(d->m.plan.stored_type, p->vector_type);
  if (a.width < 1 || a.width > beside_launch::WIDEST || (others && a.parts.count)) return 0;
  if (!macko_goes_beside(d, p, others ? worth_it : 0)) return 0;
  return multiply_beside(beside_launch{a, stream}, d, p, ((const device_eccsr *)d->own)->beside, stream);
}
