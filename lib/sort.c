/* Checks a caller's CSR and brings it into the one form that encoders read: sorted rows, duplicates added. */
#include "format.h"

#include <stdlib.h>
#include <string.h>

static int64_t index_at(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

typedef struct {
  int64_t col, place;
} entry;

static int by_col_then_place(const void *a, const void *b)
{
  const entry *p = a, *q = b;
  if (p->col != q->col) return p->col < q->col ? -1 : 1;
  return p->place < q->place ? -1 : p->place > q->place;
}

static macko_status check(const macko_csr *c, macko_error *err)
{
  if (c->nrows < 0 || c->ncols < 0)
    return macko_fail(err, MACKO_INVALID_MATRIX, "the size %lld x %lld is negative", (long long)c->nrows, (long long)c->ncols);
  if ((c->row_ptr_type != MACKO_I32 && c->row_ptr_type != MACKO_I64) || (c->col_type != MACKO_I32 && c->col_type != MACKO_I64))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "index types %d and %d must be i32 or i64", c->row_ptr_type, c->col_type);
  if (c->value_type != MACKO_F64 && c->value_type != MACKO_F32)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "value type %d is neither f64 nor f32", c->value_type);
  if (!c->row_ptr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "row_ptr must not be NULL");
  int64_t start = index_at(c->row_ptr_type, c->row_ptr, 0);
  if (start) return macko_fail(err, MACKO_INVALID_MATRIX, "row_ptr[0] is %lld and must be 0", (long long)start);
  for (int64_t i = 0; i < c->nrows; i++) {
    int64_t end = index_at(c->row_ptr_type, c->row_ptr, i + 1);
    if (end < start)
      return macko_fail(err, MACKO_INVALID_MATRIX, "row_ptr falls from %lld to %lld at row %lld", (long long)start, (long long)end,
                        (long long)i);
    start = end;
  }
  if (start && (!c->cols || !c->values))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "cols and values must not be NULL with %lld nonzeros", (long long)start);
  for (int64_t i = 0; i < c->nrows; i++)
    for (int64_t p = index_at(c->row_ptr_type, c->row_ptr, i); p < index_at(c->row_ptr_type, c->row_ptr, i + 1); p++) {
      int64_t col = index_at(c->col_type, c->cols, p);
      if (col < 0 || col >= c->ncols)
        return macko_fail(err, MACKO_INVALID_MATRIX, "column %lld at entry %lld of row %lld is outside 0..%lld", (long long)col,
                          (long long)p, (long long)i, (long long)c->ncols - 1);
    }
  return MACKO_OK;
}

static void append(const macko_csr *c, int64_t place, int add, void *values, int64_t to)
{
  if (c->value_type == MACKO_F64) {
    double v = ((const double *)c->values)[place], *out = values;
    if (add) out[to] += v;
    else memcpy(out + to, (const double *)c->values + place, sizeof v);
  } else {
    float *out = values;
    if (add) out[to] += ((const float *)c->values)[place];
    else memcpy(out + to, (const float *)c->values + place, sizeof *out);
  }
}

macko_status macko_sort_csr(const macko_csr *c, macko_sorted_csr *sorted, macko_error *err)
{
  macko_status s = check(c, err);
  if (s) return s;
  int64_t nnz = index_at(c->row_ptr_type, c->row_ptr, c->nrows), longest = 0, count = 0;
  for (int64_t i = 0; i < c->nrows; i++) {
    int64_t length = index_at(c->row_ptr_type, c->row_ptr, i + 1) - index_at(c->row_ptr_type, c->row_ptr, i);
    if (length > longest) longest = length;
  }
  int64_t *row_ptr = malloc((size_t)(c->nrows + 1) * sizeof *row_ptr), *cols = malloc((size_t)(nnz + 1) * sizeof *cols);
  void *values = malloc((size_t)(nnz + 1) * (size_t)macko_type_bytes(c->value_type));
  entry *row = malloc((size_t)(longest + 1) * sizeof *row);
  if (!row_ptr || !cols || !values || !row) {
    free(row_ptr), free(cols), free(values), free(row);
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to sort a matrix of %lld nonzeros", (long long)nnz);
  }
  row_ptr[0] = 0;
  for (int64_t i = 0; i < c->nrows; i++) {
    int64_t begin = index_at(c->row_ptr_type, c->row_ptr, i), length = index_at(c->row_ptr_type, c->row_ptr, i + 1) - begin;
    int unsorted = 0;
    for (int64_t p = 0; p < length; p++) {
      row[p] = (entry){index_at(c->col_type, c->cols, begin + p), begin + p};
      if (p && row[p].col < row[p - 1].col) unsorted = 1;
    }
    if (unsorted) qsort(row, (size_t)length, sizeof *row, by_col_then_place);
    for (int64_t p = 0; p < length; p++) {
      int same = p && row[p].col == row[p - 1].col;
      if (!same) cols[count++] = row[p].col;
      append(c, row[p].place, same, values, count - 1);
    }
    row_ptr[i + 1] = count;
  }
  free(row);
  *sorted = (macko_sorted_csr){c->nrows, c->ncols, count, row_ptr, cols, values, c->value_type};
  return MACKO_OK;
}

void macko_sorted_free(macko_sorted_csr *sorted)
{
  free((void *)sorted->row_ptr);
  free((void *)sorted->cols);
  free((void *)sorted->values);
  *sorted = (macko_sorted_csr){0};
}
