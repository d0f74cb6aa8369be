/* Y = alpha A X + beta Y of a matrix of f64 or f32 values with 32-bit columns and f64 vectors, with AVX2: the elements that four
 * vectors have in one place are put side by side first, so that an entry takes one load of all of them. */

/* A product of three or four vectors: the matrix, the vectors, of which `columns` are there, and the elements of X side by side,
 * one csr_vector for each column of the matrix. */
typedef struct {
  csr_view a;
  macko_product p;
  int columns;
  macko_type stored;
  csr_vector *side_by_side;
} csr_packing;

/* Puts elements from .. to - 1 of the vectors side by side. */
static MACKO_AVX2 void csr_pack(void *context, int part, int64_t from, int64_t to)
{
  const csr_packing *c = context;
  const double *x[CSR_WIDTH];
  (void)part;
  /* Any other vector stands in for one that is not there, whose sums nobody reads. */
  for (int j = 0; j < CSR_WIDTH; j++) x[j] = (const double *)c->p.x + (j < c->columns ? j : 0) * c->p.ldx;
  for (int64_t i = from; i < to; i++) c->side_by_side[i] = (csr_vector){x[0][i], x[1][i], x[2][i], x[3][i]};
}

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

/* Multiplies rows from .. to - 1, as csr_rows does. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_packed_rows(const csr_packing *c, macko_type stored, int64_t from,
                                                                             int64_t to)
{
  const macko_type type = c->a.row_ptr_type;
  const int64_t last = c->a.nnz - CSR_WIDTH + 1, ldy = c->p.ldy;
  const double alpha = c->p.alpha, beta = c->p.beta;
  for (int64_t i = from, p = macko_index(type, c->a.row_ptr, from), end; i < to; i++, p = end) {
    csr_vector all = {0};
    double *y = (double *)c->p.y + i;
    end = macko_index(type, c->a.row_ptr, i + 1);
    if (end <= last) all = csr_packed_row(stored, c->a.values, c->a.cols, c->side_by_side, p, end);
    else
      for (; p < end; p++) all += macko_float_at(stored, c->a.values, p) * c->side_by_side[c->a.cols[p]];
    for (int j = 0; j < c->columns; j++) y[j * ldy] = csr_scaled(alpha, all[j], beta, beta == 0 ? 0 : y[j * ldy]);
  }
}

/* This is the macko_part of it, and makes a constant of the stored type. */
static MACKO_AVX2 void csr_multiply_packed(void *context, int part, int64_t from, int64_t to)
{
  const csr_packing *c = context;
  (void)part;
  if (c->stored == MACKO_F64) csr_packed_rows(c, MACKO_F64, from, to);
  else csr_packed_rows(c, MACKO_F32, from, to);
}
