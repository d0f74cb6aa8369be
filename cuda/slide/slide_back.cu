/* Behind a product on tensor cores: Y from sums, scaled back where operands had 8 bits, and with the bias. */
#include "core/element.cuh"
#include "core/launch.cuh"
#include "slide/slide_matmul.h"

enum {
  BACK_THREADS = 256,
  PIECE = 8 /* rows of Y of a thread: 16 bytes of sums of 16 bits */
};

/* These are the sums as kernels take them. */
struct back {
  macko_sums sums;
  macko_dense_product p;
  int64_t nrows;
  unsigned blocks; /* of threads, that take a column */
  int whole;       /* pieces of Y are at multiples of 16 bytes */
};

/* Loads the piece of sums that begins with element `at`. */
template <int SUM> static __device__ __forceinline__ void load_piece(const void *sums, int64_t at, float *piece)
{
  constexpr int BYTES = SUM == MACKO_F16 || SUM == MACKO_BF16 ? 2 : 4;
#pragma unroll
  for (int i = 0; i < PIECE * BYTES / 16; i++) {
    const uint4 four = __ldcs((const uint4 *)((const char *)sums + at * BYTES) + i);
    const uint32_t words[] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int w = 0; w < 4; w++) {
      if constexpr (SUM == MACKO_I32) piece[4 * i + w] = (float)(int)words[w];
      else if constexpr (SUM == MACKO_F32) piece[4 * i + w] = __uint_as_float(words[w]);
      else piece[2 * w] = number_of<SUM>(words[w] & 0xffff), piece[2 * w + 1] = number_of<SUM>(words[w] >> 16);
    }
  }
}

/* Stores a piece of column j that begins with row i, of which rows behind the last one are left out. */
static __device__ __forceinline__ void store_piece(const back &b, int64_t j, int64_t i, const float *piece)
{
  const int64_t at = j * b.p.ldy + i;
  if (b.whole && i + PIECE <= b.nrows && b.p.y_type != MACKO_F32) {
    uint32_t words[PIECE / 2];
#pragma unroll
    for (int k = 0; k < PIECE / 2; k++) {
      const float low = piece[2 * k], high = piece[2 * k + 1];
      if (b.p.y_type == MACKO_F16)
        words[k] = __half_as_ushort(__float2half_rn(low)) | (uint32_t)__half_as_ushort(__float2half_rn(high)) << 16;
      else
        words[k] = __bfloat16_as_ushort(__float2bfloat16_rn(low)) | (uint32_t)__bfloat16_as_ushort(__float2bfloat16_rn(high)) << 16;
    }
    *(uint4 *)((uint16_t *)b.p.y + at) = make_uint4(words[0], words[1], words[2], words[3]);
    return;
  }
#pragma unroll
  for (int k = 0; k < PIECE; k++)
    if (i + k < b.nrows) store_y(b.p.y_type, b.p.y, at + k, piece[k]);
}

/* Writes Y of the sums, a thread a piece of a column. Columns of sums and scales of rows are as long as whole pieces. */
template <int SUM, int SCALED> static __global__ void __launch_bounds__(BACK_THREADS) back_kernel(back b)
{
  const int64_t j = blockIdx.x / b.blocks, i = PIECE * ((int64_t)(blockIdx.x % b.blocks) * BACK_THREADS + threadIdx.x);
  float piece[PIECE];
  if (i >= b.nrows) return;
  load_piece<SUM>(b.sums.data, j * b.sums.rows + i, piece);
  if constexpr (SCALED) {
    const float column = __ldg(b.sums.column_scales + j);
#pragma unroll
    for (int k = 0; k < PIECE; k += 4) {
      const float4 rows = __ldg((const float4 *)(b.sums.row_scales + i + k));
      const float scales[] = {rows.x, rows.y, rows.z, rows.w};
#pragma unroll
      for (int r = 0; r < 4; r++) piece[k + r] = piece[k + r] * b.sums.unit * scales[r] * column;
    }
  }
  if (b.p.bias)
#pragma unroll
    for (int k = 0; k < PIECE; k++)
      if (i + k < b.nrows) piece[k] += __ldg(b.p.bias + i + k);
  store_piece(b, j, i, piece);
}

/* macko_tensor_plan_new has refused products that take more blocks than a launch has. */
cudaError_t macko_slide_back(const macko_dense_product *p, int64_t nrows, const macko_sums *sums, cudaStream_t stream)
{
  back b = {*sums, *p, nrows, (unsigned)((nrows + PIECE * BACK_THREADS - 1) / (PIECE * BACK_THREADS)), 0};
  const unsigned grid = (unsigned)(p->n * b.blocks);
  b.whole = (uintptr_t)p->y % 16 == 0 && p->ldy % PIECE == 0;
  switch (sums->type) {
  case MACKO_I32: return launch(back_kernel<MACKO_I32, 1>, grid, BACK_THREADS, 0, stream, b);
  case MACKO_F32: return launch(back_kernel<MACKO_F32, 1>, grid, BACK_THREADS, 0, stream, b);
  case MACKO_BF16:
    return launch(sums->row_scales ? back_kernel<MACKO_BF16, 1> : back_kernel<MACKO_BF16, 0>, grid, BACK_THREADS, 0, stream, b);
  default:
    return launch(sums->row_scales ? back_kernel<MACKO_F16, 1> : back_kernel<MACKO_F16, 0>, grid, BACK_THREADS, 0, stream, b);
  }
}
