/* Layouts row and paper of macko (arXiv 2511.13061, section 4). A power of two of lanes takes a row. In each chunk a lane takes
 * consecutive entries, whose values and codes are a few wide loads, adds up its own gaps, and one prefix sum over the lanes gives
 * every lane its column. As in the paper's ROMA, a row starts at the aligned entry before it; what is outside the row is skipped.
 * Long rows are cut into pieces (rows.h), whose sums a second kernel adds in order: with the paper's one warp a row, one row may
 * decide the time.
 *
 * The lanes go from row to row, and while they work on a chunk the next one is being loaded, whichever row it is of. Where a warp
 * takes a row and x fits into shared memory, it is kept there: a load takes an address of 32 bits and as many wavefronts as the
 * fullest bank has columns, 3.5 for 32 columns at random. */
#include "row_share.cuh"
#include "rows.h"

#include "macko_layout.h"

#include <stdlib.h>
#include <algorithm>

/* Threads of a block, and blocks of a multiprocessor. Where x is in shared memory, one block fills it: with more than 28 warps it
 * would have to spill registers, with fewer than 24 the loads from shared memory are not hidden. */
enum { THREADS = 128, BLOCKS = 16, MOST_WARPS = 28, LEAST_WARPS = 24 };

struct rows {
  const void *row_ptr, *base;
  const int32_t *block_base;
  const uint8_t *gaps;
  const uint32_t *long_ptr, *long_gaps;
  const macko_piece *pieces;
  double *partials; /* MACKO_DEVICE_GROUP a piece */
  int64_t nrows, ncols, npieces, longest, bias, marker;
  int row_ptr_type, base_mode, base_bytes, lanes, piece_blocks;
};

/* What a group of lanes multiplies: entries from .. to - 1 counted from start, a multiple of a lane's entries. */
struct unit {
  int64_t start, target; /* target: row, or ~ a place in partials */
  int from, to;
  uint32_t col;          /* of entry q, less q and the codes up to it */
  uint32_t next_long;
};

/* before: column before the first entry's gap. */
static __device__ __forceinline__ unit unit_of(int64_t begin, int length, int before, uint32_t next_long, int64_t target,
                                               int align)
{
  int from = (int)(begin % align);
  return {begin - from, target, from, from + length, (uint32_t)(before + 1 - from), next_long};
}

/* What the groups of lanes of a launch share: the first pieces, then rows. A group takes every stride-th. */
struct span {
  int64_t stride, pieces, units;
};

/* Targets of units with no entries: nothing to write, nothing left. */
static constexpr int64_t NOWHERE = INT64_MAX - 1, END = INT64_MAX;

static __device__ __forceinline__ unit row_unit(const rows &a, int64_t row, int paper, int align)
{
  int64_t begin = index_at(a.row_ptr_type, a.row_ptr, row), length = index_at(a.row_ptr_type, a.row_ptr, row + 1) - begin;
  if (length > a.longest) return {0, NOWHERE, 0, 0, 0, 0}; /* cut, and the pieces' */
  int64_t reference = a.base_mode == MACKO_BASE_DIAGONAL ? row
                      : a.base_mode == MACKO_BASE_BLOCK  ? __ldg(a.block_base + row / 32) : 0;
  int before = paper ? -1 : (int)(reference + a.bias + macko_unsigned_at(a.base, a.base_bytes, row) - 1);
  return unit_of(begin, (int)length, before, a.long_ptr ? __ldg(a.long_ptr + row) : 0, row, align);
}

static __device__ __forceinline__ unit unit_at(const rows &a, const span &s, int64_t i, int paper, int align)
{
  if (i >= s.units) return {0, END, 0, 0, 0, 0};
  if (i >= s.pieces) return row_unit(a, i - s.pieces, paper, align);
  const macko_piece &p = a.pieces[i];
  return unit_of(p.begin, p.length, p.col, p.next_long, ~(int64_t)p.partial, align);
}

/* ---- chunks ---- */

/* Shares of a lane that are `step` entries apart; one prefix sum over the lanes serves them, 16 bits for each. */
template <int STORED, int BITS, int PARTS> struct chunk {
  typedef share<STORED, BITS> share_type;
  share_type parts[PARTS];

  /* The lane's first entry is p, a multiple of its entries; `left` entries are the unit's. */
  __device__ __forceinline__ void load(const rows &a, const device_values &values, uint64_t p, int left, int step)
  {
    const char *value = (const char *)values.stream + p * share_type::SIZE;
    const uint8_t *code = a.gaps + (p * BITS >> 3);
#pragma unroll
    for (int k = 0; k < PARTS; k++)
      if (left > k * step) parts[k].load(value + k * step * share_type::SIZE, code + k * step * BITS / 8, (int64_t)p);
      else parts[k].clear();
  }

  __device__ __forceinline__ uint32_t may_escape() const
  {
    uint32_t found = 0;
#pragma unroll
    for (int k = 0; k < PARTS; k++) found |= parts[k].may_escape();
    return found;
  }
};

template <int VECTOR> static __device__ __forceinline__ void copy_near(char *shared_x, const void *x, int64_t n)
{
  int64_t bytes = n * (int64_t)sizeof(typename element<VECTOR>::type), wide = (uintptr_t)x % 16 ? 0 : bytes / 16;
  for (int64_t i = threadIdx.x; i < wide; i += blockDim.x) ((uint4 *)shared_x)[i] = __ldg((const uint4 *)x + i);
  for (int64_t i = wide * 8 + threadIdx.x; i < bytes / 2; i += blockDim.x)
    ((unsigned short *)shared_x)[i] = __ldg((const unsigned short *)x + i);
  __syncthreads();
}

/* Adds a lane's products of its entries from .. to - 1. Entry e multiplies element at[e] + e of x; in shared memory at[e] counts
 * bytes. */
template <int PAPER, int VECTOR, typename SUM, int GROUP, int SHARED, int MASKED, typename SHARE>
static __device__ __forceinline__ void add_products(const rows &a, const device_values &values, const device_vectors &v,
                                                    const char *shared_x, const SHARE &s, int64_t p, int from, int to,
                                                    const uint32_t at[SHARE::E], SUM sum[GROUP])
{
  constexpr int E = SHARE::E;
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    SUM x[E];
#pragma unroll
    for (int e = 0; e < E; e++)
      if (!MASKED || (e >= from && e < to)) {
        if constexpr (SHARED) x[e] = (SUM)near_vector<VECTOR>(shared_x + (int)at[e], e);
        else x[e] = (SUM)load_vector<VECTOR>(v.x, g * v.ldx + (int)at[e] + e, v.type);
      }
#pragma unroll
    for (int e = 0; e < E; e++)
      if ((!MASKED || (e >= from && e < to)) && !(PAPER && s.padding(a.marker, values, p, e)))
        sum[g] += s.template value<SUM>(values, p, e) * x[e];
  }
}

/* ---- kernels ---- */

/* Multiplies the entries of a chunk, the first of which for this lane is q of the unit, and moves the unit's column on. */
template <int PAPER, int STORED, int VECTOR, typename SUM, int GROUP, int SHARED, int BITS, int PARTS>
static __device__ __forceinline__ void add_chunk(const rows &a, const device_values &values, const device_vectors &v,
                                                 const char *shared_x, const chunk<STORED, BITS, PARTS> &now, unit *u, int q,
                                                 int inside, int lanes, SUM sum[GROUP])
{
  constexpr int E = share<STORED, BITS>::E;
  constexpr uint32_t SCALE = SHARED ? sizeof(typename element<VECTOR>::type) : 1;
  int step = lanes * E;
  row_codes<BITS, E> codes[PARTS];
  uint32_t packed = 0;
#pragma unroll
  for (int k = 0; k < PARTS; k++) {
    codes[k].spread(now.parts[k].codes);
    /* The code of a row's first entry does not count in layout row. */
    if (!inside) codes[k].clear(u->from + !PAPER - q - k * step);
    packed += codes[k].sum() << 16 * k;
  }
  uint32_t up_to = prefix_sum(packed, lanes), total = __shfl_sync(EVERY, up_to, lanes - 1, lanes), before = up_to - packed;
  int escaped = !PAPER && a.long_gaps && __any_sync(EVERY, now.may_escape());
#pragma unroll
  for (int k = 0; k < PARTS; k++) {
    uint32_t at[E], codes_before = PARTS == 1 ? before : k ? before >> 16 : before & 0xffff;
    codes[k].place((u->col + (uint32_t)(q + k * step) + codes_before) * SCALE, SCALE, at);
    u->col += PARTS == 1 ? total : k ? total >> 16 : total & 0xffff;
    if (escaped) u->col += add_long_gaps<BITS, E>(a.long_gaps, codes[k].escapes(), SCALE, lanes, &u->next_long, at);
    int64_t p = u->start + q + k * step;
    int from = u->from - q - k * step, to = u->to - q - k * step;
    if (inside) add_products<PAPER, VECTOR, SUM, GROUP, SHARED, 0>(a, values, v, shared_x, now.parts[k], p, from, to, at, sum);
    else add_products<PAPER, VECTOR, SUM, GROUP, SHARED, 1>(a, values, v, shared_x, now.parts[k], p, from, to, at, sum);
  }
}

/* Units i, i + stride ... of a group of lanes. The groups of a warp go on to their next ones together. */
template <int PAPER, int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int SHARED>
static __device__ __forceinline__ void walk(const rows &a, const device_values &values, const device_vectors &v, char *shared_x,
                                            const span &s, int64_t i, int lane, int lanes)
{
  /* Sums of codes of 16 bits do not fit into 16. */
  constexpr int PARTS = SHARED && BITS < 16 ? 2 : 1, E = share<STORED, BITS>::E;
  int q0 = lane * E, step = lanes * E, size = PARTS * step;
  unit u = unit_at(a, s, i, PAPER, E);
  chunk<STORED, BITS, PARTS> next = {};
  next.load(a, values, u.start + q0, u.to - q0, step);
  if constexpr (SHARED) copy_near<VECTOR>(shared_x, v.x, a.ncols);
  while (__any_sync(EVERY, u.target != END)) {
    unit after = unit_at(a, s, i += s.stride, PAPER, E);
    SUM sum[GROUP] = {};
    for (int first = 0, more = 1; more; first += size) {
      chunk<STORED, BITS, PARTS> now = next;
      int left = u.to - first - size, inside = __all_sync(EVERY, first && left >= 0);
      more = __any_sync(EVERY, left > 0);
      next.load(a, values, (more ? u.start + first + size : after.start) + q0, (more ? left : after.to) - q0, step);
      add_chunk<PAPER, STORED, VECTOR, SUM, GROUP, SHARED, BITS, PARTS>(a, values, v, shared_x, now, &u, first + q0, inside,
                                                                        lanes, sum);
    }
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
      for (int d = lanes / 2; d > 0; d /= 2) sum[g] += __shfl_xor_sync(EVERY, sum[g], d);
      if (lane || u.target >= NOWHERE) continue;
      if (u.target >= 0) put_y<VECTOR>(v, g, u.target, sum[g]);
      else a.partials[~u.target * MACKO_DEVICE_GROUP + g] = sum[g];
    }
    u = after;
  }
}

/* The first piece_blocks blocks take pieces, a warp each: they take longest. */
template <int PAPER, int STORED, int VECTOR, typename SUM, int GROUP, int BITS>
static __global__ void __launch_bounds__(THREADS) rows_kernel(rows a, device_values values, device_vectors v)
{
  int for_piece = (int)blockIdx.x < a.piece_blocks, lanes = for_piece ? WARP : a.lanes;
  int block = (int)blockIdx.x - (for_piece ? 0 : a.piece_blocks);
  int blocks = for_piece ? a.piece_blocks : (int)gridDim.x - a.piece_blocks;
  span s = {(int64_t)blocks * (THREADS / lanes), for_piece ? a.npieces : 0, for_piece ? a.npieces : a.nrows};
  int64_t i = (int64_t)block * (THREADS / lanes) + threadIdx.x / lanes;
  walk<PAPER, STORED, VECTOR, SUM, GROUP, BITS, 0>(a, values, v, NULL, s, i, threadIdx.x & (lanes - 1), lanes);
}

/* A warp a row or piece, x in shared memory. Rows next to each other go to different multiprocessors, which so end together. */
template <int STORED, int VECTOR, int BITS>
static __global__ void __launch_bounds__(MOST_WARPS * WARP) shared_rows_kernel(rows a, device_values values, device_vectors v)
{
  extern __shared__ uint4 shared_x[];
  span s = {(int64_t)gridDim.x * (blockDim.x / WARP), a.npieces, a.npieces + a.nrows};
  int64_t i = (int64_t)(threadIdx.x / WARP) * gridDim.x + blockIdx.x;
  walk<0, STORED, VECTOR, float, 1, BITS, 1>(a, values, v, (char *)shared_x, s, i, threadIdx.x % WARP, WARP);
}

/* A warp a cut row: always in the same order. */
static __global__ void __launch_bounds__(THREADS) sum_kernel(const macko_cut_row *cut, int64_t count, const double *partials,
                                                            device_vectors v, int group)
{
  int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
  if (i >= count) return;
  int lane = threadIdx.x % WARP;
  macko_cut_row row = cut[i];
  for (int g = 0; g < group; g++) {
    double sum = 0;
    for (int k = lane; k < row.count; k += WARP) sum += partials[(int64_t)(row.first + k) * MACKO_DEVICE_GROUP + g];
    for (int d = WARP / 2; d > 0; d /= 2) sum += __shfl_xor_sync(EVERY, sum, d);
    if (lane == 0) put_y<MACKO_ANY>(v, g, row.row, sum);
  }
}

/* ---- from a product to the kernels ---- */

/* Warps of a block so that few of them have nothing to do in the last round: rounds take as long as there are warps. */
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

template <int PAPER> struct rows_launch {
  rows a;
  const device_rows *r;
  int bits;
  cudaStream_t stream;

  /* Answers whether the kernel for x in shared memory has been started. It takes rows that fill its chunks. */
  template <int STORED, int VECTOR, int BITS> int start_shared(const device_values &values, const device_vectors &v) const
  {
    int64_t bytes = (a.ncols * (int64_t)sizeof(typename element<VECTOR>::type) + 15) / 16 * 16;
    if (bytes > r->shared_bytes || !r->cut.wide) return 0;
    unsigned threads = (unsigned)(warps_for(a.npieces + a.nrows, r->multiprocessors) * WARP);
    /* A kernel gets much shared memory only where that was said before. */
    auto kernel = shared_rows_kernel<STORED, VECTOR, BITS>;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes)) return 0;
    kernel<<<(unsigned)r->multiprocessors, threads, (size_t)bytes, stream>>>(a, values, v);
    return 1;
  }

  template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS>
  void start(const device_values &values, const device_vectors &v) const
  {
    if constexpr (!PAPER && GROUP == 1 && sizeof(SUM) == 4)
      if (start_shared<STORED, VECTOR, BITS>(values, v)) return;
    int64_t per_block = THREADS / a.lanes, most = (int64_t)r->multiprocessors * BLOCKS;
    unsigned blocks = (unsigned)std::min((a.nrows + per_block - 1) / per_block, most);
    rows_kernel<PAPER, STORED, VECTOR, SUM, GROUP, BITS><<<blocks + a.piece_blocks, THREADS, 0, stream>>>(a, values, v);
  }

  template <int STORED, int VECTOR, typename SUM, int GROUP> void run(const device_values &values, const device_vectors &v) const
  {
    /* Layout paper stores values as they are. */
    if constexpr (!PAPER || (STORED != MACKO_I8 && STORED != MACKO_U8 && STORED != MACKO_U16)) {
      switch (bits) {
      case 1: start<STORED, VECTOR, SUM, GROUP, 1>(values, v); break;
      case 2: start<STORED, VECTOR, SUM, GROUP, 2>(values, v); break;
      case 4: start<STORED, VECTOR, SUM, GROUP, 4>(values, v); break;
      case 8: start<STORED, VECTOR, SUM, GROUP, 8>(values, v); break;
      default:
        if constexpr (!PAPER) start<STORED, VECTOR, SUM, GROUP, 16>(values, v);
      }
      const macko_cut_row *cut = (const macko_cut_row *)(a.pieces + a.npieces);
      unsigned blocks = (unsigned)((r->cut.nrows + THREADS / WARP - 1) / (THREADS / WARP));
      if (blocks) sum_kernel<<<blocks, THREADS, 0, stream>>>(cut, r->cut.nrows, a.partials, v, GROUP);
    }
  }
};

/* The host's copy of *cut goes to the device; the device's addresses replace it. */
static macko_status upload_cut(device_rows *r, macko_cut *cut, cudaStream_t stream, macko_error *err)
{
  int64_t pieces = cut->npieces * (int64_t)sizeof *cut->pieces, list = cut->nrows * (int64_t)sizeof *cut->rows;
  int64_t partials = cut->npieces * MACKO_DEVICE_GROUP * 8;
  macko_status s = macko_device_alloc(pieces + list + partials, "the pieces of long rows", &r->memory, err);
  if (s) return s;
  r->bytes = pieces + list + partials;
  r->partials = (double *)((char *)r->memory + pieces + list);
  cudaError_t e = cudaMemcpyAsync(r->memory, cut->pieces, (size_t)pieces, cudaMemcpyHostToDevice, stream);
  if (!e) e = cudaMemcpyAsync((char *)r->memory + pieces, cut->rows, (size_t)list, cudaMemcpyHostToDevice, stream);
  return macko_cuda_status(e, "copying the pieces of long rows to the GPU", err);
}

macko_status macko_rows_prepare(device_rows *r, const macko_matrix *host, cudaStream_t stream, macko_error *err)
{
  int device = 0;
  macko_status s = macko_cut_rows(host, &r->cut, err);
  if (s) return s;
  cudaError_t e = cudaGetDevice(&device);
  if (!e) e = cudaDeviceGetAttribute(&r->multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (!e) e = cudaDeviceGetAttribute(&r->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (e) return macko_cuda_status(e, "asking what the GPU has", err);
  return r->cut.nrows ? upload_cut(r, &r->cut, stream, err) : MACKO_OK;
}

void macko_rows_destroy(device_rows *r)
{
  cudaFree(r->memory);
  free(r->cut.pieces), free(r->cut.rows);
}

macko_status macko_rows_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  const int64_t *params = d->m.plan.params;
  const device_rows *r = &((const device_macko *)d->own)->rows;
  rows a = {};
  a.row_ptr = macko_device_data(d, "row_ptr"), a.row_ptr_type = macko_find_section(&d->m, "row_ptr")->type;
  a.gaps = (const uint8_t *)macko_device_data(d, "gaps");
  a.nrows = d->m.nrows, a.ncols = d->m.ncols, a.lanes = r->cut.lanes, a.longest = r->cut.longest, a.npieces = r->cut.npieces;
  a.pieces = (const macko_piece *)r->memory, a.partials = r->partials;
  a.piece_blocks = (int)((a.npieces + THREADS / WARP - 1) / (THREADS / WARP));
  if (d->m.plan.layout == MACKO_LAYOUT_PAPER) {
    a.marker = params[MACKO_PARAM_MARKER];
    return run_product(rows_launch<1>{a, r, d->m.plan.delta_bits, stream}, d, p, err);
  }
  a.base = macko_device_data(d, "base"), a.block_base = (const int32_t *)macko_device_data(d, "block_base");
  a.long_ptr = (const uint32_t *)macko_device_data(d, "long_ptr");
  a.long_gaps = (const uint32_t *)macko_device_data(d, "long_gaps");
  a.base_mode = (int)params[MACKO_PARAM_BASE_MODE], a.base_bytes = (int)params[MACKO_PARAM_BASE_BYTES];
  a.bias = params[MACKO_PARAM_BASE_BIAS];
  return run_product(rows_launch<0>{a, r, d->m.plan.delta_bits, stream}, d, p, err);
}
