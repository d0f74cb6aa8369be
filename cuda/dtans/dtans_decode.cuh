/* Format dtans on the device: one warp decodes a slice, a lane its rows (arXiv 2603.01915, section IV). Looked up by slot are
 * only ids, so that lanes with different slots of one symbol meet at the same entry, which shared memory serves at once. */
#ifndef MACKO_DTANS_DECODE_CUH
#define MACKO_DTANS_DECODE_CUH

#include "core/element.cuh"
#include "dtans/dtans_device.h"

#define MACKO_EVERY_LANE 0xffffffffu
#define MACKO_DEVICE static __device__ __forceinline__

/* Gives the lanes below this one as a mask. */
MACKO_DEVICE unsigned lanes_before()
{
  unsigned mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

/* ---- tables in shared memory ---- */

/* This is what a kernel looks up of a symbol, in shared memory: no more than it needs, in the type of its sums. Entries of a
 * size that one load brings are aligned to it. */
template <typename SUM> struct pair_entry {
  SUM value;
  uint32_t gap, code;
  __device__ __forceinline__ void set(const macko_dtans_entry &e) { value = (SUM)e.value, gap = e.gap, code = e.code; }
};
struct alignas(8) gap_entry {
  uint32_t gap, code;
  __device__ __forceinline__ void set(const macko_dtans_entry &e) { gap = e.gap, code = e.code; }
};
template <typename SUM> struct alignas(2 * sizeof(SUM)) value_entry {
  SUM value;
  uint32_t code;
  __device__ __forceinline__ void set(const macko_dtans_entry &e) { value = (SUM)e.value, code = e.code; }
};

/* This is a table as it lies in device memory. */
struct device_table {
  const uint4 *ids;
  const macko_dtans_entry *entries;
  int symbols, escape, id_bytes, shift; /* shift: of POWERS, as in macko_dtans_device */
};

/* This is a table as a block of threads has it in shared memory: ids by slot, entries by symbol. Multiplicities are POWERS of
 * two or any. */
template <int POWERS, typename ENTRY> struct shared_table {
  const unsigned char *ids;
  const ENTRY *entries;
  int shift;

  /* Gives the shared memory that a table of so many symbols takes, up to a multiple of 16. */
  static __host__ __device__ int bytes(int symbols, int id_bytes)
  {
    return (id_bytes + symbols * (int)sizeof(ENTRY) + 15) / 16 * 16;
  }
  /* Copies the table to memory and gives the end of it. Every thread of the block takes part; behind it must come
   * __syncthreads. */
  __device__ __forceinline__ char *fill(const device_table &from, char *memory)
  {
    for (int i = threadIdx.x; i < from.id_bytes / 16; i += blockDim.x) ((uint4 *)memory)[i] = __ldg(from.ids + i);
    for (int i = threadIdx.x; i < from.symbols; i += blockDim.x) ((ENTRY *)(memory + from.id_bytes) + i)->set(from.entries[i]);
    ids = (const unsigned char *)memory, entries = (const ENTRY *)(memory + from.id_bytes), shift = from.shift;
    return memory + bytes(from.symbols, from.id_bytes);
  }
  /* Gives the entry of the symbol that has a slot. Bits of slot above its 12 do not matter. */
  __device__ __forceinline__ ENTRY at(uint32_t slot) const
  {
    if (POWERS) return entries[ids[slot >> shift & ((MACKO_DTANS_SLOTS - 1) >> shift)]];
    return entries[((const uint16_t *)ids)[slot & (MACKO_DTANS_SLOTS - 1)]];
  }
};

/* Says whether a code is that of the escape (macko_dtans_entry). */
template <int POWERS> MACKO_DEVICE bool is_escape(uint32_t code)
{
  return code >> (POWERS ? 16 : 31) & 1;
}

/* ---- a stream ---- */

/* This is a stream as the 32 lanes of a slice read it. Words go to lanes in turn, so that all must ask for one together. */
struct warp_stream {
  const uint32_t *next; /* the same in all lanes */
  uint32_t words[MACKO_DTANS_WORDS], d, r; /* the segment; as in the format, but with powers of two r is its logarithm */

  /* Gives the next word of the stream to each lane that needs one, in the order of lanes, and `word` to the others. */
  __device__ __forceinline__ uint32_t load(bool need, uint32_t word)
  {
    unsigned mask = __ballot_sync(MACKO_EVERY_LANE, need);
    if (need) word = __ldg(next + __popc(mask & lanes_before()));
    next += __popc(mask);
    return word;
  }
};

/* Says whether a lane that has `left` nonzeros from a segment on has word q of that segment: a short last segment has only the
 * words that its slots need, unless it is of two domains. */
template <int DOMAINS> MACKO_DEVICE bool has_word(int left, int q)
{
  return left > (DOMAINS == 2 || q == 0 ? 0 : q == 1 ? 2 : 5);
}

/* Begins a slice's stream: loads the first segment of every lane, which has `count` nonzeros in all. */
template <int POWERS, int DOMAINS> MACKO_DEVICE void start_stream(warp_stream *s, const uint32_t *words, int count)
{
  s->next = words, s->d = 0, s->r = POWERS ? 0 : 1;
#pragma unroll
  for (int q = 0; q < MACKO_DTANS_WORDS; q++) s->words[q] = s->load(has_word<DOMAINS>(count, q), 0);
}

/* Takes a segment's words apart into slots, each in the lowest 12 bits of its element; what is above does not matter and is not
 * cleared. */
MACKO_DEVICE void unpack(const uint32_t w[MACKO_DTANS_WORDS], uint32_t slots[MACKO_DTANS_SEGMENT])
{
  slots[0] = w[0], slots[1] = w[0] >> 12, slots[2] = __funnelshift_r(w[0], w[1], 24), slots[3] = w[1] >> 4;
  slots[4] = w[1] >> 16, slots[5] = __funnelshift_r(w[1], w[2], 28), slots[6] = w[2] >> 8, slots[7] = w[2] >> 20;
}

/* Returns the digits of slots begin .. end - 1 to the lane's d and r; true: *word has come out of them. With powers of two
 * digits are bits, so that D grows from its last one at the top of a word, by a funnel shift a digit, and r is a count of bits.
 * Else it is macko_dtans_return. */
template <int POWERS>
MACKO_DEVICE bool return_group(warp_stream *s, const uint32_t *slots, const uint32_t *codes, int begin, int end, uint32_t *word)
{
  if (POWERS) {
    uint32_t digits = 0, sum = 0;
#pragma unroll
    for (int k = end - 1; k >= begin; k--) digits = __funnelshift_r(digits, slots[k], codes[k]), sum += codes[k];
    uint32_t bits = sum & MACKO_DTANS_CODE_LOG2, low = __funnelshift_lc(digits, s->d, bits);
    uint32_t high = __funnelshift_rc(s->d, 0, 32 - bits), r = s->r + bits;
    bool extracted = r >= 32;
    *word = low;
    s->d = extracted ? high : low, s->r = extracted ? r - 32 : r;
    return extracted;
  }
  uint64_t D = 0, B = 1;
#pragma unroll
  for (int k = begin; k < end; k++) {
    uint32_t base = codes[k] >> 16 & 0x7ff, digit = (slots[k] & (MACKO_DTANS_SLOTS - 1)) - (codes[k] & 0x1fff);
    D = D * base + digit, B *= base;
  }
  macko_dtans_lane lane = {{0, 0, 0}, s->d, s->r};
  bool extracted = macko_dtans_return(&lane, D, B, word);
  s->d = lane.d, s->r = lane.r;
  return extracted;
}

/* Goes on to the next segment, of which the calling lane has `left` nonzeros: its words come out of digits or from the stream.
 * GROUPS is how many of them digits may give. */
template <int POWERS, int DOMAINS, int GROUPS>
MACKO_DEVICE void advance(warp_stream *s, const uint32_t slots[MACKO_DTANS_SEGMENT], const uint32_t codes[MACKO_DTANS_SEGMENT],
                          int left)
{
#pragma unroll
  for (int q = 0; q < MACKO_DTANS_WORDS; q++) {
    bool need = has_word<DOMAINS>(left, q);
    uint32_t word = 0;
    if (q < GROUPS)
      need &= !return_group<POWERS>(s, slots, codes, q ? macko_dtans_group_end(GROUPS, q - 1) : 0,
                                    macko_dtans_group_end(GROUPS, q), &word);
    s->words[q] = s->load(need, word);
  }
}

/* ---- escapes ---- */

/* Gives the raw value of an escape as a number: its 64 bits in two words, or fewer in the first. */
template <typename SUM> MACKO_DEVICE SUM raw_value(int type, uint32_t low, uint32_t high)
{
  switch (type) {
  case MACKO_F64: return (SUM)__hiloint2double((int)high, (int)low);
  case MACKO_F32: return number_of<MACKO_F32>(low);
  case MACKO_F16: return number_of<MACKO_F16>(low);
  default: return number_of<MACKO_BF16>(low);
  }
}

/* Loads the raw gap or value or both (GAP, VALUE) of those lanes whose symbol is the escape. All lanes of the warp take part. */
template <int GAP, int VALUE, typename SUM>
MACKO_DEVICE void load_escape(warp_stream *s, bool escaped, int type, uint32_t *gap, SUM *value)
{
  if (!__any_sync(MACKO_EVERY_LANE, escaped)) return;
  if (GAP) {
    *gap = s->load(escaped, *gap);
  }
  if (VALUE) {
    uint32_t low = s->load(escaped, 0), high = type == MACKO_F64 ? s->load(escaped, 0) : 0;
    if (escaped) *value = raw_value<SUM>(type, low, high);
  }
}

/* ---- a segment ---- */

/* Says whether any of a segment's codes is that of the escape. Codes of powers are added up, which return_group does anyway. */
template <int POWERS> MACKO_DEVICE bool has_escape(const uint32_t codes[MACKO_DTANS_SEGMENT])
{
  uint32_t all = 0;
#pragma unroll
  for (int k = 0; k < MACKO_DTANS_SEGMENT; k++) all = POWERS ? all + codes[k] : all | codes[k];
  return POWERS ? all >= MACKO_DTANS_CODE_ESCAPE : is_escape<0>(all);
}

/* This is a stream and the segment of it that was read last. */
struct segment_reader {
  warp_stream stream;
  uint32_t slots[MACKO_DTANS_SEGMENT], codes[MACKO_DTANS_SEGMENT];

  /* Reads eight gaps, values or pairs of one domain, of which the calling lane has `left`, and no lane more than `most`. Lanes
   * that are at their end decode what is there, which nobody uses. */
  template <int POWERS, int GAP, int VALUE, typename ENTRY, typename SUM>
  __device__ __forceinline__ void read(const shared_table<POWERS, ENTRY> &t, int type, int left, int most, uint32_t gap[8],
                                       SUM value[8])
  {
    unpack(stream.words, slots);
#pragma unroll
    for (int k = 0; k < MACKO_DTANS_SEGMENT; k++) codes[k] = 0;
#pragma unroll
    for (int k = 0; k < MACKO_DTANS_SEGMENT; k++) {
      if (k % 2 == 0 && k >= most) break;
      ENTRY e = t.at(slots[k]);
      if constexpr (GAP) gap[k] = e.gap;
      if constexpr (VALUE) value[k] = e.value;
      codes[k] = e.code;
    }
    if (__any_sync(MACKO_EVERY_LANE, has_escape<POWERS>(codes)))
#pragma unroll
      for (int k = 0; k < MACKO_DTANS_SEGMENT; k++)
        load_escape<GAP, VALUE>(&stream, k < left && is_escape<POWERS>(codes[k]), type, gap + k, value + k);
  }

  /* Reads four nonzeros of a stream of two domains, gaps and values in turn (variant paper). */
  template <typename SUM>
  __device__ __forceinline__ void read_both(const shared_table<0, gap_entry> &gaps, const shared_table<0,
                                            value_entry<SUM>> &values, int type, int left, uint32_t gap[4], SUM value[4])
  {
    unpack(stream.words, slots);
#pragma unroll
    for (int i = 0; i < 4; i++) {
      gap_entry g = gaps.at(slots[2 * i]);
      value_entry<SUM> v = values.at(slots[2 * i + 1]);
      gap[i] = g.gap, value[i] = v.value, codes[2 * i] = g.code, codes[2 * i + 1] = v.code;
    }
    if (__any_sync(MACKO_EVERY_LANE, has_escape<0>(codes)))
#pragma unroll
      for (int i = 0; i < 4; i++) {
        load_escape<1, 0>(&stream, i < left && is_escape<0>(codes[2 * i]), type, gap + i, value + i);
        load_escape<0, 1>(&stream, i < left && is_escape<0>(codes[2 * i + 1]), type, gap + i, value + i);
      }
  }
};

#endif
