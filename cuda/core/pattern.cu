/* The first look at a csr in device memory: whether it is fit to be read, by the rules of lib/core/check_csr.c, and the number of
 * its pattern (lib/core/pattern.h), which a warp a block makes, whose lanes keep their keys. */
#include "core/device_csr.cuh"
#include "core/pattern.h"

/* PATTERN_BLOCKS is the most blocks of threads: each warp goes on to further blocks of the pattern with the keys that it has
 * computed once. PER_LANE are the pairs of such a block that a lane takes. */
enum { PATTERN_BLOCKS = 2048, PER_LANE = MACKO_PATTERN_PAIRS / WARP };

/* ---- rows ---- */

/* Checks the starts of rows, a thread a row. The longest row is asked for by a plain load first, as atomics on one address run one
 * after the other and most rows are no longer than what was seen. */
static __global__ void rows_kernel(macko_device_csr a, macko_device_look *look)
{
  int64_t row = thread_number();
  bool there = row < a.nrows, falls = false;
  int64_t begin = there ? row_start(a, row) : 0, end = there ? row_start(a, row + 1) : 0;
  bool bad = begin < 0 || end < begin || end > a.nnz || (row == 0 && begin != 0);
  if (bad) look->invalid = 1;
  else falls = begin > 0 && begin < end && column(a, begin - 1) >= column(a, begin);
  int all = __syncthreads_count(falls), longest = __reduce_max_sync(EVERY, bad ? 0 : (int)min(end - begin, (int64_t)INT32_MAX));
  if (threadIdx.x == 0 && all) atomicAdd(&look->row_falls, (unsigned long long)all);
  if (lane_number() == 0 && (unsigned)longest > *(volatile unsigned long long *)&look->longest)
    atomicMax(&look->longest, (unsigned long long)longest);
}

/* ---- entries ---- */

/* This is what a lane has found of columns. */
struct column_look {
  uint64_t falls;
  bool outside;
};

/* Each of these loads the pairs first, first + WARP and so on of an array, as many as a lane takes of a block, and looks at them;
 * those behind the last one are of no use. All lanes of a warp load together. Row starts are checked elsewhere. */
struct load_starts {
  macko_pattern_words w;

  __device__ __forceinline__ void operator()(int64_t first, macko_pattern_pair *pairs, column_look *) const
  {
#pragma unroll
    for (int i = 0; i < PER_LANE; i++)
      if (first + i * WARP < macko_pattern_pairs(&w)) pairs[i] = macko_pattern_pair_at(&w, first + i * WARP);
  }
};

/* Columns of any type, each of which is compared with the one before it. */
struct load_columns {
  macko_pattern_words w;
  uint64_t ncols;

  __device__ __forceinline__ void look_at(int64_t i, column_look *found) const
  {
    if (i >= w.count) return;
    const uint64_t col = macko_pattern_index(&w, i);
    found->outside |= col >= ncols;
    if (i > 0) found->falls += macko_pattern_index(&w, i - 1) >= col;
  }

  __device__ __forceinline__ void operator()(int64_t first, macko_pattern_pair *pairs, column_look *found) const
  {
    load_starts{w}(first, pairs, found);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
      const int64_t pair = first + i * WARP;
      look_at(w.wide ? pair : 2 * pair, found);
      if (!w.wide) look_at(2 * pair + 1, found);
    }
  }
};

/* Columns of 32 bits that lie where pairs of them may be loaded: most matrices have such, and reading them is all that this takes.
 * A lane has the column before its pair from its neighbour. */
struct load_column_pairs {
  macko_pattern_words w;
  uint32_t ncols;

  __device__ __forceinline__ void operator()(int64_t first, macko_pattern_pair *pairs, column_look *found) const
  {
    const int *indices = (const int *)w.indices;
    int2 cols[PER_LANE];
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
      const int64_t pair = first + i * WARP;
      cols[i] = make_int2(0, 0);
      if (2 * pair + 1 < w.count) cols[i] = ((const int2 *)indices)[pair];
      else if (2 * pair < w.count) cols[i].x = indices[2 * pair];
    }
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
      const int64_t pair = first + i * WARP;
      const bool one = 2 * pair < w.count, two = 2 * pair + 1 < w.count;
      int before = __shfl_up_sync(EVERY, cols[i].y, 1);
      if (lane_number() == 0 && one && pair) before = indices[2 * pair - 1];
      pairs[i] = {{(uint32_t)cols[i].x - w.base, two ? (uint32_t)cols[i].y - w.base : 0}};
      found->outside |= (one && pairs[i].words[0] >= ncols) | (two && pairs[i].words[1] >= ncols);
      found->falls += (one && pair && before >= cols[i].x) + (two && cols[i].x >= cols[i].y);
    }
  }
};

/* Adds to the pattern's number what the blocks of the array contribute. Integer sums do not depend on the order in which warps add,
 * so that atomics are allowed here. */
template <class Load>
static __global__ void pattern_kernel(Load load, macko_device_look *look)
{
  macko_pattern_pair keys[2][PER_LANE];
  const int64_t count = macko_pattern_pairs(&load.w), blocks = macko_pattern_blocks(&load.w);
  uint64_t sum = 0;
  column_look found = {};
  for (int set = 0; set < 2; set++)
    for (int i = 0; i < PER_LANE; i++) keys[set][i] = macko_pattern_keys(set, i * WARP + lane_number());
  for (int64_t block = warp_number(), step = (int64_t)gridDim.x * blockDim.x / WARP; block < blocks; block += step) {
    const int64_t first = block * MACKO_PATTERN_PAIRS + lane_number();
    macko_pattern_pair pairs[PER_LANE];
    uint64_t sums[2] = {0, 0};
    load(first, pairs, &found);
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
      if (first + i * WARP >= count) continue;
#pragma unroll
      for (int set = 0; set < 2; set++) sums[set] += macko_pattern_product(pairs[i], keys[set][i]);
    }
    for (int set = 0; set < 2; set++) sums[set] = sum_of_lanes(sums[set], WARP);
    sum += macko_pattern_block(&load.w, block, sums);
  }
  if (found.outside) look->invalid = 1;
  found.falls = sum_of_lanes(found.falls, WARP);
  if (lane_number() == 0 && sum) atomicAdd(&look->pattern, (unsigned long long)sum);
  if (lane_number() == 0 && found.falls) atomicAdd(&look->falls, (unsigned long long)found.falls);
}

/* Queues the kernel for such an array. */
template <class Load>
static cudaError_t number(Load load, macko_device_look *look, cudaStream_t stream)
{
  const int64_t blocks = macko_pattern_blocks(&load.w), most = (int64_t)PATTERN_BLOCKS * ENCODE_THREADS / WARP;
  const unsigned grid = blocks_for((blocks < most ? blocks : most) * WARP);
  return launch(pattern_kernel<Load>, grid, ENCODE_THREADS, 0, stream, load, look);
}

extern "C" cudaError_t macko_look_at_csr(const macko_csr *csr, const macko_device_csr *a, macko_device_look *look,
                                         cudaStream_t stream)
{
  const macko_pattern_words starts = macko_pattern_starts(csr, a->nnz), columns = macko_pattern_columns(csr, a->nnz);
  cudaError_t error = cudaMemsetAsync(look, 0, sizeof *look, stream);
  if (!error) error = launch(rows_kernel, blocks_for(a->nrows), ENCODE_THREADS, 0, stream, *a, look);
  if (!error) error = number(load_starts{starts}, look, stream);
  if (error) return error;
  if (!columns.wide && columns.type == MACKO_I32 && (uintptr_t)columns.indices % sizeof(int2) == 0)
    return number(load_column_pairs{columns, (uint32_t)a->ncols}, look, stream);
  return number(load_columns{columns, (uint64_t)a->ncols}, look, stream);
}
