/* Format slide on the GPU: one warp a row, one lane the cells that lie side by side in a tile. Kernels for the widths of blocks
 * and the types that pruned networks have; slide_format.cu has one for all others. */
#ifndef MACKO_SLIDE_CUH
#define MACKO_SLIDE_CUH

#include "core/product.cuh"
#include "core/warp.cuh"
#include "slide/slide_params.h"

enum { THREADS = 128, WARPS = THREADS / WARP };

/* This is the number of blocks of threads on a multiprocessor. A warp loads a tile and then adds it, so that others must have
 * theirs on the way meanwhile; the wider a block of columns, the more registers a tile takes. N is the format's n: blocks have 2n
 * columns. */
template <int N> constexpr int resident = N <= 4 ? 8 : N == 5 ? 6 : N == 6 ? 5 : 4;

/* Codes of up to so many bits are looked up in shared memory, and those of a tile are loaded by a warp at once. */
enum { CODE_BITS = 7, CODES = 1 << CODE_BITS };

/* This is a matrix of format slide as kernels take it by value, but for its values; device pointers. */
struct slide {
  int n, bits, lanes; /* bits of a code; lanes that take a row where its cells are looked at one by one */
  int padded;         /* some slots of cells are empty */
  int coded;          /* codes have up to CODE_BITS bits and stand for patterns */
  int64_t nrows, ncols;
  int64_t blocks;     /* of every row where no column is stored, else 0 */
  int64_t first_rest; /* slot of the first value of the rest */
  const void *starts, *rest_ptr, *block_cols;
  int starts_type, rest_type, cols_type;
  const uint32_t *codes, *patterns; /* patterns NULL: codes are positions */
  const int *rest_cols;
};

/* Gives the matrix on the device as kernels take it, but for lanes. */
static inline slide slide_of(const macko_device_matrix *d)
{
  const macko_slide_counts *c = macko_slide_counts_of(&d->m.plan);
  const macko_section *starts = macko_find_section(&d->m, "starts"), *rest = macko_find_section(&d->m, "rest_ptr");
  const macko_section *blocks = macko_find_section(&d->m, "blocks");
  slide a = {};
  a.n = (int)c->n, a.bits = (int)c->bits, a.padded = c->empty > 0;
  a.nrows = d->m.nrows, a.ncols = d->m.ncols;
  a.blocks = c->every ? macko_slide_blocks(d->m.ncols, c->n) : 0;
  a.first_rest = macko_slide_slots((int)c->n, macko_slide_per(macko_type_bytes(d->m.plan.stored_type)), c->cells);
  a.starts = starts->data, a.starts_type = starts->type;
  if (rest) a.rest_ptr = rest->data, a.rest_type = rest->type, a.rest_cols = (const int *)macko_device_data(d, "rest_cols");
  if (blocks) a.block_cols = blocks->data, a.cols_type = blocks->type;
  a.codes = (const uint32_t *)macko_device_data(d, "positions"), a.patterns = (const uint32_t *)macko_device_data(d, "patterns");
  a.coded = a.patterns && a.bits <= CODE_BITS;
  return a;
}

/* Gives the number of the first cell of a row. */
static __device__ __forceinline__ int64_t start_of(const slide &a, int64_t row)
{
  return a.blocks ? row * a.blocks : index_at(a.starts_type, a.starts, row);
}

/* Gives the block that a cell is, in a row whose first cell is `first`. */
static __device__ __forceinline__ int64_t block_of(const slide &a, int64_t first, int64_t cell)
{
  if (a.blocks) return cell - first;
  if (a.cols_type == MACKO_I32) return __ldg((const int *)a.block_cols + cell);
  return __ldg((const unsigned short *)a.block_cols + cell);
}

/* Gives the value at a slot, of a stored type that the kernel knows or is told. */
template <int STORED, typename SUM> static __device__ __forceinline__ SUM any_value(const device_values &values, int64_t slot)
{
  SUM value = 0;
  with_stored<STORED>(values.stored_type, [&](auto type) { value = load_value<type.value, SUM>(values, slot); });
  return value;
}

/* Adds the entries of a row that are beside its cells to the sums of `lanes` lanes, of which each takes its share. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void add_rest(const slide &a, const device_values &values, const device_vectors &v, int64_t row,
                                                int lane, int lanes, SUM sum[GROUP])
{
  if (!a.rest_cols) return;
  const int64_t end = index_at(a.rest_type, a.rest_ptr, row + 1);
  for (int64_t i = index_at(a.rest_type, a.rest_ptr, row) + lane; i < end; i += lanes) {
    const SUM value = any_value<STORED, SUM>(values, a.first_rest + i);
    const int col = __ldg(a.rest_cols + i);
#pragma unroll
    for (int g = 0; g < GROUP; g++)
      sum[g] = add_product(value, (SUM)load_vector<VECTOR>(v.x, g * v.ldx + col, v.type), sum[g]);
  }
}

/* Gives the two 16-bit floats of a word as numbers. Those of f16 are converted together, without taking the word apart. */
template <int TYPE> static __device__ __forceinline__ float2 pair_of(uint32_t word)
{
  if constexpr (TYPE == MACKO_F16)
    return __half22float2(__halves2half2(__ushort_as_half((unsigned short)word), __ushort_as_half((unsigned short)(word >> 16))));
  else return make_float2(number_of<TYPE>(word & 0xffff), number_of<TYPE>(word >> 16));
}

/* ---- where the slots of a cell have their columns ---- */

/* This is what a code stands for. Beside the positions, which are four bits a window, there is for two windows a word of the 16
 * bits by which __byte_perm takes their two elements of x of 2 bytes out of four: with a table of these nothing need be computed.
 * Kernels leave out what they do not use. */
template <int N> struct places {
  uint32_t positions, selectors[N / 2];
};

/* Gives the places of those positions. */
template <int N> static __device__ __forceinline__ places<N> places_of(uint32_t positions)
{
  places<N> at = {positions, {}};
#pragma unroll
  for (int w = 0; w < N - 1; w++) {
    const int window = macko_slide_window(positions, w);
    at.selectors[w / 2] |= (uint32_t)(0x1010 + (window & 3) * 0x22 + (window >> 2) * 0x2200) << w % 2 * 16;
  }
  return at;
}

/* Gives the places of a code: from the table where there is one (CODED). */
template <int N, int CODED>
static __device__ __forceinline__ places<N> look_up(const slide &a, const places<N> *table, uint32_t code)
{
  if constexpr (CODED) return table[code];
  else return places_of<N>(a.patterns ? __ldg(a.patterns + code) : code);
}

/* Makes the table of all codes; all threads of the block take part. */
template <int N> static __device__ __forceinline__ void make_table(const slide &a, places<N> table[CODES])
{
  if (!a.coded) return;
  for (int code = threadIdx.x; code < 1 << a.bits; code += THREADS) table[code] = places_of<N>(__ldg(a.patterns + code));
  __syncthreads();
}

/* ---- elements of x of a block, as words ---- */

/* These are the elements of x that a block multiplies, as words in registers. */
template <int VECTOR, int N> struct block_x {
  static constexpr int BYTES = sizeof(typename element<VECTOR>::type), WORDS = 2 * N * BYTES / 4;
  uint32_t words[WORDS];

  /* Loads all 2 N of them from column col on, in loads as wide as a block is a multiple of. */
  __device__ __forceinline__ void load_vectors(const void *x, int64_t col)
  {
    const char *at = (const char *)x + col * BYTES;
    if constexpr (WORDS % 4 == 0)
#pragma unroll
      for (int i = 0; i < WORDS; i += 4) {
        const uint4 u = __ldg((const uint4 *)at + i / 4);
        words[i] = u.x, words[i + 1] = u.y, words[i + 2] = u.z, words[i + 3] = u.w;
      }
    else if constexpr (WORDS % 2 == 0)
#pragma unroll
      for (int i = 0; i < WORDS; i += 2) {
        const uint2 u = __ldg((const uint2 *)at + i / 2);
        words[i] = u.x, words[i + 1] = u.y;
      }
    else
#pragma unroll
      for (int i = 0; i < WORDS; i++) words[i] = __ldg((const unsigned *)at + i);
  }

  /* Loads those that there are, element by element, and makes the others 0: for the last block of a row, or where x is not
   * aligned. */
  __device__ __forceinline__ void load_some(const void *x, int64_t col, int64_t ncols)
  {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = 0;
#pragma unroll
    for (int i = 0; i < 2 * N; i++) {
      if (col + i >= ncols) continue;
      if constexpr (BYTES == 2) words[i / 2] |= (uint32_t)__ldg((const unsigned short *)x + col + i) << i % 2 * 16;
      else if constexpr (BYTES == 4) words[i] = __ldg((const unsigned *)x + col + i);
      else {
        const double d = __ldg((const double *)x + col + i);
        words[2 * i] = (uint32_t)__double2loint(d), words[2 * i + 1] = (uint32_t)__double2hiint(d);
      }
    }
  }

  /* Gives one of four words by two bits, without an array that is indexed, which would not stay in registers. */
  static __device__ __forceinline__ uint32_t pick(int p, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
  {
    const uint32_t low = p & 1 ? b : a, high = p & 1 ? d : c;
    return p & 2 ? high : low;
  }

  /* Sets first and second to the elements that the two slots of window w multiply. */
  template <typename SUM> __device__ __forceinline__ void slots(int w, const places<N> &at, SUM &first, SUM &second) const
  {
    const int window = macko_slide_window(at.positions, w), p = window & 3, q = window >> 2;
    if constexpr (BYTES == 2) {
      const float2 pair = pair_of<VECTOR>(__byte_perm(words[w], words[w + 1], at.selectors[w / 2] >> w % 2 * 16));
      first = (SUM)pair.x, second = (SUM)pair.y;
    } else if constexpr (BYTES == 4) {
      const uint32_t *c = words + 2 * w;
      first = (SUM)__uint_as_float(pick(p, c[0], c[1], c[2], c[3])), second = (SUM)__uint_as_float(pick(q, c[0], c[1], c[2], c[3]));
    } else {
      const uint32_t *c = words + 4 * w;
      first = (SUM)__hiloint2double((int)pick(p, c[1], c[3], c[5], c[7]), (int)pick(p, c[0], c[2], c[4], c[6]));
      second = (SUM)__hiloint2double((int)pick(q, c[1], c[3], c[5], c[7]), (int)pick(q, c[0], c[2], c[4], c[6]));
    }
  }
};

/* ---- a tile ---- */

/* Gives elements 2 i and 2 i + 1 of the 16 bytes that a lane has of a window: the two slots of its cell i. */
template <int STORED, typename SUM>
static __device__ __forceinline__ void values_in(const uint4 &u, int i, SUM &first, SUM &second)
{
  const uint32_t words[4] = {u.x, u.y, u.z, u.w};
  constexpr int BYTES = sizeof(typename element<STORED>::type);
  if constexpr (BYTES == 8) {
    first = (SUM)__hiloint2double((int)words[4 * i + 1], (int)words[4 * i]);
    second = (SUM)__hiloint2double((int)words[4 * i + 3], (int)words[4 * i + 2]);
  } else if constexpr (BYTES == 4) first = (SUM)__uint_as_float(words[2 * i]), second = (SUM)__uint_as_float(words[2 * i + 1]);
  else {
    const float2 pair = pair_of<STORED>(words[i]);
    first = (SUM)pair.x, second = (SUM)pair.y;
  }
}

/* This is what a lane loads of a tile: 16 bytes of values a window, which are PER cells, and where the matrix is coded one of the
 * words that the tile's codes lie in. */
template <int STORED, int N> struct slide_tile {
  static constexpr int PER = 8 / sizeof(typename element<STORED>::type);
  uint4 values[N - 1];
  uint32_t word;

  /* Loads the calling lane's share of a tile. The last code ends before the word of the last lane does, which may be the next
   * tile's. */
  __device__ __forceinline__ void load(const slide &a, const void *stream, int64_t tile)
  {
    const int lane = threadIdx.x % WARP;
    const uint4 *from = (const uint4 *)stream + tile * (N - 1) * WARP + lane;
#pragma unroll
    for (int w = 0; w < N - 1; w++) values[w] = __ldcs(from + w * WARP);
    word = a.coded && lane <= PER * a.bits ? __ldg(a.codes + tile * PER * a.bits + lane) : 0;
  }

  /* Gives the code of the lane's cell number j in the tile; all lanes of the warp take part. */
  template <int CODED> __device__ __forceinline__ uint32_t code(const slide &a, int64_t tile, int j) const
  {
    const int lane = threadIdx.x % WARP, at = j * a.bits + lane * a.bits / 32;
    uint32_t low, high;
    if constexpr (CODED) low = __shfl_sync(EVERY, word, at), high = __shfl_sync(EVERY, word, at + 1);
    else {
      const uint32_t *words = a.codes + tile * PER * a.bits + at;
      low = __ldg(words), high = __ldg(words + 1);
    }
    return __funnelshift_r(low, high, lane * a.bits) & ((1u << a.bits) - 1);
  }
};

/* Adds cell number j of a lane, into two sums, so that additions wait less for each other. PADDED: slots may be empty, and
 * multiply nothing then. */
template <int STORED, int VECTOR, typename SUM, int N, int PADDED>
static __device__ __forceinline__ void add_cell(const slide_tile<STORED, N> &t, int j, const places<N> &at,
                                                const block_x<VECTOR, N> &x, SUM sum[2])
{
#pragma unroll
  for (int w = 0; w < N - 1; w++) {
    const int window = macko_slide_window(at.positions, w);
    SUM first, second, v, u;
    x.slots(w, at, first, second);
    values_in<STORED, SUM>(t.values[w], j, v, u);
    if (!PADDED || macko_slide_holds(window, 0)) sum[0] = add_product(v, first, sum[0]);
    if (!PADDED || macko_slide_holds(window, 1)) sum[1] = add_product(u, second, sum[1]);
  }
}

/* Adds a tile of a matrix that is coded and has all blocks, where its cells are all of one row and its blocks have all of their
 * columns: what several cells need of x is on its way before the first of them is added, as no branch comes between. `first` is
 * the row's first cell. */
template <int STORED, int VECTOR, typename SUM, int N, int PADDED>
static __device__ __forceinline__ void add_tile(const slide &a, const slide_tile<STORED, N> &t, const places<N> *table,
                                                const void *x, int64_t first, int64_t tile, SUM sum[2])
{
  constexpr int PER = slide_tile<STORED, N>::PER, TOGETHER = block_x<VECTOR, N>::WORDS <= 6 || PER < 2 ? PER : 2;
  const int64_t block = tile * PER * WARP + threadIdx.x % WARP - first;
#pragma unroll
  for (int from = 0; from < PER; from += TOGETHER) {
    block_x<VECTOR, N> blocks[TOGETHER];
    places<N> at[TOGETHER];
#pragma unroll
    for (int j = 0; j < TOGETHER; j++) {
      blocks[j].load_vectors(x, (block + (from + j) * WARP) * (2 * N));
      at[j] = look_up<N, 1>(a, table, t.template code<1>(a, tile, from + j));
    }
#pragma unroll
    for (int j = 0; j < TOGETHER; j++) add_cell<STORED, VECTOR, SUM, N, PADDED>(t, from + j, at[j], blocks[j], sum);
  }
}

/* These are the cells of a row: those from first to before end. What else goes with them stays out, because with x in here the
 * compiler takes seven registers more, and spills. */
struct slide_row {
  int64_t first, end;
};

/* Adds any tile, of whose cells some may be other rows'. */
template <int STORED, int VECTOR, typename SUM, int N, int PADDED, int CODED>
static __device__ __forceinline__ void add_some(const slide &a, const slide_tile<STORED, N> &t, const places<N> *table,
                                                const void *x, int aligned, const slide_row &r, int64_t tile, SUM sum[2])
{
  constexpr int PER = slide_tile<STORED, N>::PER;
#pragma unroll
  for (int j = 0; j < PER; j++) {
    const int64_t cell = (tile * PER + j) * WARP + threadIdx.x % WARP;
    const uint32_t code = t.template code<CODED>(a, tile, j);
    if (cell < r.first || cell >= r.end) continue;
    const int64_t col = block_of(a, r.first, cell) * (2 * N);
    block_x<VECTOR, N> block;
    if (aligned && col + 2 * N <= a.ncols) block.load_vectors(x, col);
    else block.load_some(x, col, a.ncols);
    add_cell<STORED, VECTOR, SUM, N, PADDED>(t, j, look_up<N, CODED>(a, table, code), block, sum);
  }
}

/* Multiplies one vector by rows, a warp each. aligned: x begins at a multiple of 16 bytes. */
template <int STORED, int VECTOR, typename SUM, int N, int PADDED>
static __global__ void __launch_bounds__(THREADS, resident<N>)
    tile_kernel(slide a, device_values values, device_vectors v, int aligned)
{
  typedef slide_tile<STORED, N> tile_data;
  constexpr int TILE = WARP * tile_data::PER;
  __shared__ places<N> table[CODES];
  const int lane = threadIdx.x % WARP, whole = aligned && a.ncols % (2 * N) == 0 && a.blocks && a.coded;
  make_table<N>(a, table);
  for (int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP; row < a.nrows; row += (int64_t)gridDim.x * WARPS) {
    const int64_t first = start_of(a, row), end = start_of(a, row + 1);
    const int64_t last = first < end ? (end + TILE - 1) / TILE : 0;
    SUM sum[2] = {0, 0};
    for (int64_t tile = first / TILE; tile < last; tile++) {
      tile_data t;
      t.load(a, values.stream, tile);
      if (whole && tile * TILE >= first && (tile + 1) * TILE <= end)
        add_tile<STORED, VECTOR, SUM, N, PADDED>(a, t, table, v.x, first, tile, sum);
      else if (a.coded) add_some<STORED, VECTOR, SUM, N, PADDED, 1>(a, t, table, v.x, aligned, {first, end}, tile, sum);
      else add_some<STORED, VECTOR, SUM, N, PADDED, 0>(a, t, table, v.x, aligned, {first, end}, tile, sum);
    }
    sum[0] += sum[1];
    add_rest<STORED, VECTOR, SUM, 1>(a, values, v, row, lane, WARP, sum);
    const SUM all = sum_of_lanes(sum[0], WARP);
    if (lane == 0) put_y<VECTOR>(v, 0, row, all);
  }
}

/* Says whether a combination of types has kernels for each width of blocks: some that pruned networks have do, for one vector. */
template <int STORED, int VECTOR, int GROUP> constexpr bool has_tiles()
{
  if (GROUP != 1) return false;
  return (STORED == MACKO_F64 && VECTOR == MACKO_F64) || (STORED == MACKO_F32 && VECTOR == MACKO_F32) ||
         (STORED == MACKO_F16 && VECTOR == MACKO_F32) || (STORED == MACKO_F16 && VECTOR == MACKO_F16);
}

/* Starts the kernel for the width of blocks that a has. It is instantiated in slide_tiles.cu for the types above. */
template <int STORED, int VECTOR, typename SUM>
cudaError_t macko_slide_run_tiles(const slide &a, const device_values &values, const device_vectors &v, cudaStream_t stream);

#endif
