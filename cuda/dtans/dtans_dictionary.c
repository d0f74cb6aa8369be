/* Format dtans encoded on the GPU: the dictionary of values beside gaps, whose codes go by the order in which the host would meet
 * them. */
#include "dtans/dtans_encode.h"

#include "values/codecs.h"

#include <stdlib.h>

typedef struct {
  unsigned long long first; /* place of the stream where the value appears first */
  int place; /* among the sorted values */
} appearance;

/* This is the order for qsort: rising places, which all differ. */
static int by_first(const void *a, const void *b)
{
  unsigned long long x = ((const appearance *)a)->first, y = ((const appearance *)b)->first;
  return (x > y) - (x < y);
}

typedef struct {
  unsigned long long *first; /* of each sorted value, where it appears first */
  void *sorted;              /* the bits of the values, copied from the device */
  appearance *order;         /* the values in the order of their appearance */
  uint16_t *codes;           /* of each sorted value */
} host_room;

/* Takes host memory for so many values. The caller frees the four arrays also after a failure. */
static macko_status open_room(int count, host_room *r, macko_error *err)
{
  size_t n = (size_t)count;
  *r = (host_room){malloc(n * sizeof *r->first), malloc(n * 8), malloc(n * sizeof *r->order), malloc(n * sizeof *r->codes)};
  if (r->first && r->sorted && r->order && r->codes) return MACKO_OK;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary of %d values", count);
}

/* Copies to the host where each value appears first, and the values, of `bytes` bytes each. Waits for the stream. */
static macko_status fetch(const macko_dtans_dictionary *d, int bytes, const host_room *r, cudaStream_t stream, macko_error *err)
{
  size_t n = (size_t)d->count;
  cudaError_t error = cudaMemcpyAsync(r->first, d->first, n * sizeof *r->first, cudaMemcpyDeviceToHost, stream);
  if (!error) error = cudaMemcpyAsync(r->sorted, d->sorted, n * (size_t)bytes, cudaMemcpyDeviceToHost, stream);
  if (!error) error = cudaStreamSynchronize(stream);
  return macko_cuda_status(error, "collecting values", err);
}

/* Numbers the values in the order of their first appearance: codes by the place among the sorted values, and dict, of the
 * matrix's type, by code. */
static void order_values(const host_room *r, int count, int bytes, macko_type type, void *dict)
{
  for (int i = 0; i < count; i++) r->order[i] = (appearance){r->first[i], i};
  qsort(r->order, (size_t)count, sizeof *r->order, by_first);
  for (int i = 0; i < count; i++) {
    int place = r->order[i].place;
    r->codes[place] = (uint16_t)i;
    macko_put_bits(type, dict, i, bytes == 8 ? ((uint64_t *)r->sorted)[place] : ((uint32_t *)r->sorted)[place]);
  }
}

/* The values' kernel first only looks where each value appears, without writing any; what it found is sorted on the host, as
 * there are few values. */
macko_status macko_dtans_fill_dictionary(const macko_csr *a, const macko_dtans_job *job, const macko_dtans_found *found,
                                         void *memory, macko_dtans_dictionary *d, void *dict, cudaStream_t stream,
                                         macko_error *err)
{
  size_t n = (size_t)found->distinct_count;
  host_room r;
  *d = (macko_dtans_dictionary){found->distinct, (int)n, memory, (uint16_t *)(void *)((unsigned long long *)memory + n)};
  macko_status s = open_room((int)n, &r, err);
  if (!s) s = macko_cuda_status(cudaMemsetAsync(memory, 0xff, n * sizeof *d->first, stream), "collecting values", err);
  if (!s) s = macko_dtans_values_device(a, job, d, MACKO_U16, NULL, stream, err);
  if (!s) s = fetch(d, found->distinct_bytes, &r, stream, err);
  if (!s) {
    order_values(&r, (int)n, found->distinct_bytes, a->value_type, dict);
    cudaError_t error = cudaMemcpyAsync((void *)d->codes, r.codes, n * sizeof *r.codes, cudaMemcpyHostToDevice, stream);
    if (!error) error = cudaStreamSynchronize(stream);
    s = macko_cuda_status(error, "copying a dictionary", err);
  }
  free(r.first), free(r.sorted), free(r.order), free(r.codes);
  return s;
}
