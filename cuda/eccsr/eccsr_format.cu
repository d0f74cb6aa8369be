/* Format eccsr on the GPU: what a matrix needs besides its sections, and products of types that have no kernels for runs of one
 * width. */
#include "eccsr/eccsr.cuh"
#include "eccsr/eccsr_device.h"
#include "eccsr/eccsr_parts.h"
#include "eccsr/eccsr_survey.h"

#include <stdlib.h>

/* Takes slices of runs of any width, of the given types or of types known at run time. */
template <int STORED, int VECTOR, typename SUM, int GROUP>
static __global__ void __launch_bounds__(THREADS) any_kernel(eccsr a, device_values values, device_vectors all)
{
  const device_vectors v = vectors_of_block<VECTOR, GROUP, 1>(all);
  __shared__ SUM shared_table[STORED == MACKO_U8 ? TABLE : 1];
  const SUM *table = share_table<STORED>(values, shared_table);
  take_slices<VECTOR, SUM, GROUP>(a, v, [&](const macko_eccsr_slice &s, const eccsr_lane &l, SUM *sum) {
    walk_any<STORED, VECTOR, SUM, GROUP>(a, values, table, v, s, l, sum);
  });
}

/* This is what run_product calls to start the kernel for its types. */
struct eccsr_launch {
  eccsr a;
  cudaStream_t stream;
  static constexpr int AT_ONCE = MACKO_DEVICE_AT_ONCE, RARE = MACKO_ANY;
  template <int STORED, int VECTOR, typename SUM, int GROUP>
  cudaError_t run(const device_values &values, const device_vectors &v) const
  {
    if constexpr (GROUP == 1 ? macko_eccsr_has_widths(STORED, VECTOR) : macko_eccsr_is_frequent(STORED, VECTOR)) {
      if constexpr (GROUP == 1 ? macko_eccsr_may_share(STORED, VECTOR) : macko_eccsr_is_frequent(STORED, VECTOR))
        if (a.parts.count) return macko_eccsr_run_split<STORED, VECTOR, SUM, GROUP>(a, values, v, stream);
      if (a.width) return macko_eccsr_run_width<STORED, VECTOR, SUM, GROUP>(a, values, v, stream);
      else return macko_eccsr_run_mixed<STORED, VECTOR, SUM, GROUP>(a, values, v, stream);
    } else
      return launch(any_kernel<STORED, VECTOR, SUM, GROUP>, dim3(blocks_for<STORED>(a), v.count), THREADS, 0, stream, a, values,
                    v);
  }
};

/* This is the longest row in runs: the gaps of a slice are numbered in 32 bits. */
enum { MOST_RUNS = 1 << 26 };

static macko_status check_runs(const macko_device_matrix *d, macko_error *err)
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&d->m.plan)->of.counts;
  if (c->longest <= MOST_RUNS) return MACKO_OK;
  return macko_fail(err, MACKO_LIMIT, "format eccsr on a GPU: a row of %lld runs of columns is longer than %d",
                    (long long)c->longest, MOST_RUNS);
}

/* Gives how many slices ahead warps look (fetch_ahead): as many as are taken at once, where the matrix is several times the cache.
 * What is in the cache anyhow, and runs of one column, would take up to a tenth longer. */
static int64_t slices_ahead(const macko_device_matrix *d, const macko_eccsr_counts *c)
{
  enum { CACHES = 4 };
  const macko_gpu *gpu = &((const device_eccsr *)d->own)->gpu;
  if (macko_eccsr_width(c) < 2 || d->bytes < CACHES * (int64_t)gpu->cache_bytes) return 0;
  return (int64_t)macko_eccsr_at_once(c, gpu->multiprocessors);
}

/* Gives what kernels take of a matrix without a variant. */
static eccsr slices_of(const macko_device_matrix *d)
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&d->m.plan)->of.counts;
  return {(const uint4 *)macko_device_data(d, "slices"), (const uint32_t *)macko_device_data(d, "gaps"),
          (const int32_t *)macko_device_data(d, "bases"), (const int32_t *)macko_device_data(d, "rows"),
          macko_device_data(d, "lengths"), macko_eccsr_length_bytes(c), macko_eccsr_width(c), c->masked > 0, c->slices,
          d->m.ncols, c->words, slices_ahead(d, c), ((const device_eccsr *)d->own)->parts};
}

/* Lists the parts of slices that warps share, if they do, once: new values change nothing there. */
static macko_status list_parts(macko_device_matrix *d, cudaStream_t stream, macko_error *err)
{
  device_eccsr *own = (device_eccsr *)d->own;
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&d->m.plan)->of.counts;
  const int64_t most = macko_eccsr_most_steps(c, d->m.nrows, d->m.nnz, own->gpu.multiprocessors);
  if (own->listed || !most || !macko_eccsr_may_share(d->m.plan.stored_type, d->m.value_type)) return MACKO_OK;
  const macko_status s = macko_eccsr_list_parts(slices_of(d), (uint32_t)most, stream, &own->parts, err);
  own->listed = !s;
  d->own_bytes += macko_eccsr_parts_bytes(&own->parts);
  return s;
}

/* Besides its sections a matrix needs tables of its dictionary, and what kernels of bundles ask of the GPU. */
extern "C" macko_status macko_eccsr_device_prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream,
                                                   macko_error *err)
{
  macko_status s = d->m.plan.variant ? macko_eccsr_bundles_check(d, err) : check_runs(d, err);
  if (s) return s;
  if (!d->own && !(d->own = calloc(1, sizeof(device_eccsr))))
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a device matrix");
  device_eccsr *own = (device_eccsr *)d->own;
  if (!d->m.plan.variant && !own->beside) s = macko_beside_space(d->m.ncols, &own->beside, err);
  if (s) return s;
  s = macko_ask_gpu(d->device, &own->gpu, err);
  if (!s && !d->m.plan.variant) s = list_parts(d, stream, err);
  if (s) return s;
  return macko_prepare_tables(&own->tables, d, host, stream, err);
}

/* The plan tells how runs are, and so which kernel takes them. */
extern "C" macko_status macko_eccsr_device_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                                    macko_error *err)
{
  if (d->m.plan.variant) return macko_eccsr_bundles_multiply(d, p, stream, err);
  const macko_eccsr_counts *c = &macko_eccsr_params_of(&d->m.plan)->of.counts;
  const eccsr a = slices_of(d);
  const int grouped = goes_in_groups(c->longest * (a.width ? a.width : 1), d->m.nnz);
  const macko_product rest = product_after(p, grouped ? macko_eccsr_multiply_beside(a, d, p, stream) : 0);
  return rest.k ? run_product(eccsr_launch{a, stream}, d, &rest, grouped, err) : MACKO_OK;
}

extern "C" void macko_eccsr_device_destroy(macko_device_matrix *d)
{
  device_eccsr *own = (device_eccsr *)d->own;
  if (!own) return;
  cudaFree(own->tables.as_f64);
  macko_eccsr_free_parts(&own->parts);
  macko_work_space_free(own->beside);
  free(own);
}
