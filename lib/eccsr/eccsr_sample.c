/* What planning asks about blocks of rows, counted in some of the windows of a matrix in host memory. */
#include "eccsr/eccsr.h"

#include <string.h>

/* Adds `count` rows of equal columns from `row` on to the sample. More of them than a block takes say nothing of how many rows
 * blocks should have, as they can be cut in any way. */
static void count_rows(const macko_csr *a, int64_t row, int count, macko_eccsr_sampled *c)
{
  const int64_t p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p;
  const int pieces = (count + MACKO_ECCSR_MOST_EQUAL - 1) / MACKO_ECCSR_MOST_EQUAL, width = macko_eccsr_widest_run(a, p, n);
  if (n == 0) return;
  if (count <= MACKO_ECCSR_MOST_EQUAL) c->rows[count] += (uint64_t)(n * count);
  c->run[width] += (uint64_t)(n * count);
  c->entries += (uint64_t)(n * count), c->blocks += (uint64_t)pieces;
  c->runs += (uint64_t)(pieces * (n / width)), c->reads += (uint64_t)(pieces * n);
}

/* Adds groups of b rows of a window of so many rows from `first` on, for every b that the nrows of the matrix are a multiple of. */
static void count_groups(const macko_csr *a, int64_t nrows, int64_t first, int64_t rows, macko_eccsr_groups *c)
{
  for (int b = 2; b <= MACKO_ECCSR_MAX_RUN; b++)
    for (int i = 0; i < MACKO_ECCSR_GROUPS && nrows % b == 0; i++) {
      const int64_t row = first + macko_eccsr_group(i, b, rows);
      c->entries[b] += (uint64_t)(macko_csr_row(a, row + b) - macko_csr_row(a, row));
      c->runs[b] += (uint64_t)macko_eccsr_count_merged(a, row, b, b);
    }
}

/* Adds a window of a matrix of nrows rows to one of the two counts, whichever is not NULL. */
static void count_window(const macko_csr *a, int64_t nrows, int64_t window, macko_eccsr_sampled *c, macko_eccsr_groups *g)
{
  const int64_t first = window * MACKO_ECCSR_WINDOW, left = nrows - first;
  const int64_t past = left < MACKO_ECCSR_WINDOW ? nrows : first + MACKO_ECCSR_WINDOW;
  if (g) count_groups(a, nrows, first, past - first, g);
  for (int64_t row = first; c && row < past;) {
    const int count = macko_eccsr_equal_rows(a, NULL, row, past);
    count_rows(a, row, count, c);
    row += count;
  }
}

/* Looks at every 16th window, so that this takes a small part of what planning does. Errors: those of macko_get_rows. */
static macko_status look(const macko_findings *found, macko_eccsr_sampled *c, macko_eccsr_groups *g, macko_error *err)
{
  const int64_t windows = macko_eccsr_windows(found->csr->nrows);
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_status s = MACKO_OK;
  macko_csr view;
  if (c) memset(c, 0, sizeof *c);
  if (g) memset(g, 0, sizeof *g);
  for (int64_t i = macko_eccsr_first_sampled(windows); !s && i < windows; i += MACKO_ECCSR_SAMPLED) {
    s = macko_eccsr_view_window(rows, i, &room, &view, err);
    if (!s) count_window(&view, found->csr->nrows, i, c, g);
  }
  macko_free_assembly(&room);
  return s;
}

/* The counts are made once for all who ask, where findings are there to keep them. A failure need not be handed on: of rows in
 * pieces rows->failed keeps what went wrong. */
macko_status macko_eccsr_host_sample(void *context, macko_eccsr_sampled *c, macko_error *err)
{
  const macko_findings *found = context;
  macko_eccsr_findings *own = found->own[MACKO_FORMAT_ECCSR];
  if (!own) return look(found, c, NULL, err);
  macko_status s = own->is_sampled ? MACKO_OK : look(found, &own->sampled, NULL, err);
  own->is_sampled = !s, *c = own->sampled;
  return s;
}

macko_status macko_eccsr_host_groups(void *context, macko_eccsr_groups *c, macko_error *err)
{
  const macko_findings *found = context;
  macko_eccsr_findings *own = found->own[MACKO_FORMAT_ECCSR];
  if (!own) return look(found, NULL, c, err);
  macko_status s = own->is_grouped ? MACKO_OK : look(found, NULL, &own->groups, err);
  own->is_grouped = !s, *c = own->groups;
  return s;
}

/* Rows in pieces that lie apart are not in memory together: where there are such rows, all must be, and needs_whole asks for
 * that. err may be NULL, as macko_eccsr_may_win has none; rows->failed then keeps the failure. */
macko_status macko_eccsr_host_apart(void *context, int *found, macko_error *err)
{
  macko_rows whole, *rows = macko_found_rows(context, &whole);
  macko_error own = {0};
  macko_status s = macko_eccsr_rows_apart(rows, found, err ? err : &own);
  if (s && !err) rows->failed = own, rows->failed.status = s;
  if (s || !*found || rows->whole) return s;
  rows->needs_whole = 1;
  return macko_fail(err, MACKO_UNSUPPORTED, "rows that lie apart are looked for in a matrix as a whole");
}
