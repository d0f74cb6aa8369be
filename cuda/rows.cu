/* Layouts row and paper of macko (arXiv 2511.13061, section 4). A power of two of lanes takes a row. In each chunk a lane takes
 * consecutive entries, whose values and codes are a few wide loads, adds up its own gaps, and one prefix sum over the lanes gives
 * every lane its column. As in the paper's ROMA, a row starts at the aligned entry before it; what is outside the row is skipped. Long
 * rows are cut into pieces (rows.h), whose sums a second kernel adds in order: the paper's one warp a row lets one row decide the time. */
#include "product.cuh"
#include "rows.h"

#include "macko_layout.h"

#include <stdlib.h>

enum { THREADS = 128, WARP = 32 };
static const unsigned EVERY = 0xffffffffu;

struct rows {
  const void *row_ptr, *base;
  const int32_t *block_base;
  const uint8_t *gaps;
  const uint32_t *long_ptr, *long_gaps;
  const macko_piece *pieces;
  double *partials; /* MACKO_DEVICE_GROUP a piece */
  int64_t nrows, npieces, longest, bias, marker;
  int row_ptr_type, base_mode, base_bytes, lanes, piece_blocks;
};

/* What a group of lanes multiplies. */
struct unit {
  int64_t begin, row;
  int length, col, partial; /* column before the first entry's gap; partial < 0: the sum is y's */
  uint32_t next_long;
};

template <int STORED> constexpr int lane_entries() { return STORED == MACKO_F64 || STORED == MACKO_ANY ? 4 : 8; }

static __device__ __forceinline__ unit row_unit(const rows &a, int64_t row, int paper)
{
  unit u = {};
  u.partial = -1, u.row = a.nrows;
  if (row >= a.nrows) return u;
  u.begin = index_at(a.row_ptr_type, a.row_ptr, row);
  int64_t length = index_at(a.row_ptr_type, a.row_ptr, row + 1) - u.begin;
  if (length > a.longest) return u; /* cut, and the pieces' */
  int64_t reference = a.base_mode == MACKO_BASE_DIAGONAL ? row : a.base_mode == MACKO_BASE_BLOCK ? a.block_base[row / 32] : 0;
  u.row = row, u.length = (int)length;
  u.col = paper ? -1 : (int)(reference + a.bias + macko_unsigned_at(a.base, a.base_bytes, row) - 1);
  if (a.long_ptr) u.next_long = __ldg(a.long_ptr + row);
  return u;
}

static __device__ __forceinline__ unit piece_unit(const rows &a, int64_t i)
{
  unit u = {};
  u.partial = -1, u.row = a.nrows;
  if (i >= a.npieces) return u;
  const macko_piece &piece = a.pieces[i];
  u.begin = piece.begin, u.row = piece.row, u.length = piece.length;
  u.col = piece.col, u.partial = piece.partial, u.next_long = piece.next_long;
  return u;
}

/* ---- a lane's share of a chunk ---- */

template <int WORDS> static __device__ __forceinline__ void load_words(const void *from, uint32_t words[WORDS])
{
  if constexpr (WORDS % 4 == 0) {
#pragma unroll
    for (int i = 0; i < WORDS / 4; i++) {
      uint4 w = __ldcs((const uint4 *)from + i);
      words[4 * i] = w.x, words[4 * i + 1] = w.y, words[4 * i + 2] = w.z, words[4 * i + 3] = w.w;
    }
  } else if constexpr (WORDS == 2) {
    uint2 w = __ldcs((const uint2 *)from);
    words[0] = w.x, words[1] = w.y;
  } else
    words[0] = __ldcs((const uint32_t *)from);
}

template <int STORED, int BITS> struct share {
  static constexpr int E = lane_entries<STORED>(), SIZE = sizeof(typename element<STORED>::type);
  static constexpr int CODE_BITS = E * BITS, CODE_WORDS = CODE_BITS < 32 ? 1 : CODE_BITS / 32;
  static constexpr int VALUE_WORDS = STORED == MACKO_ANY ? 1 : E * SIZE / 4;
  uint32_t codes[CODE_WORDS], values[VALUE_WORDS];

  /* p is a multiple of E. */
  __device__ __forceinline__ void load(const rows &a, const device_values &v, int64_t p)
  {
    if constexpr (STORED != MACKO_ANY) load_words<VALUE_WORDS>((const char *)v.stream + p * SIZE, values);
    if constexpr (CODE_BITS >= 32) load_words<CODE_WORDS>(a.gaps + p / 8 * BITS + p % 8 * BITS / 8, codes);
    else if constexpr (CODE_BITS == 16) codes[0] = __ldcs((const unsigned short *)a.gaps + p / E);
    else if constexpr (CODE_BITS == 8) codes[0] = __ldcs((const unsigned char *)a.gaps + p / E);
    else codes[0] = __ldcs((const unsigned char *)a.gaps + p / 8) >> p % 8;
  }

  __device__ __forceinline__ int code(int e) const
  {
    return (int)(codes[e * BITS / 32] >> (e * BITS % 32) & ((1u << BITS) - 1));
  }

  /* Whether a code may be an escape: all of its bits are set. */
  __device__ __forceinline__ int may_escape() const
  {
    uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < CODE_WORDS; i++) {
      uint32_t w = codes[i];
#pragma unroll
      for (int d = 1; d < BITS; d *= 2) w &= w >> d;
      found |= w & (0xffffffffu / ((1u << BITS) - 1));
    }
    return found != 0;
  }

  template <typename SUM> __device__ __forceinline__ SUM value(const device_values &v, int64_t p, int e) const
  {
    if constexpr (STORED == MACKO_ANY) return load_value<STORED, SUM>(v, p + e);
    else if constexpr (STORED == MACKO_F64) return (SUM)__hiloint2double((int)values[2 * e + 1], (int)values[2 * e]);
    else return value_of<STORED, SUM>(values[e * SIZE / 4] >> (e * SIZE % 4 * 8) & (0xffffffffu >> (32 - 8 * SIZE)), (const SUM *)v.table);
  }

  /* Padding of layout paper carries a bit pattern that no entry has. */
  __device__ __forceinline__ int padding(const rows &a, const device_values &v, int64_t p, int e) const
  {
    if constexpr (STORED == MACKO_F64) return values[2 * e] == (uint32_t)a.marker && values[2 * e + 1] == (uint32_t)(a.marker >> 32);
    else if constexpr (STORED != MACKO_ANY)
      return (values[e * SIZE / 4] >> (e * SIZE % 4 * 8) & (0xffffffffu >> (32 - 8 * SIZE))) == (uint32_t)a.marker;
    else if (v.stored_type == MACKO_F64) return ((const int64_t *)v.stream)[p + e] == a.marker;
    else if (v.stored_type == MACKO_F32) return ((const uint32_t *)v.stream)[p + e] == (uint32_t)a.marker;
    else return ((const uint16_t *)v.stream)[p + e] == (uint16_t)a.marker;
  }
};

/* Sum over the lanes of a group up to this one. */
static __device__ __forceinline__ int prefix_sum(int n, int lane, int lanes)
{
#pragma unroll
  for (int d = 1; d < WARP; d *= 2)
    if (d < lanes) {
      int before = __shfl_up_sync(EVERY, n, d, lanes);
      if (lane >= d) n += before;
    }
  return n;
}

/* Escapes among code[0 .. E - 1] become their long gaps, less one as codes are. All lanes of the warp take part. */
template <int E> static __device__ __forceinline__ void put_long_gaps(const rows &a, int escape, int lane, int lanes, uint32_t *next_long, int code[E])
{
  int count = 0;
#pragma unroll
  for (int e = 0; e < E; e++) count += code[e] == escape;
  int up_to = prefix_sum(count, lane, lanes);
  const uint32_t *gap = a.long_gaps + *next_long + (up_to - count);
#pragma unroll
  for (int e = 0; e < E; e++)
    if (code[e] == escape) code[e] = (int)__ldg(gap++) - 1;
  *next_long += (uint32_t)__shfl_sync(EVERY, up_to, lanes - 1, lanes);
}

/* Adds a lane's products of entries lo .. hi - 1; entry e is in column code[e] + e beyond col. */
template <int PAPER, int VECTOR, typename SUM, int GROUP, int MASKED, typename SHARE>
static __device__ __forceinline__ void add_products(const rows &a, const device_values &values, const device_vectors &v, const SHARE &s,
                                                    int64_t p, int lo, int hi, int col, const int code[SHARE::E], SUM sum[GROUP])
{
  constexpr int E = SHARE::E;
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    SUM x[E];
#pragma unroll
    for (int e = 0; e < E; e++)
      if (!MASKED || (e >= lo && e < hi)) x[e] = (SUM)load_vector<VECTOR>(v.x, g * v.ldx + (col + code[e] + e), v.type);
#pragma unroll
    for (int e = 0; e < E; e++)
      if ((!MASKED || (e >= lo && e < hi)) && !(PAPER && s.padding(a, values, p, e))) sum[g] += s.template value<SUM>(values, p, e) * x[e];
  }
}

template <int PAPER, int STORED, int VECTOR, typename SUM, int GROUP, int BITS>
static __device__ __forceinline__ void walk(const rows &a, const device_values &values, const device_vectors &v, const unit &u, int lane,
                                            int lanes, SUM sum[GROUP])
{
  typedef share<STORED, BITS> share_type;
  constexpr int E = share_type::E;
  int64_t start = u.begin / E * E;
  int from = (int)(u.begin - start), to = from + u.length, step = lanes * E, col = u.col;
  uint32_t next_long = u.next_long;
  share_type next = {};
  if (lane * E < to) next.load(a, values, start + lane * E);
  for (int first = 0; __any_sync(EVERY, first < to); first += step) {
    int q = first + lane * E, left = to - q, lo = q ? 0 : from, hi = max(min(left, E), 0);
    share_type now = next;
    if (q + step < to) next.load(a, values, start + q + step);
    int code[E];
#pragma unroll
    for (int e = 0; e < E; e++) code[e] = now.code(e);
    /* The code of a row's first entry does not count in layout row. Not hi == E: ptxas 13.0 takes that from the minimum's predicate,
     * which the maximum spoils. */
    int counts_from = PAPER ? from : from + 1, whole = __all_sync(EVERY, q >= counts_from && left >= E);
    if (!whole)
#pragma unroll
      for (int e = 0; e < E; e++)
        if (q + e < counts_from || e >= hi) code[e] = 0;
    if (!PAPER && a.long_gaps && __any_sync(EVERY, now.may_escape()))
      put_long_gaps<E>(a, (1 << BITS) - 1, lane, lanes, &next_long, code);
#pragma unroll
    for (int e = 1; e < E; e++) code[e] += code[e - 1];
    int total = code[E - 1] + max(hi - lo, 0), up_to = prefix_sum(total, lane, lanes);
    int before = col + up_to - total + 1 - lo;
    if (whole) add_products<PAPER, VECTOR, SUM, GROUP, 0>(a, values, v, now, start + q, lo, hi, before, code, sum);
    else add_products<PAPER, VECTOR, SUM, GROUP, 1>(a, values, v, now, start + q, lo, hi, before, code, sum);
    col += __shfl_sync(EVERY, up_to, lanes - 1, lanes);
  }
}

/* ---- kernels ---- */

/* Pieces come first, because they take longest. */
template <int PAPER, int STORED, int VECTOR, typename SUM, int GROUP, int BITS>
static __global__ void __launch_bounds__(THREADS) rows_kernel(rows a, device_values values, device_vectors v)
{
  int for_piece = (int)blockIdx.x < a.piece_blocks, lanes = for_piece ? WARP : a.lanes, lane = threadIdx.x & (lanes - 1);
  int64_t i = ((int64_t)(blockIdx.x - (for_piece ? 0 : a.piece_blocks)) * THREADS + threadIdx.x) / lanes;
  unit u = for_piece ? piece_unit(a, i) : row_unit(a, i, PAPER);
  SUM sum[GROUP] = {};
  walk<PAPER, STORED, VECTOR, SUM, GROUP, BITS>(a, values, v, u, lane, lanes, sum);
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    for (int d = lanes / 2; d > 0; d /= 2) sum[g] += __shfl_xor_sync(EVERY, sum[g], d, lanes);
    if (lane || u.row >= a.nrows) continue;
    if (u.partial < 0) put_y<VECTOR>(v, g, u.row, sum[g]);
    else a.partials[(int64_t)u.partial * MACKO_DEVICE_GROUP + g] = sum[g];
  }
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

template <int PAPER> struct rows_launch {
  rows a;
  const macko_cut_row *cut;
  int64_t ncut;
  int bits;
  cudaStream_t stream;

  template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS> void start(const device_values &values, const device_vectors &v) const
  {
    int64_t per_block = THREADS / a.lanes, blocks = (a.nrows + per_block - 1) / per_block;
    rows_kernel<PAPER, STORED, VECTOR, SUM, GROUP, BITS><<<(unsigned)(blocks + a.piece_blocks), THREADS, 0, stream>>>(a, values, v);
    int64_t sum_blocks = (ncut + THREADS / WARP - 1) / (THREADS / WARP);
    if (ncut) sum_kernel<<<(unsigned)sum_blocks, THREADS, 0, stream>>>(cut, ncut, a.partials, v, GROUP);
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
  macko_status s = macko_cut_rows(host, &r->cut, err);
  return s || !r->cut.nrows ? s : upload_cut(r, &r->cut, stream, err);
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
  const macko_piece *pieces = (const macko_piece *)r->memory;
  const macko_cut_row *cut = (const macko_cut_row *)(pieces + r->cut.npieces);
  rows a = {};
  a.row_ptr = macko_device_data(d, "row_ptr"), a.row_ptr_type = macko_find_section(&d->m, "row_ptr")->type;
  a.gaps = (const uint8_t *)macko_device_data(d, "gaps");
  a.nrows = d->m.nrows, a.lanes = r->cut.lanes, a.longest = r->cut.longest, a.npieces = r->cut.npieces;
  a.pieces = pieces, a.partials = r->partials, a.piece_blocks = (int)((a.npieces + THREADS / WARP - 1) / (THREADS / WARP));
  if (d->m.plan.layout == MACKO_LAYOUT_PAPER) {
    a.marker = params[MACKO_PARAM_MARKER];
    return run_product(rows_launch<1>{a, cut, r->cut.nrows, d->m.plan.delta_bits, stream}, d, p, err);
  }
  a.base = macko_device_data(d, "base"), a.block_base = (const int32_t *)macko_device_data(d, "block_base");
  a.long_ptr = (const uint32_t *)macko_device_data(d, "long_ptr"), a.long_gaps = (const uint32_t *)macko_device_data(d, "long_gaps");
  a.base_mode = (int)params[MACKO_PARAM_BASE_MODE], a.base_bytes = (int)params[MACKO_PARAM_BASE_BYTES], a.bias = params[MACKO_PARAM_BASE_BIAS];
  return run_product(rows_launch<0>{a, cut, r->cut.nrows, d->m.plan.delta_bits, stream}, d, p, err);
}
