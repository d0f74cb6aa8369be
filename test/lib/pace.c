/* The pace of a machine: what products of some rows take over what is predicted of them, by a clock that the tests set. */
#include "core/cost.h"
#include "core/measure.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

/* ---- a clock, caches and encodings of the tests' own ---- */

double __wrap_macko_now(void);
macko_caches __wrap_macko_machine_caches(void);
macko_caches __real_macko_machine_caches(void);
macko_status __wrap_macko_encode_sorted(const macko_csr *csr, const macko_options *options, int lent, double others,
                                        macko_matrix **matrix, macko_error *err);
macko_status __real_macko_encode_sorted(const macko_csr *csr, const macko_options *options, int lent, double others,
                                        macko_matrix **matrix, macko_error *err);
macko_status __wrap_macko_multiply(const macko_matrix *m, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);
macko_status __real_macko_multiply(const macko_matrix *m, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);

/* What the clock shows, what a product moves it by, and by how much more each third product; what rows were encoded; their time by
 * prediction. */
static double clock_shows, a_product, a_third;
static int products;
static macko_caches caches; /* 0: the machine's */
static int64_t nrows, nnz, first_col;
static double predicted;

double __wrap_macko_now(void)
{
  return clock_shows;
}

macko_caches __wrap_macko_machine_caches(void)
{
  return caches.last ? caches : __real_macko_machine_caches();
}

macko_status __wrap_macko_encode_sorted(const macko_csr *csr, const macko_options *options, int lent, double others,
                                        macko_matrix **matrix, macko_error *err)
{
  const macko_status s = __real_macko_encode_sorted(csr, options, lent, others, matrix, err);
  nrows = csr->nrows, nnz = macko_csr_nnz(csr), first_col = nnz ? macko_csr_col(csr, 0) : -1;
  if (!s) predicted = (*matrix)->plan.time + (*matrix)->plan.gathers;
  return s;
}

macko_status __wrap_macko_multiply(const macko_matrix *m, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err)
{
  clock_shows += a_product + (products++ % 3 ? 0 : a_third);
  return __real_macko_multiply(m, op, vector_type, k, alpha, x, ldx, beta, y, ldy, err);
}

/* Begins anew, with products of such times. */
static void set_clock(double usual, double third)
{
  products = 0, a_product = usual, a_third = third;
  predicted = 0, nrows = nnz = 0;
}

/* ---- matrices: five diagonals, the columns of which count from `base` ---- */

static macko_csr band(int64_t n, int base, macko_type type, macko_type indices)
{
  const size_t size = indices == MACKO_I64 ? 8 : 4;
  char *row_ptr = malloc((size_t)(n + 1) * size), *cols = malloc((size_t)(5 * n) * size);
  void *values = calloc((size_t)(5 * n), 8);
  for (int64_t i = 0, p = 0; i <= n; i++) {
    const int64_t start = p + base;
    if (indices == MACKO_I64) ((int64_t *)row_ptr)[i] = start;
    else ((int32_t *)row_ptr)[i] = (int32_t)start;
    for (int64_t j = i - 2; i < n && j <= i + 2; j++)
      if (j >= 0 && j < n) {
        if (indices == MACKO_I64) ((int64_t *)cols)[p] = j + base;
        else ((int32_t *)cols)[p] = (int32_t)(j + base);
        if (type == MACKO_F64) ((double *)values)[p++] = 1;
        else ((float *)values)[p++] = 1;
      }
  }
  return (macko_csr){.nrows = n, .ncols = n, .row_ptr_type = indices, .col_type = indices, .value_type = type, .index_base = base,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

static void release(macko_csr *a)
{
  free((void *)a->row_ptr), free((void *)a->cols), free((void *)a->values);
}

static double pace_of(const macko_csr *a)
{
  double pace = -1;
  macko_error err = {0};
  ck_assert_msg(!macko_measure_pace(a, &pace, &err), "%s", err.text);
  return pace;
}

/* ---- tests ---- */

/* Whatever the types of indices and values are, and where indices count from. */
START_TEST(it_is_the_time_over_the_prediction)
{
  macko_csr a = band(3000, _i % 2, _i / 2 % 2 ? MACKO_F32 : MACKO_F64, _i / 4 ? MACKO_I64 : MACKO_I32);
  set_clock(25000, 0);
  const double pace = pace_of(&a);
  ck_assert_int_eq(nrows, 3000);
  ck_assert_int_eq(nnz, 3000 * 5 - 6);
  ck_assert_double_gt(predicted, 0);
  ck_assert_double_eq_tol(pace, 25000 / predicted, 1e-9 * pace);
  release(&a);
}
END_TEST

/* One product in three is disturbed, however much, which changes nothing where each is timed alone. */
START_TEST(the_middle_counts)
{
  macko_csr a = band(40000, 0, MACKO_F64, MACKO_I32);
  set_clock(50000, 1e9);
  const double pace = pace_of(&a);
  ck_assert_double_gt(predicted, 2e4);
  ck_assert_double_eq_tol(pace, 50000 / predicted, 1e-9 * pace);
  release(&a);
}
END_TEST

/* Of a product that the clock cannot see several are timed together. */
START_TEST(short_products_are_timed_together)
{
  macko_csr a = band(20, 0, MACKO_F64, MACKO_I32);
  set_clock(100, 0);
  ck_assert_double_eq_tol(pace_of(&a), 100 / predicted, 1e-6);
  ck_assert_double_ge((double)products * predicted, 2e4);
  release(&a);
}
END_TEST

/* Rows in the middle, four times as many as the last-level cache has bytes for; three times are taken, once five products have
 * settled what the cache keeps. */
START_TEST(a_part_of_a_matrix_is_enough)
{
  const int64_t n = 40000;
  macko_csr a = band(n, _i, MACKO_F64, MACKO_I32);
  caches = (macko_caches){1 << 12, 1 << 16};
  set_clock(25000, 0);
  const double pace = pace_of(&a), bytes = 12.0 * (double)nnz + 4 * (double)nrows;
  const double wanted = 4 * (double)caches.last;
  ck_assert_double_eq_tol(bytes, wanted, 0.01 * wanted);
  ck_assert_int_le(llabs(first_col - ((n - nrows) / 2 - 2)), 1);
  ck_assert_double_eq_tol(pace, 25000 / predicted, 1e-9 * pace);
  ck_assert_double_ge(products, 5 + 3);
  ck_assert_double_le(products, (5 + 3) * (2e4 / predicted + 1));
  caches.last = 0;
  release(&a);
}
END_TEST

/* Of a row that is longer than what would be enough there is no part, and rows in the middle may have no entries. */
START_TEST(long_rows_are_taken_whole)
{
  macko_csr a = band(2000, 0, MACKO_F64, MACKO_I32);
  const int32_t starts[4] = {0, _i ? 4000 : 0, _i ? 4000 : 5 * 2000 - 6, 5 * 2000 - 6};
  macko_csr long_rows = a;
  int32_t *cols = (int32_t *)a.cols;
  for (int32_t i = 0; i < 5 * 2000; i++) cols[i] = i % 4000 + (i / 4000) * 4000;
  long_rows.nrows = 3, long_rows.ncols = 5 * 2000, long_rows.row_ptr = starts;
  caches = (macko_caches){1 << 8, 1 << 10};
  set_clock(25000, 0);
  const double pace = pace_of(&long_rows);
  ck_assert_int_eq(nrows, 1);
  ck_assert_int_eq(nnz, _i ? 0 : 5 * 2000 - 6);
  ck_assert_double_eq_tol(pace, _i ? 1 : 25000 / predicted, 1e-9 * pace);
  caches.last = 0;
  release(&a);
}
END_TEST

START_TEST(nothing_to_multiply_is_on_time)
{
  const int64_t starts[4] = {0};
  const macko_csr empty = {.nrows = 3, .ncols = 3, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                           .row_ptr = starts};
  set_clock(25000, 0);
  ck_assert_double_eq(pace_of(&empty), 1);
  ck_assert_int_eq(products, 0);
}
END_TEST

START_TEST(errors_change_nothing)
{
  macko_csr a = band(20, 0, MACKO_F64, MACKO_I32);
  macko_error err;
  double pace = 7;
  ck_assert_int_eq(macko_measure_pace(NULL, &pace, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "csr and pace must not be NULL");
  ck_assert_int_eq(macko_measure_pace(&a, NULL, &err), MACKO_INVALID_ARGUMENT);
  ((int32_t *)a.cols)[3] = 20;
  ck_assert_int_eq(macko_measure_pace(&a, &pace, &err), MACKO_INVALID_MATRIX);
  ck_assert_ptr_nonnull(strstr(err.text, "20"));
  ck_assert_double_eq(pace, 7);
  release(&a);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("pace");
  TCase *t = tcase_create("pace");
  tcase_add_loop_test(t, it_is_the_time_over_the_prediction, 0, 8);
  tcase_add_test(t, the_middle_counts);
  tcase_add_test(t, short_products_are_timed_together);
  tcase_add_loop_test(t, a_part_of_a_matrix_is_enough, 0, 2);
  tcase_add_loop_test(t, long_rows_are_taken_whole, 0, 2);
  tcase_add_test(t, nothing_to_multiply_is_on_time);
  tcase_add_test(t, errors_change_nothing);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
