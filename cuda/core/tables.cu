/* Tables of dictionaries in the types of accumulators. */
#include "core/product.cuh"

/* Converts each entry of a dictionary, of the matrix's type, to the types in which kernels add up. Without this every lane
 * would convert at every look-up. */
static __global__ void convert_kernel(const void *dict, int type, int entries, double *as_f64, float *as_f32)
{
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= entries) return;
  double value = any_number(type, dict, i);
  as_f64[i] = value;
  if (as_f32) as_f32[i] = (float)value;
}

/* The memory is taken once and written anew after a refresh: graphs that were captured hold its address. A plan of another size
 * of table makes a new matrix. */
macko_status macko_prepare_tables(device_tables *t, macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream,
                                  macko_error *err)
{
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
