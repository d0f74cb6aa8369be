/* Windows of format slide side by side, and rounding by scales: the arithmetic that GPU kernels share with the host. */
#include "slide/slide_layout.h"
#include "slide/slide_lift.h"
#include "suite.h"

#include <float.h>

enum { COLUMNS = 75, LIFTED = 320 };

/* Window w of block b begins where its columns do, and windows of all widths come to a multiple of 32 columns. */
START_TEST(windows_begin_where_their_columns_do)
{
  const int n = _i;
  for (int64_t ncols = 1; ncols <= COLUMNS; ncols++) {
    const int64_t blocks = (ncols + 2 * n - 1) / (2 * n), lifted = macko_lift_columns(ncols, n);
    ck_assert_int_eq(macko_lift_windows(ncols, n), blocks * (n - 1));
    ck_assert(lifted % 32 == 0 && lifted >= 4 * blocks * (n - 1) && lifted < 4 * blocks * (n - 1) + 32 && lifted <= LIFTED);
    for (int64_t b = 0; b < blocks; b++)
      for (int w = 0; w < n - 1; w++)
        ck_assert_int_eq(macko_lift_column(n, macko_lift_window(n, b, w)), b * 2 * n + 2 * w);
  }
}
END_TEST

static uint32_t state = 1;

static int draw(int most)
{
  state = state * 1664525 + 1013904223;
  return (int)(state >> 16) % (2 * most + 1) - most;
}

/* Small integers of which no block has more than 2n - 2. */
static void fill_row(int n, int64_t ncols, int *a, int *x)
{
  for (int64_t j = 0; j < ncols; j++) a[j] = draw(30), x[j] = draw(50);
  for (int64_t first = 0; first < ncols; first += 2 * n) {
    const int one = abs(draw(1000)) % (2 * n), other = (one + 1 + abs(draw(1000)) % (2 * n - 1)) % (2 * n);
    if (first + one < ncols) a[first + one] = 0;
    if (first + other < ncols) a[first + other] = 0;
  }
}

static void lift_row(int n, int64_t ncols, const int *a, int *lifted)
{
  for (int64_t b = 0; b * 2 * n < ncols; b++) {
    uint32_t entries = 0;
    for (int c = 0; c < 2 * n && b * 2 * n + c < ncols; c++) entries |= (uint32_t)(a[b * 2 * n + c] != 0) << c;
    const uint32_t positions = macko_slide_pack(n, &entries);
    ck_assert_uint_eq(entries, 0);
    for (int s = 0; s < 2 * n - 2; s++) {
      const int window = macko_slide_window(positions, s / 2), column = macko_slide_column(window, s % 2);
      if (macko_slide_holds(window, s % 2)) lifted[4 * macko_lift_window(n, b, s / 2) + column] = a[b * 2 * n + s / 2 * 2 + column];
    }
  }
}

/* A row packed and lifted has two entries at most of every four columns, and with lifted x the same product. */
START_TEST(a_lifted_product_is_the_product)
{
  const int n = _i;
  for (int64_t ncols = 1; ncols <= COLUMNS; ncols++) {
    int a[COLUMNS], x[COLUMNS], lifted_a[LIFTED] = {0}, lifted_x[LIFTED] = {0}, sum = 0;
    fill_row(n, ncols, a, x);
    lift_row(n, ncols, a, lifted_a);
    for (int64_t j = 0; j < ncols; j++) sum += a[j] * x[j];
    for (int64_t w = 0; w < macko_lift_windows(ncols, n); w++)
      for (int c = 0; c < 4; c++)
        if (macko_lift_column(n, w) + c < ncols) lifted_x[4 * w + c] = x[macko_lift_column(n, w) + c];
    for (int i = 0; i < LIFTED; i += 4) {
      int count = 0;
      for (int c = 0; c < 4; c++) count += lifted_a[i + c] != 0, sum -= lifted_a[i + c] * lifted_x[i + c];
      ck_assert_int_le(count, 2);
    }
    ck_assert_int_eq(sum, 0);
  }
}
END_TEST

/* The scale that is kept is the one that was used: what comes back is half a step off at most, tiny numbers included. */
START_TEST(rounding_is_off_by_half_a_step)
{
  static const float sizes[] = {1, 127, 0.1f, 448, 65504, FLT_MAX, FLT_MIN, FLT_MIN / 1024, 0x1p-149f};
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const float scale = macko_lift_scale(sizes[s], 127), inverse = macko_lift_inverse(scale);
    ck_assert_msg(scale >= FLT_MIN && scale <= FLT_MAX && inverse <= FLT_MAX && inverse > 0, "%g: scale %g", (double)sizes[s],
                  (double)scale);
    for (int i = -1000; i <= 1000; i++) {
      const float x = sizes[s] * ((float)i / 1000);
      const double back = (double)macko_lift_i8(x, inverse) * (double)scale, off = fabs(back - (double)x);
      ck_assert_msg(off <= (double)scale * (0.5 + 127 * 0x1p-22), "%g of %g comes back as %g", (double)x, (double)sizes[s], back);
    }
  }
  for (int i = -128; i <= 127; i++) ck_assert_int_eq(macko_lift_i8((float)i, macko_lift_inverse(1)), i);
  ck_assert(macko_lift_scale(127, 127) == 1 && macko_lift_scale(0, 127) == 1 && macko_lift_scale(0, 448) == 1);
  ck_assert(macko_lift_i8(1000, 1) == 127 && macko_lift_i8(-1000, 1) == -128);
}
END_TEST

/* Inf and NaN show in what comes of them: the scale is NaN. */
START_TEST(what_is_no_number_shows)
{
  const float infinite = macko_lift_scale(INFINITY, 127), nan = macko_lift_scale(NAN, 448);
  ck_assert(infinite != infinite && nan != nan);
  ck_assert_int_eq(macko_lift_i8(INFINITY, macko_lift_inverse(infinite)), 0);
  ck_assert_int_eq(macko_lift_i8(1, macko_lift_inverse(nan)), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("lift");
  TCase *t = tcase_create("lift");
  tcase_add_loop_test(t, windows_begin_where_their_columns_do, MACKO_SLIDE_LEAST, MACKO_SLIDE_MOST + 1);
  tcase_add_loop_test(t, a_lifted_product_is_the_product, MACKO_SLIDE_LEAST, MACKO_SLIDE_MOST + 1);
  tcase_add_test(t, rounding_is_off_by_half_a_step);
  tcase_add_test(t, what_is_no_number_shows);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
