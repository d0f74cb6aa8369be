/* The row_ptr and cols of a csr in device memory as sections. */
#include "core/device_csr.cuh"

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
