/* Layouts row and paper, a lane's share of a chunk: a few consecutive entries, loaded wide, and where each is in x. */
#ifndef MACKO_ROW_SHARE_CUH
#define MACKO_ROW_SHARE_CUH

#include "product.cuh"

enum { WARP = 32 };
static const unsigned EVERY = 0xffffffffu;

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

/* As loaded. */
template <int STORED, int BITS> struct share {
  static constexpr int E = lane_entries<STORED>(), SIZE = sizeof(typename element<STORED>::type);
  static constexpr int CODE_BITS = E * BITS, CODE_WORDS = CODE_BITS < 32 ? 1 : CODE_BITS / 32;
  static constexpr int VALUE_WORDS = STORED == MACKO_ANY ? 1 : E * SIZE / 4;
  uint32_t codes[CODE_WORDS], values[VALUE_WORDS];

  /* of entry p, a multiple of E, are at value and code. */
  __device__ __forceinline__ void load(const char *value, const uint8_t *code, int64_t p)
  {
    if constexpr (STORED != MACKO_ANY) load_words<VALUE_WORDS>(value, values);
    if constexpr (CODE_BITS >= 32) load_words<CODE_WORDS>(code, codes);
    else if constexpr (CODE_BITS == 16) codes[0] = __ldcs((const unsigned short *)code);
    else if constexpr (CODE_BITS == 8) codes[0] = __ldcs((const unsigned char *)code);
    else codes[0] = __ldcs((const unsigned char *)code) >> p % 8;
  }

  __device__ __forceinline__ void clear()
  {
#pragma unroll
    for (int i = 0; i < CODE_WORDS; i++) codes[i] = 0;
  }

  /* Whether a code may be an escape: subtracting one from each of its complements borrows where one is 0. */
  __device__ __forceinline__ uint32_t may_escape() const
  {
    constexpr uint32_t ONES = 0xffffffffu / ((1u << BITS) - 1);
    uint32_t found = 0;
#pragma unroll
    for (int i = 0; i < CODE_WORDS; i++) found |= (~codes[i] - ONES) & codes[i] & ONES << (BITS - 1);
    return found;
  }

  __device__ __forceinline__ uint32_t bits(int e) const
  {
    return values[e * SIZE / 4] >> (e * SIZE % 4 * 8) & (0xffffffffu >> (32 - 8 * SIZE));
  }

  template <typename SUM> __device__ __forceinline__ SUM value(const device_values &v, int64_t p, int e) const
  {
    if constexpr (STORED == MACKO_ANY) return load_value<STORED, SUM>(v, p + e);
    else if constexpr (STORED == MACKO_F64) return (SUM)__hiloint2double((int)values[2 * e + 1], (int)values[2 * e]);
    else return value_of<STORED, SUM>(bits(e), (const SUM *)v.table);
  }

  /* Padding of layout paper carries a bit pattern that no entry has. */
  __device__ __forceinline__ int padding(int64_t marker, const device_values &v, int64_t p, int e) const
  {
    if constexpr (STORED == MACKO_F64) return values[2 * e] == (uint32_t)marker && values[2 * e + 1] == (uint32_t)(marker >> 32);
    else if constexpr (STORED != MACKO_ANY) return bits(e) == (uint32_t)marker;
    else if (v.stored_type == MACKO_F64) return ((const int64_t *)v.stream)[p + e] == marker;
    else if (v.stored_type == MACKO_F32) return ((const uint32_t *)v.stream)[p + e] == (uint32_t)marker;
    else return ((const uint16_t *)v.stream)[p + e] == (uint16_t)marker;
  }
};

/* Codes of E entries in their order, one in each byte (16 bits: in each half) of a few words: a dot product with ones adds up
 * four (two) of them in one instruction. */
template <int BITS, int E> struct row_codes {
  static constexpr int SLOT = BITS == 16 ? 16 : 8, PER = 32 / SLOT, WORDS = E / PER;
  static constexpr uint32_t EACH = BITS == 16 ? 0x00010001u : 0x01010101u;
  uint32_t words[WORDS];

  __device__ __forceinline__ void spread(const uint32_t *loaded)
  {
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      uint32_t w = loaded[BITS < 8 ? 0 : i];
      if constexpr (BITS == 4) w = __byte_perm(w & 0x0f0f0f0f, w >> 4 & 0x0f0f0f0f, i ? 0x7362 : 0x5140);
      else if constexpr (BITS == 2) w = w >> 8 * i & 0xff, w = (w | w << 12) & 0x000f000f, w = (w | w << 6) & 0x03030303;
      else if constexpr (BITS == 1) w = w >> 4 * i & 0xf, w = (w | w << 14) & 0x00030003, w = (w | w << 7) & 0x01010101;
      words[i] = w;
    }
  }

  /* The first n codes do not count; n may be below 0 and above E. */
  __device__ __forceinline__ void clear(int n)
  {
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] &= (uint32_t)(0xffffffffull << SLOT * min(max(n - i * PER, 0), PER));
  }

  /* start + the first n codes of word i, each taken `scale` times. */
  static __device__ __forceinline__ uint32_t add(uint32_t word, int n, uint32_t scale, uint32_t start)
  {
    if constexpr (BITS == 16) return __dp2a_lo(word, (n == 2 ? 0x0101u : 0x0001u) * scale, start);
    else return __dp4a(word, (0x01010101u >> 8 * (4 - n)) * scale, start);
  }

  __device__ __forceinline__ uint32_t sum() const
  {
    uint32_t n = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) n = add(words[i], PER, 1, n);
    return n;
  }

  /* at[e] = start + codes 0 .. e, times scale. */
  __device__ __forceinline__ void place(uint32_t start, uint32_t scale, uint32_t at[E]) const
  {
#pragma unroll
    for (int e = 0; e < E; e++) at[e] = add(words[e / PER], e % PER + 1, scale, e < PER ? start : at[e / PER * PER - 1]);
  }

  /* Bit e: code e is an escape, all of its bits set. */
  __device__ __forceinline__ uint32_t escapes() const
  {
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
      uint32_t w = words[i];
      if constexpr (BITS < 8) w = (w + EACH) >> BITS & EACH;
      else w = (w & ((w & ~(EACH << (SLOT - 1))) + EACH)) >> (SLOT - 1) & EACH;
      mask |= (BITS == 16 ? (w | w >> 15) & 3 : w * 0x01020408u >> 24 & 15) << i * PER;
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
template <int BITS, int E>
static __device__ __forceinline__ uint32_t add_long_gaps(const uint32_t *long_gaps, uint32_t escapes, uint32_t scale,
                                                         int lanes, uint32_t *next_long, uint32_t at[E])
{
  uint32_t count = __popc(escapes), up_to = prefix_sum(count, lanes), moved = 0;
  const uint32_t *gap = long_gaps + *next_long + (up_to - count);
  for (uint32_t left = escapes; left; left &= left - 1) {
    uint32_t further = __ldg(gap++) - (1u << BITS);
    moved += further;
#pragma unroll
    for (int e = 0; e < E; e++)
      if (left & (2u << e) - 1) at[e] += further * scale;
  }
  uint32_t moved_up_to = prefix_sum(moved, lanes);
#pragma unroll
  for (int e = 0; e < E; e++) at[e] += (moved_up_to - moved) * scale;
  *next_long += __shfl_sync(EVERY, up_to, lanes - 1, lanes);
  return __shfl_sync(EVERY, moved_up_to, lanes - 1, lanes);
}

#endif
