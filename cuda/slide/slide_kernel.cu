/* Y = A X from format slide on any GPU: a warp a row and up to 128 columns of X, whose rows have been put side by side before.
 * The lanes unpack a cell each into a list of entries, and then all take these one after the other, so that every sum has one
 * order. */
#include "slide/slide.cuh"
#include "slide/slide_matmul.h"

enum {
  KERNEL_WARPS = 4,
  KERNEL_ROWS = 16,                             /* of a tile of Y */
  ROOM = WARP * (2 * MACKO_SLIDE_MOST - 2),     /* entries of the cells of all lanes */
  WIDE = 4,                                     /* columns of a lane, where there are many */
  SQUARE = 32                                   /* rows and columns of a tile that is transposed */
};

/* ---- X by rows ---- */

/* Gives the number of elements of a row of X once rows lie side by side: n and what fills up the last tile of Y. */
static int64_t row_length(int64_t n)
{
  const int64_t width = n > WARP ? WARP * WIDE : WARP;
  return (n + width - 1) / width * width;
}

int64_t macko_slide_kernel_work(const macko_device_matrix *d, macko_type x_type, int64_t n)
{
  return d->m.ncols * row_length(n) * macko_type_bytes(x_type);
}

/* Transposes X, which has nrows rows and n columns, to rows of `length` elements; columns beyond the last are zero. Squares go
 * through shared memory, so that reads and writes are both in full lines; its rows are an element longer, so that columns do
 * not hit the same bank. */
template <typename T>
static __global__ void __launch_bounds__(256)
    rows_kernel(const T *x, int64_t ldx, int64_t nrows, int64_t n, T *rows, int64_t length)
{
  __shared__ T square[SQUARE][SQUARE + 1];
  const int lane = threadIdx.x % SQUARE, line = threadIdx.x / SQUARE;
  const int64_t down = (nrows + SQUARE - 1) / SQUARE, across = length / SQUARE;
  for (int64_t tile = blockIdx.x; tile < down * across; tile += gridDim.x) {
    const int64_t i = tile % down * SQUARE, j = tile / down * SQUARE;
    for (int k = line; k < SQUARE; k += 8) square[k][lane] = i + lane < nrows && j + k < n ? x[(j + k) * ldx + i + lane] : (T)0;
    __syncthreads();
    for (int k = line; k < SQUARE; k += 8)
      if (i + k < nrows) rows[(i + k) * length + j + lane] = square[lane][k];
    __syncthreads();
  }
}

/* Gives the number of blocks of threads for so many tiles, which take several where these are more than a launch has. */
static unsigned blocks_for(int64_t tiles)
{
  const int64_t most = 1 << 30;
  return (unsigned)(tiles < most ? tiles : most);
}

/* Puts the rows of X side by side in p->work. Elements are copied as bits of their size. */
static cudaError_t put_rows(const macko_device_matrix *d, const macko_dense_product *p, cudaStream_t stream)
{
  const int64_t length = row_length(p->n), nrows = d->m.ncols, tiles = (nrows + SQUARE - 1) / SQUARE * (length / SQUARE);
  switch (macko_type_bytes(p->x_type)) {
  case 8: return launch(rows_kernel<uint64_t>, blocks_for(tiles), 256, 0, stream, (const uint64_t *)p->x, p->ldx, nrows, p->n,
                        (uint64_t *)p->work, length);
  case 4: return launch(rows_kernel<uint32_t>, blocks_for(tiles), 256, 0, stream, (const uint32_t *)p->x, p->ldx, nrows, p->n,
                        (uint32_t *)p->work, length);
  default: return launch(rows_kernel<uint16_t>, blocks_for(tiles), 256, 0, stream, (const uint16_t *)p->x, p->ldx, nrows, p->n,
                         (uint16_t *)p->work, length);
  }
}

/* ---- entries ---- */

/* These are the entries of a row that the lanes of a warp have unpacked, in their order, in shared memory. */
template <typename SUM> struct entry_list {
  int cols[ROOM];
  SUM values[ROOM];
};

/* Gives the sum of the counts of the lanes before this one; *all is that of all lanes. */
static __device__ __forceinline__ int count_before(int count, int *all)
{
  const int sum = sum_up_to_lane(count, (int)threadIdx.x % WARP);
  *all = __shfl_sync(EVERY, sum, WARP - 1);
  return sum - count;
}

/* Unpacks the cells from number `cell` on, before `end`, a lane each, into the list; `first` is the row's first cell. Returns
 * how many entries they have. Entries are counted first, so that each lane knows where its own begin. */
template <typename SUM>
static __device__ __forceinline__ int unpack_cells(const slide &a, const device_values &values, int per, int64_t first,
                                                   int64_t cell, int64_t end, entry_list<SUM> *list)
{
  uint32_t positions = 0;
  int count = 0, all;
  cell += threadIdx.x % WARP;
  if (cell < end) {
    const uint32_t code = macko_slide_code(a.codes, a.bits, cell);
    positions = a.patterns ? __ldg(a.patterns + code) : code;
    for (int s = 0; s < 2 * a.n - 2; s++) count += macko_slide_holds(macko_slide_window(positions, s / 2), s % 2);
  }
  int at = count_before(count, &all);
  if (cell < end) {
    const int col = (int)(block_of(a, first, cell) * 2 * a.n);
    for (int s = 0; s < 2 * a.n - 2; s++) {
      const int window = macko_slide_window(positions, s / 2);
      if (!macko_slide_holds(window, s % 2)) continue;
      list->cols[at] = col + s / 2 * 2 + macko_slide_column(window, s % 2);
      list->values[at++] = (SUM)load_value<MACKO_ANY, SUM>(values, macko_slide_slot(a.n, per, cell, s));
    }
  }
  return all;
}

/* Puts entries `entry` to before `end` of the rest into the list, as many as there are lanes. Returns how many these are. */
template <typename SUM>
static __device__ __forceinline__ int unpack_rest(const slide &a, const device_values &values, int64_t entry, int64_t end,
                                                  entry_list<SUM> *list)
{
  const int lane = threadIdx.x % WARP;
  if (entry + lane < end) {
    list->cols[lane] = __ldg(a.rest_cols + entry + lane);
    list->values[lane] = (SUM)load_value<MACKO_ANY, SUM>(values, a.first_rest + entry + lane);
  }
  return (int)(end - entry < WARP ? end - entry : WARP);
}

/* These are the elements of a row of X that a lane takes, WIDTH of them side by side, loaded at once. */
template <int X, int WIDTH> struct row_piece {
  typedef typename element<X>::type type;
  alignas(WIDTH * sizeof(type)) type elements[WIDTH];

  template <typename SUM> __device__ __forceinline__ SUM number(int i) const
  {
    if constexpr (X == MACKO_F64 || X == MACKO_F32) return (SUM)elements[i];
    else return (SUM)number_of<X>(elements[i]);
  }
};

/* Adds the listed entries to a lane's sums of WIDTH columns; x is the lane's piece of row 0, and rows are `pieces` pieces
 * apart. All lanes take the same entry, so that they read the list and a row of X together. */
template <int X, typename SUM, int WIDTH>
static __device__ __forceinline__ void add_entries(const entry_list<SUM> *list, int count, const row_piece<X, WIDTH> *x,
                                                   int64_t pieces, SUM sum[WIDTH])
{
  __syncwarp();
#pragma unroll 4
  for (int e = 0; e < count; e++) {
    const row_piece<X, WIDTH> piece = x[list->cols[e] * pieces];
    const SUM value = list->values[e];
#pragma unroll
    for (int i = 0; i < WIDTH; i++) sum[i] = add_product(value, piece.template number<SUM>(i), sum[i]);
  }
  __syncwarp();
}

/* ---- tiles of Y ---- */

/* Computes tiles of Y of KERNEL_ROWS rows. A tile meets in shared memory before it is written, because Y is stored by columns
 * and a warp has a row. */
template <int X, typename SUM, int WIDTH>
static __global__ void __launch_bounds__(KERNEL_WARPS *WARP)
  dense_kernel(slide a, device_values values, macko_dense_product p, int64_t length)
{
  typedef row_piece<X, WIDTH> piece;
  __shared__ entry_list<SUM> lists[KERNEL_WARPS];
  __shared__ SUM tile_of_y[KERNEL_ROWS][WARP * WIDTH + 1];
  const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, per = macko_slide_per(bytes_of_type(values.stored_type));
  const int64_t down = (a.nrows + KERNEL_ROWS - 1) / KERNEL_ROWS, tiles = down * (length / (WARP * WIDTH)), pieces = length / WIDTH;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first_row = tile % down * KERNEL_ROWS, first_col = tile / down * (WARP * WIDTH);
    const piece *x = (const piece *)p.work + first_col / WIDTH + lane;
    for (int r = warp; r < KERNEL_ROWS && first_row + r < a.nrows; r += KERNEL_WARPS) {
      const int64_t row = first_row + r, first = start_of(a, row), end = start_of(a, row + 1);
      SUM sum[WIDTH] = {};
      for (int64_t cell = first; cell < end; cell += WARP)
        add_entries<X, SUM, WIDTH>(&lists[warp], unpack_cells(a, values, per, first, cell, end, &lists[warp]), x, pieces, sum);
      const int64_t rest_end = a.rest_cols ? index_at(a.rest_type, a.rest_ptr, row + 1) : 0;
      for (int64_t i = a.rest_cols ? index_at(a.rest_type, a.rest_ptr, row) : 0; i < rest_end; i += WARP)
        add_entries<X, SUM, WIDTH>(&lists[warp], unpack_rest(a, values, i, rest_end, &lists[warp]), x, pieces, sum);
#pragma unroll
      for (int i = 0; i < WIDTH; i++) tile_of_y[r][lane * WIDTH + i] = sum[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < KERNEL_ROWS * WARP * WIDTH; i += KERNEL_WARPS * WARP) {
      const int64_t row = first_row + i % KERNEL_ROWS, col = first_col + i / KERNEL_ROWS;
      if (row >= a.nrows || col >= p.n) continue;
      const SUM sum = tile_of_y[i % KERNEL_ROWS][i / KERNEL_ROWS];
      store_y(p.y_type, p.y, col * p.ldy + row, p.bias ? sum + (SUM)__ldg(p.bias + row) : sum);
    }
    __syncthreads();
  }
}

/* Starts the kernel for the types of X and of sums. */
template <int X, typename SUM>
static cudaError_t run_dense(const macko_device_matrix *d, const macko_dense_product *p, cudaStream_t stream)
{
  const slide a = slide_of(d);
  /* The table of a dictionary is handed over as stored, which is what load_value<MACKO_ANY> reads. */
  const device_values values = {macko_device_data(d, "values"), macko_device_data(d, "dict"), d->m.plan.stored_type,
                                d->m.value_type, (int)d->m.plan.table};
  const int wide = p->n > WARP;
  const int64_t length = row_length(p->n), down = (a.nrows + KERNEL_ROWS - 1) / KERNEL_ROWS;
  const unsigned blocks = blocks_for(down * (length / (WARP * (wide ? WIDE : 1))));
  if (wide) return launch(dense_kernel<X, SUM, WIDE>, blocks, KERNEL_WARPS * WARP, 0, stream, a, values, *p, length);
  return launch(dense_kernel<X, SUM, 1>, blocks, KERNEL_WARPS * WARP, 0, stream, a, values, *p, length);
}

/* Sums are f64 where the matrix or X is, else f32. */
cudaError_t macko_slide_kernel(const macko_device_matrix *d, const macko_dense_product *p, cudaStream_t stream)
{
  const cudaError_t error = put_rows(d, p, stream);
  const int doubles = d->m.value_type == MACKO_F64;
  if (error) return error;
  switch (p->x_type) {
  case MACKO_F64: return run_dense<MACKO_F64, double>(d, p, stream);
  case MACKO_F32: return doubles ? run_dense<MACKO_F32, double>(d, p, stream) : run_dense<MACKO_F32, float>(d, p, stream);
  case MACKO_F16: return doubles ? run_dense<MACKO_F16, double>(d, p, stream) : run_dense<MACKO_F16, float>(d, p, stream);
  default: return doubles ? run_dense<MACKO_BF16, double>(d, p, stream) : run_dense<MACKO_BF16, float>(d, p, stream);
  }
}
