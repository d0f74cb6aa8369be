/* Layout slice with value codec pairs: a code is a pair of a gap and a value, both in one entry of a table in shared memory. The
 * rest is as in slice.cu. */
#include "macko/slice.cuh"

/* This is what codes stand for, in device memory. */
template <typename SUM> struct pair_source {
  const uint32_t *codes, *gaps; /* section "values", four codes a word; a gap a code */
  const SUM *values;
  int count;         /* pairs */
};

/* These are the values and gaps side by side, an entry a code. */
template <typename SUM> struct wide_table {
  struct alignas(2 * sizeof(SUM)) entry {
    SUM value;
    int gap;
  };
  const entry *at;
  __device__ __forceinline__ SUM look_up(uint32_t code, int *gap) const
  {
    entry e = at[code];
    *gap = e.gap;
    return e.value;
  }
};

/* This is the same in a word each, where values are f16 numbers and gaps have 16 bits. Lanes look up different entries, which
 * take as many turns as they share banks: fewer than those of entries of 16 bytes (24 entries a row, 36 instead of 64 us; more
 * copies of the table did not help). */
template <typename SUM> struct narrow_table {
  const uint32_t *at;
  __device__ __forceinline__ SUM look_up(uint32_t code, int *gap) const
  {
    uint32_t word = at[code];
    *gap = (int)(word & 0xffff);
    return (SUM)number_of<MACKO_F16>(word >> 16);
  }
};

/* This is a block's table in shared memory, of one kind or the other. */
template <typename SUM> union shared_pairs {
  typename wide_table<SUM>::entry wide[TABLE];
  uint32_t narrow[TABLE];
};

/* Gives a pair in a word; *fits becomes false where it has no room there. */
static __device__ __forceinline__ uint32_t narrow_pair(double value, uint32_t gap, bool *fits)
{
  __half half = __double2half(value);
  *fits &= (double)__half2float(half) == value && gap < 65536;
  return (uint32_t)__half_as_ushort(half) << 16 | gap;
}

/* Fills the table of a block; 1 if it is narrow. All threads of the block take part. */
template <typename SUM> static __device__ __forceinline__ int share_pairs(const pair_source<SUM> &p, shared_pairs<SUM> *table)
{
  bool fits = true;
  for (int i = threadIdx.x; i < p.count; i += THREADS) narrow_pair(p.values[i], p.gaps[i], &fits);
  int narrow = __syncthreads_and(fits);
  for (int i = threadIdx.x; narrow && i < p.count; i += THREADS) table->narrow[i] = narrow_pair(p.values[i], p.gaps[i], &fits);
  for (int i = threadIdx.x; !narrow && i < p.count; i += THREADS) table->wide[i] = {p.values[i], (int)p.gaps[i]};
  __syncthreads();
  return narrow;
}

/* Gives the sum of the gaps of the first n entries of a lane, n a multiple of STEPS: where a warp begins that takes a part of a
 * slice. */
template <typename PAIRS> static __device__ __forceinline__ int skip_pairs(const uint32_t *words, const PAIRS &table, int n)
{
  unsigned sum = 0;
  for (int k = 0; k < n; k += STEPS) {
    uint32_t word = __ldg(words + k / STEPS * MACKO_SLICE_ROWS);
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      int gap;
      table.look_up(word >> 8 * j & 255, &gap);
      sum += (unsigned)gap;
    }
  }
  return (int)sum;
}

/* This is what the calling lane takes of a slice: steps from .. to - 1 of its row, which has `length` of them, from column base
 * on. Its codes are the bytes of every 32nd word; from is a multiple of STEPS. gaps is the slice's list, where it has one. */
struct coded_steps {
  const uint32_t *words, *gaps;
  int base, length, from, to;
};

/* Adds the steps of a lane. LISTED: columns come from the slice's list. The word of the next steps is on its way while these are
 * added. Codes beyond the end of a row are 0, a pair like any other, which is not added. */
template <int VECTOR, typename SUM, int GROUP, int LISTED, typename PAIRS>
static __device__ __forceinline__ void walk_pairs(const coded_steps &l, const PAIRS &table, const device_vectors &v, SUM sum[GROUP])
{
  int col = LISTED ? l.base : l.base + skip_pairs(l.words, table, l.from);
  uint32_t word = l.from < l.to ? __ldcs(l.words + l.from / STEPS * MACKO_SLICE_ROWS) : 0;
  for (int k = l.from; k < l.to; k += STEPS) {
    uint32_t next = k + STEPS < l.to ? __ldcs(l.words + (k / STEPS + 1) * MACKO_SLICE_ROWS) : 0;
    int cols[STEPS];
    SUM value[STEPS];
#pragma unroll
    for (int j = 0; j < STEPS; j++) {
      int gap;
      value[j] = table.look_up(word >> 8 * j & 255, &gap);
      if (!LISTED) cols[j] = col += gap;
      else cols[j] = l.base + (k + j && k + j < l.to ? (int)__ldg(l.gaps + k + j - 1) : 0);
    }
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (k + j < l.to && k + j < l.length)
#pragma unroll
        for (int g = 0; g < GROUP; g++)
          sum[g] = add_product(value[j], (SUM)load_vector<VECTOR>(v.x, g * v.ldx + cols[j], v.type), sum[g]);
    word = next;
  }
}

/* This is the table of a block, and which of the two it is. */
template <typename SUM> struct block_pairs {
  const uint32_t *codes; /* of the matrix */
  const shared_pairs<SUM> &table;
  int narrow;
};

/* Adds steps from .. to - 1 of a slice to the sums of the calling lane, and answers its row. */
template <int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ int64_t add_slice(const slices &a, const block_pairs<SUM> &pairs, const device_vectors &v,
                                                    const macko_slice &s, int64_t slice, int from, int to, SUM sum[GROUP])
{
  const int lane = threadIdx.x % MACKO_SLICE_ROWS;
  const uint32_t *words = pairs.codes + (size_t)s.values * MACKO_SLICE_ROWS + lane;
  const slice_lane row = open_lane(a, s, slice, lane);
  const coded_steps l = {words, macko_slice_gaps(&s, a.blocks), row.base, row.length, from, to};
  const narrow_table<SUM> narrow = {pairs.table.narrow};
  const wide_table<SUM> wide = {pairs.table.wide};
  if (s.gap_bits && pairs.narrow) walk_pairs<VECTOR, SUM, GROUP, 0>(l, narrow, v, sum);
  else if (s.gap_bits) walk_pairs<VECTOR, SUM, GROUP, 0>(l, wide, v, sum);
  else if (pairs.narrow) walk_pairs<VECTOR, SUM, GROUP, 1>(l, narrow, v, sum);
  else walk_pairs<VECTOR, SUM, GROUP, 1>(l, wide, v, sum);
  return row.row;
}

/* Multiplies by slices, a warp each. */
template <int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) pairs_kernel(slices a, pair_source<SUM> p, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, 1>(all);
  __shared__ shared_pairs<SUM> table;
  const block_pairs<SUM> pairs = {p.codes, table, share_pairs(p, &table)};
  take_slices<VECTOR, SUM, GROUP>(a, v, [&](const macko_slice &s, int64_t slice, int from, int to, SUM *sum) {
    return add_slice<VECTOR, SUM, GROUP>(a, pairs, v, s, slice, from, to, sum);
  });
}

/* Multiplies by slices, a.split warps each. */
template <int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) split_pairs_kernel(slices a, pair_source<SUM> p, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, 1>(all);
  __shared__ shared_pairs<SUM> table;
  __shared__ block_sums<SUM, GROUP> sums;
  const block_pairs<SUM> pairs = {p.codes, table, share_pairs(p, &table)};
  split_slices<STEPS, VECTOR>(a, v, &sums, [&](const macko_slice &s, int64_t slice, int from, int to, SUM *sum) {
    return add_slice<VECTOR, SUM, GROUP>(a, pairs, v, s, slice, from, to, sum);
  });
}

/* Starts the kernel for v.count groups at once. */
template <int VECTOR, typename SUM, int GROUP>
static cudaError_t start_pairs(const slices &a, const pair_source<SUM> &source, const device_vectors &v, cudaStream_t stream)
{
  const auto kernel = a.split > 1 ? split_pairs_kernel<VECTOR, SUM, GROUP> : pairs_kernel<VECTOR, SUM, GROUP>;
  unsigned blocks = blocks_for(a.count * a.split);
  /* A block that has loaded a table keeps it for several slices. */
  if (a.split == 1 && blocks > 4096) blocks = (blocks + 3) / 4;
  return launch(kernel, dim3(blocks, v.count), THREADS, 0, stream, a, source, v);
}

/* Goes through the vectors of p. */
template <int VECTOR, typename SUM>
static cudaError_t run_pairs(const slices &a, const pair_source<SUM> &source, const macko_product *p, int grouped,
                             cudaStream_t stream)
{
  return go_through(
    p, grouped, MACKO_DEVICE_AT_ONCE,
    [&](const device_vectors &v) { return start_pairs<VECTOR, SUM, MACKO_DEVICE_GROUP>(a, source, v, stream); },
    [&](const device_vectors &v) { return start_pairs<VECTOR, SUM, 1>(a, source, v, stream); });
}

/* Sums are f32 where vectors are f32 and the matrix is not f64, else f64. */
macko_status macko_pairs_multiply(const slices &a, const macko_device_matrix *d, const macko_product *p, int grouped,
                                  cudaStream_t stream, macko_error *err)
{
  const device_tables *t = &((const device_macko *)d->own)->tables;
  const uint32_t *codes = (const uint32_t *)macko_device_data(d, "values");
  const uint32_t *gaps = (const uint32_t *)macko_device_data(d, "pair_gaps");
  int count = (int)d->m.plan.table;
  pair_source<double> f64 = {codes, gaps, t->as_f64, count};
  cudaError_t error;
  if (p->vector_type == MACKO_F64) error = run_pairs<MACKO_F64, double>(a, f64, p, grouped, stream);
  else if (p->vector_type == MACKO_F32 && t->as_f32)
    error = run_pairs<MACKO_F32, float>(a, pair_source<float>{codes, gaps, t->as_f32, count}, p, grouped, stream);
  else error = run_pairs<MACKO_ANY, double>(a, f64, p, grouped, stream);
  return macko_cuda_status(error, "starting a multiply", err);
}
