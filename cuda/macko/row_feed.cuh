/* Layout row, the entries of a row put where they are among zeros, tile by tile (row_tiles.cu). Chunks of the row come through
 * shared memory, a few ahead of the one that is being put: a lane copies and reads its own bytes, so that it need not wait for
 * others. */
#ifndef MACKO_ROW_FEED_CUH
#define MACKO_ROW_FEED_CUH

#include "macko/row_walk.cuh"

/* Starts copying so many bytes, 4, 8 or 16, to shared memory. Copies are waited for by groups. */
template <int BYTES> static __device__ __forceinline__ void start_copy(uint32_t to, const void *from)
{
  if constexpr (BYTES == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from) : "memory");
  else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(to), "l"(from), "n"(BYTES) : "memory");
}

/* Starts copying 16 bytes, the first few from there, the others zero. */
static __device__ __forceinline__ void start_copy_of(uint32_t to, const void *from, int bytes)
{
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(to), "l"(from), "r"(bytes) : "memory");
}

/* Ends a group of copies. */
static __device__ __forceinline__ void end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }

/* Waits for all groups of the calling thread but the last few. */
template <int BUT> static __device__ __forceinline__ void wait_groups()
{
  asm volatile("cp.async.wait_group %0;" :: "n"(BUT) : "memory");
}

/* So many chunks of a row are in shared memory or on their way. */
enum { AHEAD = 3 };

/* Twice the sum of the first bytes of a word is its dot product with one of these. They are an argument of the kernel, because the
 * compiler would load constants anew for each chunk and tile. */
struct step_masks {
  uint32_t up_to[4];
};

/* This is where a warp is in its row: a chunk that may not be all in a tile yet, and the next ones on their way. A lane has eight
 * consecutive entries of a chunk. Codes have BITS bits, 4 or 8. Columns are counted in bytes of a row of 16-bit numbers. */
template <int BITS> struct row_feed {
  static constexpr int E = 8, SIZE = 2, CHUNK_ENTRIES = WARP * E, CODE_WORDS = BITS / 4;
  static constexpr int VALUE_BYTES = CHUNK_ENTRIES * SIZE, STAGE = VALUE_BYTES + CHUNK_ENTRIES * BITS / 8;
  static constexpr uint32_t ESCAPE_GAP = 1u << BITS, ONES = 0x01010101u;
  uint32_t next;           /* the lane's first entry of the next chunk to ask for */
  int from, left;          /* of the next chunk to take: its first entry of the row, and where the row ends */
  uint32_t col, next_long; /* column before it, were it all the row's; number of its first long gap */
  uint32_t gaps;           /* the long gap of the lane's number among the next ones */
  uint32_t stage;          /* where the next chunk is in shared memory */
  uint32_t values[E * SIZE / 4];
  row_codes<0, E> steps;   /* from each entry to the next one, of 8 bits; codes where `far` is not -1 */
  int start;               /* column before the lane's first entry, in bytes */
  int far;                 /* number of the chunk's first long gap, where a step does not have room for one; else -1 */

  /* Asks for one more chunk, to put it at `to`. */
  __device__ __forceinline__ void ask(const rows &a, const device_values &v, uint32_t to, int lane, int there)
  {
    if (there) {
      start_copy<E * SIZE>(to + lane * E * SIZE, (const uint4 *)v.stream + next / E);
      start_copy<E * BITS / 8>(to + VALUE_BYTES + lane * E * BITS / 8, (const uint32_t *)a.gaps + next / E * CODE_WORDS);
    }
    next += CHUNK_ENTRIES;
    end_group();
  }

  /* Loads the next long gaps. */
  __device__ __forceinline__ void load_gaps(const rows &a, int lane)
  {
    if (BITS == 4) gaps = __ldg((a.long_gaps ? a.long_gaps + next_long : (const uint32_t *)a.gaps) + lane);
  }

  /* Begins with a row. */
  __device__ __forceinline__ void open(const rows &a, const device_values &v, int64_t row, uint32_t ring, int lane)
  {
    const int64_t begin = index_at(a.row_ptr_type, a.row_ptr, row), length = index_at(a.row_ptr_type, a.row_ptr, row + 1) - begin;
    from = (int)(begin % E), left = from + (int)length;
    next = (uint32_t)(begin - from) + lane * E, stage = ring;
    for (int i = 0; i < AHEAD - 1; i++) ask(a, v, ring + i * STAGE, lane, left > i * CHUNK_ENTRIES);
    col = (uint32_t)(base_column(a, row) - from - 1), next_long = a.long_ptr ? __ldg(a.long_ptr + row) : 0;
    gaps = 0, start = -(1 << 30), far = -1;
    for (int i = 0; i < E * SIZE / 4; i++) values[i] = 0;
    for (int i = 0; i < E / 4; i++) steps.words[i] = 0;
    load_gaps(a, lane);
  }

  /* Adds long gaps to codes of 4 bits, which a byte each has room for, and goes on to the next long gap. Answers 0, and does
   * nothing, where one is too long or they are many. */
  __device__ __forceinline__ int lengthen(int lane)
  {
    uint32_t low = steps.words[0] + ONES & 0x10 * ONES, high = steps.words[1] + ONES & 0x10 * ONES;
    const int count = __popc(low) + __popc(high);
    const uint32_t ones = __ballot_sync(EVERY, count & 1), twos = __ballot_sync(EVERY, count & 2), before = (1u << lane) - 1;
    const int all = __popc(ones) + 2 * __popc(twos);
    if (__any_sync(EVERY, count > 3 || gaps > 255) || all > WARP) return 0;
    int i = __popc(ones & before) + 2 * __popc(twos & before);
    while (__any_sync(EVERY, low | high)) {
      const uint32_t more = __shfl_sync(EVERY, gaps, i) - ESCAPE_GAP, first = low & -low, second = low ? 0 : high & -high;
      steps.words[0] += more * (first >> 4), steps.words[1] += more * (second >> 4);
      low ^= first, high ^= second, i++;
    }
    next_long += all;
    return 1;
  }

  /* Makes what a chunk has of other rows zero, values and codes, and the code of the row's first entry: behind the last row there
   * may be anything. What is left of them is zeros in the columns beside the row. */
  __device__ __forceinline__ void clear_others(int low, int high)
  {
    steps.clear(low + 1);
#pragma unroll
    for (int i = 0; i < E / 4; i++) steps.words[i] &= (uint32_t)~(0xffffffffull << 8 * min(max(high - 4 * i, 0), 4));
#pragma unroll
    for (int i = 0; i < E * SIZE / 4; i++) {
      if (2 * i < low || 2 * i >= high) values[i] &= 0xffff0000u;
      if (2 * i + 1 < low || 2 * i + 1 >= high) values[i] &= 0xffffu;
    }
  }

  /* Goes on to the next chunk; answers 0 where the row has none. */
  __device__ __forceinline__ int advance(const rows &a, const device_values &v, uint32_t ring, int lane)
  {
    if (left <= 0) return 0;
    uint32_t loaded[CODE_WORDS];
    wait_groups<AHEAD - 2>();
#pragma unroll
    for (int i = 0; i < CODE_WORDS; i++)
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(loaded[i]) : "r"(stage + VALUE_BYTES + lane * E * BITS / 8 + i * 4));
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(values[0]), "=r"(values[1]), "=r"(values[2]), "=r"(values[3]) : "r"(stage + lane * E * SIZE));
    ask(a, v, (stage == ring ? stage + AHEAD * STAGE : stage) - STAGE, lane, left > (AHEAD - 1) * CHUNK_ENTRIES);
    stage = stage == ring + (AHEAD - 1) * STAGE ? ring : stage + STAGE;
    steps.spread(loaded, BITS);
    if (from || left < CHUNK_ENTRIES) clear_others(from ? from - lane * E : -1, left - lane * E);
    far = -1;
    if (a.long_gaps && __any_sync(EVERY, steps.any_escape(ESCAPE_GAP - 1)) && (BITS != 4 || !lengthen(lane)))
      far = (int)next_long;
    if (far < 0) steps.words[0] += ONES, steps.words[1] += ONES;
    const uint32_t sum = steps.sum() + (far < 0 ? 0 : E), up_to = prefix_sum(sum, WARP);
    start = (int)(2 * (col + up_to - sum)), col += __shfl_sync(EVERY, up_to, WARP - 1);
    if (far >= 0) {
      uint32_t at[E] = {};
      col += add_long_gaps<E>(a.long_gaps, steps.escapes(ESCAPE_GAP - 1), ESCAPE_GAP, WARP, &next_long, at);
    }
    from = 0, left -= CHUNK_ENTRIES;
    load_gaps(a, lane);
    return 1;
  }

  /* Gives the bits of entry e's value. */
  __device__ __forceinline__ uint32_t bits(int e) const { return e % 2 ? values[e / 2] >> 16 : values[e / 2]; }

  /* Gives the columns of the chunk's entries, in bytes from byte `first` on. */
  __device__ __forceinline__ void place(const rows &a, const step_masks &m, int first, int at[E]) const
  {
#pragma unroll
    for (int e = 0; e < E; e++)
      at[e] = (int)__dp4a(steps.words[e / 4], m.up_to[e % 4], (uint32_t)(e < 4 ? start - first : at[3]));
    if (far >= 0) {
      uint32_t moved[E] = {}, long_gap = (uint32_t)far;
      add_long_gaps<E>(a.long_gaps, steps.escapes(ESCAPE_GAP - 1), ESCAPE_GAP, WARP, &long_gap, moved);
#pragma unroll
      for (int e = 0; e < E; e++) at[e] += 2 * ((int)moved[e] + e + 1);
    }
  }

  /* Puts the row's entries from byte `first` of it on into its row of a tile of so many bytes, at `to` in shared memory; answers
   * how many chunks it has taken. */
  template <int BYTES>
  __device__ __forceinline__ int fill(const rows &a, const device_values &v, const step_masks &m, uint32_t ring, uint32_t to,
                                      int first, int lane)
  {
    for (int taken = 0;; taken++) {
      int at[E];
      place(a, m, first, at);
#pragma unroll
      for (int e = 0; e < E; e++)
        asm volatile("{ .reg .pred in; setp.lt.u32 in, %0, %1; @in st.shared.u16 [%2], %3; }"
                     :: "r"(at[e]), "n"(BYTES), "r"(to + at[e]), "h"((uint16_t)bits(e)) : "memory");
      if (__any_sync(EVERY, at[E - 1] >= BYTES) || !advance(a, v, ring, lane)) return taken;
    }
  }
};

#endif
