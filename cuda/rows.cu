/* Row after row: plain CSR, and the layouts row and paper of macko. A power of two of lanes takes a row, a chunk of consecutive entries
 * at a time; the columns of a chunk are a prefix sum of its gaps. */
#include "product.cuh"

#include "macko_layout.h"

enum { THREADS = 256, CHUNKS = 4 };

/* How columns are stored. */
enum { COLUMNS_CSR, COLUMNS_ROW, COLUMNS_PAPER };

struct rows {
  const void *row_ptr, *cols, *base;
  const int32_t *block_base;
  const uint8_t *gaps;
  const uint32_t *long_ptr, *long_gaps;
  int64_t nrows, bias, marker;
  int row_ptr_type, col_type, base_mode, base_bytes, gap_bits, lanes;
};

/* macko_index of lib/format.h, which is the host's. */
static __device__ __forceinline__ int64_t index_at(int type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? __ldg((const long long *)array + i) : (int64_t)__ldg((const int *)array + i);
}

static __device__ __forceinline__ int64_t base_column(const rows &a, int64_t i)
{
  int64_t reference = a.base_mode == MACKO_BASE_DIAGONAL ? i : a.base_mode == MACKO_BASE_BLOCK ? a.block_base[i / 32] : 0;
  return reference + a.bias + macko_unsigned_at(a.base, a.base_bytes, i);
}

/* Padding of layout paper carries a bit pattern that no entry has. */
static __device__ __forceinline__ int is_padding(const rows &a, const device_values &values, int64_t p)
{
  switch (values.stored_type) {
  case MACKO_F64: return ((const int64_t *)values.stream)[p] == a.marker;
  case MACKO_F32: return ((const uint32_t *)values.stream)[p] == (uint32_t)a.marker;
  default: return ((const uint16_t *)values.stream)[p] == (uint16_t)a.marker;
  }
}

/* Sum over the lanes of a group up to this one. */
static __device__ __forceinline__ int64_t prefix_sum(int64_t gap, int lane, int lanes)
{
  for (int d = 1; d < lanes; d *= 2) {
    int64_t before = __shfl_up_sync(0xffffffffu, gap, d, lanes);
    if (lane >= d) gap += before;
  }
  return gap;
}

/* Where a group is in its row. */
struct place {
  int64_t begin, end, col; /* entries; column of the entry before the chunk */
  uint32_t next_long;
};

/* Column of entry p, which is this lane's; code is its gap. All lanes of the warp take part. */
template <int KIND>
static __device__ __forceinline__ int64_t column_of(const rows &a, place &at, int64_t p, uint32_t code, int lane)
{
  int inside = p < at.end;
  int64_t gap = KIND == COLUMNS_ROW && p == at.begin ? 0 : inside ? (int64_t)code + 1 : 0;
  if (KIND == COLUMNS_ROW) {
    int escapes = inside && p > at.begin && code == (1u << a.gap_bits) - 1;
    uint32_t group = (a.lanes == 32 ? 0xffffffffu : (1u << a.lanes) - 1) << (threadIdx.x % 32 - lane);
    uint32_t mask = __ballot_sync(0xffffffffu, escapes) & group;
    if (escapes) gap = a.long_gaps[at.next_long + __popc(mask & ((1u << threadIdx.x % 32) - 1))];
    at.next_long += __popc(mask);
  }
  int64_t col = at.col + prefix_sum(gap, lane, a.lanes);
  at.col = __shfl_sync(0xffffffffu, col, a.lanes - 1, a.lanes);
  return col;
}

template <int KIND, int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) rows_kernel(rows a, device_values values, device_vectors v)
{
  int lane = threadIdx.x % a.lanes;
  int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / a.lanes;
  int there = row < a.nrows;
  place at = {};
  if (there) {
    at.begin = index_at(a.row_ptr_type, a.row_ptr, row), at.end = index_at(a.row_ptr_type, a.row_ptr, row + 1);
    if (KIND == COLUMNS_ROW) at.col = base_column(a, row), at.next_long = a.long_ptr ? __ldg(a.long_ptr + row) : 0;
    if (KIND == COLUMNS_PAPER) at.col = -1;
  }
  SUM sum[GROUP] = {};
  for (int64_t first = at.begin; __any_sync(0xffffffffu, first < at.end); first += CHUNKS * a.lanes) {
    SUM value[CHUNKS];
    uint32_t code[CHUNKS];
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      int64_t p = first + c * a.lanes + lane;
      value[c] = 0, code[c] = 0;
      if (p < at.end) value[c] = load_value<STORED, SUM>(values, p);
      if (KIND != COLUMNS_CSR && p < at.end) code[c] = macko_gap_code(a.gaps, a.gap_bits, p);
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      int64_t p = first + c * a.lanes + lane, col = 0;
      if (KIND != COLUMNS_CSR) col = column_of<KIND>(a, at, p, code[c], lane);
      else if (p < at.end) col = index_at(a.col_type, a.cols, p);
      if (p < at.end && (KIND != COLUMNS_PAPER || !is_padding(a, values, p)))
#pragma unroll
        for (int g = 0; g < GROUP; g++) sum[g] += value[c] * (SUM)load_vector<VECTOR>(v.x, g * v.ldx + col, v.type);
    }
  }
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    for (int d = a.lanes / 2; d > 0; d /= 2) sum[g] += __shfl_xor_sync(0xffffffffu, sum[g], d, a.lanes);
    if (there && lane == 0) put_y<VECTOR>(v, g, row, sum[g]);
  }
}

template <int KIND> struct rows_launch {
  rows a;
  cudaStream_t stream;
  template <int STORED, int VECTOR, typename SUM, int GROUP> void run(const device_values &values, const device_vectors &v) const
  {
    int64_t per_block = THREADS / a.lanes, blocks = (a.nrows + per_block - 1) / per_block;
    rows_kernel<KIND, STORED, VECTOR, SUM, GROUP><<<(unsigned)blocks, THREADS, 0, stream>>>(a, values, v);
  }
};

/* About two chunks of a row of mean length. */
static int lanes_for(const macko_matrix *m)
{
  int lanes = 2;
  while (lanes < 32 && lanes * 4 * m->nrows < m->nnz) lanes *= 2;
  return lanes;
}

static int section_type(const macko_device_matrix *d, const char *name)
{
  const macko_section *s = macko_find_section(&d->m, name);
  return s ? s->type : MACKO_I32;
}

macko_status macko_rows_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  const int64_t *params = d->m.plan.params;
  rows a = {};
  a.row_ptr = macko_device_data(d, "row_ptr"), a.cols = macko_device_data(d, "cols"), a.base = macko_device_data(d, "base");
  a.block_base = (const int32_t *)macko_device_data(d, "block_base");
  a.gaps = (const uint8_t *)macko_device_data(d, "gaps");
  a.long_ptr = (const uint32_t *)macko_device_data(d, "long_ptr"), a.long_gaps = (const uint32_t *)macko_device_data(d, "long_gaps");
  a.row_ptr_type = section_type(d, "row_ptr"), a.col_type = section_type(d, "cols");
  a.nrows = d->m.nrows, a.gap_bits = d->m.plan.delta_bits, a.lanes = lanes_for(&d->m);
  if (d->m.format == MACKO_FORMAT_CSR) return run_product(rows_launch<COLUMNS_CSR>{a, stream}, d, p, err);
  if (d->m.plan.layout == MACKO_LAYOUT_PAPER) {
    a.marker = params[MACKO_PARAM_MARKER];
    return run_product(rows_launch<COLUMNS_PAPER>{a, stream}, d, p, err);
  }
  a.base_mode = (int)params[MACKO_PARAM_BASE_MODE], a.base_bytes = (int)params[MACKO_PARAM_BASE_BYTES], a.bias = params[MACKO_PARAM_BASE_BIAS];
  return run_product(rows_launch<COLUMNS_ROW>{a, stream}, d, p, err);
}
