/* Layout row, chunks of 512 entries that a warp takes at once: loading them, which columns they are in, and their products. A lane
 * has two parts of eight entries, 256 apart, so that loads are wide and one prefix sum over the lanes, 16 bits a part, serves
 * sixteen. */
#ifndef MACKO_ROW_SHARED_X_CHUNK_CUH
#define MACKO_ROW_SHARED_X_CHUNK_CUH

#include "macko/row_shared_x_units.cuh"

/* PART is what the warp has of entries in a part, PARTS are those of a chunk, ENTRIES is what a lane has of a part, and WINDOW
 * is how many long gaps a window holds. */
enum { PART = 256, PARTS = 2, ENTRIES = 8, WINDOW = 64 };

/* ---- loading ---- */

/* This is a lane's entries as loaded; codes have 4 or 8 bits. */
template <int STORED, int BITS> struct shared_x_chunk {
  static constexpr int SIZE = sizeof(typename element<STORED>::type), WORDS = ENTRIES * SIZE / 4, CODES = BITS / 4;
  uint32_t values[PARTS][WORDS], codes[PARTS][CODES];

  /* Makes the codes of entries before `from` and from `to` on, counted from the chunk's first, 0, so that they do not count. */
  __device__ __forceinline__ void clear_outside(int lane, int from, int to)
  {
#pragma unroll
    for (int k = 0; k < PARTS; k++) {
      int q = lane * ENTRIES + k * PART, low = min(max(from - q, 0), ENTRIES), high = min(max(to - q, 0), ENTRIES);
#pragma unroll
      for (int i = 0; i < CODES; i++) {
        constexpr int PER = ENTRIES / CODES;
        int first = min(max(low - i * PER, 0), PER), end = min(max(high - i * PER, 0), PER);
        codes[k][i] &= (uint32_t)(0xffffffffull << BITS * first) & (uint32_t)~(0xffffffffull << BITS * end);
      }
    }
  }
};

/* This is a lane's view of a unit's entries, chunk by chunk. Loads are not conditional, because the compiler would wait for
 * them at once: sections end with room for what is loaded beyond their ends. */
template <int STORED, int BITS> struct shared_x_stream {
  typedef shared_x_chunk<STORED, BITS> chunk;
  const char *value;
  const uint8_t *code;
  chunk next;

  /* Sets the stream to the chunk that begins with entry `start`; nothing is loaded yet. */
  __device__ __forceinline__ void open(const rows &a, const device_values &values, int64_t start, int lane)
  {
    value = (const char *)values.stream + (start + lane * ENTRIES) * chunk::SIZE;
    code = a.gaps + start * BITS / 8 + lane * (ENTRIES * BITS / 8);
  }

  /* Loads the chunk that is `steps` chunks further on. */
  __device__ __forceinline__ void load(int steps)
  {
    value += steps * (CHUNK * chunk::SIZE), code += steps * (CHUNK * BITS / 8);
#pragma unroll
    for (int k = 0; k < PARTS; k++) {
      load_words<chunk::WORDS>(value + k * PART * chunk::SIZE, next.values[k]);
      load_words<chunk::CODES>(code + k * PART * BITS / 8, next.codes[k]);
    }
  }
};

/* These are the next long gaps of a warp in shared memory, 32 to 64 of them, and 32 more on their way. What is read beyond the
 * last one is in the room behind the section. */
struct gap_window {
  uint32_t *shared, start, coming;
  int lane;

  /* Fills the window from long gap number `next` on. */
  __device__ __forceinline__ void open(const uint32_t *gaps, uint32_t next)
  {
    start = next;
    __syncwarp();
    shared[(start + lane) % WINDOW] = __ldg(gaps + start + lane);
    shared[(start + WARP + lane) % WINDOW] = __ldg(gaps + start + WARP + lane);
    coming = __ldg(gaps + start + WINDOW + lane);
    __syncwarp();
  }

  /* Goes on to long gap number `next`: what is on its way takes the place of 32 that are past. */
  __device__ __forceinline__ void advance(const uint32_t *gaps, uint32_t next)
  {
#pragma unroll 1
    while (__any_sync(EVERY, next - start >= WARP)) {
      __syncwarp();
      shared[(start + lane) % WINDOW] = coming;
      start += WARP, coming = __ldg(gaps + start + WINDOW + lane);
      __syncwarp();
    }
  }
};

/* ---- columns ---- */

/* Shifts n to the left; shifts of 32 bits and more, which C leaves open, give 0. */
static __device__ __forceinline__ uint32_t shift_left(uint32_t n, uint32_t by)
{
  uint32_t shifted; /* 0 by 32 and more, which C leaves open */
  asm("shl.b32 %0, %1, %2;" : "=r"(shifted) : "r"(n), "r"(by));
  return shifted;
}

/* This is a lane's codes of a part, a byte each. Bit MARK e of marks: entry e has a long gap, listed from number `gap` on;
 * where these are far, they are not in the words. */
template <int BITS> struct shared_x_codes {
  static constexpr int MARK = BITS == 4 ? 4 : 1;
  static constexpr uint32_t ESCAPE = (1u << BITS) - 1, ONES = 0x01010101u;
  uint32_t words[2], marks, before, gap;

  /* Spreads the codes as loaded over bytes. */
  __device__ __forceinline__ void spread(const uint32_t loaded[BITS / 4])
  {
    if constexpr (BITS == 4) {
      uint32_t low = loaded[0] & 0x0f0f0f0f, high = loaded[0] >> 4 & 0x0f0f0f0f;
      words[0] = __byte_perm(low, high, 0x5140), words[1] = __byte_perm(low, high, 0x7362);
    } else
      words[0] = loaded[0], words[1] = loaded[1];
  }

  /* Finds the codes that are escapes. It is called only where a matrix has long gaps, as it costs as much as a third of
   * everything else. */
  __device__ __forceinline__ void mark(const uint32_t loaded[BITS / 4])
  {
    if constexpr (BITS == 4) {
      uint32_t pairs = loaded[0] & loaded[0] >> 1;
      marks = pairs & pairs >> 2 & 0x11111111u;
    } else {
      uint32_t full[2];
      for (int i = 0; i < 2; i++) full[i] = loaded[i] & ((loaded[i] & 0x7f7f7f7fu) + ONES) & 0x80808080u;
      marks = (full[0] >> 7) * 0x01020408u >> 24 & 15 | ((full[1] >> 7) * 0x01020408u >> 24 & 15) << 4;
    }
  }

  /* Adds n to the code that has the mark; nothing where mark is 0. */
  __device__ __forceinline__ void lengthen(uint32_t mark, uint32_t n)
  {
    uint32_t by = 8 / MARK * (31 - __clz(mark)); /* beyond both words without a mark */
    words[0] += shift_left(n, by), words[1] += shift_left(n, by - 32);
  }

  /* Gives what far gaps before entry n add; a code of 0 stands for a gap of 1 there. */
  __device__ __forceinline__ uint32_t beyond(const uint32_t *long_gaps, int n) const
  {
    uint32_t sum = 0, i = gap;
#pragma unroll 1
    for (uint32_t left = marks & (uint32_t)((1ull << MARK * n) - 1); left; left &= left - 1) sum += __ldg(long_gaps + i++) - 1;
    return sum;
  }

  /* Gives the sum of start and the codes before entry n. */
  __device__ __forceinline__ uint32_t sum(uint32_t start, int n) const
  {
    uint32_t low = n < 4 ? words[0] & ~(~0u << 8 * n) : words[0];
    uint32_t high = n < 8 ? words[1] & (uint32_t)~(0xffffffffull << 8 * max(n - 4, 0)) : words[1];
    return __dp4a(high, ONES, __dp4a(low, ONES, start));
  }

  /* Sets at[e] to the byte of x that entry e multiplies, less those of e columns, which the load adds for nothing. */
  __device__ __forceinline__ void place(uint32_t start, uint32_t at[ENTRIES]) const
  {
#pragma unroll
    for (int e = 0; e < ENTRIES; e++)
      at[e] = __dp4a(words[e / 4], (ONES >> 8 * (3 - e % 4)) * 4, e < 4 ? start + 4 * before : at[3]);
  }

  /* Moves entries from each far gap on by what that is beyond a gap of 1. */
  __device__ __forceinline__ void place_far(const uint32_t *long_gaps, uint32_t at[ENTRIES]) const
  {
    uint32_t i = gap;
#pragma unroll 1
    for (uint32_t left = marks; left; left &= left - 1) {
      uint32_t further = (__ldg(long_gaps + i++) - 1) * 4;
      int from = (31 - __clz(left & -left)) / MARK;
#pragma unroll
      for (int e = 0; e < ENTRIES; e++)
        if (e >= from) at[e] += further;
    }
  }
};

/* Notes where the long gaps of a chunk are listed, whose bytes do not hold them: codes of 0 stay there. Answers the number of
 * the next long gap behind the chunk. */
template <int BITS> static __device__ __forceinline__ uint32_t find_far_gaps(shared_x_codes<BITS> codes[PARTS], uint32_t next_long)
{
  uint32_t counts = __popc(codes[0].marks) + (__popc(codes[1].marks) << 16), up_to = prefix_sum(counts, WARP);
  uint32_t all = __shfl_sync(EVERY, up_to, WARP - 1), others = up_to - counts;
  codes[0].gap = next_long + (others & 0xffff), codes[1].gap = next_long + (all & 0xffff) + (others >> 16);
#pragma unroll
  for (int k = 0; k < PARTS; k++)
#pragma unroll 1
    for (uint32_t left = codes[k].marks; left; left &= left - 1) codes[k].lengthen(left & -left, -shared_x_codes<BITS>::ESCAPE);
  return next_long + (all & 0xffff) + (all >> 16);
}

/* Puts long gaps into the codes. Codes of 4 bits leave room in a byte for gaps up to 256; one long gap a lane and part, as
 * there nearly always is, is put there at once. Answers, for the whole warp, whether they are far: not in the codes. */
template <int BITS>
static __device__ __forceinline__ int put_long_gaps(const uint32_t *long_gaps, shared_x_codes<BITS> codes[PARTS], gap_window *w,
                                                    uint32_t *next_long)
{
  constexpr uint32_t ESCAPE = shared_x_codes<BITS>::ESCAPE;
  uint32_t m0 = codes[0].marks, m1 = codes[1].marks;
  if (!__any_sync(EVERY, m0 | m1)) return 0;
  if (BITS == 4 && !__any_sync(EVERY, (m0 & m0 - 1) | (m1 & m1 - 1))) {
    uint32_t lower = (1u << w->lane) - 1, lanes0 = __ballot_sync(EVERY, m0), lanes1 = __ballot_sync(EVERY, m1);
    uint32_t first = __popc(lanes0), count = first + __popc(lanes1);
    uint32_t more0 = w->shared[(*next_long + __popc(lanes0 & lower)) % WINDOW] - (ESCAPE + 1);
    uint32_t more1 = w->shared[(*next_long + first + __popc(lanes1 & lower)) % WINDOW] - (ESCAPE + 1);
    if (count <= WARP && !__any_sync(EVERY, (m0 && more0 > 255 - ESCAPE) || (m1 && more1 > 255 - ESCAPE))) {
      codes[0].lengthen(m0, more0), codes[1].lengthen(m1, more1);
      w->advance(long_gaps, *next_long += count);
      return 0;
    }
  }
  *next_long = find_far_gaps<BITS>(codes, *next_long);
  if (BITS == 4) w->advance(long_gaps, *next_long);
  return 1;
}

/* Fills in what the codes before each lane's parts add up to; answers the sum of all. Sums of a chunk without far gaps take 16
 * bits, so that both parts' go through one prefix sum. */
template <int BITS>
static __device__ __forceinline__ uint32_t add_up(const uint32_t *long_gaps, shared_x_codes<BITS> codes[PARTS], int far)
{
  uint32_t first = codes[0].sum(0, ENTRIES), second = codes[1].sum(0, ENTRIES);
  if (far) {
    first += codes[0].beyond(long_gaps, ENTRIES), second += codes[1].beyond(long_gaps, ENTRIES);
    uint32_t up_to0 = prefix_sum(first, WARP), up_to1 = prefix_sum(second, WARP), all = __shfl_sync(EVERY, up_to0, WARP - 1);
    codes[0].before = up_to0 - first, codes[1].before = all + up_to1 - second;
    return all + __shfl_sync(EVERY, up_to1, WARP - 1);
  }
  uint32_t packed = first + (second << 16), up_to = prefix_sum(packed, WARP), all = __shfl_sync(EVERY, up_to, WARP - 1);
  codes[0].before = (up_to - packed) & 0xffff, codes[1].before = (all & 0xffff) + ((up_to - packed) >> 16);
  return (all & 0xffff) + (all >> 16);
}

/* ---- products ---- */

/* Gives the value of entry e of a part. */
template <int STORED> static __device__ __forceinline__ float value_at(const uint32_t *values, const float *table, int e)
{
  constexpr int SIZE = sizeof(typename element<STORED>::type);
  return value_of<STORED, float>(values[e * SIZE / 4] >> (e * SIZE % 4 * 8) & (0xffffffffu >> (32 - 8 * SIZE)), table);
}

/* Gives an element of x by its address in shared memory. */
static __device__ __forceinline__ float x_at(uint32_t address)
{
  return *(const float *)__cvta_shared_to_generic(address);
}

/* This is what a lane has of a part: its values and codes, where in x the row's columns start, and what decodes values. */
template <int BITS> struct lane_part {
  const uint32_t *values;
  const shared_x_codes<BITS> &codes;
  uint32_t start;
  const float *table;
};

/* Adds a lane's products of a part, all of whose entries are in the row at hand. */
template <int STORED, int BITS> static __device__ __forceinline__ float add_part(const lane_part<BITS> &p, float sum)
{
  uint32_t at[ENTRIES];
  float xs[ENTRIES];
  p.codes.place(p.start, at);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) xs[e] = x_at(at[e] + 4 * e);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) sum = add_product(value_at<STORED>(p.values, p.table, e), xs[e], sum);
  return sum;
}

/* Does the same of entries from .. to - 1 only; far: some of the part's long gaps are not in its codes. */
template <int STORED, int BITS>
static __device__ __forceinline__ float add_some(const rows &a, const lane_part<BITS> &p, int far, int from, int to, float sum)
{
  uint32_t at[ENTRIES];
  p.codes.place(p.start, at);
  if (far) p.codes.place_far(a.long_gaps, at);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++)
    if (e >= from && e < to) sum = add_product(value_at<STORED>(p.values, p.table, e), x_at(at[e] + 4 * e), sum);
  return sum;
}

/* Does the same of a part in which one row ends before entry n, and the next one's columns are so many bytes of x further on. */
template <int STORED, int BITS>
static __device__ __forceinline__ void add_two(const lane_part<BITS> &p, uint32_t further, int n, float *before, float *after)
{
  uint32_t at[ENTRIES];
  float xs[ENTRIES];
  p.codes.place(p.start, at);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++) xs[e] = x_at((e < n ? at[e] : at[e] + further) + 4 * e);
#pragma unroll
  for (int e = 0; e < ENTRIES; e++)
    if (e < n) *before += value_at<STORED>(p.values, p.table, e) * xs[e];
    else *after += value_at<STORED>(p.values, p.table, e) * xs[e];
}

#endif
