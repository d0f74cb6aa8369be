/* Variants paper and shared of format eccsr: what blocks are extracted, sizes that must be reached, slots without an entry, new
 * values, damage, options, the example of the manual. */
#include "eccsr/eccsr_paper.h"
#include "damage.h"
#include "eccsr_paper.h"
#include "manual.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static macko_matrix *encode(const macko_csr *a, macko_variant variant, int bits)
{
  macko_options o;
  macko_error err;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.variant = variant, o.gap_bits = bits, o.values = MACKO_VALUES_RAW;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s", err.text);
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  ck_assert(m->plan.variant == variant && (!bits || m->plan.gap_bits == bits));
  return m;
}

/* Every row, column and bit comes back. */
static void check_decoded(const paper_matrix *t, const macko_matrix *m)
{
  const size_t nnz = (size_t)m->nnz;
  int64_t *row_ptr = malloc((size_t)(m->nrows + 1) * 8), *cols = malloc(nnz * 8 + 1), some[4000];
  uint16_t *values = malloc(nnz * 2 + 1);
  ck_assert(!macko_decode(m, row_ptr, cols, values, NULL));
  ck_assert_mem_eq(row_ptr, t->row_ptr, (size_t)(m->nrows + 1) * 8);
  ck_assert_mem_eq(values, t->values, nnz * 2);
  for (size_t p = 0; p < nnz; p++) ck_assert_int_eq(cols[p], t->cols[p]);
  ck_assert(row_ptr[7] - row_ptr[6] <= 4000 && !macko_decode_rows(m, row_ptr, 6, 1, some, NULL, NULL));
  for (int64_t p = row_ptr[6]; p < row_ptr[7]; p++) ck_assert_int_eq(some[p - row_ptr[6]], t->cols[p]);
  free(row_ptr), free(cols), free(values);
}

/* Of those rows in blocks of each number of rows. */
static void count_blocks(const macko_matrix *m, int64_t found[MACKO_ECCSR_BUNDLE + 1])
{
  const uint16_t *masks = test_section(m, "masks")->data;
  memset(found, 0, (MACKO_ECCSR_BUNDLE + 1) * sizeof *found);
  for (int64_t b = 0; b < macko_eccsr_paper_counts_of(&m->plan)->blocks; b++) found[__builtin_popcount(masks[b])]++;
}

/* ---- blocks ---- */

/* Row i belongs to family i mod 5; half of a family's columns are those of all its rows, a third of them only this row's. */
static int families(int64_t row, int64_t col)
{
  const uint64_t draw = macko_mix((uint64_t)(col * 5 + row % 5) + 1000000007u);
  return draw % 8 == 0 ? 100 : 3;
}

/* Sixteen rows of a family come together from anywhere, and what they share is stored once. */
START_TEST(rows_that_share_columns_become_blocks)
{
  paper_matrix t = make(160, 4000, families);
  int64_t found[MACKO_ECCSR_BUNDLE + 1];
  macko_matrix *m = encode(&t.csr, _i ? MACKO_VARIANT_SHARED : MACKO_VARIANT_PAPER, 8);
  check_decoded(&t, m);
  count_blocks(m, found);
  ck_assert_int_ge(found[16], 10);
  const int32_t *rows = test_section(m, "rows")->data;
  for (int64_t i = 0; i < 160; i++) ck_assert_int_eq(rows[i] % 5, rows[i / 16 * 16] % 5);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* Pairs of rows share a quarter of their columns, and pairs of pairs other ones: levels beside each other, and later rounds. */
static int nested(int64_t row, int64_t col)
{
  const int64_t level = col % 4; /* columns of 2, 4, 8, 16 rows */
  return macko_mix((uint64_t)(col + 100000 * (row / (2 << level)) + 7777777 * level)) % 3 == 0 ? 100 : 0;
}

START_TEST(every_level_has_its_blocks)
{
  paper_matrix t = make(64, 6000, nested);
  int64_t found[MACKO_ECCSR_BUNDLE + 1];
  macko_matrix *m = encode(&t.csr, MACKO_VARIANT_PAPER, 8);
  check_decoded(&t, m);
  count_blocks(m, found);
  for (int rows = 2; rows <= 16; rows *= 2) ck_assert_msg(found[rows] > 0, "no block of %d rows", rows);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* Few columns in common: no block, and short rows take no more than what their slots and lanes do. */
static int thin(int64_t row, int64_t col)
{
  (void)row, (void)col;
  return 2;
}

START_TEST(short_rows_take_few_lanes)
{
  paper_matrix t = make(200, 1000, thin);
  macko_matrix *shared = encode(&t.csr, MACKO_VARIANT_SHARED, 0), *paper = encode(&t.csr, MACKO_VARIANT_PAPER, 0);
  check_decoded(&t, shared), check_decoded(&t, paper);
  ck_assert_int_eq(macko_eccsr_paper_counts_of(&shared->plan)->lanes, 2);
  ck_assert_int_eq(macko_eccsr_paper_counts_of(&paper->plan)->lanes, 32);
  ck_assert_int_lt(3 * shared->plan.bytes, paper->plan.bytes);
  macko_destroy(&shared), macko_destroy(&paper);
  release(&t);
}
END_TEST

/* ---- sizes ---- */

static int zeros_70(int64_t row, int64_t col) { return (void)row, (void)col, 30; }
static int zeros_80(int64_t row, int64_t col) { return (void)row, (void)col, 20; }
static int zeros_90(int64_t row, int64_t col) { return (void)row, (void)col, 10; }

/* Weights pruned at random, which have no columns in common but by chance: as many percent less than csr as the paper says. */
START_TEST(sizes_of_the_paper_are_reached)
{
  static const chance zeros[] = {zeros_70, zeros_80, zeros_90};
  static const double least[][3] = {{55.4, 53.5, 41.3}, {52.0, 49.9, 45.8}}; /* gaps of 4 and 8 bits */
  paper_matrix t = make(64, 28672, zeros[_i % 3]);
  macko_matrix *m = encode(&t.csr, MACKO_VARIANT_PAPER, _i < 3 ? 4 : 8);
  macko_info info;
  macko_get_info(m, &info);
  const double csr = 4.0 * 65 + 6.0 * (double)info.nnz, less = 100 * (1 - (double)info.bytes / csr);
  ck_assert_int_eq(info.bytes, m->plan.bytes);
  ck_assert_msg(less >= least[_i / 3][_i % 3], "%g %% less", less);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* ---- products ---- */

/* Gaps of more than four bits hold, so that there are slots without an entry inside rows and behind them: they read nothing of
 * x. */
static int even(int64_t row, int64_t col)
{
  (void)row;
  return col % 2 ? 0 : 3;
}

START_TEST(slots_without_an_entry_are_not_multiplied)
{
  paper_matrix t = make(40, 3000, even);
  macko_matrix *m = encode(&t.csr, _i ? MACKO_VARIANT_SHARED : MACKO_VARIANT_PAPER, 4);
  double x[3000], y[40];
  ck_assert_int_gt(macko_eccsr_paper_counts_of(&m->plan)->rows * macko_eccsr_granule(macko_eccsr_paper_counts_of(&m->plan)->lanes),
                   m->nnz);
  for (int j = 0; j < 3000; j++) x[j] = j % 2 ? (j % 4 == 1 ? INFINITY : NAN) : 1;
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, 3000, 0, y, 40, NULL));
  for (int64_t i = 0; i < 40; i++) {
    double sum = 0;
    for (int64_t p = t.row_ptr[i]; p < t.row_ptr[i + 1]; p++) sum += macko_float_at(MACKO_F16, t.values, p);
    ck_assert_double_eq(y[i], sum); /* multiples of 2^-10: exact */
  }
  macko_destroy(&m);
  release(&t);
}
END_TEST

START_TEST(new_values_leave_the_pattern_alone)
{
  paper_matrix t = make(80, 4000, families);
  macko_matrix *m = encode(&t.csr, _i ? MACKO_VARIANT_SHARED : MACKO_VARIANT_PAPER, 0), *fresh;
  for (int64_t p = 0; p < m->nnz; p++) t.values[p] = (uint16_t)(0x4000 + p % 1000);
  ck_assert(!macko_refresh(m, &t.csr, NULL));
  fresh = encode(&t.csr, _i ? MACKO_VARIANT_SHARED : MACKO_VARIANT_PAPER, 0);
  ck_assert_int_eq(m->nsections, fresh->nsections);
  for (int i = 0; i < m->nsections; i++) {
    ck_assert_int_eq(m->sections[i].bytes, fresh->sections[i].bytes);
    ck_assert_mem_eq(m->sections[i].data, fresh->sections[i].data, (size_t)m->sections[i].bytes);
  }
  macko_destroy(&m), macko_destroy(&fresh);
  release(&t);
}
END_TEST

/* ---- what comes from files ---- */

START_TEST(damage_is_found_or_harmless)
{
  paper_matrix t = make(33, 200, families);
  macko_matrix *m = encode(&t.csr, MACKO_VARIANT_SHARED, _i ? 8 : 4);
  test_change_every_byte(m, 100);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* ---- options ---- */

/* The plan is the same for a GPU. */
START_TEST(a_gpu_is_served)
{
  paper_matrix t = make(64, 300, zeros_70);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.variant = MACKO_VARIANT_PAPER, o.target = MACKO_TARGET_GPU;
  ck_assert_msg(!macko_encode(&t.csr, &o, &m, &err), "%s", err.text);
  ck_assert(m->plan.variant == MACKO_VARIANT_PAPER && macko_eccsr_paper_counts_of(&m->plan)->lanes == MACKO_ECCSR_MOST_LANES);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* Automatic choice takes these variants only where nothing else has what is asked for. */
START_TEST(others_go_first)
{
  paper_matrix t = make(64, 300, zeros_70);
  macko_options o;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.gap_bits = 4;
  ck_assert(!macko_encode(&t.csr, &o, &m, NULL) && m->format == MACKO_FORMAT_MACKO);
  macko_destroy(&m);
  o.gap_bits = 0, o.variant = MACKO_VARIANT_PAPER;
  ck_assert(!macko_encode(&t.csr, &o, &m, NULL) && m->format == MACKO_FORMAT_DTANS);
  macko_destroy(&m);
  o.values = MACKO_VALUES_RAW;
  ck_assert(!macko_encode(&t.csr, &o, &m, NULL) && m->format == MACKO_FORMAT_ECCSR && m->plan.variant == MACKO_VARIANT_PAPER);
  macko_destroy(&m);
  release(&t);
}
END_TEST

START_TEST(the_example_of_the_manual_is_true)
{
  test_example e;
  macko_csr a = test_manual_matrix("eccsr-paper", &e);
  macko_options o;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.variant = MACKO_VARIANT_SHARED, o.gap_bits = 4, o.values = MACKO_VALUES_NARROW;
  ck_assert(!macko_encode(&a, &o, &m, NULL));
  test_check_manual_sections("eccsr-paper", m, 0);
  macko_destroy(&m);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("eccsr_paper");
  TCase *t = tcase_create("eccsr_paper");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, rows_that_share_columns_become_blocks, 0, 2);
  tcase_add_test(t, every_level_has_its_blocks);
  tcase_add_test(t, short_rows_take_few_lanes);
  tcase_add_loop_test(t, sizes_of_the_paper_are_reached, 0, 6);
  tcase_add_loop_test(t, slots_without_an_entry_are_not_multiplied, 0, 2);
  tcase_add_loop_test(t, new_values_leave_the_pattern_alone, 0, 2);
  tcase_add_loop_test(t, damage_is_found_or_harmless, 0, 2);
  tcase_add_test(t, a_gpu_is_served);
  tcase_add_test(t, others_go_first);
  tcase_add_test(t, the_example_of_the_manual_is_true);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
