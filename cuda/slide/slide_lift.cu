/* Around a product on sparse tensor cores: A with its windows side by side, X with the elements that windows share repeated, both
 * rounded to the operands, and sums scaled back to Y. */
#include "slide/slide.cuh"
#include "slide/slide_matmul.h"

#include <cuda_fp8.h>

enum {
  LIFT_THREADS = 256,
  SHARED_COLUMN = 47 * 1024 /* bytes of a column of X that a block of threads keeps; longer ones are read twice */
};

/* This is the largest magnitude that operands of 8 bits hold. */
template <int OPERANDS> constexpr float most = OPERANDS == MACKO_OPERANDS_I8 ? 127.0f : 448.0f;

/* Gives the bits of a number as an operand; inverse is that of its scale, and not looked at for operands of 16 bits. */
template <int OPERANDS> static __device__ __forceinline__ uint32_t operand_of(double x, float inverse)
{
  if constexpr (OPERANDS == MACKO_OPERANDS_F16) return __half_as_ushort(__double2half(x));
  else if constexpr (OPERANDS == MACKO_OPERANDS_BF16) return __bfloat16_as_ushort(__double2bfloat16(x));
  else if constexpr (OPERANDS == MACKO_OPERANDS_I8) return (uint8_t)macko_lift_i8((float)x, inverse);
  else return __nv_cvt_float_to_fp8((float)x * inverse, __NV_SATFINITE, __NV_E4M3);
}

/* This is the number of bytes of an operand, for kernels and for the host. */
template <int OPERANDS> constexpr int operand_bytes = OPERANDS == MACKO_OPERANDS_F16 || OPERANDS == MACKO_OPERANDS_BF16 ? 2 : 1;

static int bytes_of_operand(int operands)
{
  return operands == MACKO_OPERANDS_F16 || operands == MACKO_OPERANDS_BF16 ? 2 : 1;
}

/* ---- A ---- */

/* Calls f(window, column, value) for what a lane has of a row, which is every 32nd cell; window counts those of the row. */
template <typename F>
static __device__ __forceinline__ void for_entries(const slide &a, const device_values &values, int per, int64_t row, const F &f)
{
  const int64_t first = start_of(a, row), end = start_of(a, row + 1);
  for (int64_t cell = first + threadIdx.x % WARP; cell < end; cell += WARP) {
    const uint32_t code = macko_slide_code(a.codes, a.bits, cell), positions = a.patterns ? __ldg(a.patterns + code) : code;
    const int64_t block = block_of(a, first, cell);
    for (int s = 0; s < 2 * a.n - 2; s++) {
      const int window = macko_slide_window(positions, s / 2);
      if (macko_slide_holds(window, s % 2))
        f(macko_lift_window(a.n, block, s / 2), macko_slide_column(window, s % 2),
          load_value<MACKO_ANY, double>(values, macko_slide_slot(a.n, per, cell, s)));
    }
  }
}

/* Gives the largest of what the lanes of a warp have. */
static __device__ __forceinline__ unsigned largest_of_lanes(unsigned own)
{
  for (int d = WARP / 2; d > 0; d /= 2) own = max(own, __shfl_xor_sync(EVERY, own, d));
  return own;
}

/* Gives the scale of a row, for all lanes of the warp that takes it: 1 where operands are integers of 8 bits and all values are
 * such. */
template <int OPERANDS>
static __device__ __forceinline__ float scale_of_row(const slide &a, const device_values &values, int per, int64_t row)
{
  unsigned largest = 0;
  int integers = OPERANDS == MACKO_OPERANDS_I8;
  for_entries(a, values, per, row, [&](int64_t, int, double v) {
    largest = max(largest, __float_as_uint((float)v) & 0x7fffffffu);
    integers &= v >= -128 && v <= 127 && v == rint(v);
  });
  largest = largest_of_lanes(largest);
  return __all_sync(EVERY, integers) ? 1 : macko_lift_scale(__uint_as_float(largest), most<OPERANDS>);
}

/* Writes the rows of the lifted matrix as operands, a warp each, and for operands of 8 bits their scales. dense is zero
 * before. */
template <int OPERANDS>
static __global__ void __launch_bounds__(LIFT_THREADS) expand_kernel(slide a, device_values values, int64_t lifted, float *scales,
                                                                     void *dense)
{
  const int per = macko_slide_per(bytes_of_type(values.stored_type)), warps = LIFT_THREADS / WARP;
  for (int64_t row = (int64_t)blockIdx.x * warps + threadIdx.x / WARP; row < a.nrows; row += (int64_t)gridDim.x * warps) {
    float inverse = 1;
    if constexpr (operand_bytes<OPERANDS> == 1) {
      const float scale = scale_of_row<OPERANDS>(a, values, per, row);
      inverse = macko_lift_inverse(scale);
      if (threadIdx.x % WARP == 0) scales[row] = scale;
    }
    for_entries(a, values, per, row, [&](int64_t window, int column, double v) {
      const int64_t at = row * lifted + 4 * window + column;
      const uint32_t bits = operand_of<OPERANDS>(v, inverse);
      if constexpr (operand_bytes<OPERANDS> == 2) ((uint16_t *)dense)[at] = (uint16_t)bits;
      else ((uint8_t *)dense)[at] = (uint8_t)bits;
    });
  }
}

cudaError_t macko_slide_expand(const macko_device_matrix *d, macko_operands operands, int64_t rows, int64_t lifted, float *scales,
                               void *dense, cudaStream_t stream)
{
  const slide a = slide_of(d);
  const device_values values = {macko_device_data(d, "values"), macko_device_data(d, "dict"), d->m.plan.stored_type,
                                d->m.value_type, (int)d->m.plan.table};
  const int64_t blocks = (a.nrows + LIFT_THREADS / WARP - 1) / (LIFT_THREADS / WARP), limit = 1 << 30;
  const unsigned grid = (unsigned)(blocks < limit ? blocks : limit);
  cudaError_t e = cudaMemsetAsync(dense, 0, (size_t)(rows * lifted * bytes_of_operand(operands)), stream);
  if (e) return e;
  switch (operands) {
  case MACKO_OPERANDS_F16: return launch(expand_kernel<MACKO_OPERANDS_F16>, grid, LIFT_THREADS, 0, stream, a, values, lifted, scales, dense);
  case MACKO_OPERANDS_BF16: return launch(expand_kernel<MACKO_OPERANDS_BF16>, grid, LIFT_THREADS, 0, stream, a, values, lifted, scales, dense);
  case MACKO_OPERANDS_I8: return launch(expand_kernel<MACKO_OPERANDS_I8>, grid, LIFT_THREADS, 0, stream, a, values, lifted, scales, dense);
  default: return launch(expand_kernel<MACKO_OPERANDS_E4M3>, grid, LIFT_THREADS, 0, stream, a, values, lifted, scales, dense);
  }
}

/* ---- X in 16 bits ---- */

/* This is X as it is lifted. */
struct lift {
  const void *x;    /* columns ldx elements apart */
  int64_t ldx, ncols, n; /* ncols elements a column, n columns */
  int64_t lifted;   /* elements of a column of what is written */
  unsigned windows; /* of a column */
  int block;        /* columns of A of a block, halved: n of the format */
  int whole;        /* pairs of elements of X are at multiples of their size */
};

/* Gives the X of a product with the matrix *d. */
static lift lift_of(const macko_device_matrix *d, const macko_dense_product *p, int64_t lifted)
{
  const int n = (int)macko_slide_counts_of(&d->m.plan)->n;
  const int64_t pair = 2 * macko_type_bytes(p->x_type);
  return {p->x, p->ldx, d->m.ncols, p->n, lifted, (unsigned)macko_lift_windows(d->m.ncols, n), n,
          (uintptr_t)p->x % pair == 0 && p->ldx % 2 == 0};
}

/* Gives the first column of A that a window covers, which is an element of X: macko_lift_column in 32 bits, whose division is
 * quicker. */
static __device__ __forceinline__ unsigned column_of(const lift &l, unsigned window)
{
  return 2 * (window + window / (unsigned)(l.block - 1)); /* macko_lift_column, in 32 bits */
}

/* Gives the four elements of column j that a window multiplies, as two words of two operands of 16 bits. Behind the last
 * column, window or element they are 0. Elements that are operands already are copied in pairs where they lie at multiples of a
 * pair's size. */
template <int X, int OPERANDS> static __device__ __forceinline__ uint2 window_of(const lift &l, int64_t j, unsigned window)
{
  uint32_t bits[4] = {0, 0, 0, 0};
  if (j >= l.n || window >= l.windows) return make_uint2(0, 0);
  const unsigned col = column_of(l, window);
  constexpr bool COPIES = (X == MACKO_F16 && OPERANDS == MACKO_OPERANDS_F16) || (X == MACKO_BF16 && OPERANDS == MACKO_OPERANDS_BF16);
  if (COPIES && l.whole && col + 4 <= l.ncols) {
    const uint32_t *from = (const uint32_t *)((const uint16_t *)l.x + j * l.ldx + col);
    return make_uint2(__ldg(from), __ldg(from + 1));
  }
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if (col + i >= l.ncols) continue;
    if constexpr (COPIES) bits[i] = __ldg((const unsigned short *)l.x + j * l.ldx + col + i);
    else bits[i] = operand_of<OPERANDS>((double)load_vector<X>(l.x, j * l.ldx + col + i, X), 1);
  }
  return make_uint2(bits[0] | bits[1] << 16, bits[2] | bits[3] << 16);
}

/* Lifts X to operands of 16 bits: a thread writes two windows, 16 bytes, and `blocks` blocks of threads take a column. */
template <int X, int OPERANDS>
static __global__ void __launch_bounds__(LIFT_THREADS) lift_kernel(lift l, unsigned blocks, uint4 *to)
{
  const int64_t j = blockIdx.x / blocks, pieces = l.lifted / 8;
  const unsigned piece = blockIdx.x % blocks * LIFT_THREADS + threadIdx.x;
  if (piece >= pieces) return;
  const uint2 first = window_of<X, OPERANDS>(l, j, 2 * piece), second = window_of<X, OPERANDS>(l, j, 2 * piece + 1);
  to[j * pieces + piece] = make_uint4(first.x, first.y, second.x, second.y);
}

/* Starts that kernel for the type of X; `columns` are those that tensor cores multiply. */
template <int OPERANDS>
static cudaError_t lift_halves(const lift &l, int x_type, int64_t columns, void *to, cudaStream_t stream)
{
  const unsigned blocks = (unsigned)((l.lifted / 8 + LIFT_THREADS - 1) / LIFT_THREADS);
  const unsigned grid = (unsigned)(columns * blocks);
  switch (x_type) {
  case MACKO_F32: return launch(lift_kernel<MACKO_F32, OPERANDS>, grid, LIFT_THREADS, 0, stream, l, blocks, (uint4 *)to);
  case MACKO_F16: return launch(lift_kernel<MACKO_F16, OPERANDS>, grid, LIFT_THREADS, 0, stream, l, blocks, (uint4 *)to);
  default: return launch(lift_kernel<MACKO_BF16, OPERANDS>, grid, LIFT_THREADS, 0, stream, l, blocks, (uint4 *)to);
  }
}

/* ---- X in 8 bits: largest magnitude, rounded, lifted; a block of threads a column ---- */

/* Holds as many elements of X as one load of 16 bytes brings. */
template <int X> struct whole_piece {
  static constexpr int COUNT = 16 / sizeof(typename element<X>::type);
  alignas(16) typename element<X>::type elements[COUNT];
};

/* Gives an element of X as a number. */
template <int X> static __device__ __forceinline__ float number_in(const typename element<X>::type &element)
{
  if constexpr (X == MACKO_F32) return element;
  else return number_of<X>(element);
}

/* Gives the largest magnitude of what a thread sees of a column of `count` elements, as bits, which order as magnitudes do, NaN
 * last. The block's threads together keep the column in shared memory where keep is not NULL. */
template <int X>
static __device__ __forceinline__ unsigned largest_of(const typename element<X>::type *x, int64_t count, typename element<X>::type *keep)
{
  typedef whole_piece<X> piece;
  const int64_t pieces = (uintptr_t)x % 16 ? 0 : count / piece::COUNT;
  unsigned largest = 0;
  for (int64_t i = threadIdx.x; i < pieces; i += LIFT_THREADS) {
    const uint4 words = __ldg((const uint4 *)x + i);
    const piece p = *(const piece *)&words;
    if (keep) ((uint4 *)keep)[i] = words;
#pragma unroll
    for (int k = 0; k < piece::COUNT; k++) largest = max(largest, __float_as_uint(number_in<X>(p.elements[k])) & 0x7fffffffu);
  }
  for (int64_t i = pieces * piece::COUNT + threadIdx.x; i < count; i += LIFT_THREADS) {
    const typename element<X>::type e = x[i];
    if (keep) keep[i] = e;
    largest = max(largest, __float_as_uint(number_in<X>(e)) & 0x7fffffffu);
  }
  return largest;
}

/* Lifts X to operands of 8 bits, a block of threads a column, because a column has one scale, which must be known before
 * anything is rounded. keeps: the column has room in shared memory, and is read once. */
template <int X, int OPERANDS>
static __global__ void __launch_bounds__(LIFT_THREADS) round_kernel(lift l, int keeps, float *scales, uint4 *to)
{
  typedef typename element<X>::type type;
  extern __shared__ uint4 column[];
  __shared__ unsigned largest;
  const int64_t j = blockIdx.x, pieces = l.lifted / 16;
  if (j >= l.n) {
    for (int64_t i = threadIdx.x; i < pieces; i += LIFT_THREADS) to[j * pieces + i] = make_uint4(0, 0, 0, 0);
    return;
  }
  const type *x = (const type *)l.x + j * l.ldx;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  const unsigned own = largest_of_lanes(largest_of<X>(x, l.ncols, keeps ? (type *)column : NULL));
  if (threadIdx.x % WARP == 0) atomicMax(&largest, own); /* the largest, whatever the order */
  __syncthreads();
  const float scale = macko_lift_scale(__uint_as_float(largest), most<OPERANDS>), inverse = macko_lift_inverse(scale);
  if (threadIdx.x == 0) scales[j] = scale;
  const type *from = keeps ? (const type *)column : x;
  for (int64_t i = threadIdx.x; i < pieces; i += LIFT_THREADS) {
    uint32_t words[4];
#pragma unroll
    for (int w = 0; w < 4; w++) {
      const unsigned window = (unsigned)(4 * i + w), col = column_of(l, window);
      words[w] = 0;
      if (window >= l.windows) continue;
#pragma unroll
      for (int k = 0; k < 4; k++)
        if (col + k < l.ncols) words[w] |= operand_of<OPERANDS>(number_in<X>(from[col + k]), inverse) << 8 * k;
    }
    to[j * pieces + i] = make_uint4(words[0], words[1], words[2], words[3]);
  }
}

/* Starts that kernel for the type of X. */
template <int OPERANDS>
static cudaError_t round_columns(const lift &l, int x_type, int64_t columns, float *scales, void *to, cudaStream_t stream)
{
  const int64_t bytes = (l.ncols * macko_type_bytes((macko_type)x_type) + 15) / 16 * 16;
  const int keeps = bytes <= SHARED_COLUMN;
  const size_t shared = keeps ? (size_t)bytes : 0;
  const unsigned grid = (unsigned)columns;
  switch (x_type) {
  case MACKO_F32: return launch(round_kernel<MACKO_F32, OPERANDS>, grid, LIFT_THREADS, shared, stream, l, keeps, scales, (uint4 *)to);
  case MACKO_F16: return launch(round_kernel<MACKO_F16, OPERANDS>, grid, LIFT_THREADS, shared, stream, l, keeps, scales, (uint4 *)to);
  default: return launch(round_kernel<MACKO_BF16, OPERANDS>, grid, LIFT_THREADS, shared, stream, l, keeps, scales, (uint4 *)to);
  }
}

cudaError_t macko_slide_lift(const macko_device_matrix *d, macko_operands operands, const macko_dense_product *p, int64_t columns,
                             int64_t lifted, float *scales, void *to, cudaStream_t stream)
{
  const lift l = lift_of(d, p, lifted);
  switch (operands) {
  case MACKO_OPERANDS_F16: return lift_halves<MACKO_OPERANDS_F16>(l, p->x_type, columns, to, stream);
  case MACKO_OPERANDS_BF16: return lift_halves<MACKO_OPERANDS_BF16>(l, p->x_type, columns, to, stream);
  case MACKO_OPERANDS_I8: return round_columns<MACKO_OPERANDS_I8>(l, p->x_type, columns, scales, to, stream);
  default: return round_columns<MACKO_OPERANDS_E4M3>(l, p->x_type, columns, scales, to, stream);
  }
}

/* ---- Y ---- */

/* Writes Y of the sums, which have `rows` elements a column, a thread an element: scaled back for operands of 8 bits, and with
 * the bias. `blocks` blocks of threads take a column. */
template <int OPERANDS>
static __global__ void __launch_bounds__(LIFT_THREADS) back_kernel(macko_dense_product p, int64_t nrows, int64_t rows, unsigned blocks,
                                                                   const float *row_scales, const float *column_scales, const void *sums)
{
  const int64_t j = blockIdx.x / blocks, i = (int64_t)(blockIdx.x % blocks) * LIFT_THREADS + threadIdx.x, at = j * rows + i;
  if (i >= nrows) return;
  float sum;
  if constexpr (OPERANDS == MACKO_OPERANDS_F16) sum = number_of<MACKO_F16>(__ldg((const unsigned short *)sums + at));
  else if constexpr (OPERANDS == MACKO_OPERANDS_BF16) sum = number_of<MACKO_BF16>(__ldg((const unsigned short *)sums + at));
  else if constexpr (OPERANDS == MACKO_OPERANDS_I8) sum = (float)__ldg((const int *)sums + at);
  else sum = __ldg((const float *)sums + at);
  if constexpr (operand_bytes<OPERANDS> == 1) sum = sum * __ldg(row_scales + i) * __ldg(column_scales + j);
  if (p.bias) sum += __ldg(p.bias + i);
  store_y(p.y_type, p.y, j * p.ldy + i, sum);
}

/* Starts that kernel; macko_tensor_plan_new has refused products that take more blocks than a launch has. */
template <int OPERANDS>
static cudaError_t run_back(const macko_dense_product *p, int64_t nrows, int64_t rows, const float *row_scales, const float *column_scales,
                            const void *sums, cudaStream_t stream)
{
  const unsigned blocks = (unsigned)((nrows + LIFT_THREADS - 1) / LIFT_THREADS), grid = (unsigned)(p->n * blocks);
  return launch(back_kernel<OPERANDS>, grid, LIFT_THREADS, 0, stream, *p, nrows, rows, blocks, row_scales, column_scales, sums);
}

cudaError_t macko_slide_back(macko_operands operands, const macko_dense_product *p, int64_t nrows, int64_t rows, const float *row_scales,
                             const float *column_scales, const void *sums, cudaStream_t stream)
{
  switch (operands) {
  case MACKO_OPERANDS_F16: return run_back<MACKO_OPERANDS_F16>(p, nrows, rows, row_scales, column_scales, sums, stream);
  case MACKO_OPERANDS_BF16: return run_back<MACKO_OPERANDS_BF16>(p, nrows, rows, row_scales, column_scales, sums, stream);
  case MACKO_OPERANDS_I8: return run_back<MACKO_OPERANDS_I8>(p, nrows, rows, row_scales, column_scales, sums, stream);
  default: return run_back<MACKO_OPERANDS_E4M3>(p, nrows, rows, row_scales, column_scales, sums, stream);
  }
}
