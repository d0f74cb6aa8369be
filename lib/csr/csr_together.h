/* y = alpha A x + beta y of one vector, of a matrix whose rows share columns (csr_shared.h), with AVX2: CSR_WIDTH elements of x are
 * loaded once for all rows of a group. Each row has the sums and roundings of csr_row. */

/* Adds up the entries of `rows` rows of n entries each, whose values follow each other. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_group(csr_kind k, int rows, const char *values,
                                                                       const int32_t *cols, const void *x, int64_t n,
                                                                       csr_vector *sum)
{
  const int64_t size = k.stored == MACKO_F64 ? 8 : 4;
  int64_t p = 0;
  csr_vector v, at;
  for (; p < n - CSR_WIDTH; p += CSR_WIDTH) {
    csr_x_at(k.vector, x, csr_columns_at(cols + p), &at);
    if (k.ahead) __builtin_prefetch((const char *)(cols + p) + CSR_AHEAD / 4, 0, 3);
#pragma GCC unroll 6
    for (int r = 0; r < rows; r++) {
      const char *of_row = values + (r * n + p) * size;
      if (k.ahead) __builtin_prefetch(of_row + CSR_AHEAD, 0, 3);
      csr_values_at(k.stored, of_row, &v);
      sum[r] = csr_fma(v, at, sum[r]);
    }
  }
  csr_x_at(k.vector, x, csr_columns_at(cols + p), &at);
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) {
    csr_values_at(k.stored, values + (r * n + p) * size, &v);
    sum[r] = csr_first(n - p, csr_fma(v, at, sum[r]), sum[r]);
  }
}

/* Multiplies a group of so many rows from row i on, which is a constant. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_rows_together(csr_kind k, int rows, const csr_view *a,
                                                                               const macko_product *q, const int32_t *cols,
                                                                               int64_t i, int64_t begin, int64_t n)
{
  const int64_t size = k.stored == MACKO_F64 ? 8 : 4;
  csr_vector sum[CSR_TOGETHER] = {{0}};
  if (n) csr_group(k, rows, (const char *)a->values + begin * size, cols, macko_x_of(k.vector, q, 0), n, sum);
#pragma GCC unroll 6
  for (int r = 0; r < rows; r++) csr_put(k.vector, macko_y_of(k.vector, q, 0), i + r, q->alpha, q->beta, sum[r]);
}

/* Multiplies rows from .. to - 1. Rows of groups that reach beyond them go row by row, with the columns of the sections, and so do
 * those at the end of the arrays, where the last step would read beyond them. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_rows_shared(csr_kind k, const csr_view *a, const csr_shared *s,
                                                                             const macko_product *q, int64_t from, int64_t to)
{
  const int64_t last = a->nnz - CSR_WIDTH + 1;
  const csr_mark mark = s->marks[from / CSR_MARK];
  int64_t row = mark.row, g = mark.group;
  const int32_t *cols = s->cols + mark.col;
  if (row > from) csr_rows(k, a, q, from, row < to ? row : to);
  for (int64_t begin = macko_index(a->row_ptr_type, a->row_ptr, row), past; row < to; row = past, g++) {
    const int64_t n = macko_index(a->row_ptr_type, a->row_ptr, row + 1) - begin, end = begin + s->rows[g] * n;
    past = row + s->rows[g];
    if (row < from || past > to || end > last) {
      if (past > from) csr_rows(k, a, q, row < from ? from : row, past < to ? past : to);
    } else if (s->rows[g] == 1) csr_rows_together(k, 1, a, q, cols, row, begin, n);
    else if (s->rows[g] == 2) csr_rows_together(k, 2, a, q, cols, row, begin, n);
    else if (s->rows[g] == 3) csr_rows_together(k, 3, a, q, cols, row, begin, n);
    else if (s->rows[g] == 4) csr_rows_together(k, 4, a, q, cols, row, begin, n);
    else if (s->rows[g] == 5) csr_rows_together(k, 5, a, q, cols, row, begin, n);
    else csr_rows_together(k, CSR_TOGETHER, a, q, cols, row, begin, n);
    cols += n, begin = end;
  }
}

#define DEFINE(name, stored, vector, ahead) \
  static __attribute__((noinline)) MACKO_AVX2 void name(const csr_view *a, const csr_shared *s, const macko_product *q, \
                                                        int64_t from, int64_t to) \
  { \
    csr_rows_shared((csr_kind){stored, vector, ahead, 1}, a, s, q, from, to); \
  }
DEFINE(csr_doubles_shared, MACKO_F64, MACKO_F64, 0)
DEFINE(csr_doubles_shared_ahead, MACKO_F64, MACKO_F64, 1)
DEFINE(csr_singles_shared, MACKO_F32, MACKO_F64, 0)
DEFINE(csr_singles_shared_ahead, MACKO_F32, MACKO_F64, 1)
DEFINE(csr_floats_shared, MACKO_F32, MACKO_F32, 0)
DEFINE(csr_floats_shared_ahead, MACKO_F32, MACKO_F32, 1)
#undef DEFINE

/* Multiplies rows from .. to - 1 with one vector. */
typedef void csr_shared_kernel(const csr_view *a, const csr_shared *s, const macko_product *q, int64_t from, int64_t to);

/* The kernels, by what they multiply, as csr_kernels, and by whether memory is waited for. */
static csr_shared_kernel *const csr_shared_kernels[3][2] = {{csr_doubles_shared, csr_doubles_shared_ahead},
                                                            {csr_singles_shared, csr_singles_shared_ahead},
                                                            {csr_floats_shared, csr_floats_shared_ahead}};
