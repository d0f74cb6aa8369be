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

/* Adds a window of rows first .. past - 1 to one of the two counts; a view of the matrix, which has nrows rows in all. */
typedef void (*window_counter)(const macko_csr *a, int64_t nrows, int64_t first, int64_t past, void *counts);

/* Adds groups of b rows, for every b that nrows is a multiple of, to macko_eccsr_groups. */
static void count_groups(const macko_csr *a, int64_t nrows, int64_t first, int64_t past, void *counts)
{
  macko_eccsr_groups *c = counts;
  for (int b = 2; b <= MACKO_ECCSR_MAX_RUN; b++)
    for (int i = 0; i < MACKO_ECCSR_GROUPS && nrows % b == 0; i++) {
      const int64_t row = first + macko_eccsr_group(i, b, past - first);
      c->entries[b] += (uint64_t)(macko_csr_row(a, row + b) - macko_csr_row(a, row));
      c->runs[b] += (uint64_t)macko_eccsr_count_merged(a, row, b, b);
    }
}

/* Adds groups of rows of equal columns to macko_eccsr_sampled. */
static void count_equal(const macko_csr *a, int64_t nrows, int64_t first, int64_t past, void *counts)
{
  (void)nrows;
  for (int64_t row = first; row < past;) {
    const int count = macko_eccsr_equal_rows(a, NULL, row, past);
    count_rows(a, row, count, counts);
    row += count;
  }
}

/* Looks at every 16th window, so that this takes a small part of what planning does; the counts are zeroed before. Errors: those of
 * macko_get_rows. */
static macko_status look(const macko_findings *found, window_counter count, void *counts, macko_error *err)
{
  const int64_t nrows = found->csr->nrows, windows = macko_eccsr_windows(nrows);
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_status s = MACKO_OK;
  macko_csr view;
  for (int64_t i = macko_eccsr_first_sampled(windows); !s && i < windows; i += MACKO_ECCSR_SAMPLED) {
    const int64_t first = i * MACKO_ECCSR_WINDOW, past = nrows - first < MACKO_ECCSR_WINDOW ? nrows : first + MACKO_ECCSR_WINDOW;
    s = macko_eccsr_view_window(rows, i, &room, &view, err);
    if (!s) count(&view, nrows, first, past, counts);
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
  macko_status s = MACKO_OK;
  if (own && own->is_sampled) return *c = own->sampled, s;
  memset(c, 0, sizeof *c);
  s = look(found, count_equal, c, err);
  if (own) own->sampled = *c, own->is_sampled = !s;
  return s;
}

macko_status macko_eccsr_host_groups(void *context, macko_eccsr_groups *c, macko_error *err)
{
  const macko_findings *found = context;
  macko_eccsr_findings *own = found->own[MACKO_FORMAT_ECCSR];
  macko_status s = MACKO_OK;
  if (own && own->is_grouped) return *c = own->groups, s;
  memset(c, 0, sizeof *c);
  s = look(found, count_groups, c, err);
  if (own) own->groups = *c, own->is_grouped = !s;
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
