/* A csr in device memory: the check that it is fit to be read, whose rules are those of lib/core/check_csr.c, and its row_ptr and
 * cols as sections. */
#include "core/device_csr.cuh"

/* ---- the check ---- */

/* Checks one row a warp. Lanes look at a column and the one before it, so that neighbours in a row are all compared. The
 * longest row is asked for by a plain load first, as atomics on one address run one after the other and most rows are no longer
 * than what was seen. */
static __global__ void check_kernel(macko_device_csr a, macko_device_check *check)
{
  int64_t row = warp_number();
  if (row >= a.nrows) return;
  int64_t begin = row_start(a, row), end = row_start(a, row + 1);
  bool bad = begin < 0 || end < begin || end > a.nnz || (row == 0 && begin != 0);
  for (int64_t p = begin + lane_number(); !bad && p < end; p += WARP) {
    int64_t col = column(a, p);
    bad = (uint64_t)col >= (uint64_t)a.ncols || (p > begin && column(a, p - 1) >= col);
  }
  if (bad) check->invalid = 1;
  unsigned long long length = (unsigned long long)(end - begin);
  if (lane_number() == 0 && length > *(volatile unsigned long long *)&check->longest) atomicMax(&check->longest, length);
}

extern "C" cudaError_t macko_check_device_csr(const macko_device_csr *a, macko_device_check *check, cudaStream_t stream)
{
  cudaError_t error = cudaMemsetAsync(check, 0, sizeof *check, stream);
  if (error) return error;
  return launch(check_kernel, blocks_for(a->nrows * WARP), ENCODE_THREADS, 0, stream, *a, check);
}

/* ---- row_ptr and cols ---- */

/* Writes row starts counted from 0, a thread a row, in the type of the section. */
static __global__ void row_ptr_kernel(macko_device_csr a, void *row_ptr, int type)
{
  int64_t i = thread_number();
  if (i > a.nrows) return;
  if (type == MACKO_I64) ((int64_t *)row_ptr)[i] = row_start(a, i);
  else ((int32_t *)row_ptr)[i] = (int32_t)row_start(a, i);
}

extern "C" cudaError_t macko_copy_row_ptr(const macko_device_csr *a, const macko_device_matrix *d, cudaStream_t stream)
{
  const macko_section *row_ptr = macko_find_section(&d->m, "row_ptr");
  return launch(row_ptr_kernel, blocks_for(a->nrows + 1), ENCODE_THREADS, 0, stream, *a, row_ptr->data, row_ptr->type);
}

/* Writes columns counted from 0, a thread an entry, in the type of the section. */
static __global__ void cols_kernel(macko_device_csr a, void *cols, int type)
{
  int64_t p = thread_number();
  if (p >= a.nnz) return;
  if (type == MACKO_I64) ((int64_t *)cols)[p] = column(a, p);
  else ((int32_t *)cols)[p] = (int32_t)column(a, p);
}

extern "C" cudaError_t macko_copy_indices(const macko_device_csr *a, const macko_device_matrix *d, cudaStream_t stream)
{
  const macko_section *cols = macko_find_section(&d->m, "cols");
  cudaError_t error = macko_copy_row_ptr(a, d, stream);
  if (error) return error;
  return launch(cols_kernel, blocks_for(a->nnz), ENCODE_THREADS, 0, stream, *a, cols->data, cols->type);
}
