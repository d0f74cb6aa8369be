/* Rows put into bundles of sixteen: pairs of rows that share columns, pairs of such pairs by the columns that all four share, and
 * so on (EC-SpMV, section 4, where all rows are compared with all others). */
#include "eccsr/eccsr_paper.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = -1, MATCHES = 4 }; /* no partner; how often items look for one */

/* Items of 2^level rows each, the last one perhaps of fewer, and the columns that all rows of each item have. */
typedef struct {
  int64_t nrows, size; /* rows of all items; of one */
  int32_t *rows, *more_rows;
  macko_eccsr_sets shared;
} items;

/* Returns how many items there are. */
static int64_t count_of(const items *t)
{
  return (t->nrows + t->size - 1) / t->size;
}

/* Sets *sets to the columns of each row; returns 0 without memory. It is a copy, as the sets of higher levels are no rows of the
 * csr. */
static int copy_columns(const macko_csr *a, macko_eccsr_sets *sets)
{
  const int64_t nnz = macko_csr_nnz(a);
  *sets = (macko_eccsr_sets){a->nrows, malloc((size_t)(a->nrows + 1) * 8), malloc((size_t)nnz * 4 + 1)};
  if (!sets->starts || !sets->cols) return 0;
  for (int64_t i = 0; i <= a->nrows; i++) sets->starts[i] = macko_csr_row(a, i);
  for (int64_t p = 0; p < nnz; p++) sets->cols[p] = (int32_t)macko_csr_col(a, p);
  return 1;
}

/* Frees the arrays, which may be NULL. */
static void free_sets(macko_eccsr_sets *sets)
{
  free(sets->starts), free(sets->cols);
  *sets = (macko_eccsr_sets){0, NULL, NULL};
}

/* Fills *err with the sentence for memory that is not there. */
static macko_status no_memory(int64_t nrows, macko_error *err)
{
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to put %lld rows into bundles", (long long)nrows);
}

/* ---- the greedy choice ---- */

/* Compares pairs for sorting: most columns first; of equals the first ones, so that the order is the same everywhere. */
static int compare_pairs(const void *a, const void *b)
{
  const macko_eccsr_pair *p = a, *q = b;
  if (p->shared != q->shared) return p->shared > q->shared ? -1 : 1;
  if (p->first != q->first) return p->first < q->first ? -1 : 1;
  return p->second < q->second ? -1 : p->second > q->second;
}

/* Tells whether at least half of the columns of the smaller set are common. */
static int is_close(const items *t, const macko_eccsr_pair *p)
{
  const int64_t *starts = t->shared.starts;
  const int64_t first = starts[p->first + 1] - starts[p->first], second = starts[p->second + 1] - starts[p->second];
  return 2 * (int64_t)p->shared >= (first < second ? first : second);
}

/* Makes partners of sorted pairs, the best first; with `close` only of those that are close. partner[i] becomes the partner of
 * item i. An item of fewer rows than the others is chosen by nobody, as it has to be in the last bundle. Returns whether any pair
 * was taken. */
static int take_pairs(const items *t, const macko_eccsr_pair *pairs, int64_t count, int close, int32_t *partner)
{
  const int64_t whole = t->nrows / t->size;
  int any = 0;
  for (int64_t k = 0; k < count; k++) {
    const int32_t i = pairs[k].first, j = pairs[k].second;
    if (j >= whole || partner[i] != NONE || partner[j] != NONE || (close && !is_close(t, &pairs[k]))) continue;
    partner[i] = j, partner[j] = i, any = 1;
  }
  return any;
}

/* Gives every item a partner, but for one of an odd number. Those that are left look for each other again, as each has seen some
 * candidates only, and take what is not close when there is nothing closer; in the end they are paired as they follow each other.
 * Errors: OUT_OF_MEMORY. */
static macko_status match(const items *t, int64_t least, int32_t *partner, macko_error *err)
{
  const int64_t n = count_of(t);
  int64_t single = NONE;
  int close = 1;
  for (int64_t i = 0; i < n; i++) partner[i] = NONE;
  for (int round = 0, any = 1; any && round < MATCHES; round++) {
    macko_eccsr_pair *pairs = NULL;
    int64_t count = 0;
    macko_status s = macko_eccsr_find_pairs(&t->shared, least, partner, &pairs, &count, err);
    if (s) return s;
    qsort(pairs, (size_t)count, sizeof *pairs, compare_pairs);
    any = take_pairs(t, pairs, count, close, partner);
    if (!any && close) close = 0, any = take_pairs(t, pairs, count, close, partner);
    free(pairs);
  }
  for (int64_t i = 0; i < n; i++) {
    if (partner[i] != NONE) continue;
    if (single == NONE) single = i;
    else partner[i] = (int32_t)single, partner[single] = (int32_t)i, single = NONE;
  }
  return MACKO_OK;
}

/* ---- to the next level ---- */

/* Returns the rows of item i. */
static int64_t rows_of(const items *t, int64_t i)
{
  return i + 1 < count_of(t) ? t->size : t->nrows - i * t->size;
}

/* Makes item i and its partner, if it has one, item number `to` of the next level, with the columns that both have. An item
 * without a partner gets no columns: it comes last, where nobody chooses it. */
static void join(items *t, const int32_t *partner, int64_t i, int64_t to, macko_eccsr_sets *next)
{
  const macko_eccsr_sets *s = &t->shared;
  const int64_t j = partner[i], first = i * t->size;
  int32_t *rows = t->more_rows + to * 2 * t->size;
  int64_t shared = 0;
  memcpy(rows, t->rows + first, (size_t)rows_of(t, i) * sizeof *rows);
  if (j != NONE) {
    memcpy(rows + t->size, t->rows + j * t->size, (size_t)rows_of(t, j) * sizeof *rows);
    shared = macko_eccsr_intersect(s->cols + s->starts[i], s->starts[i + 1] - s->starts[i], s->cols + s->starts[j],
                                   s->starts[j + 1] - s->starts[j], next->cols + next->starts[to]);
  }
  next->starts[to + 1] = next->starts[to] + shared;
}

/* Makes the items of the next level, in the order of the first of each two; the one of fewer rows comes last, as items are found
 * by their numbers. */
static void join_all(items *t, const int32_t *partner, macko_eccsr_sets *next)
{
  const int64_t n = count_of(t), last = n % 2 || t->nrows % (2 * t->size) == 0 ? NONE : partner[n - 1];
  int64_t to = 0, single = last;
  next->starts[0] = 0;
  for (int64_t i = 0; i < n; i++) {
    if (partner[i] == NONE) single = i;
    else if (i < partner[i] && i != last) join(t, partner, i, to++, next);
  }
  if (single != NONE) join(t, partner, single, to++, next);
  next->count = to;
}

/* Pairs all items and goes to the next level. There is room for half as many columns as all items have, since two items share no
 * more than the shorter of them has, and nothing is written behind that. */
static macko_status next_level(items *t, int64_t least, macko_error *err)
{
  const int64_t n = count_of(t);
  macko_eccsr_sets next = {0, malloc((size_t)(n + 2) * 8), malloc((size_t)t->shared.starts[t->shared.count] * 2 + 8)};
  int32_t *partner = malloc((size_t)n * sizeof *partner + 1), *rows = t->rows;
  macko_status s = MACKO_OK;
  if (!next.starts || !next.cols || !partner) s = no_memory(t->nrows, err);
  if (!s) s = match(t, least, partner, err);
  if (!s) {
    join_all(t, partner, &next);
    t->rows = t->more_rows, t->more_rows = rows;
    t->size *= 2;
    free_sets(&t->shared);
    t->shared = next;
  } else free_sets(&next);
  free(partner);
  return s;
}

/* After four levels items have sixteen rows, and their order is that of the bundles. */
macko_status macko_eccsr_order_bundles(const macko_csr *a, int64_t least, int32_t *rows, macko_error *err)
{
  items t = {.nrows = a->nrows, .size = 1, .rows = malloc((size_t)a->nrows * 4 + 1), .more_rows = malloc((size_t)a->nrows * 4 + 1)};
  macko_status s = t.rows && t.more_rows && copy_columns(a, &t.shared) ? MACKO_OK : no_memory(a->nrows, err);
  for (int64_t i = 0; !s && i < a->nrows; i++) t.rows[i] = (int32_t)i;
  for (int level = 0; level < MACKO_ECCSR_LEVELS && !s; level++) s = next_level(&t, least, err);
  if (!s) memcpy(rows, t.rows, (size_t)a->nrows * sizeof *rows);
  free(t.rows), free(t.more_rows);
  free_sets(&t.shared);
  return s;
}
