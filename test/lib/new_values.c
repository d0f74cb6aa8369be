/* Of the suite conformance: values that are replaced, rounded on request, or copied. */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* products: by kind of values. */
static void encode_and_refresh(test_matrix *a, test_products *products[], const macko_options *o)
{
  macko_matrix *m = NULL;
  macko_error err = {0};
  test_fill(a, TEST_VALUES - 1); /* stencils, which the next values end */
  macko_csr c = test_view(a);
  macko_status s = macko_encode(&c, o, &m, &err);
  if (beyond_limit(s, &err)) return;
  ck_assert_msg(!s, "%s: %s", a->name, err.text);
  for (int kind = TEST_VALUES - 1; kind >= 0; kind--) {
    test_seed((uint64_t)kind), test_fill(a, kind);
    ck_assert_msg(!macko_refresh(m, &c, &err), "%s: %s", a->name, err.text);
    check_all(a, products[kind], m, "refreshed");
  }
  macko_destroy(&m);
}

/* New values on the same columns, to and fro between kinds, so that codecs change under way. */
START_TEST(refresh_takes_new_values)
{
  macko_options o;
  test_matrix a = test_make(_i, TEST_VALUES - 1, MACKO_F64);
  test_products *products[TEST_VALUES];
  macko_options_init(&o);
  for (int kind = 0; kind < TEST_VALUES; kind++) {
    test_seed((uint64_t)kind), test_fill(&a, kind);
    products[kind] = test_products_make(&a);
  }
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++) {
      o.format = (macko_format)f, o.layout = (macko_layout)layout;
      if (macko_options_check(&o, NULL)) continue;
      encode_and_refresh(&a, products, &o);
    }
  o.format = MACKO_FORMAT_AUTO, o.layout = MACKO_LAYOUT_AUTO, o.prefer = MACKO_PREFER_MEMORY;
  encode_and_refresh(&a, products, &o);
  for (int kind = 0; kind < TEST_VALUES; kind++) test_products_free(products[kind]);
  test_free(&a);
}
END_TEST

START_TEST(refresh_refuses_another_pattern_and_keeps_the_old_values)
{
  int32_t row_ptr[] = {0, 1, 2}, other[] = {0, 2, 2}, cols[] = {0, 1};
  double values[] = {3, 4}, back[2];
  macko_csr c = {.nrows = 2, .ncols = 2, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m = NULL;
  macko_error err;
  ck_assert(!macko_encode(&c, NULL, &m, NULL));
  c.row_ptr = other;
  values[0] = 7;
  ck_assert_int_eq(macko_refresh(m, &c, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "row 0 has 2 entries; 1 were encoded");
  macko_decode(m, NULL, NULL, back, NULL);
  ck_assert(back[0] == 3 && back[1] == 4);
  macko_destroy(&m);
}
END_TEST

/* Rows of equal lengths, so that only columns tell patterns apart; one free column on either side of those used. */
enum { SAME_ROWS = 300, SAME_WIDTH = 7, SAME_ENTRIES = SAME_ROWS * SAME_WIDTH, SAME_COLS = 4000 };

static void regular_rows(int32_t *row_ptr, int32_t *cols, double *values)
{
  test_seed(3);
  for (int i = 0; i < SAME_ROWS; i++) {
    row_ptr[i] = i * SAME_WIDTH;
    for (int k = 0, col = 0; k < SAME_WIDTH; k++) cols[i * SAME_WIDTH + k] = col += 1 + (int)(test_draw() % 500);
  }
  row_ptr[SAME_ROWS] = SAME_ROWS * SAME_WIDTH;
  for (int p = 0; p < SAME_ENTRIES; p++) values[p] = p % 5 + 1;
}

/* Other columns of the same number in each row, of the same sum in some of these. */
static void another_pattern(int which, const int32_t *from, int32_t *to)
{
  enum { W = SAME_WIDTH, A = 17 * W, B = 202 * W };
  memcpy(to, from, SAME_ENTRIES * sizeof *to);
  switch (which) {
  case 0: to[A + W - 1]++; break;
  case 1: memcpy(to + A, from + B, W * sizeof *to), memcpy(to + B, from + A, W * sizeof *to); break;
  case 2: to[A + W - 1]++, to[B]--; break;
  case 3: to[A]--, to[A + W - 1]++; break;
  case 4: to[B] -= 1, to[B + 1] = to[B] + 1; break;
  default:
    for (int p = 0; p < SAME_ENTRIES; p++)
      to[p] = which == 5 ? from[p] + 1 : which == 6 ? from[p] - 1 : which == 7 ? from[(p + W) % SAME_ENTRIES]
              : which == 8 ? SAME_COLS - 1 - from[p / W * W + W - 1 - p % W] : from[(SAME_ROWS - 1 - p / W) * W + p % W];
  }
}
enum { OTHER_PATTERNS = 10 };

/* All rows are of one length, so that the first row starts serve any piece. */
static macko_status regular_piece(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  (void)err;
  *piece = *(const macko_csr *)context;
  piece->nrows = count;
  piece->cols = (const int32_t *)piece->cols + first * SAME_WIDTH;
  piece->values = (const double *)piece->values + first * SAME_WIDTH;
  return MACKO_OK;
}

/* By macko_encode, by macko_encode_rows (which does not see the whole), or as a copy. */
static macko_matrix *encode_somehow(int how, const macko_csr *c, const macko_options *o)
{
  macko_matrix *m = NULL, *copy = NULL;
  macko_error err = {0};
  const macko_row_source source = {c->nrows, c->ncols, c->value_type, 100, regular_piece, (void *)c};
  macko_status s = how == 1 ? macko_encode_rows(&source, o, &m, &err) : macko_encode(c, o, &m, &err);
  if (beyond_limit(s, &err)) return NULL;
  ck_assert_msg(!s, "%s", err.text);
  if (how < 2) return m;
  ck_assert(!macko_copy(m, &copy, NULL));
  macko_destroy(&m);
  return copy;
}

static void check_refused(macko_matrix *m, const macko_csr *c, int which)
{
  static int32_t other[SAME_ENTRIES];
  static int64_t back[SAME_ENTRIES];
  const int32_t *cols = c->cols;
  macko_csr a = *c;
  macko_error err;
  char expected[200];
  int p = 0;
  another_pattern(which, cols, other);
  while (cols[p] == other[p]) p++;
  snprintf(expected, sizeof expected, "row %d has an entry in column %d where one in column %d was encoded", p / SAME_WIDTH,
           other[p], cols[p]);
  a.cols = other;
  ck_assert_msg(macko_refresh(m, &a, &err) == MACKO_INVALID_MATRIX, "other pattern %d", which);
  ck_assert_str_eq(err.text, expected);
  ck_assert(!macko_decode(m, NULL, back, NULL, NULL));
  for (p = 0; p < SAME_ENTRIES; p++) ck_assert(back[p] == cols[p]);
}

static void check_taken(macko_matrix *m, const macko_csr *c, int base)
{
  static int64_t row_ptr[SAME_ROWS + 1], cols[SAME_ENTRIES];
  macko_csr a = *c;
  macko_error err;
  for (int i = 0; i <= SAME_ROWS; i++) row_ptr[i] = ((const int32_t *)c->row_ptr)[i] + base;
  for (int p = 0; p < SAME_ENTRIES; p++) cols[p] = ((const int32_t *)c->cols)[p] + base;
  a.row_ptr = row_ptr, a.cols = cols, a.row_ptr_type = a.col_type = MACKO_I64, a.index_base = base;
  ck_assert_msg(!macko_refresh(m, &a, &err), "%s", err.text);
  cols[SAME_ENTRIES - 1] += (int64_t)1 << 32; /* the lower half is as it was */
  ck_assert(macko_refresh(m, &a, &err) == MACKO_INVALID_MATRIX);
  ck_assert_msg(strstr(err.text, "is outside"), "%s", err.text);
}

/* Other columns under the same row lengths, taken for new values, would be a wrong product that nothing shows. */
START_TEST(refresh_refuses_other_columns)
{
  static int32_t row_ptr[SAME_ROWS + 1], cols[SAME_ENTRIES];
  static double values[SAME_ENTRIES];
  macko_options o;
  macko_csr c = {.nrows = SAME_ROWS, .ncols = SAME_COLS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  regular_rows(row_ptr, cols, values);
  for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++) {
    macko_options_init(&o);
    o.format = (macko_format)(_i % (MACKO_FORMAT_AUTO + 1)), o.layout = (macko_layout)layout;
    if (macko_options_check(&o, NULL)) continue;
    macko_matrix *m = encode_somehow(_i / (MACKO_FORMAT_AUTO + 1), &c, &o);
    for (int which = 0; m && which < OTHER_PATTERNS; which++) check_refused(m, &c, which);
    for (int base = 0; m && base < 2; base++) check_taken(m, &c, base);
    macko_destroy(&m);
  }
}
END_TEST

/* Columns whose lower 32 bits are those that were encoded, wherever in the row starts and columns they are. */
START_TEST(refresh_refuses_columns_beyond_32_bits)
{
  static const int64_t places[] = {0, 1, 5, 14, SAME_ENTRIES - 1}, beyond[] = {(int64_t)1 << 32, -((int64_t)1 << 32), INT64_MIN};
  static int32_t row_ptr[SAME_ROWS + 1], narrow[SAME_ENTRIES];
  static int64_t cols[SAME_ENTRIES];
  static double values[SAME_ENTRIES];
  macko_csr c = {.nrows = SAME_ROWS, .ncols = SAME_COLS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m = NULL;
  macko_error err;
  regular_rows(row_ptr, narrow, values);
  for (int p = 0; p < SAME_ENTRIES; p++) cols[p] = narrow[p];
  ck_assert(!macko_encode(&c, NULL, &m, NULL));
  for (int base = 0; base < 2; base++) {
    for (int i = 0; i < 15; i++) {
      int64_t p = places[i / 3], old = cols[p];
      cols[p] = i % 3 < 2 ? old + beyond[i % 3] : beyond[i % 3];
      ck_assert_int_eq(macko_refresh(m, &c, &err), MACKO_INVALID_MATRIX);
      ck_assert_msg(strstr(err.text, "is outside"), "%s", err.text);
      cols[p] = old;
    }
    ck_assert(!macko_refresh(m, &c, &err));
    c.index_base = 1;
    for (int p = 0; p < SAME_ENTRIES; p++) cols[p]++;
    for (int i = 0; i <= SAME_ROWS; i++) row_ptr[i]++;
  }
  macko_destroy(&m);
}
END_TEST

static void round_values(test_matrix *a)
{
  double *values = a->values;
  for (int64_t p = 0; p < a->row_ptr[a->nrows]; p++) a->exact[p] = values[p] = (float)values[p];
}

/* NULL where a limit of this build refuses it. */
static macko_matrix *encoded_and_valid(const macko_csr *c, const macko_options *o, macko_info *info)
{
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_status s = macko_encode(c, o, &m, &err);
  if (beyond_limit(s, &err)) return NULL;
  ck_assert_msg(!s && !macko_validate(m, &err), "%s: %s", macko_format_name(o->format), err.text);
  macko_get_info(m, info);
  return m;
}

/* A matrix rounded on request is that of the rounded values, in every format that rounds, and still is after a refresh; `lossy`
 * follows. */
START_TEST(rounded_values_multiply_as_themselves)
{
  test_matrix a = test_make(_i, 1, MACKO_F64), rounded = test_make(_i, 1, MACKO_F64);
  macko_options o;
  macko_csr c = test_view(&a), exact = test_view(&rounded);
  macko_info info;
  test_seed(5), test_fill(&a, 1);
  test_seed(5), test_fill(&rounded, 1);
  round_values(&rounded);
  int lossy = memcmp(a.values, rounded.values, (size_t)a.row_ptr[a.nrows] * sizeof(double)) != 0;
  test_products *p = test_products_make(&rounded);
  macko_options_init(&o);
  o.values = MACKO_VALUES_F32;
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
    macko_error err = {0};
    o.format = (macko_format)f;
    if (macko_options_check(&o, NULL)) continue;
    macko_matrix *m = encoded_and_valid(&c, &o, &info);
    if (!m) continue;
    ck_assert_msg(info.lossy == lossy, "%s: lossy is %d", macko_format_name(o.format), info.lossy);
    test_check_decode(&rounded, m, macko_format_name(o.format));
    test_check_products(p, m, macko_format_name(o.format));
    ck_assert_msg(!macko_refresh(m, &exact, &err), "%s", err.text);
    macko_get_info(m, &info);
    ck_assert_msg(!info.lossy, "%s: lossy after values that fit", macko_format_name(o.format));
    check_all(&rounded, p, m, "refreshed");
    macko_destroy(&m);
  }
  test_products_free(p);
  test_free(&a), test_free(&rounded);
}
END_TEST

/* Neither of the two types of 16 bits holds all of the other's values. */
START_TEST(sixteen_bits_as_the_other_sixteen)
{
  for (int t = 0; t < 2; t++) {
    test_matrix a = test_make(_i, 0, t ? MACKO_BF16 : MACKO_F16);
    macko_csr c = test_view(&a);
    macko_options o;
    macko_info info;
    macko_options_init(&o);
    o.values = t ? MACKO_VALUES_F16 : MACKO_VALUES_BF16;
    for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
      o.format = (macko_format)f;
      if (macko_options_check(&o, NULL)) continue;
      macko_matrix *m = encoded_and_valid(&c, &o, &info);
      if (!m) continue;
      if (!info.lossy) test_check_decode(&a, m, macko_format_name(o.format));
      macko_destroy(&m);
    }
    test_free(&a);
  }
}
END_TEST

/* A copy stays what it was when the first takes new values and goes. */
START_TEST(copies_are_independent)
{
  test_matrix a = test_make(_i, 0, MACKO_F64), b = test_make(_i, 0, MACKO_F64);
  macko_options o;
  macko_csr c = test_view(&a);
  macko_options_init(&o);
  test_seed(5), test_fill(&b, 1);
  macko_csr other = test_view(&b);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
    macko_matrix *m = NULL, *copy = NULL;
    o.format = (macko_format)f;
    macko_error err = {0};
    if (beyond_limit(macko_encode(&c, &o, &m, &err), &err)) continue;
    ck_assert_msg(!macko_copy(m, &copy, &err) && !macko_refresh(m, &other, &err), "%s", err.text);
    test_check_decode(&b, m, "refreshed");
    macko_destroy(&m);
    test_check_decode(&a, copy, "copied before");
    check_info(copy, &a, "copied before");
    macko_destroy(&copy);
  }
  test_free(&a), test_free(&b);
}
END_TEST

TCase *new_values_case(void)
{
  TCase *t = tcase_create("new values");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, refresh_takes_new_values, 0, TEST_PATTERNS);
  tcase_add_test(t, refresh_refuses_another_pattern_and_keeps_the_old_values);
  tcase_add_loop_test(t, refresh_refuses_other_columns, 0, 3 * (MACKO_FORMAT_AUTO + 1));
  tcase_add_test(t, refresh_refuses_columns_beyond_32_bits);
  tcase_add_loop_test(t, rounded_values_multiply_as_themselves, 0, TEST_PATTERNS);
  tcase_add_loop_test(t, sixteen_bits_as_the_other_sixteen, 0, TEST_PATTERNS);
  tcase_add_loop_test(t, copies_are_independent, 0, TEST_PATTERNS);
  add_pairs_tests(t);
  return t;
}
