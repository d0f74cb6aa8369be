/* Variants paper and shared of format eccsr where no encoding follows: bytes are estimated by a sample, and the reason says how far
 * they may be off; what is looked at does not grow with the matrix. */
#include "eccsr/eccsr_paper_sample.h"
#include "eccsr_paper.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- matrices: an entry is there, or it is not ---- */

enum { THERE = 100 };

/* Of a hundred draws so many are there. */
static int draw(uint64_t number, int percent)
{
  return (int)(macko_mix(number) % 100) < percent ? THERE : 0;
}

static int pruned(int64_t row, int64_t col)
{
  return draw((uint64_t)(row * 100000 + col), 30);
}

/* Columns that nearly all rows keep, beside others that few do. */
static int pruned_by_columns(int64_t row, int64_t col)
{
  return draw((uint64_t)(row * 100000 + col), (int)(macko_mix((uint64_t)col) % 8 ? macko_mix((uint64_t)col) % 25 : 95));
}

/* Row i is in one of 40 families, whose rows lie anywhere; half of its columns are those of all its rows. */
static int families(int64_t row, int64_t col)
{
  return draw((uint64_t)col * 64 + macko_mix((uint64_t)row) % 40, 5) | draw((uint64_t)(row * 100000 + col), 4);
}

/* Nodes of a grid with two unknowns each. */
static int grid(int64_t row, int64_t col)
{
  enum { SIDE = 50 };
  const int64_t a = row / 2, b = col / 2;
  return llabs(a % SIDE - b % SIDE) <= 1 && llabs(a / SIDE - b / SIDE) <= 1 ? THERE : 0;
}

/* Most rows are short, some of them empty, and few take all. */
static int uneven(int64_t row, int64_t col)
{
  const uint64_t kind = macko_mix((uint64_t)row) % 256;
  return kind < 100 ? 0 : kind < 250 ? draw((uint64_t)(row * 100000 + col), 1) & draw((uint64_t)(row + col * 50000), 30)
         : kind < 255 ? draw((uint64_t)(row * 100000 + col), 20) : THERE;
}

/* No two rows have a column in common. */
static int diagonal(int64_t row, int64_t col)
{
  return row % 3000 == col ? THERE : 0;
}

static const struct {
  int64_t nrows, ncols;
  chance has;
} kinds[] = {{1200, 3000, pruned}, {1200, 3000, pruned_by_columns}, {3000, 1500, families}, {5000, 5000, grid},
             {6000, 2000, uneven}, {5000, 3000, diagonal}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- how good estimates are ---- */

static macko_options asking_for(macko_variant variant, int bits)
{
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.variant = variant, o.gap_bits = bits, o.values = MACKO_VALUES_RAW;
  return o;
}

/* Fails unless the estimate says where it comes from, and is off by hardly more than that: a spread is no bound. */
static void check_estimate(const macko_csr *a, macko_variant variant, int bits)
{
  const macko_options o = asking_for(variant, bits);
  macko_matrix *m = NULL;
  macko_info exact, info;
  macko_error err;
  double percent = 0;
  long long sampled = 0, all = 0;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s", err.text);
  ck_assert_msg(!macko_predict(a, &o, &info, &err), "%s", err.text);
  macko_get_info(m, &exact);
  ck_assert(exact.bytes == m->plan.bytes && !strstr(exact.reason, "sample") && info.variant == variant);
  const char *text = strstr(info.reason, "; bytes by a sample of ");
  ck_assert_msg(text && sscanf(text, "; bytes by a sample of %lld of %lld bundles, to %lg %%", &sampled, &all, &percent) == 3, "%s",
                info.reason);
  ck_assert(sampled >= MACKO_ECCSR_LEAST_SAMPLED && 2 * sampled < all && all == macko_eccsr_bundles(a->nrows));
  const double off = 100 * ((double)info.bytes / (double)exact.bytes - 1);
  ck_assert_msg(percent < 25 && fabs(off) <= 1.5 * percent, "off by %.3g %%: %s; encoded: %s", off, info.reason, exact.reason);
  macko_destroy(&m);
}

START_TEST(bytes_are_as_near_as_the_reason_says)
{
  paper_matrix t = make(kinds[_i].nrows, kinds[_i].ncols, kinds[_i].has);
  for (int bits = 0; bits <= 16; bits = bits ? 2 * bits : 4) {
    check_estimate(&t.csr, MACKO_VARIANT_PAPER, bits);
    check_estimate(&t.csr, MACKO_VARIANT_SHARED, bits);
  }
  release(&t);
}
END_TEST

/* Of few bundles all are looked at, and of a matrix without entries nothing is: nothing is estimated then. */
START_TEST(small_matrices_are_counted)
{
  paper_matrix t = make(_i ? 256 : 3000, 1000, _i ? pruned : diagonal);
  const macko_options o = asking_for(MACKO_VARIANT_SHARED, 0);
  macko_matrix *m = NULL;
  macko_info info;
  if (!_i) memset(t.row_ptr, 0, 3001 * sizeof *t.row_ptr);
  ck_assert(!macko_encode(&t.csr, &o, &m, NULL) && !macko_predict(&t.csr, &o, &info, NULL));
  ck_assert_msg(!strcmp(info.reason, m->plan.reason), "%s; encoded: %s", info.reason, m->plan.reason);
  ck_assert_int_eq(info.bytes, m->plan.bytes);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* One row has nearly all entries, and its place no stretch of rows would find. */
START_TEST(a_single_long_row_is_seen)
{
  paper_matrix t = make(2000, 3000, diagonal);
  const macko_options o = asking_for(MACKO_VARIANT_PAPER, 8);
  enum { LONG = 1777, MORE = 200000 };
  macko_matrix *m = NULL;
  macko_info info;
  t.cols = realloc(t.cols, (2000 + MORE) * sizeof *t.cols), t.values = realloc(t.values, (2000 + MORE) * sizeof *t.values);
  for (int p = 1999; p > LONG; p--) t.cols[p + MORE] = t.cols[p];
  for (int p = 0; p <= MORE; p++) t.cols[LONG + p] = 3 * p;
  for (int p = 0; p < 2000 + MORE; p++) t.values[p] = 0x3c00;
  for (int i = LONG + 1; i <= 2000; i++) t.row_ptr[i] += MORE;
  t.csr.ncols = 3 * MORE + 1, t.csr.cols = t.cols, t.csr.values = t.values;
  ck_assert(!macko_encode(&t.csr, &o, &m, NULL) && !macko_predict(&t.csr, &o, &info, NULL));
  ck_assert_msg(fabs((double)info.bytes / (double)m->plan.bytes - 1) < 0.05, "%lld, not %lld: %s", (long long)info.bytes,
                (long long)m->plan.bytes, info.reason);
  macko_destroy(&m);
  release(&t);
}
END_TEST

static int first_row(int64_t row, int64_t col)
{
  return row == 0 && col % 2 ? THERE : 0;
}

static int last_row(int64_t row, int64_t col)
{
  return row == 999 && col % 2 ? THERE : 0;
}

/* All other rows are empty, so that there are hardly any neighbours of the row that is drawn. */
START_TEST(a_single_row_is_a_bundle)
{
  paper_matrix t = make(1000, 3000, _i ? last_row : first_row);
  check_estimate(&t.csr, MACKO_VARIANT_PAPER, 8);
  check_estimate(&t.csr, MACKO_VARIANT_SHARED, 0);
  release(&t);
}
END_TEST

/* ---- how much is looked at ---- */

static macko_eccsr_paper_sample sample_of(const macko_csr *a)
{
  const macko_eccsr_paper_shape shape = {8, 2, 2};
  macko_eccsr_paper_sample sample;
  macko_error err;
  ck_assert_msg(!macko_eccsr_take_sample(a, &shape, &sample, &err), "%s", err.text);
  ck_assert(sample.bundles && sample.a.nrows == sample.bundles * MACKO_ECCSR_BUNDLE);
  return sample;
}

/* Of four times as many rows no more are compared, and no more bundles extracted. */
START_TEST(samples_do_not_grow)
{
  paper_matrix t = make(32000, 300, _i ? families : pruned), large = make(128000, 300, _i ? families : pruned);
  macko_eccsr_paper_sample one = sample_of(&t.csr), four = sample_of(&large.csr);
  ck_assert_int_eq(four.bundles, one.bundles);
  ck_assert_int_le(4 * macko_csr_nnz(&four.a), 5 * macko_csr_nnz(&one.a));
  ck_assert_int_le(2 * four.compared, 3 * one.compared);
  ck_assert(macko_csr_nnz(&four.a) <= MACKO_ECCSR_MOST_SAMPLED_ENTRIES && four.compared <= MACKO_ECCSR_COMPARED_ENTRIES);
  free(one.room), free(four.room);
  release(&t), release(&large);
}
END_TEST

/* Rows of a family are found wherever they are: most bundles of the sample have rows of one. Some rows of each family are in no
 * whole bundle of its own. */
START_TEST(rows_that_lie_apart_are_found)
{
  int64_t found = 0;
  paper_matrix t = make(8000, 1500, families);
  macko_eccsr_paper_sample sample = sample_of(&t.csr);
  for (int64_t k = 0; k < sample.bundles; k++) {
    int32_t common[1500];
    const int32_t *cols = sample.a.cols;
    const int64_t *starts = (const int64_t *)sample.a.row_ptr + k * MACKO_ECCSR_BUNDLE;
    int64_t n = starts[1] - starts[0];
    memcpy(common, cols + starts[0], (size_t)n * sizeof *common);
    for (int i = 1; i < MACKO_ECCSR_BUNDLE; i++)
      n = macko_eccsr_intersect(common, n, cols + starts[i], starts[i + 1] - starts[i], common);
    found += n >= 40; /* of about 75 */
  }
  ck_assert_int_ge(4 * found, 3 * sample.bundles);
  free(sample.room);
  release(&t);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("eccsr_paper_estimates");
  TCase *t = tcase_create("eccsr_paper_estimates");
  tcase_set_timeout(t, 300);
  tcase_add_loop_test(t, bytes_are_as_near_as_the_reason_says, 0, KINDS);
  tcase_add_loop_test(t, small_matrices_are_counted, 0, 2);
  tcase_add_test(t, a_single_long_row_is_seen);
  tcase_add_loop_test(t, a_single_row_is_a_bundle, 0, 2);
  tcase_add_loop_test(t, samples_do_not_grow, 0, 2);
  tcase_add_test(t, rows_that_lie_apart_are_found);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
