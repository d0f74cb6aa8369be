/* Encoding does not look again at what planning has seen: each slice of a csr is described once, and then stored. The program is
 * linked with the static library and -Wl,--wrap, so that the library's calls come here. */
#include "macko/slice_describe.h"
#include "suite.h"

#include <stdint.h>

enum { X = 512, N = 16, ROWS = X * N * N }; /* lines so long that slices suit them, whatever the values */
static int32_t row_ptr[ROWS + 1], cols[7 * ROWS];
static double values[7 * ROWS];
static int64_t looks;

void __real_macko_look_at_slice(const macko_csr *a, const uint16_t *order, int kinds, int64_t slice, macko_csr_slice *c);
void __wrap_macko_look_at_slice(const macko_csr *a, const uint16_t *order, int kinds, int64_t slice, macko_csr_slice *c);

void __wrap_macko_look_at_slice(const macko_csr *a, const uint16_t *order, int kinds, int64_t slice, macko_csr_slice *c)
{
  looks++;
  __real_macko_look_at_slice(a, order, kinds, slice, c);
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
  looks = 0;
  ck_assert_msg(macko_encode(a, &options, &m, &err) == MACKO_OK, "%s", err.text);
  macko_get_info(m, &info);
  ck_assert_int_eq(info.layout, MACKO_LAYOUT_SLICE);
  macko_destroy(&m);
  return (double)looks / (ROWS / 32);
}

START_TEST(asked_for)
{
  macko_csr a = grid(_i);
  ck_assert_double_eq(count_looks(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_RAW), 1);
}
END_TEST

/* A sample of every 16th window of 128 slices says first what to look for. */
START_TEST(chosen)
{
  macko_csr a = grid(_i);
  ck_assert_double_le(count_looks(&a, MACKO_FORMAT_AUTO, MACKO_VALUES_AUTO), 1 + 2 / 16.);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("one look");
  TCase *cases = tcase_create("slices");
  tcase_add_loop_test(cases, asked_for, 0, 2);
  tcase_add_loop_test(cases, chosen, 0, 2);
  suite_add_tcase(suite, cases);
  return test_run(suite);
}
