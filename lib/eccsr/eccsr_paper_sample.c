/* Some bundles of a matrix: rows are drawn, and put into bundles among the rows that have most columns in common with them,
 * wherever these are. */
#include "eccsr/eccsr_paper_sample.h"
#include "core/hash.h"

#include <stdlib.h>

enum { ROWS = MACKO_ECCSR_BUNDLE,
       MOST = MACKO_ECCSR_MOST_SAMPLED,
       NEAR = 8 }; /* rows before and behind a seed that are looked at in any case, as rows without a partner take neighbours */

static int64_t least_of(int64_t x, int64_t y)
{
  return x < y ? x : y;
}

/* Returns x, or the bound that it is beyond. */
static int64_t within(int64_t x, int64_t least, int64_t most)
{
  return x < least ? least : least_of(x, most);
}

/* ---- seeds ---- */

/* Draws a row in each of `count` stretches of the same weight, and returns what all rows weigh. Where in a stretch is left to
 * chance, as what is repeated in a matrix could else be drawn at the same place every time. */
static int64_t draw_seeds(const macko_csr *a, const macko_eccsr_paper_shape *shape, int64_t count, int32_t *seeds)
{
  int64_t all = 0, before = 0, k = 0;
  for (int64_t i = 0; i < a->nrows; i++) all += macko_eccsr_row_weight(a, shape, i);
  for (int64_t i = 0; k < count; i++) {
    before += macko_eccsr_row_weight(a, shape, i);
    for (; k < count; k++) {
      const double place = (double)(macko_mix((uint64_t)k) >> 11) * 0x1p-53;
      if ((double)before <= ((double)k + place) * (double)all / (double)count) break;
      seeds[k] = (int32_t)i;
    }
  }
  return all;
}

/* Returns the entries of rows that are drawn, in the mean; at least 1. */
static int64_t mean_row(const macko_csr *a, const int32_t *seeds, int64_t count)
{
  int64_t entries = 0;
  for (int64_t k = 0; k < count; k++) entries += macko_csr_row(a, seeds[k] + (int64_t)1) - macko_csr_row(a, seeds[k]);
  return entries / count + 1;
}

/* Returns how many bundles a sample has, given rows as they would be drawn for the most; 0 where all are not much more. */
static int64_t count_bundles(const macko_csr *a, const int32_t *seeds)
{
  const int64_t entries = within(macko_csr_nnz(a) / MACKO_ECCSR_SAMPLED_PART, MACKO_ECCSR_LEAST_SAMPLED_ENTRIES,
                                 MACKO_ECCSR_MOST_SAMPLED_ENTRIES);
  const int64_t count = within(entries / (ROWS * mean_row(a, seeds, MOST)), MACKO_ECCSR_LEAST_SAMPLED, MOST);
  return macko_eccsr_bundles(a->nrows) > 2 * count ? count : 0;
}

/* ---- rows as a matrix ---- */

/* Sets *picked to those rows of *a, in that order, without values; *room is the caller's to free. */
static macko_status pick_rows(const macko_csr *a, const int32_t *rows, int64_t count, macko_csr *picked, void **room,
                              macko_error *err)
{
  int64_t nnz = 0;
  for (int64_t i = 0; i < count; i++) nnz += macko_csr_row(a, rows[i] + (int64_t)1) - macko_csr_row(a, rows[i]);
  int64_t *row_ptr = malloc((size_t)(count + 1) * 8 + (size_t)nnz * 4);
  if (!row_ptr) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a sample of %lld rows", (long long)count);
  int32_t *cols = (int32_t *)(void *)(row_ptr + count + 1);
  int64_t n = 0;
  row_ptr[0] = 0;
  for (int64_t i = 0; i < count; row_ptr[++i] = n)
    for (int64_t p = macko_csr_row(a, rows[i]); p < macko_csr_row(a, rows[i] + (int64_t)1); p++)
      cols[n++] = (int32_t)macko_csr_col(a, p);
  *picked = (macko_csr){.nrows = count, .ncols = a->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32,
                        .value_type = a->value_type, .row_ptr = row_ptr, .cols = cols};
  *room = row_ptr;
  return MACKO_OK;
}

/* ---- bundles ---- */

/* Compares two int32_t for qsort and bsearch. */
static int compare_rows(const void *a, const void *b)
{
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Writes the rows that are like any seed, or near it, to `rows`, ascending and each once, and returns how many, which is a bundle
 * at least. */
static int64_t gather(const macko_csr *a, const macko_eccsr_alike *alike, int32_t *rows)
{
  int64_t n = 0, to = 0;
  for (int64_t k = 0; k < alike->count; k++) {
    const int64_t first = within(alike->seeds[k] - NEAR, 0, a->nrows - 2 * NEAR - 1);
    for (int64_t i = first; i <= first + 2 * NEAR; i++) rows[n++] = (int32_t)i;
    for (int64_t i = 0; i < alike->found[k]; i++) rows[n++] = alike->rows[k * alike->most + i];
  }
  qsort(rows, (size_t)n, sizeof *rows, compare_rows);
  for (int64_t i = 0; i < n; i++)
    if (!to || rows[i] != rows[to - 1]) rows[to++] = rows[i];
  return to;
}

/* Writes the rows of each seed's bundle, given the order of the pool's rows. A seed in a last bundle of fewer rows has some of the
 * bundle before in its own. */
static void choose_bundles(const macko_eccsr_alike *alike, const int32_t *pool, int64_t count, const int32_t *order,
                           int32_t *bundles)
{
  for (int64_t k = 0; k < alike->count; k++) {
    const int32_t *seed = bsearch(&alike->seeds[k], pool, (size_t)count, sizeof *pool, compare_rows);
    int64_t at = 0;
    while (order[at] != seed - pool) at++;
    at = least_of(at / ROWS * ROWS, count - ROWS);
    for (int i = 0; i < ROWS; i++) bundles[k * ROWS + i] = pool[order[at + i]];
  }
}

/* Puts `count` rows, the pool, into bundles, and makes the sample of those in which the seeds are. `order` has room for as
 * many. */
static macko_status sample_pool(const macko_csr *a, int64_t least, const macko_eccsr_alike *alike, const int32_t *pool,
                                int64_t count, int32_t *order, macko_eccsr_paper_sample *sample, macko_error *err)
{
  int32_t bundles[MOST * ROWS];
  macko_csr some;
  void *room = NULL;
  macko_status s = pick_rows(a, pool, count, &some, &room, err);
  if (!s) s = macko_eccsr_order_bundles(&some, least, order, err);
  if (!s) choose_bundles(alike, pool, count, order, bundles);
  if (!s) sample->compared = macko_csr_nnz(&some);
  free(room);
  return s ? s : pick_rows(a, bundles, alike->count * ROWS, &sample->a, &sample->room, err);
}

/* Makes a sample of as many bundles as it says, by those seeds. */
static macko_status look(const macko_csr *a, int64_t least, const int32_t *seeds, macko_eccsr_paper_sample *sample,
                         macko_error *err)
{
  int64_t found[MOST];
  const int64_t bundles = sample->bundles;
  const int64_t most = within(MACKO_ECCSR_COMPARED_ENTRIES / (bundles * mean_row(a, seeds, bundles)), MACKO_ECCSR_LEAST_ALIKE,
                              MACKO_ECCSR_MOST_ALIKE);
  const size_t room = (size_t)(bundles * (most + 2 * NEAR + 1));
  macko_eccsr_alike alike = {bundles, most, seeds, found, malloc((size_t)(bundles * most) * 4)};
  int32_t *pool = malloc(room * 4), *order = malloc(room * 4);
  macko_status s = MACKO_OK;
  if (!alike.rows || !pool || !order) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a sample of rows");
  if (!s) s = macko_eccsr_find_alike(a, least, &alike, err);
  if (!s) s = sample_pool(a, least, &alike, pool, gather(a, &alike, pool), order, sample, err);
  free(alike.rows), free(pool), free(order);
  return s;
}

/* Of the rows that are drawn for most bundles, which takes a pass over the matrix, fewer bundles get some, evenly. */
macko_status macko_eccsr_take_sample(const macko_csr *a, const macko_eccsr_paper_shape *shape, macko_eccsr_paper_sample *sample,
                                     macko_error *err)
{
  int32_t seeds[MOST];
  *sample = (macko_eccsr_paper_sample){.bundles = 0};
  if (!macko_csr_nnz(a) || macko_eccsr_bundles(a->nrows) <= 2 * MACKO_ECCSR_LEAST_SAMPLED) return MACKO_OK;
  sample->weight = draw_seeds(a, shape, MOST, seeds);
  sample->bundles = count_bundles(a, seeds);
  for (int64_t k = 0; k < sample->bundles; k++) seeds[k] = seeds[k * MOST / sample->bundles];
  return sample->bundles ? look(a, macko_eccsr_granule(shape->lanes), seeds, sample, err) : MACKO_OK;
}
