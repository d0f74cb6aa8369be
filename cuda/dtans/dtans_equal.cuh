/* Format dtans on the device where every symbol has 256 slots, as a matrix of few symbols gets. The id of a slot is its upper 4
 * bits and the digit its lower 8; four digits make a word, so that words 0 and 1 of a segment are always the digits of the
 * segment before it, in order, and d and r never change. */
#ifndef MACKO_DTANS_EQUAL_CUH
#define MACKO_DTANS_EQUAL_CUH

#include "dtans/dtans_slice.cuh"

/* Puts the upper 4 bits of all 8 slots of a segment together: those of each slot lie in one word, and all at different places
 * of it. */
MACKO_DEVICE uint32_t equal_ids(const uint32_t w[MACKO_DTANS_WORDS])
{
  return (w[0] & 0x00f00f00) | (w[1] & 0x0f00f00f) | (w[2] & 0xf00f00f0);
}

/* Says where the id of slot k begins. */
MACKO_DEVICE constexpr int equal_place(int k)
{
  return (12 * k + 8) % 32;
}

/* Makes words 0 and 1 of the next segment out of this one's digits: a group's first digit comes highest. */
MACKO_DEVICE void equal_digits(uint32_t w[MACKO_DTANS_WORDS])
{
  uint32_t first = __byte_perm(__byte_perm(w[0], w[0] >> 12, 0x0430), w[1] >> 4, 0x3214);
  uint32_t last = __byte_perm(w[2], w[2] >> 20, 0x0014);
  w[1] = __byte_perm(__byte_perm(w[1], __funnelshift_r(w[1], w[2], 28), 0x2400), last, 0x3254);
  w[0] = first;
}

/* ---- the table ---- */

/* This is what is looked up of a symbol: without a code, as digits need none. */
template <int KIND, typename SUM> struct equal_entry;
template <typename SUM> struct alignas(2 * sizeof(SUM)) equal_entry<MACKO_DTANS_JOINT, SUM> {
  SUM value;
  uint32_t gap;
  __device__ __forceinline__ void set(const macko_dtans_entry &e) { value = (SUM)e.value, gap = e.gap; }
};
template <typename SUM> struct equal_entry<MACKO_DTANS_BESIDE, SUM> {
  uint32_t gap;
  __device__ __forceinline__ void set(const macko_dtans_entry &e) { gap = e.gap; }
};

/* Gives entry number (ids >> place) % 16: one shift brings the number to where it is a multiple of an entry's size. */
template <typename ENTRY> MACKO_DEVICE ENTRY equal_at(const ENTRY *entries, uint32_t ids, int place)
{
  constexpr int LOG2 = sizeof(ENTRY) == 16 ? 4 : sizeof(ENTRY) == 8 ? 3 : 2;
  uint32_t offset = (place >= LOG2 ? ids >> (place - LOG2) : ids << (LOG2 - place)) & (15u << LOG2);
  return *(const ENTRY *)((const char *)entries + offset);
}

/* ---- a slice, a row a lane ---- */

/* This is what is read of a slice ahead of its turn. */
struct equal_slice {
  const uint32_t *next; /* word of its stream */
  uint32_t words[MACKO_DTANS_WORDS];
  int64_t slot; /* of its next value beside the gaps */
  int length, longest, shortest; /* of the lane's row; of all rows */
};

/* Gives the next word of each lane whose segment, of which `left` entries are there or will be, has word q; most and least: of
 * all lanes. */
MACKO_DEVICE uint32_t equal_load(equal_slice *s, int q, int left, int most, int least)
{
  const int fewest = q == 0 ? 0 : q == 1 ? 2 : 5;
  if (most <= fewest) return 0;
  if (least > fewest) {
    s->next += WARP;
    return __ldg(s->next - WARP + threadIdx.x % WARP);
  }
  unsigned mask = __ballot_sync(MACKO_EVERY_LANE, left > fewest);
  const uint32_t *from = s->next + __popc(mask & lanes_before());
  s->next += __popc(mask);
  return left > fewest ? __ldg(from) : 0;
}

/* Begins a slice: the words of its first segment are on their way when this returns. */
MACKO_DEVICE void start_equal(const dtans_matrix &a, const slice_place &place, int length, equal_slice *s)
{
  s->next = a.words[0] + place.start[0], s->slot = place.start[1], s->length = length;
  s->longest = __reduce_max_sync(MACKO_EVERY_LANE, length), s->shortest = __reduce_min_sync(MACKO_EVERY_LANE, length);
#pragma unroll
  for (int q = 0; q < MACKO_DTANS_WORDS; q++) s->words[q] = equal_load(s, q, length, s->longest, s->shortest);
}

/* Multiplies slices, whose lanes have one row each. SHORT: no row has more than one segment, which needs fewer registers. */
template <int KIND, int SHORT, int VECTOR, typename SUM, int GROUP> struct equal_product {
  typedef equal_entry<KIND, SUM> entry;
  const entry *entries;
  uint32_t escape; /* its number in every place of an id */
  bool escapes;

  /* Gives the gaps and values of a segment; of the calling lane's entries `left` are still to come, and of no lane's more than
   * `most`. */
  __device__ __forceinline__ void decode(const dtans_matrix &a, int left, int most, equal_slice *s, uint32_t gap[8],
                                         SUM value[8]) const
  {
    uint32_t ids = equal_ids(s->words), x = ids ^ escape;
#pragma unroll
    for (int k = 0; k < 8; k++) {
      if (k % 2 == 0 && k >= most) break;
      entry e = equal_at(entries, ids, equal_place(k));
      gap[k] = e.gap;
      if constexpr (KIND == MACKO_DTANS_JOINT) value[k] = e.value;
    }
    /* A number of 4 bits that is zero borrows from its highest bit. */
    if (!escapes || !__any_sync(MACKO_EVERY_LANE, (x - 0x11111111u) & ~x & 0x88888888u)) return;
    warp_stream stream;
    stream.next = s->next;
#pragma unroll
    for (int k = 0; k < 8; k++)
      load_escape<1, KIND == MACKO_DTANS_JOINT>(&stream, k < left && (x >> equal_place(k) & 15) == 0, a.value_type, gap + k,
                                                value + k);
    s->next = stream.next;
  }

  /* Multiplies a slice whose first segment has been loaded; row is the calling lane's. */
  __device__ __forceinline__ void slice(const dtans_matrix &a, const device_values &values, const device_vectors &v, int64_t row,
                                        equal_slice s) const
  {
    SUM sum[GROUP] = {}, value[8];
    uint32_t col = (uint32_t)row & a.relative, gap[8];
    int left = s.length, most = s.longest, least = s.shortest;
    for (; !SHORT && most > 8; left -= 8, most -= 8, least -= 8) {
      if constexpr (KIND == MACKO_DTANS_BESIDE) load_beside(a, values, left, least >= 8, &s.slot, value);
      decode(a, left, 8, &s, gap, value);
      if (most == s.longest && a.relative) gap[0] = unzigzag(gap[0]);
      equal_digits(s.words);
      s.words[2] = equal_load(&s, 2, left - 8, most - 8, least - 8);
      if (least >= 8) multiply_inside<VECTOR, SUM, GROUP, 8, 1>(v, gap, value, left, 8, &col, sum);
      else multiply_inside<VECTOR, SUM, GROUP, 8, 0>(v, gap, value, left, 8, &col, sum);
    }
    if (most > 0) {
      if constexpr (KIND == MACKO_DTANS_BESIDE) load_beside(a, values, left, least >= 8, &s.slot, value);
      decode(a, left, most, &s, gap, value);
      if (most == s.longest && a.relative) gap[0] = unzigzag(gap[0]);
      multiply_inside<VECTOR, SUM, GROUP, 8, 0>(v, gap, value, left, most, &col, sum);
    }
    if (row >= a.nrows) return;
#pragma unroll
    for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, row, sum[g]);
  }
};

/* Takes every `warps`-th slice. While one is multiplied the words of the next are on their way, and where the slice after that
 * begins. */
template <int KIND, int SHORT, int VECTOR, typename SUM, int GROUP, int THREADS, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, BLOCKS) equal_kernel(dtans_matrix a, device_values values, device_vectors v)
{
  typedef equal_product<KIND, SHORT, VECTOR, SUM, GROUP> product;
  __shared__ typename product::entry entries[MACKO_DTANS_EQUAL_SYMBOLS];
  int count = (int)a.count, warps = (int)gridDim.x * (THREADS / WARP);
  int slice = (int)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
  int lane = threadIdx.x % WARP, length = 0;
  slice_place place = {};
  equal_slice now = {}, next = {};
  if (threadIdx.x < MACKO_DTANS_EQUAL_SYMBOLS) entries[threadIdx.x].set(a.table[0].entries[threadIdx.x]);
  product p = {entries, (uint32_t)a.table[0].escape * 0x11111111u, a.table[0].escape >= 0};
  if (slice < count) start_equal(a, place_of(a, slice), row_length(a, (int64_t)slice * WARP + lane), &now);
  if (slice < count - warps) place = place_of(a, slice + warps), length = row_length(a, ((int64_t)slice + warps) * WARP + lane);
  __syncthreads();
  for (; slice < count; slice += warps) {
    if (slice < count - warps) {
      start_equal(a, place, length, &next);
      if constexpr (KIND == MACKO_DTANS_BESIDE) ask_for_values(values, place.start[1], length);
    }
    if (slice < count - 2 * warps) {
      place = place_of(a, slice + 2 * warps);
      length = row_length(a, ((int64_t)slice + 2 * warps) * WARP + lane);
    }
    p.slice(a, values, v, (int64_t)slice * WARP + lane, now);
    now = next;
  }
}

#endif
