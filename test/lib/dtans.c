/* Format dtans: sizes that must be reached, predictions, refresh beside untouched gaps, damage, the example of the manual. */
#include "core/format.h"
#include "damage.h"
#include "manual.h"
#include "matrices.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- matrices ---- */

typedef struct {
  int64_t rows, *row_ptr, *cols;
  double *values;
} plain;

static macko_csr view(const plain *a)
{
  return (macko_csr){.nrows = a->rows, .ncols = a->rows, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = MACKO_F64, .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values};
}

static plain room(int64_t rows, int64_t nnz)
{
  return (plain){rows, calloc((size_t)rows + 1, 8), malloc((size_t)nnz * 8), malloc((size_t)nnz * 8)};
}

static void release(plain *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

/* 5 points on n x n (depth 1) or 27 on n x n x n. */
static plain stencil(int64_t n, int64_t depth)
{
  plain a = room(n * n * depth, n * n * depth * 27);
  int64_t count = 0, i = 0;
  for (int64_t z = 0; z < depth; z++)
    for (int64_t y = 0; y < n; y++)
      for (int64_t x = 0; x < n; x++) {
        for (int64_t c = z - 1; c <= z + 1; c++)
          for (int64_t b = y - 1; b <= y + 1; b++)
            for (int64_t d = x - 1; d <= x + 1; d++) {
              if (c < 0 || b < 0 || d < 0 || c >= depth || b >= n || d >= n || (depth == 1 && b != y && d != x)) continue;
              int64_t j = (c * n + b) * n + d;
              a.cols[count] = j;
              a.values[count++] = j == i ? (depth == 1 ? 4 : 26) : -1;
            }
        a.row_ptr[++i] = count;
      }
  return a;
}

static double gauss(void)
{
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += (double)test_draw() / 2147483648.0;
  return sum;
}

/* About per_row entries within half_width of the diagonal, random values. */
static plain banded(int64_t n, int64_t half_width, int64_t per_row)
{
  plain a = room(n, n * (2 * half_width + 1));
  int64_t count = 0;
  test_seed(3);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i - half_width; j <= i + half_width; j++)
      if (j >= 0 && j < n && (j == i || (int64_t)(test_draw() % (uint64_t)(2 * half_width)) < per_row))
        a.cols[count] = j, a.values[count++] = gauss();
    a.row_ptr[i + 1] = count;
  }
  return a;
}

/* Barabasi-Albert: each new node joins m nodes, chosen in proportion to their degree. Ones; rows are not sorted. */
static plain power_law(int64_t n, int64_t m)
{
  int64_t *from = malloc((size_t)(n * m) * 8), *to = malloc((size_t)(n * m) * 8), *at = calloc((size_t)n + 1, 8), edges = 0;
  plain a = room(n, 2 * n * m);
  test_seed(4);
  for (int64_t u = m; u < n; u++)
    for (int64_t k = 0, first = edges; k < m; k++) {
      int64_t v = k, seen = 0;
      if (first) v = test_draw() & 1 ? from[test_draw() % (uint64_t)first] : to[test_draw() % (uint64_t)first];
      for (int64_t e = first; e < edges; e++) seen |= to[e] == v;
      if (seen) continue;
      from[edges] = u, to[edges++] = v;
    }
  for (int64_t e = 0; e < edges; e++) a.row_ptr[from[e] + 1]++, a.row_ptr[to[e] + 1]++;
  for (int64_t i = 0; i < n; i++) at[i] = a.row_ptr[i], a.row_ptr[i + 1] += a.row_ptr[i];
  for (int64_t e = 0; e < edges; e++) a.cols[at[from[e]]++] = to[e], a.cols[at[to[e]]++] = from[e];
  for (int64_t p = 0; p < 2 * edges; p++) a.values[p] = 1;
  free(from), free(to), free(at);
  return a;
}

static plain kind_of_matrix(int kind)
{
  return kind == 0 ? stencil(256, 1) : kind == 1 ? stencil(40, 40) : kind == 2 ? banded(20000, 200, 20) : power_law(50000, 8);
}

static macko_matrix *encode(const macko_csr *a, macko_variant variant, macko_values values)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.variant = variant, o.values = values;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s", err.text);
  return m;
}

/* ---- tests ---- */

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

/* A copy of the sections that hold the pattern. */
static const char *const pattern_sections[] = {"lengths", "stream", "slices", "gap_symbols", "gap_slots"};
enum { PATTERN_SECTIONS = 5 };

static const macko_section *section(const macko_matrix *m, const char *name)
{
  const macko_section *s;
  for (int64_t i = 0; (s = macko_get_section(m, i)); i++)
    if (!strcmp(s->name, name)) return s;
  return NULL;
}

/* From coded values to raw, to one value and back, with the pattern's arrays in place. */
START_TEST(refresh_leaves_the_gaps_of_split_alone)
{
  plain a = stencil(40, 1);
  macko_csr c = view(&a);
  macko_matrix *m = encode(&c, MACKO_VARIANT_SPLIT, MACKO_VALUES_AUTO);
  int64_t nnz = a.row_ptr[a.rows];
  double *back = malloc((size_t)nnz * 8);
  macko_error err = {0};
  const void *data[PATTERN_SECTIONS];
  void *copy[PATTERN_SECTIONS];
  for (int i = 0; i < PATTERN_SECTIONS; i++) {
    const macko_section *s = section(m, pattern_sections[i]);
    data[i] = s->data;
    copy[i] = memcpy(malloc((size_t)s->bytes), s->data, (size_t)s->bytes);
  }
  for (int kind = 0; kind < 4; kind++) {
    for (int64_t p = 0; p < nnz; p++) a.values[p] = kind == 1 ? 7 : kind == 2 ? (double)(p % 3) / 3 : gauss();
    ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
    ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
    ck_assert(!macko_decode(m, NULL, NULL, back, &err));
    ck_assert(!memcmp(back, a.values, (size_t)nnz * 8));
    for (int i = 0; i < PATTERN_SECTIONS; i++) {
      const macko_section *s = section(m, pattern_sections[i]);
      ck_assert_ptr_eq(s->data, data[i]);
      ck_assert(!memcmp(s->data, copy[i], (size_t)s->bytes));
    }
  }
  for (int i = 0; i < PATTERN_SECTIONS; i++) free(copy[i]);
  free(back);
  macko_destroy(&m);
  release(&a);
}
END_TEST

/* The time is that of the new values: what they take more, in bytes and in decoding, and as before where the old ones return. */
START_TEST(new_values_have_a_time_of_their_own)
{
  plain a = stencil(40, 1);
  macko_csr c = view(&a);
  const int64_t nnz = a.row_ptr[a.rows];
  macko_info before, raw, again, fresh;
  macko_error err = {0};
  for (int64_t p = 0; p < nnz; p++) a.values[p] = 7;
  macko_matrix *m = encode(&c, MACKO_VARIANT_SPLIT, MACKO_VALUES_AUTO);
  macko_get_info(m, &before);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = gauss();
  ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
  macko_get_info(m, &raw);
  macko_matrix *other = encode(&c, MACKO_VARIANT_SPLIT, MACKO_VALUES_AUTO);
  macko_get_info(other, &fresh);
  ck_assert_double_gt(raw.seconds, before.seconds);
  ck_assert_double_eq_tol(raw.seconds, fresh.seconds, 1e-9 * fresh.seconds);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = 7;
  ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
  macko_get_info(m, &again);
  ck_assert_double_eq_tol(again.seconds, before.seconds, 1e-9 * before.seconds);
  macko_destroy(&m), macko_destroy(&other);
  release(&a);
}
END_TEST

/* Automatic choice is for multiplies on a CPU, where decoding costs more than reading CSR. */
START_TEST(automatic_choice_passes_dtans_over)
{
  plain a = stencil(16, 16);
  macko_csr c = view(&a);
  macko_matrix *m = NULL;
  macko_info info;
  ck_assert(!macko_encode(&c, NULL, &m, NULL));
  macko_get_info(m, &info);
  ck_assert_int_ne(info.format, MACKO_FORMAT_DTANS);
  macko_destroy(&m);
  release(&a);
}
END_TEST

START_TEST(values_of_joint_and_paper_cannot_be_stored_otherwise)
{
  plain a = stencil(4, 1);
  macko_csr c = view(&a);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.variant = MACKO_VARIANT_PAPER, o.values = MACKO_VALUES_F32;
  ck_assert_int_eq(macko_encode(&c, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, "format dtans does not have values f32 with variant paper; format eccsr does");
  o.format = MACKO_FORMAT_MACKO, o.values = MACKO_VALUES_CODED;
  ck_assert_int_eq(macko_encode(&c, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_ptr_null(m);
  release(&a);
}
END_TEST

START_TEST(damage_is_found_or_harmless)
{
  plain a = banded(66, 9, 5);
  macko_csr c = view(&a);
  macko_matrix *m = encode(&c, (macko_variant)_i, MACKO_VALUES_AUTO);
  test_change_every_byte(m, 100);
  macko_destroy(&m);
  release(&a);
}
END_TEST

START_TEST(the_example_of_the_manual_is_true)
{
  test_example e;
  macko_csr a = test_manual_matrix("dtans", &e);
  macko_matrix *m = encode(&a, MACKO_VARIANT_JOINT, MACKO_VALUES_AUTO);
  test_check_manual_sections("dtans", m, 0);
  macko_destroy(&m);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("dtans");
  TCase *t = tcase_create("dtans");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, sizes_are_reached_and_predicted, 0, 4);
  tcase_add_loop_test(t, bands_of_long_rows_are_predicted, 0, 33);
  tcase_add_loop_test(t, bands_of_any_rows_are_predicted, 0, 160);
  tcase_add_loop_test(t, time_is_bought_with_bytes, 0, 4);
  tcase_add_loop_test(t, the_time_is_that_of_what_is_chosen, 0, 2);
  tcase_add_test(t, refresh_leaves_the_gaps_of_split_alone);
  tcase_add_test(t, new_values_have_a_time_of_their_own);
  tcase_add_test(t, automatic_choice_passes_dtans_over);
  tcase_add_test(t, values_of_joint_and_paper_cannot_be_stored_otherwise);
  tcase_add_loop_test(t, damage_is_found_or_harmless, 0, MACKO_VARIANT_PAPER + 1);
  tcase_add_test(t, the_example_of_the_manual_is_true);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
