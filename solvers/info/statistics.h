/* Numbers that describe a matrix. */
#ifndef STATISTICS_H
#define STATISTICS_H

#include "macko.h"

/* Describes the lengths of rows or columns by the names and definitions that Ginkgo's matrix_statistics has: quartiles by the
 * third method of Wikipedia's page, central moments over powers of the standard deviation (0 where that is 0). */
typedef struct {
  double min, q1, median, q3, max, mean, variance, skewness, kurtosis, hyperskewness, hyperflatness;
} distribution;

/* The sizes of blocks that are counted. Blocks of size x size begin at multiples of the size. */
enum { LEAST_BLOCK = 2, MOST_BLOCK = 8 };
/* What is counted of blocks of one size. */
typedef struct {
  int64_t count; /* blocks that hold an entry */
  double full;   /* the share of their cells that do */
} block_count;

/* All that is counted over a matrix. */
typedef struct {
  distribution rows, columns;
  /* 1: columns are far more than entries, so that what takes an array of them is not counted: columns, empty_columns, gap_entropy
   * and blocks are 0. */
  int no_columns;
  int64_t nnz, zeros;                          /* entries; those of them that are zero */
  int64_t empty_rows, empty_columns, diagonal; /* diagonal: entries on it */
  int64_t lower, upper;                        /* bandwidth: the farthest entry below and above the diagonal */
  double pattern_symmetry, value_symmetry; /* share of the entries with a mirror image; with an equal one; -1: not square */
  double gap_entropy; /* bits that a gap from one column of a row to the next takes, coded by how often each occurs */
  block_count blocks[MOST_BLOCK + 1];          /* by their size; those below LEAST_BLOCK are not filled */
  int64_t *row_lengths;                        /* of all rows, sorted */
} statistics;

/* Fills *s for a csr that is sorted and free of duplicates. Returns 0 if there is no memory, else 1; *s is freed with
 * statistics_free. */
int statistics_make(const macko_csr *csr, statistics *s);
void statistics_free(statistics *s);

#endif
