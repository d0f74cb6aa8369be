/* Between the kernels of layout slice: how a warp finds its slice, and a lane its row. */
#ifndef MACKO_SLICES_CUH
#define MACKO_SLICES_CUH

#include "macko/columns.cuh"

#include "macko/slice_blocks.h"

/* A lane takes STEPS entries at a time, of narrow values more (round_steps): with eight of f64 so many registers are needed that
 * too few warps fit to hide the latency of x (1.29 instead of 1.44 times cuSPARSE). TABLE is what a table of 8-bit codes holds. */
enum { THREADS = 128, WARPS = THREADS / MACKO_SLICE_ROWS, STEPS = 4, TABLE = 256 };
static_assert((int)WARPS == (int)MACKO_SLICE_SPLIT, "the warps of a slice are of one block");

/* This is a matrix of layout slice as kernels take it by value, but for its values; device pointers. */
struct slices {
  const uint32_t *headers, *blocks; /* sections "slices" and "blocks" */
  const uint16_t *order; /* NULL: rows are in their own order */
  int64_t nrows, count;  /* count: slices */
  int split; /* warps of a slice (macko_slice_split) */
};

/* Gives the header of a slice, by one load of 16 bytes that all lanes do alike. */
static __device__ __forceinline__ macko_slice load_header(const uint32_t *headers, int64_t slice)
{
  uint4 h = __ldg((const uint4 *)headers + slice);
  uint32_t words[MACKO_SLICE_WORDS] = {h.x, h.y, h.z, h.w};
  return macko_slice_at(words, 0);
}

/* This is a lane's row, a.nrows or more where it has none, how many entries that has, and its first column. */
struct slice_lane {
  int64_t row;
  int length, base;
};

/* Gives what a lane has of slice number `slice`, whose header is s. */
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

/* Says whether a slice is none of those that most kernels multiply: a stencil or masked. */
static __device__ __forceinline__ bool is_apart(const macko_slice &s)
{
  return s.stencil || s.gap_bits == MACKO_GAP_MASKED;
}

/* Goes through all slices that are not apart, each by one warp. add(s, slice, from, to, sum) adds steps from .. to - 1 to the
 * sums of the calling lane and answers the lane's row. v are the vectors of the block. */
template <int VECTOR, typename SUM, int GROUP, typename ADD>
static __device__ __forceinline__ void take_slices(const slices &a, const device_vectors &v, const ADD &add)
{
  int64_t warps = (int64_t)gridDim.x * WARPS;
  for (int64_t slice = (int64_t)blockIdx.x * WARPS + threadIdx.x / MACKO_SLICE_ROWS; slice < a.count; slice += warps) {
    macko_slice s = load_header(a.headers, slice);
    if (is_apart(s)) continue; /* another kernel's */
    SUM sum[GROUP] = {};
    int64_t row = add(s, slice, 0, (int)s.steps, sum);
    if (row < a.nrows)
#pragma unroll
      for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, row, sum[g]);
  }
}

/* These are the sums of the lanes of a block for GROUP vectors, in shared memory. */
template <typename SUM, int GROUP> struct block_sums {
  SUM of[GROUP][WARPS][MACKO_SLICE_ROWS];
};

/* Does the same by a.split warps of a block, which take a part each of a slice's steps; the first of them adds up what they
 * found, always in the same order. Parts are of multiples of UNIT steps. */
template <int UNIT, int VECTOR, typename SUM, int GROUP, typename ADD>
static __device__ __forceinline__ void split_slices(const slices &a, const device_vectors &v, block_sums<SUM, GROUP> *sums,
                                                    const ADD &add)
{
  int lane = threadIdx.x % MACKO_SLICE_ROWS, warp = threadIdx.x / MACKO_SLICE_ROWS, part = warp % a.split;
  int64_t slice = ((int64_t)blockIdx.x * WARPS + warp) / a.split, row = a.nrows;
  SUM sum[GROUP] = {};
  if (slice < a.count) {
    macko_slice s = load_header(a.headers, slice);
    int steps = (int)s.steps, each = (steps + UNIT * a.split - 1) / (UNIT * a.split) * UNIT, from = part * each;
    if (!is_apart(s) && (part == 0 || from < steps)) row = add(s, slice, from, min(from + each, steps), sum);
  }
#pragma unroll
  for (int g = 0; g < GROUP; g++) sums->of[g][warp][lane] = sum[g];
  __syncthreads();
  if (part || row >= a.nrows) return;
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    for (int w = 1; w < a.split; w++) sum[g] += sums->of[g][warp + w][lane];
    put_y<VECTOR>(v, g, row, sum[g]);
  }
}

/* Gives the matrix as kernels take it, with a warp a slice. */
static inline slices slices_of(const macko_device_matrix *d)
{
  return {(const uint32_t *)macko_device_data(d, "slices"), (const uint32_t *)macko_device_data(d, "blocks"),
          (const uint16_t *)macko_device_data(d, "order"), d->m.nrows, (d->m.nrows + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS, 1};
}

/* Gives the number of blocks of threads for so many warps, as far as a launch has so many. */
static inline unsigned blocks_for(int64_t warps)
{
  int64_t blocks = (warps + WARPS - 1) / WARPS;
  return (unsigned)(blocks > INT32_MAX ? INT32_MAX : blocks);
}

/* Multiplies by masked slices. */
cudaError_t macko_masked_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream);

/* Multiplies by the slices that are neither stencils nor masked, a.split warps each, groups of vectors together where `grouped`
 * says so. */
macko_status macko_split_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, int grouped,
                                  cudaStream_t stream, macko_error *err);

/* Multiplies by them in groups side by side, as far as vectors of p make some and loads of x are worth it; gives how many vectors
 * have been done. */
int64_t macko_slices_multiply_beside(const slices &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream);

/* Multiplies by them where the codec is pairs. */
macko_status macko_pairs_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, int grouped,
                                  cudaStream_t stream, macko_error *err);

#endif
