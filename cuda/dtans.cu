/* Format dtans on the GPU: decodes inside the multiply. A lane's sum is written once, at the end of its row. */
#include "product.cuh"

#include "dtans_decode.cuh"

#include <stdlib.h>

enum { WARP = MACKO_DTANS_LANES, LARGEST_BLOCK = 512 };

struct dtans_matrix {
  const uint32_t *words[2];
  const void *slices[2], *lengths;
  int slices_type[2], length_bytes, value_type, rows;
  int empty_rows;    /* whether there are any */
  uint32_t relative; /* every bit, or none */
  int64_t nrows, count;
  device_table table[MACKO_DTANS_DOMAINS];
  double value;
};

/* ---- rows of a lane ---- */

/* Where a lane stands. Rows are counted from the slice's first one. */
struct lane_rows {
  int64_t first;
  int row, past;  /* row being decoded; rows of the slice */
  int out;        /* row being summed up: behind the other one while a segment is multiplied */
  int left;       /* entries of the row from this segment on; INT32_MAX when the lane is at its end */
  uint32_t col;
  bool begins;    /* the next entry's gap is the first of its row, counted from the diagonal */
  const uint32_t *lengths; /* the word that holds the length of the row after this one */
  uint32_t ahead; /* that word */
  int shift;      /* where in it */
};

/* Lengths are loaded as words, whatever their type: a lane's rows are 32 apart, so it always finds them at the same place of a word. */
MACKO_DEVICE uint32_t length_in(const dtans_matrix &a, uint32_t word, int shift)
{
  return word >> shift & (0xffffffffu >> (32 - 8 * a.length_bytes));
}

MACKO_DEVICE uint32_t row_length(const dtans_matrix &a, int64_t row)
{
  int64_t byte = row * a.length_bytes;
  return length_in(a, __ldg((const uint32_t *)a.lengths + byte / 4), (int)(byte % 4) * 8);
}

/* On to the next row that has entries; they begin behind the `done` ones of this segment. */
MACKO_DEVICE void next_row(const dtans_matrix &a, int done, lane_rows *w)
{
  for (w->row += WARP; w->row < w->past; w->row += WARP) {
    uint32_t length = length_in(a, w->ahead, w->shift);
    w->lengths += WARP / 4 * a.length_bytes;
    w->ahead = w->row + WARP < w->past ? __ldg(w->lengths) : 0;
    w->left = done + (int)length, w->col = ((uint32_t)w->first + (uint32_t)w->row) & a.relative, w->begins = a.relative;
    if (length) return;
  }
  w->left = INT32_MAX;
}

/* y of rows without entries, from row out on. */
template <int VECTOR> MACKO_DEVICE void pass_empty_rows(const dtans_matrix &a, const device_vectors &v, int g, lane_rows *w)
{
  for (; w->out < w->past && row_length(a, w->first + w->out) == 0; w->out += WARP) put_y<VECTOR>(v, g, w->first + w->out, 0);
}

/* Sets the lane to its first row that has entries; returns how many it has in all. */
MACKO_DEVICE int first_row(const dtans_matrix &a, int64_t slice, int lane, lane_rows *w)
{
  int count = 0;
  w->first = slice * a.rows * WARP;
  w->past = (int)min((int64_t)a.rows * WARP, a.nrows - w->first);
  int64_t byte = (w->first + lane) * a.length_bytes;
  w->lengths = (const uint32_t *)a.lengths + byte / 4, w->shift = (int)(byte % 4) * 8;
  for (int row = lane, i = 0; row < w->past; row += WARP, i += WARP / 4 * a.length_bytes)
    count += (int)length_in(a, __ldg(w->lengths + i), w->shift);
  w->ahead = lane < w->past ? __ldg(w->lengths) : 0;
  w->row = lane - WARP, w->out = lane, w->begins = false, w->col = 0;
  next_row(a, 0, w);
  return count;
}

MACKO_DEVICE uint32_t unzigzag(uint32_t gap)
{
  return (uint32_t)macko_dtans_unzigzag(gap);
}

/* N entries of each lane, or as many as are left of it: first all columns and loads of x, so that these are under way together, then sums.
 * INSIDE: all rows go on behind these entries; WHOLE: all lanes have N. */
template <int VECTOR, typename SUM, int GROUP, int N, int WHOLE, int INSIDE>
MACKO_DEVICE void multiply_entries(const dtans_matrix &a, const device_vectors &v, uint32_t gap[N], const SUM value[N], int count, lane_rows *w,
                                   SUM sum[GROUP])
{
  SUM x[GROUP][N];
  int ends = 0;
  if (w->begins) gap[0] = unzigzag(gap[0]), w->begins = false;
#pragma unroll
  for (int i = 0; i < N; i++) {
    if (!WHOLE && i >= count) break;
    w->col += gap[i];
#pragma unroll
    for (int g = 0; g < GROUP; g++) x[g][i] = (SUM)load_vector<VECTOR>(v.x, g * v.ldx + (int64_t)w->col, v.type);
    if (INSIDE || w->left != i + 1) continue;
    ends |= 1 << i;
    next_row(a, i + 1, w);
    if (i + 1 < N && w->begins) gap[i + 1] = unzigzag(gap[i + 1]), w->begins = false;
  }
  if (INSIDE || w->left != INT32_MAX) w->left -= N;
  int out = w->out;
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    w->out = out;
#pragma unroll
    for (int i = 0; i < N; i++) {
      if (!WHOLE && i >= count) break;
      sum[g] += value[i] * x[g][i];
      if (INSIDE || !(ends & 1 << i)) continue;
      put_y<VECTOR>(v, g, w->first + w->out, sum[g]);
      sum[g] = 0, w->out += WARP;
      if (a.empty_rows) pass_empty_rows<VECTOR>(a, v, g, w);
    }
  }
}

/* ---- values beside the gaps ---- */

template <typename SUM>
MACKO_DEVICE void load_beside(const dtans_matrix &a, const device_values &values, int left, int64_t *slot, SUM value[8])
{
  if (!values.stream) {
#pragma unroll
    for (int k = 0; k < 8; k++) value[k] = (SUM)a.value;
    return;
  }
  int64_t at[8];
#pragma unroll
  for (int k = 0; k < 8; k++) {
    unsigned mask = __ballot_sync(MACKO_EVERY_LANE, k < left);
    at[k] = k < left ? *slot + __popc(mask & lanes_before()) : *slot;
    *slot += __popc(mask);
  }
#define LOAD(type) \
  _Pragma("unroll") for (int k = 0; k < 8; k++) if (k < left) value[k] = load_value<type, SUM>(values, at[k])
  switch (values.stored_type) {
  case MACKO_F64: LOAD(MACKO_F64); break;
  case MACKO_F32: LOAD(MACKO_F32); break;
  default: LOAD(MACKO_ANY);
  }
#undef LOAD
}

/* ---- the kernel ---- */

template <int KIND, typename SUM, int POWERS> struct tables_of;
template <typename SUM, int POWERS> struct tables_of<MACKO_DTANS_JOINT, SUM, POWERS> {
  shared_table<POWERS, pair_entry<SUM>> pairs;
  static int bytes(const dtans_matrix &a) { return shared_table<POWERS, pair_entry<SUM>>::bytes(a.table[0].symbols, a.table[0].id_bytes); }
  __device__ void fill(const dtans_matrix &a, char *memory) { pairs.fill(a.table[0], memory); }
};
template <typename SUM, int POWERS> struct tables_of<MACKO_DTANS_BESIDE, SUM, POWERS> {
  shared_table<POWERS, gap_entry> gaps;
  static int bytes(const dtans_matrix &a) { return shared_table<POWERS, gap_entry>::bytes(a.table[0].symbols, a.table[0].id_bytes); }
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
template <typename SUM, int POWERS> struct tables_of<MACKO_DTANS_PAPER, SUM, POWERS> : tables_of<MACKO_DTANS_SPLIT, SUM, POWERS> {};

template <int KIND, int GROUPS, int POWERS, int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void multiply_slice(const dtans_matrix &a, const tables_of<KIND, SUM, POWERS> &t, const device_values &values,
                                                      const device_vectors &v, int64_t slice, int lane)
{
  constexpr int N = KIND == MACKO_DTANS_PAPER ? 4 : 8, DOMAINS = KIND == MACKO_DTANS_PAPER ? 2 : 1;
  int64_t slot = 0;
  lane_rows w;
  warp_stream s[KIND == MACKO_DTANS_SPLIT ? 2 : 1];
  SUM sum[GROUP] = {};
  int left = first_row(a, slice, lane, &w), out = w.out; /* entries of the lane from this segment on */
  for (int g = 0; a.empty_rows && g < GROUP; g++) w.out = out, pass_empty_rows<VECTOR>(a, v, g, &w);
  start_stream<POWERS, DOMAINS>(&s[0], a.words[0] + index_at(a.slices_type[0], a.slices[0], slice), left);
  if (KIND == MACKO_DTANS_SPLIT)
    start_stream<POWERS, DOMAINS>(&s[1 % (sizeof s / sizeof *s)], a.words[1] + index_at(a.slices_type[1], a.slices[1], slice), left);
  if (KIND == MACKO_DTANS_BESIDE && values.stream) slot = index_at(a.slices_type[1], a.slices[1], slice);
  while (__any_sync(MACKO_EVERY_LANE, left > 0)) {
    uint32_t gap[N];
    SUM value[N];
    if constexpr (KIND == MACKO_DTANS_PAPER) read_segment_of_both<SUM>(&s[0], t.gaps, t.values, a.value_type, left, gap, value);
    else if constexpr (KIND == MACKO_DTANS_JOINT)
      read_segment<POWERS, GROUPS, pair_entry<SUM>, 1, 1>(&s[0], t.pairs, a.value_type, left, gap, value);
    else {
      read_segment<POWERS, GROUPS, gap_entry, 1, 0>(&s[0], t.gaps, a.value_type, left, gap, value);
      if constexpr (KIND == MACKO_DTANS_SPLIT)
        read_segment<POWERS, GROUPS, value_entry<SUM>, 0, 1>(&s[1], t.values, a.value_type, left, gap, value);
      else load_beside(a, values, left, &slot, value);
    }
    /* What is true of the whole warp saves a test at every entry. */
    if (__all_sync(MACKO_EVERY_LANE, left >= N && w.left > N))
      multiply_entries<VECTOR, SUM, GROUP, N, 1, 1>(a, v, gap, value, left, &w, sum);
    else if (__all_sync(MACKO_EVERY_LANE, left >= N)) multiply_entries<VECTOR, SUM, GROUP, N, 1, 0>(a, v, gap, value, left, &w, sum);
    else multiply_entries<VECTOR, SUM, GROUP, N, 0, 0>(a, v, gap, value, left, &w, sum);
    left -= N;
  }
}

template <int KIND, int GROUPS, int POWERS, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(LARGEST_BLOCK) dtans_kernel(dtans_matrix a, device_values values, device_vectors v)
{
  extern __shared__ uint4 memory[];
  tables_of<KIND, SUM, POWERS> t;
  t.fill(a, (char *)memory);
  __syncthreads();
  int64_t warps = (int64_t)gridDim.x * (blockDim.x / WARP);
  for (int64_t slice = (int64_t)blockIdx.x * (blockDim.x / WARP) + threadIdx.x / WARP; slice < a.count; slice += warps)
    multiply_slice<KIND, GROUPS, POWERS, VECTOR, SUM, GROUP>(a, t, values, v, slice, threadIdx.x % WARP);
}

/* ---- from a product to a kernel ---- */

struct dtans_launch {
  dtans_matrix a;
  device_values values;
  const macko_product *product;
  cudaStream_t stream;
  cudaError_t *error;

  template <int KIND, int GROUPS, int POWERS, int VECTOR, typename SUM, int GROUP> void run(const device_vectors &v) const
  {
    auto kernel = dtans_kernel<KIND, GROUPS, POWERS, VECTOR, SUM, GROUP>;
    int bytes = tables_of<KIND, SUM, POWERS>::bytes(a);
    /* Blocks as small as they can be while their tables leave room for enough of them on a multiprocessor. */
    int threads = bytes <= 8 << 10 ? 128 : bytes <= 32 << 10 ? 256 : LARGEST_BLOCK;
    int64_t warps = threads / WARP, blocks = (a.count + warps - 1) / warps;
    if (blocks > INT32_MAX) blocks = INT32_MAX;
    if (bytes > 48 << 10) *error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (*error == cudaSuccess) kernel<<<(unsigned)blocks, threads, bytes, stream>>>(a, values, v);
  }

  template <int KIND, int GROUPS, int POWERS> void run_groups() const
  {
    int f32 = product->vector_type == MACKO_F32 && a.value_type != MACKO_F64;
    for (int64_t j = 0; j < product->k;) {
      device_vectors v = vectors_from(product, j);
      int group = product->k - j >= MACKO_DEVICE_GROUP ? MACKO_DEVICE_GROUP : 1;
      if (product->vector_type == MACKO_F64 && group > 1) run<KIND, GROUPS, POWERS, MACKO_F64, double, MACKO_DEVICE_GROUP>(v);
      else if (product->vector_type == MACKO_F64) run<KIND, GROUPS, POWERS, MACKO_F64, double, 1>(v);
      else if (f32 && group == 1) run<KIND, GROUPS, POWERS, MACKO_F32, float, 1>(v);
      else if (group > 1) run<KIND, GROUPS, POWERS, MACKO_ANY, double, MACKO_DEVICE_GROUP>(v);
      else run<KIND, GROUPS, POWERS, MACKO_ANY, double, 1>(v);
      j += group;
    }
  }
};

/* The coding as constants. */
static void run_coding(const dtans_launch &l, const macko_dtans_device *own)
{
#define MACKO_CODING(kind_, groups_, powers_) \
  if (own->kind == kind_ && own->groups == groups_ && own->powers == powers_) return l.run_groups<kind_, groups_, powers_>();
#define MACKO_CODINGS(kind) MACKO_CODING(kind, 2, 0) MACKO_CODING(kind, 2, 1) MACKO_CODING(kind, 3, 0) MACKO_CODING(kind, 3, 1)
  MACKO_CODINGS(MACKO_DTANS_JOINT)
  MACKO_CODINGS(MACKO_DTANS_BESIDE)
  MACKO_CODINGS(MACKO_DTANS_SPLIT)
  MACKO_CODING(MACKO_DTANS_PAPER, 2, 0)
#undef MACKO_CODINGS
#undef MACKO_CODING
}

static macko_status multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  const macko_dtans_device *own = (const macko_dtans_device *)d->own;
  const macko_section *slices = macko_find_section(&d->m, "slices"), *lengths = macko_find_section(&d->m, "lengths");
  const macko_section *value_slices = macko_find_section(&d->m, "value_slices");
  int64_t rows = (int64_t)own->rows * WARP;
  dtans_matrix a = {};
  a.words[0] = (const uint32_t *)macko_device_data(d, "stream"), a.words[1] = (const uint32_t *)macko_device_data(d, "value_stream");
  a.slices[0] = slices->data, a.slices_type[0] = slices->type;
  if (value_slices) a.slices[1] = value_slices->data, a.slices_type[1] = value_slices->type;
  a.lengths = lengths->data, a.length_bytes = (int)macko_type_bytes(lengths->type);
  a.value_type = d->m.value_type, a.rows = own->rows, a.relative = own->relative ? ~0u : 0, a.value = own->value, a.empty_rows = own->empty_rows;
  a.nrows = d->m.nrows, a.count = (d->m.nrows + rows - 1) / rows;
  for (int i = 0; i < own->tables; i++)
    a.table[i] = {(const uint4 *)((const char *)own->memory + own->table[i].ids),
                  (const macko_dtans_entry *)((const char *)own->memory + own->table[i].entries), own->table[i].symbols,
                  (int)macko_dtans_id_bytes(own), own->shift};
  cudaError_t error = cudaSuccess;
  /* A dictionary's table is read as it is stored: such values are not the ones this format is fast on. */
  device_values values = {macko_device_data(d, "values"), macko_device_data(d, "dict"), d->m.plan.stored_type, d->m.value_type,
                          (int)d->m.plan.table};
  run_coding({a, values, p, stream, &error}, own);
  return macko_cuda_status(error ? error : cudaGetLastError(), "starting a multiply", err);
}

static void destroy(macko_device_matrix *d)
{
  macko_dtans_device *own = (macko_dtans_device *)d->own;
  if (!own) return;
  cudaFree(own->memory);
  free(own->image);
  free(own);
}

/* A kernel trusts what it reads, so everything is decoded once on the host. New values reach a matrix that is already here only in the
 * sections beside its streams. */
static macko_status prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err)
{
  if (d->own) return MACKO_OK;
  macko_status s = macko_validate(host, err);
  if (s) return s;
  macko_dtans_device *own = (macko_dtans_device *)calloc(1, sizeof *own);
  if (!own) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a device matrix");
  d->own = own;
  s = macko_dtans_open_device(host, own, err);
  if (!s) s = macko_device_alloc(own->bytes, "the tables of symbols", &own->memory, err);
  if (s) return s;
  d->own_bytes = own->bytes;
  return macko_cuda_status(cudaMemcpyAsync(own->memory, own->image, (size_t)own->bytes, cudaMemcpyHostToDevice, stream),
                           "copying the tables of symbols", err);
}

extern "C" const macko_device_ops macko_dtans_device_ops = {prepare, multiply, destroy};
