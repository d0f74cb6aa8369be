/* Some bundles of a matrix, found without putting all of its rows into bundles: by these a plan of variants paper and shared of
 * format eccsr is estimated where no encoding follows. */
#ifndef MACKO_ECCSR_PAPER_SAMPLE_H
#define MACKO_ECCSR_PAPER_SAMPLE_H

#include "eccsr/eccsr_paper.h"

/* How much a sample looks at. Bundles are as many as have a part of the entries, or the most entries, between the least and the
 * most bundles; the rows among which they are made are fewer in the same way. */
enum {
  MACKO_ECCSR_LEAST_SAMPLED = 8, /* bundles */
  MACKO_ECCSR_MOST_SAMPLED = 64,
  MACKO_ECCSR_SAMPLED_PART = 4,
  MACKO_ECCSR_LEAST_SAMPLED_ENTRIES = 1 << 17,
  MACKO_ECCSR_MOST_SAMPLED_ENTRIES = 1 << 20,
  MACKO_ECCSR_LEAST_ALIKE = 32, /* rows for each bundle */
  MACKO_ECCSR_MOST_ALIKE = 240,
  MACKO_ECCSR_COMPARED_ENTRIES = 1 << 21
};

/* Seeds, and for each of them at most so many rows that have columns in common with it, most first, itself among them. */
typedef struct {
  int64_t count, most;
  const int32_t *seeds;
  int64_t *found; /* rows of each seed */
  int32_t *rows;  /* [seed][row] */
} macko_eccsr_alike;

/* Finds the rows of all seeds by one pass over the matrix; rows of fewer than `least` columns have none in common with any.
 * Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_find_alike(const macko_csr *a, int64_t least, macko_eccsr_alike *seeds, macko_error *err);

/* Returns what row i weighs in a sample: about the bytes that it takes as a block of its own, with the fewest lanes that it may
 * have and, unless *shape says a width of codes, with the one that suits it best. How far its columns reach tells how many gaps
 * are long. */
static inline int64_t macko_eccsr_row_weight(const macko_csr *a, const macko_eccsr_paper_shape *shape, int64_t i)
{
  const int64_t p = macko_csr_row(a, i), past = macko_csr_row(a, i + 1), granule = macko_eccsr_granule(shape->lanes);
  const int64_t reach = past > p ? macko_csr_col(a, past - 1) - macko_csr_col(a, p) : 0;
  int64_t least = INT64_MAX;
  for (int bits = shape->bits ? shape->bits : 4; bits <= 32; bits *= 2) {
    const int64_t granules = (past - p + reach / macko_eccsr_longest_gap(bits) + granule - 1) / granule;
    const int64_t bytes = granules * granule * (bits + 8 * shape->value) / 8;
    least = bytes < least ? bytes : least;
    if (shape->bits) break;
  }
  return past > p ? least + 4 * shape->lanes + 6 : 0;
}

/* The rows of some bundles, sixteen rows after sixteen, as a csr of their own without values; what all rows of the matrix weigh;
 * and how many entries the rows have that were compared to make these bundles. */
typedef struct {
  int64_t bundles; /* 0: there is no sample, as looking at all bundles is not much more */
  macko_csr a;
  void *room; /* all arrays of a; `free` frees them */
  int64_t weight, compared;
} macko_eccsr_paper_sample;

/* Makes a sample. Each bundle is the one that a row would be in, and rows are drawn as often as they weigh, so that a bundle is,
 * too. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_take_sample(const macko_csr *a, const macko_eccsr_paper_shape *shape, macko_eccsr_paper_sample *sample,
                                     macko_error *err);

/* Blocks of a sample as they are counted: by which shape, which was another one when rows were weighed; the three numbers of each
 * bundle, as in section "bundles"; and the sum. */
typedef struct {
  macko_eccsr_paper_shape shape, weighed;
  int64_t bundles[3 * MACKO_ECCSR_MOST_SAMPLED];
  macko_eccsr_paper_sink sum;
} macko_eccsr_paper_counted;

/* Returns what all blocks of a matrix of so many entries come to. Sets *error to how far the bytes may be off, as a share of them:
 * by two standard errors, and by the little that it makes that rows are looked for in a sample's own way. */
macko_eccsr_paper_counts macko_eccsr_paper_scale(const macko_eccsr_paper_sample *sample, const macko_eccsr_paper_counted *counted,
                                                 int64_t nnz, double *error);

#endif
