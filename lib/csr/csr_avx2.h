/* y = alpha A x + beta y of a matrix of f64 or f32 values with 32-bit columns and 1, 2 or 4 f64 vectors, or of f32 values and
 * vectors, with AVX2. Sums are f64. A row is taken four entries at a time; its last vector reads on into the next row, whose
 * columns are just as valid, and leaves those products out: no branch depends on how long a row is beyond the number of its
 * vectors, and where rows are short not on that either (csr_steps). Vectors of eight, with AVX-512, were no faster (Zen 4): x is
 * loaded element by element either way, and a longer vector wastes more of a row's end. */
enum { CSR_AHEAD = 8192 }; /* how far ahead is prefetched: two pages */

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
  __builtin_prefetch(values + CSR_AHEAD, 0, 2);
  __builtin_prefetch((const char *)cols + CSR_AHEAD, 0, 2);
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

/* Adds up the partial sums of row i and puts the result into y. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_put(macko_type vector, void *y, int64_t i, double alpha,
                                                                     double beta, csr_vector sum)
{
  const double all = (sum[0] + sum[2]) + (sum[1] + sum[3]);
  double *d = (double *)y + i;
  float *f = (float *)y + i;
  if (vector == MACKO_F64) *d = beta == 0 ? alpha * all : alpha * all + beta * *d;
  else *f = (float)(beta == 0 ? alpha * all : alpha * all + beta * *f);
}

/* Multiplies rows from .. to - 1 one by one. Only those at the end of the arrays, where the last step would read beyond them, go
 * one entry at a time. */
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
#pragma GCC unroll 4
  for (int j = 0; j < k.group; j++) x[j] = macko_x_of(k.vector, q, j), y[j] = macko_y_of(k.vector, q, j);
  for (int64_t i = from, p = macko_index(type, row_ptr, from), end; i < to; i++, p = end) {
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

/* Multiplies CSR_BLOCK rows from row `from` on, each in so many steps, which is a constant and enough for all. Values ahead are
 * asked for once a row, and once more where rows may reach into the next line. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_block(csr_kind k, int steps, const csr_view *a,
                                                                     const macko_product *q, int64_t from)
{
  const int64_t size = k.stored == MACKO_F64 ? 8 : 4;
  const macko_type type = a->row_ptr_type;
  const void *row_ptr = a->row_ptr, *x[CSR_GROUP];
  const double alpha = q->alpha, beta = q->beta;
  void *y[CSR_GROUP];
#pragma GCC unroll 4
  for (int j = 0; j < k.group; j++) x[j] = macko_x_of(k.vector, q, j), y[j] = macko_y_of(k.vector, q, j);
  for (int64_t i = from, p = macko_index(type, row_ptr, from), end; i < from + CSR_BLOCK; i++, p = end) {
    csr_vector sum[CSR_GROUP] = {{0}};
    const char *values = (const char *)a->values + p * size;
    const int32_t *cols = a->cols + p;
    end = macko_index(type, row_ptr, i + 1);
    if (k.ahead) csr_prefetch(values, cols);
    if (k.ahead && steps > 2) __builtin_prefetch(values + CSR_AHEAD + 64, 0, 2);
#pragma GCC unroll 4
    for (int t = 0; t < CSR_WIDTH * steps; t += CSR_WIDTH) csr_add(k, values + t * size, cols + t, x, 1, end - p - t, sum);
#pragma GCC unroll 4
    for (int j = 0; j < k.group; j++) csr_put(k.vector, y[j], i, alpha, beta, sum[j]);
  }
}

/* Multiplies rows from .. to - 1. */
typedef void csr_kernel(const csr_view *a, const macko_product *q, int64_t from, int64_t to);

/* Multiplies a block of rows in so many steps. It is not inlined where rows go one by one, which takes all registers. */
typedef void csr_block_kernel(int steps, const csr_view *a, const macko_product *q, int64_t from);

/* Finds in how many steps the longest of CSR_BLOCK rows from row i on is taken, and all of them together. Lengths fit into 32 bits,
 * whatever row_ptr is of: it comes as a constant, for which the loop is done in vectors. */
static inline __attribute__((always_inline)) MACKO_AVX2 void csr_count(macko_type type, const void *row_ptr, int64_t i,
                                                                       uint32_t *most, uint32_t *all)
{
  for (int64_t r = i; r < i + CSR_BLOCK; r++) {
    const uint32_t length = type == MACKO_I32 ? ((const uint32_t *)row_ptr)[r + 1] - ((const uint32_t *)row_ptr)[r]
                                              : (uint32_t)(((const int64_t *)row_ptr)[r + 1] - ((const int64_t *)row_ptr)[r]);
    const uint32_t steps = (length + CSR_WIDTH - 1) / CSR_WIDTH;
    *most = steps > *most ? steps : *most, *all += steps;
  }
}

/* Gives the number of steps that each of CSR_BLOCK rows from row i on is to take, or 0 where rows go one by one. */
static MACKO_AVX2 int csr_steps(const csr_view *a, int ahead, int64_t i)
{
  const int64_t past = macko_index(a->row_ptr_type, a->row_ptr, i + CSR_BLOCK);
  const int64_t entries = past - macko_index(a->row_ptr_type, a->row_ptr, i);
  uint32_t most = 0, all = 0;
  int64_t waste;
  if (past > a->nnz - CSR_WIDTH * CSR_STEPS || entries > CSR_BLOCK * CSR_WIDTH * CSR_STEPS) return 0;
  if (a->row_ptr_type == MACKO_I32) csr_count(MACKO_I32, a->row_ptr, i, &most, &all);
  else csr_count(MACKO_I64, a->row_ptr, i, &most, &all);
  return macko_csr_one_number(most, all, ahead, &waste) ? (int)most : 0;
}

/* Multiplies rows from .. to - 1, CSR_BLOCK at a time where that is faster. */
static void csr_blocks(int ahead, csr_kernel *rows, csr_block_kernel *block, const csr_view *a, const macko_product *q,
                       int64_t from, int64_t to)
{
  for (int64_t i = from, steps; i + CSR_BLOCK <= to; i += CSR_BLOCK) {
    if (!(steps = csr_steps(a, ahead, i))) continue;
    if (from < i) rows(a, q, from, i);
    block((int)steps, a, q, i);
    from = i + CSR_BLOCK;
  }
  rows(a, q, from, to);
}

#define DEFINE(name, stored, vector, ahead, group) \
  static __attribute__((noinline)) MACKO_AVX2 void name##rows_##group(const csr_view *a, const macko_product *q, int64_t from, \
                                                                      int64_t to) \
  { \
    csr_rows((csr_kind){stored, vector, ahead, group}, a, q, from, to); \
  } \
  static __attribute__((noinline)) MACKO_AVX2 void name##block_##group(int steps, const csr_view *a, const macko_product *q, \
                                                                       int64_t from) \
  { \
    const csr_kind k = {stored, vector, ahead, group}; \
    if (steps == 1) csr_block(k, 1, a, q, from); \
    else if (steps == 2) csr_block(k, 2, a, q, from); \
    else if (steps == 3) csr_block(k, 3, a, q, from); \
    else csr_block(k, CSR_STEPS, a, q, from); \
  } \
  static void name##group(const csr_view *a, const macko_product *q, int64_t from, int64_t to) \
  { \
    if (a->in_blocks) csr_blocks(ahead, name##rows_##group, name##block_##group, a, q, from, to); \
    else name##rows_##group(a, q, from, to); \
  }
#define DEFINE_GROUPS(name, stored, vector) \
  DEFINE(name, stored, vector, 0, 1) \
  DEFINE(name, stored, vector, 0, 2) \
  DEFINE(name, stored, vector, 0, 4) \
  DEFINE(name##ahead_, stored, vector, 1, 1) \
  DEFINE(name##ahead_, stored, vector, 1, 2) \
  DEFINE(name##ahead_, stored, vector, 1, 4)
DEFINE_GROUPS(csr_doubles_, MACKO_F64, MACKO_F64)
DEFINE_GROUPS(csr_singles_, MACKO_F32, MACKO_F64)
DEFINE_GROUPS(csr_floats_, MACKO_F32, MACKO_F32)
#undef DEFINE
#undef DEFINE_GROUPS

/* The kernels, by what they multiply (f64 and f64 vectors, f32 and f64, f32 and f32), by whether memory is waited for, and by the
 * size of the group (1, 2, 4). */
static csr_kernel *const csr_kernels[3][2][3] = {
  {{csr_doubles_1, csr_doubles_2, csr_doubles_4}, {csr_doubles_ahead_1, csr_doubles_ahead_2, csr_doubles_ahead_4}},
  {{csr_singles_1, csr_singles_2, csr_singles_4}, {csr_singles_ahead_1, csr_singles_ahead_2, csr_singles_ahead_4}},
  {{csr_floats_1, csr_floats_2, csr_floats_4}, {csr_floats_ahead_1, csr_floats_ahead_2, csr_floats_ahead_4}}};
