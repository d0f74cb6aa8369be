/* Layout row with several vectors of 16 bits, on tensor cores. A row is stored without zeros and multiplied with them: each warp of
 * a block puts what it decodes of its row into a tile of the block's rows, dense and in shared memory, and then all warps multiply
 * the tile by the vectors, each some of its columns. A row is decoded once for up to 32 vectors then, and what zeros add to the
 * products tensor cores have to spare.
 *
 * A zero of a tile times an element of x that is not finite is not zero, but it makes the sum one that is not finite, and such sums
 * are made again, entry by entry. */
#include "macko/row_tiles.cuh"

#include <algorithm>

/* This is what a block multiplies: the matrix, its values, and the vectors. */
struct tiles_product {
  const rows &a;
  const device_values &values;
  const device_vectors &v;
  const step_masks &masks;
};

/* Multiplies a row with vector number n, entry by entry; every lane gets the sum. */
template <int TYPE, int BITS>
static __device__ __forceinline__ float sum_of_row(const tiles_product &p, int64_t row, int n, uint32_t ring, int lane)
{
  const unsigned short *x = (const unsigned short *)p.v.x + n * p.v.ldx;
  row_feed<BITS> feed;
  float sum = 0;
  feed.open(p.a, p.values, row, ring, lane);
  int from = feed.from - lane * feed.E, to = feed.left - lane * feed.E;
  for (; feed.advance(p.a, p.values, ring, lane); from -= feed.CHUNK_ENTRIES, to -= feed.CHUNK_ENTRIES) {
    int at[feed.E];
    feed.place(p.a, p.masks, 0, at);
#pragma unroll
    for (int e = 0; e < feed.E; e++)
      if (e >= from && e < to)
        sum = add_product(number_of<TYPE>(feed.bits(e) & 0xffff), number_of<TYPE>(__ldg(x + at[e] / 2)), sum);
  }
  return sum_of_lanes(sum, WARP);
}

/* Adds up what warps have left of each row and vector, in their order; answers whether a sum of the calling thread is not finite.
 * sums are behind those of the warps. */
template <int COUNT> static __device__ __forceinline__ int add_up(const float *of_warps, float *sums)
{
  int odd = 0;
  for (int i = threadIdx.x; i < COUNT; i += TILE_THREADS) {
    float sum = 0;
    for (int w = 0; w < TILE_ROWS; w++) sum += of_warps[w * COUNT + i];
    sums[i] = sum, odd |= !isfinite(sum);
  }
  return odd;
}

/* Makes the sums of the warp's row again that are not finite. */
template <int TYPE, int BITS>
static __device__ __forceinline__ void make_again(const tiles_product &p, int64_t row, int count, float *sums, uint32_t ring,
                                                  int lane)
{
  for (int n = 0; n < count; n++) {
    const int is_finite = isfinite(sums[n * TILE_ROWS]);
    __syncwarp();
    if (__all_sync(EVERY, is_finite)) continue;
    const float sum = sum_of_row<TYPE, BITS>(p, row, n, ring, lane);
    if (lane == 0) sums[n * TILE_ROWS] = sum;
  }
}

/* Multiplies 16 rows a block by `count` vectors, at most 8 EIGHTS. */
template <int TYPE, int BITS, int EIGHTS>
static __global__ void __launch_bounds__(TILE_THREADS, 2)
  tiles_kernel(rows a, device_values values, device_vectors v, int count, step_masks masks)
{
  typedef tile_shape<EIGHTS> shape;
  constexpr int SUMS = TILE_ROWS * shape::VECTORS;
  extern __shared__ uint4 shared[];
  const tiles_product p = {a, values, v, masks};
  const int lane = threadIdx.x % WARP, warp = __shfl_sync(EVERY, threadIdx.x / WARP, 0);
  const int64_t first_row = (int64_t)blockIdx.x * TILE_ROWS, row = min(first_row + warp, a.nrows - 1);
  const uint32_t tile = (uint32_t)__cvta_generic_to_shared(shared);
  const uint32_t ring = tile + shape::BYTES + shape::X_BYTES + warp * AHEAD * row_feed<BITS>::STAGE;
  row_feed<BITS> feed;
  x_feed<EIGHTS> x(v, tile + shape::BYTES, warp, lane);
  tile_sums<TYPE, EIGHTS> of_warp;
  feed.open(a, values, row, ring, lane);
  for (int i = threadIdx.x; i < shape::BYTES / 16; i += TILE_THREADS) shared[i] = make_uint4(0, 0, 0, 0);
  __syncthreads();
#pragma unroll 1
  for (int first = 0; first < a.ncols; first += shape::COLUMNS) {
    x.start(v, count, (int)a.ncols);
    const int taken = feed.template fill<2 * shape::COLUMNS>(a, values, masks, ring, tile + warp * shape::PITCH, 2 * first, lane);
    /* Behind the columns of x a group of copies is under way for each chunk that was taken. */
    if (taken == 0) wait_groups<0>();
    else if (taken == 1) wait_groups<1>();
    else wait_groups<2>();
    __syncthreads();
    of_warp.add((char *)shared, warp, lane);
    __syncthreads();
  }
  float *const of_warps = (float *)shared, *const sums = of_warps + TILE_ROWS * SUMS;
  of_warp.put(of_warps + warp * SUMS, lane);
  __syncthreads();
  if (__syncthreads_or(add_up<SUMS>(of_warps, sums))) make_again<TYPE, BITS>(p, row, count, sums + warp, ring, lane);
  __syncthreads();
  for (int i = threadIdx.x; i < SUMS; i += TILE_THREADS)
    if (i / TILE_ROWS < count && first_row + i % TILE_ROWS < a.nrows)
      put_y<TYPE>(v, i / TILE_ROWS, first_row + i % TILE_ROWS, sums[i]);
}

/* ---- from a product to the kernel ---- */

/* Gives the shared memory of a block: tile, vectors and chunks; sums take their place in the end. */
template <int BITS, int EIGHTS> constexpr int tile_bytes()
{
  typedef tile_shape<EIGHTS> shape;
  static_assert((TILE_ROWS + 1) * TILE_ROWS * shape::VECTORS * 4 <= shape::BYTES + shape::X_BYTES, "sums find room");
  return shape::BYTES + shape::X_BYTES + TILE_ROWS * AHEAD * row_feed<BITS>::STAGE;
}

/* Starts the kernel for these types. What is said of shared memory is always the same, as other threads may be saying it, too. */
template <int TYPE, int BITS, int EIGHTS>
static cudaError_t start(const rows &a, const device_values &values, const device_vectors &v, int count, cudaStream_t stream)
{
  const step_masks masks = {{2, 0x0202, 0x020202, 0x02020202}};
  const auto kernel = tiles_kernel<TYPE, BITS, EIGHTS>;
  const int bytes = tile_bytes<BITS, EIGHTS>();
  const cudaError_t error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  return error ? error : launch(kernel, (unsigned)((a.nrows + TILE_ROWS - 1) / TILE_ROWS), TILE_THREADS, (size_t)bytes, stream, a,
                                values, v, count, masks);
}

/* Does so for as many vectors. */
template <int TYPE, int BITS>
static cudaError_t start_eights(const rows &a, const device_values &values, const device_vectors &v, int count, cudaStream_t stream)
{
  return count <= EIGHT ? start<TYPE, BITS, 1>(a, values, v, count, stream)
         : count <= 2 * EIGHT ? start<TYPE, BITS, 2>(a, values, v, count, stream)
                              : start<TYPE, BITS, 4>(a, values, v, count, stream);
}

/* Does so for a width of codes. */
template <int TYPE>
static cudaError_t start_bits(const rows &a, const device_values &values, const device_vectors &v, int count, cudaStream_t stream)
{
  return a.bits == 4 ? start_eights<TYPE, 4>(a, values, v, count, stream) : start_eights<TYPE, 8>(a, values, v, count, stream);
}

/* Says whether the kernel takes these matrix and vectors. Copies are of 16 bytes, and columns are counted in bytes, in 31 bits. */
static int takes(const rows &a, const device_rows *r, const device_values &values, const macko_product *p)
{
  enum { MOST_COLUMNS = 1 << 29 };
  const int type = values.stored_type;
  return !a.paper && (a.bits == 4 || a.bits == 8) && (type == MACKO_F16 || type == MACKO_BF16) && p->vector_type == type &&
         (uintptr_t)p->x % 16 == 0 && p->ldx % EIGHT == 0 && a.ncols < MOST_COLUMNS && a.nnz <= INT32_MAX &&
         std::max(tile_bytes<8, 2>(), tile_bytes<8, 4>()) <= r->gpu.shared_bytes;
}

/* Says whether so many vectors are multiplied faster so. A tile costs much even where it is all but empty, and one group of vectors
 * side by side (row_beside.cu) takes no longer. */
static int pays(const rows &a, int64_t vectors)
{
  enum { LEAST = 3, SHARE = 3 };
  return vectors >= LEAST && vectors != MACKO_DEVICE_GROUP &&
         (double)a.nnz * (double)vectors * SHARE >= (double)a.nrows * (double)a.ncols;
}

int64_t macko_rows_multiply_tiles(const rows &a, const macko_device_matrix *d, const macko_product *p, cudaStream_t stream)
{
  enum { MOST = 4 * EIGHT };
  const device_rows *r = &((const device_macko *)d->own)->rows;
  const device_values values = values_of(d);
  int64_t done = 0;
  if (!takes(a, r, values, p)) return 0;
  while (pays(a, p->k - done)) {
    const int count = (int)std::min<int64_t>(p->k - done, MOST);
    const device_vectors v = vectors_from(p, done);
    const cudaError_t error = values.stored_type == MACKO_F16 ? start_bits<MACKO_F16>(a, values, v, count, stream)
                                                              : start_bits<MACKO_BF16>(a, values, v, count, stream);
    if (error) break;
    done += count;
  }
  return done;
}
