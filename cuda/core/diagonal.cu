/* The diagonal of a csr in device memory, a warp a row. */
#include "core/device_csr.cuh"

/* Finds each row's entry in the column that is first_col beyond its number: lanes look at columns side by side. */
static __global__ void __launch_bounds__(ENCODE_THREADS) diagonal_kernel(macko_device_csr a, int64_t first_col, double *diagonal)
{
  const int64_t row = warp_number();
  if (row >= a.nrows) return;
  const device_values values = {a.values, nullptr, a.value_type, a.value_type, 0};
  const int64_t end = row_start(a, row + 1);
  double value = 0;
  bool found = false;
  for (int64_t p = row_start(a, row) + lane_number(); p < end && !found; p += WARP) {
    found = column(a, p) == row + first_col;
    if (found) value = load_value<MACKO_ANY, double>(values, p);
  }
  const unsigned finders = __ballot_sync(EVERY, found);
  if (finders ? found : lane_number() == 0) diagonal[row] = value;
}

extern "C" cudaError_t macko_start_diagonal(const macko_device_csr *a, int64_t first_col, double *diagonal, cudaStream_t stream)
{
  return launch(diagonal_kernel, blocks_for(a->nrows * WARP), ENCODE_THREADS, 0, stream, *a, first_col, diagonal);
}
