/* Value codecs by themselves: what rounding gives back, and sets of values that were chosen to be slow. */
#include "dtans/dtans.h"
#include "macko/slice_pairs.h"
#include "suite.h"
#include "values/codecs.h"

#include <stdlib.h>
#include <string.h>

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
  macko_value_set set;
  ck_assert(chosen(77) * 0x9e3779b97f4a7c15u == 77); /* their old places: all the first */
  ck_assert(!macko_open_value_set(MACKO_F64, table, CHOSEN, &set, NULL));
  for (int again = 0; again < 2; again++)
    for (uint64_t i = 0; i < CHOSEN; i++) ck_assert_int_eq(macko_value_code(&set, chosen(i)), (int64_t)i);
  ck_assert_int_lt(set.steps, 2 * CHOSEN);
  ck_assert_int_eq(macko_value_code(&set, chosen(CHOSEN)), -1);
  macko_close_value_set(&set);
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

/* ---- tables whose codes would lie in one run ---- */

static int longest_run(const uint16_t *slots, int count)
{
  int longest = 0, run = 0;
  for (int i = 0; i < count; i++) {
    run = slots[i] ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return longest;
}

START_TEST(nobody_chooses_where_pairs_meet)
{
  enum { PAIRS = 200 };
  static macko_pair_set chosen_pairs, set;
  chosen_pairs.used = PAIRS;
  for (int i = 0; i < PAIRS; i++) chosen_pairs.bits[i] = chosen((uint64_t)i);
  macko_open_pairs(&set);
  ck_assert(macko_add_pairs_of(&set, &chosen_pairs, NULL));
  ck_assert_int_eq(set.used, PAIRS);
  ck_assert_int_lt(longest_run(set.hash, MACKO_PAIR_HASH), PAIRS / 2);
}
END_TEST

/* A number whose upper half, folded into the lower one, makes it x. */
static uint64_t unfold(uint64_t x)
{
  return x ^ x >> 32;
}

START_TEST(nobody_chooses_where_symbols_of_a_table_meet)
{
  enum { SYMBOLS = 3000 };
  static uint64_t values[CHOSEN];
  static int32_t cols[CHOSEN];
  int32_t row_ptr[] = {0, CHOSEN};
  macko_csr c = {.nrows = 1, .ncols = CHOSEN, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  const macko_dtans_table_rules rules = {.multiplicity = 256, .raw_bits = 64, .symbol_bits = 80};
  macko_rows rows = macko_rows_of(&c);
  macko_dtans_input in;
  const macko_dtans_histogram *h;
  macko_dtans_table *table = NULL;
  for (uint64_t i = 0; i < CHOSEN; i++) values[i] = unfold(chosen(i % SYMBOLS)), cols[i] = (int32_t)i;
  ck_assert(!macko_dtans_open_input(&rows, &in, NULL));
  ck_assert(!macko_dtans_count_symbols(&in, MACKO_DTANS_VALUES, &h, NULL));
  ck_assert(!macko_dtans_open_table(h, &rules, &table, NULL));
  ck_assert_int_eq(table->symbols, SYMBOLS);
  ck_assert_int_lt(longest_run(table->index, table->index_mask + 1), SYMBOLS / 10);
  macko_dtans_close_table(&table);
  macko_dtans_close_input(&in);
}
END_TEST

/* ---- slices whose blocks would have one hash ---- */

enum { SLICES = 300, SLICE_ROWS = 32, SLICE_STEPS = 9, SLICE_ENTRIES = SLICES * SLICE_ROWS * SLICE_STEPS };

static uint32_t draw_distance(void)
{
  static uint64_t drawn;
  const macko_hash_key key = {1, 0x9e3779b97f4a7c15u};
  return (uint32_t)macko_hash(key, ++drawn) >> 4;
}

/* Distances 0 and 1, and 4 and 5, of a slice that are hashed to one number by the well-known factor: the second pair makes up for
 * the first. Those between and behind them are the same in all slices. */
static void choose_distances(uint32_t d[SLICE_STEPS - 1], uint64_t *wanted)
{
  const uint64_t factor = 0x9e3779b97f4a7c15u;
  d[2] = 1u << 29, d[3] = d[2] + 1, d[6] = INT32_MAX - 100, d[7] = d[6] + 1;
  do {
    d[0] = 1 + draw_distance(), d[1] = d[0] + 1 + draw_distance();
    uint64_t one = (8 ^ (d[0] | (uint64_t)d[1] << 32)) * factor;
    one ^= one >> 29;
    if (!*wanted) *wanted = one ^ ((1u << 30) | (uint64_t)(3u << 29) << 32);
    uint64_t second = one ^ *wanted;
    d[4] = (uint32_t)second, d[5] = (uint32_t)(second >> 32);
  } while (d[4] <= d[3] || d[5] <= d[4] || d[6] <= d[5]);
}

START_TEST(nobody_chooses_which_blocks_are_taken_for_equal)
{
  static int32_t row_ptr[SLICES * SLICE_ROWS + 1], cols[SLICE_ENTRIES];
  static double values[SLICE_ENTRIES];
  macko_csr c = {.nrows = SLICES * SLICE_ROWS, .ncols = INT32_MAX, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                 .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options o;
  macko_info predicted, info;
  macko_matrix *m = NULL;
  uint64_t wanted = 0;
  int p = 0;
  for (int i = 0; i < SLICES; i++) {
    uint32_t d[SLICE_STEPS - 1];
    choose_distances(d, &wanted);
    for (int l = 0; l < SLICE_ROWS; l++) {
      for (int k = 0; k < SLICE_STEPS; k++, p++) cols[p] = l + (k ? (int32_t)d[k - 1] : 0), values[p] = p;
      row_ptr[i * SLICE_ROWS + l + 1] = p;
    }
  }
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE, o.values = MACKO_VALUES_RAW;
  ck_assert(!macko_predict(&c, &o, &predicted, NULL) && !macko_encode(&c, &o, &m, NULL));
  macko_get_info(m, &info);
  ck_assert_int_eq(info.bytes, predicted.bytes);
  ck_assert_int_ge(info.bytes, SLICES * (SLICE_STEPS - 1) * 4 + SLICE_ENTRIES * 8);
  macko_destroy(&m);
}
END_TEST

enum { BLOCKS = 3000 };

/* Gives the longest run of taken places in a set of blocks whose hashes follow each other. */
static int longest_cluster(void)
{
  macko_block_set set;
  int is_new, longest = 0, run = 0;
  ck_assert(!macko_open_blocks(BLOCKS, &set, NULL));
  for (uint64_t i = 0; i < BLOCKS; i++) macko_place_block(&set, i << 40, 1, 1, NULL, &is_new);
  for (uint64_t i = 0; i <= set.mask; i++) {
    run = set.table[i].used ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  macko_close_blocks(&set);
  return longest;
}

/* Whatever hashes come from a GPU, their places are not to be foreseen: each set draws a key. One key in some hundreds does not
 * spread these hashes, but hardly five in a row. */
START_TEST(nobody_chooses_where_blocks_meet)
{
  int least = BLOCKS;
  for (int i = 0; i < 5; i++) {
    const int longest = longest_cluster();
    if (longest < least) least = longest;
  }
  ck_assert_int_lt(least, BLOCKS / 10);
}
END_TEST

/* ---- questions about values, and zeros ---- */

enum { COUNTED = 200, STEPS_MOST = 9 };

/* Gives how many of n words differ, by comparing all. */
static int64_t differing(const uint64_t *words, int n)
{
  int64_t differ = 0;
  for (int i = 0, k; i < n; i++) {
    for (k = 0; k < i && words[k] != words[i];) k++;
    differ += k == i;
  }
  return differ;
}

/* Few values in any order, of any number and from any place of the array on: those that were looked up last are not all of them. */
START_TEST(every_value_is_counted)
{
  uint64_t words[COUNTED], state = (uint64_t)_i;
  for (int n = 0; n < COUNTED; n++) {
    const int few = 1 + n % STEPS_MOST, first = n % 5;
    int64_t starts[] = {0, n - first}, distinct;
    const macko_csr a = {.nrows = 1, .ncols = COUNTED, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                         .row_ptr = starts, .values = words + first};
    for (int i = 0; i < n; i++) words[i] = (state = macko_mix(state)) % (n % 3 ? (uint64_t)few : 1000);
    if (n < first) continue;
    macko_findings found = {.csr = &a};
    const macko_value_facts facts = macko_facts_of_values(&found);
    ck_assert(!facts.distinct(facts.context, COUNTED, &distinct, NULL));
    ck_assert_int_eq(distinct, differing(words + first, n - first));
  }
}
END_TEST

/* Values of their own and those of ranges answer for all, and no others do. */
START_TEST(fewer_values_answer)
{
  enum { RANGES = 6, APART = 30, OWN = 7 };
  double values[RANGES * APART];
  double own[OWN] = {1, 2, 3, 4, 5, 6, 7};
  int64_t starts[] = {0, RANGES * APART}, distinct;
  int misfit;
  const macko_csr a = {.nrows = 1, .ncols = RANGES * APART, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                       .value_type = MACKO_F64, .row_ptr = starts, .values = values};
  for (int i = 0; i < RANGES * APART; i++) values[i] = 0.1 + i;
  macko_fewer_values *f = malloc(sizeof *f + RANGES * sizeof *f->ranges);
  ck_assert(f != NULL);
  *f = (macko_fewer_values){.values = a, .starts = {0, OWN}, .count = RANGES, .entries = RANGES * (RANGES - 1) / 2};
  f->values.row_ptr = f->starts, f->values.values = own;
  for (int i = 0; i < RANGES; i++) {
    f->ranges[i].first = i * APART + i, f->ranges[i].past = f->ranges[i].first + i;
    for (int64_t p = f->ranges[i].first; p < f->ranges[i].past; p++) values[p] = 10 + i;
  }
  for (int wrong = 0; wrong < 3; wrong++) {
    macko_findings found = {.csr = &a, .values = {.fewer = f}};
    const macko_value_facts facts = macko_facts_of_values(&found);
    if (wrong == 1) own[OWN - 1] = 0.5;
    if (wrong == 2) own[OWN - 1] = 7, values[f->ranges[RANGES - 1].past - 1] = 0.5;
    ck_assert(!facts.misfit(facts.context, MACKO_I8, &misfit, NULL) && misfit == (wrong > 0));
    ck_assert(!facts.distinct(facts.context, 100, &distinct, NULL));
    ck_assert_int_eq(distinct, OWN + RANGES - 1 + (wrong == 2));
  }
  free(f);
}
END_TEST

/* Memory that has been written to comes back as zeros. */
START_TEST(zeros_are_zeros)
{
  const size_t sizes[] = {0, 1, 4096, (4 << 20) - 1, 4 << 20, (4 << 20) + 17, (9 << 20) + 4096};
  for (int round = 0; round < 3; round++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      char *zeros = macko_zeros(sizes[i]);
      ck_assert(zeros != NULL);
      for (size_t k = 0; k < sizes[i]; k++) ck_assert(!zeros[k]);
      memset(zeros, 1, sizes[i]);
      free(zeros);
    }
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
  tcase_add_test(t, nobody_chooses_where_pairs_meet);
  tcase_add_test(t, nobody_chooses_where_symbols_of_a_table_meet);
  tcase_add_test(t, nobody_chooses_which_blocks_are_taken_for_equal);
  tcase_add_test(t, nobody_chooses_where_blocks_meet);
  tcase_add_loop_test(t, every_value_is_counted, 0, 20);
  tcase_add_test(t, fewer_values_answer);
  tcase_add_test(t, zeros_are_zeros);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
