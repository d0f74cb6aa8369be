/* Layout row where rows are long and x fits into shared memory, one vector, sums in f32: pruned weights. A block fills a
 * multiprocessor. A warp takes rows that follow each other, so that it reads one stream and only the chunks in which rows end are
 * masked; the host shares rows out by entries (rows.h). x is kept as f32 whatever the vector is, so that kernels differ only in
 * what is stored and how wide codes are. */
#include "near_chunk.cuh"

#include "macko_layout.h"

/* A block fills a multiprocessor: with more than 24 warps registers would have to be spilled, with fewer than 20 the loads from
 * shared memory are not hidden. Shares are read from multiples of ALIGNED entries on. */
enum { MOST_WARPS = 24, LEAST_WARPS = 20, EARLY = 4, ALIGNED = 64 };

/* ---- rows of a share ---- */

/* Lane l knows row first + l; as many rows as lanes less one, and where they end. Entries are counted from the share's start. */
struct near_rows {
  macko_share share;
  int64_t start;
  int first, begin;
  uint32_t base;

  __device__ __forceinline__ void learn(const rows &a, int row, int lane)
  {
    first = row;
    if (share.target < 0) {
      begin = (int)(share.begin - start) + (lane ? share.entries : 0), base = (uint32_t)share.col + 1;
      return;
    }
    int64_t i = share.target + min(row + lane, share.rows), mine = min(i, a.nrows - 1);
    int64_t reference = a.base_mode == MACKO_BASE_DIAGONAL ? mine
                        : a.base_mode == MACKO_BASE_BLOCK  ? __ldg(a.block_base + mine / MACKO_BASE_ROWS) : 0;
    begin = (int)(index_at(a.row_ptr_type, a.row_ptr, i) - start);
    base = (uint32_t)(reference + a.bias + macko_unsigned_at(a.base, a.base_bytes, mine));
  }

  __device__ __forceinline__ int begin_of(int row) const { return __shfl_sync(EVERY, begin, row - first); }
  __device__ __forceinline__ uint32_t base_of(int row) const { return __shfl_sync(EVERY, base, row - first); }
};

/* ---- products ---- */

template <int STORED> static __device__ __forceinline__ float value_at(const uint32_t *values, const float *table, int e)
{
  constexpr int SIZE = sizeof(typename element<STORED>::type);
  return value_of<STORED, float>(values[e * SIZE / 4] >> (e * SIZE % 4 * 8) & (0xffffffffu >> (32 - 8 * SIZE)), table);
}

/* Adds a lane's products of a part. */
template <int STORED, int BITS>
static __device__ __forceinline__ float add_part(const uint32_t *values, const near_codes<BITS> &codes, uint32_t start,
                                                 const char *x, const float *table, float sum)
{
  uint32_t at[ENTRIES];
  float xs[ENTRIES];
  codes.place(start, at);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) xs[e] = *(const float *)(x + at[e] + 4 * e);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) sum += value_at<STORED>(values, table, e) * xs[e];
  return sum;
}

/* Of its entries from .. to - 1 only. */
template <int STORED, int BITS>
static __device__ __forceinline__ float add_some(const rows &a, const uint32_t *values, const near_codes<BITS> &codes, int far,
                                                 uint32_t start, const char *x, const float *table, int from, int to, float sum)
{
  uint32_t at[ENTRIES];
  codes.place(start, at);
  if (far) codes.place_far(a.long_gaps, at);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++)
    if (e >= from && e < to) sum += value_at<STORED>(values, table, e) * *(const float *)(x + at[e] + 4 * e);
  return sum;
}

static __device__ __forceinline__ void finish_row(const rows &a, const device_vectors &v, const macko_share &share, int row,
                                                  float sum, int lane)
{
  for (int d = WARP / 2; d > 0; d /= 2) sum += __shfl_xor_sync(EVERY, sum, d);
  if (lane) return;
  if (share.target < 0) a.partials[~share.target * MACKO_DEVICE_GROUP] = sum;
  else put_y<MACKO_ANY>(v, 0, share.target + row, sum);
}

/* The first chunk of the share is under way in *stream. */
template <int STORED, int BITS>
static __device__ __forceinline__ void walk(const rows &a, const device_values &values, const device_vectors &v,
                                            const char *x, near_rows *r, near_stream<STORED, BITS> *stream, gap_window *window,
                                            int lane)
{
  const float *table = (const float *)values.table;
  uint32_t next_long = !a.long_ptr ? 0 : r->share.target < 0 ? r->share.next_long : __ldg(a.long_ptr + r->share.target);
  r->learn(a, 0, lane);
  if (BITS == 4 && a.long_ptr) window->open(a.long_gaps, next_long);
  /* Where the row at hand begins and ends, from the chunk's first entry on. */
  int row = 0, rows = r->share.rows, left = (int)(r->share.begin - r->start) + r->share.entries, begins = r->begin_of(0),
      ends = r->begin_of(1);
  uint32_t mine = 4 * lane * ENTRIES, start = mine + 4 * (r->base_of(0) - begins);
  float sums[PARTS] = {};
  for (int first = 0; __any_sync(EVERY, row < rows); first += CHUNK, left -= CHUNK, ends -= CHUNK) {
    near_chunk<STORED, BITS> now = stream->next;
    stream->load(__any_sync(EVERY, left > CHUNK) != 0);
    if (__any_sync(EVERY, first == 0 || left < CHUNK)) now.clear_outside(lane, first ? 0 : begins + 1, left);
    near_codes<BITS> codes[PARTS];
    codes[0].spread(now.codes[0]), codes[1].spread(now.codes[1]);
    int far = a.long_ptr && put_long_gaps<BITS>(a.long_gaps, codes, window, &next_long);
    uint32_t total = add_up<BITS>(a.long_gaps, codes, far);
    if (__all_sync(EVERY, first && ends > CHUNK && !far)) {
#pragma unroll
      for (int k = 0; k < PARTS; k++)
        sums[k] = add_part<STORED, BITS>(now.values[k], codes[k], start + 4 * k * PART, x, table, sums[k]);
    } else
      for (begins = first ? 0 : begins;;) {
#pragma unroll 1
        for (int k = begins / PART; __any_sync(EVERY, k < PARTS && k * PART < ends); k++) {
          uint32_t part[near_chunk<STORED, BITS>::WORDS];
#pragma unroll
          for (int i = 0; i < near_chunk<STORED, BITS>::WORDS; i++) part[i] = k ? now.values[1][i] : now.values[0][i];
          near_codes<BITS> c = k ? codes[1] : codes[0];
          int q = lane * ENTRIES + k * PART;
          sums[0] = add_some<STORED, BITS>(a, part, c, far, start + 4 * k * PART, x, table, begins - q, ends - q, sums[0]);
        }
        if (__any_sync(EVERY, ends > CHUNK)) break;
        finish_row(a, v, r->share, row, sums[0] + sums[1], lane);
        sums[0] = sums[1] = 0;
        if (__any_sync(EVERY, ++row >= rows)) break;
        if (__any_sync(EVERY, row - r->first == WARP - 1)) r->learn(a, row, lane);
        /* The next row's columns go on from its base, less what the chunk's codes before it add. */
        begins = ends;
        near_codes<BITS> c = begins < PART ? codes[0] : codes[1];
        uint32_t up_to = c.sum(c.before, begins % ENTRIES) + (far ? c.beyond(a.long_gaps, begins % ENTRIES) : 0);
        up_to = __shfl_sync(EVERY, up_to, begins / ENTRIES % WARP);
        start = mine + 4 * (r->base_of(row) - begins - (begins < CHUNK ? up_to : total));
        ends = r->begin_of(row + 1) - first;
        if (__any_sync(EVERY, begins >= CHUNK)) break;
      }
    start += 4 * (total + CHUNK);
  }
}

/* ---- x ---- */

/* Columns 4 i .. 4 i + 3 of a vector that is not of f32 side by side, or that ends there. */
static __device__ __noinline__ float4 four_of(const device_vectors &v, int64_t ncols, int64_t i)
{
  float x[4];
  for (int e = 0; e < 4; e++) x[e] = 4 * i + e < ncols ? (float)any_number(v.type, v.x, 4 * i + e) : 0;
  return make_float4(x[0], x[1], x[2], x[3]);
}

/* Of x, as many of whose columns as can be read in fours at once. */
static __device__ __forceinline__ unsigned fours_of(const device_vectors &v, int64_t ncols)
{
  return v.type == MACKO_F32 && (uintptr_t)v.x % 16 == 0 ? (unsigned)ncols / 4 : 0;
}

/* ---- the kernel ---- */

template <int STORED, int BITS>
static __global__ void __launch_bounds__(MOST_WARPS * WARP) near_kernel(rows a, const macko_share *shares, unsigned count,
                                                                        device_values values, device_vectors v)
{
  extern __shared__ float4 x[];
  int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
  unsigned i = warp * gridDim.x + blockIdx.x, step = gridDim.x * (blockDim.x / WARP), wide = fours_of(v, a.ncols);
  unsigned fours = (unsigned)(a.ncols + 3) / 4;
  /* The first columns are on their way while the first rows are looked up. */
  const float4 *from = wide ? (const float4 *)v.x : (const float4 *)shares;
  float4 early[EARLY];
#pragma unroll
  for (int j = 0; j < EARLY; j++) early[j] = __ldg(from + (wide ? min(threadIdx.x + j * blockDim.x, wide - 1) : 0));
  near_rows r;
  near_stream<STORED, BITS> stream;
  gap_window window;
  window.near = (uint32_t *)(x + fours) + warp * WINDOW, window.lane = lane;
  r.share = shares[min(i, count - 1)], r.start = r.share.begin / ALIGNED * ALIGNED;
  stream.open(a, values, r.start, lane);
  stream.load(0);
#pragma unroll
  for (int j = 0; j < EARLY; j++)
    if (threadIdx.x + j * blockDim.x < wide) x[threadIdx.x + j * blockDim.x] = early[j];
  for (unsigned j = threadIdx.x + EARLY * blockDim.x; j < wide; j += blockDim.x) x[j] = __ldg((const float4 *)v.x + j);
  for (unsigned j = wide + threadIdx.x; j < fours; j += blockDim.x) x[j] = four_of(v, a.ncols, j);
  __syncthreads();
  while (i < count) {
    walk(a, values, v, (const char *)x, &r, &stream, &window, lane);
    if ((i += step) >= count) break;
    r.share = shares[i], r.start = r.share.begin / ALIGNED * ALIGNED;
    stream.open(a, values, r.start, lane);
    stream.load(0);
  }
}

/* ---- from a product to the kernel ---- */

/* x, and a window of long gaps for each warp. */
static int64_t bytes_of(int64_t ncols, int warps)
{
  return (ncols + 3) / 4 * 16 + warps * WINDOW * 4;
}

/* Warps so that few of them have nothing to do in the last round: rounds take as long as there are warps. */
static int warps_for(int64_t units, int blocks)
{
  int best = MOST_WARPS;
  int64_t least = INT64_MAX;
  for (int warps = MOST_WARPS; warps >= LEAST_WARPS; warps--) {
    int64_t time = (units + (int64_t)blocks * warps - 1) / ((int64_t)blocks * warps) * warps;
    if (time < least) least = time, best = warps;
  }
  return best;
}

int macko_near_warps(const macko_matrix *m, int64_t units, int blocks, int64_t shared_bytes)
{
  int type = m->plan.stored_type, coded = type == MACKO_U8 || type == MACKO_U16;
  /* Sums of codes take 16 bits. */
  if (m->plan.layout != MACKO_LAYOUT_ROW || (m->plan.delta_bits != 4 && m->plan.delta_bits != 8) || type == MACKO_F64 ||
      (coded && m->value_type == MACKO_F64) || m->ncols > UINT16_MAX || bytes_of(m->ncols, MOST_WARPS) > shared_bytes)
    return 0;
  return warps_for(units, blocks);
}

template <int STORED, int BITS>
static int start(const rows &a, const device_rows *r, const device_values &values, const device_vectors &v, cudaStream_t stream)
{
  auto kernel = near_kernel<STORED, BITS>;
  int bytes = (int)bytes_of(a.ncols, r->warps);
  /* A kernel gets much shared memory only where that was said before. */
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)) return 0;
  unsigned blocks = (unsigned)r->multiprocessors, threads = (unsigned)(r->warps * WARP);
  kernel<<<blocks, threads, (size_t)bytes, stream>>>(a, r->shares, (unsigned)r->cut.nshares, values, v);
  return 1;
}

int macko_near_rows_start(const rows &a, const device_rows *r, const device_values &values, const device_vectors &v,
                          cudaStream_t stream)
{
  if (!r->shares) return 0;
#define MACKO_CASE(type) \
  case MACKO_##type: \
    return a.bits == 4 ? start<MACKO_##type, 4>(a, r, values, v, stream) : start<MACKO_##type, 8>(a, r, values, v, stream);
  switch (values.stored_type) {
    MACKO_CASE(F32)
    MACKO_CASE(F16)
    MACKO_CASE(BF16)
    MACKO_CASE(I8)
    MACKO_CASE(U8)
    MACKO_CASE(U16)
  }
#undef MACKO_CASE
  return 0;
}
