/* The macko format on the GPU: prepares dictionaries and long rows, and hands each layout to its kernel. */
#include "macko/columns.cuh"

#include <stdlib.h>

/* Every lane would convert at every look-up, so the table is converted once. */
static __global__ void convert_kernel(const void *dict, int type, int entries, double *as_f64, float *as_f32)
{
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= entries) return;
  double value = any_number(type, dict, i);
  as_f64[i] = value;
  if (as_f32) as_f32[i] = (float)value;
}

static macko_status prepare_table(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err)
{
  device_tables *t = &((device_macko *)d->own)->tables;
  int64_t entries = host->plan.table;
  int f32 = d->m.value_type != MACKO_F64;
  if (!entries) return MACKO_OK;
  if (!t->as_f64) {
    void *memory = NULL;
    macko_status s = macko_device_alloc(entries * (f32 ? 12 : 8), "the table of values", &memory, err);
    if (s) return s;
    d->own_bytes += entries * (f32 ? 12 : 8);
    t->as_f64 = (double *)memory;
    t->as_f32 = f32 ? (float *)(t->as_f64 + entries) : NULL;
  }
  return macko_cuda_status(launch(convert_kernel, (unsigned)((entries + 255) / 256), 256, 0, stream, macko_device_data(d, "dict"),
                                  d->m.value_type, (int)entries, t->as_f64, t->as_f32),
                           "converting the table of values", err);
}

extern "C" macko_status macko_columns_prepare(macko_device_matrix *d, const macko_matrix *host,
                                              cudaStream_t stream, macko_error *err)
{
  device_macko *own = (device_macko *)d->own;
  if (!own) {
    if (!(own = (device_macko *)calloc(1, sizeof *own))) return macko_fail(err, MACKO_OUT_OF_MEMORY,
                                                                           "no memory for a device matrix");
    d->own = own;
    /* New values leave the rows as they are. */
    macko_status s = d->m.plan.layout == MACKO_LAYOUT_SLICE ? MACKO_OK : macko_rows_prepare(d, &own->rows, host, stream, err);
    if (s) return s;
    d->own_bytes = own->rows.bytes + own->rows.near.bytes + own->rows.space_bytes;
  }
  return prepare_table(d, host, stream, err);
}

extern "C" macko_status macko_columns_multiply(const macko_device_matrix *d, const macko_product *p,
                                               cudaStream_t stream, macko_error *err)
{
  return d->m.plan.layout == MACKO_LAYOUT_SLICE ? macko_slices_multiply(d, p, stream, err) : macko_rows_multiply(d, p, stream,
                                                                                                                 err);
}

extern "C" void macko_columns_destroy(macko_device_matrix *d)
{
  device_macko *own = (device_macko *)d->own;
  if (!own) return;
  cudaFree(own->tables.as_f64);
  macko_rows_destroy(&own->rows);
  free(own);
}
