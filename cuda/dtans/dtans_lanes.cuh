/* Format dtans on the device: the streams of a slice, and lanes of one row or of several. */
#ifndef MACKO_DTANS_LANES_CUH
#define MACKO_DTANS_LANES_CUH

#include "dtans/dtans_slice.cuh"

/* ---- streams of a slice ---- */

/* These are the tables in shared memory that a kind of streams needs, how many bytes they take, and how a block of threads
 * fills them. */
template <int KIND, typename SUM, int POWERS> struct tables_of;
template <typename SUM, int POWERS> struct tables_of<MACKO_DTANS_JOINT, SUM, POWERS> {
  shared_table<POWERS, pair_entry<SUM>> pairs;
  static int bytes(const dtans_matrix &a) { return shared_table<POWERS, pair_entry<SUM>>::bytes(a.table[0].symbols,
                                                                                                a.table[0].id_bytes); }
  __device__ void fill(const dtans_matrix &a, char *memory) { pairs.fill(a.table[0], memory); }
};
template <typename SUM, int POWERS> struct tables_of<MACKO_DTANS_BESIDE, SUM, POWERS> {
  shared_table<POWERS, gap_entry> gaps;
  static int bytes(const dtans_matrix &a) { return shared_table<POWERS, gap_entry>::bytes(a.table[0].symbols,
                                                                                          a.table[0].id_bytes); }
  __device__ void fill(const dtans_matrix &a, char *memory) { gaps.fill(a.table[0], memory); }
};
template <typename SUM, int POWERS> struct tables_of<MACKO_DTANS_SPLIT, SUM, POWERS> {
  shared_table<POWERS, gap_entry> gaps;
  shared_table<POWERS, value_entry<SUM>> values;
  static int bytes(const dtans_matrix &a)
  {
    return shared_table<POWERS, gap_entry>::bytes(a.table[0].symbols, a.table[0].id_bytes) +
           shared_table<POWERS, value_entry<SUM>>::bytes(a.table[1].symbols, a.table[1].id_bytes);
  }
  __device__ void fill(const dtans_matrix &a, char *memory) { values.fill(a.table[1], gaps.fill(a.table[0], memory)); }
};
template <typename SUM, int POWERS>
struct tables_of<MACKO_DTANS_PAPER, SUM, POWERS> : tables_of<MACKO_DTANS_SPLIT, SUM, POWERS> {};

/* Reads the streams of a slice, a segment at a time. GROUPS is how many words of a segment digits may give, 0 where that is
 * known at run time only. */
template <int KIND, int GROUPS, int POWERS, typename SUM> struct slice_reader {
  static constexpr int N = KIND == MACKO_DTANS_PAPER ? 4 : 8; /* nonzeros of a segment */
  static constexpr int DOMAINS = KIND == MACKO_DTANS_PAPER ? 2 : 1;
  static constexpr int STREAMS = KIND == MACKO_DTANS_SPLIT ? 2 : 1;
  segment_reader r[STREAMS];
  int64_t slot; /* of the next value beside the gaps */

  /* Begins the slice; `count` are the nonzeros of the calling lane. */
  __device__ __forceinline__ void start(const dtans_matrix &a, const slice_place &place, int count)
  {
#pragma unroll
    for (int i = 0; i < STREAMS; i++) start_stream<POWERS, DOMAINS>(&r[i].stream, a.words[i] + place.start[i], count);
    slot = place.start[1];
  }

  /* Decodes the gaps and values of a segment, of which the calling lane has `left` nonzeros and no lane more than `most`. */
  __device__ __forceinline__ void read(const dtans_matrix &a, const tables_of<KIND, SUM, POWERS> &t, const device_values &values,
                                       int left, int most, uint32_t gap[N], SUM value[N])
  {
    if constexpr (KIND == MACKO_DTANS_PAPER) r[0].read_both(t.gaps, t.values, a.value_type, left, gap, value);
    else if constexpr (KIND == MACKO_DTANS_JOINT) r[0].template read<POWERS, 1, 1>(t.pairs, a.value_type, left, most, gap, value);
    else r[0].template read<POWERS, 1, 0>(t.gaps, a.value_type, left, most, gap, value);
    if constexpr (KIND == MACKO_DTANS_SPLIT) r[STREAMS - 1].template read<POWERS, 0, 1>(t.values, a.value_type, left, most, gap,
                                                                                        value);
    if constexpr (KIND == MACKO_DTANS_BESIDE) load_beside(a, values, left, __all_sync(MACKO_EVERY_LANE, left >= 8), &slot, value);
  }

  /* Loads the next segment, of which the calling lane has `left` nonzeros. It must come between two reads. */
  __device__ __forceinline__ void go_on(int groups, int left)
  {
#pragma unroll
    for (int i = 0; i < STREAMS; i++)
      if (GROUPS == 2 || (!GROUPS && groups == 2)) advance<POWERS, DOMAINS, 2>(&r[i].stream, r[i].slots, r[i].codes, left);
      else advance<POWERS, DOMAINS, 3>(&r[i].stream, r[i].slots, r[i].codes, left);
  }
};

/* ---- one row a lane ---- */

/* Multiplies a slice whose lanes have one row each, of `left` entries. The next segment is on its way while products are added
 * up. */
template <int KIND, int GROUPS, int POWERS, int VECTOR, typename SUM, int GROUP>
MACKO_DEVICE void multiply_rows(const dtans_matrix &a, const tables_of<KIND, SUM, POWERS> &t, const device_values &values,
                                const device_vectors &v, const slice_place &place, int64_t row, int left)
{
  typedef slice_reader<KIND, GROUPS, POWERS, SUM> reader;
  constexpr int N = reader::N;
  reader s;
  SUM sum[GROUP] = {}, value[N];
  uint32_t gap[N], col = (uint32_t)row & a.relative;
  bool begins = a.relative;
  s.start(a, place, left);
  /* These are segments that are not the last one of some lane. */
  for (; __any_sync(MACKO_EVERY_LANE, left > N); left -= N) {
    s.read(a, t, values, left, N, gap, value);
    if (begins) gap[0] = unzigzag(gap[0]), begins = false;
    s.go_on(a.groups, left - N);
    if (__all_sync(MACKO_EVERY_LANE, left >= N)) multiply_inside<VECTOR, SUM, GROUP, N, 1>(v, gap, value, N, N, &col, sum);
    else multiply_inside<VECTOR, SUM, GROUP, N, 0>(v, gap, value, left, N, &col, sum);
  }
  int most = __reduce_max_sync(MACKO_EVERY_LANE, left);
  if (most > 0) {
    s.read(a, t, values, left, most, gap, value);
    if (begins) gap[0] = unzigzag(gap[0]);
    multiply_inside<VECTOR, SUM, GROUP, N, 0>(v, gap, value, left, most, &col, sum);
  }
  if (row < a.nrows)
#pragma unroll
    for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, row, sum[g]);
}

/* ---- several rows a lane ---- */

/* This says where a lane of several rows stands. Rows are counted from the slice's first one, but for `first`. */
struct lane_rows {
  int64_t first;  /* the slice's first row */
  int row, past;  /* the lane's row; rows of the slice */
  int left;       /* entries of the row from this segment on; INT32_MAX when the lane is at its end */
  uint32_t col;   /* of the entry before */
  bool begins;    /* the next entry is the first of its row, and its gap counts from the diagonal */
  const uint32_t *lengths; /* the word that holds the length of the row after this one */
  uint32_t ahead; /* that word */
  int shift;      /* where in it */
};

/* Goes on to the next row that has entries, which begin behind the `done` ones of this segment. Rows without entries on the way
 * get a sum of 0. The length of the row after it is loaded ahead. */
template <int VECTOR, int GROUP> MACKO_DEVICE void next_row(const dtans_matrix &a, const device_vectors &v, int done,
                                                            lane_rows *w)
{
  for (w->row += WARP; w->row < w->past; w->row += WARP) {
    uint32_t length = length_in(a, w->ahead, w->shift);
    w->lengths += WARP / 4 * a.length_bytes;
    w->ahead = w->row + WARP < w->past ? __ldg(w->lengths) : 0;
    w->left = done + (int)length, w->col = ((uint32_t)w->first + (uint32_t)w->row) & a.relative, w->begins = a.relative;
    if (length) return;
#pragma unroll
    for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, w->first + w->row, 0);
  }
  w->left = INT32_MAX;
}

/* Sets the lane to its first row that has entries; returns how many entries all its rows have. */
template <int VECTOR, int GROUP> MACKO_DEVICE int first_row(const dtans_matrix &a, const device_vectors &v, int64_t slice,
                                                            int lane, lane_rows *w)
{
  int count = 0;
  w->first = slice * a.rows * WARP;
  w->past = (int)min((int64_t)a.rows * WARP, a.nrows - w->first);
  int64_t byte = (w->first + lane) * a.length_bytes;
  w->lengths = (const uint32_t *)a.lengths + byte / 4, w->shift = (int)(byte % 4) * 8;
  for (int row = lane, i = 0; row < w->past; row += WARP, i += WARP / 4 * a.length_bytes)
    count += (int)length_in(a, __ldg(w->lengths + i), w->shift);
  w->ahead = lane < w->past ? __ldg(w->lengths) : 0;
  w->row = lane - WARP, w->begins = false, w->col = 0;
  next_row<VECTOR, GROUP>(a, v, 0, w);
  return count;
}

/* Adds N entries of a lane of several rows, or as many as are left of it (`count`): where a row ends its sum is written and the
 * next one begins. */
template <int VECTOR, typename SUM, int GROUP, int N, int WHOLE>
MACKO_DEVICE void multiply_across(const dtans_matrix &a, const device_vectors &v, uint32_t gap[N], const SUM value[N], int count,
                                  lane_rows *w, SUM sum[GROUP])
{
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (!WHOLE && i >= count) break;
    w->col += gap[i];
#pragma unroll
    for (int g = 0; g < GROUP; g++)
      sum[g] = add_product(value[i], (SUM)load_vector<VECTOR>(v.x, g * v.ldx + (int64_t)w->col, v.type), sum[g]);
    if (w->left != i + 1) continue;
#pragma unroll
    for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, w->first + w->row, sum[g]), sum[g] = 0;
    next_row<VECTOR, GROUP>(a, v, i + 1, w);
    if (i + 1 < N && w->begins) gap[i + 1] = unzigzag(gap[i + 1]), w->begins = false;
  }
  if (w->left != INT32_MAX) w->left -= N;
}

/* Multiplies a slice whose lanes have several rows. */
template <int KIND, int GROUPS, int POWERS, int VECTOR, typename SUM, int GROUP>
MACKO_DEVICE void multiply_lanes(const dtans_matrix &a, const tables_of<KIND, SUM, POWERS> &t, const device_values &values,
                                 const device_vectors &v, int64_t slice, int lane)
{
  typedef slice_reader<KIND, GROUPS, POWERS, SUM> reader;
  constexpr int N = reader::N;
  lane_rows w;
  reader s;
  SUM sum[GROUP] = {};
  int left = first_row<VECTOR, GROUP>(a, v, slice, lane, &w); /* entries of the lane from this segment on */
  for (s.start(a, place_of(a, slice), left); __any_sync(MACKO_EVERY_LANE, left > 0); left -= N) {
    uint32_t gap[N];
    SUM value[N];
    s.read(a, t, values, left, N, gap, value);
    s.go_on(a.groups, left - N);
    if (w.begins) gap[0] = unzigzag(gap[0]), w.begins = false;
    /* What is true of the whole warp saves a test at every entry. */
    if (__all_sync(MACKO_EVERY_LANE, left >= N && w.left > N))
      multiply_inside<VECTOR, SUM, GROUP, N, 1>(v, gap, value, N, N, &w.col, sum), w.left -= N;
    else if (is_known<VECTOR> && __all_sync(MACKO_EVERY_LANE, left >= N))
      multiply_across<VECTOR, SUM, GROUP, N, 1>(a, v, gap, value, left, &w, sum);
    else multiply_across<VECTOR, SUM, GROUP, N, 0>(a, v, gap, value, left, &w, sum);
  }
}

#endif
