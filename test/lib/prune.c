/* Pruning to Z of every L columns, and what windows of M entries in N columns cover. */
#include "macko.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 1 if all sets of z of l columns are placed by windows from the left, each of which takes the first m entries that are in it. */
static int covers(int z, int l, int m, int n)
{
  for (uint32_t entries = 0; entries < 1u << l; entries++) {
    uint32_t left = entries;
    if (__builtin_popcount(entries) != z) continue;
    for (int first = 0; first + n <= l; first += n - m)
      for (int k = 0; k < m; k++) {
        const uint32_t in_window = left & ((1u << n) - 1) << first;
        left &= ~(in_window & (~in_window + 1));
      }
    if (left) return 0;
  }
  return 1;
}

/* What is said of windows without trying is what comes of trying all patterns. */
START_TEST(windows_cover_what_is_said)
{
  const int l = _i;
  int fine = 0, refused = 0;
  macko_error err = {0};
  for (int z = 1; z <= l; z++)
    for (int n = 2; n <= l; n++)
      for (int m = 1; m < n; m++) {
        macko_windows w = {0};
        const macko_status s = macko_check_windows(z, l, m, n, &w, &err);
        if ((l - n) % (n - m)) {
          ck_assert_int_eq(s, MACKO_UNSUPPORTED);
          continue;
        }
        ck_assert_msg((s == MACKO_OK) == covers(z, l, m, n), "%d:%d on %d:%d: status %d, %s", z, l, m, n, (int)s, err.text);
        if (s) ck_assert(s == MACKO_UNSUPPORTED && w.windows == 0);
        else ck_assert(w.windows * m >= z && w.stride == n - m && w.expansion >= w.bound * 0.999999);
        fine += !s, refused += s != MACKO_OK;
      }
  ck_assert(fine > 0 && refused > 0);
}
END_TEST

START_TEST(windows_are_measured_or_refused)
{
  macko_windows w;
  macko_error err = {0};
  ck_assert(!macko_check_windows(6, 8, 2, 4, &w, &err));
  ck_assert(w.windows == 3 && w.stride == 2 && w.expansion == 1.5 && w.bound == 1.5);
  ck_assert_int_eq(macko_check_windows(2, 5, 1, 3, &w, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, "2:5 on 1:3: columns 0 to 1 of a block can have 2 entries, and the windows that they are in hold 1");
  ck_assert_int_eq(macko_check_windows(5, 7, 2, 4, &w, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, "windows of 4 columns, each 2 behind the one before, do not end with a block of 7 columns");
  ck_assert_int_eq(macko_check_windows(9, 8, 2, 4, &w, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_check_windows(1, 2, 4, 4, &w, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_check_windows(6, 8, 2, 4, NULL, &err), MACKO_INVALID_ARGUMENT);
}
END_TEST

/* Of every four columns the two largest stay, of equal ones the first, NaN before numbers; format slide then finds 2:4. Indices
 * count from 1, rows are not sorted. */
START_TEST(pruning_keeps_the_largest)
{
  const int32_t row_ptr[] = {1, 6, 6, 10}, cols[] = {9, 2, 1, 4, 3, 1, 2, 3, 4}, kept[] = {2, 3, 9, 1, 4};
  const float values[] = {0, -5, 1, 2, 3, NAN, 1, -1, 2}, left[] = {-5, 3, 0, NAN, 2};
  macko_csr a = {.nrows = 3, .ncols = 9, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F32,
                 .row_ptr = row_ptr, .cols = cols, .values = values, .index_base = 1}, b = {0};
  macko_error err = {0};
  ck_assert_msg(!macko_prune(&a, 2, 4, &b, &err), "%s", err.text);
  const int32_t starts[] = {1, 4, 4, 6};
  ck_assert_mem_eq(b.row_ptr, starts, sizeof starts);
  ck_assert_mem_eq(b.cols, kept, sizeof kept);
  ck_assert_mem_eq(b.values, left, sizeof left);
  macko_options o;
  macko_info info;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE, o.variant = MACKO_VARIANT_STRICT;
  ck_assert_msg(!macko_encode(&b, &o, &m, &err), "%s", err.text);
  macko_get_info(m, &info);
  ck_assert_msg(!strncmp(info.reason, "2:4 in ", 7), "%s", info.reason);
  macko_destroy(&m);
  macko_free_csr(&b);
  ck_assert_int_eq(macko_prune(&a, 5, 4, &b, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "5:4 is no pattern: it has 1 to L entries of L columns");
  ck_assert_ptr_null(b.cols);
}
END_TEST

/* A block of a million entries, whose largest are found in no time that grows with its square: the magnitudes 0 .. 999, a thousand
 * times each, of which the 300500 largest are all from 700 on and half of those of 699, the first ones. */
START_TEST(large_blocks_are_pruned)
{
  enum { WIDE = 1000000, KEPT = 300500 };
  const int64_t row_ptr[] = {0, WIDE};
  int32_t *cols = malloc(WIDE * sizeof *cols);
  float *values = malloc(WIDE * sizeof *values);
  macko_error err = {0};
  for (int32_t j = 0; j < WIDE; j++) cols[j] = j, values[j] = (float)(j * 7 % 1000) * (j % 2 ? -1.f : 1.f);
  macko_csr a = {.nrows = 1, .ncols = WIDE, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32, .value_type = MACKO_F32,
                 .row_ptr = row_ptr, .cols = cols, .values = values}, b = {0};
  ck_assert_msg(!macko_prune(&a, KEPT, WIDE, &b, &err), "%s", err.text);
  ck_assert_int_eq(((const int64_t *)b.row_ptr)[1], KEPT);
  for (int64_t p = 0, q = 0, equal = 0; p < WIDE; p++) {
    const float size = fabsf(values[p]);
    if (size < 699 || (size == 699 && equal++ >= 500)) continue;
    ck_assert_int_eq(((const int32_t *)b.cols)[q], p);
    ck_assert_float_eq(((const float *)b.values)[q++], values[p]);
  }
  macko_free_csr(&b);
  free(cols), free(values);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("prune");
  TCase *t = tcase_create("prune");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, windows_cover_what_is_said, 4, 13);
  tcase_add_test(t, windows_are_measured_or_refused);
  tcase_add_test(t, pruning_keeps_the_largest);
  tcase_add_test(t, large_blocks_are_pruned);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
