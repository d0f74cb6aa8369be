/* Short rows of uneven lengths: format csr takes blocks of them in one number of steps each, and every product has the sums that
 * a plain loop has, however many vectors and threads there are. On a GPU layout row is predicted to take longer where rows are
 * cut. */
#include "macko.h"
#include "suite.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = 700, NOT_A_NUMBER = 30, SEVERAL = 5 };

/* A matrix of rows of `shortest` to `longest` entries, a few of them of 40, whose length no processor foresees. */
typedef struct {
  macko_type type, row_ptr_type;
  int64_t nrows;
  int shortest, longest;
  void *row_ptr;
  int32_t *cols;
  void *values;
} uneven;

static uint64_t next_random(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static int64_t begin_of(const uneven *a, int64_t i)
{
  return a->row_ptr_type == MACKO_I64 ? ((const int64_t *)a->row_ptr)[i] : ((const int32_t *)a->row_ptr)[i];
}

static void set_begin(uneven *a, int64_t i, int64_t p)
{
  if (a->row_ptr_type == MACKO_I64) ((int64_t *)a->row_ptr)[i] = p;
  else ((int32_t *)a->row_ptr)[i] = (int32_t)p;
}

/* Values are small whole numbers, so that sums in any order are exact. The last rows are empty and end the arrays. */
static void make(uneven *a)
{
  enum { LONG = 40, EVERY = 1000, EMPTY = 3 };
  uint64_t state = 7;
  a->row_ptr = malloc((size_t)(a->nrows + 1) * sizeof(int64_t));
  a->cols = malloc((size_t)(a->nrows * LONG) * sizeof *a->cols);
  set_begin(a, 0, 0);
  for (int64_t i = 0; i < a->nrows; i++) {
    const int64_t p = begin_of(a, i);
    const int usual = a->shortest + (int)(next_random(&state) % (uint64_t)(a->longest - a->shortest + 1));
    const int n = i % EVERY == EVERY / 2 ? LONG : usual;
    for (int e = 0; e < n; e++) a->cols[p + e] = (int32_t)(i % 19 + e * 17);
    set_begin(a, i + 1, i < a->nrows - EMPTY ? p + n : p);
  }
  const int64_t nnz = begin_of(a, a->nrows);
  a->values = malloc((size_t)nnz * sizeof(double) + 1);
  for (int64_t p = 0; p < nnz; p++)
    if (a->type == MACKO_F64) ((double *)a->values)[p] = (double)(p % 101) - 50;
    else ((float *)a->values)[p] = (float)(p % 101) - 50;
}

static void release(uneven *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

static macko_csr csr_of(const uneven *a)
{
  return (macko_csr){.nrows = a->nrows, .ncols = COLS, .row_ptr_type = a->row_ptr_type, .col_type = MACKO_I32,
                     .value_type = a->type, .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values};
}

static macko_matrix *encode(const uneven *a)
{
  const macko_csr c = csr_of(a);
  macko_matrix *m = NULL;
  macko_options o;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
  return m;
}

/* Gives element i of 2 A x + beta y, where y is i % 7. */
static double right(const uneven *a, int64_t i, const double *x, double beta)
{
  double sum = 0;
  for (int64_t p = begin_of(a, i); p < begin_of(a, i + 1); p++)
    sum += (a->type == MACKO_F64 ? ((const double *)a->values)[p] : ((const float *)a->values)[p]) * x[a->cols[p]];
  return 2 * sum + beta * (double)(i % 7);
}

/* Fails unless all elements of Y = 2 A X + beta Y are right. One column multiplies a NaN, which only rows that have the column may
 * feel. */
static void check(const macko_matrix *m, const uneven *a, macko_type vector, int k, double beta)
{
  double x[SEVERAL * COLS];
  float xs[SEVERAL * COLS];
  const int64_t count = a->nrows * k;
  void *y = malloc((size_t)count * sizeof(double));
  macko_error err = {0};
  for (int j = 0; j < k * COLS; j++) xs[j] = (float)(x[j] = j % COLS == NOT_A_NUMBER ? NAN : j % 13 - 6);
  for (int64_t i = 0; i < count; i++)
    if (vector == MACKO_F64) ((double *)y)[i] = (double)(i % a->nrows % 7);
    else ((float *)y)[i] = (float)(i % a->nrows % 7);
  const void *from = vector == MACKO_F64 ? (const void *)x : xs;
  ck_assert_msg(!macko_multiply(m, MACKO_OP_N, vector, k, 2, from, COLS, beta, y, a->nrows, &err), "%s", err.text);
  for (int64_t i = 0; i < count; i++) {
    const double is = vector == MACKO_F64 ? ((double *)y)[i] : ((float *)y)[i];
    const double be = right(a, i % a->nrows, x + i / a->nrows * COLS, beta);
    ck_assert_msg(is == be || (isnan(is) && isnan(be)), "rows of %d to %d, row %lld, vector %lld of %d: %g, not %g", a->shortest,
                  a->longest, (long long)(i % a->nrows), (long long)(i / a->nrows), k, is, be);
  }
  free(y);
}

/* Rows of one to four steps, and of too many; in the cache, and beyond what is taken to stay there. */
START_TEST(the_sums_are_right)
{
  static const struct {
    int64_t nrows;
    int shortest, longest;
  } kinds[] = {{30000, 0, 4}, {30000, 2, 6}, {30000, 7, 10}, {30000, 8, 16}, {30000, 3, 25}, {33000, 9, 9}, {200000, 4, 12}};
  for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
    for (int type = 0; type < 4; type++) {
      uneven a = {type % 2 ? MACKO_F32 : MACKO_F64, type / 2 ? MACKO_I64 : MACKO_I32, kinds[kind].nrows, kinds[kind].shortest,
                  kinds[kind].longest, NULL, NULL, NULL};
      make(&a);
      macko_matrix *m = encode(&a);
      for (int k = 1; k <= SEVERAL; k++) check(m, &a, MACKO_F64, k, k % 2 ? 0 : -1);
      if (type % 2) check(m, &a, MACKO_F32, 2, 0);
      macko_destroy(&m);
      release(&a);
    }
}
END_TEST

/* The bits of a product do not depend on how many vectors there are, nor so on how many rows are taken together, with values whose
 * sums are rounded, and factors of which only one product is. */
START_TEST(the_bits_are_those_of_one_vector)
{
  const double alpha = 1.1, beta = _i * 0.7;
  uneven a = {MACKO_F64, MACKO_I32, 40000, 3, 9, NULL, NULL, NULL};
  double x[SEVERAL * COLS];
  macko_error err = {0};
  make(&a);
  for (int64_t p = 0; p < begin_of(&a, a.nrows); p++) ((double *)a.values)[p] = 1 / (1.5 + (double)(p % 997));
  for (int j = 0; j < SEVERAL * COLS; j++) x[j] = sin(j);
  macko_matrix *m = encode(&a);
  double *together = malloc((size_t)(a.nrows * SEVERAL) * sizeof *together), *one = malloc((size_t)a.nrows * sizeof *one);
  for (int k = 2; k <= SEVERAL; k++) {
    for (int64_t i = 0; i < k * a.nrows; i++) together[i] = 1 / (3 + (double)(i % a.nrows % 101));
    ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, k, alpha, x, COLS, beta, together, a.nrows, &err));
    for (int j = 0; j < k; j++) {
      for (int64_t i = 0; i < a.nrows; i++) one[i] = 1 / (3 + (double)(i % 101));
      ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, alpha, x + j * COLS, COLS, beta, one, a.nrows, &err));
      ck_assert_msg(!memcmp(one, together + j * a.nrows, (size_t)a.nrows * sizeof *one), "vector %d of %d", j, k);
    }
  }
  free(together), free(one);
  macko_destroy(&m);
  release(&a);
}
END_TEST

/* Columns that lie anywhere in vectors longer than a second-level cache: a few vectors go one by one, more side by side. The
 * bits are those of one vector, in each format that multiplies them so, of f64 and of f32. */
START_TEST(columns_anywhere)
{
  enum { N = 150000, LONG = 6 };
  static const macko_format formats[] = {MACKO_FORMAT_CSR, MACKO_FORMAT_MACKO, MACKO_FORMAT_ECCSR};
  const int single = _i % 2;
  const macko_type type = single ? MACKO_F32 : MACKO_F64;
  const size_t size = single ? sizeof(float) : sizeof(double);
  uint64_t state = 11;
  int32_t *row_ptr = malloc((N + 1) * sizeof *row_ptr), *cols = malloc(N * LONG * sizeof *cols);
  char *values = malloc(N * LONG * size), *x = malloc(SEVERAL * N * size), *together = malloc(SEVERAL * N * size);
  char *one = malloc(N * size);
  macko_matrix *m = NULL;
  macko_options o;
  macko_error err = {0};
#define SET(array, at, number) \
  (single ? (void)(((float *)(array))[at] = (float)(number)) : (void)(((double *)(array))[at] = (number)))
  for (int64_t i = 0, p = row_ptr[0] = 0; i < N; row_ptr[++i] = (int32_t)p)
    for (int e = 0; e < LONG; e++, p++) {
      cols[p] = (int32_t)(N / LONG * e + (int64_t)(next_random(&state) % (N / LONG)));
      SET(values, p, 1 / (1.5 + (double)(p % 997)));
    }
  for (int64_t j = 0; j < (int64_t)SEVERAL * N; j++) SET(x, j, sin((double)j));
  const macko_csr c = {.nrows = N, .ncols = N, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = type,
                       .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options_init(&o);
  o.format = formats[_i / 2];
  if (o.format == MACKO_FORMAT_MACKO) o.layout = MACKO_LAYOUT_SLICE;
  ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
  for (int k = 2; k <= SEVERAL; k++) {
    memcpy(together, x, SEVERAL * N * size);
    ck_assert_msg(!macko_multiply(m, MACKO_OP_N, type, k, 1.1, x, N, 0.7, together, N, &err), "%s", err.text);
    for (int j = 0; j < k; j++) {
      const char *x_j = x + (size_t)j * N * size;
      memcpy(one, x_j, N * size);
      ck_assert(!macko_multiply(m, MACKO_OP_N, type, 1, 1.1, x_j, N, 0.7, one, N, &err));
      ck_assert_msg(!memcmp(one, together + (size_t)j * N * size, N * size), "vector %d of %d", j, k);
    }
  }
#undef SET
  macko_destroy(&m);
  free(row_ptr), free(cols), free(values), free(x), free(together), free(one);
}
END_TEST

/* Gives the seconds that a GPU is predicted to take in layout row for so many rows of 3 to 6 entries. */
static double seconds_of_rows(macko_type type, int64_t nrows)
{
  uneven a = {type, MACKO_I32, nrows, 3, 6, NULL, NULL, NULL};
  macko_options o;
  macko_info info;
  macko_error err = {0};
  make(&a);
  const macko_csr c = csr_of(&a);
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU, o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW;
  ck_assert_msg(!macko_predict(&c, &o, &info, &err), "%s", err.text);
  release(&a);
  return info.seconds;
}

/* One row of 40 entries, row 500, is too long for the lanes that a GPU gives to rows of 5 of f64: it is cut into pieces, which
 * another kernel adds up. Of f32 lanes take twice as many entries, so that it is not cut. */
START_TEST(a_cut_row_is_predicted)
{
  ck_assert_double_gt(seconds_of_rows(MACKO_F64, 504), seconds_of_rows(MACKO_F64, 500) + 3e-6);
  ck_assert_double_lt(seconds_of_rows(MACKO_F32, 504), seconds_of_rows(MACKO_F32, 500) + 1e-6);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("uneven rows");
  TCase *t = tcase_create("products");
  tcase_set_timeout(t, 120);
  tcase_add_test(t, the_sums_are_right);
  tcase_add_loop_test(t, the_bits_are_those_of_one_vector, 0, 2);
  tcase_add_loop_test(t, columns_anywhere, 0, 6);
  tcase_add_test(t, a_cut_row_is_predicted);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
