/* Layouts row and paper, a lane's share of a chunk: a few consecutive entries, loaded wide, and where each is in x. */
#ifndef MACKO_ROW_CODES_CUH
#define MACKO_ROW_CODES_CUH

#include "core/warp.cuh"
#include "macko/columns.cuh"
#include "macko/layout_bits.h"

/* This is a matrix of layout row or paper as kernels take it by value; device pointers. */
struct rows {
  const void *row_ptr, *base;
  const int32_t *block_base;
  const uint8_t *gaps;
  const uint32_t *long_ptr, *long_gaps;
  const macko_piece *pieces;
  double *partials; /* work space: MACKO_DEVICE_GROUP a piece */
  int64_t nrows, ncols, nnz, npieces, longest, bias, marker;
  int row_ptr_type, base_mode, base_bytes, bits, paper, lanes, piece_blocks; /* bits of a code; blocks that take pieces */
};

/* Starts y = alpha A x + beta y for layout row, one vector and sums in f32, of a matrix that has units (row_shared_x.cu). */
cudaError_t macko_shared_x_start(const rows &a, const device_row_units &row_units, int multiprocessors, const device_values &values,
                                  const device_vectors &v, cudaStream_t stream);

/* Gives the number of warps of a block of that kernel, whose block fills a multiprocessor; 0 where it does not take the matrix.
 * shared_bytes is what a block may have on the GPU. */
int macko_shared_x_warps(const macko_plan *plan, macko_type value_type, int64_t ncols, int64_t shared_bytes);

/* Makes *row_units, without units where that kernel does not take the matrix (row_shared_x_units.cu). row_units->memory is
 * freed with cudaFree. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_row_units_prepare(const rows &a, const macko_plan *plan, macko_type value_type, int multiprocessors,
                                     int shared_bytes, device_row_units *row_units, cudaStream_t stream, macko_error *err);

/* Sets the pointers of *row_units into the work space of a product: row_units->zeroed bytes, then row_units->partial_bytes. */
void macko_row_units_give_space(device_row_units *row_units, void *space);

/* Gives the column of a row's first entry in layout row. */
static __device__ __forceinline__ int64_t base_column(const rows &a, int64_t row)
{
  int64_t reference = a.base_mode == MACKO_BASE_DIAGONAL ? row
                      : a.base_mode == MACKO_BASE_BLOCK  ? __ldg(a.block_base + row / MACKO_BASE_ROWS) : 0;
  return reference + a.bias + macko_unsigned_at(a.base, a.base_bytes, row);
}

/* Gives the number of entries that a lane takes at once, as macko_lane_entries. */
template <int STORED> constexpr int lane_entries() { return STORED == MACKO_F64 || STORED == MACKO_ANY ? 4 : 8; }

/* Loads words that follow each other, 16, 8 or 4 bytes at a time, with the hint that they are read once. */
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

/* This says how wide codes are: WIDE are those of 16 bits. How many bits narrower ones have a kernel learns when it runs, and
 * under ANY_WIDTH also whether they are narrower. */
enum { NOT_WIDE, WIDE, ANY_WIDTH };

/* This is a lane's share of a chunk as it is loaded: codes and values of E consecutive entries. */
template <int STORED, int WIDTH> struct share {
  static constexpr int E = lane_entries<STORED>(), SIZE = sizeof(typename element<STORED>::type);
  static constexpr int CODE_WORDS = WIDTH ? E / 2 : E / 4, VALUE_WORDS = is_known<STORED> ? E * SIZE / 4 : 8;
  uint32_t codes[CODE_WORDS], values[VALUE_WORDS];

  /* Gives the number of bytes of an entry's value. */
  static __device__ __forceinline__ int size(const device_values &v)
  {
    if constexpr (is_known<STORED>) return SIZE;
    else return bytes_of_type(v.stored_type);
  }

  /* Loads the share that begins with entry p, a multiple of E: its values are at value, of `size` bytes each, its codes at
   * code. */
  __device__ __forceinline__ void load(const char *value, int size, const uint8_t *code, int bits, int64_t p)
  {
    if constexpr (is_known<STORED>) load_words<VALUE_WORDS>(value, values);
    else load_any(value, size);
    if (WIDTH == WIDE || (WIDTH == ANY_WIDTH && bits == 16)) load_words<CODE_WORDS>(code, codes);
    else if (bits == 8) load_words<E / 4>(code, codes);
    else if (E * bits == 32) codes[0] = __ldcs((const uint32_t *)code);
    else if (E * bits == 16) codes[0] = __ldcs((const unsigned short *)code);
    else if (E * bits == 8) codes[0] = __ldcs(code);
    else codes[0] = __ldcs(code) >> p % 8;
  }

  /* Loads values whose size is known at run time only. */
  __device__ __forceinline__ void load_any(const char *from, int size)
  {
    if (STORED == MACKO_ANY && size == 8) load_words<8>(from, values);
    else if (size == 4) load_words<E>(from, values);
    else if (size == 2) load_words<E / 2>(from, values);
    else load_words<E / 4>(from, values);
  }

  /* Makes the share one without entries: their codes must not move columns, and values are not looked at. */
  __device__ __forceinline__ void clear()
  {
#pragma unroll
    for (int i = 0; i < CODE_WORDS; i++) codes[i] = 0;
  }

  /* Gives the bits of entry e's element, of a type that is not f64. */
  template <int TYPE> __device__ __forceinline__ uint32_t bits(int e) const
  {
    constexpr int BYTES = sizeof(typename element<TYPE>::type);
    return values[e * BYTES / 4] >> (e * BYTES % 4 * 8) & (0xffffffffu >> (32 - 8 * BYTES));
  }

  /* Gives the value of entry e. TYPE is STORED, or what that turned out to be at run time. */
  template <int TYPE, typename SUM> __device__ __forceinline__ SUM value(const device_values &v, int e) const
  {
    if constexpr (TYPE == MACKO_F64) return (SUM)__hiloint2double((int)values[2 * e + 1], (int)values[2 * e]);
    else return value_of<TYPE, SUM>(bits<TYPE>(e), (const SUM *)v.table);
  }

  /* Says whether entry e is padding of layout paper, which carries a bit pattern that no entry has. */
  template <int TYPE> __device__ __forceinline__ int padding(int64_t marker, int e) const
  {
    if constexpr (TYPE == MACKO_F64) return values[2 * e] == (uint32_t)marker && values[2 * e + 1] == (uint32_t)(marker >> 32);
    else return bits<TYPE>(e) == (uint32_t)marker;
  }
};

/* These are the codes of E entries in their order, one in each byte (IS_WIDE: in each half) of a few words, so that a dot
 * product with ones adds up four (two) of them in one instruction. */
template <int IS_WIDE, int E> struct row_codes {
  static constexpr int SLOT = IS_WIDE ? 16 : 8, PER = 32 / SLOT, WORDS = E / PER;
  static constexpr uint32_t EACH = IS_WIDE ? 0x00010001u : 0x01010101u;
  uint32_t words[WORDS];

  /* Spreads codes of so many bits, as they are loaded, over the bytes or halves. */
  __device__ __forceinline__ void spread(const uint32_t *loaded, int bits)
  {
    uint32_t w = loaded[0];
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      if (IS_WIDE || bits == 8) words[i] = loaded[i];
      else if (bits == 4) words[i] = __byte_perm(w & 0x0f0f0f0f, w >> 4 & 0x0f0f0f0f, i ? 0x7362 : 0x5140);
      else if (bits == 2) {
        uint32_t t = w >> 8 * i & 0xff;
        t = (t | t << 12) & 0x000f000f, words[i] = (t | t << 6) & 0x03030303;
      } else {
        uint32_t t = w >> 4 * i & 0xf;
        t = (t | t << 14) & 0x00030003, words[i] = (t | t << 7) & 0x01010101;
      }
    }
  }

  /* Makes the first n codes 0, so that they do not count; n may be below 0 and above E. */
  __device__ __forceinline__ void clear(int n)
  {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] &= (uint32_t)(0xffffffffull << SLOT * min(max(n - i * PER, 0), PER));
  }

  /* Adds the first n codes of a word to start. */
  static __device__ __forceinline__ uint32_t add(uint32_t word, int n, uint32_t start)
  {
    if constexpr (IS_WIDE) return __dp2a_lo(word, n == 2 ? 0x0101u : 0x0001u, start);
    else return __dp4a(word, 0x01010101u >> 8 * (4 - n), start);
  }

  /* Gives the sum of all codes. */
  __device__ __forceinline__ uint32_t sum() const
  {
    uint32_t n = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) n = add(words[i], PER, n);
    return n;
  }

  /* Sets at[e] to start plus codes 0 .. e. */
  __device__ __forceinline__ void place(uint32_t start, uint32_t at[E]) const
  {
#pragma unroll
    for (int e = 0; e < E; e++) at[e] = add(words[e / PER], e % PER + 1, e < PER ? start : at[e / PER * PER - 1]);
  }

  /* Sets the highest bit of each code of word i that is the escape, all of whose bits are set. */
  __device__ __forceinline__ uint32_t marks(int i, uint32_t escape) const
  {
    uint32_t w = words[i] ^ escape * EACH, low = EACH * (IS_WIDE ? 0x7fffu : 0x7fu);
    return ~((w & low) + low | w | low);
  }

  /* Says whether any code is the escape; only that, as most chunks have none. */
  __device__ __forceinline__ uint32_t any_escape(uint32_t escape) const
  {
    uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) found |= marks(i, escape);
    return found;
  }

  /* Gives a mask of the entries whose code is the escape: bit e for entry e. */
  __device__ __forceinline__ uint32_t escapes(uint32_t escape) const
  {
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      uint32_t w = marks(i, escape) >> (SLOT - 1);
      mask |= (IS_WIDE ? (w | w >> 15) & 3 : w * 0x01020408u >> 24 & 15) << i * PER;
    }
    return mask;
  }
};

/* Gives the sum of n over the lanes of a group up to and including this one. The shuffle's own predicate says whether there is
 * a lane that far before: two instructions a step instead of three. */
static __device__ __forceinline__ uint32_t prefix_sum(uint32_t n, int lanes)
{
#pragma unroll
  for (int d = 1; d < WARP; d *= 2)
    if (d < lanes)
      asm volatile("{ .reg .pred there; .reg .u32 before; shfl.sync.up.b32 before|there, %0, %1, %2, 0xffffffff;"
                   " @there add.u32 %0, %0, before; }"
                   : "+r"(n)
                   : "r"(d), "r"((WARP - lanes) << 8));
  return n;
}

/* Moves a lane's entries from each escape among its codes on by what the long gap is beyond an escape's gap, and all later
 * lanes' entries likewise. *next_long goes on behind the chunk's long gaps. Answers how far the whole chunk moves. All lanes of
 * the warp take part. */
template <int E>
static __device__ __forceinline__ uint32_t add_long_gaps(const uint32_t *long_gaps, uint32_t escapes, uint32_t escape_gap,
                                                         int lanes, uint32_t *next_long, uint32_t at[E])
{
  uint32_t count = __popc(escapes), up_to = prefix_sum(count, lanes), moved = 0;
  const uint32_t *gap = long_gaps + *next_long + (up_to - count);
  for (uint32_t left = escapes; left; left &= left - 1) {
    uint32_t further = __ldg(gap++) - escape_gap;
    moved += further;
#pragma unroll
    for (int e = 0; e < E; e++)
      if (left & (2u << e) - 1) at[e] += further;
  }
  uint32_t moved_up_to = prefix_sum(moved, lanes);
#pragma unroll
  for (int e = 0; e < E; e++) at[e] += moved_up_to - moved;
  *next_long += __shfl_sync(EVERY, up_to, lanes - 1, lanes);
  return __shfl_sync(EVERY, moved_up_to, lanes - 1, lanes);
}

#endif
