/* The macko format on the GPU: prepares dictionaries and long rows, and hands each layout to its kernel. */
#include "macko/columns.cuh"

#include <stdlib.h>

/* Tables of dictionaries and stencils are made anew after every refresh; what depends on rows is made once, as new values leave the
 * rows as they are. */
extern "C" macko_status macko_columns_prepare(macko_device_matrix *d, const macko_matrix *host,
                                              cudaStream_t stream, macko_error *err)
{
  device_macko *own = (device_macko *)d->own;
  const int sliced = d->m.plan.layout == MACKO_LAYOUT_SLICE;
  if (!own) {
    if (!(own = (device_macko *)calloc(1, sizeof *own))) return macko_fail(err, MACKO_OUT_OF_MEMORY,
                                                                           "no memory for a device matrix");
    d->own = own;
    /* New values leave the rows as they are. */
    macko_status s = sliced ? macko_slices_longest(d, host, &own->longest, stream, err)
                            : macko_rows_prepare(d, &own->rows, host, stream, err);
    if (!s) s = macko_beside_space(d->m.ncols, &own->beside, err);
    if (s) return s;
    d->own_bytes = own->rows.bytes + own->rows.row_units.bytes + own->rows.space_bytes;
  }
  macko_status s = sliced ? macko_prepare_stencils(d, &own->stencils, stream, err) : MACKO_OK;
  return s ? s : macko_prepare_tables(&own->tables, d, host, stream, err);
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
  cudaFree(own->stencils.memory);
  cudaFree(own->stencils.own_masks);
  macko_work_space_free(own->beside);
  free(own);
}
