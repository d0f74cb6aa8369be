/* Format slide on the GPU: its table of functions, and products of rows of few cells and of types that have no kernels for
 * tiles. */
#include "slide/slide.cuh"

#include <stdlib.h>

/* Adds the entries of a cell, one after the other, to the sums of a lane; `block` is which block of its row the cell is, `per`
 * as macko_slide_per. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void add_any_cell(const slide &a, const device_values &values, const device_vectors &v, int per,
                                                    int64_t cell, int64_t block, SUM sum[GROUP])
{
  const uint32_t code = macko_slide_code(a.codes, a.bits, cell);
  const uint32_t positions = a.patterns ? __ldg(a.patterns + code) : code;
#pragma unroll 1
  for (int s = 0; s < 2 * a.n - 2; s++) {
    const int window = macko_slide_window(positions, s / 2);
    if (!macko_slide_holds(window, s % 2)) continue;
    const int64_t col = block * 2 * a.n + s / 2 * 2 + macko_slide_column(window, s % 2);
    const SUM value = any_value<STORED, SUM>(values, macko_slide_slot(a.n, per, cell, s));
#pragma unroll
    for (int g = 0; g < GROUP; g++)
      sum[g] = add_product(value, (SUM)load_vector<VECTOR>(v.x, g * v.ldx + col, v.type), sum[g]);
  }
}

/* Multiplies by rows, a.lanes lanes each; a lane takes every a.lanes-th cell. For types and rows that the kernels for tiles are
 * not made for. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) any_kernel(slide a, device_values values, device_vectors v)
{
  const int per = macko_slide_per(bytes_of_type(values.stored_type)), lane = threadIdx.x % a.lanes;
  const int64_t rows = (int64_t)gridDim.x * THREADS / a.lanes;
  /* All lanes of a warp go round as often, as they add up together. */
  for (int64_t base = 0; base < a.nrows; base += rows) {
    const int64_t row = base + ((int64_t)blockIdx.x * THREADS + threadIdx.x) / a.lanes;
    SUM sum[GROUP] = {};
    if (row < a.nrows) {
      const int64_t first = start_of(a, row), end = start_of(a, row + 1);
      for (int64_t cell = first + lane; cell < end; cell += a.lanes)
        add_any_cell<STORED, VECTOR, SUM, GROUP>(a, values, v, per, cell, block_of(a, first, cell), sum);
      add_rest<STORED, VECTOR, SUM, GROUP>(a, values, v, row, lane, a.lanes, sum);
    }
#pragma unroll
    for (int g = 0; g < GROUP; g++) {
      const SUM all = sum_of_lanes(sum[g], a.lanes);
      if (lane == 0 && row < a.nrows) put_y<VECTOR>(v, g, row, all);
    }
  }
}

/* Rows with fewer cells than that on average would leave most lanes of a tile idle. */
enum { FEWEST_CELLS = 64 };

/* This is what run_product calls to start a kernel for its types. */
struct slide_launch {
  slide a;
  int64_t cells;
  cudaStream_t stream;
  static constexpr int AT_ONCE = 1, RARE = MACKO_ANY;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    if constexpr (has_tiles<STORED, VECTOR, GROUP>())
      if (cells / FEWEST_CELLS >= a.nrows) return macko_slide_run_tiles<STORED, VECTOR, SUM>(a, values, v, stream);
    const int64_t rows = THREADS / a.lanes, blocks = (a.nrows + rows - 1) / rows;
    return launch(any_kernel<STORED, VECTOR, SUM, GROUP>, (unsigned)(blocks > INT32_MAX ? INT32_MAX : blocks), THREADS, 0, stream,
                  a, values, v);
  }
};

/* This is what a matrix of format slide owns on the device besides its sections (d->own). */
struct slide_own {
  device_tables tables;
  int lanes;
};

/* Gives the number of lanes of a row: as many as rows have cells on average, but so many that no lane takes more than 64 cells
 * of the longest row, a warp at most. */
static int lanes_for(const macko_matrix *host)
{
  const int64_t cells = macko_slide_counts_of(&host->plan)->cells;
  const macko_section *starts = macko_find_section(host, "starts"), *rest = macko_find_section(host, "rest_ptr");
  int64_t longest = 0;
  int lanes = 1;
  for (int64_t i = 0; i < host->nrows; i++) {
    int64_t length = macko_index_at(starts, i + 1) - macko_index_at(starts, i);
    if (rest) length += macko_index_at(rest, i + 1) - macko_index_at(rest, i);
    if (length > longest) longest = length;
  }
  while (lanes < WARP && ((int64_t)lanes * host->nrows < cells || (int64_t)lanes * 64 < longest)) lanes *= 2;
  return lanes;
}

/* The lanes are counted again after a refresh, which finds the same. */
static macko_status prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err)
{
  if (!d->own && !(d->own = calloc(1, sizeof(slide_own))))
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a device matrix");
  slide_own *own = (slide_own *)d->own;
  own->lanes = lanes_for(host);
  return macko_prepare_tables(&own->tables, d, host, stream, err);
}

static macko_status multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  slide a = slide_of(d);
  a.lanes = ((const slide_own *)d->own)->lanes;
  return run_product(slide_launch{a, macko_slide_counts_of(&d->m.plan)->cells, stream}, d, p, 1, err);
}

static void destroy(macko_device_matrix *d)
{
  if (d->own) cudaFree(((device_tables *)d->own)->as_f64);
  free(d->own);
}

extern "C" const macko_device_ops macko_slide_device_ops = {
  .prepare = prepare,
  .multiply = multiply,
  .destroy = destroy,
  .diagonal = NULL, /* products are all that it has kernels for */
  .on_host = NULL,
  .facts = NULL,
  .encode = NULL, /* the host encodes, and the result is copied */
  .plan_and_encode = NULL,
  .refresh = NULL, /* as encode */
  .close = NULL,
  .write_pattern = NULL,
  .write_values = NULL,
  .move_values = NULL,
  .reads = NULL};
