/* Products of f32 matrices with f32 vectors in the formats that have loops of floats alone: blocks of every size with masks and
 * without, what lies beside runs and behind the end of x, and long rows, whose sums must not be those of floats. */
#include "core/hash.h"
#include "eccsr/eccsr.h"
#include "suite.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

typedef struct {
  macko_csr csr;
  int64_t *row_ptr, *cols;
  float *values;
} test_matrix;

/* Gives a matrix without entries, with room for so many in its rows. */
static test_matrix empty(int64_t nrows, int64_t ncols, int64_t room)
{
  test_matrix t = {.row_ptr = calloc((size_t)nrows + 1, 8), .cols = malloc((size_t)room * 8), .values = malloc((size_t)room * 4)};
  t.csr = (macko_csr){.nrows = nrows, .ncols = ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F32,
                      .row_ptr = t.row_ptr, .cols = t.cols, .values = t.values};
  return t;
}

static void release(test_matrix *t)
{
  free(t->row_ptr), free(t->cols), free(t->values);
}

/* Gives a number above 0 and at most 1, of all the bits that a float has. */
static float some_number(int64_t i)
{
  return (float)((double)(1 + (macko_mix((uint64_t)i) >> 40)) * 0x1p-24);
}

static void add(test_matrix *t, int64_t row, int64_t col)
{
  const int64_t n = t->row_ptr[row + 1]++;
  t->cols[n] = col, t->values[n] = some_number(n);
}

/* Columns without entries, in which x is no number. */
static int is_left_out(int64_t col)
{
  return col % 11 == 3;
}

/* Nodes of so many unknowns with a dozen neighbours, for the last nodes up to the last column. Without holes all couplings of a
 * node are there, else not those of unknowns whose numbers and 1 add up to a multiple of `holes`, nor columns that are left out.
 * Of neighbours, so many together follow each other, which makes runs longer than a node. */
static test_matrix make_nodes(int64_t nodes, int unknowns, int holes, int together)
{
  test_matrix t = empty(nodes * unknowns, nodes * unknowns, nodes * unknowns * unknowns * 13);
  for (int64_t row = 0; row < t.csr.nrows; row++) {
    const int64_t node = row / unknowns;
    int64_t other = node > 40 ? node - 40 : 0;
    t.row_ptr[row + 1] = t.row_ptr[row];
    for (int k = 0; k < 12 && other < nodes; k++) {
      for (int j = 0; j < unknowns; j++) {
        const int64_t col = other * unknowns + j;
        if (!holes || ((row % unknowns + j + 1) % holes && !is_left_out(col))) add(&t, row, col);
      }
      other += (k + 1) % together ? 1 : 1 + (int64_t)(macko_mix((uint64_t)(node * 16 + k)) % 9);
    }
  }
  return t;
}

static macko_matrix *encode(const test_matrix *t, macko_format format)
{
  macko_options o;
  macko_error err;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = format, o.values = MACKO_VALUES_RAW;
  if (format == MACKO_FORMAT_MACKO) o.layout = MACKO_LAYOUT_SLICE;
  ck_assert_msg(!macko_encode(&t->csr, &o, &m, &err), "%s", err.text);
  return m;
}

/* Gives the sum of a row in double, and in *size that of the magnitudes. */
static double row_sum(const test_matrix *t, const float *x, int64_t row, double *size)
{
  double sum = 0;
  *size = 0;
  for (int64_t p = t->row_ptr[row]; p < t->row_ptr[row + 1]; p++) {
    const double term = (double)t->values[p] * (double)x[t->cols[p]];
    sum += term, *size += fabs(term);
  }
  return sum;
}

/* The error of a row is at most that of so many roundings to float. */
static void check_row(const char *what, int64_t row, float got, double sum, double size, double roundings)
{
  ck_assert_msg(fabs((double)got - sum) <= roundings * FLT_EPSILON / 2 * size, "%s, row %ld: %.9g, not %.9g", what, (long)row,
                (double)got, sum);
}

/* Multiplies k vectors, of which x has exactly the elements, twice, by alpha and beta that are no whole numbers. */
static void check_products(const char *what, const test_matrix *t, const macko_matrix *m, int64_t k, int holes)
{
  const int64_t n = t->csr.ncols, rows = t->csr.nrows;
  const double alpha = -0.75, beta = 0.3;
  float *x = malloc((size_t)(n * k) * 4), *y = malloc((size_t)(rows * k) * 4), *again = malloc((size_t)(rows * k) * 4);
  for (int64_t i = 0; i < n * k; i++)
    x[i] = holes && is_left_out(i % n) ? (i % 2 ? INFINITY : NAN) : some_number(i + 1000000007) - 0.5f;
  for (int64_t i = 0; i < rows * k; i++) y[i] = again[i] = (float)(i % 17);
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F32, k, alpha, x, n, beta, y, rows, NULL));
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F32, k, alpha, x, n, beta, again, rows, NULL));
  ck_assert_mem_eq(y, again, (size_t)(rows * k) * 4);
  for (int64_t i = 0; i < rows * k; i++) {
    double size, sum = row_sum(t, x + i / rows * n, i % rows, &size), old = beta * (double)(i % 17);
    const double entries = (double)(t->row_ptr[i % rows + 1] - t->row_ptr[i % rows]);
    check_row(what, i % rows, y[i], alpha * sum + old, fabs(alpha) * size + old, 1.001 * (entries + 3));
  }
  free(x), free(y), free(again);
}

/* One to eight unknowns a node, alone and three nodes together, for several numbers of nodes, so that last slices are filled
 * differently. */
START_TEST(nodes_of_any_size)
{
  const int unknowns = 1 + _i % 8, holes = _i / 8 % 2 ? 3 : 0, together = _i / 16 ? 3 : 1;
  for (int64_t nodes = 61; nodes < 66; nodes++) {
    test_matrix t = make_nodes(nodes, unknowns, holes, together);
    macko_matrix *eccsr = encode(&t, MACKO_FORMAT_ECCSR), *slice = encode(&t, MACKO_FORMAT_MACKO);
    if (!holes && unknowns == 2 && together == 3) ck_assert_int_ge(macko_eccsr_params_of(&eccsr->plan)->of.counts.widths, 1 << 6);
    if (holes && unknowns > 2) ck_assert_int_gt(macko_eccsr_params_of(&eccsr->plan)->of.counts.masked, 0);
    for (int64_t k = 1; k <= 5; k++) {
      check_products("eccsr", &t, eccsr, k, holes);
      check_products("slice", &t, slice, k, holes);
    }
    macko_destroy(&eccsr), macko_destroy(&slice);
    release(&t);
  }
}
END_TEST

enum { LONG = 100000, BESIDE, NEARBY, APART };

/* 33 rows of LONG entries at the same distances, in runs of three, from first columns that lie beside each other, nearby, or apart;
 * nearby, three rows have the same columns. */
static test_matrix make_long(int lie)
{
  const int64_t rows = 33, ncols = 3 * LONG + 2000;
  test_matrix t = empty(rows, ncols, rows * LONG);
  for (int64_t row = 0; row < rows; row++) {
    const int64_t first = lie == BESIDE ? row : lie == NEARBY ? row / 3 * 3 : row * 547 % 1000;
    t.row_ptr[row + 1] = t.row_ptr[row];
    for (int64_t e = 0; e < LONG; e++) add(&t, row, first + e / 3 * 9 + e % 3);
  }
  return t;
}

/* What a chunk of 32 columns rounds is all that floats are allowed to; a sum in floats alone is further off. */
START_TEST(long_rows_have_exact_sums)
{
  const double roundings = 35;
  test_matrix t = make_long(BESIDE + _i % 3);
  macko_matrix *m = encode(&t, _i / 3 ? MACKO_FORMAT_MACKO : MACKO_FORMAT_ECCSR);
  float *x = malloc((size_t)t.csr.ncols * 4), y[33], plain = 0;
  double size, sum;
  for (int64_t i = 0; i < t.csr.ncols; i++) x[i] = some_number(i + 77);
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F32, 1, 1, x, t.csr.ncols, 0, y, 33, NULL));
  for (int64_t row = 0; row < 33; row++) {
    sum = row_sum(&t, x, row, &size);
    check_row("long", row, y[row], sum, size, roundings);
  }
  for (int64_t p = 0; p < LONG; p++) plain += t.values[p] * x[t.cols[p]];
  sum = row_sum(&t, x, 0, &size);
  ck_assert_double_gt(fabs((double)plain - sum), roundings * FLT_EPSILON / 2 * size);
  macko_destroy(&m);
  free(x);
  release(&t);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("floats");
  TCase *t = tcase_create("floats");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, nodes_of_any_size, 0, 32);
  tcase_add_loop_test(t, long_rows_have_exact_sums, 0, 6);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
