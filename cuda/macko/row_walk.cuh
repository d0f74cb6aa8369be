/* Layouts row and paper, by lanes: how a group of them walks along its rows and pieces, for one vector or several. */
#ifndef MACKO_ROW_WALK_CUH
#define MACKO_ROW_WALK_CUH

#include "macko/row_codes.cuh"

/* This is the number of threads of a block, and blocks that a launch has for each multiprocessor. */
enum { THREADS = 128, BLOCKS = 16 };

/* This is what a group of lanes multiplies: a row or a piece. Its entries are from .. to - 1, counted from start, a multiple of
 * a lane's entries. */
struct unit {
  int64_t start, target; /* target: where the sum goes, a row of y, or ~ a place in partials */
  int from, to;
  uint32_t col;          /* of entry q, less q and the codes up to it */
  uint32_t next_long;    /* number of its next long gap */
};

/* Gives the unit of `length` entries from entry `begin` on; before: the column before the first entry's gap. */
static __device__ __forceinline__ unit unit_of(int64_t begin, int length, int before, uint32_t next_long, int64_t target,
                                               int align)
{
  int from = (int)(begin % align);
  return {begin - from, target, from, from + length, (uint32_t)(before + 1 - from), next_long};
}

/* These are the units that the groups of lanes of a launch share: the pieces first, then the rows. A group takes every
 * stride-th. */
struct span {
  int64_t stride, pieces, units;
};

/* These are the targets of units without entries: of one that has nothing to write, and of what comes behind the last unit. */
static constexpr int64_t NOWHERE = INT64_MAX - 1, END = INT64_MAX;

/* Gives the unit of a row; a row that is cut has none, as its pieces are units. */
static __device__ __forceinline__ unit row_unit(const rows &a, int64_t row, int align)
{
  int64_t begin = index_at(a.row_ptr_type, a.row_ptr, row), length = index_at(a.row_ptr_type, a.row_ptr, row + 1) - begin;
  if (length > a.longest) return {0, NOWHERE, 0, 0, 0, 0}; /* cut, and the pieces' */
  int before = a.paper ? -1 : (int)(base_column(a, row) - 1);
  return unit_of(begin, (int)length, before, a.long_ptr ? __ldg(a.long_ptr + row) : 0, row, align);
}

/* Gives unit number i of a span. */
static __device__ __forceinline__ unit unit_at(const rows &a, const span &s, int64_t i, int align)
{
  if (i >= s.units) return {0, END, 0, 0, 0, 0};
  if (i >= s.pieces) return row_unit(a, i - s.pieces, align);
  const macko_piece &p = a.pieces[i];
  return unit_of(p.begin, p.length, p.col, p.next_long, ~(int64_t)p.partial, align);
}

/* ---- chunks ---- */

/* This is what all lanes multiply: the matrix, its values and the vectors. */
struct row_product {
  const rows &a;
  const device_values &values;
  const device_vectors &v;
};

/* Loads a lane's share of a chunk: its first entry is p, a multiple of the lane's entries, and `left` entries from there on are
 * the unit's. */
template <typename SHARE>
static __device__ __forceinline__ void load(const rows &a, const device_values &values, int64_t p, int left, SHARE *s)
{
  int size = SHARE::size(values);
  if (left > 0) s->load((const char *)values.stream + p * size, size, a.gaps + (p * a.bits >> 3), a.bits, p);
  else s->clear();
}

/* Adds a lane's products to its sums, MASKED those of its entries from .. to - 1 only. Entry e multiplies element at[e] + e of
 * x. Padding adds nothing, not even 0 times x, which may be NaN. Vectors that lie side by side are taken all at once, others one
 * after the other, whose elements take fewer registers so. */
template <int VECTOR, typename SUM, int GROUP, int MASKED, int PAPER, int STORED, int WIDTH>
static __device__ __forceinline__ void add_products(const row_product &p, const share<STORED, WIDTH> &s, int from, int to,
                                                    const uint32_t *at, SUM sum[GROUP])
{
  constexpr int E = share<STORED, WIDTH>::E, TOGETHER = is_beside<VECTOR> ? GROUP : 1;
#pragma unroll
  for (int first = 0; first < GROUP; first += TOGETHER) {
    SUM x[E][TOGETHER];
#pragma unroll
    for (int e = 0; e < E; e++)
      if (!MASKED || (e >= from && e < to)) {
        if constexpr (is_beside<VECTOR>) load_group<VECTOR, SUM, GROUP>(p.v, (int)at[e] + e, x[e]);
        else x[e][0] = (SUM)load_vector<VECTOR>(p.v.x, first * p.v.ldx + (int)at[e] + e, p.v.type);
      }
#pragma unroll
    for (int e = 0; e < E; e++)
      if ((!MASKED || (e >= from && e < to)) && !(PAPER && s.template padding<STORED>(p.a.marker, e)))
#pragma unroll
        for (int g = 0; g < TOGETHER; g++)
          sum[first + g] = add_product(s.template value<STORED, SUM>(p.values, e), x[e][g], sum[first + g]);
  }
}

/* Does the same for types known at run time. */
template <typename SUM, int GROUP, int STORED, int WIDTH>
static __device__ __forceinline__ void add_any_products(const row_product &p, const share<STORED, WIDTH> &s, int from, int to,
                                                        const uint32_t *at, SUM sum[GROUP])
{
  constexpr int E = share<STORED, WIDTH>::E;
  SUM value[E];
  bool there[E];
  with_stored<STORED>(p.values.stored_type, [&](auto type) {
#pragma unroll
    for (int e = 0; e < E; e++) {
      there[e] = e >= from && e < to && !(p.a.paper && s.template padding<type.value>(p.a.marker, e));
      value[e] = there[e] ? s.template value<type.value, SUM>(p.values, e) : 0;
    }
  });
#pragma unroll 1
  for (int g = 0; g < GROUP; g++) {
    SUM x[E];
    with_vector<MACKO_ANY>(p.v.type, [&](auto type) {
#pragma unroll
      for (int e = 0; e < E; e++)
        if (there[e]) x[e] = (SUM)load_vector<type.value>(p.v.x, g * p.v.ldx + (int)at[e] + e, p.v.type);
    });
#pragma unroll
    for (int e = 0; e < E; e++)
      if (there[e]) sum[g] = add_product(value[e], x[e], sum[g]);
  }
}

/* Finds where the entries of a chunk are in x: at[e] + e for entry e of the calling lane, the first of which is q of the unit.
 * The unit's column moves on to the next chunk. inside: all of the chunk is the unit's, and not its first. */
template <int IS_WIDE, int STORED, int WIDTH>
static __device__ __forceinline__ void place_entries(const rows &a, const share<STORED, WIDTH> &now, unit *u, int q, int inside,
                                                     int lanes, uint32_t *at)
{
  constexpr int E = share<STORED, WIDTH>::E;
  uint32_t escape = (1u << a.bits) - 1;
  row_codes<IS_WIDE, E> codes;
  codes.spread(now.codes, a.bits);
  /* The code of a row's first entry does not count in layout row. */
  if (!inside) codes.clear(u->from + !a.paper - q);
  uint32_t sum_of_codes = codes.sum(), up_to = prefix_sum(sum_of_codes, lanes);
  codes.place(u->col + (uint32_t)q + up_to - sum_of_codes, at);
  u->col += __shfl_sync(EVERY, up_to, lanes - 1, lanes);
  if (a.long_gaps && __any_sync(EVERY, codes.any_escape(escape)))
    u->col += add_long_gaps<E>(a.long_gaps, codes.escapes(escape), escape + 1, lanes, &u->next_long, at);
}

/* Multiplies the entries of a chunk, the first of which for this lane is q of the unit, and moves the unit's column on. */
template <int VECTOR, typename SUM, int GROUP, int STORED, int WIDTH>
static __device__ __forceinline__ void add_chunk(const row_product &p, const share<STORED, WIDTH> &now, unit *u, int q, int inside,
                                                 int lanes, SUM sum[GROUP])
{
  uint32_t at[share<STORED, WIDTH>::E];
  if (WIDTH == WIDE || (WIDTH == ANY_WIDTH && p.a.bits == 16)) place_entries<1>(p.a, now, u, q, inside, lanes, at);
  else place_entries<0>(p.a, now, u, q, inside, lanes, at);
  /* Layout paper stores values as they are. */
  constexpr int MAY_PAD = !WIDTH && STORED != MACKO_I8 && STORED != MACKO_U8 && STORED != MACKO_U16;
  int from = u->from - q, to = u->to - q;
  if constexpr (!is_known<STORED>) add_any_products<SUM, GROUP>(p, now, from, to, at, sum);
  else if (MAY_PAD && p.a.paper) add_products<VECTOR, SUM, GROUP, 1, 1>(p, now, from, to, at, sum);
  else if (inside) add_products<VECTOR, SUM, GROUP, 0, 0>(p, now, from, to, at, sum);
  else add_products<VECTOR, SUM, GROUP, 1, 0>(p, now, from, to, at, sum);
}

/* ---- kernels ---- */

/* Multiplies units i, i + stride ... of a group of `lanes` lanes. The groups of a warp go on to their next ones together,
 * because they shuffle with all lanes of the warp. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int WIDTH>
static __device__ __forceinline__ void walk(const row_product &p, const span &s, int64_t i, int lane, int lanes)
{
  constexpr int E = share<STORED, WIDTH>::E;
  const rows &a = p.a;
  int q0 = lane * E, size = lanes * E;
  unit u = unit_at(a, s, i, E);
  share<STORED, WIDTH> next = {};
  load(a, p.values, u.start + q0, u.to - q0, &next);
  while (__any_sync(EVERY, u.target != END)) {
    unit after = unit_at(a, s, i += s.stride, E);
    SUM sum[GROUP] = {};
    for (int first = 0, more = 1; more; first += size) {
      share<STORED, WIDTH> now = next;
      int left = u.to - first - size, inside = __all_sync(EVERY, first && left >= 0);
      more = __any_sync(EVERY, left > 0);
      load(a, p.values, (more ? u.start + first + size : after.start) + q0, (more ? left : after.to) - q0, &next);
      add_chunk<VECTOR, SUM, GROUP, STORED, WIDTH>(p, now, &u, first + q0, inside, lanes, sum);
    }
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
      sum[g] = sum_of_lanes(sum[g], lanes);
      if (lane || u.target >= NOWHERE) continue;
      if (u.target >= 0) put_y<VECTOR>(p.v, g, u.target, sum[g]);
      else a.partials[~u.target * MACKO_DEVICE_GROUP + g] = sum[g];
    }
    u = after;
  }
}

/* This is the body of kernels that multiply by rows. The first piece_blocks blocks take pieces, a warp each: they take longest, and
 * so are started first. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int WIDTH>
static __device__ __forceinline__ void take_rows(const rows &a, const device_values &values, const device_vectors &v)
{
  int for_piece = (int)blockIdx.x < a.piece_blocks, lanes = for_piece ? WARP : a.lanes;
  int block = (int)blockIdx.x - (for_piece ? 0 : a.piece_blocks);
  int blocks = for_piece ? a.piece_blocks : (int)gridDim.x - a.piece_blocks;
  span s = {(int64_t)blocks * (THREADS / lanes), for_piece ? a.npieces : 0, for_piece ? a.npieces : a.nrows};
  int64_t i = (int64_t)block * (THREADS / lanes) + threadIdx.x / lanes;
  walk<STORED, VECTOR, SUM, GROUP, WIDTH>({a, values, v}, s, i, threadIdx.x & (lanes - 1), lanes);
}

/* This is a kernel that does so. */
typedef void rows_kernel_type(rows a, device_values values, device_vectors v);

/* Starts it for a group of so many vectors, and behind it the kernel that adds up what pieces of long rows have left. */
cudaError_t macko_rows_start(rows_kernel_type *kernel, const rows &a, const device_rows *r, const device_values &values,
                             const device_vectors &v, int group, cudaStream_t stream);

/* Multiplies vectors of p in groups side by side, as far as they make some; gives how many vectors have been done. */
int64_t macko_rows_multiply_beside(const rows &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream);

/* Multiplies vectors of p on tensor cores where the matrix and they have values of 16 bits (row_tiles.cu); gives how many have been
 * done. */
int64_t macko_rows_multiply_tiles(const rows &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream);

#endif
