/* Slices that are masked: rows at the boundary of a grid, whose entries lie in the slots of their steps. */
#include "core/format.h"
#include "damage.h"
#include "macko.h"
#include "macko/layout_bits.h"
#include "macko/params.h"
#include "matrices.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 19, ROWS = SIDE * SIDE, POINTS = 5, MOST = ROWS * POINTS };

/* A grid of five points with values of its own in every entry. Some rows have their diagonal alone, as where a boundary is fixed,
 * and some are empty. */
typedef struct {
  int64_t row_ptr[ROWS + 1], cols[MOST];
  double values[MOST];
  test_matrix a;
} grid;

static void make(grid *g, macko_type type)
{
  static const int step[POINTS][2] = {{0, -1}, {-1, 0}, {0, 0}, {1, 0}, {0, 1}};
  int64_t n = 0;
  g->row_ptr[0] = 0;
  for (int row = 0; row < ROWS; row++) {
    for (int p = 0; p < POINTS && row % 97 != 50; p++) {
      const int i = row % SIDE + step[p][0], j = row / SIDE + step[p][1];
      if (i < 0 || i >= SIDE || j < 0 || j >= SIDE || (row % 41 == 7 && p != 2)) continue;
      g->values[n] = (double)(n % 60 + 1) / 4, g->cols[n++] = j * SIDE + i;
    }
    g->row_ptr[row + 1] = n;
  }
  g->a = (test_matrix){"grid", ROWS, ROWS, g->row_ptr, g->cols, type, malloc((size_t)n * sizeof(double)), g->values};
  for (int64_t p = 0; p < n; p++)
    if (type == MACKO_F64) ((double *)g->a.values)[p] = g->values[p];
    else ((float *)g->a.values)[p] = (float)g->values[p];
}

static macko_matrix *encode(const grid *g, macko_values values, macko_target target)
{
  const macko_csr c = test_view(&g->a);
  macko_matrix *m = NULL;
  macko_options o;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE, o.values = values, o.target = target;
  ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
  return m;
}

/* Gives the words of a section. */
static uint32_t *words_of(macko_matrix *m, const char *name)
{
  for (int64_t i = 0; i < m->nsections; i++)
    if (!strcmp(macko_get_section(m, i)->name, name)) return macko_get_section(m, i)->data;
  ck_abort_msg("no section %s", name);
}

static const macko_values codecs[] = {MACKO_VALUES_RAW, MACKO_VALUES_NARROW, MACKO_VALUES_DICT};
enum { CODECS = 3 };

/* All slices are masked, whatever the codec; products, decoding and new values are those of any matrix. */
START_TEST(slices_of_a_grid_are_masked)
{
  grid g;
  macko_error err = {0};
  make(&g, _i < CODECS ? MACKO_F64 : MACKO_F32);
  macko_matrix *m = encode(&g, codecs[_i % CODECS], MACKO_TARGET_CPU);
  const int64_t slices = (ROWS + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  ck_assert_int_eq(macko_params_of(&m->plan)->slice.masked, slices);
  ck_assert_int_eq(macko_params_of(&m->plan)->slice.value_units[2], slices * POINTS - 1); /* the last slice lacks a point */
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  test_check_decode(&g.a, m, "masked");
  test_products *products = test_products_make(&g.a);
  test_check_products(products, m, "masked");
  test_products_free(products);
  for (int kind = 0; kind < TEST_VALUES; kind++) {
    double exact[MOST];
    g.a.exact = exact;
    test_fill(&g.a, kind);
    const macko_csr c = test_view(&g.a);
    ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
    ck_assert_int_eq(macko_params_of(&m->plan)->slice.masked, slices);
    test_check_decode(&g.a, m, "new values");
    products = test_products_make(&g.a);
    test_check_products(products, m, "new values");
    test_products_free(products);
  }
  macko_destroy(&m);
  free(g.a.values);
}
END_TEST

/* Lanes that lack a step do not see the x of its column, which may be Inf or NaN, whatever type matrix and vectors have. */
START_TEST(steps_that_a_lane_lacks_leave_no_trace)
{
  grid g;
  double x[ROWS], y[ROWS];
  float single_x[ROWS], single_y[ROWS];
  make(&g, _i < CODECS ? MACKO_F64 : MACKO_F32);
  macko_matrix *m = encode(&g, codecs[_i % CODECS], MACKO_TARGET_CPU);
  for (int i = 0; i < ROWS; i++) single_x[i] = (float)(x[i] = i % 3 ? 1 : i % 2 ? NAN : INFINITY);
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, ROWS, 0, y, ROWS, NULL));
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F32, 1, 1, single_x, ROWS, 0, single_y, ROWS, NULL));
  for (int i = 0; i < ROWS; i++) {
    double sum = 0;
    for (int64_t p = g.row_ptr[i]; p < g.row_ptr[i + 1]; p++) sum += g.values[p] * x[g.cols[p]];
    ck_assert_msg(isnan(sum) ? isnan(y[i]) : sum == y[i], "row %d: %g for %g", i, y[i], sum);
    ck_assert_msg(isnan(sum) ? isnan(single_y[i]) : sum == single_y[i], "row %d: %g for %g", i, (double)single_y[i], sum);
  }
  macko_destroy(&m);
  free(g.a.values);
}
END_TEST

/* Whatever byte of a file is wrong, it is found or does no harm. */
START_TEST(damage_is_found)
{
  grid g;
  make(&g, MACKO_F64);
  macko_matrix *m = encode(&g, MACKO_VALUES_RAW, MACKO_TARGET_CPU);
  test_change_every_byte(m, 200);
  macko_destroy(&m);
  free(g.a.values);
}
END_TEST

/* What is wrong is named: a distance that does not rise, a lane that has no row, a column outside, a number of masked slices. */
START_TEST(a_damaged_slice_is_named)
{
  grid g;
  macko_error err = {0};
  make(&g, MACKO_F64);
  macko_matrix *m = encode(&g, MACKO_VALUES_RAW, MACKO_TARGET_CPU);
  const macko_slice last = macko_slice_at(words_of(m, "slices"), ROWS / MACKO_SLICE_ROWS);
  uint32_t *words = words_of(m, "blocks") + last.block, kept[4];
  memcpy(kept, words, sizeof kept);
  words[MACKO_MASKED_WORDS] = words[0];
  ck_assert_int_eq(macko_validate(m, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, "step 1 of slice 11: distance 0 after 0") != NULL, "%s", err.text);
  memcpy(words, kept, sizeof kept);
  words[1] = 0x80000000u;
  ck_assert_int_eq(macko_validate(m, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, "lanes 80000000 of 9") != NULL, "%s", err.text);
  memcpy(words, kept, sizeof kept);
  words[0] = ROWS;
  ck_assert_int_eq(macko_validate(m, &err), MACKO_CORRUPT);
  memcpy(words, kept, sizeof kept);
  macko_set_params(&m->plan)->slice.masked--;
  ck_assert_int_eq(macko_validate(m, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, "12 masked, not 0 and 11") != NULL, "%s", err.text);
  macko_set_params(&m->plan)->slice.masked++;
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  macko_destroy(&m);
  free(g.a.values);
}
END_TEST

START_TEST(a_gpu_gets_none)
{
  grid g;
  make(&g, MACKO_F64);
  macko_matrix *m = encode(&g, MACKO_VALUES_RAW, MACKO_TARGET_GPU);
  ck_assert_int_eq(macko_params_of(&m->plan)->slice.masked, 0);
  macko_destroy(&m);
  free(g.a.values);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("masked");
  TCase *t = tcase_create("masked slices");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, slices_of_a_grid_are_masked, 0, 2 * CODECS);
  tcase_add_loop_test(t, steps_that_a_lane_lacks_leave_no_trace, 0, 2 * CODECS);
  tcase_add_test(t, damage_is_found);
  tcase_add_test(t, a_damaged_slice_is_named);
  tcase_add_test(t, a_gpu_gets_none);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
