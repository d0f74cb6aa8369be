/* Several vectors with format csr: elements of four vectors are put side by side first, so that an entry finds those of its column
 * in one sector instead of four. */
#include "csr/csr.cuh"

/* LONG: so many entries a lane are what a row may have to be added up by its own lanes. */
enum { GROUP = MACKO_DEVICE_GROUP, LONG = 32 };

/* The elements of one column, as they lie side by side. */
template <typename SUM> struct alignas(GROUP * sizeof(SUM)) packed {
  SUM of[GROUP];
};

/* Puts the elements of the vectors of a group side by side, a thread a column. blockIdx.y is the group's number here and below. */
template <int VECTOR, typename SUM>
static __global__ void __launch_bounds__(THREADS) pack_kernel(device_vectors v, int64_t ncols, packed<SUM> *x)
{
  const int64_t col = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  const int first = blockIdx.y * GROUP;
  packed<SUM> all;
  if (col >= ncols) return;
#pragma unroll
  for (int g = 0; g < GROUP; g++) all.of[g] = (SUM)load_vector<VECTOR>(v.x, (first + g) * v.ldx + col, v.type);
  x[blockIdx.y * ncols + col] = all;
}

/* Loads them through the read-only cache, 16 bytes at a time. */
static __device__ __forceinline__ packed<double> load_packed(const packed<double> *x)
{
  const double2 *p = (const double2 *)x;
  const double2 low = __ldg(p), high = __ldg(p + 1);
  return {{low.x, low.y, high.x, high.y}};
}

static __device__ __forceinline__ packed<float> load_packed(const packed<float> *x)
{
  const float4 all = __ldg((const float4 *)x);
  return {{all.x, all.y, all.z, all.w}};
}

/* Adds up entries from .. past - 1 of a block, which `lanes` lanes take together: this is number `lane` of them. ROUND entries of
 * each are under way at a time; those beyond the last take the round's first again, and are left out. */
template <int STORED, typename SUM>
static __device__ __forceinline__ packed<SUM> add_entries(const int *cols, const device_values &values, const packed<SUM> *x,
                                                          int from, int past, int lane, int lanes)
{
  constexpr int ROUND = 4;
  packed<SUM> sum = {{0}};
#pragma unroll 1
  for (int p = from + lane; p < past; p += ROUND * lanes) {
    packed<SUM> at[ROUND];
    SUM value[ROUND];
#pragma unroll
    for (int i = 0; i < ROUND; i++) {
      const int e = p + i * lanes < past ? p + i * lanes : p;
      at[i] = load_packed(x + __ldg(cols + e)), value[i] = load_value<STORED, SUM>(values, e);
    }
#pragma unroll
    for (int i = 0; i < ROUND; i++)
#pragma unroll
      for (int g = 0; g < GROUP; g++) sum.of[g] += p + i * lanes < past ? value[i] * at[i].of[g] : 0;
  }
  return sum;
}

/* Adds up what LANES lanes side by side have. */
template <typename SUM, int LANES> static __device__ __forceinline__ void add_lanes(packed<SUM> *sum)
{
#pragma unroll
  for (int g = 0; g < GROUP; g++) sum->of[g] = sum_of_lanes(sum->of[g], LANES);
}

/* Computes the products of one block. Unlike csr_kernel, in which a thread has entries of any row, each row has lanes of its own,
 * so that nothing goes through shared memory, which four vectors would keep busy. */
template <int STORED, int VECTOR, typename SUM, int LANES>
static __global__ void __launch_bounds__(THREADS) packed_kernel(csr a, device_values values, const packed<SUM> *x, int64_t ncols,
                                                                device_vectors v)
{
  constexpr int TEAMS = THREADS / LANES;
  __shared__ double scratch[THREADS / WARP];
  const macko_csr_block b = load_block(a.blocks);
  const int *cols = (const int *)a.cols + b.begin;
  const int lane = threadIdx.x % LANES, first = blockIdx.y * GROUP;
  x += blockIdx.y * ncols;
  values.stream = (const char *)values.stream + b.begin * sizeof(typename element<STORED>::type);
  for (int r = threadIdx.x / LANES, all = (int)(threadIdx.x / WARP * WARP / LANES); all < b.rows; r += TEAMS, all += TEAMS) {
    const int from = row_start(a, b, b.begin, r), past = row_start(a, b, b.begin, r + 1);
    const int is_long = LANES < WARP && past - from > LONG * LANES;
    packed<SUM> sum = add_entries<STORED, SUM>(cols, values, x, from, is_long ? from : past, lane, LANES);
    add_lanes<SUM, LANES>(&sum);
    take_long_rows(is_long && lane == 0, from, past, &sum, [&](int begin, int end, int one) {
      packed<SUM> row = add_entries<STORED, SUM>(cols, values, x, begin, end, one, WARP);
      add_lanes<SUM, WARP>(&row);
      return row;
    });
#pragma unroll
    for (int g = 0; g < GROUP; g++)
      if (r < b.rows && lane == 0) put_y<VECTOR>(v, first + g, b.row + r, sum.of[g]);
  }
  if (b.rows) return;
  packed<SUM> piece = add_entries<STORED, SUM>(cols, values, x, 0, b.entries, threadIdx.x, THREADS);
#pragma unroll
  for (int g = 0; g < GROUP; g++) piece.of[g] = sum_of_block(piece.of[g], (SUM *)scratch);
  add_piece<VECTOR, SUM, GROUP>(a, b, piece.of, v, first, scratch);
}

/* Gives the kernel in which a row has as many lanes as suit rows of that many entries on average, four entries a lane or more. */
template <int STORED, int VECTOR, typename SUM> static auto kernel_for(double entries)
{
  return entries <= 9     ? packed_kernel<STORED, VECTOR, SUM, 2>
         : entries <= 32  ? packed_kernel<STORED, VECTOR, SUM, 4>
         : entries <= 64  ? packed_kernel<STORED, VECTOR, SUM, 8>
         : entries <= 128 ? packed_kernel<STORED, VECTOR, SUM, 16>
                          : packed_kernel<STORED, VECTOR, SUM, 32>;
}

/* Starts both kernels for as many groups at once as there is room for. */
template <int STORED, int VECTOR, typename SUM>
static cudaError_t run_packed(const csr &a, int64_t nblocks, const macko_device_matrix *d, const macko_product *p, void *room,
                              cudaStream_t stream)
{
  const auto kernel = kernel_for<STORED, VECTOR, SUM>((double)d->m.nnz / (double)d->m.nrows);
  const unsigned columns = (unsigned)((d->m.ncols + THREADS - 1) / THREADS);
  packed<SUM> *x = (packed<SUM> *)room;
  cudaError_t error = cudaSuccess;
  const int64_t most = macko_csr_groups_at_once(d->m.ncols);
  for (int64_t left = p->k / GROUP, groups; !error && left > 0; left -= groups) {
    const device_vectors v = vectors_from(p, (p->k / GROUP - left) * GROUP);
    groups = left < most ? left : most;
    const dim3 all_columns(columns, (unsigned)groups), all_blocks((unsigned)nblocks, (unsigned)groups);
    error = launch(pack_kernel<VECTOR, SUM>, all_columns, THREADS, 0, stream, v, d->m.ncols, x);
    if (error) break;
    error = launch(kernel, all_blocks, THREADS, 0, stream, a, values_of(d), (const packed<SUM> *)x, d->m.ncols, v);
  }
  return error;
}

/* Expands to f for each combination of types that goes side by side. */
#define MACKO_PACKED(f) f(F64, F64, double) f(F32, F64, double) f(F32, F32, float)

macko_status macko_csr_multiply_packed(const csr &a, int64_t nblocks, const macko_device_matrix *d, const macko_product *p,
                                       void *side_by_side, cudaStream_t stream, macko_error *err)
{
  cudaError_t error = cudaErrorInvalidValue;
#define RUN(stored, vector, sum) \
  if (d->m.plan.stored_type == MACKO_##stored && p->vector_type == MACKO_##vector) \
    error = run_packed<MACKO_##stored, MACKO_##vector, sum>(a, nblocks, d, p, side_by_side, stream);
  MACKO_PACKED(RUN)
#undef RUN
  return macko_cuda_status(error, "starting a multiply", err);
}

/* Putting side by side reads and writes each element once, which few entries a column do not pay for. */
int macko_csr_goes_packed(const macko_device_matrix *d, const macko_product *p)
{
  enum { LEAST = 4 }; /* entries a column */
  if (p->k < GROUP || d->m.nnz < LEAST * d->m.ncols || macko_find_section(&d->m, "cols")->type != MACKO_I32) return 0;
#define IS(stored, vector, sum) (d->m.plan.stored_type == MACKO_##stored && p->vector_type == MACKO_##vector) ||
  return MACKO_PACKED(IS) 0;
#undef IS
}
