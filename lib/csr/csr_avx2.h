/* y = alpha A x + beta y of a matrix of f64 or f32 values with 32-bit columns and 1, 2 or 4 f64 vectors, or of f32 values and
 * vectors, with AVX2. Sums are f64. A row is taken four entries at a time; its last vector reads on into the next row, whose
 * columns are just as valid, and leaves those products out: no branch depends on how long a row is beyond the number of its
 * vectors, and where rows are short not on that either (csr_block.h). Vectors of eight, with AVX-512, were no faster (Zen 4): x is
 * loaded element by element either way, and a longer vector wastes more of a row's end. */
enum { CSR_AHEAD = 12288 }; /* bytes ahead that are prefetched, into the first-level cache: three pages */

/* A register of CSR_WIDTH doubles. */
typedef double csr_vector __attribute__((vector_size(8 * CSR_WIDTH)));

/* Four columns of a row. They are read two at a time, because loads are what there are too few of. */
typedef struct {
  uint32_t at[CSR_WIDTH];
} csr_columns;

/* Reads CSR_WIDTH columns from there on. x86 is little-endian, so that the first of two is in the lower half. */
static inline __attribute__((always_inline)) csr_columns csr_columns_at(const int32_t *cols)
{
  uint64_t pairs[CSR_WIDTH / 2];
  memcpy(pairs, cols, sizeof pairs);
  return (csr_columns){{(uint32_t)pairs[0], (uint32_t)(pairs[0] >> 32), (uint32_t)pairs[1], (uint32_t)(pairs[1] >> 32)}};
}

/* Reads four values as doubles, whatever they are stored as; they need not be aligned. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_values_at(macko_type stored, const char *values, csr_vector *to)
{
  typedef double doubles __attribute__((vector_size(8 * CSR_WIDTH), aligned(8), may_alias));
  if (stored == MACKO_F64) *to = *(const doubles *)values;
  else *to = (csr_vector)_mm256_cvtps_pd(_mm_loadu_ps((const float *)values));
}

/* Loads the elements of four columns of a vector as doubles. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_x_at(macko_type vector, const void *x, csr_columns c,
                                                                      csr_vector *to)
{
  const double *d = x;
  const float *f = x;
  if (vector == MACKO_F64) *to = (csr_vector){d[c.at[0]], d[c.at[1]], d[c.at[2]], d[c.at[3]]};
  else *to = (csr_vector)_mm256_cvtps_pd(_mm_setr_ps(f[c.at[0]], f[c.at[1]], f[c.at[2]], f[c.at[3]]));
}

/* This is what a loop multiplies, constants in each: how values and vectors are stored, whether memory is waited for, and how many
 * vectors there are. */
typedef struct {
  macko_type stored, vector;
  int ahead, group;
} csr_kind;

/* Asks for values and columns two pages ahead, where the hardware does not look, and into the second-level cache only: the misses
 * that the first level can wait for are needed for x. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_prefetch(const char *values, const int32_t *cols)
{
  __builtin_prefetch(values + CSR_AHEAD, 0, 3);
  __builtin_prefetch((const char *)cols + CSR_AHEAD, 0, 3);
}

/* Gives sum + v * at, rounded once. */
static inline __attribute__((always_inline)) MACKO_AVX2 csr_vector csr_fma(csr_vector v, csr_vector at, csr_vector sum)
{
  return (csr_vector)_mm256_fmadd_pd((__m256d)v, (__m256d)at, (__m256d)sum);
}

/* Gives the first `left` elements of `next` and the others of `sum`. */
static inline __attribute__((always_inline)) MACKO_AVX2 csr_vector csr_first(int64_t left, csr_vector next, csr_vector sum)
{
  typedef int64_t integers __attribute__((vector_size(8 * CSR_WIDTH)));
  const integers count = {0, 1, 2, 3};
  return (csr_vector)_mm256_blendv_pd((__m256d)sum, (__m256d)next, (__m256d)(count < left));
}

/* Adds the products of four entries with each vector of a group. Where `last` is 1 only the first `left` of them belong to the row;
 * the others are left out and not multiplied by 0, because x may hold a NaN there. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_add(csr_kind k, const char *values, const int32_t *cols,
                                                                     const void *const *x, int last, int64_t left, csr_vector *sum)
{
  const csr_columns c = csr_columns_at(cols);
  csr_vector v, at;
  csr_values_at(k.stored, values, &v);
#pragma GCC unroll 4
  for (int j = 0; j < k.group; j++) {
    csr_x_at(k.vector, x[j], c, &at);
    const csr_vector next = csr_fma(v, at, sum[j]);
    sum[j] = last ? csr_first(left, next, sum[j]) : next;
  }
}

/* Adds up entries p to end - 1 of a row, which may be none, in four partial sums a vector. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_row(csr_kind k, const char *values, const int32_t *cols,
                                                                     const void *const *x, int64_t p, int64_t end, csr_vector *sum)
{
  const int64_t size = k.stored == MACKO_F64 ? 8 : 4;
  if (p >= end) return;
  for (; p < end - CSR_WIDTH; p += CSR_WIDTH) {
    if (k.ahead) csr_prefetch(values + p * size, cols + p);
    csr_add(k, values + p * size, cols + p, x, 0, 0, sum);
  }
  if (k.ahead) csr_prefetch(values + p * size, cols + p);
  csr_add(k, values + p * size, cols + p, x, 1, end - p, sum);
}

/* Gives alpha all + beta y, rounded as csr_put_four does: which rows are put together has no part in the result. */
static inline __attribute__((always_inline)) MACKO_AVX2 double csr_scaled(double alpha, double all, double beta, double y)
{
  return beta == 0 ? alpha * all : __builtin_fma(alpha, all, beta * y);
}

/* Adds up the partial sums of row i and puts the result into y. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_put(macko_type vector, void *y, int64_t i, double alpha,
                                                                     double beta, csr_vector sum)
{
  const double all = (sum[0] + sum[2]) + (sum[1] + sum[3]);
  double *d = (double *)y + i;
  float *f = (float *)y + i;
  if (vector == MACKO_F64) *d = csr_scaled(alpha, all, beta, beta == 0 ? 0 : *d);
  else *f = (float)csr_scaled(alpha, all, beta, beta == 0 ? 0 : *f);
}

/* Does the same for rows i .. i + 3, whose partial sums it adds up together: of short rows that is a good part of the time. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_put_four(macko_type vector, void *y, int64_t i, double alpha,
                                                                          double beta, const csr_vector sum[CSR_WIDTH])
{
  const __m256d a = (__m256d)sum[0], b = (__m256d)sum[1], c = (__m256d)sum[2], d = (__m256d)sum[3];
  const __m256d ab = _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
  const __m256d cd = _mm256_add_pd(_mm256_permute2f128_pd(c, d, 0x20), _mm256_permute2f128_pd(c, d, 0x31));
  const __m256d acbd = _mm256_add_pd(_mm256_unpacklo_pd(ab, cd), _mm256_unpackhi_pd(ab, cd));
  const __m256d sums = _mm256_permute4x64_pd(acbd, 0xd8), factor = _mm256_set1_pd(alpha);
  double *to = (double *)y + i;
  float *narrow = (float *)y + i;
  __m256d all;
  if (beta == 0) all = _mm256_mul_pd(factor, sums);
  else {
    const __m256d before = vector == MACKO_F64 ? _mm256_loadu_pd(to) : _mm256_cvtps_pd(_mm_loadu_ps(narrow));
    all = _mm256_fmadd_pd(factor, sums, _mm256_mul_pd(_mm256_set1_pd(beta), before));
  }
  if (vector == MACKO_F64) _mm256_storeu_pd(to, all);
  else _mm_storeu_ps(narrow, _mm256_cvtpd_ps(all));
}

/* Multiplies rows from .. to - 1, four at a time where there is one vector. Only those at the end of the arrays, where the last
 * step would read beyond them, go one entry at a time. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_rows(csr_kind k, const csr_view *a, const macko_product *q,
                                                                      int64_t from, int64_t to)
{
  const macko_type type = a->row_ptr_type;
  const int64_t last = a->nnz - CSR_WIDTH + 1; /* rows that end up to here have a last vector that stays inside the arrays */
  const void *row_ptr = a->row_ptr, *x[CSR_GROUP];
  const int32_t *cols = a->cols;
  const char *values = a->values;
  const double alpha = q->alpha, beta = q->beta; /* in registers, so that no element of y is taken for a part of *q */
  void *y[CSR_GROUP];
  int64_t i = from, p = macko_index(type, row_ptr, from), end;
#pragma GCC unroll 4
  for (int j = 0; j < k.group; j++) x[j] = macko_x_of(k.vector, q, j), y[j] = macko_y_of(k.vector, q, j);
  for (; k.group == 1 && i + CSR_WIDTH <= to && macko_index(type, row_ptr, i + CSR_WIDTH) <= last; i += CSR_WIDTH) {
    csr_vector sum[CSR_WIDTH] = {{0}};
#pragma GCC unroll 4
    for (int r = 0; r < CSR_WIDTH; r++, p = end) {
      end = macko_index(type, row_ptr, i + r + 1);
      csr_row(k, values, cols, x, p, end, sum + r);
    }
    csr_put_four(k.vector, y[0], i, alpha, beta, sum);
  }
  for (; i < to; i++, p = end) {
    csr_vector sum[CSR_GROUP] = {{0}};
    end = macko_index(type, row_ptr, i + 1);
    if (__builtin_expect(end <= last, 1)) csr_row(k, values, cols, x, p, end, sum);
    else
      for (; p < end; p++)
#pragma GCC unroll 4
        for (int j = 0; j < k.group; j++)
          sum[j][0] += macko_float_at(k.stored, values, p) * macko_float_at(k.vector, x[j], cols[p]);
#pragma GCC unroll 4
    for (int j = 0; j < k.group; j++) csr_put(k.vector, y[j], i, alpha, beta, sum[j]);
  }
}
