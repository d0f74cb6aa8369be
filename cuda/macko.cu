/* The macko format on the GPU: prepares dictionaries, and hands each layout to its kernel. */
#include "product.cuh"

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

static macko_status prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err)
{
  int64_t entries = host->plan.table;
  device_tables *t = (device_tables *)d->own;
  if (!entries) return MACKO_OK;
  int f32 = d->m.value_type != MACKO_F64;
  if (!t) {
    void *memory = NULL;
    if (!(t = (device_tables *)calloc(1, sizeof *t))) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a table of values");
    d->own = t;
    d->own_bytes = entries * (f32 ? 12 : 8);
    macko_status s = macko_device_alloc(d->own_bytes, "the table of values", &memory, err);
    if (s) return s;
    t->as_f64 = (double *)memory;
    t->as_f32 = f32 ? (float *)(t->as_f64 + entries) : NULL;
  }
  convert_kernel<<<(unsigned)((entries + 255) / 256), 256, 0, stream>>>(macko_device_data(d, "dict"), d->m.value_type, (int)entries,
                                                                        t->as_f64, t->as_f32);
  return macko_cuda_status(cudaGetLastError(), "converting the table of values", err);
}

static macko_status multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  return d->m.plan.layout == MACKO_LAYOUT_SLICE ? macko_slices_multiply(d, p, stream, err) : macko_rows_multiply(d, p, stream, err);
}

static void destroy(macko_device_matrix *d)
{
  device_tables *t = (device_tables *)d->own;
  if (t) cudaFree(t->as_f64);
  free(t);
}

extern "C" const macko_device_ops macko_macko_device_ops = {prepare, multiply, destroy};
