/* The diagonal of a csr in device memory. */
#include "core/device_csr.cuh"

/* So many lanes look at the columns of a row side by side. A row is three loads that wait for each other, so that rows in flight
 * count: a warp a row would leave most of a GPU's time to waiting. */
enum { ROW_LANES = 8 };

/* Finds each row's entry in the column that is first_col beyond its number. */
static __global__ void __launch_bounds__(ENCODE_THREADS) diagonal_kernel(macko_device_csr a, int64_t first_col, double *diagonal)
{
  const int lane = lane_number() % ROW_LANES, before = lane_number() - lane;
  const int64_t row = (warp_number() * WARP + before) / ROW_LANES;
  const bool there = row < a.nrows;
  const device_values values = {a.values, nullptr, a.value_type, a.value_type, 0};
  const int64_t end = there ? row_start(a, row + 1) : 0;
  double value = 0;
  bool found = false;
  for (int64_t p = there ? row_start(a, row) + lane : 0; p < end && !found; p += ROW_LANES) {
    found = column(a, p) == row + first_col;
    if (found) value = load_value<MACKO_ANY, double>(values, p);
  }
  const unsigned finders = __ballot_sync(EVERY, found) >> before & ((1u << ROW_LANES) - 1);
  if (there && (finders ? found : lane == 0)) diagonal[row] = value;
}

extern "C" cudaError_t macko_start_diagonal(const macko_device_csr *a, int64_t first_col, double *diagonal, cudaStream_t stream)
{
  return launch(diagonal_kernel, blocks_for(a->nrows * ROW_LANES), ENCODE_THREADS, 0, stream, *a, first_col, diagonal);
}
