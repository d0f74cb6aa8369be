/* y = alpha A x + beta y of a matrix of f64 or f32 values with 32-bit columns and one f64 vector, included once a vector width
 * (see macko_slice_kernel.h). A row is taken WIDTH entries at a time; its last vector reads on into the next row, whose columns
 * are just as valid, and leaves those products out: no branch depends on how long a row is beyond the number of its vectors. */
typedef double NAME(csr_vector) __attribute__((vector_size(8 * WIDTH)));

/* Columns two at a time: loads are what there are too few of. */
static inline __attribute__((always_inline)) TARGET NAME(csr_vector) NAME(csr_gather)(const double *x, const int32_t *cols)
{
  uint64_t c[WIDTH / 2];
  memcpy(c, cols, sizeof c);
#if WIDTH == 8
  return (NAME(csr_vector)){x[(uint32_t)c[0]], x[c[0] >> 32], x[(uint32_t)c[1]], x[c[1] >> 32],
                            x[(uint32_t)c[2]], x[c[2] >> 32], x[(uint32_t)c[3]], x[c[3] >> 32]};
#else
  return (NAME(csr_vector)){x[(uint32_t)c[0]], x[c[0] >> 32], x[(uint32_t)c[1]], x[c[1] >> 32]};
#endif
}

/* Values p .. p + WIDTH - 1. */
static inline __attribute__((always_inline)) TARGET NAME(csr_vector) NAME(csr_values)(const csr_view *a, macko_type stored,
                                                                                      int64_t p)
{
  typedef double doubles __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
  typedef float singles __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
  if (stored == MACKO_F64) return *(const doubles *)((const double *)a->values + p);
  return __builtin_convertvector(*(const singles *)((const float *)a->values + p), NAME(csr_vector));
}

static inline __attribute__((always_inline)) TARGET void NAME(csr_rows)(const csr_view *a, const macko_product *q, int64_t from,
                                                                        int64_t to, macko_type stored, int ahead)
{
  typedef NAME(csr_vector) vector;
  typedef int64_t integers __attribute__((vector_size(8 * WIDTH)));
  const int64_t size = macko_type_bytes(stored);
  const double *x = q->x;
  double *y = q->y;
#if WIDTH == 8
  const integers count = {0, 1, 2, 3, 4, 5, 6, 7};
#else
  const integers count = {0, 1, 2, 3};
#endif
  for (int64_t i = from; i < to; i++) {
    int64_t p = macko_index(a->row_ptr_type, a->row_ptr, i), end = macko_index(a->row_ptr_type, a->row_ptr, i + 1);
    vector sum = {0};
    double total = 0;
    for (; p < end && p + WIDTH <= a->nnz; p += WIDTH) {
      /* A page ahead, where the hardware does not look, and into the second-level cache only: the misses that the first level can
       * wait for are needed for x. */
      if (ahead) __builtin_prefetch((const char *)a->values + p * size + 4096, 0, 2);
      if (ahead) __builtin_prefetch(a->cols + p + 1024, 0, 2);
      vector term = NAME(csr_values)(a, stored, p) * NAME(csr_gather)(x, a->cols + p);
      sum += (vector)((integers)term & (count < end - p));
    }
    for (; p < end; p++) total += macko_float_at(stored, a->values, p) * x[a->cols[p]];
#if WIDTH == 8
    total += ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
#else
    total += (sum[0] + sum[2]) + (sum[1] + sum[3]);
#endif
    y[i] = q->beta == 0 ? q->alpha * total : q->alpha * total + q->beta * y[i];
  }
}

static __attribute__((noinline)) TARGET void NAME(csr_doubles)(const csr_view *a, const macko_product *q, int64_t from,
                                                               int64_t to)
{
  if (a->cached) NAME(csr_rows)(a, q, from, to, MACKO_F64, 0);
  else NAME(csr_rows)(a, q, from, to, MACKO_F64, 1);
}

static __attribute__((noinline)) TARGET void NAME(csr_singles)(const csr_view *a, const macko_product *q, int64_t from,
                                                               int64_t to)
{
  if (a->cached) NAME(csr_rows)(a, q, from, to, MACKO_F32, 0);
  else NAME(csr_rows)(a, q, from, to, MACKO_F32, 1);
}
