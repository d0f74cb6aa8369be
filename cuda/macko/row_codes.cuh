/* Layouts row and paper, a lane's share of a chunk: a few consecutive entries, loaded wide, and where each is in x. */
#ifndef MACKO_ROW_CODES_CUH
#define MACKO_ROW_CODES_CUH

#include "core/warp.cuh"
#include "macko/columns.cuh"
#include "macko/layout_bits.h"

struct rows {
  const void *row_ptr, *base;
  const int32_t *block_base;
  const uint8_t *gaps;
  const uint32_t *long_ptr, *long_gaps;
  const macko_piece *pieces;
  double *partials; /* work space: MACKO_DEVICE_GROUP a piece */
  int64_t nrows, ncols, nnz, npieces, longest, bias, marker;
  int row_ptr_type, base_mode, base_bytes, bits, paper, lanes, piece_blocks;
};

/* y = alpha A x + beta y for layout row, one vector, sums in f32, of a matrix that has units (row_shared_x.cu). */
cudaError_t macko_shared_x_start(const rows &a, const device_row_units &row_units, int multiprocessors, const device_values &values,
                                  const device_vectors &v, cudaStream_t stream);

/* Warps of a block of that kernel; 0 where it does not take the matrix. */
int macko_shared_x_warps(const macko_plan *plan, macko_type value_type, int64_t ncols, int64_t shared_bytes);

/* Makes *row_units, without units where that kernel does not take the matrix (row_shared_x_units.cu). Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_row_units_prepare(const rows &a, const macko_plan *plan, macko_type value_type, int multiprocessors, int shared_bytes,
                                device_row_units *row_units, cudaStream_t stream, macko_error *err);

/* Where in so much space, row_units->zeroed + row_units->partial_bytes, what is. */
void macko_row_units_give_space(device_row_units *row_units, void *space);

/* Layout row: the column of a row's first entry. */
static __device__ __forceinline__ int64_t base_column(const rows &a, int64_t row)
{
  int64_t reference = a.base_mode == MACKO_BASE_DIAGONAL ? row
                      : a.base_mode == MACKO_BASE_BLOCK  ? __ldg(a.block_base + row / MACKO_BASE_ROWS) : 0;
  return reference + a.bias + macko_unsigned_at(a.base, a.base_bytes, row);
}

template <int STORED> constexpr int lane_entries() { return STORED == MACKO_F64 || STORED == MACKO_ANY ? 4 : 8; }

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

/* Codes of 16 bits are WIDE; how many bits others have is known when the kernel runs, and of ANY_WIDTH whether they are. */
enum { NOT_WIDE, WIDE, ANY_WIDTH };

/* As loaded. */
template <int STORED, int WIDTH> struct share {
  static constexpr int E = lane_entries<STORED>(), SIZE = sizeof(typename element<STORED>::type);
  static constexpr int CODE_WORDS = WIDTH ? E / 2 : E / 4, VALUE_WORDS = is_known<STORED> ? E * SIZE / 4 : 8;
  uint32_t codes[CODE_WORDS], values[VALUE_WORDS];

  /* Bytes of an entry's value. */
  static __device__ __forceinline__ int size(const device_values &v)
  {
    if constexpr (is_known<STORED>) return SIZE;
    else return bytes_of_type(v.stored_type);
  }

  /* of entry p, a multiple of E, are at value and code. */
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

  __device__ __forceinline__ void load_any(const char *from, int size)
  {
    if (STORED == MACKO_ANY && size == 8) load_words<8>(from, values);
    else if (size == 4) load_words<E>(from, values);
    else if (size == 2) load_words<E / 2>(from, values);
    else load_words<E / 4>(from, values);
  }

  __device__ __forceinline__ void clear()
  {
#pragma unroll
    for (int i = 0; i < CODE_WORDS; i++) codes[i] = 0;
  }

  /* Of an element that is not f64. */
  template <int TYPE> __device__ __forceinline__ uint32_t bits(int e) const
  {
    constexpr int BYTES = sizeof(typename element<TYPE>::type);
    return values[e * BYTES / 4] >> (e * BYTES % 4 * 8) & (0xffffffffu >> (32 - 8 * BYTES));
  }

  /* TYPE: STORED, or what that turned out to be. */
  template <int TYPE, typename SUM> __device__ __forceinline__ SUM value(const device_values &v, int e) const
  {
    if constexpr (TYPE == MACKO_F64) return (SUM)__hiloint2double((int)values[2 * e + 1], (int)values[2 * e]);
    else return value_of<TYPE, SUM>(bits<TYPE>(e), (const SUM *)v.table);
  }

  /* Padding of layout paper carries a bit pattern that no entry has. */
  template <int TYPE> __device__ __forceinline__ int padding(int64_t marker, int e) const
  {
    if constexpr (TYPE == MACKO_F64) return values[2 * e] == (uint32_t)marker && values[2 * e + 1] == (uint32_t)(marker >> 32);
    else return bits<TYPE>(e) == (uint32_t)marker;
  }
};

/* Codes of E entries in their order, one in each byte (IS_WIDE: in each half) of a few words: a dot product with ones adds up four
 * (two) of them in one instruction. */
template <int IS_WIDE, int E> struct row_codes {
  static constexpr int SLOT = IS_WIDE ? 16 : 8, PER = 32 / SLOT, WORDS = E / PER;
  static constexpr uint32_t EACH = IS_WIDE ? 0x00010001u : 0x01010101u;
  uint32_t words[WORDS];

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

  /* The first n codes do not count; n may be below 0 and above E. */
  __device__ __forceinline__ void clear(int n)
  {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] &= (uint32_t)(0xffffffffull << SLOT * min(max(n - i * PER, 0), PER));
  }

  /* start + the first n codes of word i. */
  static __device__ __forceinline__ uint32_t add(uint32_t word, int n, uint32_t start)
  {
    if constexpr (IS_WIDE) return __dp2a_lo(word, n == 2 ? 0x0101u : 0x0001u, start);
    else return __dp4a(word, 0x01010101u >> 8 * (4 - n), start);
  }

  __device__ __forceinline__ uint32_t sum() const
  {
    uint32_t n = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) n = add(words[i], PER, n);
    return n;
  }

  /* at[e] = start + codes 0 .. e. */
  __device__ __forceinline__ void place(uint32_t start, uint32_t at[E]) const
  {
#pragma unroll
    for (int e = 0; e < E; e++) at[e] = add(words[e / PER], e % PER + 1, e < PER ? start : at[e / PER * PER - 1]);
  }

  /* The highest bit of each code that is an escape, all of its bits set. */
  __device__ __forceinline__ uint32_t marks(int i, uint32_t escape) const
  {
    uint32_t w = words[i] ^ escape * EACH, low = EACH * (IS_WIDE ? 0x7fffu : 0x7fu);
    return ~((w & low) + low | w | low);
  }

  __device__ __forceinline__ uint32_t any_escape(uint32_t escape) const
  {
    uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) found |= marks(i, escape);
    return found;
  }

  /* Bit e: code e is an escape. */
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

/* Sum over the lanes of a group up to this one. The shuffle's own predicate says whether there is a lane d before: two
 * instructions a step instead of three. */
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

/* Where escapes are among the codes, moves the entries from them on by what their long gaps are beyond an escape's. Answers how
 * far the whole chunk moves. All lanes of the warp take part. */
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
