/* Matrices of variants paper and shared of format eccsr, of f16 values. */
#ifndef TEST_ECCSR_PAPER_H
#define TEST_ECCSR_PAPER_H

#include "core/hash.h"
#include "suite.h"

typedef struct {
  macko_csr csr;
  int64_t *row_ptr;
  int32_t *cols;
  uint16_t *values; /* f16 */
} paper_matrix;

/* Of a hundred entries in that row and column how many there are. */
typedef int (*chance)(int64_t row, int64_t col);

static inline paper_matrix make(int64_t nrows, int64_t ncols, chance percent)
{
  paper_matrix t = {.row_ptr = calloc((size_t)nrows + 1, 8)};
  int64_t n = 0, room = 0;
  for (int64_t i = 0; i < nrows; t.row_ptr[++i] = n) {
    if (room < n + ncols) room = 2 * (n + ncols), t.cols = realloc(t.cols, (size_t)room * 4);
    for (int64_t j = 0; j < ncols; j++)
      if ((int)(macko_mix((uint64_t)(i * ncols + j)) % 100) < percent(i, j)) t.cols[n++] = (int32_t)j;
  }
  t.values = malloc((size_t)n * 2 + 1);
  for (int64_t p = 0; p < n; p++) t.values[p] = (uint16_t)(0x3c00 + macko_mix((uint64_t)p) % 2048); /* 1 to 4 */
  t.csr = (macko_csr){.nrows = nrows, .ncols = ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32, .value_type = MACKO_F16,
                      .row_ptr = t.row_ptr, .cols = t.cols, .values = t.values};
  return t;
}

static inline void release(paper_matrix *t)
{
  free(t->row_ptr), free(t->cols), free(t->values);
}

#endif
