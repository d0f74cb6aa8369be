/* Y = alpha A X + beta Y of a matrix of f64 or f32 values with 32-bit columns and three or four f64 vectors that lie side by side
 * (core/beside.h), with AVX2: an entry takes one load of the elements of all of them. */

/* Gives four times the same. */
static inline __attribute__((always_inline)) MACKO_AVX2 csr_vector csr_same(double value)
{
  return (csr_vector){value, value, value, value};
}

/* Gives the sums over entries p to end - 1 of four vectors, in the order and with the roundings of csr_row, whose lanes are here
 * one after another: a product of several vectors has the bits of one of each. */
static inline __attribute__((always_inline)) MACKO_AVX2 csr_vector csr_packed_row(macko_type stored, const void *values,
                                                                                  const int32_t *cols, const csr_vector *x,
                                                                                  int64_t p, int64_t end)
{
  csr_vector lane[CSR_WIDTH] = {{0}};
  if (p >= end) return lane[0];
  for (; p < end - CSR_WIDTH; p += CSR_WIDTH)
#pragma GCC unroll 4
    for (int t = 0; t < CSR_WIDTH; t++) lane[t] = csr_fma(csr_same(macko_float_at(stored, values, p + t)), x[cols[p + t]], lane[t]);
#pragma GCC unroll 4
  for (int t = 0; t < CSR_WIDTH; t++) {
    const csr_vector next = csr_fma(csr_same(macko_float_at(stored, values, p + t)), x[cols[p + t]], lane[t]);
    lane[t] = csr_first(t < end - p ? CSR_WIDTH : 0, next, lane[t]);
  }
  return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

/* Multiplies rows from .. to - 1, as csr_rows does; stored is a constant. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_packed_rows(const csr_view *a, macko_type stored,
                                                                             const macko_product *p, int64_t from, int64_t to)
{
  const int64_t last = a->nnz - CSR_WIDTH + 1, ldy = p->ldy, columns = p->k;
  const csr_vector *x = p->beside;
  const double alpha = p->alpha, beta = p->beta;
  for (int64_t i = from, e = macko_index(a->row_ptr_type, a->row_ptr, from), end; i < to; i++, e = end) {
    csr_vector all = {0};
    double *y = (double *)p->y + i;
    end = macko_index(a->row_ptr_type, a->row_ptr, i + 1);
    if (end <= last) all = csr_packed_row(stored, a->values, a->cols, x, e, end);
    else
      for (; e < end; e++) all += macko_float_at(stored, a->values, e) * x[a->cols[e]];
    for (int64_t j = 0; j < columns; j++) y[j * ldy] = csr_scaled(alpha, all[j], beta, beta == 0 ? 0 : y[j * ldy]);
  }
}

/* Makes a constant of the stored type. */
static MACKO_AVX2 void csr_multiply_packed(const csr_view *a, macko_type stored, const macko_product *p, int64_t from, int64_t to)
{
  if (stored == MACKO_F64) csr_packed_rows(a, MACKO_F64, p, from, to);
  else csr_packed_rows(a, MACKO_F32, p, from, to);
}
