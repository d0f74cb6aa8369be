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
double macko_sample_sectors(void *findings, const macko_stretches *s, int64_t count, int64_t step, int64_t rows,
                            macko_count_range *count_range, const void *context)
{
  const macko_findings *found = findings;
  const macko_csr *csr = found->csr;
  macko_sector_count c = {.key = macko_new_hash_key(), .columns = s->columns};
  macko_rows whole, *source = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_csr a;
  for (int64_t i = 0; i < count; i++) {
    const int64_t first = i * step, left = csr->nrows - first, here = left < rows ? left : rows;
    if (macko_view_rows(source, first, here, &room, &a, NULL)) break;
    count_range(&c, &a, first, first + here, i, context);
  }
  macko_free_assembly(&room);
  return macko_all_sectors(s, c.entries, c.sectors, macko_found_nnz(found), csr->ncols);
}

/* As a macko_count_range this counts a stretch. */
static void count_rows(macko_sector_count *c, const macko_csr *a, int64_t first, int64_t past, int64_t i, const void *context)
{
  const int64_t begin = macko_csr_row(a, first), end = macko_csr_row(a, past);
  (void)context;
  macko_count_stretch(c, i + 1, a, begin, end - begin < MACKO_STRETCH ? end : begin + MACKO_STRETCH);
}

/* They are counted once, as several forms ask for them. */
double macko_host_sectors(void *findings)
{
  macko_findings *found = findings;
  const macko_stretches s = macko_stretches_of(found->csr->nrows, macko_found_nnz(found), found->csr->value_type);
  if (!found->sectors_known)
    found->sectors = macko_sample_sectors(findings, &s, s.count, s.step, s.rows, count_rows, NULL), found->sectors_known = 1;
  return found->sectors;
}
