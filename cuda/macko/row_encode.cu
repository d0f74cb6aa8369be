/* Layout row from a csr in device memory, a warp a row. The rules are those of lib/macko/row.c. */
#include "core/device_csr.cuh"
#include "core/sums.cuh"
#include "macko/slice_kernels.h"

/* ---- facts ---- */

/* This is the number of logarithms that a gap may have, and blocks of threads that count them. */
enum { LOGS = 33, FACT_BLOCKS = 1024 };

/* Gives the smallest of what the lanes of a warp have. */
static __device__ int64_t least(int64_t v)
{
  for (int far = 16; far; far /= 2) {
    int64_t other = __shfl_xor_sync(EVERY, v, far);
    v = other < v ? other : v;
  }
  return v;
}

/* Sets *first to the first column of a row and *any to whether it has one; gives the smallest first column among the 32 rows of
 * its block, 0 if all are empty. A lane takes a row, and all lanes of the warp take part. */
static __device__ int64_t block_first(const macko_device_csr &a, int64_t row, int64_t *first, bool *any)
{
  int64_t begin = row < a.nrows ? row_start(a, row) : 0;
  *any = row < a.nrows && row_start(a, row + 1) > begin;
  *first = *any ? column(a, begin) : INT64_MAX;
  int64_t block = least(*first);
  return block == INT64_MAX ? 0 : block;
}

/* Finds the least and the largest distance of first columns from what each base mode counts from. A plain load before the
 * atomic leaves most atomics out. */
static __global__ void distances_kernel(macko_device_csr a, macko_device_row_facts *facts)
{
  int64_t row = thread_number(), first;
  bool any;
  int64_t block = block_first(a, row, &first, &any);
  int64_t references[] = {0, row, block};
  for (int mode = 0; mode < 3; mode++) {
    int64_t low = least(any ? first - references[mode] : INT64_MAX), high = -least(any ? references[mode] - first : INT64_MAX);
    if (lane_number() || low == INT64_MAX) continue;
    if (low < *(volatile long long *)&facts->low[mode]) atomicMin(&facts->low[mode], (long long)low);
    if (high > *(volatile long long *)&facts->high[mode]) atomicMax(&facts->high[mode], (long long)high);
  }
}

/* Adds to counts what each lane has counted by itself, a byte for each of the logarithms below 8, and begins anew. */
static __device__ void add_counts(uint64_t *bytes, unsigned long long *counts)
{
  for (int log = 0; log < 8; log++) {
    unsigned sum = __reduce_add_sync(EVERY, (unsigned)(*bytes >> 8 * log) & 255);
    if (lane_number() == 0 && sum) atomicAdd(&counts[log], (unsigned long long)sum);
  }
  *bytes = 0;
}

/* Counts gaps by their logarithms, and finds the longest row. Most gaps are short: a lane counts those by itself, in bytes, which
 * hold 255 of them. A block adds up in shared memory and reaches the counts of all once. */
static __global__ void gaps_kernel(macko_device_csr a, macko_device_row_facts *facts)
{
  __shared__ unsigned long long counts[LOGS];
  uint64_t bytes = 0;
  int64_t longest = 0;
  int steps = 0;
  if (threadIdx.x < LOGS) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int64_t row = warp_number(), step = (int64_t)gridDim.x * blockDim.x / WARP; row < a.nrows; row += step) {
    int64_t begin = row_start(a, row), end = row_start(a, row + 1);
    longest = max(longest, end - begin);
    for (int64_t first = begin + 1; first < end; first += WARP) {
      int64_t p = first + lane_number();
      int log = p < end ? 63 - __clzll(column(a, p) - column(a, p - 1)) : 64;
      if (log < 8) bytes += 1ull << 8 * log;
      else if (log < LOGS) atomicAdd(&counts[log], 1ull);
      if (++steps < 255) continue;
      add_counts(&bytes, counts);
      steps = 0;
    }
  }
  add_counts(&bytes, counts);
  if (lane_number() == 0 && longest) atomicMax(&facts->longest, (unsigned long long)longest);
  __syncthreads();
  if (threadIdx.x < LOGS && counts[threadIdx.x]) atomicAdd(&facts->by_log[threadIdx.x], counts[threadIdx.x]);
}

extern "C" cudaError_t macko_count_rows(const macko_device_csr *a, macko_device_row_facts *facts, cudaStream_t stream)
{
  cudaError_t error = launch(gaps_kernel, FACT_BLOCKS, ENCODE_THREADS, 0, stream, *a, facts);
  if (error) return error;
  return launch(distances_kernel, blocks_for((a->nrows + WARP - 1) / WARP * WARP), ENCODE_THREADS, 0, stream, *a, facts);
}

/* ---- writing layout row ---- */

/* These are the sections of layout row but row_ptr, and the numbers that say how they are made; device pointers. */
struct row_writer {
  void *base;
  int base_mode, base_bytes, b; /* b: bits of a code */
  int32_t *block_base;
  unsigned *gaps;
  uint32_t *long_ptr, *long_gaps;
  int64_t bias;
};

/* Writes the base of each row, a thread a row, and, in the mode that has them, what 32 rows count from. */
static __global__ void bases_kernel(macko_device_csr a, row_writer w)
{
  int64_t row = thread_number(), first;
  bool any;
  int64_t block = block_first(a, row, &first, &any);
  if (w.block_base && row < a.nrows && row % MACKO_BASE_ROWS == 0) w.block_base[row / MACKO_BASE_ROWS] = (int32_t)block;
  if (!any) return;
  int64_t reference = w.base_mode == MACKO_BASE_DIAGONAL ? row : w.base_mode == MACKO_BASE_BLOCK ? block : 0;
  macko_put_unsigned(w.base, w.base_bytes, row, (uint32_t)(first - reference - w.bias));
}

/* Sets *code to the gap before entry p, less one; true: it is too long for a code of b bits. p is not the first of its row. */
static __device__ __forceinline__ bool is_long(const macko_device_csr &a, const row_writer &w, int64_t p, uint32_t *code)
{
  *code = (uint32_t)(column(a, p) - column(a, p - 1) - 1);
  return *code >= (1u << w.b) - 1;
}

/* Counts the long gaps of each row into long_ptr[row + 1], a warp a row; sums make row starts of these. */
static __global__ void count_long_kernel(macko_device_csr a, row_writer w)
{
  int64_t row = warp_number();
  if (row >= a.nrows) return;
  uint32_t code, count = 0;
  for (int64_t p = row_start(a, row) + 1 + lane_number(), end = row_start(a, row + 1); p < end; p += WARP)
    count += is_long(a, w, p, &code);
  count = __reduce_add_sync(EVERY, count);
  if (lane_number() == 0) w.long_ptr[row + 1] = count;
}

/* Gives the codes of entries from .. to - 1 of the word that starts with entry `word`; bit i of *escapes: its entry i has a
 * long gap. */
static __device__ __forceinline__ uint32_t code_word(const macko_device_csr &a, const row_writer &w, int64_t word, int64_t from,
                                                     int64_t to, uint32_t *escapes)
{
  uint32_t bits = 0, code, escape = (1u << w.b) - 1;
  for (int64_t p = from; p < to; p++) {
    int place = (int)(p - word);
    if (is_long(a, w, p, &code)) *escapes |= 1u << place, code = escape;
    bits |= code << place * w.b;
  }
  return bits;
}

/* Writes the codes and long gaps of a row, a warp a row and a lane a word. The first and the last word of a row may hold codes
 * of other rows, so that these are or-ed into zeroed memory. */
static __global__ void codes_kernel(macko_device_csr a, row_writer w)
{
  int64_t row = warp_number();
  if (row >= a.nrows) return;
  int64_t begin = row_start(a, row), end = row_start(a, row + 1), per = 32 / w.b;
  uint32_t next_long = w.long_ptr ? w.long_ptr[row] : 0, code;
  for (int64_t first = (begin + 1) / per * per; first < end; first += WARP * per) {
    int64_t word = first + lane_number() * per, from = word > begin ? word : begin + 1, to = word + per < end ? word + per : end;
    uint32_t escapes = 0, bits = code_word(a, w, word, from, to, &escapes), count = __popc(escapes), up_to = count;
    if (__any_sync(EVERY, escapes)) up_to = sum_up_to_lane(count, lane_number());
    for (uint32_t left = escapes, at = next_long + up_to - count; left; left &= left - 1) {
      is_long(a, w, word + __ffs(left) - 1, &code);
      w.long_gaps[at++] = code + 1;
    }
    next_long += __shfl_sync(EVERY, up_to, WARP - 1);
    if (to - from == per) w.gaps[word / per] = bits;
    else if (bits) atomicOr(&w.gaps[word / per], bits);
  }
}

/* Gives the sections of *d by their names. */
static row_writer writer_of(const macko_device_matrix *d)
{
  const macko_params *params = macko_params_of(&d->m.plan);
  row_writer w = {};
  w.base = macko_device_data(d, "base"), w.block_base = (int32_t *)macko_device_data(d, "block_base");
  w.gaps = (unsigned *)macko_device_data(d, "gaps"), w.b = d->m.plan.gap_bits;
  w.long_ptr = (uint32_t *)macko_device_data(d, "long_ptr"), w.long_gaps = (uint32_t *)macko_device_data(d, "long_gaps");
  w.base_mode = (int)params->row.base_mode, w.base_bytes = (int)params->row.base_bytes;
  w.bias = params->row.base_bias;
  return w;
}

extern "C" cudaError_t macko_write_rows(const macko_device_csr *a, const macko_device_matrix *d, uint32_t *room,
                                        cudaStream_t stream)
{
  row_writer w = writer_of(d);
  cudaError_t error = macko_copy_row_ptr(a, d, stream);
  if (!error) error = launch(bases_kernel, blocks_for((a->nrows + WARP - 1) / WARP * WARP), ENCODE_THREADS, 0, stream, *a, w);
  if (!error && w.long_ptr) {
    error = launch(count_long_kernel, blocks_for(a->nrows * WARP), ENCODE_THREADS, 0, stream, *a, w);
    if (!error) error = sum_up(w.long_ptr + 1, a->nrows, room, stream);
  }
  if (error) return error;
  return launch(codes_kernel, blocks_for(a->nrows * WARP), ENCODE_THREADS, 0, stream, *a, w);
}
