/* Format dtans encoded on the GPU: row lengths, and how often each symbol occurs. Symbols are sorted, so that equal ones are side
 * by side; what is kept of the counts does not depend on any order and is what the host keeps (lib/dtans/dtans_histogram.c). */
#include "dtans/dtans_source.cuh"

#include "core/cub.cuh"

#include <stdlib.h>

enum { THREADS = 256 };

/* ---- keys ---- */

/* This is a pair of a 64-bit value and a gap as it is sorted; pair_parts tells CUB which members to sort by, the first of which
 * counts most. */
struct pair_key {
  uint64_t value;
  uint32_t gap;
  __host__ __device__ bool operator==(const pair_key &o) const { return value == o.value && gap == o.gap; }
};
struct pair_parts {
  __host__ __device__ ::cuda::std::tuple<uint64_t &, uint32_t &> operator()(pair_key &k) const { return {k.value, k.gap}; }
};

/* This is a symbol in as few bits as its part needs, and back: one type for each part and size of values. */
struct gap_maker {
  typedef uint32_t key;
  static __device__ key make(uint32_t gap, uint64_t) { return gap; }
  static __device__ macko_dtans_symbol back(key k) { return {0, k}; }
};
template <typename KEY> struct value_maker {
  typedef KEY key;
  static __device__ key make(uint32_t, uint64_t value) { return (KEY)value; }
  static __device__ macko_dtans_symbol back(key k) { return {k, 0}; }
};
struct small_pair_maker { /* values of 32 bits or fewer */
  typedef uint64_t key;
  static __device__ key make(uint32_t gap, uint64_t value) { return value << 32 | gap; }
  static __device__ macko_dtans_symbol back(key k) { return {k >> 32, (uint32_t)k}; }
};
struct pair_maker {
  typedef pair_key key;
  static __device__ key make(uint32_t gap, uint64_t value) { return {value, gap}; }
  static __device__ macko_dtans_symbol back(key k) { return {k.value, k.gap}; }
};

/* Writes the key of every entry as if none were its row's first one: a thread need not know which row its entry is in. */
template <typename MAKER> static __global__ void keys_kernel(device_csr a, int64_t nnz, typename MAKER::key *keys)
{
  int64_t p = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (p < nnz) keys[p] = MAKER::make(gap_at(a, p, 0, p == 0), bits_at(a, p));
}

/* Writes the keys of the rows' first entries over these, a thread a row. */
template <typename MAKER> static __global__ void first_keys_kernel(device_csr a, typename MAKER::key *keys)
{
  int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (row >= a.nrows) return;
  int64_t p = row_at(a, row);
  if (p < row_at(a, row + 1)) keys[p] = MAKER::make(gap_at(a, p, row, true), bits_at(a, p));
}

/* Keeps the symbols of the `runs` different keys that are frequent, or all of them, in any order; *used counts them. */
template <typename MAKER>
static __global__ void keep_kernel(const typename MAKER::key *keys, const int *counts, int runs, int all, int64_t nnz,
                                   macko_dtans_count *kept, int *used)
{
  int i = (int)(blockIdx.x * THREADS + threadIdx.x);
  if (i < runs && (all || macko_dtans_frequent(counts[i], nnz))) kept[atomicAdd(used, 1)] = {MAKER::back(keys[i]), counts[i]};
}

/* ---- sorting and counting ---- */

/* Sorts n keys. With memory NULL it only sets *bytes to what it needs there. */
template <typename KEY> static cudaError_t sort_keys(void *memory, size_t *bytes, cub::DoubleBuffer<KEY> &keys, int64_t n,
                                                     cudaStream_t stream)
{
  if constexpr (std::is_same<KEY, pair_key>::value) return cub::DeviceRadixSort::SortKeys(memory, *bytes, keys, n, pair_parts(),
                                                                                          stream);
  else return cub::DeviceRadixSort::SortKeys(memory, *bytes, keys, n, 0, (int)sizeof(KEY) * 8, stream);
}

/* This is the device memory of one count, freed by close_memory. */
template <typename KEY> struct count_memory {
  KEY *keys[2];          /* sorting goes from one to the other */
  int *counts, *numbers; /* numbers: runs, then how many are kept */
  macko_dtans_count *kept;
  void *work;            /* scratch memory of sorting and of counting */
};

/* Takes the memory to count nnz symbols; sorting and counting share the work space. The caller closes it also after a failure. */
template <typename KEY> static macko_status open_memory(int64_t nnz, count_memory<KEY> *m, size_t *work, cudaStream_t stream,
                                                        macko_error *err)
{
  const char *what = "counting symbols";
  size_t sorting = 0, counting = 0;
  cub::DoubleBuffer<KEY> keys((KEY *)NULL, (KEY *)NULL);
  cudaError_t error = sort_keys(NULL, &sorting, keys, nnz, stream);
  if (!error)
    error = cub::DeviceRunLengthEncode::Encode(NULL, counting, (KEY *)NULL, (KEY *)NULL, (int *)NULL, (int *)NULL, (int)nnz,
                                               stream);
  if (error) return macko_cuda_status(error, what, err);
  *work = (sorting > counting ? sorting : counting) + 1;
  macko_status s = MACKO_OK;
  for (int i = 0; i < 2 && !s; i++) s = macko_device_alloc(nnz * (int64_t)sizeof(KEY), what, (void **)&m->keys[i], err);
  if (!s) s = macko_device_alloc(nnz * (int64_t)sizeof(int), what, (void **)&m->counts, err);
  if (!s) s = macko_device_alloc(2 * sizeof(int), what, (void **)&m->numbers, err);
  if (!s) s = macko_device_alloc(macko_dtans_distinct(nnz) * (int64_t)sizeof(macko_dtans_count), what, (void **)&m->kept, err);
  if (!s) s = macko_device_alloc((int64_t)*work, what, &m->work, err);
  return s;
}

template <typename KEY> static void close_memory(count_memory<KEY> *m)
{
  for (int i = 0; i < 2; i++) cudaFree(m->keys[i]);
  cudaFree(m->counts), cudaFree(m->numbers), cudaFree(m->kept), cudaFree(m->work);
}

/* Copies the symbols that are kept to the host, to a new array of *found. */
static cudaError_t fetch_kept(const macko_dtans_count *kept, int used, macko_dtans_found *found)
{
  found->used = used;
  found->counts = (macko_dtans_count *)malloc((size_t)(used + 1) * sizeof *found->counts);
  if (!found->counts) return cudaErrorMemoryAllocation;
  return cudaMemcpy(found->counts, kept, (size_t)used * sizeof *kept, cudaMemcpyDeviceToHost);
}

/* Counts the symbols that MAKER makes of entries: keys are sorted and runs of equal ones counted. Where there are more
 * different symbols than the host's memory is bounded to (macko_dtans_distinct), only the frequent ones are kept. Of values the
 * sorted different ones stay on the device, in *found. */
template <typename MAKER>
static macko_status count_keys(const device_csr &a, int64_t nnz, bool is_value, cudaStream_t stream, macko_dtans_found *found,
                               macko_error *err)
{
  typedef typename MAKER::key KEY;
  count_memory<KEY> m = {};
  size_t work = 0;
  int numbers[2] = {};
  macko_status s = open_memory(nnz, &m, &work, stream, err);
  if (s) return close_memory(&m), s;
  cudaError_t error = launch(keys_kernel<MAKER>, blocks_for(nnz, THREADS), THREADS, 0, stream, a, nnz, m.keys[0]);
  if (!error) error = launch(first_keys_kernel<MAKER>, blocks_for(a.nrows, THREADS), THREADS, 0, stream, a, m.keys[0]);
  cub::DoubleBuffer<KEY> keys(m.keys[0], m.keys[1]);
  if (!error) error = sort_keys(m.work, &work, keys, nnz, stream);
  if (!error)
    error = cub::DeviceRunLengthEncode::Encode(m.work, work, keys.Current(), keys.Alternate(), m.counts, m.numbers, (int)nnz,
                                               stream);
  if (!error) error = cudaMemsetAsync(m.numbers + 1, 0, sizeof(int), stream);
  if (!error) error = cudaMemcpyAsync(numbers, m.numbers, sizeof(int), cudaMemcpyDeviceToHost, stream);
  if (!error) error = cudaStreamSynchronize(stream);
  if (!error) {
    found->forgotten = numbers[0] >= macko_dtans_distinct(nnz);
    error = launch(keep_kernel<MAKER>, blocks_for(numbers[0], THREADS), THREADS, 0, stream, keys.Alternate(), m.counts, numbers[0],
                   !found->forgotten, nnz, m.kept, m.numbers + 1);
    if (!error)
      error = cudaMemcpyAsync(numbers + 1, m.numbers + 1, sizeof(int), cudaMemcpyDeviceToHost, stream);
  }
  if (!error) error = cudaStreamSynchronize(stream);
  if (!error) error = fetch_kept(m.kept, numbers[1], found);
  if (!error && is_value) { /* the host may ask for all values there are */
    KEY **owner = keys.Alternate() == m.keys[0] ? &m.keys[0] : &m.keys[1];
    found->distinct = *owner, found->distinct_count = numbers[0], found->distinct_bytes = (int)sizeof(KEY);
    *owner = NULL;
  }
  close_memory(&m);
  return macko_cuda_status(error, "counting symbols", err);
}

/* Chooses the smallest kind of key for the part and the type of values. */
extern "C" macko_status macko_dtans_count_device(const macko_csr *csr, int64_t nnz, macko_dtans_part part, int relative,
                                                 cudaStream_t stream, macko_dtans_found *found, macko_error *err)
{
  device_csr a = source_of(csr, relative);
  int wide = a.value_type == MACKO_F64;
  if (part == MACKO_DTANS_GAPS) return count_keys<gap_maker>(a, nnz, false, stream, found, err);
  if (part == MACKO_DTANS_VALUES)
    return wide ? count_keys<value_maker<uint64_t>>(a, nnz, true, stream, found, err)
                : count_keys<value_maker<uint32_t>>(a, nnz, true, stream, found, err);
  return wide ? count_keys<pair_maker>(a, nnz, false, stream, found, err) : count_keys<small_pair_maker>(a, nnz, false, stream,
                                                                                                         found, err);
}

extern "C" void macko_dtans_drop_found(macko_dtans_found *found)
{
  free(found->counts);
  cudaFree(found->distinct);
  *found = {};
}

/* ---- row lengths ---- */

/* Writes the entries of each row in the type of the section, a thread a row. */
static __global__ void lengths_kernel(device_csr a, int type, void *lengths)
{
  int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (row >= a.nrows) return;
  int64_t length = row_at(a, row + 1) - row_at(a, row);
  if (type == MACKO_U8) ((uint8_t *)lengths)[row] = (uint8_t)length;
  else if (type == MACKO_U16) ((uint16_t *)lengths)[row] = (uint16_t)length;
  else ((uint32_t *)lengths)[row] = (uint32_t)length;
}

/* Finds the most entries of a row: a warp finds its largest first, which leaves one atomic a warp. */
static __global__ void longest_kernel(device_csr a, unsigned *longest)
{
  int64_t row = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  unsigned length = row < a.nrows ? (unsigned)(row_at(a, row + 1) - row_at(a, row)) : 0;
  length = __reduce_max_sync(0xffffffffu, length);
  if (threadIdx.x % 32 == 0) atomicMax(longest, length);
}

extern "C" macko_status macko_dtans_lengths_device(const macko_csr *csr, macko_type type, void *lengths, cudaStream_t stream,
                                                   macko_error *err)
{
  return macko_cuda_status(launch(lengths_kernel, blocks_for(csr->nrows, THREADS), THREADS, 0, stream, source_of(csr, 0), type,
                                  lengths),
                           "counting row lengths", err);
}

extern "C" macko_status macko_dtans_longest_device(const macko_csr *csr, int64_t *longest, cudaStream_t stream, macko_error *err)
{
  unsigned *device = NULL, host = 0;
  macko_status s = macko_device_alloc(sizeof host, "counting row lengths", (void **)&device, err);
  if (s) return s;
  cudaError_t error = cudaMemsetAsync(device, 0, sizeof host, stream);
  if (!error) error = launch(longest_kernel, blocks_for(csr->nrows, THREADS), THREADS, 0, stream, source_of(csr, 0), device);
  if (!error) error = cudaMemcpyAsync(&host, device, sizeof host, cudaMemcpyDeviceToHost, stream);
  if (!error) error = cudaStreamSynchronize(stream);
  cudaFree(device);
  *longest = host;
  return macko_cuda_status(error, "counting row lengths", err);
}
