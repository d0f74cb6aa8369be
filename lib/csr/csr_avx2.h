/* y = alpha A x + beta y of a matrix of f64 or f32 values with 32-bit columns and one f64 vector, with AVX2. A row is taken four
 * entries at a time; its last vector reads on into the next row, whose columns are just as valid, and leaves those products out:
 * no branch depends on how long a row is beyond the number of its vectors. Vectors of eight, with AVX-512, were no faster (Zen
 * 4): x is loaded element by element either way, and a longer vector wastes more of a row's end. */
enum { CSR_WIDTH = 4, CSR_AHEAD = 8192 }; /* bytes prefetched ahead: two pages */
typedef double csr_vector __attribute__((vector_size(8 * CSR_WIDTH)));

/* Values times x. Columns are read two at a time: loads are what there are too few of. */
static inline __attribute__((always_inline)) MACKO_AVX2 csr_vector csr_terms(macko_type stored, const char *values,
                                                                             const int32_t *cols, const double *x)
{
  typedef double doubles __attribute__((vector_size(8 * CSR_WIDTH), aligned(8), may_alias));
  uint64_t c[CSR_WIDTH / 2];
  memcpy(c, cols, sizeof c);
  csr_vector at = {x[(uint32_t)c[0]], x[c[0] >> 32], x[(uint32_t)c[1]], x[c[1] >> 32]};
  if (stored == MACKO_F64) return at * *(const doubles *)values;
  return at * (csr_vector)_mm256_cvtps_pd(_mm_loadu_ps((const float *)values));
}

/* Two pages ahead, where the hardware does not look, and into the second-level cache only: the misses that the first level can
 * wait for are needed for x. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_prefetch(const char *values, const int32_t *cols)
{
  __builtin_prefetch(values + CSR_AHEAD, 0, 2);
  __builtin_prefetch((const char *)cols + CSR_AHEAD, 0, 2);
}

/* The sum over entries p to end - 1, which may be none. */
static inline __attribute__((always_inline)) MACKO_AVX2 double csr_row(macko_type stored, const char *values,
                                                                       const int32_t *cols, const double *x, int64_t p,
                                                                       int64_t end, int ahead)
{
  typedef int64_t integers __attribute__((vector_size(8 * CSR_WIDTH)));
  const int64_t size = stored == MACKO_F64 ? 8 : 4;
  const integers count = {0, 1, 2, 3};
  csr_vector sum = {0};
  if (p >= end) return 0;
  for (; p < end - CSR_WIDTH; p += CSR_WIDTH) {
    if (ahead) csr_prefetch(values + p * size, cols + p);
    sum += csr_terms(stored, values + p * size, cols + p, x);
  }
  if (ahead) csr_prefetch(values + p * size, cols + p);
  sum += (csr_vector)((integers)csr_terms(stored, values + p * size, cols + p, x) & (count < end - p));
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

static inline __attribute__((always_inline)) MACKO_AVX2 void csr_rows(const csr_view *a, const macko_product *q, int64_t from,
                                                                      int64_t to, macko_type stored, int ahead)
{
  const macko_type type = a->row_ptr_type;
  const int64_t last = a->nnz - CSR_WIDTH + 1; /* where rows end whose last vector stays inside the arrays */
  const void *row_ptr = a->row_ptr;
  const int32_t *cols = a->cols;
  const char *values = a->values;
  const double *x = q->x, alpha = q->alpha, beta = q->beta;
  double *y = q->y;
  for (int64_t i = from, p = macko_index(type, row_ptr, from), end; i < to; i++, p = end) {
    double sum = 0;
    end = macko_index(type, row_ptr, i + 1);
    if (end <= last) sum = csr_row(stored, values, cols, x, p, end, ahead);
    else
      for (; p < end; p++) sum += macko_float_at(stored, values, p) * x[cols[p]];
    y[i] = beta == 0 ? alpha * sum : alpha * sum + beta * y[i];
  }
}

#define DEFINE(name, stored, ahead) \
  static __attribute__((noinline)) MACKO_AVX2 void name(const csr_view *a, const macko_product *q, int64_t from, int64_t to) \
  { \
    csr_rows(a, q, from, to, stored, ahead); \
  }
DEFINE(csr_doubles, MACKO_F64, 0)
DEFINE(csr_doubles_ahead, MACKO_F64, 1)
DEFINE(csr_singles, MACKO_F32, 0)
DEFINE(csr_singles_ahead, MACKO_F32, 1)
#undef DEFINE
