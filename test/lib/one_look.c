/* Encoding does not look again at what planning has seen: each slice of a csr is looked at once, and then stored, and so is each
 * window of format eccsr; a slice that repeats an earlier one is not described. The program is linked with the static library and
 * -Wl,--wrap, so that the library's calls come here. */
#include "eccsr/eccsr.h"
#include "macko/slice_describe.h"
#include "suite.h"

#include <stdint.h>

enum { X = 512, N = 16, ROWS = X * N * N }; /* lines so long that slices suit them, whatever the values */
static int32_t row_ptr[ROWS + 1], cols[7 * ROWS];
static double values[7 * ROWS];
static int64_t looks, descriptions, windows;

void __real_macko_find_slice(const macko_csr *a, const uint16_t *order, int64_t slice, macko_csr_slice *c);
void __wrap_macko_find_slice(const macko_csr *a, const uint16_t *order, int64_t slice, macko_csr_slice *c);
void __real_macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c);
void __wrap_macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c);

void __wrap_macko_find_slice(const macko_csr *a, const uint16_t *order, int64_t slice, macko_csr_slice *c)
{
  looks++;
  __real_macko_find_slice(a, order, slice, c);
}

void __wrap_macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c)
{
  descriptions++;
  __real_macko_describe_slice(a, kinds, c);
}

macko_status __real_macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                            macko_error *err);
macko_status __wrap_macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                            macko_error *err);

macko_status __wrap_macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                            macko_error *err)
{
  windows++;
  return __real_macko_eccsr_fill_window(a, shape, first, w, err);
}

/* The 7-point operator on a grid; with weights, every value is another one. */
static macko_csr grid(int weights)
{
  static const int steps[7] = {-X * N, -X, -1, 0, 1, X, X * N};
  int32_t nnz = 0;
  for (int row = 0; row < ROWS; row++) {
    int x = row % X, y = row / X % N, z = row / X / N;
    int inside[7] = {z > 0, y > 0, x > 0, 1, x < X - 1, y < N - 1, z < N - 1};
    for (int k = 0; k < 7; k++)
      if (inside[k]) cols[nnz] = row + steps[k], values[nnz] = (k == 3 ? 6 : -1) * (weights ? 1 + 1e-9 * nnz : 1), nnz++;
    row_ptr[row + 1] = nnz;
  }
  return (macko_csr){.nrows = ROWS, .ncols = ROWS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

/* How often slices are looked at, as a multiple of what there is. */
static double count_looks(const macko_csr *a, macko_format format, macko_values values_as)
{
  macko_options options;
  macko_matrix *m = NULL;
  macko_error err;
  macko_info info;
  macko_options_init(&options);
  options.format = format, options.values = values_as;
  if (format != MACKO_FORMAT_AUTO) options.layout = MACKO_LAYOUT_SLICE;
  looks = descriptions = 0;
  ck_assert_msg(macko_encode(a, &options, &m, &err) == MACKO_OK, "%s", err.text);
  macko_get_info(m, &info);
  ck_assert_int_eq(info.layout, MACKO_LAYOUT_SLICE);
  macko_destroy(&m);
  return (double)looks / (ROWS / 32);
}

/* Rows of 7 entries whose columns are nowhere alike. */
static macko_csr irregular(void)
{
  uint32_t random = 1;
  for (int row = 0; row < ROWS; row++)
    for (int k = 0; k < 7; k++) {
      random = random * 1664525 + 1013904223;
      cols[7 * row + k] = k * (ROWS / 7) + (int32_t)(random >> 20);
      values[7 * row + k] = row + k, row_ptr[row + 1] = 7 * (row + 1);
    }
  return (macko_csr){.nrows = ROWS, .ncols = ROWS, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

/* Slices of a grid are stencils, or all but a few repeat others. */
START_TEST(asked_for)
{
  macko_csr a = grid(_i);
  ck_assert_double_eq(count_looks(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_RAW), 1);
  ck_assert_int_le(descriptions, _i ? ROWS / 32 / 16 : 0);
}
END_TEST

START_TEST(nothing_repeats)
{
  macko_csr a = irregular();
  ck_assert_double_eq(count_looks(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_RAW), 1);
  ck_assert_int_eq(descriptions, ROWS / 32);
}
END_TEST

/* A sample of every 16th window of 128 slices says first what to look for. */
START_TEST(chosen)
{
  macko_csr a = grid(_i);
  ck_assert_double_le(count_looks(&a, MACKO_FORMAT_AUTO, MACKO_VALUES_AUTO), 1 + 2 / 16.);
}
END_TEST

/* Three unknowns a node, all coupled with those of the node before. */
static macko_csr equal_rows(void)
{
  enum { NODES = ROWS / 3 };
  for (int row = 0; row < 3 * NODES; row++) {
    const int first = row < 3 ? 0 : row / 3 * 3 - 3;
    for (int k = 0; k < 6; k++) cols[6 * row + k] = first + k, values[6 * row + k] = row + k;
    row_ptr[row + 1] = 6 * (row + 1);
  }
  return (macko_csr){.nrows = 3 * NODES, .ncols = 3 * NODES, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                     .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
}

/* Of format eccsr one window more says first whether rows that are nearly equal go together. */
START_TEST(windows_of_rows)
{
  const macko_csr a = equal_rows();
  macko_options options;
  macko_matrix *m = NULL;
  macko_error err;
  macko_options_init(&options);
  options.format = MACKO_FORMAT_ECCSR;
  windows = 0;
  ck_assert_msg(macko_encode(&a, &options, &m, &err) == MACKO_OK, "%s", err.text);
  macko_destroy(&m);
  ck_assert_int_eq(windows, macko_eccsr_windows(a.nrows) + 1);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("one look");
  TCase *cases = tcase_create("slices");
  tcase_add_loop_test(cases, asked_for, 0, 2);
  tcase_add_test(cases, nothing_repeats);
  tcase_add_loop_test(cases, chosen, 0, 2);
  tcase_add_test(cases, windows_of_rows);
  suite_add_tcase(suite, cases);
  return test_run(suite);
}
