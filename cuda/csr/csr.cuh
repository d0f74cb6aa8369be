/* What products with format csr share: blocks of whole rows, and of pieces of a row too long for one. */
#ifndef MACKO_CSR_CUH
#define MACKO_CSR_CUH

#include "core/side_by_side.cuh"
#include "core/warp.cuh"
#include "csr/csr_blocks.h"

extern "C" {
#include "core/cost.h"
}

enum { THREADS = MACKO_CSR_THREADS };

/* So many entries a lane are what a row may have to be added up by its own lanes. */
enum { LONG = 16 };

/* This is a matrix of format csr for the kernel; device pointers. */
struct csr {
  const void *row_ptr, *cols;
  const macko_csr_block *blocks;
  const macko_csr_long_row *long_rows;
  double *partials; /* work space, as done: MACKO_DEVICE_AT_ONCE a piece */
  unsigned *done;   /* blocks that have left their sums, of every long row for each of MACKO_DEVICE_AT_ONCE vectors; 0 before a
                     * product and after it */
  int row_ptr_type;
};

/* Gives the block that this block of threads takes, by two loads of 16 bytes. */
static __device__ __forceinline__ macko_csr_block load_block(const macko_csr_block *blocks)
{
  const int4 *p = (const int4 *)(blocks + blockIdx.x);
  union { int4 words[2]; macko_csr_block block; } u = {{__ldg(p), __ldg(p + 1)}};
  return u.block;
}

/* Says where element e of an array that a block has of its entries is in shared memory: one is left out after every 128 bytes,
 * because lanes that take a row of 8 or 16 entries each would otherwise hit the same banks. `slots` elements are room for
 * ENTRIES. */
template <typename T> static __device__ __forceinline__ int slot(int e)
{
  return e + e / (int)(128 / sizeof(T));
}
template <typename T, int ENTRIES> constexpr int slots = ENTRIES + ENTRIES / (int)(128 / sizeof(T));

/* Loads values and columns of entries from .. to - 1 of a block, thread t numbers t, t + THREADS and so on, `items` of them or
 * ITEMS where those are fewer. cols and values are those of the block's entry 0. What is before the first or after the last entry
 * takes that one again, which costs nothing and keeps loads together. Without entries that is the next block's first or, at the
 * end, a zero of the section's padding. */
template <int STORED, typename SUM, int ITEMS, typename COL>
static __device__ __forceinline__ void load_entries(const COL *cols, const device_values &values, int from, int to, int items,
                                                    SUM value[ITEMS], COL col[ITEMS])
{
  with_vector<STORED>(values.stored_type, [&](auto type) {
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
      if (i >= items) continue;
      int e = max(min(i * THREADS + (int)threadIdx.x, to - 1), from);
      col[i] = __ldcs(cols + e);
      value[i] = load_value<type.value, SUM>(values, e);
    }
  });
}

/* A piece of a long row may have more entries than there is room for. How many that is depends on the kernel, bits do not: products
 * of those beyond are rounded before they are added, as the others are on their way through shared memory, and each thread goes on
 * with every THREADS-th from the row's first in the block, which is number `from`. */
static __device__ __forceinline__ double product_of(double a, double b)
{
  return __dmul_rn(a, b);
}
static __device__ __forceinline__ float product_of(float a, float b)
{
  return __fmul_rn(a, b);
}
static __device__ __forceinline__ int entry_beyond(int from, int room)
{
  return room + (from + (int)threadIdx.x) % THREADS;
}

/* Gives the stream of values from entry `start` on. */
template <int STORED> static __device__ __forceinline__ device_values values_from(device_values values, int64_t start)
{
  const int size = is_known<STORED> ? (int)sizeof(typename element<STORED>::type) : bytes_of_type(values.stored_type);
  values.stream = (const char *)values.stream + start * size;
  return values;
}

/* A row that has many entries for its lanes would keep the warp waiting: the whole warp takes such rows, one after the other. Where
 * is_long is set, for row begin .. end - 1 of the calling lane, *sum becomes what add(begin, end, lane) gives, which all lanes of
 * the warp call. All of them must come here. */
template <typename SUM, typename ADD>
static __device__ __forceinline__ void take_long_rows(int is_long, int begin, int end, SUM *sum, const ADD &add)
{
  const int lane = threadIdx.x % WARP;
  for (unsigned left = __ballot_sync(EVERY, is_long); left; left &= left - 1) {
    const int owner = __ffs(left) - 1, from = __shfl_sync(EVERY, begin, owner), to = __shfl_sync(EVERY, end, owner);
    const SUM all = add(from, to, lane);
    if (lane == owner) *sum = all;
  }
}

/* Gives the sum of entries begin .. end - 1 of a row, by `lanes` lanes of which the calling one is number `lane`: add(first, end,
 * step) gives that of every step-th. The whole warp must come here together. */
template <typename SUM, typename ADD>
static __device__ __forceinline__ SUM sum_of_row(int begin, int end, int lane, int lanes, const ADD &add)
{
  const int is_long = end - begin > LONG * lanes;
  SUM sum = sum_of_lanes(add(begin + lane, is_long ? begin : end, lanes), lanes);
  take_long_rows(is_long && lane == 0, begin, end, &sum,
                 [&](int from, int to, int one) { return sum_of_lanes(add(from + one, to, WARP), WARP); });
  return sum;
}

/* Thread 0 gets the sum of all threads'. scratch has an element a warp; the barrier before it is written lets it be used
 * again. */
template <typename SUM> static __device__ __forceinline__ SUM sum_of_block(SUM sum, SUM *scratch)
{
  sum = sum_of_lanes(sum, WARP);
  __syncthreads();
  if (threadIdx.x % WARP == 0) scratch[threadIdx.x / WARP] = sum;
  __syncthreads();
  for (int w = 1; w < THREADS / WARP; w++) sum += scratch[w];
  return sum;
}

/* Leaves the sums of this block's piece for vectors `first` and on, which thread 0 has, for the other pieces of the row. Whoever
 * comes last adds up the row, always in the same order, and sets the counter back to 0 for the next product. */
template <int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void add_piece(const csr &a, const macko_csr_block &b, const SUM sum[GROUP],
                                                 const device_vectors &v, int first, double *scratch)
{
  __shared__ int is_last;
  macko_csr_long_row row = a.long_rows[b.long_row];
  if (row.count == 1) {
    for (int g = 0; g < GROUP && threadIdx.x == 0; g++) put_y<VECTOR>(v, first + g, b.row, sum[g]);
    return;
  }
  if (threadIdx.x == 0) {
    for (int g = 0; g < GROUP; g++) __stcg(a.partials + (int64_t)b.piece * MACKO_DEVICE_AT_ONCE + first + g, (double)sum[g]);
    is_last = count_release(a.done + b.long_row * MACKO_DEVICE_AT_ONCE + first) == (unsigned)row.count - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int g = 0; g < GROUP; g++) {
    double all = 0;
    const double *partials = a.partials + (int64_t)row.first * MACKO_DEVICE_AT_ONCE + first + g;
    for (int i = threadIdx.x; i < row.count; i += THREADS) all += __ldcg(partials + (int64_t)i * MACKO_DEVICE_AT_ONCE);
    all = sum_of_block(all, scratch);
    if (threadIdx.x == 0) put_y<VECTOR>(v, first + g, b.row, all);
  }
  if (threadIdx.x == 0) a.done[b.long_row * MACKO_DEVICE_AT_ONCE + first] = 0;
}

/* Says where row r of the block starts, counted from entry `start`; rows beyond the block's last are empty. */
static __device__ __forceinline__ int row_start(const csr &a, const macko_csr_block &b, int64_t start, int r)
{
  return (int)(index_at(a.row_ptr_type, a.row_ptr, b.row + min(r, (int)b.rows)) - start);
}

/* Sets starts[r] to where the entries of row r of a block begin, which threads have found for the first two rows that they take
 * each: most blocks have no more. */
static __device__ __forceinline__ void put_starts(const csr &a, const macko_csr_block &b, int64_t start, int one, int two,
                                                  int16_t *starts)
{
  starts[threadIdx.x] = (int16_t)one, starts[threadIdx.x + THREADS] = (int16_t)two;
#pragma unroll 1
  for (int r = threadIdx.x + 2 * THREADS; r <= b.rows; r += THREADS) starts[r] = (int16_t)row_start(a, b, start, r);
}

/* Starts the kernel for these types and v.count groups of vectors, which read the matrix once; `wide` says that columns are of 64
 * bits, which only MACKO_ANY with sums in f64 knows. */
template <int STORED, int VECTOR, typename SUM>
cudaError_t macko_csr_start_groups(const csr &a, const macko_csr_cut &cut, int wide, cudaStream_t stream,
                                   const device_values &values, const device_vectors &v);

/* Multiplies the vectors of p in groups side by side, as far as they go so, in room that `space` has; gives how many have been
 * done. */
int64_t macko_csr_multiply_beside(const csr &a, const macko_csr_cut &cut, const macko_device_matrix *d, const macko_product *p,
                                  macko_work_space *space, cudaStream_t stream);

#endif
