/* Between the kernels of layout slice: how a warp finds its slice, and a lane its row. */
#ifndef MACKO_SLICES_CUH
#define MACKO_SLICES_CUH

#include "product.cuh"

#include "macko_layout.h"

/* Four steps: eight need so many registers that too few warps fit to hide the latency of x (1.29 instead of 1.44 times
 * cuSPARSE). */
enum { THREADS = 128, WARPS = THREADS / MACKO_SLICE_ROWS, STEPS = 4, TABLE = 256 };

struct slices {
  const uint32_t *headers, *blocks;
  const uint16_t *order;
  int64_t nrows, count;
  int split; /* warps of a slice: 1, 2 or 4 */
};

static __device__ __forceinline__ macko_slice load_header(const uint32_t *headers, int64_t slice)
{
  uint4 h = __ldg((const uint4 *)headers + slice);
  uint32_t words[MACKO_SLICE_WORDS] = {h.x, h.y, h.z, h.w};
  return macko_slice_at(words, 0);
}

/* The row of a lane, a.nrows or more where there is none, its entries and its first column. */
struct slice_lane {
  int64_t row;
  int length, base;
};

static __device__ __forceinline__ slice_lane open_lane(const slices &a, const macko_slice &s, int64_t slice, int lane)
{
  int64_t position = slice * MACKO_SLICE_ROWS + lane;
  int there = position < a.nrows;
  slice_lane l;
  l.length = !there ? 0 : s.length_bytes ? (int)macko_unsigned_at(macko_slice_lengths(&s, a.blocks), s.length_bytes,
                                                                  lane) : (int)s.steps;
  l.base = s.base + lane + (int)macko_unsigned_at(macko_slice_offsets(&s, a.blocks), s.offset_bytes, lane);
  l.row = a.order && there ? position / MACKO_SLICE_WINDOW * MACKO_SLICE_WINDOW + __ldg(a.order + position) : position;
  return l;
}

static inline slices slices_of(const macko_device_matrix *d)
{
  return {(const uint32_t *)macko_device_data(d, "slices"), (const uint32_t *)macko_device_data(d, "blocks"),
          (const uint16_t *)macko_device_data(d, "order"), d->m.nrows, (d->m.nrows + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS, 1};
}

/* Until there are as many warps as a GPU holds, unless parts become too short to be worth it. */
static inline int warps_for(int64_t slices, int64_t steps)
{
  int split = 1;
  while (split < WARPS && slices * split < 8192 && steps >= 16 * split * slices) split *= 2;
  return split;
}

static inline unsigned blocks_for(int64_t warps)
{
  int64_t blocks = (warps + WARPS - 1) / WARPS;
  return (unsigned)(blocks > INT32_MAX ? INT32_MAX : blocks);
}

/* The slices that are no stencils, where the codec is joint. */
macko_status macko_pairs_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                  macko_error *err);

#endif
