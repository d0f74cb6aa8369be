/* Variants paper and shared of format eccsr checked: no number of a bundle, mask, row or gap leads outside the arrays. */
#include "eccsr/eccsr_paper.h"

#include <stdlib.h>

enum { ROWS = MACKO_ECCSR_BUNDLE };

/* Checks the parameters: the format has such widths and lanes, and sizes of arrays can be computed from the counts without
 * overflow. */
static macko_status validate_plan(const macko_matrix *m, macko_error *err)
{
  const int bits = m->plan.gap_bits;
  const int64_t most = INT64_MAX / 64 / (MACKO_ECCSR_MOST_SLOTS * 8);
  const macko_eccsr_paper_counts *c = macko_eccsr_paper_counts_of(&m->plan);
  if (bits != 4 && bits != 8 && bits != 16 && bits != 32)
    return macko_fail(err, MACKO_CORRUPT, "gaps of %d bits are not of 4, 8, 16 or 32", bits);
  if (c->lanes < 2 || c->lanes > MACKO_ECCSR_MOST_LANES || c->lanes & (c->lanes - 1))
    return macko_fail(err, MACKO_CORRUPT, "%lld lanes are not 2, 4, 8, 16 or 32", (long long)c->lanes);
  if (m->ncols > INT32_MAX || m->nrows > INT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "format eccsr holds at most %d rows and columns, not %lld x %lld", INT32_MAX,
                      (long long)m->nrows, (long long)m->ncols);
  if (c->blocks < 0 || c->blocks > most || c->granules < 0 || c->granules > most || c->rows < 0 || c->rows > most)
    return macko_fail(err, MACKO_CORRUPT, "%lld blocks, %lld granules of codes and %lld of values cannot be in memory",
                      (long long)c->blocks, (long long)c->granules, (long long)c->rows);
  return macko_check_codec(m, err);
}

/* Checks that section "rows" names every row once. */
static macko_status validate_order(const macko_matrix *m, macko_error *err)
{
  const int32_t *rows = macko_section_data(m, "rows");
  uint8_t *seen = calloc((size_t)m->nrows / 8 + 1, 1);
  macko_status s = MACKO_OK;
  if (!seen) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to check %lld rows", (long long)m->nrows);
  for (int64_t i = 0; i < m->nrows && !s; i++) {
    if (rows[i] < 0 || rows[i] >= m->nrows || seen[rows[i] / 8] >> rows[i] % 8 & 1)
      s = macko_fail(err, MACKO_CORRUPT, "row number %lld is %d, which is not there or was before", (long long)i, rows[i]);
    else seen[rows[i] / 8] |= (uint8_t)(1 << rows[i] % 8);
  }
  free(seen);
  return s;
}

/* Checks that the numbers of bundle i are those that come of the blocks before it, that its blocks have rows of its own, and at
 * least one granule each, and that there are no more of them than extraction makes, for which readers have room. *at counts
 * on. */
static macko_status validate_bundle(const macko_eccsr_paper_reader *r, int64_t i, const macko_eccsr_paper_counts *all,
                                    macko_eccsr_paper_counts *at, macko_error *err)
{
  const int64_t *own = r->bundles + 3 * i;
  const uint32_t rows = (1u << macko_eccsr_bundle_rows(r, i)) - 1;
  if (own[0] != at->blocks || own[1] != at->granules || own[2] != at->rows || own[3] < own[0] || own[3] > all->blocks ||
      own[3] - own[0] > MACKO_ECCSR_BLOCKS)
    return macko_fail(err, MACKO_CORRUPT, "bundle %lld begins at block %lld, granules %lld and %lld, and ends before block %lld; "
                                          "it should begin at %lld, %lld and %lld, and has at most %d of the %lld blocks",
                      (long long)i, (long long)own[0], (long long)own[1], (long long)own[2], (long long)own[3],
                      (long long)at->blocks, (long long)at->granules, (long long)at->rows, MACKO_ECCSR_BLOCKS,
                      (long long)all->blocks);
  /* A block has at least one row and one granule, and its rows are rows of the bundle, which may have fewer than sixteen. */
  for (int64_t b = own[0]; b < own[3]; b++) {
    const uint32_t mask = r->masks[b], granules = r->granules[b];
    if (!mask || mask & ~rows || !granules || granules > all->granules - at->granules)
      return macko_fail(err, MACKO_CORRUPT, "block %lld of bundle %lld has rows %04x of %04x and %u granules of the %lld left",
                        (long long)b, (long long)i, mask, rows, granules, (long long)(all->granules - at->granules));
    at->granules += granules, at->rows += (int64_t)granules * __builtin_popcount(mask);
  }
  at->blocks = own[3];
  return MACKO_OK;
}

/* Checks that the columns of the row at place i rise within the matrix, whatever blocks they are in, and adds its entries to
 * *entries. It reads the row as decode does. */
static macko_status validate_row(const macko_eccsr_paper_reader *r, int64_t i, int64_t ncols, int64_t *entries, macko_error *err)
{
  macko_eccsr_row_reader row;
  int64_t before = -1;
  macko_eccsr_open_row(r, i / ROWS, (int)(i % ROWS), &row);
  for (; macko_eccsr_next_of_row(r, &row); before = row.col, ++*entries)
    if (row.col <= before || row.col >= ncols)
      return macko_fail(err, MACKO_CORRUPT, "row %d has column %lld behind column %lld; the matrix has %lld", r->rows[i],
                        (long long)row.col, (long long)before, (long long)ncols);
  return MACKO_OK;
}

/* Every check stands on those before it: bundles are read by the sections' lengths, rows by the bundles. */
macko_status macko_eccsr_paper_validate(const macko_matrix *m, macko_error *err)
{
  const macko_eccsr_paper_counts *all = macko_eccsr_paper_counts_of(&m->plan);
  const int64_t bundles = macko_eccsr_bundles(m->nrows);
  macko_eccsr_paper_counts at = {0, 0, 0, 0};
  int64_t entries = 0;
  macko_status s = validate_plan(m, err);
  if (!s) s = macko_check_sections(m, err);
  if (!s) s = validate_order(m, err);
  if (s) return s;
  /* Rows are read only once it is known that all blocks are inside the sections. */
  const macko_eccsr_paper_reader r = macko_eccsr_paper_open(m);
  for (int64_t i = 0; i < bundles && !s; i++) s = validate_bundle(&r, i, all, &at, err);
  const int64_t *ends = r.bundles + 3 * bundles;
  if (!s && (at.blocks != all->blocks || at.granules != all->granules || at.rows != all->rows || ends[0] != at.blocks ||
             ends[1] != at.granules || ends[2] != at.rows))
    s = macko_fail(err, MACKO_CORRUPT, "the bundles have %lld blocks, %lld granules of codes and %lld of values; the plan says "
                                       "%lld, %lld and %lld, their ends %lld, %lld and %lld",
                   (long long)at.blocks, (long long)at.granules,
                   (long long)at.rows, (long long)all->blocks, (long long)all->granules, (long long)all->rows, (long long)ends[0],
                   (long long)ends[1], (long long)ends[2]);
  for (int64_t i = 0; i < m->nrows && !s; i++) s = validate_row(&r, i, m->ncols, &entries, err);
  if (!s && entries != m->nnz)
    s = macko_fail(err, MACKO_CORRUPT, "the blocks hold %lld entries, the matrix %lld", (long long)entries, (long long)m->nnz);
  return s ? s : macko_check_codes(m, err);
}
