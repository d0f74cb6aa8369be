/* The sectors of x that slices of sorted rows ask for, counted in a sample of a csr in host memory, and those that slices find in
 * the caches of a GPU. */
#include "macko/slice_apart.h"

#include "core/cost.h"
#include "macko/slice_describe.h"

/* As a macko_count_range this counts the stretches of a window; context is the sample. */
static void count_window(macko_sector_count *c, const macko_csr *a, int64_t start, int64_t end, int64_t i, const void *context)
{
  const macko_apart_sample *s = context;
  uint16_t order[MACKO_SLICE_WINDOW];
  macko_sort_window(a, start, order);
  for (int part = 0; part < MACKO_APART_PARTS; part++) {
    int64_t first, past;
    macko_apart_stretch(s, end - start, part, &first, &past);
    for (int64_t at = first; at < past; at++) {
      const int64_t row = start + order[at], begin = macko_csr_row(a, row), left = macko_csr_row(a, row + 1) - begin;
      macko_count_stretch(c, i * MACKO_APART_PARTS + part + 1, a, begin, begin + (left < s->most ? left : s->most));
    }
  }
}

double macko_host_sorted_sectors(void *findings)
{
  const macko_findings *found = findings;
  const macko_csr *csr = found->csr;
  const int64_t nnz = macko_found_nnz(found);
  const macko_stretches stretches = macko_stretches_of(csr->nrows, nnz, csr->value_type);
  const macko_apart_sample s = macko_apart_sample_of(csr->nrows, nnz, csr->value_type);
  return macko_sample_sectors(findings, &stretches, s.windows, s.step, MACKO_SLICE_WINDOW, count_window, &s);
}

double macko_slice_spared(const macko_facts *f, const macko_options *options)
{
  const int columns = macko_stretches_of(f->csr->nrows, f->nnz, f->csr->value_type).columns;
  const double share = macko_share_found(columns, f->csr->ncols);
  if (options->target != MACKO_TARGET_GPU || macko_type_bytes(f->csr->value_type) < 4 || !f->sectors || share == 0) return 0;
  return macko_cost_of(options)->sector * share * macko_sectors_again(f->sectors(f->context), columns, f->csr->ncols);
}
