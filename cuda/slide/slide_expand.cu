/* A as a dense matrix of operands, before a product on tensor cores: lifted, with its windows side by side, or as it is. */
#include "slide/slide.cuh"
#include "slide/slide_operand.cuh"

enum { EXPAND_THREADS = 256 };

/* Calls f(at, value) for what a lane has of a row, which is every 32nd cell: `at` is where the value lies in a row of the dense
 * matrix. One that is not lifted has the entries beside the windows, too. */
template <typename F>
static __device__ __forceinline__ void for_entries(const slide &a, const device_values &values, int per, int lifts, int64_t row,
                                                   const F &f)
{
  const int64_t first = start_of(a, row), end = start_of(a, row + 1);
  for (int64_t cell = first + threadIdx.x % WARP; cell < end; cell += WARP) {
    const uint32_t code = macko_slide_code(a.codes, a.bits, cell), positions = a.patterns ? __ldg(a.patterns + code) : code;
    const int64_t block = block_of(a, first, cell);
    for (int s = 0; s < 2 * a.n - 2; s++) {
      const int in_block = macko_slide_window(positions, s / 2);
      if (!macko_slide_holds(in_block, s % 2)) continue;
      const int64_t window = macko_lift_window(a.n, block, s / 2), start = lifts ? 4 * window : macko_lift_column(a.n, window);
      f(start + macko_slide_column(in_block, s % 2), load_value<MACKO_ANY, double>(values, macko_slide_slot(a.n, per, cell, s)));
    }
  }
  if (!a.rest_cols || lifts) return;
  for (int64_t i = index_at(a.rest_type, a.rest_ptr, row) + threadIdx.x % WARP; i < index_at(a.rest_type, a.rest_ptr, row + 1);
       i += WARP)
    f((int64_t)__ldg(a.rest_cols + i), load_value<MACKO_ANY, double>(values, a.first_rest + i));
}

/* Says whether a value is an operand of 8 bits as it is. */
template <int OPERANDS> static __device__ __forceinline__ int is_operand(double v)
{
  if constexpr (OPERANDS == MACKO_OPERANDS_I8) return v >= -128 && v <= 127 && v == rint(v);
  const __nv_fp8_storage_t bits = __nv_cvt_float_to_fp8((float)v, __NV_SATFINITE, __NV_E4M3);
  return v == (double)__half2float(__half(__nv_cvt_fp8_to_halfraw(bits, __NV_E4M3)));
}

/* Gives the scale of a row, for all lanes of the warp that takes it: 1 where all values are operands as they are. */
template <int OPERANDS>
static __device__ __forceinline__ float scale_of_row(const slide &a, const device_values &values, int per, int lifts, int64_t row)
{
  unsigned largest = 0;
  int operands = 1;
  for_entries(a, values, per, lifts, row, [&](int64_t, double v) {
    largest = max(largest, __float_as_uint((float)v) & 0x7fffffffu);
    operands &= is_operand<OPERANDS>(v);
  });
  largest = largest_of_lanes(largest);
  return __all_sync(EVERY, operands) ? 1 : macko_lift_scale(__uint_as_float(largest), most<OPERANDS>);
}

/* Writes the rows of the matrix as operands, a warp each, `width` operands a row, and for operands of 8 bits their scales. dense is
 * zero before. */
template <int OPERANDS>
static __global__ void __launch_bounds__(EXPAND_THREADS) expand_kernel(slide a, device_values values, int lifts, int64_t width,
                                                                       float *scales, void *dense)
{
  const int per = macko_slide_per(bytes_of_type(values.stored_type)), warps = EXPAND_THREADS / WARP;
  for (int64_t row = (int64_t)blockIdx.x * warps + threadIdx.x / WARP; row < a.nrows; row += (int64_t)gridDim.x * warps) {
    float inverse = 1;
    if constexpr (operand_bytes<OPERANDS> == 1) {
      const float scale = scale_of_row<OPERANDS>(a, values, per, lifts, row);
      inverse = macko_lift_inverse(scale);
      if (threadIdx.x % WARP == 0) scales[row] = scale;
    }
    for_entries(a, values, per, lifts, row, [&](int64_t at, double v) {
      const uint32_t bits = operand_of<OPERANDS>(v, inverse);
      if constexpr (operand_bytes<OPERANDS> == 2) ((uint16_t *)dense)[row * width + at] = (uint16_t)bits;
      else ((uint8_t *)dense)[row * width + at] = (uint8_t)bits;
    });
  }
}

/* Starts that kernel, the matrix cleared before. */
template <int OPERANDS>
static cudaError_t expand(const macko_device_matrix *d, const macko_operand_matrix *to, cudaStream_t stream)
{
  const slide a = slide_of(d);
  const device_values values = {macko_device_data(d, "values"), macko_device_data(d, "dict"), d->m.plan.stored_type,
                                d->m.value_type, (int)d->m.plan.table};
  const int64_t blocks = (a.nrows + EXPAND_THREADS / WARP - 1) / (EXPAND_THREADS / WARP), limit = 1 << 30;
  const unsigned grid = (unsigned)(blocks < limit ? blocks : limit);
  cudaError_t e = cudaMemsetAsync(to->data, 0, (size_t)(to->rows * to->width * operand_bytes<OPERANDS>), stream);
  return e ? e : launch(expand_kernel<OPERANDS>, grid, EXPAND_THREADS, 0, stream, a, values, to->lifts, to->width, to->scales,
                        to->data);
}

cudaError_t macko_slide_expand(const macko_device_matrix *d, macko_operands operands, const macko_operand_matrix *to,
                               cudaStream_t stream)
{
  switch (operands) {
  case MACKO_OPERANDS_F16: return expand<MACKO_OPERANDS_F16>(d, to, stream);
  case MACKO_OPERANDS_BF16: return expand<MACKO_OPERANDS_BF16>(d, to, stream);
  case MACKO_OPERANDS_I8: return expand<MACKO_OPERANDS_I8>(d, to, stream);
  default: return expand<MACKO_OPERANDS_E4M3>(d, to, stream);
  }
}
