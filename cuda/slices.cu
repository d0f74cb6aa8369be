/* Layout slice: one warp a slice, one lane a row. Everything about a slice but its rows' own numbers is the same for the warp, so no
 * branch diverges. Steps are taken several at a time, so that as many loads are in flight. */
#include "product.cuh"

#include "macko_layout.h"

/* Four steps: eight need so many registers that too few warps fit to hide the latency of x (1.29 instead of 1.44 times cuSPARSE). */
enum { THREADS = 128, STEPS = 4, TABLE = 256 };

struct slices {
  const uint32_t *headers, *blocks;
  const uint16_t *order;
  int64_t nrows, count;
};

/* Values of steps 0 .. n - 1 of a lane, n <= STEPS, from start on. */
template <int STORED, typename SUM>
static __device__ __forceinline__ void load_steps(const char *start, const SUM *table, int lane, int n, SUM v[STEPS])
{
  typedef typename element<STORED>::type type;
  constexpr int per = sizeof(type) < 4 ? 4 / sizeof(type) : 1, bits = 8 * sizeof(type);
  if constexpr (STORED == MACKO_F64) {
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (j < n) v[j] = (SUM)__ldcs((const double *)start + j * MACKO_SLICE_ROWS + lane);
  } else {
#pragma unroll
    for (int w = 0; w < STEPS / per; w++) {
      if (w * per >= n) break;
      uint32_t word = __ldcs((const uint32_t *)start + w * MACKO_SLICE_ROWS + lane);
#pragma unroll
      for (int j = 0; j < per; j++) v[w * per + j] = value_of<STORED, SUM>(per == 1 ? word : word >> (j * bits % 32) & ((1u << bits % 32) - 1), table);
    }
  }
}

/* The same for types known at run time; step is the slice's. */
template <typename SUM>
static __device__ __forceinline__ void load_any_steps(const device_values &values, uint32_t start, int step, int lane, int n, SUM v[STEPS])
{
  int bytes = values.stored_type == MACKO_F64 ? 8 : values.stored_type == MACKO_F32 ? 4
              : values.stored_type == MACKO_U8 || values.stored_type == MACKO_I8 ? 1 : 2;
#pragma unroll
  for (int j = 0; j < STEPS; j++)
    if (j < n) v[j] = load_value<MACKO_ANY, SUM>(values, macko_slice_slot(start, bytes, step + j, lane));
}

/* Columns of steps 0 .. n - 1 from step k on; col is the column of step k before and of step k + STEPS after. */
template <int BITS>
static __device__ __forceinline__ void load_columns(const uint32_t *gaps, int k, int steps, int lane, int base, int *col, int cols[STEPS])
{
  if constexpr (BITS == 0) {
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (k + j < steps) cols[j] = base + (k + j ? (int)__ldg(gaps + k + j - 1) : 0);
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

template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS, int MASKED>
static __device__ __forceinline__ void walk(const device_values &values, const SUM *table, const device_vectors &v, const macko_slice &s,
                                            const uint32_t *gaps, int lane, int base, int length, SUM sum[GROUP])
{
  constexpr int bytes = sizeof(typename element<STORED>::type);
  const char *start = (const char *)values.stream + (size_t)s.values * MACKO_VALUE_UNIT;
  int col = base, steps = (int)s.steps, cols[STEPS];
  SUM value[STEPS];
  for (int k = 0; k < steps; k += STEPS) {
    int n = min(STEPS, steps - k);
    if constexpr (STORED == MACKO_ANY) load_any_steps<SUM>(values, s.values, k, lane, n, value);
    else load_steps<STORED, SUM>(start + (size_t)k * (MACKO_SLICE_ROWS * bytes), table, lane, n, value);
    load_columns<BITS>(gaps, k, steps, lane, base, &col, cols);
#pragma unroll
    for (int j = 0; j < STEPS; j++)
      if (j < n && (!MASKED || k + j < length))
#pragma unroll
        for (int g = 0; g < GROUP; g++) sum[g] += value[j] * (SUM)load_vector<VECTOR>(v.x, g * v.ldx + cols[j], v.type);
  }
}

template <int STORED, int VECTOR, typename SUM, int GROUP, int BITS>
static __device__ __forceinline__ void walk_slice(const device_values &values, const SUM *table, const device_vectors &v,
                                                  const macko_slice &s, const uint32_t *gaps, int lane, int base, int length, int whole,
                                                  SUM sum[GROUP])
{
  if (whole) walk<STORED, VECTOR, SUM, GROUP, BITS, 0>(values, table, v, s, gaps, lane, base, length, sum);
  else walk<STORED, VECTOR, SUM, GROUP, BITS, 1>(values, table, v, s, gaps, lane, base, length, sum);
}

static __device__ __forceinline__ macko_slice load_header(const uint32_t *headers, int64_t slice)
{
  uint4 h = __ldg((const uint4 *)headers + slice);
  uint32_t words[MACKO_SLICE_WORDS] = {h.x, h.y, h.z, h.w};
  return macko_slice_at(words, 0);
}

template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) slice_kernel(slices a, device_values values, device_vectors v)
{
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const SUM *table = (const SUM *)values.table;
  if (STORED == MACKO_U8) {
    for (int i = threadIdx.x; i < values.table_entries; i += THREADS) shared_table[i] = table[i];
    table = shared_table;
    __syncthreads();
  }
  int lane = threadIdx.x % MACKO_SLICE_ROWS;
  int64_t warps = (int64_t)gridDim.x * (THREADS / MACKO_SLICE_ROWS);
  for (int64_t slice = (int64_t)blockIdx.x * (THREADS / MACKO_SLICE_ROWS) + threadIdx.x / MACKO_SLICE_ROWS; slice < a.count; slice += warps) {
    macko_slice s = load_header(a.headers, slice);
    const uint32_t *gaps = macko_slice_gaps(&s, a.blocks);
    int64_t position = slice * MACKO_SLICE_ROWS + lane;
    int there = position < a.nrows;
    int length = !there ? 0 : s.length_bytes ? (int)macko_unsigned_at(macko_slice_lengths(&s, a.blocks), s.length_bytes, lane) : (int)s.steps;
    int base = s.base + lane + (int)macko_unsigned_at(macko_slice_offsets(&s, a.blocks), s.offset_bytes, lane);
    int whole = s.length_bytes == 0 && (slice + 1) * MACKO_SLICE_ROWS <= a.nrows;
    int64_t row = a.order && there ? position / MACKO_SLICE_WINDOW * MACKO_SLICE_WINDOW + __ldg(a.order + position) : position;
    SUM sum[GROUP] = {};
    switch (s.gap_bits) {
    case 0: walk_slice<STORED, VECTOR, SUM, GROUP, 0>(values, table, v, s, gaps, lane, base, length, whole, sum); break;
    case 4: walk_slice<STORED, VECTOR, SUM, GROUP, 4>(values, table, v, s, gaps, lane, base, length, whole, sum); break;
    case 8: walk_slice<STORED, VECTOR, SUM, GROUP, 8>(values, table, v, s, gaps, lane, base, length, whole, sum); break;
    case 16: walk_slice<STORED, VECTOR, SUM, GROUP, 16>(values, table, v, s, gaps, lane, base, length, whole, sum); break;
    default: walk_slice<STORED, VECTOR, SUM, GROUP, 32>(values, table, v, s, gaps, lane, base, length, whole, sum);
    }
    if (there)
#pragma unroll
      for (int g = 0; g < GROUP; g++) put_y<VECTOR>(v, g, row, sum[g]);
  }
}

struct slice_launch {
  slices a;
  cudaStream_t stream;
  template <int STORED, int VECTOR, typename SUM, int GROUP> void run(const device_values &values, const device_vectors &v) const
  {
    int64_t blocks = (a.count + THREADS / MACKO_SLICE_ROWS - 1) / (THREADS / MACKO_SLICE_ROWS);
    /* A block that has loaded a table keeps it for several slices. */
    if (STORED == MACKO_U8 && blocks > 4096) blocks = (blocks + 3) / 4;
    if (blocks > INT32_MAX) blocks = INT32_MAX;
    slice_kernel<STORED, VECTOR, SUM, GROUP><<<(unsigned)blocks, THREADS, 0, stream>>>(a, values, v);
  }
};

macko_status macko_slices_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  slices a = {(const uint32_t *)macko_device_data(d, "slices"), (const uint32_t *)macko_device_data(d, "blocks"),
              (const uint16_t *)macko_device_data(d, "order"), d->m.nrows, (d->m.nrows + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS};
  return run_product(slice_launch{a, stream}, d, p, err);
}
