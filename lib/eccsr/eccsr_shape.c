/* By what rows of a matrix are put into blocks, from a sample of its windows. */
#include "eccsr/eccsr.h"

#include <string.h>

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

/* What a window costs beside its values, and how much of its blocks is there. */
typedef struct {
  int64_t bytes;
  macko_eccsr_work work;
} window_cost;

static macko_status try_shape(const macko_csr *a, const macko_eccsr_shape *shape, int64_t window, macko_eccsr_window *w,
                              window_cost *cost, macko_error *err)
{
  macko_eccsr_sink sink = {.slices = NULL};
  macko_status s = macko_eccsr_fill_window(a, shape, window * MACKO_ECCSR_WINDOW, w, err);
  if (s) return s;
  macko_eccsr_put_window(a, w, 0, &sink);
  *cost = (window_cost){macko_eccsr_pattern_bytes(&sink.at), sink.work};
  return s;
}

/* Masks for blocks of aligned rows, where that takes fewer bytes in a window in the middle and at least half of the lanes have
 * something to do: for every number of unknowns a node that the rows are a multiple of. */
static macko_status try_aligned(const macko_csr *a, int64_t window, macko_eccsr_shape *shape, macko_error *err)
{
  macko_eccsr_window *w = NULL;
  window_cost best, cost;
  macko_status s = macko_eccsr_new_window(&w, err);
  if (!s) s = try_shape(a, shape, window, w, &best, err);
  int full = !s && best.work.entries >= 2 * best.work.reads; /* blocks of two rows and more as it is */
  for (int b = 2; b <= MACKO_ECCSR_MAX_RUN && !s && !full; b++) {
    macko_eccsr_shape aligned = {shape->rows, shape->run, b};
    if (a->nrows % b) continue;
    s = try_shape(a, &aligned, window, w, &cost, err);
    if (s || cost.work.lanes > 2 * cost.work.entries || cost.bytes >= best.bytes) continue;
    best = cost, *shape = aligned;
  }
  macko_eccsr_free_window(w);
  return s;
}

/* Of every 16th window. */
static void count_some_rows(const macko_csr *a, macko_eccsr_sampled *c)
{
  const int64_t windows = (a->nrows + MACKO_ECCSR_WINDOW - 1) / MACKO_ECCSR_WINDOW;
  memset(c, 0, sizeof *c);
  for (int64_t i = macko_eccsr_first_sampled(windows); i < windows; i += MACKO_ECCSR_SAMPLED) {
    int64_t row = i * MACKO_ECCSR_WINDOW, past = a->nrows - row < MACKO_ECCSR_WINDOW ? a->nrows : row + MACKO_ECCSR_WINDOW;
    while (row < past) {
      int count = macko_eccsr_equal_rows(a, row, past);
      count_rows(a, row, count, c);
      row += count;
    }
  }
}

void macko_eccsr_host_estimate(void *context, macko_eccsr_counts *counts, macko_eccsr_work *work)
{
  const macko_csr *a = ((macko_findings *)context)->csr;
  macko_eccsr_sampled c;
  count_some_rows(a, &c);
  macko_eccsr_scale(&c, macko_csr_nnz(a), counts, work);
}

macko_status macko_eccsr_host_sample(void *context, macko_eccsr_shape *shape, macko_error *err)
{
  const macko_csr *a = ((macko_findings *)context)->csr;
  int64_t windows = (a->nrows + MACKO_ECCSR_WINDOW - 1) / MACKO_ECCSR_WINDOW;
  macko_eccsr_sampled c;
  count_some_rows(a, &c);
  *shape = macko_eccsr_usual_shape(&c);
  return windows ? try_aligned(a, windows / 2, shape, err) : MACKO_OK;
}
