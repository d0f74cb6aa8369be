/* By what rows of a matrix are put into blocks, from a sample of its windows. */
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

/* What a window costs beside its values, and how much work its blocks are. */
typedef struct {
  int64_t bytes;
  macko_eccsr_work work;
} window_cost;

/* Counts what a window comes to by that shape. */
static macko_status try_shape(const macko_csr *a, const macko_eccsr_shape *shape, int64_t window, macko_eccsr_window *w,
                              window_cost *cost, macko_error *err)
{
  macko_eccsr_sink sink = {.slices = NULL};
  macko_status s = macko_eccsr_fill_window(a, shape, window * MACKO_ECCSR_WINDOW, w, err);
  if (!s) s = macko_eccsr_put_window(w, &sink, err);
  *cost = (window_cost){macko_eccsr_pattern_bytes(&sink.at), sink.work};
  return s;
}

/* Sets shape->aligned where masks for blocks of aligned rows take fewer bytes in a window in the middle of the matrix, and at
 * least half of the lanes have something to do. It tries every number of unknowns a node that the number of rows is a multiple
 * of, and takes the one of fewest bytes. Nothing is tried where rows make blocks of two and more as it is. */
static macko_status try_aligned(const macko_csr *a, int64_t window, int64_t nrows, macko_eccsr_shape *shape, macko_error *err)
{
  macko_eccsr_window *w = NULL;
  window_cost best, cost;
  macko_status s = macko_eccsr_new_window(&w, err);
  if (!s) s = try_shape(a, shape, window, w, &best, err);
  int full = !s && best.work.entries >= 2 * best.work.reads; /* blocks have two rows and more as it is */
  for (int b = 2; b <= MACKO_ECCSR_MAX_RUN && !s && !full; b++) {
    macko_eccsr_shape aligned = {shape->rows, shape->run, b};
    if (nrows % b) continue;
    s = try_shape(a, &aligned, window, w, &cost, err);
    if (s || cost.work.lanes > 2 * cost.work.entries || cost.bytes >= best.bytes) continue;
    best = cost, *shape = aligned;
  }
  macko_eccsr_free_window(w);
  return s;
}

/* Adds the rows of a window to the sample. */
static void count_window(const macko_csr *a, int64_t window, macko_eccsr_sampled *c)
{
  int64_t row = window * MACKO_ECCSR_WINDOW, past = a->nrows - row < MACKO_ECCSR_WINDOW ? a->nrows : row + MACKO_ECCSR_WINDOW;
  while (row < past) {
    int count = macko_eccsr_equal_rows(a, NULL, row, past);
    count_rows(a, row, count, c);
    row += count;
  }
}

/* Samples every 16th window, so that a sample takes a small part of what planning does. Errors: those of macko_get_rows. */
static macko_status sample_rows(const macko_findings *found, macko_eccsr_sampled *c, macko_error *err)
{
  const int64_t windows = macko_eccsr_windows(found->csr->nrows);
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_status s = MACKO_OK;
  macko_csr view;
  memset(c, 0, sizeof *c);
  for (int64_t i = macko_eccsr_first_sampled(windows); !s && i < windows; i += MACKO_ECCSR_SAMPLED) {
    s = macko_eccsr_view_window(rows, i, &room, &view, err);
    if (!s) count_window(&view, i, c);
  }
  macko_free_assembly(&room);
  return s;
}

/* Does the same once for all who ask, where findings are there to keep it. */
static macko_status count_some_rows(const macko_findings *found, macko_eccsr_sampled *c, macko_error *err)
{
  macko_eccsr_findings *own = found->own[MACKO_FORMAT_ECCSR];
  if (!own) return sample_rows(found, c, err);
  macko_status s = own->is_sampled ? MACKO_OK : sample_rows(found, &own->sampled, err);
  own->is_sampled = !s, *c = own->sampled;
  return s;
}

/* A failure is not handed on: a csr as a whole always has its rows; of rows in pieces those count that could be had, and
 * rows->failed keeps what went wrong. */
void macko_eccsr_host_estimate(void *context, macko_eccsr_counts *counts, macko_eccsr_work *work)
{
  macko_eccsr_sampled c;
  (void)count_some_rows(context, &c, NULL);
  macko_eccsr_scale(&c, macko_found_nnz(context), counts, work);
}

/* Masks are tried on one window only, as that makes its slices once for each number of rows. */
macko_status macko_eccsr_host_sample(void *context, macko_eccsr_shape *shape, macko_error *err)
{
  const macko_findings *found = context;
  const int64_t windows = macko_eccsr_windows(found->csr->nrows);
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_eccsr_sampled c;
  macko_csr view;
  macko_status s = count_some_rows(found, &c, err);
  if (s) return s;
  *shape = macko_eccsr_usual_shape(&c);
  if (windows) s = macko_eccsr_view_window(rows, windows / 2, &room, &view, err);
  if (!s && windows) s = try_aligned(&view, windows / 2, found->csr->nrows, shape, err);
  macko_free_assembly(&room);
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
