/* Layout slice: one warp a slice, one lane a row (slice_steps.cuh); several warps a slice (slice_split.cu) where there are too
 * few slices to fill the GPU. */
#include "core/warp.cuh"
#include "macko/slice_steps.cuh"

#include <algorithm>

/* Multiplies by slices, a warp each, in as many registers as the compiler likes. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int AT_ONCE>
static __global__ void __launch_bounds__(THREADS) slice_kernel(slices a, device_values values, device_vectors v)
{
  whole_slices<STORED, VECTOR, SUM, GROUP, 0, AT_ONCE>(a, values, v);
}

/* f32 values wait for x of f64 vectors: in slices of many steps, four rounds together are worth their registers, with which
 * MANY_BLOCKS blocks run on a multiprocessor (27 points: 41 instead of 51 us; but 7 points: 39 instead of 36). */
enum { MANY_STEPS = 16, MANY_BLOCKS = 10, MANY_ROUNDS = 4 };

/* Does the same for slices of many steps. */
template <int STORED, int VECTOR, typename SUM>
static __global__ void __launch_bounds__(THREADS, MANY_BLOCKS) many_steps_kernel(slices a, device_values values, device_vectors v)
{
  whole_slices<STORED, VECTOR, SUM, 1, MANY_ROUNDS, 0>(a, values, v);
}

/* This is what run_product calls to start a kernel for its types. */
struct slice_launch {
  slices a;
  int64_t steps; /* of all slices together */
  cudaStream_t stream;
  static constexpr int AT_ONCE = MACKO_DEVICE_AT_ONCE, RARE = MACKO_ANY;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    unsigned blocks = blocks_for(a.count);
    constexpr int AT_ONCE_TOO = can_be_at_once<STORED, SUM, GROUP>;
    auto one = slice_kernel<STORED, VECTOR, SUM, GROUP, (GROUP > 1)>;
    /* A block that has loaded a table keeps it for several slices. */
    if (STORED == MACKO_U8 && blocks > 4096) blocks = (blocks + 3) / 4;
    if constexpr (STORED == MACKO_F32 && VECTOR == MACKO_F64 && GROUP == 1)
      if (steps >= MANY_STEPS * a.count) one = many_steps_kernel<STORED, VECTOR, SUM>;
    return start_groups<GROUP>(AT_ONCE_TOO, one, slice_kernel<STORED, VECTOR, SUM, GROUP, AT_ONCE_TOO>, blocks, THREADS, stream, a,
                               values, v);
  }
};

/* Multiplies by the slices that are neither stencils nor masked. */
static macko_status multiply_steps(const slices &a, int64_t steps, const macko_device_matrix *d, const macko_product *p,
                                   int grouped, cudaStream_t stream, macko_error *err)
{
  if (d->m.plan.values == MACKO_VALUES_PAIRS) return macko_pairs_multiply(a, d, p, grouped, stream, err);
  const macko_product rest = product_after(p, grouped ? macko_slices_multiply_beside(a, d, p, stream) : 0);
  if (!rest.k) return MACKO_OK;
  if (a.split > 1) return macko_split_multiply(a, d, &rest, grouped, stream, err);
  return run_product(slice_launch{a, steps, stream}, d, &rest, grouped, err);
}

/* ---- the diagonal ---- */

/* Finds each row's entry in the column that is first_col beyond its number, a thread a row. It walks the row's columns until they
 * pass that one, as columns are known only by adding up gaps. */
static __global__ void __launch_bounds__(THREADS) diagonal_kernel(slices a, device_values values, const uint32_t *pair_gaps,
                                                                  int type, int64_t first_col, double *diagonal)
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
      if ((int)step.x == first_col && step.y >> lane & 1) value = stencil_value<MACKO_ANY>(type, step);
    }
  } else if (s.gap_bits == MACKO_GAP_MASKED) {
    for (int k = 0; k < (int)s.steps; k++) {
      const macko_masked_step step = macko_masked_at(&s, a.blocks, k);
      if ((int64_t)s.base + lane + step.distance == row + first_col && step.lanes >> lane & 1)
        value = load_value<MACKO_ANY, double>(values, macko_slice_slot(s.values, bytes, k, lane));
    }
  } else {
    int length = s.length_bytes ? (int)macko_unsigned_at(macko_slice_lengths(&s, a.blocks), s.length_bytes, lane) : (int)s.steps;
    int64_t base = (int64_t)s.base + lane + macko_unsigned_at(macko_slice_offsets(&s, a.blocks), s.offset_bytes,
                                                              lane), col = base;
    for (int k = 0; k < length; k++) {
      int64_t slot = macko_slice_slot(s.values, bytes, k, lane);
      if (k && s.gap_bits == MACKO_GAP_PAIRS) col += pair_gaps[((const uint8_t *)values.stream)[slot]];
      else if (k) col = s.gap_bits ? col + macko_slice_gap(gaps, s.gap_bits, k - 1, lane) : base + (int)gaps[k - 1];
      if (col == row + first_col) value = load_value<MACKO_ANY, double>(values, slot);
      if (col >= row + first_col) break;
    }
  }
  diagonal[row] = value;
}

macko_status macko_slices_diagonal(const macko_device_matrix *d, int64_t first_col, double *diagonal, cudaStream_t stream,
                                   macko_error *err)
{
  slices a = slices_of(d);
  device_values values = values_of(d);
  values.table = macko_device_data(d, "dict"); /* as stored */
  cudaError_t error = launch(diagonal_kernel, (unsigned)((a.nrows + THREADS - 1) / THREADS), THREADS, 0, stream, a, values,
                             (const uint32_t *)macko_device_data(d, "pair_gaps"), d->m.value_type, first_col, diagonal);
  return macko_cuda_status(error, "starting to read a diagonal", err);
}

/* ---- products ---- */

/* Sets *longest to the most steps that a slice has; it is 0 before. */
static __global__ void __launch_bounds__(THREADS) longest_kernel(slices a, unsigned *longest)
{
  const int64_t slice = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  unsigned steps = slice < a.count ? (unsigned)load_header(a.headers, slice).steps : 0;
  for (int d = WARP / 2; d > 0; d /= 2) steps = max(steps, __shfl_xor_sync(EVERY, steps, d));
  if (threadIdx.x % WARP == 0) atomicMax(longest, steps);
}

/* A matrix that was encoded on the GPU has no slices on the host. */
macko_status macko_slices_longest(const macko_device_matrix *d, const macko_matrix *host, int64_t *longest, cudaStream_t stream,
                                  macko_error *err)
{
  const slices a = slices_of(d);
  const macko_section *there = macko_find_section(host, "slices");
  unsigned most = 0;
  *longest = 0;
  if (a.count == 0) return MACKO_OK;
  if (there) {
    for (int64_t i = 0; i < a.count; i++) most = std::max(most, (unsigned)macko_slice_at((const uint32_t *)there->data, i).steps);
    return *longest = most, MACKO_OK;
  }
  void *counter = NULL;
  macko_status s = macko_device_alloc(sizeof most, "the steps of the longest slice", &counter, err);
  if (s) return s;
  cudaError_t error = cudaMemsetAsync(counter, 0, sizeof most, stream);
  const unsigned blocks = (unsigned)((a.count + THREADS - 1) / THREADS);
  if (!error) error = launch(longest_kernel, blocks, THREADS, 0, stream, a, (unsigned *)counter);
  if (!error) error = cudaMemcpyAsync(&most, counter, sizeof most, cudaMemcpyDeviceToHost, stream);
  if (!error) error = cudaStreamSynchronize(stream);
  cudaFree(counter);
  *longest = most;
  return macko_cuda_status(error, "looking for the longest slice", err);
}

/* Stencils come first, which need no values: stencils, masked slices and all others have kernels of their own, which leave out the
 * other slices, so that every row is written once. */
macko_status macko_slices_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  slices a = slices_of(d);
  const macko_params *params = macko_params_of(&d->m.plan);
  const int64_t stencils = params->slice.stencils, masked = params->slice.masked, steps = params->slice.value_units[2];
  const int64_t longest = ((const device_macko *)d->own)->longest;
  a.split = macko_slice_split(a.count, steps);
  const int grouped = goes_in_groups(longest, d->m.nnz);
  cudaError_t error = stencils ? macko_stencils_multiply(d, p, grouped, stream) : cudaSuccess;
  if (!error && masked) error = macko_masked_multiply(a, d, p, stream);
  if (error || stencils + masked == a.count) return macko_cuda_status(error, "starting a multiply", err);
  return multiply_steps(a, steps, d, p, grouped, stream, err);
}
