/* Format dtans on the GPU: decodes inside the multiply. A lane's sum is written once, at the end of its row. */
#include "dtans/dtans_encode.h"
#include "dtans/dtans_launch.cuh"

#include <stdlib.h>

/* Describes the matrix to the kernels, which take it by value, and hands the product to the file that has kernels for its kind
 * of streams. */
extern "C" macko_status macko_dtans_device_multiply(const macko_device_matrix *d, const macko_product *p,
                                                    cudaStream_t stream, macko_error *err)
{
  const macko_dtans_device *own = (const macko_dtans_device *)d->own;
  const macko_section *slices = macko_find_section(&d->m, "slices"), *lengths = macko_find_section(&d->m, "lengths");
  const macko_section *value_slices = macko_find_section(&d->m, "value_slices");
  int64_t rows = (int64_t)own->rows * WARP;
  dtans_matrix a = {};
  a.words[0] = (const uint32_t *)macko_device_data(d, "stream"), a.words[1] = (const uint32_t *)macko_device_data(d,
                                                                                                                  "value_stream");
  a.slices[0] = slices->data, a.slices_type[0] = slices->type;
  if (value_slices) a.slices[1] = value_slices->data, a.slices_type[1] = value_slices->type;
  a.lengths = lengths->data, a.length_bytes = (int)macko_type_bytes(lengths->type);
  a.value_type = d->m.value_type, a.rows = own->rows;
  a.longest = own->longest < INT32_MAX ? (int)own->longest : INT32_MAX;
  a.relative = own->relative ? ~0u : 0, a.groups = own->groups, a.value = own->value;
  a.nrows = d->m.nrows, a.count = (d->m.nrows + rows - 1) / rows;
  for (int i = 0; i < own->tables; i++)
    a.table[i] = {(const uint4 *)((const char *)own->memory + own->table[i].ids),
                  (const macko_dtans_entry *)((const char *)own->memory + own->table[i].entries), own->table[i].symbols,
                  own->table[i].escape, (int)macko_dtans_id_bytes(own), own->shift};
  macko_gpu gpu = {};
  cudaError_t error = cudaSuccess;
  macko_status s = macko_ask_gpu(d->device, &gpu, err);
  if (s) return s;
  /* A dictionary's table is read as it is stored: such values are not the ones this format is fast on. */
  device_values values = {macko_device_data(d, "values"), macko_device_data(d, "dict"), d->m.plan.stored_type, d->m.value_type,
                          (int)d->m.plan.table};
  dtans_launch to_run = {a, values, p, stream, gpu.multiprocessors, gpu.shared_bytes, &error};
  if (own->kind == MACKO_DTANS_JOINT) macko_dtans_run_joint(to_run, own);
  else if (own->kind == MACKO_DTANS_BESIDE) macko_dtans_run_beside(to_run, own);
  else macko_dtans_run_split(to_run, own);
  return macko_cuda_status(error, "starting a multiply", err);
}

extern "C" void macko_dtans_device_destroy(macko_device_matrix *d)
{
  macko_dtans_device *own = (macko_dtans_device *)d->own;
  if (!own) return;
  cudaFree(own->memory);
  free(own->image);
  free(own);
}

/* Fails with UNSUPPORTED where the tables do not fit a block's shared memory: some GPUs have 99 KB of it, others 227. It is
 * asked for sums in f64, whose entries are largest, so that no later product fails. */
static macko_status check_shared_memory(const macko_dtans_device *own, int device, macko_error *err)
{
  dtans_matrix a = {};
  int bytes, there = 0;
  if (own->digits == MACKO_DTANS_EQUAL) return MACKO_OK;
  for (int i = 0; i < own->tables; i++)
    a.table[i].symbols = own->table[i].symbols, a.table[i].id_bytes = (int)macko_dtans_id_bytes(own);
  if (own->kind == MACKO_DTANS_JOINT) bytes = tables_of<MACKO_DTANS_JOINT, double, MACKO_DTANS_ANY>::bytes(a);
  else if (own->kind == MACKO_DTANS_BESIDE) bytes = tables_of<MACKO_DTANS_BESIDE, double, MACKO_DTANS_ANY>::bytes(a);
  else bytes = tables_of<MACKO_DTANS_SPLIT, double, MACKO_DTANS_ANY>::bytes(a);
  macko_status s = macko_cuda_status(cudaDeviceGetAttribute(&there, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                                     "asking what the GPU has", err);
  if (s || bytes <= there) return s;
  return macko_fail(err, MACKO_UNSUPPORTED,
                    "format dtans: the tables of this matrix take %d bytes of shared memory, a block of GPU %d has %d", bytes,
                    device, there);
}

/* The image stays on the host until the matrix is freed, as nothing says when the copy has been made. */
extern "C" macko_status macko_dtans_prepare_tables(macko_device_matrix *d, const macko_matrix *tables, cudaStream_t stream,
                                                   macko_error *err)
{
  macko_dtans_device *own = (macko_dtans_device *)calloc(1, sizeof *own);
  if (!own) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a device matrix");
  d->own = own, d->ops = &macko_dtans_device_ops;
  macko_status s = macko_dtans_open_device(tables, own, err);
  if (!s) s = check_shared_memory(own, d->device, err);
  if (!s) s = macko_device_alloc(own->bytes, "the tables of symbols", &own->memory, err);
  if (s) return s;
  d->own_bytes = own->bytes;
  return macko_cuda_status(cudaMemcpyAsync(own->memory, own->image, (size_t)own->bytes, cudaMemcpyHostToDevice, stream),
                           "copying the tables of symbols", err);
}

/* Kernels trust what they read, so that everything is decoded once on the host, unless it was encoded here. A refresh leaves
 * the tables alone, because new values reach a matrix that is already here only in the sections beside its streams. */
extern "C" macko_status macko_dtans_device_prepare(macko_device_matrix *d, const macko_matrix *host,
                                                   cudaStream_t stream, macko_error *err)
{
  if (d->own) return MACKO_OK;
  macko_status s = macko_validate(host, err);
  return s ? s : macko_dtans_prepare_tables(d, host, stream, err);
}
