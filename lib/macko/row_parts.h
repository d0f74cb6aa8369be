/* Layout row: rows that threads share, which are all of a matrix or those in view. */
#ifndef MACKO_ROW_PARTS_H
#define MACKO_ROW_PARTS_H

#include "core/threads.h"
#include "macko/row.h"

/* Rows that are done by one part: blocks of rows with a common reference stay together. Item 0 begins with row `first`. */
static inline int64_t macko_row_of_item(const macko_csr *a, int64_t first, int64_t item)
{
  return first + item * MACKO_BASE_ROWS < a->nrows ? first + item * MACKO_BASE_ROWS : a->nrows;
}

static inline macko_cut macko_cut_view(const macko_view *v)
{
  if (v->rows->whole) return macko_cut_rows(&v->view, MACKO_BASE_ROWS);
  return (macko_cut){.n = macko_base_blocks(v->past - v->first)};
}

#endif
