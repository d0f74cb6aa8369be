/* Layout slice: the steps of a slice, by one warp, one lane a row. Everything about a slice but its rows' own numbers is the same
 * for the warp, so no branch diverges. Steps are taken several at a time, so that as many loads are in flight. */
#ifndef MACKO_SLICE_STEPS_CUH
#define MACKO_SLICE_STEPS_CUH

#include "macko/slice.cuh"

/* Loads the values of steps 0 .. n - 1 of a lane, from start on; a FULL round has n = STEPS, and all its loads are in flight at
 * once. Elements narrower than a word share a lane's word, which is loaded once. */
template <int STORED, typename SUM, int FULL>
static __device__ __forceinline__ void load_steps(const char *start, const SUM *table, int lane, int n, SUM v[STEPS])
{
  typedef typename element<STORED>::type type;
  constexpr int per = sizeof(type) < 4 ? 4 / sizeof(type) : 1, bits = 8 * sizeof(type);
  if constexpr (STORED == MACKO_F64) {
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (FULL || j < n) v[j] = (SUM)__ldcs((const double *)start + j * MACKO_SLICE_ROWS + lane);
  } else {
    uint32_t words[STEPS / per];
#pragma unroll
    for (int w = 0; w < STEPS / per; w++)
      words[w] = FULL || w * per < n ? __ldcs((const uint32_t *)start + w * MACKO_SLICE_ROWS + lane) : 0;
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      uint32_t word = words[j / per];
      v[j] = value_of<STORED, SUM>(per == 1 ? word : word >> (j % per * bits) & ((1u << bits % 32) - 1), table);
    }
  }
}

/* Finds the columns of steps 0 .. n - 1 from step k on, which is a multiple of STEPS; *col is the column of step k before and
 * of step k + STEPS after. BITS are those of a gap, 0 for a list of distances from the base column. */
template <int BITS, int FULL>
static __device__ __forceinline__ void load_columns(const uint32_t *gaps, int k, int steps, int lane, int base, int *col,
                                                    int cols[STEPS])
{
  if constexpr (BITS == 0) {
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (FULL || k + j < steps) cols[j] = base + (k + j ? (int)__ldg(gaps + k + j - 1) : 0);
  } else {
    constexpr int per = 32 / BITS, words = (STEPS + per - 1) / per;
    uint32_t word[words];
#pragma unroll
    for (int w = 0; w < words; w++) word[w] = k + w * per + 1 < steps ? __ldg(gaps + (k / per + w) * MACKO_SLICE_ROWS + lane) : 0;
    if (per > STEPS) word[0] >>= k % per * BITS; /* a word holds the codes of several rounds */
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      cols[j] = *col;
      *col += (int)(word[j / per] >> (j % per * BITS % 32) & (0xffffffffu >> (32 - BITS))) + 1;
    }
  }
}

/* This is what the calling lane takes of a slice: steps from .. to - 1 of its row, which has `length` of them, from column base
 * on; `from` is a multiple of STEPS. whole: all rows of the slice are there and have all steps, so that no step is masked. */
template <typename SUM> struct lane_steps {
  const device_values &values;
  const SUM *table;
  const device_vectors &v;
  const macko_slice &s;
  const char *start; /* of the slice's values */
  const uint32_t *gaps;
  int lane, base, length, whole, from, to;
};

/* Adds steps k .. k + n - 1 to the sums of a lane. MASKED: not all rows of the slice have all steps. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED, int FULL>
static __device__ __forceinline__ void add_round(const lane_steps<SUM> &l, int k, int n, int *col, SUM sum[GROUP])
{
  constexpr int bytes = sizeof(typename element<STORED>::type);
  int cols[STEPS];
  SUM value[STEPS];
  load_steps<STORED, SUM, FULL>(l.start + (size_t)k * (MACKO_SLICE_ROWS * bytes), l.table, l.lane, n, value);
  load_columns<BITS, FULL>(l.gaps, k, l.to, l.lane, l.base, col, cols);
#pragma unroll
  for (int j = 0; j < STEPS; j++)
    if ((FULL || j < n) && (!MASKED || k + j < l.length))
#pragma unroll
      for (int g = 0; g < GROUP; g++) sum[g] += value[j] * (SUM)load_vector<VECTOR>(l.v.x, g * l.v.ldx + cols[j], l.v.type);
}

/* Gives the sum of the first n gaps of a lane, n a multiple of STEPS: where a warp begins that takes a part of a slice. Dot
 * products add up four codes at once. */
template <int BITS> static __device__ __forceinline__ int skip_gaps(const uint32_t *gaps, int n, int lane)
{
  constexpr int per = 32 / BITS;
  unsigned sum = (unsigned)n;
#pragma unroll 8
  for (int k = 0; k < n; k += per) {
    uint32_t word = __ldg(gaps + k / per * MACKO_SLICE_ROWS + lane);
    if (BITS == 4) {
      if (k + STEPS == n) word &= 0xffffu;
      sum = __dp4a(word & 0x0f0f0f0fu, 0x01010101u, __dp4a(word >> 4 & 0x0f0f0f0fu, 0x01010101u, sum));
    } else if (BITS == 8) sum = __dp4a(word, 0x01010101u, sum);
    else sum += BITS == 16 ? (word & 0xffffu) + (word >> 16) : word;
  }
  return (int)sum;
}

/* Adds the steps of the calling lane to its sums. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED>
static __device__ __forceinline__ void walk(const lane_steps<SUM> &l, SUM sum[GROUP])
{
  int col = l.base, k = l.from;
  if constexpr (BITS != 0) col += skip_gaps<BITS>(l.gaps, l.from, l.lane); /* uniform slices list distances, not gaps */
  /* Raw f64 waits for memory: it runs faster in fewer registers, with more warps (94 instead of 84 % of the copy ceiling). What
   * is narrower has more to compute, and gains by full rounds (135 instead of 160 us for 27 points in 8-bit codes). */
  if constexpr (STORED != MACKO_F64)
    for (; k + STEPS <= l.to; k += STEPS) add_round<STORED, VECTOR, SUM, GROUP, BITS, MASKED, 1>(l, k, STEPS, &col, sum);
  for (; k < l.to; k += STEPS) add_round<STORED, VECTOR, SUM, GROUP, BITS, MASKED, 0>(l, k, min(STEPS, l.to - k), &col, sum);
}

/* Does the same, masked only where the slice is not whole. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS>
static __device__ __forceinline__ void walk_slice(const lane_steps<SUM> &l, SUM sum[GROUP])
{
  if (l.whole) walk<STORED, VECTOR, SUM, GROUP, BITS, 0>(l, sum);
  else walk<STORED, VECTOR, SUM, GROUP, BITS, 1>(l, sum);
}

/* Adds the products of n steps of a lane, for vectors whose type is known at run time. */
template <typename SUM, int GROUP>
static __device__ __forceinline__ void add_any(const device_vectors &v, const SUM value[STEPS], const int cols[STEPS], int n,
                                               SUM sum[GROUP])
{
#pragma unroll 1
  for (int g = 0; g < GROUP; g++) {
    SUM x[STEPS];
    with_vector<MACKO_ANY>(v.type, [&](auto type) {
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        if (j < n) x[j] = (SUM)load_vector<type.value>(v.x, g * v.ldx + cols[j], v.type);
    });
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (j < n) sum[g] += value[j] * x[j];
  }
}

/* Adds the steps of the calling lane where types are known at run time, whatever the width of gaps: one loop instead of twenty.
 * */
template <typename SUM, int GROUP> static __device__ __forceinline__ void walk_any(const lane_steps<SUM> &l, SUM sum[GROUP])
{
  const macko_slice &s = l.s;
  int col = l.base;
  for (int k = 0; s.gap_bits && k < l.from; k++) col += (int)macko_slice_gap(l.gaps, s.gap_bits, k, l.lane);
#pragma unroll 1
  for (int k = l.from; k < l.to; k += STEPS) {
    int n = min(l.to, l.length) - k, cols[STEPS];
    SUM value[STEPS];
    with_stored<MACKO_ANY>(l.values.stored_type, [&](auto type) {
      constexpr int bytes = sizeof(typename element<type.value>::type);
#pragma unroll
      for (int j = 0; j < STEPS; j++)
        if (j < n) value[j] = load_value<type.value, SUM>(l.values, macko_slice_slot(s.values, bytes, k + j, l.lane));
    });
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      cols[j] = col;
      if (s.gap_bits && j + 1 < l.to - k) col += (int)macko_slice_gap(l.gaps, s.gap_bits, k + j, l.lane);
      if (!s.gap_bits && j < n && k + j) cols[j] = l.base + (int)__ldg(l.gaps + k + j - 1);
    }
    add_any<SUM, GROUP>(l.v, value, cols, n, sum);
  }
}

/* These are the values of the matrix, and the table of a block that decodes them. */
template <typename SUM> struct block_values {
  const device_values &values;
  const SUM *table;
};

/* Adds steps from .. to - 1 of a slice to the sums of the calling lane; answers the lane's row, a.nrows or more where it has
 * none. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ int64_t add_slice(const slices &a, const block_values<SUM> &b, const device_vectors &v,
                                                    const macko_slice &s, int64_t slice, int from, int to, SUM sum[GROUP])
{
  const int lane = threadIdx.x % MACKO_SLICE_ROWS;
  const slice_lane row = open_lane(a, s, slice, lane);
  const int whole = s.length_bytes == 0 && (slice + 1) * MACKO_SLICE_ROWS <= a.nrows;
  const char *start = (const char *)b.values.stream + (size_t)s.values * MACKO_VALUE_UNIT;
  const lane_steps<SUM> l = {b.values, b.table,    v,     s,    start, macko_slice_gaps(&s, a.blocks), lane,
                             row.base, row.length, whole, from, to};
  if constexpr (!is_known<STORED>) walk_any<SUM, GROUP>(l, sum);
  else switch (s.gap_bits) {
  case 0: walk_slice<STORED, VECTOR, SUM, GROUP, 0>(l, sum); break;
  case 4: walk_slice<STORED, VECTOR, SUM, GROUP, 4>(l, sum); break;
  case 8: walk_slice<STORED, VECTOR, SUM, GROUP, 8>(l, sum); break;
  case 16: walk_slice<STORED, VECTOR, SUM, GROUP, 16>(l, sum); break;
  default: walk_slice<STORED, VECTOR, SUM, GROUP, 32>(l, sum);
  }
  return row.row;
}

#endif
