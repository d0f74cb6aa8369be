/* Format dtans: sizes that must be reached, and what is predicted of bytes and time. */
#include "dtans.h"
#include "matrices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(sizes_are_reached_and_predicted)
{
  /* CSR bytes to ours, by kind and variant (auto, split, joint, paper); 0: nothing is promised. */
  static const double least[4][4] = {
      {7.96, 0, 7.96, 2.55}, {23.1, 0, 23.1, 7.06}, {1.345, 1.345, 0, 1.18}, {4.08, 4.08, 2.5, 3.39}};
  plain a = kind_of_matrix(_i);
  macko_csr c = view(&a);
  for (int v = MACKO_VARIANT_AUTO; v <= MACKO_VARIANT_PAPER; v++) {
    macko_matrix *m = encode(&c, (macko_variant)v, MACKO_VALUES_AUTO);
    macko_info info;
    macko_error err;
    macko_get_info(m, &info);
    double ratio = (double)info.csr_bytes / (double)info.bytes;
    double off = fabs((double)(m->plan.bytes - info.bytes)) / (double)info.bytes;
    ck_assert_msg(ratio >= least[_i][v], "matrix %d, %s: 1/%.3f of CSR", _i, info.reason, ratio);
    ck_assert_msg(off <= 0.01, "matrix %d, %s: %ld bytes predicted, %ld written", _i, info.reason, (long)m->plan.bytes,
                  (long)info.bytes);
    ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
    macko_destroy(&m);
  }
  release(&a);
}
END_TEST

/* Of every `period` of n rows the first `bands` have `length` entries, all others `rest`. Kind 0: gaps of 1, few values; 1: gaps of
 * 1 to 4 and few values; 2: values that all differ. */
typedef struct {
  int64_t n, period, bands, length, rest;
  int kind;
} shape;

static plain bands_of_rows(const shape *q)
{
  int64_t count = 0;
  plain a = room(q->n, (q->n / q->period + 1) * q->bands * q->length + q->rest * q->n);
  test_seed(7);
  for (int64_t i = 0; i < q->n; i++) {
    int64_t entries = i % q->period < q->bands ? q->length : q->rest;
    for (int64_t k = 0, col = i; k < entries; k++, col += q->kind ? 1 + (int64_t)(test_draw() % 4) : 1) {
      a.cols[count] = col;
      a.values[count++] = q->kind == 2 ? gauss() : (double)(test_draw() % 5) / 3;
    }
    a.row_ptr[i + 1] = count;
  }
  return a;
}

static void make_single(plain *a, macko_csr *c)
{
  float *single = (float *)a->values; /* in place: entry p is read before it is written over */
  for (int64_t p = 0; p < a->row_ptr[a->rows]; p++) {
    float value = (float)a->values[p];
    memcpy(&single[p], &value, sizeof value);
  }
  c->value_type = MACKO_F32;
}

/* *c encoded for what a GPU takes, and its info, whose reason goes with the matrix. */
static macko_matrix *encode_for_gpu(const macko_csr *c, macko_prefer prefer, macko_variant variant, macko_info *info)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.prefer = prefer, o.variant = variant, o.target = MACKO_TARGET_GPU;
  ck_assert_msg(!macko_encode(c, &o, &m, &err), "%s", err.text);
  macko_get_info(m, info);
  return m;
}

static void check_prediction(const shape *q, const macko_csr *c, macko_prefer prefer)
{
  macko_info info;
  macko_matrix *m = encode_for_gpu(c, prefer, MACKO_VARIANT_AUTO, &info);
  ck_assert_msg(100 * llabs(m->plan.bytes - info.bytes) <= info.bytes,
                "%ld of %ld rows of %ld entries among %ld of %ld, %s values of kind %d, %s: %ld bytes predicted, %ld written",
                (long)q->bands, (long)q->period, (long)q->length, (long)q->n, (long)q->rest, macko_type_name(c->value_type),
                q->kind, info.reason, (long)m->plan.bytes, (long)info.bytes);
  macko_destroy(&m);
}

/* Bytes are known within 1 % also where few slices hold most nonzeros, at whatever distance from each other. */
START_TEST(bands_of_long_rows_are_predicted)
{
  static const int64_t shapes[][4] = {{25628, 1955, 256, 945}, {40000, 1600, 64, 700}, {30000, 10000, 300, 1500},
                                      {60000, 2048, 32, 900}, {50000, 992, 128, 300}, {100000, 33333, 100, 2500},
                                      {200000, 20000, 32, 1500}, {25000, 640, 40, 400}, {20000, 2500, 1, 9000},
                                      {300000, 4096, 33, 60}, {25628, 1024, 256, 60}};
  const int64_t *of = shapes[_i / 3];
  const shape q = {of[0], of[1], of[2], of[3], 8, _i % 3};
  plain a = bands_of_rows(&q);
  macko_csr c = view(&a);
  c.ncols += 4 * q.length + 32;
  if (_i % 2) make_single(&a, &c);
  check_prediction(&q, &c, MACKO_PREFER_TIME);
  check_prediction(&q, &c, MACKO_PREFER_MEMORY);
  release(&a);
}
END_TEST

/* Evenly by its logarithm. */
static int64_t draw_size(double least, double most)
{
  return (int64_t)exp(log(least) + (double)(test_draw() % 1000) * 1e-3 * (log(most) - log(least)));
}

START_TEST(bands_of_any_rows_are_predicted)
{
  test_seed(100 + (uint64_t)_i);
  shape q = {25000 + (int64_t)(test_draw() % 20000), draw_size(64, 20000), 0, draw_size(12, 700),
             1 + (int64_t)(test_draw() % 9), _i % 3};
  q.bands = 1 + q.period * (int64_t)(test_draw() % 500) / 1000;
  while ((q.n / q.period + 1) * q.bands * q.length > 700000) q.bands = 1 + q.bands * 3 / 4, q.length = q.length * 7 / 8;
  plain a = bands_of_rows(&q);
  macko_csr c = view(&a);
  c.ncols += 4 * q.length + 64;
  if (_i % 2) make_single(&a, &c);
  check_prediction(&q, &c, _i / 2 % 2 ? MACKO_PREFER_TIME : MACKO_PREFER_MEMORY);
  release(&a);
}
END_TEST

/* For a GPU: no row's end inside a lane, and still far smaller than CSR. */
START_TEST(time_is_bought_with_bytes)
{
  static const double least[4] = {6.9, 14, 1.3, 2.4};
  plain a = kind_of_matrix(_i);
  macko_csr c = view(&a);
  macko_info info;
  macko_error err;
  macko_matrix *m = encode_for_gpu(&c, MACKO_PREFER_TIME, MACKO_VARIANT_AUTO, &info);
  double ratio = (double)info.csr_bytes / (double)info.bytes;
  ck_assert_msg(ratio >= least[_i], "matrix %d, %s: 1/%.3f of CSR", _i, info.reason, ratio);
  ck_assert_msg(fabs((double)(m->plan.bytes - info.bytes)) <= 0.01 * (double)info.bytes, "%s", info.reason);
  ck_assert_msg(strstr(info.reason, " 1 rows a lane") != NULL, "%s", info.reason);
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  macko_destroy(&m);
  release(&a);
}
END_TEST

/* The info of *a encoded for the time that a GPU takes. */
static macko_info info_for_gpu(const macko_csr *a, macko_variant variant)
{
  macko_info info;
  macko_matrix *m = encode_for_gpu(a, MACKO_PREFER_TIME, variant, &info);
  info.reason = NULL; /* it goes with the matrix */
  macko_destroy(&m);
  return info;
}

/* A matrix of too few rows for a GPU to hide how long a step takes: format csr is faster by far. */
START_TEST(few_warps_wait)
{
  const shape small = {.n = 3000, .period = 3000, .bands = 3000, .length = 20, .kind = 2};
  plain a = bands_of_rows(&small);
  macko_csr c = view(&a);
  c.ncols = small.n + 4 * small.length;
  const macko_format formats[2] = {MACKO_FORMAT_CSR, MACKO_FORMAT_DTANS};
  double seconds[2];
  for (int i = 0; i < 2; i++) {
    macko_options o;
    macko_info info;
    macko_error err;
    macko_options_init(&o);
    o.target = MACKO_TARGET_GPU, o.format = formats[i];
    ck_assert_msg(!macko_predict(&c, &o, &info, &err), "%s", err.text);
    seconds[i] = info.seconds;
  }
  ck_assert_double_gt(seconds[1], seconds[0] + 2e-6);
  release(&a);
}
END_TEST

/* The variant that is chosen is predicted to take the time that it takes where it was asked for: what was tried besides has left
 * nothing behind. Here pairs are tried, with more escapes, after the choice has been made. */
START_TEST(the_time_is_that_of_what_is_chosen)
{
  plain a = _i ? stencil(10, 10) : stencil(40, 1);
  macko_csr c = view(&a);
  for (int64_t p = 0; p < a.row_ptr[a.rows]; p++) a.values[p] = p % 7 ? 0 : (double)(p * p % 300);
  const macko_info chosen = info_for_gpu(&c, MACKO_VARIANT_AUTO), alone = info_for_gpu(&c, MACKO_VARIANT_SPLIT);
  ck_assert_int_eq(chosen.bytes, alone.bytes); /* it is the same form */
  ck_assert_double_eq(chosen.seconds, alone.seconds);
  ck_assert_double_gt(info_for_gpu(&c, MACKO_VARIANT_JOINT).seconds, alone.seconds);
  release(&a);
}
END_TEST

void add_prediction_tests(TCase *t)
{
  tcase_add_loop_test(t, sizes_are_reached_and_predicted, 0, 4);
  tcase_add_loop_test(t, bands_of_long_rows_are_predicted, 0, 33);
  tcase_add_loop_test(t, bands_of_any_rows_are_predicted, 0, 160);
  tcase_add_loop_test(t, time_is_bought_with_bytes, 0, 4);
  tcase_add_test(t, few_warps_wait);
  tcase_add_loop_test(t, the_time_is_that_of_what_is_chosen, 0, 2);
}
