/* Layout row where rows are long: which part of the entries each warp takes (row_shared_x_units.cuh). */
#include "macko/row_shared_x_units.cuh"

enum { THREADS = 256 };

/* Lists where each row begins, and in which column, a thread a row. Row nrows begins where the last one ends. */
static __global__ void rows_kernel(rows a, unit_row *to)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i > a.nrows) return;
  to[i] = {(uint32_t)index_at(a.row_ptr_type, a.row_ptr, i), i < a.nrows ? (uint32_t)base_column(a, i) : 0};
}

/* Gives the first row that begins at an entry or after it, `rows` where there is none, found by bisection. */
static __device__ int row_from(const unit_row *of, int rows, uint32_t entry)
{
  int low = 0, high = rows;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (of[middle].begin < entry) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Describes a unit, a warp each. Where a unit begins inside a row the warp goes through the row's codes and long gaps up to
 * there, which tells the column of its first entry. */
static __global__ void units_kernel(rows a, const unit_row *of, int entries, int count, shared_x_unit *units)
{
  int i = (int)((blockIdx.x * THREADS + threadIdx.x) / WARP), lane = threadIdx.x % WARP;
  if (i >= count) return;
  uint32_t begin = (uint32_t)i * entries, escape = (1u << a.bits) - 1;
  int row = row_from(of, (int)a.nrows, begin), next = i + 1 < count ? row_from(of, (int)a.nrows, begin + entries) : (int)a.nrows;
  if (of[row].begin > begin) row--;
  uint32_t first = of[row].begin, columns = 0, gaps = 0;
  for (uint32_t e = first + 1 + lane; e <= begin; e += WARP) {
    uint32_t code = macko_gap_code(a.gaps, a.bits, e);
    columns += code, gaps += code == escape;
  }
  gaps = sum_of_lanes(gaps, WARP);
  uint32_t list = a.long_ptr ? a.long_ptr[row] : 0;
  for (uint32_t g = lane; a.long_ptr && g < gaps; g += WARP) columns += a.long_gaps[list + g] - 1 - escape;
  columns = sum_of_lanes(columns, WARP);
  if (lane == 0) units[i] = {row, next - row, of[row].base + begin - first + columns, list + (a.long_ptr ? gaps : 0)};
}

/* There are no more units than warps that the GPU runs at once, equally long and of whole chunks, so that all end at about the
 * same time. */
macko_status macko_row_units_prepare(const rows &a, const macko_plan *plan, macko_type value_type, int multiprocessors,
                                     int shared_bytes, device_row_units *row_units, cudaStream_t stream, macko_error *err)
{
  int64_t warps = (int64_t)multiprocessors * macko_shared_x_warps(plan, value_type, a.ncols, shared_bytes);
  if (!warps || a.nrows >= INT32_MAX) return MACKO_OK;
  int64_t entries = (a.nnz / warps / CHUNK + 1) * CHUNK, count = (a.nnz + entries - 1) / entries;
  if (count * entries > INT32_MAX) return MACKO_OK; /* the kernel counts up to the end of the last unit in 32 bits */
  int64_t units = macko_aligned(count * (int64_t)sizeof(shared_x_unit));
  int64_t list = macko_aligned((a.nrows + 1) * (int64_t)sizeof(unit_row));
  int64_t partials = macko_aligned(2 * count * (int64_t)sizeof(float));
  int64_t pairs = macko_aligned(count * (int64_t)sizeof *row_units->pairs);
  int64_t done = macko_aligned(count * (int64_t)sizeof *row_units->done);
  row_units->bytes = units + list;
  macko_status s = macko_device_alloc(row_units->bytes, "the units of long rows", &row_units->memory, err);
  if (s) return row_units->bytes = 0, s;
  char *to = (char *)row_units->memory;
  row_units->units = (shared_x_unit *)to, row_units->rows = (unit_row *)(to + units);
  row_units->zeroed = pairs + done, row_units->partial_bytes = partials, row_units->shared_bytes = shared_bytes;
  row_units->entries = (int)entries, row_units->count = (int)count;
  cudaError_t e = launch(rows_kernel, (unsigned)(a.nrows / THREADS + 1), THREADS, 0, stream, a, (unit_row *)row_units->rows);
  if (!e)
    e = launch(units_kernel, (unsigned)(count * WARP / THREADS + 1), THREADS, 0, stream, a, row_units->rows, (int)entries,
               (int)count, (shared_x_unit *)row_units->units);
  return macko_cuda_status(e, "sharing out long rows", err);
}

void macko_row_units_give_space(device_row_units *row_units, void *space)
{
  row_units->pairs = (unsigned long long *)space;
  row_units->done = (unsigned *)((char *)space + macko_aligned(row_units->count * (int64_t)sizeof *row_units->pairs));
  row_units->partials = (float *)((char *)space + row_units->zeroed);
}
