/* Variants paper and shared of format eccsr read back: their sections, rows in the order of their columns, decode to CSR. */
#include "eccsr/eccsr_paper.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = MACKO_ECCSR_BUNDLE };

/* Sections are found by name once, not for every block. */
macko_eccsr_paper_reader macko_eccsr_paper_open(const macko_matrix *m)
{
  macko_eccsr_paper_reader r = {.bits = m->plan.gap_bits, .lanes = macko_eccsr_paper_counts_of(&m->plan)->lanes, .nrows = m->nrows};
  r.bundles = macko_section_data(m, "bundles"), r.rows = macko_section_data(m, "rows");
  r.masks = macko_section_data(m, "masks"), r.granules = macko_section_data(m, "granules");
  r.bases = macko_section_data(m, "bases"), r.gaps = macko_section_data(m, "gaps");
  return r;
}

/* Codes of a granule fill whole words, so that the division leaves nothing. */
int macko_eccsr_paper_sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_eccsr_paper_counts *c = macko_eccsr_paper_counts_of(&m->plan);
  int n = 0;
  list[n++] = macko_pattern_section("bundles", MACKO_I64, 3 * (macko_eccsr_bundles(m->nrows) + 1));
  list[n++] = macko_pattern_section("rows", MACKO_I32, m->nrows);
  list[n++] = macko_pattern_section("masks", MACKO_U16, c->blocks);
  list[n++] = macko_pattern_section("granules", MACKO_U32, c->blocks);
  list[n++] = macko_pattern_section("bases", MACKO_I32, c->blocks * c->lanes);
  list[n++] = macko_pattern_section("gaps", MACKO_U32, c->granules * macko_eccsr_granule(c->lanes) * m->plan.gap_bits / 32);
  return macko_list_values(m, c->rows * macko_eccsr_granule(c->lanes), list, n);
}

/* ---- rows ---- */

/* Blocks have columns in their own order only, so that the row has a place in each of its blocks at once. Those without an entry
 * are left out. */
void macko_eccsr_open_row(const macko_eccsr_paper_reader *r, int64_t bundle, int bit, macko_eccsr_row_reader *row)
{
  macko_eccsr_paper_block block = {0};
  row->count = 0;
  for (int64_t b = r->bundles[3 * bundle]; b < r->bundles[3 * bundle + 3]; b++) {
    const int n = row->count;
    macko_eccsr_next_block(r, bundle, b, &block);
    if (!(block.mask >> bit & 1)) continue;
    row->block[n] = block, row->row[n] = macko_eccsr_row_of_block(block.mask, bit);
    row->at[n] = macko_eccsr_open_block(r, &block);
    if (macko_eccsr_next_entry(r, &block, &row->at[n])) row->count++;
  }
}

/* Takes the least column among the places. A block that has come to its end is replaced by the last one; the order of blocks does
 * not matter here. */
int macko_eccsr_next_of_row(const macko_eccsr_paper_reader *r, macko_eccsr_row_reader *row)
{
  int first = 0;
  if (row->count == 0) return 0;
  for (int k = 1; k < row->count; k++)
    if (row->at[k].col < row->at[first].col) first = k;
  row->col = row->at[first].col;
  row->slot = macko_eccsr_value_slot(r, &row->block[first], row->row[first], row->at[first].slot);
  if (macko_eccsr_next_entry(r, &row->block[first], &row->at[first])) return 1;
  row->count--;
  row->block[first] = row->block[row->count], row->at[first] = row->at[row->count], row->row[first] = row->row[row->count];
  return 1;
}

/* ---- decode ---- */

/* Decodes row number `bit` of a bundle to elements from `at` on; cols and values may be NULL. */
static void decode_row(const macko_matrix *m, const macko_eccsr_paper_reader *r, int64_t bundle, int bit, int64_t at, int64_t *cols,
                       void *values)
{
  const macko_value_stream v = macko_stream_of(m);
  macko_eccsr_row_reader row;
  macko_eccsr_open_row(r, bundle, bit, &row);
  for (; macko_eccsr_next_of_row(r, &row); at++) {
    if (cols) cols[at] = row.col;
    if (values) macko_read_values(&m->plan, m->value_type, &v, row.slot, 1, 1, values, at);
  }
}

/* All places of the order are looked at, as rows that are wanted may be in any bundle. */
void macko_eccsr_paper_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols,
                                   void *values)
{
  const macko_eccsr_paper_reader r = macko_eccsr_paper_open(m);
  for (int64_t i = 0; (cols || values) && i < m->nrows; i++)
    if (r.rows[i] >= first && r.rows[i] < past)
      decode_row(m, &r, i / ROWS, (int)(i % ROWS), starts[r.rows[i]] - starts[first], cols, values);
}

/* Adds the entries of every row of a bundle to the element behind it, row_ptr[row + 1]: a block has as many of each of its rows
 * as it has slots with an entry. */
static void count_bundle(const macko_eccsr_paper_reader *r, int64_t bundle, int64_t *row_ptr)
{
  const int64_t granule = macko_eccsr_granule(r->lanes);
  macko_eccsr_paper_block block = {0};
  for (int64_t b = r->bundles[3 * bundle]; b < r->bundles[3 * bundle + 3]; b++) {
    int64_t entries = 0;
    macko_eccsr_next_block(r, bundle, b, &block);
    for (int64_t k = 0, first = block.codes * granule; k < block.granules * granule; k++)
      entries += macko_eccsr_paper_code(r, first + k) != macko_eccsr_no_entry(r->bits);
    for (uint32_t rows = block.mask; rows; rows &= rows - 1) row_ptr[r->rows[bundle * ROWS + __builtin_ctz(rows)] + 1] += entries;
  }
}

/* Entries are counted first, as the sections have no row starts. */
macko_status macko_eccsr_paper_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  const macko_eccsr_paper_reader r = macko_eccsr_paper_open(m);
  int64_t *starts = row_ptr ? row_ptr : malloc((size_t)(m->nrows + 1) * sizeof *starts);
  if (!starts) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld rows", (long long)m->nrows);
  memset(starts, 0, (size_t)(m->nrows + 1) * sizeof *starts);
  for (int64_t i = 0; i < macko_eccsr_bundles(m->nrows); i++) count_bundle(&r, i, starts);
  for (int64_t i = 0; i < m->nrows; i++) starts[i + 1] += starts[i];
  macko_eccsr_paper_decode_rows(m, starts, 0, m->nrows, cols, values);
  if (starts != row_ptr) free(starts);
  return MACKO_OK;
}
