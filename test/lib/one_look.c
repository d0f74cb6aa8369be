/* Encoding does not look again at what planning has seen: each slice of a csr is looked at once, and then stored, and so is each
 * window of format eccsr; a slice that repeats an earlier one is not described. And what lanes are predicted to wait for. The
 * program is linked with the static library and -Wl,--wrap, so that the library's calls come here. */
#include "core/cost.h"
#include "eccsr/eccsr.h"
#include "macko/slice_describe.h"
#include "macko/slice_values.h"
#include "suite.h"

#include <stdint.h>
#include <string.h>

enum { X = 512, N = 16, ROWS = X * N * N }; /* lines so long that slices suit them, whatever the values */
static int32_t row_ptr[ROWS + 1], cols[7 * ROWS];
static double values[7 * ROWS];
static int64_t looks, tries, descriptions, gathered, windows;

void __real_macko_find_slice(const macko_csr *a, const uint16_t *order, int64_t slice, macko_csr_slice *c);
void __wrap_macko_find_slice(const macko_csr *a, const uint16_t *order, int64_t slice, macko_csr_slice *c);
void __real_macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c);
void __wrap_macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c);
int __real_macko_try_stencil(const macko_csr *a, int64_t slice, macko_csr_slice *c);
int __wrap_macko_try_stencil(const macko_csr *a, int64_t slice, macko_csr_slice *c);
macko_value_facts __real_macko_facts_of_values(macko_findings *found);
macko_value_facts __wrap_macko_facts_of_values(macko_findings *found);

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

int __wrap_macko_try_stencil(const macko_csr *a, int64_t slice, macko_csr_slice *c)
{
  tries++;
  return __real_macko_try_stencil(a, slice, c);
}

macko_caches __wrap_macko_machine_caches(void);
const macko_cost *__wrap_macko_machine_cost(void);

/* Choices do not depend on the machine here: matrices fit into none of its caches, and its core is always the same, but for a test
 * that sets both. */
static macko_caches caches = {1, 1};
static const macko_cost *cost;

macko_caches __wrap_macko_machine_caches(void)
{
  return caches;
}

const macko_cost *__wrap_macko_machine_cost(void)
{
  return cost ? cost : macko_cpu_cost(1, MACKO_OTHER_PROCESSOR);
}

static macko_status (*count_distinct)(void *context, int64_t limit, int64_t *count, macko_error *err);

/* Counts questions that are answered by fewer values than there are entries. */
static macko_status count_questions(void *context, int64_t limit, int64_t *count, macko_error *err)
{
  const macko_findings *found = context;
  const macko_fewer_values *fewer = found->values.fewer;
  gathered += fewer && fewer->starts[1] + fewer->entries < ROWS / 32;
  return count_distinct(context, limit, count, err);
}

macko_value_facts __wrap_macko_facts_of_values(macko_findings *found)
{
  macko_value_facts facts = __real_macko_facts_of_values(found);
  count_distinct = facts.distinct, facts.distinct = count_questions;
  return facts;
}

macko_status __real_macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first,
                                            macko_eccsr_window *w, macko_error *err);
macko_status __wrap_macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first,
                                            macko_eccsr_window *w, macko_error *err);

macko_status __wrap_macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first,
                                            macko_eccsr_window *w, macko_error *err)
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
  looks = descriptions = tries = 0;
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

/* Such rows near the diagonal. */
static macko_csr irregular_band(void)
{
  const macko_csr a = irregular();
  for (int row = 0; row < ROWS; row++)
    for (int k = 0; k < 7; k++) {
      const int32_t first = row < ROWS - 64 ? row : ROWS - 64;
      cols[7 * row + k] = first + 8 * k + cols[7 * row + k] % 7;
    }
  return a;
}

/* Gives the nanoseconds that a product in slices is predicted to take. */
static double predicted(const macko_csr *a)
{
  macko_options options;
  macko_error err;
  macko_info info;
  macko_options_init(&options);
  options.format = MACKO_FORMAT_MACKO, options.layout = MACKO_LAYOUT_SLICE, options.target = MACKO_TARGET_CPU;
  ck_assert_msg(macko_predict(a, &options, &info, &err) == MACKO_OK, "%s", err.text);
  return 1e9 * info.seconds;
}

/* 32 lanes with gaps of their own wait together where one asks for a line of x that stands alone, and not where lines come in
 * order; x is four times as large as the second-level cache. */
START_TEST(lanes_wait_for_stray_lines)
{
  const double steps = 7.0 * ROWS / 32;
  macko_cost waiting = *macko_cpu_cost(1, MACKO_OTHER_PROCESSOR), none = waiting;
  double added[2];
  caches = (macko_caches){8 * ROWS / 4, 1 << 25};
  waiting.walked_wait = 100, none.walked_wait = 0;
  for (int i = 0; i < 2; i++) {
    const macko_csr a = i ? irregular_band() : irregular();
    cost = &waiting, added[i] = predicted(&a);
    cost = &none, added[i] -= predicted(&a);
  }
  caches = (macko_caches){1, 1}, cost = NULL;
  ck_assert_double_ge(added[0], 0.5 * 100 * steps);
  ck_assert_double_le(added[0], 100 * steps);
  ck_assert_double_ge(added[1], 0);
  ck_assert_double_le(added[1], 0.1 * 100 * steps);
}
END_TEST

/* Slices of a grid are stencils, or all but a few repeat others. What repeats a stencil is not searched for one again. */
START_TEST(asked_for)
{
  macko_csr a = grid(_i);
  ck_assert_double_eq(count_looks(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_RAW), 1);
  if (!_i) ck_assert_int_le(tries, ROWS / 32 / 16);
  ck_assert_int_le(descriptions, _i ? ROWS / 32 / 16 : 0);
}
END_TEST

/* A slice that repeats another with its values has the pairs of that one. */
START_TEST(pairs_of_repeats)
{
  macko_csr a = grid(0);
  count_looks(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_PAIRS);
  ck_assert_int_le(descriptions, ROWS / 32 / 8);
  a = grid(1);
  for (int p = 0; p < row_ptr[ROWS]; p++) values[p] = p / 1000 % 9; /* columns repeat, and values do not */
  count_looks(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_PAIRS);
  ck_assert_int_gt(descriptions, ROWS / 32 / 4);
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

/* Decodes m and compares every value with those of the csr. */
static void check_values(const macko_matrix *m)
{
  static double decoded[7 * ROWS];
  macko_error err;
  ck_assert_msg(macko_decode(m, NULL, NULL, decoded, &err) == MACKO_OK, "%s", err.text);
  ck_assert(!memcmp(decoded, values, (size_t)row_ptr[ROWS] * sizeof *values));
}

/* One slice is no stencil, and has values that no other has: codecs are chosen by all values, of which those of stencils are asked
 * for once, when the matrix is encoded and when the slice gets new ones that the codec of the old ones does not hold. */
START_TEST(values_of_stencils)
{
  const macko_csr a = grid(0);
  macko_options options;
  macko_matrix *m = NULL;
  macko_error err;
  macko_info info;
  double *odd = values + row_ptr[ROWS / 2] + 1;
  macko_options_init(&options);
  gathered = tries = 0;
  *odd = 7;
  ck_assert_msg(macko_encode(&a, &options, &m, &err) == MACKO_OK, "%s", err.text);
  ck_assert_int_eq(gathered, 1);
  ck_assert_int_le(tries, ROWS / 32 / 16);
  macko_get_info(m, &info);
  ck_assert_int_eq(info.layout, MACKO_LAYOUT_SLICE);
  ck_assert_int_ne(info.values, MACKO_VALUES_RAW);
  check_values(m);
  *odd = 0.1;
  ck_assert_msg(macko_refresh(m, &a, &err) == MACKO_OK, "%s", err.text);
  ck_assert_int_eq(gathered, 2);
  check_values(m);
  macko_destroy(&m);
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

/* Of format eccsr every window is made once: whether rows that are nearly equal go together is told by counting some of them. */
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
  ck_assert_int_eq(windows, macko_eccsr_windows(a.nrows));
}
END_TEST

enum { LONG_ROWS = ROWS / 8, RUNS = 18 }; /* RUNS * 3 entries a row */

/* Three unknowns a node, each coupled with those of RUNS nodes. */
static macko_csr long_equal_rows(void)
{
  enum { NODES = LONG_ROWS / 3 };
  for (int row = 0; row < 3 * NODES; row++) {
    const int node = row / 3, first = node < 9 * RUNS ? 0 : node - 9 * RUNS;
    for (int k = 0; k < 3 * RUNS; k++)
      cols[3 * RUNS * row + k] = 3 * (first + k / 3 * 9) + k % 3, values[3 * RUNS * row + k] = 0.1 * (row + k);
    row_ptr[row + 1] = 3 * RUNS * (row + 1);
  }
  return (macko_csr){.nrows = 3 * NODES, .ncols = 3 * NODES, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                     .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
}

/* Gives what is predicted for a GPU. */
static macko_info predicted_on_a_gpu(const macko_csr *a, macko_format format)
{
  macko_options options;
  macko_info info;
  macko_error err;
  macko_options_init(&options);
  options.format = format, options.target = MACKO_TARGET_GPU;
  if (format != MACKO_FORMAT_AUTO) options.layout = MACKO_LAYOUT_SLICE;
  looks = 0;
  ck_assert_msg(macko_predict(a, &options, &info, &err) == MACKO_OK, "%s", err.text);
  return info;
}

/* On a GPU one row may be so long that slices take longer than csr whatever else there is: no slice is looked at then, and slices
 * that are asked for are predicted to be as slow. A shorter one leaves the question open. */
START_TEST(a_long_row_spares_looks)
{
  const macko_csr a = irregular();
  const int lengths[] = {20000, 600};
  const int32_t length = lengths[_i];
  for (int32_t p = 0; p < length; p++) cols[p] = p;
  for (int row = 1; row <= ROWS && 7 * row < length; row++) row_ptr[row] = length;
  const macko_info chosen = predicted_on_a_gpu(&a, MACKO_FORMAT_AUTO);
  const int64_t looked = looks;
  const macko_info slices = predicted_on_a_gpu(&a, MACKO_FORMAT_MACKO);
  ck_assert_int_gt(looks, 0);
  if (_i) ck_assert_int_gt(looked, 0);
  else ck_assert_int_eq(looked, 0);
  if (!_i) ck_assert_int_eq(chosen.format, MACKO_FORMAT_CSR);
  if (!_i) ck_assert_double_gt(slices.seconds, chosen.seconds);
}
END_TEST

/* Where rows that share columns promise more than slices, slices are looked at no further than by a sample, which is a fourth of
 * so few rows, in their order and by length. The promise is no near thing on a core on which the work of blocks costs nothing. */
START_TEST(rival_first)
{
  macko_cost idle = *macko_cpu_cost(1, MACKO_OTHER_PROCESSOR);
  idle.eccsr_entry = idle.eccsr_run = idle.eccsr_wide_entry = idle.eccsr_wide_run = idle.eccsr_block = 0;
  cost = &idle;
  const macko_csr a = long_equal_rows();
  macko_options options;
  macko_matrix *m = NULL;
  macko_error err;
  macko_info info;
  macko_options_init(&options);
  looks = windows = 0;
  ck_assert_msg(macko_encode(&a, &options, &m, &err) == MACKO_OK, "%s", err.text);
  macko_get_info(m, &info);
  ck_assert_msg(info.format == MACKO_FORMAT_ECCSR, "%s", info.reason);
  macko_destroy(&m);
  ck_assert_int_le(looks, LONG_ROWS / 32 / 2);
  ck_assert_int_eq(windows, macko_eccsr_windows(a.nrows));
  cost = NULL;
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("one look");
  TCase *cases = tcase_create("slices");
  tcase_add_test(cases, lanes_wait_for_stray_lines);
  tcase_add_loop_test(cases, asked_for, 0, 2);
  tcase_add_test(cases, pairs_of_repeats);
  tcase_add_test(cases, nothing_repeats);
  tcase_add_loop_test(cases, chosen, 0, 2);
  tcase_add_test(cases, values_of_stencils);
  tcase_add_test(cases, windows_of_rows);
  tcase_add_test(cases, rival_first);
  tcase_add_loop_test(cases, a_long_row_spares_looks, 0, 2);
  suite_add_tcase(suite, cases);
  return test_run(suite);
}
