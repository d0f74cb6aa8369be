/* Several vectors with format csr, side by side. */
#include "csr/csr.cuh"

/* LONG: so many entries a lane are what a row may have to be added up by its own lanes. */
enum { GROUP = MACKO_DEVICE_GROUP, LONG = 32 };

/* The sums of a row for the vectors of a group. */
template <typename SUM> struct packed {
  SUM of[GROUP];
};

/* Adds up entries from .. past - 1 of a block, which `lanes` lanes take together: this is number `lane` of them. ROUND entries of
 * each are under way at a time; those beyond the last take the round's first again, and are left out. */
template <int STORED, int VECTOR, typename SUM>
static __device__ __forceinline__ packed<SUM> add_entries(const int *cols, const device_values &values, const device_vectors &v,
                                                          int from, int past, int lane, int lanes)
{
  constexpr int ROUND = 4;
  packed<SUM> sum = {{0}};
#pragma unroll 1
  for (int p = from + lane; p < past; p += ROUND * lanes) {
    SUM at[ROUND][GROUP], value[ROUND];
#pragma unroll
    for (int i = 0; i < ROUND; i++) {
      const int e = p + i * lanes < past ? p + i * lanes : p;
      load_group<VECTOR, SUM, GROUP>(v, __ldg(cols + e), at[i]), value[i] = load_value<STORED, SUM>(values, e);
    }
#pragma unroll
    for (int i = 0; i < ROUND; i++)
#pragma unroll
      for (int g = 0; g < GROUP; g++) sum.of[g] += p + i * lanes < past ? value[i] * at[i][g] : 0;
  }
  return sum;
}

/* Adds up what LANES lanes side by side have. */
template <typename SUM, int LANES> static __device__ __forceinline__ void add_lanes(packed<SUM> *sum)
{
#pragma unroll
  for (int g = 0; g < GROUP; g++) sum->of[g] = sum_of_lanes(sum->of[g], LANES);
}

/* Computes the products of one block by group number blockIdx.y. Unlike csr_kernel, in which a thread has entries of any row, each
 * row has lanes of its own, so that nothing goes through shared memory, which four vectors would keep busy. */
template <int STORED, int VECTOR, typename SUM, int LANES>
static __global__ void __launch_bounds__(THREADS) packed_kernel(csr a, device_values values, device_vectors all)
{
  constexpr int TEAMS = THREADS / LANES;
  __shared__ double scratch[THREADS / WARP];
  const device_vectors v = vectors_of_block<VECTOR, GROUP, 1>(all);
  const macko_csr_block b = load_block(a.blocks);
  const int *cols = (const int *)a.cols + b.begin;
  const int lane = threadIdx.x % LANES, first = blockIdx.y * GROUP;
  values.stream = (const char *)values.stream + b.begin * sizeof(typename element<STORED>::type);
  for (int r = threadIdx.x / LANES, most = (int)(threadIdx.x / WARP * WARP / LANES); most < b.rows; r += TEAMS, most += TEAMS) {
    const int from = row_start(a, b, b.begin, r), past = row_start(a, b, b.begin, r + 1);
    const int is_long = LANES < WARP && past - from > LONG * LANES;
    packed<SUM> sum = add_entries<STORED, VECTOR, SUM>(cols, values, v, from, is_long ? from : past, lane, LANES);
    add_lanes<SUM, LANES>(&sum);
    take_long_rows(is_long && lane == 0, from, past, &sum, [&](int begin, int end, int one) {
      packed<SUM> row = add_entries<STORED, VECTOR, SUM>(cols, values, v, begin, end, one, WARP);
      add_lanes<SUM, WARP>(&row);
      return row;
    });
#pragma unroll
    for (int g = 0; g < GROUP; g++)
      if (r < b.rows && lane == 0) put_y<VECTOR>(v, g, b.row + r, sum.of[g]);
  }
  if (b.rows) return;
  packed<SUM> piece = add_entries<STORED, VECTOR, SUM>(cols, values, v, 0, b.entries, threadIdx.x, THREADS);
#pragma unroll
  for (int g = 0; g < GROUP; g++) piece.of[g] = sum_of_block(piece.of[g], (SUM *)scratch);
  add_piece<VECTOR, SUM, GROUP>(a, b, piece.of, all, first, scratch);
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

/* This is what multiply_beside calls to start the kernel for its types. */
struct packed_launch {
  csr a;
  int64_t nblocks;
  double entries; /* of a row on average */
  cudaStream_t stream;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    /* Values of this format are stored as they are. */
    if constexpr (STORED == MACKO_I8 || STORED == MACKO_U8) return cudaErrorInvalidValue;
    else
      return launch(kernel_for<STORED, VECTOR, SUM>(entries), dim3((unsigned)nblocks, (unsigned)v.count), THREADS, 0, stream, a,
                    values, v);
  }
};

int64_t macko_csr_multiply_packed(const csr &a, int64_t nblocks, const macko_device_matrix *d, const macko_product *p,
                                  macko_work_space *space, cudaStream_t stream)
{
  if (macko_find_section(&d->m, "cols")->type != MACKO_I32 || !macko_goes_beside(d, p, 0)) return 0;
  const double entries = (double)d->m.nnz / (double)d->m.nrows;
  return multiply_beside(packed_launch{a, nblocks, entries, stream}, d, p, space, stream);
}
