/* Value codecs by themselves: what rounding gives back, and sets of values that were chosen to be slow. */
#include "dtans/dtans.h"
#include "suite.h"
#include "values/codecs.h"

#include <stdlib.h>

/* ---- f16 stored as bf16 ---- */

enum { HALVES = 65536 };

static float nearest_of_both(uint16_t half)
{
  float rounded = macko_bf16_to_f32(macko_f32_to_bf16(macko_f16_to_f32(half)));
  return rounded > 65504 && rounded - rounded == 0 ? 65504 : rounded < -65504 && rounded - rounded == 0 ? -65504 : rounded;
}

START_TEST(bf16_leaves_finite_f16_finite)
{
  static uint16_t halves[HALVES], back[HALVES];
  static int32_t cols[HALVES];
  int32_t row_ptr[] = {0, HALVES};
  macko_csr c = {.nrows = 1, .ncols = HALVES, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F16,
                 .row_ptr = row_ptr, .cols = cols, .values = halves};
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = (macko_format)_i, o.values = MACKO_VALUES_BF16;
  if (macko_options_check(&o, NULL)) return; /* a format that does not round */
  for (int i = 0; i < HALVES; i++) halves[i] = (uint16_t)i, cols[i] = i;
  ck_assert_msg(!macko_encode(&c, &o, &m, &err) && !macko_decode(m, NULL, NULL, back, &err), "%s", err.text);
  for (int i = 0; i < HALVES; i++) {
    float expected = nearest_of_both((uint16_t)i), got = macko_f16_to_f32(back[i]);
    ck_assert_msg(got == expected || (got != got && expected != expected), "%04x came back as %04x", i, back[i]);
  }
  macko_destroy(&m);
}
END_TEST

/* What comes back is not what products have been made with, so that it is lossy. */
START_TEST(the_largest_f16_is_no_bf16)
{
  uint16_t largest[] = {0x7bff, 0xfbff};
  ck_assert(!macko_fits(MACKO_F16, MACKO_BF16, largest, 0) && !macko_fits(MACKO_F16, MACKO_BF16, largest, 1));
}
END_TEST

/* ---- values that a public hash would put in one place ---- */

enum { CHOSEN = 50000 };

/* So that the product with a well-known factor has nothing but zeros in its upper bits: it is odd, so it has an inverse. */
static uint64_t chosen(uint64_t i)
{
  const uint64_t factor = 0x9e3779b97f4a7c15u;
  uint64_t inverse = factor;
  for (int round = 0; round < 6; round++) inverse *= 2 - factor * inverse;
  return i * inverse;
}

START_TEST(nobody_chooses_where_values_meet)
{
  static uint64_t table[CHOSEN];
  macko_pattern_set set;
  ck_assert(chosen(77) * 0x9e3779b97f4a7c15u == 77); /* their old places: all the first */
  ck_assert(!macko_open_patterns(MACKO_F64, table, CHOSEN, &set, NULL));
  for (int again = 0; again < 2; again++)
    for (uint64_t i = 0; i < CHOSEN; i++) ck_assert_int_eq(macko_pattern_code(&set, chosen(i)), (int64_t)i);
  ck_assert_int_lt(set.steps, 2 * CHOSEN);
  ck_assert_int_eq(macko_pattern_code(&set, chosen(CHOSEN)), -1);
  macko_close_patterns(&set);
}
END_TEST

START_TEST(nobody_chooses_where_symbols_meet)
{
  static uint64_t values[CHOSEN];
  static int32_t cols[CHOSEN];
  int32_t row_ptr[] = {0, CHOSEN};
  macko_csr c = {.nrows = 1, .ncols = CHOSEN, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_rows rows = macko_rows_of(&c);
  macko_dtans_input in;
  const macko_dtans_histogram *h;
  for (uint64_t i = 0; i < CHOSEN; i++) values[i] = chosen(i), cols[i] = (int32_t)i;
  ck_assert(!macko_dtans_open_input(&rows, &in, NULL));
  ck_assert(!macko_dtans_count_symbols(&in, MACKO_DTANS_VALUES, &h, NULL));
  ck_assert_int_lt(h->steps, 10 * CHOSEN);
  macko_dtans_close_input(&in);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("values");
  TCase *t = tcase_create("values");
  tcase_set_timeout(t, 300);
  tcase_add_loop_test(t, bf16_leaves_finite_f16_finite, 0, MACKO_FORMAT_AUTO);
  tcase_add_test(t, the_largest_f16_is_no_bf16);
  tcase_add_test(t, nobody_chooses_where_values_meet);
  tcase_add_test(t, nobody_chooses_where_symbols_meet);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
