/* The sectors of x that slices of sorted rows ask for, counted in a sample of a csr in host memory. */
#include "macko/slice_apart.h"

#include "core/row_source.h"
#include "macko/slice_describe.h"

/* Counts the stretches of the window that begins with row `start`, which get numbers from `stretch` on. */
static void count_window(macko_sector_count *c, const macko_apart_sample *s, const macko_csr *a, int64_t start, int64_t rows,
                         int64_t stretch)
{
  uint16_t order[MACKO_SLICE_WINDOW];
  macko_sort_window(a, start, order);
  for (int part = 0; part < MACKO_APART_PARTS; part++) {
    int64_t first, past;
    macko_apart_stretch(s, rows, part, &first, &past);
    for (int64_t i = first; i < past; i++) {
      const int64_t begin = macko_csr_row(a, start + order[i]), end = macko_csr_row(a, start + order[i] + 1);
      macko_count_stretch(c, stretch + part, a, begin, end - begin < s->most ? end : begin + s->most);
    }
  }
}

/* Rows that cannot be had end the sample: the next pass over the rows tells why. */
double macko_host_sorted_sectors(void *findings)
{
  const macko_findings *found = findings;
  const macko_csr *csr = found->csr;
  const int64_t nnz = macko_found_nnz(found);
  const macko_stretches stretches = macko_stretches_of(csr->nrows, nnz, csr->value_type);
  const macko_apart_sample sample = macko_apart_sample_of(csr->nrows, nnz, csr->value_type);
  macko_sector_count c = {.key = macko_new_hash_key(), .columns = stretches.columns};
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_csr a;
  for (int64_t i = 0; i < sample.windows; i++) {
    const int64_t start = i * sample.step, left = csr->nrows - start, count = left < MACKO_SLICE_WINDOW ? left : MACKO_SLICE_WINDOW;
    if (macko_view_rows(rows, start, count, &room, &a, NULL)) break;
    count_window(&c, &sample, &a, start, count, i * MACKO_APART_PARTS + 1);
  }
  macko_free_assembly(&room);
  return macko_all_sectors(&stretches, c.entries, c.sectors, nnz, csr->ncols);
}
