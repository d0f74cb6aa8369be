/* Which columns of a csr occur most often. */
#include "csr_hot.cuh"

#include "cub.cuh"

/* HOT elements of x stay in the first-level cache beside what passes through; with fewer than COLUMNS most of x does anyway. */
enum { COUNT_THREADS = 256, HOT = 8192, COLUMNS = 8 * HOT, NEAR = 1024, LINE = 16 };

/* Share of the entries that the HOT most frequent columns must have, and lines of x an entry, in each NEAR of them: with less,
 * copying costs what it saves, and columns lie where the cache has them anyway. */
static const double LEAST_SHARE = 0.3, LEAST_LINES = 0.4;

static unsigned blocks_for(int64_t threads)
{
  return (unsigned)((threads + COUNT_THREADS - 1) / COUNT_THREADS);
}

static __device__ __forceinline__ int64_t thread_number()
{
  return (int64_t)blockIdx.x * COUNT_THREADS + threadIdx.x;
}

/* Lines are told apart by a hash, of which one in a hundred is in use. */
static __global__ void count_kernel(const int *cols, int64_t nnz, unsigned *counts, unsigned long long *lines)
{
  __shared__ unsigned seen[2048];
  __shared__ int found;
  for (int i = threadIdx.x; i < 2048; i += COUNT_THREADS) seen[i] = 0;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  int64_t from = (int64_t)blockIdx.x * NEAR;
  for (int64_t p = from + threadIdx.x; p < from + NEAR && p < nnz; p += COUNT_THREADS) {
    unsigned hash = (unsigned)cols[p] / LINE * 0x9e3779b1u >> 16, bit = 1u << hash % 32;
    atomicAdd(counts + cols[p], 1u);
    if (!(atomicOr(seen + hash / 32, bit) & bit)) atomicAdd(&found, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(lines, (unsigned long long)found);
}

/* Keys that sort by how often a column occurs, then by its number. */
static __global__ void key_kernel(const unsigned *counts, int64_t ncols, unsigned long long *keys)
{
  int64_t j = thread_number();
  if (j < ncols) keys[j] = (unsigned long long)counts[j] << 32 | ~(unsigned)j;
}

static __global__ void list_kernel(const unsigned long long *keys, int *list, int *places, unsigned long long *share)
{
  int i = (int)thread_number();
  list[i] = (int)~(unsigned)keys[i];
  places[list[i]] = ~i;
  atomicAdd(share, keys[i] >> 32);
}

static __global__ void rewrite_kernel(const int *cols, int64_t nnz, const int *places, int *to)
{
  int64_t p = thread_number();
  if (p < nnz) to[p] = places[cols[p]] < 0 ? places[cols[p]] : cols[p];
}

template <typename ENTRY> static __global__ void gather_kernel(const ENTRY *x, const int *list, int count, ENTRY *to)
{
  int i = (int)thread_number();
  if (i < count) to[i] = x[list[i]];
}

void macko_gather_hot(const hot_columns &h, const void *x, int64_t bytes, cudaStream_t stream)
{
  unsigned blocks = blocks_for(h.count);
  if (bytes == 8) gather_kernel<<<blocks, COUNT_THREADS, 0, stream>>>((const uint64_t *)x, h.list, h.count, (uint64_t *)h.x);
  else if (bytes == 4) gather_kernel<<<blocks, COUNT_THREADS, 0, stream>>>((const uint32_t *)x, h.list, h.count, (uint32_t *)h.x);
  else gather_kernel<<<blocks, COUNT_THREADS, 0, stream>>>((const uint16_t *)x, h.list, h.count, (uint16_t *)h.x);
}

/* ---- counting ---- */

static int64_t aligned(int64_t bytes)
{
  return (bytes + 255) / 256 * 256;
}

static int take_memory(void **memory, int64_t bytes)
{
  if (!cudaMalloc(memory, (size_t)bytes)) return 1;
  cudaGetLastError(); /* it goes without */
  return 0;
}

/* Memory while columns are counted. */
struct counting {
  unsigned *counts; /* of every column; then ~ its place in the list, or 0 */
  cub::DoubleBuffer<unsigned long long> keys;
  unsigned long long *found; /* entries of the most frequent columns; lines */
  void *work;
  size_t work_bytes;
  char *memory;
};

static cudaError_t open_counting(int64_t ncols, counting *c, int *there)
{
  int64_t counts = aligned(ncols * 4), keys = aligned(ncols * 8);
  *c = {};
  cudaError_t e = cub::DeviceRadixSort::SortKeysDescending(NULL, c->work_bytes, c->keys, ncols);
  *there = !e && take_memory((void **)&c->memory, counts + 2 * keys + 256 + (int64_t)c->work_bytes);
  if (!*there) return e;
  c->counts = (unsigned *)c->memory;
  c->keys = cub::DoubleBuffer<unsigned long long>((unsigned long long *)(c->memory + counts),
                                                  (unsigned long long *)(c->memory + counts + keys));
  c->found = (unsigned long long *)(c->memory + counts + 2 * keys);
  c->work = c->memory + counts + 2 * keys + 256;
  return cudaSuccess;
}

/* Lists the columns, and says whether that pays. */
static cudaError_t list_columns(const macko_device_matrix *d, counting *c, const hot_columns &h, cudaStream_t stream,
                                int *pays)
{
  unsigned long long found[2] = {0, 0};
  int64_t ncols = d->m.ncols, nnz = d->m.nnz;
  cudaError_t e = cudaMemsetAsync(c->counts, 0, (size_t)ncols * 4, stream);
  if (!e) e = cudaMemsetAsync(c->found, 0, sizeof found, stream);
  if (e) return e;
  count_kernel<<<(unsigned)((nnz + NEAR - 1) / NEAR), COUNT_THREADS, 0, stream>>>((const int *)macko_device_data(d, "cols"), nnz,
                                                                                  c->counts, c->found + 1);
  key_kernel<<<blocks_for(ncols), COUNT_THREADS, 0, stream>>>(c->counts, ncols, c->keys.Current());
  e = cub::DeviceRadixSort::SortKeysDescending(c->work, c->work_bytes, c->keys, ncols, 0, 64, stream);
  if (!e) e = cudaMemsetAsync(c->counts, 0, (size_t)ncols * 4, stream);
  if (e) return e;
  list_kernel<<<HOT / COUNT_THREADS, COUNT_THREADS, 0, stream>>>(c->keys.Current(), h.list, (int *)c->counts, c->found);
  e = cudaMemcpyAsync(found, c->found, sizeof found, cudaMemcpyDeviceToHost, stream);
  if (!e) e = cudaStreamSynchronize(stream);
  *pays = (double)found[0] >= LEAST_SHARE * (double)nnz && (double)found[1] >= LEAST_LINES * (double)nnz;
  return e;
}

static cudaError_t find(const macko_device_matrix *d, counting *c, int64_t padding, cudaStream_t stream, hot_columns *h)
{
  int64_t nnz = d->m.nnz, cols = aligned((nnz + padding) * 4);
  hot_columns fresh = {};
  int pays = 0;
  fresh.bytes = cols + HOT * 4 + HOT * 8, fresh.count = HOT;
  if (!take_memory(&fresh.memory, fresh.bytes)) return cudaSuccess;
  char *memory = (char *)fresh.memory;
  fresh.cols = (int *)memory, fresh.list = (int *)(memory + cols), fresh.x = memory + cols + HOT * 4;
  cudaError_t e = list_columns(d, c, fresh, stream, &pays);
  if (e) pays = 0;
  if (pays) e = cudaMemsetAsync(fresh.cols + nnz, 0, (size_t)padding * 4, stream);
  if (pays && !e) {
    rewrite_kernel<<<blocks_for(nnz), COUNT_THREADS, 0, stream>>>((const int *)macko_device_data(d, "cols"), nnz,
                                                                  (const int *)c->counts, fresh.cols);
    e = cudaStreamSynchronize(stream);
  }
  if (pays && !e) *h = fresh;
  else cudaFree(fresh.memory);
  return e;
}

macko_status macko_find_hot_columns(const macko_device_matrix *d, int64_t padding, cudaStream_t stream, hot_columns *h,
                                    macko_error *err)
{
  counting c;
  int there = 0;
  *h = {};
  if (d->m.ncols < COLUMNS) return MACKO_OK;
  cudaError_t e = open_counting(d->m.ncols, &c, &there);
  if (there) e = find(d, &c, padding, stream, h);
  if (there) cudaFree(c.memory);
  return macko_cuda_status(e, "counting columns", err);
}
