/* The sectors of x that entries ask for, counted in a sample of the rows of a csr in host memory. */
#include "core/stretches.h"

#include "core/row_source.h"

/* This is a count under way. A slot holds the number of a sector and of the stretch, from 1, that has put it there. */
typedef struct {
  macko_stretches sample;
  macko_hash_key key;
  int64_t sector[MACKO_SECTOR_SLOTS], stretch[MACKO_SECTOR_SLOTS];
  int64_t entries, sectors;
} counting;

/* Counts one entry of that stretch, and its sector if no entry of the stretch before had it. */
static void count_entry(counting *c, int64_t stretch, int64_t sector)
{
  uint32_t slot = macko_sector_slot(c->key, sector);
  while (c->stretch[slot] == stretch && c->sector[slot] != sector) slot = (slot + 1) & (MACKO_SECTOR_SLOTS - 1);
  c->sectors += c->stretch[slot] != stretch;
  c->stretch[slot] = stretch, c->sector[slot] = sector;
  c->entries++;
}

/* Counts the entries of rows first .. past - 1, which are a stretch. */
static void count_stretch(counting *c, int64_t stretch, const macko_csr *a, int64_t first, int64_t past)
{
  const int64_t begin = macko_csr_row(a, first);
  int64_t end = macko_csr_row(a, past);
  if (end - begin > MACKO_STRETCH) end = begin + MACKO_STRETCH;
  for (int64_t p = begin; p < end; p++) count_entry(c, stretch, macko_csr_col(a, p) / c->sample.columns);
}

/* Rows that cannot be had end the sample: the next pass over the rows tells why. */
double macko_host_sectors(void *findings)
{
  const macko_findings *found = findings;
  const macko_csr *csr = found->csr;
  const int64_t nnz = macko_found_nnz(found);
  counting c = {.sample = macko_stretches_of(csr->nrows, nnz, csr->value_type), .key = macko_new_hash_key()};
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_csr a;
  for (int64_t i = 0; i < c.sample.count; i++) {
    const int64_t first = i * c.sample.step, left = csr->nrows - first, count = left < c.sample.rows ? left : c.sample.rows;
    if (macko_view_rows(rows, first, count, &room, &a, NULL)) break;
    count_stretch(&c, i + 1, &a, first, first + count);
  }
  macko_free_assembly(&room);
  return macko_all_sectors(&c.sample, c.entries, c.sectors, nnz, csr->ncols);
}
