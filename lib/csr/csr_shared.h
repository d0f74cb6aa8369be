/* Rows that share their columns, as those of the unknowns of a mesh node do: the columns of such a group of rows are kept once
 * more, one after the other, so that a product reads them and loads x once for all rows of the group. */
#ifndef MACKO_CSR_SHARED_H
#define MACKO_CSR_SHARED_H

#include "core/format.h"

/* CSR_TOGETHER is the most rows of a group; more become several groups of about as many each. A mark is set every CSR_MARK rows. */
enum { CSR_TOGETHER = 6, CSR_MARK = 1024 };

/* Where the first group is that begins at row CSR_MARK * i or after it: its first row, its number, and where its columns begin. */
typedef struct {
  int64_t row, group, col;
} csr_mark;

/* The groups of a matrix: the marks, the columns of all groups and some more behind them, as CSR_WIDTH are read at a time, and the
 * rows of each group. All are NULL where few rows share columns. */
typedef struct {
  csr_mark *marks;
  int32_t *cols;
  uint8_t *rows;
} csr_shared;

/* What is prepared of a matrix, in one allocation with what the groups point to; whether its rows are short and uneven, so that
 * products take them by loops for longer ones; and whether these look at them in blocks (csr.h). */
typedef struct {
  csr_shared shared;
  int uneven, in_blocks;
} csr_prepared;

/* Groups are made where at least this share of the sampled rows have the columns of the row before. */
#define CSR_SHARE 0.3

/* Sets m->prepared, or leaves it NULL where there is nothing of that. This is `prepare` of format csr. Errors: OUT_OF_MEMORY. */
macko_status macko_csr_prepare(macko_matrix *m, macko_error *err);

/* Gives how many of `left` rows that share their columns the next group has. */
static inline int macko_csr_group(int64_t left)
{
  const int64_t groups = (left + CSR_TOGETHER - 1) / CSR_TOGETHER;
  return (int)((left + groups - 1) / groups);
}

/* Gives the share of columns that products need not read where that share of rows has the columns of the row before. */
double macko_csr_saved(double alike);

/* Tells whether products read shared columns, if there are any, of a matrix of that size with those options and that plan: on a CPU
 * with loops for rows of such lengths, 32-bit columns and f64 or f32 values. */
int macko_csr_reads_shared(const macko_options *options, const macko_plan *plan, int64_t nrows, int64_t ncols, int64_t nnz);

/* Tells whether rows i and i + 1 have the same columns, of which there are some. */
int macko_csr_alike(const macko_csr *a, int64_t i);

/* Tells whether there are loops here that take several entries of a row at a time, and whether rows are long enough for them: nnz
 * entries in nrows rows of a matrix of that size. */
int macko_csr_wide_rows(int64_t nrows, int64_t nnz, int64_t bytes);

#endif
