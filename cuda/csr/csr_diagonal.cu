/* The diagonal of a matrix of format csr, a warp a row. */
#include "core/product.cuh"
#include "core/warp.cuh"
#include "csr/csr_blocks.h"

enum { DIAGONAL_THREADS = 256 };

/* Finds each row's entry in the column that is first_col beyond its number: lanes look at columns side by side. */
static __global__ void __launch_bounds__(DIAGONAL_THREADS)
diagonal_kernel(const void *row_ptr, int row_ptr_type, const void *cols, int col_type, int64_t nrows, device_values values,
                int64_t first_col, double *diagonal)
{
  const int64_t row = ((int64_t)blockIdx.x * DIAGONAL_THREADS + threadIdx.x) / WARP;
  const int lane = threadIdx.x % WARP;
  if (row >= nrows) return;
  const int64_t begin = index_at(row_ptr_type, row_ptr, row), end = index_at(row_ptr_type, row_ptr, row + 1);
  double value = 0;
  bool found = false;
  for (int64_t p = begin + lane; p < end && !found; p += WARP) {
    found = index_at(col_type, cols, p) == row + first_col;
    if (found) value = load_value<MACKO_ANY, double>(values, p);
  }
  const unsigned finders = __ballot_sync(EVERY, found);
  if (finders ? found : lane == 0) diagonal[row] = value;
}

extern "C" macko_status macko_csr_diagonal(const macko_device_matrix *d, int64_t first_col, double *diagonal, cudaStream_t stream,
                                           macko_error *err)
{
  const macko_section *row_ptr = macko_find_section(&d->m, "row_ptr"), *cols = macko_find_section(&d->m, "cols");
  const int64_t blocks = (d->m.nrows * WARP + DIAGONAL_THREADS - 1) / DIAGONAL_THREADS;
  cudaError_t error = launch(diagonal_kernel, (unsigned)blocks, DIAGONAL_THREADS, 0, stream, row_ptr->data, (int)row_ptr->type,
                             cols->data, (int)cols->type, d->m.nrows, values_of(d), first_col, diagonal);
  return macko_cuda_status(error, "starting to read a diagonal", err);
}
