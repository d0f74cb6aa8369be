/* Layout slice: one warp a slice, one lane a row; several warps a slice where there are too few slices to fill the GPU.
 * Everything about a slice but its rows' own numbers is the same for the warp, so no branch diverges. Steps are taken several at
 * a time, so that as many loads are in flight. */
#include "macko/slice.cuh"

/* Values of steps 0 .. n - 1 of a lane, from start on; a FULL round has n = STEPS, and all its loads in flight at once. */
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

/* The same for types known at run time; step is the slice's. */
template <typename SUM>
static __device__ __forceinline__ void load_any_steps(const device_values &values, uint32_t start, int step, int lane, int n,
                                                      SUM v[STEPS])
{
  int bytes = values.stored_type == MACKO_F64 ? 8 : values.stored_type == MACKO_F32 ? 4
              : values.stored_type == MACKO_U8 || values.stored_type == MACKO_I8 ? 1 : 2;
#pragma unroll
  for (int j = 0; j < STEPS; j++)
    if (j < n) v[j] = load_value<MACKO_ANY, SUM>(values, macko_slice_slot(start, bytes, step + j, lane));
}

/* Columns of steps 0 .. n - 1 from step k on; col is the column of step k before and of step k + STEPS after. */
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

/* Steps k .. k + n - 1. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED, int FULL>
static __device__ __forceinline__ void add_round(const device_values &values, const SUM *table, const device_vectors &v,
                                                 const macko_slice &s, const char *start, const uint32_t *gaps, int lane,
                                                 int base, int length, int k, int n, int end, int *col, SUM sum[GROUP])
{
  constexpr int bytes = sizeof(typename element<STORED>::type);
  int cols[STEPS];
  SUM value[STEPS];
  if constexpr (STORED == MACKO_ANY) load_any_steps<SUM>(values, s.values, k, lane, n, value);
  else load_steps<STORED, SUM, FULL>(start + (size_t)k * (MACKO_SLICE_ROWS * bytes), table, lane, n, value);
  load_columns<BITS, FULL>(gaps, k, end, lane, base, col, cols);
#pragma unroll
  for (int j = 0; j < STEPS; j++)
    if ((FULL || j < n) && (!MASKED || k + j < length))
#pragma unroll
      for (int g = 0; g < GROUP; g++) sum[g] += value[j] * (SUM)load_vector<VECTOR>(v.x, g * v.ldx + cols[j], v.type);
}

/* Sum of the first n gaps of a lane; n is a multiple of STEPS. */
template <int BITS> static __device__ __forceinline__ int skip_gaps(const uint32_t *gaps, int n, int lane)
{
  constexpr int per = 32 / BITS;
  unsigned sum = (unsigned)n;
#pragma unroll 4
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

/* Steps from .. to - 1; from is a multiple of STEPS. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED>
static __device__ __forceinline__ void walk(const device_values &values, const SUM *table, const device_vectors &v,
                                            const macko_slice &s, const uint32_t *gaps, int lane, int base, int length,
                                            int from, int to, SUM sum[GROUP])
{
  const char *start = (const char *)values.stream + (size_t)s.values * MACKO_VALUE_UNIT;
  int col = base, k = from;
  if constexpr (BITS != 0) col += skip_gaps<BITS>(gaps, from, lane); /* uniform slices list distances, not gaps */
  /* Raw f64 waits for memory: it runs faster in fewer registers, with more warps (94 instead of 84 % of the copy ceiling). What
   * is narrower has more to compute, and gains by full rounds (135 instead of 160 us for 27 points in 8-bit codes). */
  if constexpr (STORED != MACKO_F64)
    for (; k + STEPS <= to; k += STEPS)
      add_round<STORED, VECTOR, SUM, GROUP, BITS, MASKED, 1>(values, table, v, s, start, gaps, lane, base, length, k, STEPS, to,
                                                             &col, sum);
  for (; k < to; k += STEPS)
    add_round<STORED, VECTOR, SUM, GROUP, BITS, MASKED, 0>(values, table, v, s, start, gaps, lane, base, length, k,
                                                           min(STEPS, to - k), to, &col, sum);
}

template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS>
static __device__ __forceinline__ void walk_slice(const device_values &values, const SUM *table, const device_vectors &v,
                                                  const macko_slice &s, const uint32_t *gaps, int lane, int base, int length,
                                                  int whole, int from, int to, SUM sum[GROUP])
{
  if (whole) walk<STORED, VECTOR, SUM, GROUP, BITS, 0>(values, table, v, s, gaps, lane, base, length, from, to, sum);
  else walk<STORED, VECTOR, SUM, GROUP, BITS, 1>(values, table, v, s, gaps, lane, base, length, from, to, sum);
}

/* Sums of steps from .. to - 1 of the rows of a slice; answers the lane's row, a.nrows or more where it has none. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ int64_t add_slice(const slices &a, const device_values &values, const SUM *table,
                                                    const device_vectors &v, const macko_slice &s, int64_t slice, int from,
                                                    int to, SUM sum[GROUP])
{
  int lane = threadIdx.x % MACKO_SLICE_ROWS;
  const uint32_t *gaps = macko_slice_gaps(&s, a.blocks);
  slice_lane row = open_lane(a, s, slice, lane);
  int base = row.base, length = row.length, whole = s.length_bytes == 0 && (slice + 1) * MACKO_SLICE_ROWS <= a.nrows;
  switch (s.gap_bits) {
  case 0: walk_slice<STORED, VECTOR, SUM, GROUP, 0>(values, table, v, s, gaps, lane, base, length, whole, from, to, sum); break;
  case 4: walk_slice<STORED, VECTOR, SUM, GROUP, 4>(values, table, v, s, gaps, lane, base, length, whole, from, to, sum); break;
  case 8: walk_slice<STORED, VECTOR, SUM, GROUP, 8>(values, table, v, s, gaps, lane, base, length, whole, from, to, sum); break;
  case 16: walk_slice<STORED, VECTOR, SUM, GROUP, 16>(values, table, v, s, gaps, lane, base, length, whole, from, to, sum); break;
  default: walk_slice<STORED, VECTOR, SUM, GROUP, 32>(values, table, v, s, gaps, lane, base, length, whole, from, to, sum);
  }
  return row.row;
}

/* The table of an 8-bit code in shared memory. */
template <int STORED, typename SUM>
static __device__ __forceinline__ const SUM *share_table(const device_values &values, SUM *shared_table)
{
  const SUM *table = (const SUM *)values.table;
  if constexpr (STORED == MACKO_U8) {
    for (int i = threadIdx.x; i < values.table_entries; i += THREADS) shared_table[i] = table[i];
    __syncthreads();
    table = shared_table;
  }
  return table;
}

template <int STORED, int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void whole_slices(const slices &a, const device_values &values, const device_vectors &v)
{
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const SUM *table = share_table<STORED>(values, shared_table);
  take_slices<VECTOR, SUM, GROUP>(a, v, [&](const macko_slice &s, int64_t slice, int from, int to, SUM *sum) {
    return add_slice<STORED, VECTOR, SUM, GROUP>(a, values, table, v, s, slice, from, to, sum);
  });
}

template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) slice_kernel(slices a, device_values values, device_vectors v)
{
  whole_slices<STORED, VECTOR, SUM, GROUP>(a, values, v);
}

/* f32 values wait for x: in slices of many steps, more warps are worth the few registers that are spilled (elasticity: 120 instead
 * of 131 us; 27 points: 92 instead of 96; but 7 points: 88 instead of 71). */
enum { MANY_STEPS = 16, MANY_BLOCKS = 16 };

template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS, MANY_BLOCKS) many_steps_kernel(slices a, device_values values, device_vectors v)
{
  whole_slices<STORED, VECTOR, SUM, GROUP>(a, values, v);
}

template <int STORED, int VECTOR, typename SUM>
static __global__ void __launch_bounds__(THREADS) split_kernel(slices a, device_values values, device_vectors v)
{
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1], sums[WARPS][MACKO_SLICE_ROWS];
  const SUM *table = share_table<STORED>(values, shared_table);
  split_slices<VECTOR, SUM>(a, v, sums, [&](const macko_slice &s, int64_t slice, int from, int to, SUM *sum) {
    return add_slice<STORED, VECTOR, SUM, 1>(a, values, table, v, s, slice, from, to, sum);
  });
}

/* ---- stencils: no index and no value is read per entry, so that little but x and y moves ---- */

template <int VALUE> static __device__ __forceinline__ double stencil_value(int type, uint4 step)
{
  if (VALUE == MACKO_F64 || type == MACKO_F64) return __hiloint2double((int)step.w, (int)step.z);
  if (type == MACKO_F32) return number_of<MACKO_F32>(step.z);
  return type == MACKO_F16 ? number_of<MACKO_F16>(step.z) : number_of<MACKO_BF16>(step.z);
}

template <int VALUE, int VECTOR, int GROUP>
static __global__ void __launch_bounds__(THREADS) stencil_kernel(slices a, int type, device_vectors v)
{
  int lane = threadIdx.x % MACKO_SLICE_ROWS;
  int64_t warps = (int64_t)gridDim.x * (THREADS / MACKO_SLICE_ROWS);
  for (int64_t slice = (int64_t)blockIdx.x * (THREADS / MACKO_SLICE_ROWS) + threadIdx.x / MACKO_SLICE_ROWS; slice < a.count;
       slice += warps) {
    macko_slice s = load_header(a.headers, slice);
    if (!s.stencil) continue;
    const uint4 *steps = (const uint4 *)(a.blocks + s.block);
    int64_t row = (int64_t)s.base + lane;
    constexpr int x_bytes = VECTOR == MACKO_F64 ? 8 : VECTOR == MACKO_F32 ? 4 : 0; /* 0: known at run time */
    const char *x0 = (const char *)v.x + row * x_bytes;
    double sum[GROUP] = {};
    for (int k = 0; k < (int)s.steps; k += STEPS) {
      uint4 step[STEPS];
#pragma unroll
      for (int j = 0; j < STEPS; j++) step[j] = k + j < (int)s.steps ? __ldg(steps + k + j) : make_uint4(0, 0, 0, 0);
#pragma unroll
      for (int g = 0; g < GROUP; g++) {
        double x[STEPS];
#pragma unroll
        for (int j = 0; j < STEPS; j++)
          x[j] = step[j].y >> lane & 1
                   ? (double)load_vector<VECTOR>(x0, g * v.ldx + (x_bytes ? 0 : row) + (int)step[j].x, v.type)
                   : 0;
#pragma unroll
        for (int j = 0; j < STEPS; j++)
          if (step[j].y >> lane & 1) sum[g] += stencil_value<VALUE>(type, step[j]) * x[j];
      }
    }
    if (row < a.nrows)
#pragma unroll
      for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, row, sum[g]);
  }
}

template <int VALUE, int VECTOR> static void start_stencils(const slices &a, int type, const macko_product *p,
                                                            cudaStream_t stream)
{
  for (int64_t j = 0; j < p->k;) {
    device_vectors v = vectors_from(p, j);
    if (p->k - j >= MACKO_DEVICE_GROUP)
      stencil_kernel<VALUE, VECTOR, MACKO_DEVICE_GROUP><<<blocks_for(a.count), THREADS, 0, stream>>>(a, type,
                                                                                                     v), j += MACKO_DEVICE_GROUP;
    else stencil_kernel<VALUE, VECTOR, 1><<<blocks_for(a.count), THREADS, 0, stream>>>(a, type, v), j++;
  }
}

static void multiply_stencils(const slices &a, int type, const macko_product *p, cudaStream_t stream)
{
  if (p->vector_type == MACKO_F64 && type == MACKO_F64) start_stencils<MACKO_F64, MACKO_F64>(a, type, p, stream);
  else if (p->vector_type == MACKO_F64) start_stencils<MACKO_ANY, MACKO_F64>(a, type, p, stream);
  else if (p->vector_type == MACKO_F32) start_stencils<MACKO_ANY, MACKO_F32>(a, type, p, stream);
  else start_stencils<MACKO_ANY, MACKO_ANY>(a, type, p, stream);
}

struct slice_launch {
  slices a;
  int64_t steps; /* of all slices together */
  cudaStream_t stream;
  template <int STORED, int VECTOR, typename SUM, int GROUP> void run(const device_values &values, const device_vectors &v) const
  {
    unsigned blocks = blocks_for(a.count * a.split);
    if constexpr (GROUP == 1) {
      if (a.split > 1) {
        split_kernel<STORED, VECTOR, SUM><<<blocks, THREADS, 0, stream>>>(a, values, v);
        return;
      }
    }
    /* A block that has loaded a table keeps it for several slices. */
    if (STORED == MACKO_U8 && blocks > 4096) blocks = (blocks + 3) / 4;
    if constexpr (STORED == MACKO_F32 && VECTOR == MACKO_F64 && GROUP == 1) {
      if (steps >= MANY_STEPS * a.count) {
        many_steps_kernel<STORED, VECTOR, SUM, GROUP><<<blocks, THREADS, 0, stream>>>(a, values, v);
        return;
      }
    }
    slice_kernel<STORED, VECTOR, SUM, GROUP><<<blocks, THREADS, 0, stream>>>(a, values, v);
  }
};

/* ---- the diagonal ---- */

static __global__ void __launch_bounds__(THREADS) diagonal_kernel(slices a, device_values values, const uint32_t *pair_gaps,
                                                                  int type,
                                                                      double *diagonal)
{
  int64_t position = (int64_t)blockIdx.x * THREADS + threadIdx.x, slice = position / MACKO_SLICE_ROWS;
  if (position >= a.nrows) return;
  int lane = position % MACKO_SLICE_ROWS, bytes = values.stored_type == MACKO_F64 ? 8 : values.stored_type == MACKO_F32 ? 4
                                                  : values.stored_type == MACKO_U8 || values.stored_type == MACKO_I8 ? 1 : 2;
  int64_t row = a.order ? position / MACKO_SLICE_WINDOW * MACKO_SLICE_WINDOW + a.order[position] : position;
  macko_slice s = load_header(a.headers, slice);
  const uint32_t *gaps = macko_slice_gaps(&s, a.blocks);
  double value = 0;
  if (s.stencil) {
    for (int k = 0; k < (int)s.steps; k++) {
      uint4 step = __ldg((const uint4 *)(a.blocks + s.block) + k);
      if (step.x == 0 && step.y >> lane & 1) value = stencil_value<MACKO_ANY>(type, step);
    }
  } else {
    int length = s.length_bytes ? (int)macko_unsigned_at(macko_slice_lengths(&s, a.blocks), s.length_bytes, lane) : (int)s.steps;
    int64_t base = (int64_t)s.base + lane + macko_unsigned_at(macko_slice_offsets(&s, a.blocks), s.offset_bytes,
                                                              lane), col = base;
    for (int k = 0; k < length; k++) {
      int64_t slot = macko_slice_slot(s.values, bytes, k, lane);
      if (k && s.gap_bits == MACKO_GAP_PAIRS) col += pair_gaps[((const uint8_t *)values.stream)[slot]];
      else if (k) col = s.gap_bits ? col + macko_slice_gap(gaps, s.gap_bits, k - 1, lane) : base + (int)gaps[k - 1];
      if (col == row) value = load_value<MACKO_ANY, double>(values, slot);
      if (col >= row) break;
    }
  }
  diagonal[row] = value;
}

macko_status macko_slices_diagonal(const macko_device_matrix *d, double *diagonal, cudaStream_t stream, macko_error *err)
{
  slices a = slices_of(d);
  device_values values = values_of(d);
  values.table = macko_device_data(d, "dict");
  diagonal_kernel<<<(unsigned)((a.nrows + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
      a, values, (const uint32_t *)macko_device_data(d, "pair_gaps"), d->m.value_type, diagonal);
  return macko_cuda_status(cudaGetLastError(), "starting to read a diagonal", err);
}

macko_status macko_slices_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  slices a = slices_of(d);
  int64_t stencils = d->m.plan.params[MACKO_PARAM_STENCILS], steps = d->m.plan.params[MACKO_PARAM_VALUE_UNITS + 2];
  a.split = warps_for(a.count, steps);
  if (stencils) multiply_stencils(a, d->m.value_type, p, stream);
  if (stencils < a.count && d->m.plan.values == MACKO_VALUES_JOINT) return macko_pairs_multiply(a, d, p, stream, err);
  if (stencils < a.count) return run_product(slice_launch{a, steps, stream}, d, p, err);
  return macko_cuda_status(cudaGetLastError(), "starting a multiply", err);
}
