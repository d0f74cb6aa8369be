/* Plain CSR row after row: a power of two of lanes takes a row. For what cuSPARSE lacks. */
#include "product.cuh"

enum { THREADS = 256, CHUNKS = 4 };

struct csr_rows {
  const void *row_ptr, *cols;
  int64_t nrows;
  int row_ptr_type, col_type, lanes;
};

template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) csr_rows_kernel(csr_rows a, device_values values, device_vectors v)
{
  int lane = threadIdx.x % a.lanes;
  int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / a.lanes, begin = 0, end = 0;
  int there = row < a.nrows;
  if (there) begin = index_at(a.row_ptr_type, a.row_ptr, row), end = index_at(a.row_ptr_type, a.row_ptr, row + 1);
  SUM sum[GROUP] = {};
  for (int64_t first = begin + lane; first < end; first += CHUNKS * a.lanes) {
    SUM value[CHUNKS];
    int64_t col[CHUNKS];
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
      int64_t p = first + c * a.lanes;
      if (p < end) value[c] = load_value<STORED, SUM>(values, p), col[c] = index_at(a.col_type, a.cols, p);
    }
#pragma unroll
    for (int c = 0; c < CHUNKS; c++)
      if (first + c * a.lanes < end)
#pragma unroll
        for (int g = 0; g < GROUP; g++) sum[g] += value[c] * (SUM)load_vector<VECTOR>(v.x, g * v.ldx + col[c], v.type);
  }
#pragma unroll
  for (int g = 0; g < GROUP; g++) {
    for (int d = a.lanes / 2; d > 0; d /= 2) sum[g] += __shfl_xor_sync(0xffffffffu, sum[g], d, a.lanes);
    if (there && lane == 0) put_y<VECTOR>(v, g, row, sum[g]);
  }
}

struct csr_rows_launch {
  csr_rows a;
  cudaStream_t stream;
  template <int STORED, int VECTOR, typename SUM, int GROUP> void run(const device_values &values, const device_vectors &v) const
  {
    int64_t per_block = THREADS / a.lanes, blocks = (a.nrows + per_block - 1) / per_block;
    csr_rows_kernel<STORED, VECTOR, SUM, GROUP><<<(unsigned)blocks, THREADS, 0, stream>>>(a, values, v);
  }
};

macko_status macko_csr_rows_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  csr_rows a = {macko_device_data(d, "row_ptr"), macko_device_data(d, "cols"), d->m.nrows, macko_find_section(&d->m, "row_ptr")->type,
                macko_find_section(&d->m, "cols")->type, 2};
  /* About two chunks of a row of mean length. */
  while (a.lanes < 32 && a.lanes * 4 * d->m.nrows < d->m.nnz) a.lanes *= 2;
  return run_product(csr_rows_launch{a, stream}, d, p, err);
}
