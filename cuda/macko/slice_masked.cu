/* Layout slice: masked slices, a warp each. Choices for a GPU have none (macko_slice_plan), so that this serves matrices that were
 * encoded for a CPU. */
#include "macko/slice.cuh"

/* Multiplies by the masked slices, vector number blockIdx.y. All lanes read the same steps; each has those whose mask holds its
 * bit. */
template <int STORED, int VECTOR>
static __global__ void __launch_bounds__(THREADS) masked_kernel(slices a, device_values values, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, 1, 1>(all);
  const int lane = threadIdx.x % MACKO_SLICE_ROWS;
  const int64_t warps = (int64_t)gridDim.x * WARPS;
  for (int64_t slice = (int64_t)blockIdx.x * WARPS + threadIdx.x / MACKO_SLICE_ROWS; slice < a.count; slice += warps) {
    const macko_slice s = load_header(a.headers, slice);
    if (s.gap_bits != MACKO_GAP_MASKED) continue; /* another kernel's */
    const slice_lane l = open_lane(a, s, slice, lane);
    const uint32_t *steps = a.blocks + s.block;
    double sum = 0;
    with_stored<STORED>(values.stored_type, [&](auto type) {
      constexpr int bytes = sizeof(typename element<type.value>::type);
#pragma unroll 4
      for (int k = 0; k < (int)s.steps; k++) {
        if (!(__ldg(steps + k * MACKO_MASKED_WORDS + 1) >> lane & 1)) continue;
        const int64_t col = (int64_t)l.base + __ldg(steps + k * MACKO_MASKED_WORDS);
        sum = add_product(load_value<type.value, double>(values, macko_slice_slot(s.values, bytes, k, lane)),
                          (double)load_vector<VECTOR>(v.x, col, v.type), sum);
      }
    });
    if (l.row < a.nrows) put_y<VECTOR>(v, 0, l.row, sum);
  }
}

/* Starts that kernel for v.count vectors; values have types that are known at run time but where all is f64. */
template <int VECTOR>
static cudaError_t start_masked(const slices &a, const macko_device_matrix *d, const device_vectors &v, cudaStream_t stream)
{
  const int f64 = VECTOR == MACKO_F64 && d->m.plan.stored_type == MACKO_F64;
  return launch(f64 ? masked_kernel<MACKO_F64, VECTOR> : masked_kernel<MACKO_ANY, VECTOR>, dim3(blocks_for(a.count), v.count),
                THREADS, 0, stream, a, values_of(d), v);
}

cudaError_t macko_masked_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream)
{
  const auto run = [&](const device_vectors &v) {
    switch (p->vector_type) {
    case MACKO_F64: return start_masked<MACKO_F64>(a, d, v, stream);
    case MACKO_F32: return start_masked<MACKO_F32>(a, d, v, stream);
    case MACKO_F16: return start_masked<MACKO_F16>(a, d, v, stream);
    default: return start_masked<MACKO_BF16>(a, d, v, stream);
    }
  };
  return go_through(p, 0, MACKO_DEVICE_AT_ONCE, run, run);
}
