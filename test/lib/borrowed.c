/* macko_encode_borrowed: what is stored as csr is the caller's arrays, whatever else is stored is not. */
#include "macko.h"
#include "suite.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4, ENTRIES = 7 };

static int32_t row_ptr[ROWS + 1] = {0, 2, 2, 5, 7}, cols[ENTRIES] = {0, 3, 0, 1, 2, 1, 3};
static double values[ENTRIES] = {2, 0.5, -1, 3, 0.25, 7, -4}, others[ENTRIES] = {1, 2, 3, 4, 5, 6, 7};
static const double x[ROWS] = {1, 2, 4, 8};

static macko_csr view(const double *of)
{
  return (macko_csr){.nrows = ROWS, .ncols = ROWS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = of};
}

static macko_matrix *encode(const macko_csr *a, macko_format format, macko_values codec)
{
  macko_options options;
  macko_matrix *m = NULL;
  macko_error err;
  macko_options_init(&options);
  options.format = format, options.values = codec;
  ck_assert_msg(macko_encode_borrowed(a, &options, &m, &err) == MACKO_OK, "%s", err.text);
  return m;
}

static int borrows(const macko_matrix *m, const macko_csr *a)
{
  return macko_get_section(m, 0)->data == a->row_ptr && macko_get_section(m, 1)->data == a->cols &&
         macko_get_section(m, 2)->data == a->values;
}

static void check_product(const macko_matrix *m, const double *of)
{
  double y[ROWS], exact[ROWS] = {0};
  macko_error err;
  for (int i = 0; i < ROWS; i++)
    for (int p = row_ptr[i]; p < row_ptr[i + 1]; p++) exact[i] += of[p] * x[cols[p]];
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, ROWS, 0, y, ROWS, &err), MACKO_OK);
  for (int i = 0; i < ROWS; i++) ck_assert_double_eq(y[i], exact[i]);
}

/* Asked for and chosen: nothing is better for so small a matrix. */
START_TEST(arrays_are_used)
{
  const double before[ENTRIES] = {2, 0.5, -1, 3, 0.25, 7, -4};
  macko_csr a = view(values);
  macko_matrix *m = encode(&a, _i ? MACKO_FORMAT_AUTO : MACKO_FORMAT_CSR, MACKO_VALUES_RAW);
  macko_info info;
  macko_error err;
  macko_get_info(m, &info);
  ck_assert_int_eq(info.format, MACKO_FORMAT_CSR);
  ck_assert(borrows(m, &a));
  ck_assert_int_eq(info.bytes, info.csr_bytes);
  ck_assert_int_eq(macko_validate(m, &err), MACKO_OK);
  check_product(m, values);
  macko_destroy(&m);
  ck_assert_mem_eq(values, before, sizeof values);
}
END_TEST

/* Also where format csr has been measured to be the fastest, or is the only one to measure. The cache is no folder, so that nothing
 * is remembered. */
START_TEST(arrays_are_used_where_the_choice_is_measured)
{
  macko_csr a = view(values);
  macko_options options;
  macko_matrix *m = NULL;
  macko_info info;
  macko_error err;
  ck_assert(!setenv("XDG_CACHE_HOME", "/dev/null", 1));
  macko_options_init(&options);
  options.prefer = MACKO_PREFER_MEASURED, options.format = _i ? MACKO_FORMAT_AUTO : MACKO_FORMAT_CSR;
  ck_assert_msg(macko_encode_borrowed(&a, &options, &m, &err) == MACKO_OK, "%s", err.text);
  macko_get_info(m, &info);
  ck_assert(_i || info.format == MACKO_FORMAT_CSR);
  ck_assert_int_eq(borrows(m, &a), info.format == MACKO_FORMAT_CSR);
  check_product(m, values);
  macko_destroy(&m);
}
END_TEST

/* A copy belongs to itself. */
START_TEST(copies_are_whole)
{
  macko_csr a = view(values);
  macko_matrix *m = encode(&a, MACKO_FORMAT_CSR, MACKO_VALUES_RAW), *copy = NULL;
  macko_error err;
  ck_assert_int_eq(macko_copy(m, &copy, &err), MACKO_OK);
  for (int i = 0; i < 3; i++) ck_assert_ptr_ne(macko_get_section(copy, i)->data, macko_get_section(m, i)->data);
  macko_destroy(&m);
  check_product(copy, values);
  macko_destroy(&copy);
}
END_TEST

/* New arrays take the place of the old ones, whose values stay as they are. */
START_TEST(refresh_takes_other_arrays)
{
  const double before[ENTRIES] = {2, 0.5, -1, 3, 0.25, 7, -4};
  macko_csr a = view(values), b = view(others);
  macko_matrix *m = encode(&a, MACKO_FORMAT_CSR, MACKO_VALUES_RAW);
  macko_error err;
  ck_assert_msg(macko_refresh(m, &b, &err) == MACKO_OK, "%s", err.text);
  ck_assert(borrows(m, &b));
  check_product(m, others);
  ck_assert_mem_eq(values, before, sizeof values);
  macko_destroy(&m);
}
END_TEST

/* Rows that have to be sorted first, or indices from 1, cannot be used: the matrix then has arrays of its own. */
START_TEST(refresh_copies_what_cannot_be_used)
{
  int32_t turned[ENTRIES] = {3, 0, 0, 1, 2, 1, 3}, ptr_from_1[ROWS + 1], cols_from_1[ENTRIES];
  double of_turned[ENTRIES] = {2, 1, 3, 4, 5, 6, 7};
  macko_csr a = view(values), b = view(_i ? others : of_turned);
  macko_matrix *m = encode(&a, MACKO_FORMAT_CSR, MACKO_VALUES_RAW);
  macko_error err;
  for (int i = 0; i <= ROWS; i++) ptr_from_1[i] = row_ptr[i] + 1;
  for (int i = 0; i < ENTRIES; i++) cols_from_1[i] = cols[i] + 1;
  if (_i) b.index_base = 1, b.row_ptr = ptr_from_1, b.cols = cols_from_1;
  else b.cols = turned;
  ck_assert_msg(macko_refresh(m, &b, &err) == MACKO_OK, "%s", err.text);
  ck_assert(!borrows(m, &a) && !borrows(m, &b));
  memset(of_turned, 0, sizeof of_turned), memset(turned, 0, sizeof turned);
  check_product(m, others);
  ck_assert_double_eq(values[0], 2);
  macko_destroy(&m);
}
END_TEST

/* Unsorted rows, indices from 1 or of 8 bytes, rounded values, another format, no entries. */
START_TEST(others_are_copied)
{
  int32_t turned[ENTRIES] = {3, 0, 0, 1, 2, 1, 3}, ptr_from_1[ROWS + 1], cols_from_1[ENTRIES], none[ROWS + 1] = {0};
  int64_t wide[ROWS + 1];
  macko_csr a = view(values);
  for (int i = 0; i <= ROWS; i++) ptr_from_1[i] = row_ptr[i] + 1, wide[i] = row_ptr[i];
  for (int i = 0; i < ENTRIES; i++) cols_from_1[i] = cols[i] + 1;
  if (_i == 0) a.cols = turned;
  if (_i == 1) a.index_base = 1, a.row_ptr = ptr_from_1, a.cols = cols_from_1;
  if (_i == 2) a.row_ptr_type = MACKO_I64, a.row_ptr = wide;
  if (_i == 5) a.row_ptr = none, a.cols = NULL, a.values = NULL;
  macko_matrix *m = encode(&a, _i == 4 ? MACKO_FORMAT_MACKO : MACKO_FORMAT_CSR, _i == 3 ? MACKO_VALUES_F32 : MACKO_VALUES_RAW);
  for (int64_t i = 0; macko_get_section(m, i); i++) {
    const void *data = macko_get_section(m, i)->data;
    ck_assert(data != a.row_ptr && data != a.cols && data != a.values);
  }
  if (_i > 0 && _i < 5) check_product(m, values);
  macko_destroy(&m);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("borrowed");
  TCase *cases = tcase_create("arrays");
  tcase_add_loop_test(cases, arrays_are_used, 0, 2);
  tcase_add_loop_test(cases, arrays_are_used_where_the_choice_is_measured, 0, 2);
  tcase_add_test(cases, copies_are_whole);
  tcase_add_test(cases, refresh_takes_other_arrays);
  tcase_add_loop_test(cases, refresh_copies_what_cannot_be_used, 0, 2);
  tcase_add_loop_test(cases, others_are_copied, 0, 6);
  suite_add_tcase(suite, cases);
  return test_run(suite);
}
