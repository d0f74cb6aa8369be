/* Format dtans on the GPU: decodes inside the multiply. A lane's sum is written once, at the end of its row. */
#include "dtans_equal.cuh"
#include "dtans_lanes.cuh"

#include <stdlib.h>

enum { THREADS = 128, MOST_SLICES = 4 /* of a warp, one after the other */ };

/* Blocks that a multiprocessor should hold at least, which bounds the registers: measured on an H200. */
template <int KIND, int ONE_ROW, int GROUP> constexpr int least_blocks()
{
  return GROUP > 1 ? 3 : KIND != MACKO_DTANS_JOINT ? 5 : ONE_ROW ? 7 : 8;
}

template <int KIND, int GROUPS, int POWERS, int ONE_ROW, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS, (least_blocks<KIND, ONE_ROW, GROUP>()))
    dtans_kernel(dtans_matrix a, device_values values, device_vectors v)
{
  extern __shared__ uint4 memory[];
  tables_of<KIND, SUM, POWERS> t;
  int lane = threadIdx.x % WARP;
  int64_t warps = (int64_t)gridDim.x * (THREADS / WARP), slice = (int64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
  t.fill(a, (char *)memory);
  __syncthreads();
  if (!ONE_ROW) {
    for (; slice < a.count; slice += warps) multiply_lanes<KIND, GROUPS, POWERS, VECTOR, SUM, GROUP>(a, t, values, v, slice, lane);
    return;
  }
  if (slice >= a.count) return;
  /* What tells where a slice is comes one slice ahead. */
  slice_place next = place_of(a, slice);
  int length = row_length(a, slice * WARP + lane);
  while (slice < a.count) {
    slice_place place = next;
    int left = length;
    int64_t row = slice * WARP + lane;
    slice += warps;
    if (slice < a.count) next = place_of(a, slice), length = row_length(a, slice * WARP + lane);
    multiply_rows<KIND, GROUPS, POWERS, VECTOR, SUM, GROUP>(a, t, values, v, place, row, left);
  }
}

/* ---- from a product to a kernel ---- */

template <int GROUP> constexpr int equal_blocks()
{
  return GROUP > 1 ? 4 : 8;
}

struct dtans_launch {
  dtans_matrix a;
  device_values values;
  const macko_product *product;
  cudaStream_t stream;
  int multiprocessors;
  cudaError_t *error;

  template <int KIND, int GROUPS, int POWERS, int ONE_ROW, int VECTOR, typename SUM, int GROUP> void run_rows(const device_vectors &v) const
  {
    auto kernel = dtans_kernel<KIND, GROUPS, POWERS, ONE_ROW, VECTOR, SUM, GROUP>;
    int bytes = tables_of<KIND, SUM, POWERS>::bytes(a);
    int64_t blocks = (a.count + THREADS / WARP - 1) / (THREADS / WARP);
    /* Where blocks are many, each keeps its tables for several slices; fewer than four waves of blocks would end raggedly. */
    int64_t slices = blocks / (4 * (int64_t)multiprocessors * least_blocks<KIND, ONE_ROW, GROUP>());
    if (slices > MOST_SLICES) slices = MOST_SLICES;
    if (ONE_ROW && slices > 1) blocks = (blocks + slices - 1) / slices;
    if (blocks > INT32_MAX) blocks = INT32_MAX;
    if (bytes > 48 << 10) *error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (*error == cudaSuccess) kernel<<<(unsigned)blocks, THREADS, bytes, stream>>>(a, values, v);
  }

  template <int KIND, int VECTOR, typename SUM, int GROUP> void run_equal(const device_vectors &v) const
  {
    constexpr int BLOCKS = equal_blocks<GROUP>();
    int64_t blocks = (a.count + THREADS / WARP - 1) / (THREADS / WARP), most = (int64_t)multiprocessors * BLOCKS;
    equal_kernel<KIND, VECTOR, SUM, GROUP, THREADS, BLOCKS><<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, stream>>>(a, values, v);
  }

  template <int KIND, int GROUPS, int POWERS, int VECTOR, typename SUM, int GROUP> void run(const device_vectors &v) const
  {
    if constexpr (POWERS == MACKO_DTANS_EQUAL) run_equal<KIND, VECTOR, SUM, GROUP>(v);
    else if (a.rows == 1) run_rows<KIND, GROUPS, POWERS, 1, VECTOR, SUM, GROUP>(v);
    else run_rows<KIND, GROUPS, POWERS, 0, VECTOR, SUM, GROUP>(v);
  }

  template <int KIND, int GROUPS, int POWERS> void run_groups() const
  {
    int f32 = product->vector_type == MACKO_F32 && a.value_type != MACKO_F64;
    for (int64_t j = 0; j < product->k;) {
      device_vectors v = vectors_from(product, j);
      if (product->vector_type == MACKO_F64 && product->k - j >= MACKO_DEVICE_GROUP) {
        run<KIND, GROUPS, POWERS, MACKO_F64, double, MACKO_DEVICE_GROUP>(v);
        j += MACKO_DEVICE_GROUP;
        continue;
      }
      if (product->vector_type == MACKO_F64) run<KIND, GROUPS, POWERS, MACKO_F64, double, 1>(v);
      else if (f32) run<KIND, GROUPS, POWERS, MACKO_F32, float, 1>(v);
      else run<KIND, GROUPS, POWERS, MACKO_ANY, double, 1>(v);
      j++;
    }
  }
};

/* The coding as constants. */
static void run_coding(const dtans_launch &l, const macko_dtans_device *own)
{
#define MACKO_CODING(kind_, groups_, powers_) \
  if (own->kind == kind_ && own->groups == groups_ && own->digits == powers_) return l.run_groups<kind_, groups_, powers_>();
#define MACKO_CODINGS(kind) MACKO_CODING(kind, 2, MACKO_DTANS_ANY) MACKO_CODING(kind, 2, MACKO_DTANS_POWERS) \
  MACKO_CODING(kind, 3, MACKO_DTANS_ANY) MACKO_CODING(kind, 3, MACKO_DTANS_POWERS)
  MACKO_CODING(MACKO_DTANS_JOINT, 2, MACKO_DTANS_EQUAL)
  MACKO_CODING(MACKO_DTANS_BESIDE, 2, MACKO_DTANS_EQUAL)
  MACKO_CODINGS(MACKO_DTANS_JOINT)
  MACKO_CODINGS(MACKO_DTANS_BESIDE)
  MACKO_CODINGS(MACKO_DTANS_SPLIT)
  MACKO_CODING(MACKO_DTANS_PAPER, 2, MACKO_DTANS_ANY)
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
  a.value_type = d->m.value_type, a.rows = own->rows, a.relative = own->relative ? ~0u : 0, a.value = own->value;
  a.nrows = d->m.nrows, a.count = (d->m.nrows + rows - 1) / rows;
  for (int i = 0; i < own->tables; i++)
    a.table[i] = {(const uint4 *)((const char *)own->memory + own->table[i].ids),
                  (const macko_dtans_entry *)((const char *)own->memory + own->table[i].entries), own->table[i].symbols, own->table[i].escape,
                  (int)macko_dtans_id_bytes(own), own->shift};
  int multiprocessors = 1;
  cudaError_t error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, d->device);
  /* A dictionary's table is read as it is stored: such values are not the ones this format is fast on. */
  device_values values = {macko_device_data(d, "values"), macko_device_data(d, "dict"), d->m.plan.stored_type, d->m.value_type,
                          (int)d->m.plan.table};
  if (!error) run_coding({a, values, p, stream, multiprocessors, &error}, own);
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
