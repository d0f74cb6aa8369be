/* Numbers that describe a matrix: lengths, bandwidth, symmetry. */
#include "info/statistics.h"

#include "common/arrays.h"

#include <math.h>
#include <stdlib.h>

/* Compares two int64_t for qsort. */
static int by_size(const void *a, const void *b)
{
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The median of n sorted numbers, 0 of none. */
static double middle(const int64_t *sorted, int64_t n)
{
  return n == 0 ? 0 : 0.5 * ((double)sorted[(n - 1) / 2] + (double)sorted[n / 2]);
}

/* Fills the quartiles from n sorted lengths; the median is already there. 4 m + 1 or 4 m + 3 values have quartiles between two of
 * them; of an even number they are the medians of the halves. A single value is all of its quartiles. */
static void quartiles(const int64_t *v, int64_t n, distribution *d)
{
  const int64_t m = n / 4;
  if (n < 4) d->q1 = d->median, d->q3 = d->median;
  if (n % 2 == 0) d->q1 = middle(v, n / 2), d->q3 = middle(v + n / 2, n / 2);
  else if (n >= 4 && n % 4 == 1)
    d->q1 = 0.25 * (double)v[m - 1] + 0.75 * (double)v[m], d->q3 = 0.75 * (double)v[3 * m] + 0.25 * (double)v[3 * m + 1];
  else if (n >= 3)
    d->q1 = 0.75 * (double)v[m] + 0.25 * (double)v[m + 1], d->q3 = 0.25 * (double)v[3 * m + 1] + 0.75 * (double)v[3 * m + 2];
}

/* Describes n lengths, and leaves them sorted. Moments are taken about the mean in a second pass, because sums of plain powers
 * would cancel. */
static distribution describe(int64_t *lengths, int64_t n)
{
  distribution d = {0};
  double moments[7] = {0};
  if (n == 0) return d;
  qsort(lengths, (size_t)n, sizeof *lengths, by_size);
  for (int64_t i = 0; i < n; i++) d.mean += (double)lengths[i] / (double)n;
  for (int64_t i = 0; i < n; i++) {
    const double away = (double)lengths[i] - d.mean;
    /* The sixth moment is the highest that a name stands for. */
    for (int k = 2; k <= 6; k++) moments[k] += pow(away, k) / (double)n;
  }
  d.min = (double)lengths[0], d.max = (double)lengths[n - 1], d.median = middle(lengths, n);
  quartiles(lengths, n, &d);
  d.variance = moments[2];
  /* Where all lengths are equal there is nothing to compare moments with, and 0 is told. */
  if (d.variance > 0) {
    d.skewness = moments[3] / pow(d.variance, 1.5), d.kurtosis = moments[4] / pow(d.variance, 2);
    d.hyperskewness = moments[5] / pow(d.variance, 2.5), d.hyperflatness = moments[6] / pow(d.variance, 3);
  }
  return d;
}

/* Finds the place of entry (row, col) by halving, as columns of a row are sorted; -1 where there is none. */
static int64_t find(const macko_csr *a, int64_t row, int64_t col)
{
  int64_t begin = row_at(a, row), past = row_at(a, row + 1);
  while (begin < past) {
    const int64_t half = begin + (past - begin) / 2, at = col_at(a, half);
    if (at == col) return half;
    if (at < col) begin = half + 1;
    else past = half;
  }
  return -1;
}

/* Looks for the mirror image of every entry of a square matrix. An entry on the diagonal is its own. */
static void compare_mirrored(const macko_csr *a, statistics *s)
{
  int64_t pattern = 0, values = 0;
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = row_at(a, i); p < row_at(a, i + 1); p++) {
      const int64_t mirror = find(a, col_at(a, p), i);
      pattern += mirror >= 0;
      /* A NaN is not equal to its mirror image, and so counts as not symmetric. */
      values += mirror >= 0 && value_at(a->value_type, a->values, mirror) == value_at(a->value_type, a->values, p);
    }
  s->pattern_symmetry = s->nnz ? (double)pattern / (double)s->nnz : 1;
  s->value_symmetry = s->nnz ? (double)values / (double)s->nnz : 1;
}

/* Counts what one pass over all entries shows. columns, of a->ncols elements that are 0, gets the entries of each column;
 * NULL: they are not counted. */
static void look_at_entries(const macko_csr *a, statistics *s, int64_t *columns)
{
  for (int64_t i = 0; i < a->nrows; i++) {
    s->row_lengths[i] = row_at(a, i + 1) - row_at(a, i);
    s->empty_rows += s->row_lengths[i] == 0;
    for (int64_t p = row_at(a, i); p < row_at(a, i + 1); p++) {
      const int64_t col = col_at(a, p);
      if (columns) columns[col]++;
      s->diagonal += col == i;
      s->zeros += value_at(a->value_type, a->values, p) == 0;
      if (i - col > s->lower) s->lower = i - col;
      if (col - i > s->upper) s->upper = col - i;
    }
  }
  for (int64_t j = 0; j < a->ncols && columns; j++) s->empty_columns += columns[j] == 0;
}

/* Counts blocks row by row: seen[j] is the last block row, counted from 1, that has an entry in block column j, so that nothing
 * has to be cleared between block rows. seen has room for a->ncols / size + 1 elements. */
static block_count count_blocks(const macko_csr *a, int64_t size, int64_t *seen)
{
  block_count b = {0};
  for (int64_t j = 0; j <= a->ncols / size; j++) seen[j] = 0;
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = row_at(a, i); p < row_at(a, i + 1); p++) {
      int64_t *last = &seen[col_at(a, p) / size];
      b.count += *last != i / size + 1;
      *last = i / size + 1;
    }
  b.full = b.count ? (double)row_at(a, a->nrows) / ((double)b.count * (double)(size * size)) : 0;
  return b;
}

/* The entropy of the gaps in bits. Gaps are less than the number of columns, so counts has a place for each; the first entry of a
 * row has no gap. */
static double entropy_of_gaps(const macko_csr *a, int64_t *counts)
{
  int64_t gaps = 0;
  double bits = 0;
  for (int64_t j = 0; j <= a->ncols; j++) counts[j] = 0;
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = row_at(a, i) + 1; p < row_at(a, i + 1); p++, gaps++) counts[col_at(a, p) - col_at(a, p - 1)]++;
  for (int64_t j = 0; j <= a->ncols; j++)
    if (counts[j]) bits -= (double)counts[j] / (double)gaps * log2((double)counts[j] / (double)gaps);
  return bits;
}

/* Whether columns are so many more than entries that arrays of them would take far more memory and time than the matrix. */
static int are_columns_too_many(const macko_csr *a)
{
  enum { FEW = 1 << 20, MOST = 64 }; /* columns that are always counted; columns an entry that are */
  return a->ncols > FEW && a->ncols / MOST > row_at(a, a->nrows);
}

/* Counts what takes an array of columns beside entries. One array serves three passes in turn, as each needs no more than that. */
static void look_at_columns(const macko_csr *a, statistics *s, int64_t *columns)
{
  s->columns = describe(columns, a->ncols);
  /* The lengths of columns have been described, so their array is free for counting. */
  s->gap_entropy = entropy_of_gaps(a, columns);
  for (int size = LEAST_BLOCK; size <= MOST_BLOCK; size++) s->blocks[size] = count_blocks(a, size, columns);
}

int statistics_make(const macko_csr *a, statistics *s)
{
  *s = (statistics){.nnz = row_at(a, a->nrows), .pattern_symmetry = -1, .value_symmetry = -1};
  s->no_columns = are_columns_too_many(a);
  int64_t *columns = s->no_columns ? NULL : calloc((size_t)a->ncols + 1, sizeof *columns);
  s->row_lengths = calloc((size_t)a->nrows + 1, sizeof *s->row_lengths);
  const int room = (columns || s->no_columns) && s->row_lengths;
  if (room) {
    look_at_entries(a, s, columns);
    s->rows = describe(s->row_lengths, a->nrows);
    if (a->nrows == a->ncols) compare_mirrored(a, s);
    if (columns) look_at_columns(a, s, columns);
  } else statistics_free(s);
  free(columns);
  return room;
}

void statistics_free(statistics *s)
{
  free(s->row_lengths);
  s->row_lengths = NULL;
}
