/* Layout row: rows that threads share, which are all of a matrix or those in view. */
#ifndef MACKO_ROW_PARTS_H
#define MACKO_ROW_PARTS_H

#include "core/threads.h"
#include "macko/row.h"

/* Gives the first row of an item, which is MACKO_BASE_ROWS rows: blocks of rows with a common reference must not be torn apart,
 * because a part computes the reference from all rows of the block. Item 0 begins with row `first`; past the end of *a it is
 * a->nrows. */
static inline int64_t macko_row_of_item(const macko_csr *a, int64_t first, int64_t item)
{
  return first + item * MACKO_BASE_ROWS < a->nrows ? first + item * MACKO_BASE_ROWS : a->nrows;
}

/* Cuts the rows in view into items for threads. A whole matrix is cut by entries; the rows of a piece are taken as alike, because
 * the cut would read starts of rows from row 0 on, and those before the piece are not there. */
static inline macko_cut macko_cut_view(const macko_view *v)
{
  if (v->rows->whole) return macko_cut_rows(&v->view, MACKO_BASE_ROWS);
  return (macko_cut){.n = macko_base_blocks(v->past - v->first)};
}

#endif
