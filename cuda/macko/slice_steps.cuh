/* Layout slice: the steps of a slice, by one warp, one lane a row. Everything about a slice but its rows' own numbers is the same
 * for the warp, so no branch diverges. Steps are taken several at a time, so that as many loads are in flight. */
#ifndef MACKO_SLICE_STEPS_CUH
#define MACKO_SLICE_STEPS_CUH

#include "macko/slice.cuh"

/* How many steps a lane takes in a round: as many of its loads are in flight. Elements of one and two bytes share words, so that it
 * takes more of them (f16 values 28.8 instead of 34.0 us for 5 points). */
template <int STORED> constexpr int round_steps = sizeof(typename element<STORED>::type) <= 2 ? 2 * STEPS : STEPS;

/* The words that hold a lane's values of a round. What is beyond step n, which a FULL round does not ask for, is 0: words that
 * kept what they held would need registers for it. */
template <int STORED> struct value_words {
  typedef typename element<STORED>::type type;
  static constexpr int PER = sizeof(type) < 4 ? 4 / sizeof(type) : 1, BITS = 8 * sizeof(type), COUNT = round_steps<STORED> / PER;
  uint32_t words[COUNT];
  template <int FULL> __device__ __forceinline__ void load(const char *start, int lane, int n)
  {
#pragma unroll
    for (int w = 0; w < COUNT; w++)
      words[w] = FULL || w * PER < n ? __ldcs((const uint32_t *)start + w * MACKO_SLICE_ROWS + lane) : 0;
  }
  template <typename SUM> __device__ __forceinline__ SUM value(int j, const SUM *table) const
  {
    uint32_t word = words[j / PER];
    return value_of<STORED, SUM>(PER == 1 ? word : word >> (j % PER * BITS) & ((1u << BITS % 32) - 1), table);
  }
};

template <> struct value_words<MACKO_F64> {
  double words[STEPS];
  template <int FULL> __device__ __forceinline__ void load(const char *start, int lane, int n)
  {
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      words[j] = FULL || j < n ? __ldcs((const double *)start + j * MACKO_SLICE_ROWS + lane) : 0;
  }
  template <typename SUM> __device__ __forceinline__ SUM value(int j, const SUM *) const { return (SUM)words[j]; }
};

/* The words that hold a lane's gaps of a round. BITS are those of a gap, 0 for a list of distances from the base column. */
template <int BITS, int ROUND> struct gap_words {
  static constexpr int PER = BITS ? 32 / BITS : 1, COUNT = (ROUND + PER - 1) / PER;
  uint32_t words[COUNT];
  /* Loads those of the round that begins at step k, which is a multiple of ROUND; nothing beyond the slice's steps. */
  __device__ __forceinline__ void load(const uint32_t *gaps, int k, int steps, int lane)
  {
#pragma unroll
    for (int w = 0; w < COUNT; w++) {
      const int step = k + w * PER;
      if (BITS) words[w] = step + 1 < steps ? __ldg(gaps + (k / PER + w) * MACKO_SLICE_ROWS + lane) : 0;
      else words[w] = step && step < steps ? __ldg(gaps + step - 1) : 0;
    }
  }
  /* Gives the round's columns; *col is the column of step k before and of step k + ROUND after. */
  __device__ __forceinline__ void columns(int k, int base, int *col, int cols[ROUND]) const
  {
#pragma unroll
    for (int j = 0; j < ROUND; j++)
      if (!BITS) cols[j] = base + (int)words[j];
      else {
        uint32_t word = words[j / PER];
        if (PER > ROUND) word >>= k % PER * BITS; /* a word holds the codes of several rounds */
        cols[j] = *col;
        *col += (int)(word >> (j % PER * BITS % 32) & (0xffffffffu >> (32 - BITS) % 32)) + 1;
      }
  }
};

/* This is what the calling lane takes of a slice: steps from .. to - 1 of its row, which has `length` of them, from column base
 * on; `from` is a multiple of round_steps. whole: all rows of the slice are there and have all steps, so that no step is masked. */
template <typename SUM> struct lane_steps {
  const device_values &values;
  const SUM *table;
  const device_vectors &v;
  const macko_slice &s;
  const char *start; /* of the slice's values */
  const uint32_t *gaps;
  int lane, base, length, whole, from, to;
};

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

/* Loads a round of steps from k on, whose gaps are given, and adds it to the sums of a lane: a FULL one, or as many steps as are
 * left, if they are fewer. MASKED: not all rows of the slice have all steps. For a group of vectors a few steps of values
 * of four bytes or more, or any added up in f64, ask for all their elements of x before any is multiplied (tetrahedra of three
 * unknowns 66 instead of 89 us, of f32 42 instead of 57); f16 values, of which a round has more, are slower so (44 instead of 40)
 * where vectors do not lie side by side, and one vector up to a quarter, as it takes registers. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED, int FULL>
static __device__ __forceinline__ void add_round(const lane_steps<SUM> &l, int k, const gap_words<BITS, round_steps<STORED>> &gaps,
                                                 int *col, SUM sum[GROUP])
{
  constexpr int ROUND = round_steps<STORED>, step_bytes = MACKO_SLICE_ROWS * sizeof(typename element<STORED>::type);
  constexpr int TOGETHER = GROUP > 1 && (sizeof(SUM) == 8 || STORED == MACKO_F32 || is_beside<VECTOR>) ? STEPS : 1;
  const int n = FULL ? ROUND : min(ROUND, l.to - k);
  int cols[ROUND];
  value_words<STORED> values;
  values.template load<FULL>(l.start + (size_t)k * step_bytes, l.lane, n);
  gaps.columns(k, l.base, col, cols);
  if constexpr (TOGETHER == 1) {
#pragma unroll
    for (int j = 0; j < ROUND; j++)
      if ((FULL || j < n) && (!MASKED || k + j < l.length))
#pragma unroll
        for (int g = 0; g < GROUP; g++)
          sum[g] = add_product(values.value(j, l.table), (SUM)load_vector<VECTOR>(l.v.x, g * l.v.ldx + cols[j], l.v.type), sum[g]);
  } else {
#pragma unroll
    for (int first = 0; first < ROUND; first += TOGETHER) {
      SUM x[TOGETHER][GROUP];
#pragma unroll
      for (int j = 0; j < TOGETHER; j++)
        if ((FULL || first + j < n) && (!MASKED || k + first + j < l.length))
          load_group<VECTOR, SUM, GROUP>(l.v, cols[first + j], x[j]);
#pragma unroll
      for (int j = 0; j < TOGETHER; j++)
#pragma unroll
        for (int g = 0; g < GROUP; g++)
          if ((FULL || first + j < n) && (!MASKED || k + first + j < l.length))
            sum[g] = add_product(values.value(first + j, l.table), x[j][g], sum[g]);
    }
  }
}

/* Adds the steps of the calling lane to its sums, in full rounds as long as there are, each while the gaps of the next one are on
 * their way: x waits for them (f32 values 26 instead of 32 us for elasticity, 16 instead of 20 for tetrahedra). UNROLLED rounds
 * are taken together, 0: as many as the compiler likes. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED, int UNROLLED>
static __device__ __forceinline__ void walk_narrow(const lane_steps<SUM> &l, int col, SUM sum[GROUP])
{
  constexpr int ROUND = round_steps<STORED>;
  gap_words<BITS, ROUND> gaps, next;
  int k = l.from;
  const auto full_round = [&] {
    next.load(l.gaps, k + ROUND, l.to, l.lane);
    add_round<STORED, VECTOR, SUM, GROUP, BITS, MASKED, 1>(l, k, gaps, &col, sum);
    gaps = next;
  };
  gaps.load(l.gaps, k, l.to, l.lane);
  if constexpr (UNROLLED > 0) {
#pragma unroll UNROLLED
    for (; k + ROUND <= l.to; k += ROUND) full_round();
  } else
    for (; k + ROUND <= l.to; k += ROUND) full_round();
  if (k < l.to) add_round<STORED, VECTOR, SUM, GROUP, BITS, MASKED, 0>(l, k, gaps, &col, sum);
}

/* Does the same for raw f64, which waits for memory: it runs faster in fewer registers, with more warps (94 instead of 84 % of the
 * copy ceiling). */
template <int VECTOR, typename SUM, int GROUP, int BITS, int MASKED>
static __device__ __forceinline__ void walk_wide(const lane_steps<SUM> &l, int col, SUM sum[GROUP])
{
  gap_words<BITS, STEPS> gaps;
#pragma unroll 1
  for (int k = l.from; k < l.to; k += STEPS) {
    gaps.load(l.gaps, k, l.to, l.lane);
    add_round<MACKO_F64, VECTOR, SUM, GROUP, BITS, MASKED, 0>(l, k, gaps, &col, sum);
  }
}

/* Does either. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED, int UNROLLED>
static __device__ __forceinline__ void walk(const lane_steps<SUM> &l, SUM sum[GROUP])
{
  int col = l.base;
  if constexpr (BITS != 0) col += skip_gaps<BITS>(l.gaps, l.from, l.lane); /* uniform slices list distances, not gaps */
  if constexpr (STORED == MACKO_F64) walk_wide<VECTOR, SUM, GROUP, BITS, MASKED>(l, col, sum);
  else walk_narrow<STORED, VECTOR, SUM, GROUP, BITS, MASKED, UNROLLED>(l, col, sum);
}

/* Does the same, masked only where the slice is not whole. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int UNROLLED>
static __device__ __forceinline__ void walk_slice(const lane_steps<SUM> &l, SUM sum[GROUP])
{
  if (l.whole) walk<STORED, VECTOR, SUM, GROUP, BITS, 0, UNROLLED>(l, sum);
  else walk<STORED, VECTOR, SUM, GROUP, BITS, 1, UNROLLED>(l, sum);
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
      if (j < n) sum[g] = add_product(value[j], x[j], sum[g]);
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

/* Adds steps from .. to - 1 of a slice to the sums of the calling lane, UNROLLED rounds together (walk_narrow); answers the lane's
 * row, a.nrows or more where it has none. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int UNROLLED>
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
  case 0: walk_slice<STORED, VECTOR, SUM, GROUP, 0, UNROLLED>(l, sum); break;
  case 4: walk_slice<STORED, VECTOR, SUM, GROUP, 4, UNROLLED>(l, sum); break;
  case 8: walk_slice<STORED, VECTOR, SUM, GROUP, 8, UNROLLED>(l, sum); break;
  case 16: walk_slice<STORED, VECTOR, SUM, GROUP, 16, UNROLLED>(l, sum); break;
  default: walk_slice<STORED, VECTOR, SUM, GROUP, 32, UNROLLED>(l, sum);
  }
  return row.row;
}

/* This is the body of kernels in which a warp takes a slice, which differ in their registers; AT_ONCE for several groups, in more
 * of them. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int UNROLLED, int AT_ONCE>
static __device__ __forceinline__ void whole_slices(const slices &a, const device_values &values, const device_vectors &all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, AT_ONCE>(all);
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const block_values<SUM> b = {values, share_table<STORED>(values, shared_table)};
  take_slices<VECTOR, SUM, GROUP>(a, v, [&](const macko_slice &s, int64_t slice, int from, int to, SUM *sum) {
    return add_slice<STORED, VECTOR, SUM, GROUP, UNROLLED>(a, b, v, s, slice, from, to, sum);
  });
}

/* This is the body of kernels in which a.split warps share a slice. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int AT_ONCE>
static __device__ __forceinline__ void shared_slices(const slices &a, const device_values &values, const device_vectors &all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, AT_ONCE>(all);
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  __shared__ block_sums<SUM, GROUP> sums;
  const block_values<SUM> b = {values, share_table<STORED>(values, shared_table)};
  split_slices<round_steps<STORED>, VECTOR>(a, v, &sums, [&](const macko_slice &s, int64_t slice, int from, int to, SUM *sum) {
    return add_slice<STORED, VECTOR, SUM, GROUP, 0>(a, b, v, s, slice, from, to, sum);
  });
}

#endif
