/* Whether a library multiplies A right: sums over the rows of a product, against those of A (Huang and Abraham, Algorithm-based
 * fault tolerance for matrix operations, 1984). That is one pass over the product instead of a second product. */
#include "core/launch.cuh"
#include "slide/slide_operand.cuh"

enum { CHECK_THREADS = 256, TILE = 32 };

/* Gives the bits of a number mixed, so that neighbours have nothing in common. */
static __device__ __forceinline__ uint32_t mixed(uint64_t number)
{
  uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 31) * 0xbf58476d1ce4e5b9u;
  return (uint32_t)(z >> 32);
}

/* Gives what a row is multiplied by in sums over rows: in [-1, 1), with few bits, so that sums of integers are exact. */
static __device__ __forceinline__ double weight_of(int64_t row) { return (int8_t)mixed((uint64_t)row) / 128.0; }

/* Gives element e of the B that is multiplied, before it is scaled: a whole number from -4 to 4, an operand of every type. */
static __device__ __forceinline__ int element_of(int64_t e) { return (int)(mixed((uint64_t)e << 1) % 9) - 4; }

/* Gives operand `at` as a number. */
template <int OPERANDS> static __device__ __forceinline__ float operand_at(const void *data, int64_t at)
{
  if constexpr (OPERANDS == MACKO_OPERANDS_F16) return number_of<MACKO_F16>(((const uint16_t *)data)[at]);
  else if constexpr (OPERANDS == MACKO_OPERANDS_BF16) return number_of<MACKO_BF16>(((const uint16_t *)data)[at]);
  else if constexpr (OPERANDS == MACKO_OPERANDS_I8) return ((const int8_t *)data)[at];
  else return __half2float(__half(__nv_cvt_fp8_to_halfraw(((const __nv_fp8_storage_t *)data)[at], __NV_E4M3)));
}

/* Sums the rows of A, times their weights, column by column, 32 columns a block of threads; *largest becomes the bits of the
 * largest magnitude, which order as magnitudes do with NaN last. */
template <int OPERANDS>
static __global__ void __launch_bounds__(TILE *TILE) sum_kernel(macko_operand_matrix a, double *sums, unsigned *largest)
{
  __shared__ double part[TILE][TILE];
  const int lane = threadIdx.x % TILE, first = threadIdx.x / TILE;
  const int64_t col = (int64_t)blockIdx.x * TILE + lane;
  unsigned most = 0;
  double sum = 0;
  for (int64_t row = first; row < a.rows; row += TILE) {
    const float v = operand_at<OPERANDS>(a.data, row * a.width + col);
    sum += weight_of(row) * v, most = max(most, __float_as_uint(v) & 0x7fffffffu);
  }
  part[first][lane] = sum;
  most = largest_of_lanes(most);
  if (lane == 0) atomicMax(largest, most);
  __syncthreads();
  if (first) return;
  for (int i = 1; i < TILE; i++) sum += part[i][lane];
  sums[col] = sum;
}

/* Writes B, `count` elements. */
template <int OPERANDS>
static __global__ void __launch_bounds__(CHECK_THREADS) fill_kernel(int64_t count, float scale, void *b)
{
  for (int64_t e = (int64_t)blockIdx.x * CHECK_THREADS + threadIdx.x; e < count; e += (int64_t)gridDim.x * CHECK_THREADS) {
    const uint32_t bits = operand_of<OPERANDS>(element_of(e) * scale, 1);
    if constexpr (operand_bytes<OPERANDS> == 2) ((uint16_t *)b)[e] = (uint16_t)bits;
    else ((uint8_t *)b)[e] = (uint8_t)bits;
  }
}

/* Gives the sum over a block of threads, which thread 0 gets. */
static __device__ __forceinline__ double sum_of_block(double own, double *room)
{
  own = sum_of_lanes(own, WARP);
  if (threadIdx.x % WARP == 0) room[threadIdx.x / WARP] = own;
  __syncthreads();
  for (int i = 1; threadIdx.x == 0 && i < CHECK_THREADS / WARP; i++) own += room[i];
  __syncthreads();
  return own;
}

/* Gives sum i of the product. */
static __device__ __forceinline__ double sum_at(const macko_sums &d, int64_t i)
{
  if (d.type == MACKO_I32) return ((const int32_t *)d.data)[i];
  return load_y(d.type, d.data, i);
}

/* Compares a column of the product with what the sums of A say, a block of threads a column: writes by how much their sums over the
 * rows differ, and the sum of the squares of what is summed. */
static __global__ void __launch_bounds__(CHECK_THREADS)
compare_kernel(const double *sums, int64_t width, double scale, macko_sums d, double2 *found)
{
  __shared__ double room[CHECK_THREADS / WARP];
  double expected = 0, sum = 0, squares = 0;
  for (int64_t i = threadIdx.x; i < width; i += CHECK_THREADS) expected += sums[i] * element_of(blockIdx.x * width + i);
  for (int64_t i = threadIdx.x; i < d.rows; i += CHECK_THREADS) {
    const double v = weight_of(i) * sum_at(d, blockIdx.x * d.rows + i) * d.unit;
    sum += v, squares += v * v;
  }
  expected = sum_of_block(expected, room), sum = sum_of_block(sum, room), squares = sum_of_block(squares, room);
  if (threadIdx.x == 0) found[blockIdx.x] = make_double2(fabs(sum - scale * expected), squares);
}

/* Calls f(type_of<OPERANDS>()) for operands known at run time. */
template <typename F> static cudaError_t with_operands(macko_operands operands, const F &f)
{
  switch (operands) {
  case MACKO_OPERANDS_F16: return f(type_of<MACKO_OPERANDS_F16>());
  case MACKO_OPERANDS_BF16: return f(type_of<MACKO_OPERANDS_BF16>());
  case MACKO_OPERANDS_I8: return f(type_of<MACKO_OPERANDS_I8>());
  default: return f(type_of<MACKO_OPERANDS_E4M3>());
  }
}

cudaError_t macko_slide_sum_rows(macko_operands operands, const macko_operand_matrix *a, double *sums, unsigned *largest,
                                 cudaStream_t stream)
{
  const cudaError_t e = cudaMemsetAsync(largest, 0, sizeof *largest, stream);
  if (e) return e;
  return with_operands(operands, [&](auto type) {
    return launch(sum_kernel<decltype(type)::value>, (unsigned)(a->width / TILE), TILE * TILE, 0, stream, *a, sums, largest);
  });
}

cudaError_t macko_slide_fill(macko_operands operands, int64_t count, float scale, void *b, cudaStream_t stream)
{
  const int64_t blocks = (count + CHECK_THREADS - 1) / CHECK_THREADS;
  return with_operands(operands, [&](auto type) {
    return launch(fill_kernel<decltype(type)::value>, (unsigned)(blocks < 1 << 16 ? blocks : 1 << 16), CHECK_THREADS, 0, stream,
                  count, scale, b);
  });
}

cudaError_t macko_slide_compare(const double *sums, int64_t width, double scale, const macko_sums *product, int64_t n,
                                double2 *found, cudaStream_t stream)
{
  return launch(compare_kernel, (unsigned)n, CHECK_THREADS, 0, stream, sums, width, scale, *product, found);
}
