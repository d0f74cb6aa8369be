/* The transpose of a csr in device memory: entries sorted by columns, in their order where columns are the same, so that the rows
 * of the transpose are sorted. */
#include "core/cub.cuh"
#include "core/device_csr.cuh"

/* Lists for each entry its column, which is what is sorted by, and its number, which goes with it. */
static __global__ void keys_kernel(macko_device_csr a, uint32_t *columns, uint32_t *entries)
{
  int64_t p = thread_number();
  if (p < a.nnz) columns[p] = (uint32_t)column(a, p), entries[p] = (uint32_t)p;
}

/* Gives the place of the first of n sorted columns that is not below col, found by bisection; n where there is none. */
static __device__ int64_t first_from(const uint32_t *columns, int64_t n, uint32_t col)
{
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (columns[middle] < col) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Row j of the transpose begins where the first entry of column j is among the sorted ones. A thread takes a column. */
static __global__ void starts_kernel(macko_device_csr a, const uint32_t *columns, int32_t *row_ptr)
{
  int64_t j = thread_number();
  if (j <= a.ncols) row_ptr[j] = (int32_t)(j < a.ncols ? first_from(columns, a.nnz, (uint32_t)j) : a.nnz);
}

/* Gives the row that holds entry p: the last one that starts at p or before. Those before it that start there, too, are empty. */
static __device__ int64_t row_of(const macko_device_csr &a, int64_t p)
{
  int64_t low = 0, high = a.nrows - 1;
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    if (row_start(a, middle) <= p) low = middle;
    else high = middle - 1;
  }
  return low;
}

/* Writes columns and values of the transpose in sorted order, a thread an entry. Rows are looked for by bisection, which saves
 * the memory for a row number with every entry. */
static __global__ void entries_kernel(macko_device_csr a, const uint32_t *entries, int32_t *cols, void *values)
{
  int64_t q = thread_number();
  if (q >= a.nnz) return;
  cols[q] = (int32_t)row_of(a, entries[q]);
  macko_put_bits((macko_type)a.value_type, values, q, value_bits(a, entries[q]));
}

/* Gives the number of bits that numbers below n take. The sort goes over these only, which saves passes. */
static int bits_for(int64_t n)
{
  int bits = 1;
  while (bits < 32 && n > 1ll << bits) bits++;
  return bits;
}

/* Sorts the entries by their columns. CUB's radix sort is stable, so that entries of a column stay in the order of their rows.
 * With work NULL it only sets *bytes to what it needs there. */
static cudaError_t sort(void *work, size_t *bytes, cub::DoubleBuffer<uint32_t> &columns, cub::DoubleBuffer<uint32_t> &entries,
                        const macko_device_csr *a, cudaStream_t stream)
{
  return cub::DeviceRadixSort::SortPairs(work, *bytes, columns, entries, a->nnz, 0, bits_for(a->ncols), stream);
}

extern "C" cudaError_t macko_transpose_work(const macko_device_csr *a, size_t *bytes)
{
  cub::DoubleBuffer<uint32_t> none((uint32_t *)NULL, (uint32_t *)NULL);
  cub::DoubleBuffer<uint32_t> none_either = none;
  return sort(NULL, bytes, none, none_either, a, NULL);
}

extern "C" cudaError_t macko_transpose_csr(const macko_device_csr *a, const macko_device_transposition *t, cudaStream_t stream)
{
  cub::DoubleBuffer<uint32_t> columns(t->columns[0], t->columns[1]), entries(t->entries[0], t->entries[1]);
  size_t bytes = t->work_bytes;
  cudaError_t error = launch(keys_kernel, blocks_for(a->nnz), ENCODE_THREADS, 0, stream, *a, columns.Current(), entries.Current());
  if (!error) error = sort(t->work, &bytes, columns, entries, a, stream);
  if (!error)
    error = launch(starts_kernel, blocks_for(a->ncols + 1), ENCODE_THREADS, 0, stream, *a, columns.Current(), t->row_ptr);
  if (!error)
    error = launch(entries_kernel, blocks_for(a->nnz), ENCODE_THREADS, 0, stream, *a, entries.Current(), t->cols, t->values);
  return error;
}
