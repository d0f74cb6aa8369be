/* Plain CSR: what no format improves, and the reference in every comparison. */
#include "format.h"

#include <stdio.h>
#include <string.h>

enum { ROW_PTR, COLS, VALUES };

/* Columns take 4 bytes unless the matrix is too wide for them; row pointers stay at 8. */
static macko_type col_type(int64_t ncols)
{
  return ncols > INT32_MAX ? MACKO_I64 : MACKO_I32;
}

static macko_status plan(const macko_sorted_csr *a, int64_t *bytes, char reason[160], macko_error *err)
{
  (void)err;
  *bytes = (a->nrows + 1) * 8 + a->nnz * (macko_type_bytes(col_type(a->ncols)) + macko_type_bytes(a->value_type));
  snprintf(reason, 160, "plain CSR: %lld bytes", (long long)*bytes);
  return MACKO_OK;
}

static macko_status encode(const macko_sorted_csr *a, macko_matrix *m, macko_error *err)
{
  macko_type type = col_type(a->ncols);
  macko_status s = macko_add_section(m, "row_ptr", MACKO_I64, a->nrows + 1, err);
  if (!s) s = macko_add_section(m, "cols", type, a->nnz, err);
  if (!s) s = macko_add_section(m, "values", a->value_type, a->nnz, err);
  if (s) return s;
  memcpy(m->sections[ROW_PTR].data, a->row_ptr, (size_t)m->sections[ROW_PTR].bytes);
  memcpy(m->sections[VALUES].data, a->values, (size_t)m->sections[VALUES].bytes);
  for (int64_t p = 0; p < a->nnz; p++)
    if (type == MACKO_I64) ((int64_t *)m->sections[COLS].data)[p] = a->cols[p];
    else ((int32_t *)m->sections[COLS].data)[p] = (int32_t)a->cols[p];
  return MACKO_OK;
}

static inline int64_t col_at(const macko_section *cols, int64_t p)
{
  return cols->type == MACKO_I64 ? ((const int64_t *)cols->data)[p] : ((const int32_t *)cols->data)[p];
}

static inline double number_at(macko_type type, const void *array, int64_t p)
{
  return type == MACKO_F64 ? ((const double *)array)[p] : ((const float *)array)[p];
}

static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  (void)err;
  if (row_ptr) memcpy(row_ptr, m->sections[ROW_PTR].data, (size_t)m->sections[ROW_PTR].bytes);
  if (values) memcpy(values, m->sections[VALUES].data, (size_t)m->sections[VALUES].bytes);
  for (int64_t p = 0; cols && p < m->nnz; p++) cols[p] = col_at(&m->sections[COLS], p);
  return MACKO_OK;
}

static macko_status validate(const macko_matrix *m, macko_error *err)
{
  const int64_t *row_ptr = m->sections[ROW_PTR].data;
  if (m->sections[ROW_PTR].bytes != (m->nrows + 1) * 8 || row_ptr[0] != 0 || row_ptr[m->nrows] != m->nnz ||
      m->sections[COLS].bytes != m->nnz * macko_type_bytes(col_type(m->ncols)) ||
      m->sections[VALUES].bytes != m->nnz * macko_type_bytes(m->value_type))
    return macko_fail(err, MACKO_CORRUPT, "the sections do not fit %lld rows and %lld nonzeros", (long long)m->nrows, (long long)m->nnz);
  for (int64_t i = 0; i < m->nrows; i++)
    if (row_ptr[i + 1] < row_ptr[i] || row_ptr[i + 1] > m->nnz)
      return macko_fail(err, MACKO_CORRUPT, "row_ptr is %lld after row %lld", (long long)row_ptr[i + 1], (long long)i);
  for (int64_t p = 0; p < m->nnz; p++)
    if (col_at(&m->sections[COLS], p) < 0 || col_at(&m->sections[COLS], p) >= m->ncols)
      return macko_fail(err, MACKO_CORRUPT, "column %lld at entry %lld is outside the matrix",
                        (long long)col_at(&m->sections[COLS], p), (long long)p);
  return MACKO_OK;
}

/* One body for every combination of types; callers pass constants, so each instance is specialised by the compiler. */
static inline __attribute__((always_inline)) void multiply_as(const macko_matrix *m, macko_op op, macko_type values, macko_type vector,
                                                              double alpha, const void *x, void *y)
{
  const int64_t *row_ptr = m->sections[ROW_PTR].data;
  for (int64_t i = 0; i < m->nrows; i++) {
    double sum = 0, xi = op == MACKO_OP_T ? alpha * number_at(vector, x, i) : 0;
    for (int64_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) {
      int64_t col = col_at(&m->sections[COLS], p);
      double v = number_at(values, m->sections[VALUES].data, p);
      if (op == MACKO_OP_N) sum += v * number_at(vector, x, col);
      else if (vector == MACKO_F64) ((double *)y)[col] += v * xi;
      else ((float *)y)[col] += (float)(v * xi);
    }
    if (op == MACKO_OP_T) continue;
    if (vector == MACKO_F64) ((double *)y)[i] += alpha * sum;
    else ((float *)y)[i] += (float)(alpha * sum);
  }
}

static void multiply(const macko_matrix *m, macko_op op, macko_type vector, double alpha, const void *x, void *y)
{
  if (m->value_type == MACKO_F64 && vector == MACKO_F64 && op == MACKO_OP_N)
    multiply_as(m, MACKO_OP_N, MACKO_F64, MACKO_F64, alpha, x, y);
  else multiply_as(m, op, m->value_type, vector, alpha, x, y);
}

const macko_format_ops macko_csr_ops = {plan, encode, decode, validate, multiply};
