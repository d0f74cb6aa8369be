/* Layouts row and paper of macko (arXiv 2511.13061, section 4). A power of two of lanes takes a row. In each chunk a lane
 * takes consecutive entries, whose values and codes are a few wide loads, adds up its own gaps, and one prefix sum over the
 * lanes gives every lane its column. As in the paper's ROMA, a row starts at the aligned entry before it; what is outside
 * the row is skipped. Long rows are cut into pieces (row_pieces.h), whose sums a second kernel adds in order: with the
 * paper's one warp a row, one row may decide the time.
 *
 * The lanes go from row to row, and while they work on a chunk the next one is being loaded, whichever row it is of.
 * Products with long rows and short vectors have a kernel of their own (row_shared_x.cu), and so have those of weights of 16 bits
 * with several vectors (row_tiles.cu). */
#include "macko/row_walk.cuh"

#include <stdlib.h>
#include <algorithm>

/* Multiplies by rows and pieces. */
template <int STORED, int VECTOR, typename SUM, int GROUP, int WIDTH>
static __global__ void __launch_bounds__(THREADS) rows_kernel(rows a, device_values values, device_vectors v)
{
  take_rows<STORED, VECTOR, SUM, GROUP, WIDTH>(a, values, v);
}

/* Adds up the pieces of cut rows, a warp a row, always in the same order. */
static __global__ void __launch_bounds__(THREADS) sum_kernel(const macko_cut_row *cut, int64_t count, const double *partials,
                                                            device_vectors v, int group)
{
  int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / WARP;
  if (i >= count) return;
  int lane = threadIdx.x % WARP;
  macko_cut_row row = cut[i];
  for (int g = 0; g < group; g++) {
    double sum = 0;
    for (int k = lane; k < row.count; k += WARP) sum += partials[(int64_t)(row.first + k) * MACKO_DEVICE_GROUP + g];
    sum = sum_of_lanes(sum, WARP);
    if (lane == 0) put_y<MACKO_ANY>(v, g, row.row, sum);
  }
}

/* ---- from a product to the kernels ---- */

cudaError_t macko_rows_start(rows_kernel_type *kernel, const rows &a, const device_rows *r, const device_values &values,
                             const device_vectors &v, int group, cudaStream_t stream)
{
  int64_t per_block = THREADS / a.lanes, most = (int64_t)r->gpu.multiprocessors * BLOCKS;
  unsigned blocks = (unsigned)std::min((a.nrows + per_block - 1) / per_block, most) + a.piece_blocks;
  cudaError_t error = launch(kernel, blocks, THREADS, 0, stream, a, values, v);
  const macko_cut_row *cut = (const macko_cut_row *)(a.pieces + a.npieces);
  blocks = (unsigned)((r->cut.nrows + THREADS / WARP - 1) / (THREADS / WARP));
  if (error || !blocks) return error;
  return launch(sum_kernel, blocks, THREADS, 0, stream, cut, r->cut.nrows, (const double *)a.partials, v, group);
}

/* This is what run_product calls to start the kernel for its types. */
struct rows_launch {
  rows a;
  device_row_units row_units;
  const device_rows *r;
  cudaStream_t stream;
  static constexpr int AT_ONCE = 1, RARE = MACKO_NARROW; /* lanes take eight entries, as of every type but f64 */

  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    constexpr int NARROW = is_known<STORED> ? NOT_WIDE : ANY_WIDTH, BROAD = is_known<STORED> ? WIDE : ANY_WIDTH;
    if (GROUP == 1 && sizeof(SUM) == 4 && row_units.count)
      return macko_shared_x_start(a, row_units, r->gpu.multiprocessors, values, v, stream);
    const auto kernel = a.bits >= 16 ? rows_kernel<STORED, VECTOR, SUM, GROUP, BROAD>
                                     : rows_kernel<STORED, VECTOR, SUM, GROUP, NARROW>;
    return macko_rows_start(kernel, a, r, values, v, GROUP, stream);
  }
};

/* Gives the matrix as kernels take it, but for the work space. */
static rows rows_of(const macko_device_matrix *d, const device_rows *r)
{
  const macko_params *params = macko_params_of(&d->m.plan);
  rows a = {};
  a.row_ptr = macko_device_data(d, "row_ptr"), a.row_ptr_type = macko_find_section(&d->m, "row_ptr")->type;
  a.gaps = (const uint8_t *)macko_device_data(d, "gaps");
  a.nrows = d->m.nrows, a.ncols = d->m.ncols, a.nnz = d->m.nnz, a.lanes = r->cut.uncut.lanes, a.longest = r->cut.uncut.longest;
  a.npieces = r->cut.npieces, a.pieces = r->pieces;
  a.piece_blocks = (int)((a.npieces + THREADS / WARP - 1) / (THREADS / WARP));
  a.bits = d->m.plan.gap_bits;
  if (d->m.plan.layout == MACKO_LAYOUT_PAPER) {
    a.paper = 1, a.marker = params->paper.marker;
    return a;
  }
  a.base = macko_device_data(d, "base"), a.block_base = (const int32_t *)macko_device_data(d, "block_base");
  a.long_ptr = (const uint32_t *)macko_device_data(d, "long_ptr");
  a.long_gaps = (const uint32_t *)macko_device_data(d, "long_gaps");
  a.base_mode = (int)params->row.base_mode, a.base_bytes = (int)params->row.base_bytes;
  a.bias = params->row.base_bias;
  return a;
}

/* Copies the pieces and the cut rows to the device, side by side. The host's copy must stay until the stream has passed. */
static macko_status upload_cut(device_rows *r, const macko_cut *cut, cudaStream_t stream, macko_error *err)
{
  int64_t pieces = cut->npieces * (int64_t)sizeof *cut->pieces, list = cut->nrows * (int64_t)sizeof *cut->rows;
  if (!(r->bytes = pieces + list)) return MACKO_OK;
  macko_status s = macko_device_alloc(r->bytes, "the pieces of long rows", &r->memory, err);
  if (s) return r->bytes = 0, s;
  char *to = (char *)r->memory;
  r->pieces = (const macko_piece *)to;
  cudaError_t e = cudaMemcpyAsync(to, cut->pieces, (size_t)pieces, cudaMemcpyHostToDevice, stream);
  if (!e) e = cudaMemcpyAsync(to + pieces, cut->rows, (size_t)list, cudaMemcpyHostToDevice, stream);
  return macko_cuda_status(e, "copying the pieces of long rows to the GPU", err);
}

/* A product needs either the sums of pieces or those of units, so that one work space serves both. */
macko_status macko_rows_prepare(const macko_device_matrix *d, device_rows *r, const macko_matrix *host, cudaStream_t stream,
                                macko_error *err)
{
  macko_status s = macko_cut_rows(host, &r->cut, err);
  if (!s) s = macko_ask_gpu(d->device, &r->gpu, err);
  if (s) return s;
  s = upload_cut(r, &r->cut, stream, err);
  if (!s && r->cut.uncut.wide)
    s = macko_row_units_prepare(rows_of(d, r), &d->m.plan, d->m.value_type, r->gpu.multiprocessors, r->gpu.shared_bytes,
                                &r->row_units, stream, err);
  if (s) return s;
  int64_t partials = std::max(r->cut.npieces * MACKO_DEVICE_GROUP * (int64_t)sizeof(double), r->row_units.partial_bytes);
  r->space_bytes = r->row_units.zeroed + partials;
  return macko_work_space_new(r->space_bytes, r->row_units.zeroed, stream, &r->space, err);
}

void macko_rows_destroy(device_rows *r)
{
  cudaFree(r->memory), cudaFree(r->row_units.memory);
  macko_work_space_free(r->space);
  free(r->cut.pieces), free(r->cut.rows);
}

macko_status macko_rows_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  const device_rows *r = &((const device_macko *)d->own)->rows;
  rows_launch to_run = {rows_of(d, r), r->row_units, r, stream};
  macko_work_loan loan;
  macko_status s = macko_work_space_take(r->space, stream, &loan, err);
  if (s) return s;
  to_run.a.partials = (double *)((char *)loan.memory + r->row_units.zeroed);
  macko_row_units_give_space(&to_run.row_units, loan.memory);
  macko_product rest = product_after(p, macko_rows_multiply_tiles(to_run.a, d, p, stream));
  rest = product_after(&rest, macko_rows_multiply_beside(to_run.a, d, &rest, stream));
  s = rest.k ? run_product(to_run, d, &rest, 1, err) : MACKO_OK;
  macko_status back = macko_work_space_give_back(r->space, stream, &loan, s ? NULL : err);
  return s ? s : back;
}
