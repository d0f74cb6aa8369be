/* Every format, layout, gap width and value codec must give back every matrix bit for bit and multiply within the error bound of
 * plain CSR. */
#include "conformance.h"
#include "core/format.h"
#include "macko/params.h"
#include "other_processor.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 256 };

/* Adds what is not yet among the first *n, up to PAIRS + 1. */
static void add_pair(uint64_t pairs[PAIRS + 1][2], int *n, uint64_t gap, uint64_t bits)
{
  for (int i = 0; i < *n; i++)
    if (pairs[i][0] == gap && pairs[i][1] == bits) return;
  if (*n <= PAIRS) pairs[*n][0] = gap, pairs[(*n)++][1] = bits;
}

/* Codec pairs fits where values, as such and with the gap before each, are at most 256, and fits not where values alone are
 * more. */
static macko_status expected_of_joint(const test_matrix *a, macko_status answer)
{
  uint64_t pairs[PAIRS + 1][2], alone[PAIRS + 1][2];
  int both = 0, values = 0, size = (int)macko_type_bytes(a->type);
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) {
      uint64_t bits = 0;
      memcpy(&bits, (const char *)a->values + p * size, (size_t)size);
      add_pair(pairs, &both, 0, bits), add_pair(alone, &values, 0, bits);
      if (p > a->row_ptr[i]) add_pair(pairs, &both, (uint64_t)(a->cols[p] - a->cols[p - 1]), bits);
    }
  return both <= PAIRS ? MACKO_OK : values > PAIRS ? MACKO_UNSUPPORTED : answer;
}

/* Variant strict fits where the blocks of so many columns have all two entries less, for one of these numbers. */
static macko_status expected_of_strict(const test_matrix *a)
{
  for (int64_t width = 4; width <= 16; width += 2) {
    int most = 0;
    for (int64_t i = 0; i < a->nrows; i++)
      for (int64_t p = a->row_ptr[i], count = 0, block = -1; p < a->row_ptr[i + 1]; p++) {
        count = a->cols[p] / width == block ? count + 1 : 1, block = a->cols[p] / width;
        if (count > most) most = (int)count;
      }
    if (most <= width - 2) return MACKO_OK;
  }
  return MACKO_UNSUPPORTED;
}

/* What encode must answer to options that can be had together (test/lib/options.c); no matrix has more values than a dictionary. */
static macko_status expected(const test_matrix *a, const macko_options *o, macko_status answer)
{
  if (o->variant == MACKO_VARIANT_STRICT) return expected_of_strict(a);
  return o->values == MACKO_VALUES_PAIRS ? expected_of_joint(a, answer) : MACKO_OK;
}

int beyond_limit(macko_status s, const macko_error *err)
{
  char limit[16];
  snprintf(limit, sizeof limit, "%d", (int)INT32_MAX);
  return INT32_MAX < 1000 && s == MACKO_LIMIT && strstr(err->text, limit);
}

void check_info(const macko_matrix *m, const test_matrix *a, const char *what)
{
  macko_info info;
  int64_t bytes = 0;
  macko_error err = {0};
  macko_get_info(m, &info);
  for (int64_t i = 0; i < info.nsections; i++) bytes += macko_get_section(m, i)->bytes;
  ck_assert_msg(info.bytes == bytes && info.nnz == a->row_ptr[a->nrows], "%s, %s: info", a->name, what);
  ck_assert_ptr_null(macko_get_section(m, info.nsections));
  ck_assert_msg(!info.lossy, "%s, %s: lossy without being asked", a->name, what);
  ck_assert_msg(info.reason[0], "%s, %s: no reason", a->name, what);
  ck_assert_msg(!macko_validate(m, &err), "%s, %s: %s", a->name, what, err.text);
}

void check_all(const test_matrix *a, const test_products *p, const macko_matrix *m, const char *what)
{
  check_info(m, a, what);
  test_check_decode(a, m, what);
  test_check_products(p, m, what);
}

/* The encodings of one matrix that gave it back and multiplied as they should. Most options come to what others did: of all
 * encodings a sixth are new. */
typedef struct {
  macko_matrix **all;
  int count;
} encodings;

static int same_section(const macko_section *a, const macko_section *b)
{
  if (strcmp(a->name, b->name) || a->type != b->type || a->bytes != b->bytes) return 0;
  return a->bytes == 0 || !memcmp(a->data, b->data, (size_t)a->bytes);
}

/* Whether all is the same that decode and products see: everything but the options, what was predicted of time, and the reason. */
static int same_encoding(const macko_matrix *a, const macko_matrix *b)
{
  const macko_plan *p = &a->plan, *q = &b->plan;
  if (a->ops != b->ops || a->format != b->format || a->value_type != b->value_type || a->borrowed != b->borrowed) return 0;
  if (a->nrows != b->nrows || a->ncols != b->ncols || a->nnz != b->nnz || a->nsections != b->nsections) return 0;
  if (p->layout != q->layout || p->variant != q->variant || p->gap_bits != q->gap_bits || p->values != q->values) return 0;
  if (p->stored_type != q->stored_type || p->lossy != q->lossy || p->table != q->table) return 0;
  if (memcmp(p->params, q->params, sizeof p->params)) return 0;
  for (int i = 0; i < a->nsections; i++)
    if (!same_section(&a->sections[i], &b->sections[i])) return 0;
  return 1;
}

static int is_known(const encodings *known, const macko_matrix *m)
{
  for (int i = 0; i < known->count; i++)
    if (same_encoding(known->all[i], m)) return 1;
  return 0;
}

static void keep(encodings *known, macko_matrix *m)
{
  known->all = realloc(known->all, (size_t)(known->count + 1) * sizeof *known->all);
  known->all[known->count++] = m;
}

static void forget(encodings *known)
{
  for (int i = 0; i < known->count; i++) {
    macko_destroy(&known->all[i]);
    ck_assert_ptr_null(known->all[i]);
  }
  free(known->all);
}

static void with_options(const test_matrix *a, const test_products *p, const macko_options *o, encodings *known)
{
  macko_csr c = test_view(a);
  macko_matrix *m = NULL;
  macko_error err = {0};
  char what[200];
  snprintf(what, sizeof what, "%s %s %s, %d bits, values %s, %s", macko_format_name(o->format), macko_layout_name(o->layout),
           macko_variant_name(o->variant), o->gap_bits, macko_values_name(o->values), macko_type_name(a->type));
  macko_status s = macko_encode(&c, o, &m, &err);
  if (beyond_limit(s, &err)) return;
  ck_assert_msg(s == expected(a, o, s), "%s, %s: status %d, %s", a->name, what, (int)s, err.text);
  if (s) return;
  if (is_known(known, m)) {
    check_info(m, a, what);
    macko_destroy(&m);
  } else {
    check_all(a, p, m, what);
    keep(known, m);
  }
}

#ifndef KINDS /* fewer where the library is compiled for its limits or for another processor */
#define KINDS TEST_COMBINATIONS
#endif
/* Every pattern meets every kind of values, unless the compiler's checks make that take several times as long: then of all pairs
 * every fifth is tried, which has all patterns and all kinds. */
#ifndef CONFORMANCE_STRIDE
#ifdef __SANITIZE_ADDRESS__
#define CONFORMANCE_STRIDE 5
#else
#define CONFORMANCE_STRIDE 1
#endif
#endif
#ifndef PROCESSOR_IS_SET /* else the suite is of another one, and this says whether the library takes it so */
#define PROCESSOR_IS_SET 1
#endif
#ifndef PART /* of PARTS programs, which make check runs side by side */
#define PART 1
#define PARTS 1
#endif

/* What gives back every bit; automatic choice as such, as test/lib/options.c sees that it comes to what was asked for. */
static int is_tried(const macko_options *o)
{
  int rounded = o->values == MACKO_VALUES_F32 || o->values == MACKO_VALUES_F16 || o->values == MACKO_VALUES_BF16;
  int automatic = o->format == MACKO_FORMAT_AUTO, narrowed = o->layout || o->gap_bits || o->variant;
  return !rounded && !o->target && !(automatic ? narrowed : o->prefer != MACKO_PREFER_TIME) && !macko_options_check(o, NULL);
}

START_TEST(formats_agree_with_csr)
{
  macko_options o;
  const int number = _i * CONFORMANCE_STRIDE;
  const test_kind *kind = &test_kinds[number / TEST_PATTERNS];
  test_matrix a = test_make(number % TEST_PATTERNS, kind->values, kind->type);
  test_products *p = test_products_make(&a);
  encodings known = {NULL, 0};
  for (int64_t n = 0; test_options(n, &o); n++)
    if (is_tried(&o)) with_options(&a, p, &o, &known);
  forget(&known);
  test_products_free(p);
  test_free(&a);
}
END_TEST

START_TEST(duplicates_are_added_and_rows_sorted)
{
  int32_t row_ptr[] = {0, 4, 5}, cols[] = {2, 0, 2, 1, 0};
  float values[] = {1, 2, 4, 8, 16}, out[4];
  int64_t back[3], out_cols[4];
  macko_csr c = {.nrows = 2, .ncols = 3, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F32,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m = NULL;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, NULL), MACKO_OK);
  macko_decode(m, back, out_cols, out, NULL);
  ck_assert(back[1] == 3 && back[2] == 4);
  ck_assert(out_cols[0] == 0 && out_cols[1] == 1 && out_cols[2] == 2 && out_cols[3] == 0);
  ck_assert(out[0] == 2 && out[1] == 8 && out[2] == 5 && out[3] == 16);
  macko_destroy(&m);
}
END_TEST

/* Payloads survive: NaN with payload, signalling NaN, -0.0 and denormals, also beside each other in a dictionary. */
START_TEST(bit_patterns_survive)
{
  static const uint64_t bits[] = {0x7ff8dead0000beefu, 0x7ff0000000000001u, 0x8000000000000000u, 1u, 0u, 0xfff8000000000000u};
  int32_t row_ptr[] = {0, 6}, cols[] = {0, 1, 2, 3, 4, 5};
  uint64_t back[6];
  macko_options o;
  macko_csr c = {.nrows = 1, .ncols = 6, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = bits};
  macko_options_init(&o);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++) {
      macko_matrix *m = NULL;
      o.format = (macko_format)f, o.layout = (macko_layout)layout;
      if (macko_options_check(&o, NULL)) continue;
      ck_assert(!macko_encode(&c, &o, &m, NULL));
      macko_decode(m, NULL, NULL, back, NULL);
      ck_assert_mem_eq(back, bits, sizeof bits);
      macko_destroy(&m);
    }
}
END_TEST

/* Where entries are counted, by 64 bits beyond the limit and by 32 up to it. */
START_TEST(counts_widen_beyond_the_limit)
{
  static const struct {
    macko_format format;
    macko_layout layout;
  } counting[] = {{MACKO_FORMAT_CSR, MACKO_LAYOUT_AUTO}, {MACKO_FORMAT_MACKO, MACKO_LAYOUT_ROW},
                  {MACKO_FORMAT_MACKO, MACKO_LAYOUT_PAPER}, {MACKO_FORMAT_DTANS, MACKO_LAYOUT_AUTO}};
  test_matrix a = test_make(9, 0, MACKO_F64);
  macko_csr c = test_view(&a);
  macko_options o;
  macko_info info;
  macko_matrix *m = NULL;
  int wide = 0;
  macko_options_init(&o);
  o.format = counting[_i].format, o.layout = counting[_i].layout;
  ck_assert(!macko_encode(&c, &o, &m, NULL));
  macko_get_info(m, &info);
  for (int64_t i = 0; i < info.nsections; i++) wide |= macko_get_section(m, i)->type == MACKO_I64;
  ck_assert_int_eq(wide, info.nnz > INT32_MAX);
  macko_destroy(&m);
  test_free(&a);
}
END_TEST

/* As the header says: alpha (A x), but A' (alpha x), of which an infinite entry makes NaN where alpha x underflows. */
START_TEST(alpha_goes_first_where_the_header_says)
{
  int32_t row_ptr[] = {0, 1, 2}, cols[] = {0, 1};
  double values[] = {INFINITY, 2}, x[] = {1e-300, 1}, y[2];
  macko_csr c = {.nrows = 2, .ncols = 2, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options o;
  macko_error err = {0};
  for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++) {
    macko_matrix *m = NULL;
    macko_options_init(&o);
    o.format = (macko_format)_i, o.layout = (macko_layout)layout;
    if (macko_options_check(&o, NULL)) continue;
    ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
    ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1e-300, x, 2, 0, y, 2, NULL));
    ck_assert_msg(y[0] == INFINITY && y[1] == 2e-300, "op N: %g, %g", y[0], y[1]);
    ck_assert(!macko_multiply(m, MACKO_OP_T, MACKO_F64, 1, 1e-300, x, 2, 0, y, 2, NULL));
    ck_assert_msg(isnan(y[0]) && y[1] == 2e-300, "op T: %g, %g", y[0], y[1]);
    macko_destroy(&m);
  }
}
END_TEST

/* Vectors that share a pass over the matrix are added up each as it is alone. */
START_TEST(a_vector_has_its_bits_beside_others)
{
  enum { ROWS = 300, WIDTH = 37, VECTORS = 7 };
  static int32_t row_ptr[ROWS + 1], cols[ROWS * WIDTH];
  static double values[ROWS * WIDTH], x[VECTORS * ROWS], alone[ROWS], y[VECTORS * ROWS];
  macko_options o;
  macko_error err = {0};
  for (int i = 0, n = 0; i < ROWS; i++) {
    for (int k = 0; k < i % WIDTH; k++) cols[n] = (i + 7 * k + k * k % 5) % ROWS, values[n++] = 1. / (1 + i + k);
    row_ptr[i + 1] = n;
  }
  for (int i = 0; i < VECTORS * ROWS; i++) x[i] = sin(i);
  macko_csr c = {.nrows = ROWS, .ncols = ROWS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++) {
    macko_matrix *m = NULL;
    macko_options_init(&o);
    o.format = (macko_format)_i, o.layout = (macko_layout)layout;
    if (macko_options_check(&o, NULL)) continue;
    ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
    for (int k = 2; k <= VECTORS; k++) {
      memcpy(y, x, sizeof y);
      ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, k, 1.1, x, ROWS, 0.7, y, ROWS, NULL));
      for (int j = 0; j < k; j++) {
        memcpy(alone, x + j * ROWS, sizeof alone);
        ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1.1, x + j * ROWS, ROWS, 0.7, alone, ROWS, NULL));
        ck_assert_msg(!memcmp(alone, y + j * ROWS, sizeof alone), "%s %s: vector %d of %d", macko_format_name(o.format),
                      macko_layout_name(o.layout), j, k);
      }
    }
    macko_destroy(&m);
  }
}
END_TEST

/* Encodes in layout slice with values by that codec, and multiplies. Stencils are made of values as they are alone. */
static void multiply_slices(const macko_csr *c, macko_values values, macko_type type, const void *x, void *y)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE, o.values = values;
  ck_assert_msg(!macko_encode(c, &o, &m, &err), "%s", err.text);
  ck_assert_int_eq(macko_params_of(&m->plan)->slice.stencils, values == MACKO_VALUES_RAW ? (c->nrows + 31) / 32 : 0);
  ck_assert(!macko_multiply(m, MACKO_OP_N, type, 1, 1, x, c->ncols, 0, y, c->nrows, NULL));
  macko_destroy(&m);
}

/* Lanes that lack a step of a stencil do not see the x of others, be it infinite or no number, nor lose the sign of a sum that
 * underflows: sums are those of slices that are no stencils. The second time a coefficient is infinite. */
START_TEST(lanes_without_a_step_keep_their_sums)
{
  enum { ROWS = 200, STEPS = 5 };
  static const int distances[STEPS] = {-3, -1, 0, 1, 3};
  const double coefficients[STEPS] = {-1e-200, 1.5, _i ? -INFINITY : 0, -2, 1e-200};
  int32_t row_ptr[ROWS + 1] = {0}, cols[ROWS * STEPS];
  double values[ROWS * STEPS], x[ROWS], want[ROWS], got[ROWS];
  float x32[ROWS], want32[ROWS], got32[ROWS];
  for (int i = 0, n = 0; i < ROWS; row_ptr[++i] = n)
    for (int k = 0; k < STEPS; k++)
      if (i + distances[k] >= 0 && i + distances[k] < ROWS && (i % 5 ? (i * 37 + k * 11) % 7 % 3 : !k))
        cols[n] = i + distances[k], values[n++] = coefficients[k];
  for (int i = 0; i < ROWS; i++) x[i] = i % 50 == 7 ? NAN : i % 50 == 23 ? INFINITY : i % 16 ? 1e-200 : i, x32[i] = (float)x[i];
  const macko_csr c = {.nrows = ROWS, .ncols = ROWS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                       .row_ptr = row_ptr, .cols = cols, .values = values};
  multiply_slices(&c, MACKO_VALUES_DICT, MACKO_F64, x, want), multiply_slices(&c, MACKO_VALUES_RAW, MACKO_F64, x, got);
  multiply_slices(&c, MACKO_VALUES_DICT, MACKO_F32, x32, want32), multiply_slices(&c, MACKO_VALUES_RAW, MACKO_F32, x32, got32);
  for (int i = 0; i < ROWS; i++) {
    ck_assert_msg(isnan(want[i]) ? isnan(got[i]) : !memcmp(&want[i], &got[i], sizeof *got), "row %d: %g for %g", i, got[i], want[i]);
    ck_assert_msg(isnan(want32[i]) ? isnan(got32[i]) : !memcmp(&want32[i], &got32[i], sizeof *got32), "row %d of f32: %g for %g", i,
                  got32[i], want32[i]);
  }
}
END_TEST

int main(void)
{
  if (!PROCESSOR_IS_SET) return printf("the library sees this processor, not the other one\n"), EXIT_FAILURE;
  Suite *suite = suite_create("conformance");
  TCase *t = tcase_create("formats");
  tcase_set_timeout(t, 120);
  const int loops = TEST_PATTERNS * KINDS / CONFORMANCE_STRIDE;
  tcase_add_loop_test(t, formats_agree_with_csr, loops * (PART - 1) / PARTS, loops * PART / PARTS);
  suite_add_tcase(suite, t);
  if (PART > 1) return test_run(suite);
  tcase_add_test(t, duplicates_are_added_and_rows_sorted);
  tcase_add_test(t, bit_patterns_survive);
  tcase_add_loop_test(t, counts_widen_beyond_the_limit, 0, 4);
  tcase_add_loop_test(t, alpha_goes_first_where_the_header_says, 0, MACKO_FORMAT_AUTO + 1);
  tcase_add_loop_test(t, a_vector_has_its_bits_beside_others, 0, MACKO_FORMAT_AUTO + 1);
  tcase_add_loop_test(t, lanes_without_a_step_keep_their_sums, 0, 2);
  suite_add_tcase(suite, new_values_case());
  return test_run(suite);
}
