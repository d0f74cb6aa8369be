/* Which entries a block of threads takes: as many whole rows as fit, so that most blocks need nothing of each other. Where a block
 * begins depends on where the one before it ended, so that a warp cuts a part of the rows after the other; parts begin with blocks
 * of their own. All is done on the GPU: copying row starts to the host took most of the time that encoding takes. */
#include "core/device_csr.cuh"
#include "csr/csr_blocks.h"

#include <stdlib.h>

/* This is about the number of blocks that run at once: nine on each of 120 multiprocessors. The number does not depend on the
 * GPU, so that a matrix is cut in the same way on all of them. */
enum { RUNNING = 9 * 120 };

/* A part has about so many blocks, and fewer where all of them run at once. The last one has room left, half of it in the mean,
 * which costs nothing there; else less than 1 % (H200). */
enum { PART_BLOCKS = 64, FEW_PART_BLOCKS = 16 };

/* Counts of a part, or of all parts before one. */
typedef struct {
  int64_t blocks, long_rows, pieces;
} part_counts;

/* What is cut: row starts in device memory, the number of entries of a block and of a piece, and of entries and rows of a part. */
struct rows_to_cut {
  const void *row_ptr;
  int type;
  int64_t nrows, limit, piece, part, nparts;
};

static __device__ __forceinline__ int64_t start_of(const rows_to_cut &a, int64_t i)
{
  return index_at(a.type, a.row_ptr, i);
}

/* Gives the first of low .. high - 1 that is_past says yes to, as it does to all behind it; high where there is none. The whole
 * warp must come here. */
template <typename TEST> static __device__ __forceinline__ int64_t first_past(int64_t low, int64_t high, const TEST &is_past)
{
  while (low < high) {
    const int64_t step = (high - low + WARP - 1) / WARP, at = min(low + (lane_number() + 1) * step, high) - 1;
    const unsigned past = __ballot_sync(EVERY, is_past(at));
    if (!past) return high;
    const int first = __ffs(past) - 1;
    low += first * step, high = __shfl_sync(EVERY, at, first);
  }
  return low;
}

/* Gives the first row of a part. Rows count like entries, as a block holds no more rows than entries. */
static __device__ __forceinline__ int64_t first_of_part(const rows_to_cut &a, int64_t part)
{
  if (part == a.nparts) return a.nrows;
  return first_past(0, a.nrows, [&](int64_t i) { return start_of(a, i) + i >= part * a.part; });
}

/* Gives the logarithm of the lanes that a row gets: as many, up to a warp, as let all rows of a block be added up at the same
 * time. */
static __device__ __forceinline__ int16_t log_lanes_for(int64_t rows)
{
  int log = 5;
  while (log > 0 && rows << log > MACKO_CSR_THREADS) log--;
  return (int16_t)log;
}

/* Cuts row i, which is too long for one block, into pieces that end at multiples of MACKO_CSR_ALIGN, so that all but the first
 * start there. blocks is NULL where they are only counted. */
static __device__ __forceinline__ void cut_long_row(const rows_to_cut &a, int64_t i, part_counts *c, macko_csr_block *blocks,
                                                    macko_csr_long_row *long_rows)
{
  const int64_t begin = start_of(a, i), end = start_of(a, i + 1), aligned = begin / MACKO_CSR_ALIGN * MACKO_CSR_ALIGN;
  const int64_t pieces = (end - aligned + a.piece - 1) / a.piece;
  if (blocks) {
    for (int64_t p = lane_number(); p < pieces; p += WARP) {
      const int64_t from = max(aligned + p * a.piece, begin), to = min(aligned + (p + 1) * a.piece, end);
      blocks[c->blocks + p] = {from, i, (int16_t)(to - from), 0, 0, 0, (int32_t)c->long_rows, (int32_t)(c->pieces + p)};
    }
    if (lane_number() == 0) long_rows[c->long_rows] = {(int32_t)c->pieces, (int32_t)pieces};
  }
  c->blocks += pieces, c->pieces += pieces, c->long_rows++;
}

/* Cuts the rows of each part, a warp a part, or only counts blocks, pieces and long rows where blocks is NULL: counts come first,
 * then memory, then the cut, for which counts[i] tells what is before part i. */
static __global__ void __launch_bounds__(WARP) cut_kernel(rows_to_cut a, part_counts *counts, macko_csr_block *blocks,
                                                          macko_csr_long_row *long_rows)
{
  const int64_t part = blockIdx.x, past = first_of_part(a, part + 1);
  part_counts c = {0, 0, 0};
  if (blocks) c = counts[part];
  for (int64_t i = first_of_part(a, part); i < past;) {
    const int64_t begin = start_of(a, i), stop = begin / MACKO_CSR_ALIGN * MACKO_CSR_ALIGN + a.limit;
    const int64_t next = first_past(i + 1, min(i + a.limit, past) + 1, [&](int64_t r) { return start_of(a, r) > stop; }) - 1;
    if (next == i) {
      cut_long_row(a, i++, &c, blocks, long_rows);
      continue;
    }
    if (blocks && lane_number() == 0)
      blocks[c.blocks] = {begin, i, (int16_t)(start_of(a, next) - begin), (int16_t)(next - i), log_lanes_for(next - i), 0, 0, 0};
    c.blocks++, i = next;
  }
  if (!blocks && lane_number() == 0) counts[part] = c;
}

/* Sets *longest, zero before, to the number of entries of the longest row, of a matrix of less than 2^31. */
static __global__ void longest_kernel(rows_to_cut a, unsigned *longest)
{
  const int64_t i = thread_number();
  const unsigned most = __reduce_max_sync(EVERY, i < a.nrows ? (unsigned)(start_of(a, i + 1) - start_of(a, i)) : 0);
  if (lane_number() == 0 && most) atomicMax(longest, most);
}

/* Says whether so many entries are too few for blocks of the usual size to fill a GPU. */
static bool are_few(int64_t nnz)
{
  return nnz / RUNNING < macko_csr_block_entries(nnz);
}

/* Gives the number of blocks of a part. */
static int64_t part_blocks(int64_t nnz)
{
  return are_few(nnz) ? FEW_PART_BLOCKS : PART_BLOCKS;
}

/* Gives the number of entries of a block of a matrix that has few: smaller blocks, so that about all of them run at once; but no
 * row should have to be cut because of that, so that up to the usual size a block holds four of the longest rows. These rules were
 * measured from 0.1 to 30 million nonzeros. */
static int64_t few_entries(int64_t nnz, int64_t longest)
{
  const int64_t most = macko_csr_block_entries(nnz);
  int64_t entries = nnz / RUNNING;
  if (entries < 4 * longest) entries = 4 * longest;
  entries = (entries / MACKO_CSR_THREADS + 1) * MACKO_CSR_THREADS;
  return entries < most ? entries : most;
}

/* Gives the least number of entries a thread that blocks of `limit` entries do with. */
static int items_for(int64_t limit)
{
  if (limit <= MACKO_CSR_FEW * MACKO_CSR_THREADS) return MACKO_CSR_FEW;
  return limit <= MACKO_CSR_SOME * MACKO_CSR_THREADS ? MACKO_CSR_SOME : MACKO_CSR_MOST;
}

/* Gives the number of entries of a row that a block of threads takes as a whole, or as a piece: up to six times as many as of
 * several rows, because whoever adds up pieces empties its first-level cache; but no piece should take longer than the other
 * blocks one after the other. */
static int64_t piece_for(int64_t nnz, int64_t limit)
{
  const int64_t rounds = nnz / ((int64_t)RUNNING * MACKO_CSR_MOST * MACKO_CSR_THREADS);
  return limit * (rounds < 1 ? 1 : rounds > 6 ? 6 : rounds);
}

/* Sets how many entries blocks, pieces and parts of *a have. room is device memory. */
static cudaError_t set_sizes(int64_t nnz, unsigned *room, cudaStream_t stream, rows_to_cut *a)
{
  unsigned longest = 0;
  cudaError_t error = cudaSuccess;
  a->limit = macko_csr_block_entries(nnz);
  if (are_few(nnz)) {
    error = cudaMemsetAsync(room, 0, sizeof *room, stream);
    if (!error) error = launch(longest_kernel, blocks_for(a->nrows), ENCODE_THREADS, 0, stream, *a, room);
    if (!error) error = cudaMemcpyAsync(&longest, room, sizeof longest, cudaMemcpyDeviceToHost, stream);
    if (!error) error = cudaStreamSynchronize(stream);
    a->limit = few_entries(nnz, longest);
  }
  a->piece = piece_for(nnz, a->limit), a->part = part_blocks(nnz) * a->limit;
  a->nparts = (nnz + a->nrows + a->part - 1) / a->part;
  return error;
}

/* Makes the counts of parts those of all parts before each, and gives those of all. */
static part_counts add_up(part_counts *counts, int64_t nparts)
{
  part_counts sum = {0, 0, 0};
  for (int64_t i = 0; i < nparts; i++) {
    const part_counts of_part = counts[i];
    counts[i] = sum;
    sum.blocks += of_part.blocks, sum.long_rows += of_part.long_rows, sum.pieces += of_part.pieces;
  }
  return sum;
}

/* Counts on the device, and fills counts on the host, which has room for all parts. */
static cudaError_t count(const rows_to_cut &a, part_counts *on_device, part_counts *counts, cudaStream_t stream)
{
  const size_t bytes = (size_t)a.nparts * sizeof *counts;
  cudaError_t error = launch(cut_kernel, (unsigned)a.nparts, WARP, 0, stream, a, on_device, nullptr, nullptr);
  if (!error) error = cudaMemcpyAsync(counts, on_device, bytes, cudaMemcpyDeviceToHost, stream);
  return error ? error : cudaStreamSynchronize(stream);
}

/* Takes memory for what has been counted and cuts. Blocks of threads are numbered in 31 bits in a launch, which is the limit. */
static macko_status cut_counted(const rows_to_cut &a, part_counts *on_device, part_counts *counts, cudaStream_t stream,
                                macko_csr_cut *cut, macko_error *err)
{
  const part_counts all = add_up(counts, a.nparts);
  if (all.blocks > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "%lld blocks of %d nonzeros, more than %d", (long long)all.blocks, (int)a.limit, INT32_MAX);
  *cut = {items_for(a.limit), all.blocks, all.long_rows, all.pieces, nullptr, nullptr, nullptr};
  void *memory = NULL;
  macko_status s = macko_device_alloc(macko_csr_cut_bytes(cut), "the blocks of a matrix", &memory, err);
  if (s) return s;
  macko_csr_block *blocks = (macko_csr_block *)memory;
  macko_csr_long_row *long_rows = (macko_csr_long_row *)(blocks + all.blocks);
  cut->memory = memory, cut->blocks = blocks, cut->long_rows = long_rows;
  const size_t bytes = (size_t)a.nparts * sizeof *counts;
  cudaError_t error = cudaMemcpyAsync(on_device, counts, bytes, cudaMemcpyHostToDevice, stream);
  if (!error) error = launch(cut_kernel, (unsigned)a.nparts, WARP, 0, stream, a, on_device, blocks, long_rows);
  return macko_cuda_status(error, "cutting a matrix into blocks", err);
}

extern "C" macko_status macko_csr_cut_blocks(const macko_device_matrix *d, cudaStream_t stream, macko_csr_cut *cut,
                                             macko_error *err)
{
  const macko_section *row_ptr = macko_find_section(&d->m, "row_ptr");
  rows_to_cut a = {row_ptr->data, row_ptr->type, d->m.nrows, 0, 0, 0, 0};
  const int64_t nnz = d->m.nnz, least_limit = are_few(nnz) ? (int64_t)MACKO_CSR_THREADS : macko_csr_block_entries(nnz);
  const int64_t most_parts = (nnz + d->m.nrows) / (part_blocks(nnz) * least_limit) + 1;
  part_counts *counts = (part_counts *)malloc((size_t)most_parts * sizeof *counts);
  void *room = NULL;
  *cut = {};
  if (!counts)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for counts of %lld parts of a matrix", (long long)most_parts);
  macko_status s = macko_device_alloc(most_parts * (int64_t)sizeof *counts, "counts of blocks", &room, err);
  if (!s) s = macko_cuda_status(set_sizes(nnz, (unsigned *)room, stream, &a), "looking at rows", err);
  if (!s) s = macko_cuda_status(count(a, (part_counts *)room, counts, stream), "counting blocks", err);
  if (!s) s = cut_counted(a, (part_counts *)room, counts, stream, cut, err);
  cudaFree(room), free(counts);
  return s;
}
