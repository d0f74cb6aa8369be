/* Entries in any order to CSR by counting: linear time, and at most 28 bytes of memory an entry for a CSR of 12. */
#include "entries.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16 };

/* Indices of 4 or 8 bytes as the matrix needs: rows, then columns, then values. */
struct macko_piece {
  macko_piece *next;
  int64_t count;
  double values[PIECE];
  char indices[];
};

void macko_open_entries(macko_entries *e, int64_t nrows, int64_t ncols, macko_symmetry symmetry)
{
  *e = (macko_entries){.nrows = nrows, .ncols = ncols, .symmetry = symmetry, .wide = nrows > INT32_MAX || ncols > INT32_MAX};
}

static void drop_first(macko_entries *e)
{
  macko_piece *next = e->first->next;
  free(e->first);
  e->first = next;
}

void macko_close_entries(macko_entries *e)
{
  while (e->first) drop_first(e);
}

static inline int64_t get_index(const macko_piece *p, int wide, int64_t i)
{
  return wide ? ((const int64_t *)p->indices)[i] : ((const int32_t *)p->indices)[i];
}

static inline void put_index(macko_piece *p, int wide, int64_t i, int64_t value)
{
  if (wide) ((int64_t *)p->indices)[i] = value;
  else ((int32_t *)p->indices)[i] = (int32_t)value;
}

macko_status macko_add_entry(macko_entries *e, int64_t row, int64_t col, double value, macko_error *err)
{
  macko_piece *p = e->last;
  if (!p || p->count == PIECE) {
    p = malloc(sizeof *p + (size_t)PIECE * (e->wide ? 16 : 8));
    if (!p) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for more than %lld entries", (long long)e->count);
    p->next = NULL, p->count = 0;
    if (e->last) e->last->next = p;
    else e->first = p;
    e->last = p;
  }
  put_index(p, e->wide, p->count, row);
  put_index(p, e->wide, PIECE + p->count, col);
  p->values[p->count++] = value;
  e->count++;
  return MACKO_OK;
}

/* ---- to CSR ---- */

typedef struct {
  int64_t *next; /* where the next entry of a row goes */
  void *cols;
  double *values;
  int wide_cols;
} builder;

static inline int64_t get_col(const builder *b, int64_t p)
{
  return b->wide_cols ? ((const int64_t *)b->cols)[p] : ((const int32_t *)b->cols)[p];
}

static inline void put_entry(builder *b, int64_t p, int64_t col, double value)
{
  if (b->wide_cols) ((int64_t *)b->cols)[p] = col;
  else ((int32_t *)b->cols)[p] = (int32_t)col;
  b->values[p] = value;
}

static void count_rows(const macko_entries *e, int64_t *counts)
{
  for (const macko_piece *p = e->first; p; p = p->next)
    for (int64_t i = 0; i < p->count; i++) {
      int64_t row = get_index(p, e->wide, i), col = get_index(p, e->wide, PIECE + i);
      counts[row + 1]++;
      if (e->symmetry != MACKO_GENERAL && row != col) counts[col + 1]++;
    }
}

static void scatter(macko_entries *e, builder *b)
{
  for (; e->first; drop_first(e))
    for (int64_t i = 0; i < e->first->count; i++) {
      int64_t row = get_index(e->first, e->wide, i), col = get_index(e->first, e->wide, PIECE + i);
      double value = e->first->values[i];
      put_entry(b, b->next[row]++, col, value);
      if (e->symmetry != MACKO_GENERAL && row != col)
        put_entry(b, b->next[col]++, row, e->symmetry == MACKO_SKEW ? -value : value);
    }
  e->last = NULL;
}

typedef struct {
  int64_t col, place;
  double value;
} row_entry;

static int by_col_then_place(const void *x, const void *y)
{
  const row_entry *a = x, *b = y;
  if (a->col != b->col) return a->col < b->col ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static int is_sorted(const builder *b, int64_t begin, int64_t end)
{
  for (int64_t p = begin + 1; p < end; p++)
    if (get_col(b, p) <= get_col(b, p - 1)) return 0;
  return 1;
}

/* Sorts a row and adds duplicates; the row moves down to *to, which moves on. */
static macko_status settle_row(builder *b, int64_t begin, int64_t end, int64_t *to, macko_error *err)
{
  if (is_sorted(b, begin, end)) {
    for (int64_t p = begin; p < end; p++, ++*to)
      if (*to != p) put_entry(b, *to, get_col(b, p), b->values[p]);
    return MACKO_OK;
  }
  row_entry *row = malloc((size_t)(end - begin) * sizeof *row);
  if (!row) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to sort a row of %lld entries", (long long)(end - begin));
  for (int64_t p = begin; p < end; p++) row[p - begin] = (row_entry){get_col(b, p), p, b->values[p]};
  qsort(row, (size_t)(end - begin), sizeof *row, by_col_then_place);
  for (int64_t i = 0; i < end - begin; i++) {
    if (i && row[i].col == row[i - 1].col) b->values[*to - 1] += row[i].value;
    else put_entry(b, (*to)++, row[i].col, row[i].value);
  }
  free(row);
  return MACKO_OK;
}

/* row_ptr[i + 1] holds the end of row i as scattered; afterwards as settled. */
static macko_status settle(int64_t nrows, int64_t *row_ptr, builder *b, macko_error *err)
{
  int64_t to = 0, begin = 0;
  macko_status s = MACKO_OK;
  for (int64_t i = 0; !s && i < nrows; i++) {
    int64_t end = row_ptr[i + 1];
    s = settle_row(b, begin, end, &to, err);
    begin = end;
    row_ptr[i + 1] = to;
  }
  return s;
}

/* 32-bit row pointers in the first half of the same memory. */
static void narrow_row_ptr(int64_t nrows, macko_csr *csr)
{
  int64_t *wide = (int64_t *)csr->row_ptr;
  if (wide[nrows] > INT32_MAX) return;
  for (int64_t i = 0; i <= nrows; i++) {
    int32_t small = (int32_t)wide[i];
    memcpy((char *)wide + 4 * i, &small, sizeof small);
  }
  void *smaller = realloc(wide, (size_t)(nrows + 1) * sizeof(int32_t));
  csr->row_ptr = smaller ? smaller : wide;
  csr->row_ptr_type = MACKO_I32;
}

macko_status macko_entries_to_csr(macko_entries *e, const char *path, macko_csr *csr, macko_error *err)
{
  int64_t most = e->symmetry == MACKO_GENERAL ? e->count : 2 * e->count;
  if (e->nrows / 1000 > e->count + 1000000)
    return macko_fail(err, MACKO_PARSE, "%s: %lld rows are declared for %lld entries: implausible, nothing was allocated", path,
                      (long long)e->nrows, (long long)e->count);
  builder b = {.wide_cols = e->ncols > INT32_MAX};
  int64_t *row_ptr = calloc((size_t)e->nrows + 2, sizeof *row_ptr);
  if (row_ptr) {
    count_rows(e, row_ptr + 1); /* one place ahead: row_ptr[i + 1] is where row i goes on, and ends as its end */
    for (int64_t i = 0; i < e->nrows; i++) row_ptr[i + 2] += row_ptr[i + 1];
    most = row_ptr[e->nrows + 1];
  }
  b.cols = malloc((size_t)most * (b.wide_cols ? 8 : 4) + 8);
  b.values = malloc((size_t)most * sizeof(double) + 8);
  macko_status s = MACKO_OK;
  if (!row_ptr || !b.cols || !b.values)
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory for a matrix of %lld rows and %lld nonzeros", path, (long long)e->nrows,
                   (long long)most);
  else {
    b.next = row_ptr + 1;
    scatter(e, &b);
    s = settle(e->nrows, row_ptr, &b, err);
  }
  if (s) {
    free(row_ptr), free(b.cols), free(b.values);
    return s;
  }
  *csr = (macko_csr){.nrows = e->nrows, .ncols = e->ncols, .row_ptr_type = MACKO_I64,
                     .col_type = b.wide_cols ? MACKO_I64 : MACKO_I32, .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = b.cols,
                     .values = b.values};
  narrow_row_ptr(e->nrows, csr);
  return MACKO_OK;
}
