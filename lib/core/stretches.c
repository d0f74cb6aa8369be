/* The sectors of x that entries ask for, counted in a sample of the rows of a csr in host memory. */
#include "core/stretches.h"

#include "core/row_source.h"

/* Counts one entry of that stretch, and its sector if no entry of the stretch before had it. */
static void count_entry(macko_sector_count *c, int64_t stretch, int64_t sector)
{
  uint32_t slot = macko_sector_slot(c->key, sector);
  while (c->stretch[slot] == stretch && c->sector[slot] != sector) slot = (slot + 1) & (MACKO_SECTOR_SLOTS - 1);
  c->sectors += c->stretch[slot] != stretch;
  c->stretch[slot] = stretch, c->sector[slot] = sector;
  c->entries++;
}

void macko_count_stretch(macko_sector_count *c, int64_t stretch, const macko_csr *a, int64_t begin, int64_t end)
{
  for (int64_t p = begin; p < end; p++) count_entry(c, stretch, macko_csr_col(a, p) / c->columns);
}

/* Rows that cannot be had end the sample: the next pass over the rows tells why. */
double macko_host_sectors(void *findings)
{
  const macko_findings *found = findings;
  const macko_csr *csr = found->csr;
  const int64_t nnz = macko_found_nnz(found);
  const macko_stretches sample = macko_stretches_of(csr->nrows, nnz, csr->value_type);
  macko_sector_count c = {.key = macko_new_hash_key(), .columns = sample.columns};
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_csr a;
  for (int64_t i = 0; i < sample.count; i++) {
    const int64_t first = i * sample.step, left = csr->nrows - first, count = left < sample.rows ? left : sample.rows;
    if (macko_view_rows(rows, first, count, &room, &a, NULL)) break;
    const int64_t begin = macko_csr_row(&a, first), end = macko_csr_row(&a, first + count);
    macko_count_stretch(&c, i + 1, &a, begin, end - begin < MACKO_STRETCH ? end : begin + MACKO_STRETCH);
  }
  macko_free_assembly(&room);
  return macko_all_sectors(&sample, c.entries, c.sectors, nnz, csr->ncols);
}
