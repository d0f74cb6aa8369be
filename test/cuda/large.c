/* Of the suite cuda_conformance: matrices large enough for what kernels do with many rows, or with long ones. */
#include "conformance.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Rows of thousands of entries, as pruned networks have, some of them cut: a warp a row, x in shared memory. */
START_TEST(wide_rows)
{
  enum { ROWS = 12, COLS = 20000 };
  static const int percent[ROWS] = {50, 30, 0, 10, 90, 3, 50, 70, 1, 20, 100, 5};
  static const int kinds[] = {7, 8, 9, 4, 6, 0};
  test_matrix a = {"wide rows", ROWS, COLS, calloc(ROWS + 1, 8), malloc(ROWS * COLS * 8), test_kinds[kinds[_i]].type,
                   malloc(ROWS * COLS * 8), malloc(ROWS * COLS * 8)};
  test_seed((uint64_t)_i);
  for (int i = 0, count = 0; i < ROWS; a.row_ptr[++i] = count)
    for (int j = 0; j < COLS; j++)
      if ((int)(test_draw() % 100) < percent[i]) a.cols[count++] = j;
  test_fill(&a, test_kinds[kinds[_i]].values);
  test_products *p = test_products_make(&a);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW;
  for (int w = 0; w < TEST_WIDTHS; w++)
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_PAIRS; values++) {
      o.gap_bits = test_widths[w], o.values = (macko_values)values;
      with_options(&a, p, &o);
    }
  test_products_free(p), test_free(&a);
}
END_TEST

/* Sums in f32 within the bound for terms that are added one by one, in any order. */
static void check_f32(const test_matrix *a, const macko_device_matrix *d, double beta, const char *what)
{
  float *x = malloc((size_t)a->ncols * 4 + 4), *y = malloc((size_t)a->nrows * 4 + 4);
  macko_error err = {0};
  for (int64_t j = 0; j < a->ncols; j++) x[j] = (float)(test_draw() >> 40) * 0x1p-23f - 1;
  for (int64_t i = 0; i < a->nrows; i++) y[i] = beta == 0 ? NAN : 1;
  test_product q = {MACKO_OP_N, MACKO_F32, 1, 0.75, beta, x, a->ncols, y, a->nrows};
  on_device on = {d, a->nrows, a->ncols};
  ck_assert_msg(!multiply_on_device(&on, &q, &err), "%s, %s: %s", a->name, what, err.text);
  for (int64_t i = 0; i < a->nrows; i++) {
    double ref = beta, size = fabs(beta), nu = (double)(a->row_ptr[i + 1] - a->row_ptr[i] + 4) * (FLT_EPSILON / 2);
    for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) {
      double t = 0.75 * a->exact[p] * x[a->cols[p]];
      ref += t, size += fabs(t);
    }
    if (!(fabs(y[i] - ref) <= 1.001 * nu / (1 - nu) * size + FLT_MIN))
      ck_abort_msg("%s, %s: element %ld is %.9g, not %.9g", a->name, what, (long)i, y[i], ref);
  }
  free(x), free(y);
}

/* Rows of any length up to thousands, several for each warp, which begin and end in the middle of what it reads at once; in some
 * most columns are missing, so that gaps are long. */
START_TEST(streams_of_rows)
{
  enum { ROWS = 9000, COLS = 3000 };
  static const int percent[] = {50, 2, 30, 0, 90, 1, 10, 0, 60}, bits[] = {4, 8};
  test_matrix a = {"streams of rows", ROWS, COLS, calloc(ROWS + 1, 8), malloc(ROWS * COLS * 4), MACKO_F16, NULL, NULL};
  int64_t count = 0;
  test_seed(3);
  for (int i = 0; i < ROWS; a.row_ptr[++i] = count)
    for (int j = 0, of = percent[i * 7 % 9]; j < COLS && count < ROWS * COLS / 2; j++)
      if ((int)(test_draw() % 100) < of) a.cols[count++] = j;
  a.values = malloc((size_t)count * 8), a.exact = malloc((size_t)count * 8);
  for (int kind = 0; kind <= 2; kind += 2)
    for (int b = 0; b < 2; b++) {
      macko_options o;
      macko_matrix *m = NULL;
      macko_device_matrix *d = NULL;
      macko_error err = {0};
      test_fill(&a, kind);
      macko_csr c = test_view(&a);
      macko_options_init(&o);
      o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW, o.gap_bits = bits[b];
      ck_assert_msg(!macko_encode(&c, &o, &m, &err) && !macko_device_upload(m, NULL, &d, &err), "%s", err.text);
      check_f32(&a, d, 0, bits[b] == 4 ? "4 bits" : "8 bits"), check_f32(&a, d, 0.5, bits[b] == 4 ? "4 bits" : "8 bits");
      check_16_bits(&a, d, MACKO_F16, 1, 0, "f16 vectors");
      macko_device_destroy(&d), macko_destroy(&m);
    }
  test_free(&a);
}
END_TEST

/* Bundles of variants of format eccsr on matrices of so many rows that x is staged in shared memory, and that all teams take
 * several bundles: every second group of four rows shares most columns. */
START_TEST(rows_in_bundles)
{
  enum { ROWS = 5003, COLS = 600 };
  static const int kinds[] = {7, 8, 9, 4, 6, 0};
  static const macko_variant variants[] = {MACKO_VARIANT_SHARED, MACKO_VARIANT_PAPER};
  test_matrix a = {"rows in bundles", ROWS, COLS, calloc(ROWS + 1, 8), malloc(ROWS * COLS * 4), test_kinds[kinds[_i]].type, NULL,
                   NULL};
  int64_t count = 0;
  test_seed((uint64_t)_i);
  for (int i = 0; i < ROWS; a.row_ptr[++i] = count)
    for (int j = 0; j < COLS && count < ROWS * COLS / 2; j++) {
      const uint32_t of_group = (uint32_t)(i / 4 * 7919 + j * 104729) * 2654435761u >> 24; /* 0 to 255 */
      if (i / 4 % 2 ? of_group < 80 && test_draw() % 16 : test_draw() % 8 < 2) a.cols[count++] = j;
    }
  a.values = malloc((size_t)count * 8), a.exact = malloc((size_t)count * 8);
  test_fill(&a, test_kinds[kinds[_i]].values);
  test_products *p = test_products_make(&a);
  for (int v = 0; v < 2; v++)
    for (int bits = 4; bits <= 16; bits *= 2) {
      macko_options o;
      macko_options_init(&o);
      o.format = MACKO_FORMAT_ECCSR, o.variant = variants[v], o.gap_bits = bits;
      with_options(&a, p, &o);
    }
  test_products_free(p), test_free(&a);
}
END_TEST

/* Layout row with codes of 4 and 8 bits, several times. */
static void check_long_rows(const test_matrix *a)
{
  static const int bits[] = {4, 8};
  for (int b = 0; b < 2; b++) {
    macko_options o;
    macko_matrix *m = NULL;
    macko_device_matrix *d = NULL;
    macko_error err = {0};
    macko_csr c = test_view(a);
    macko_options_init(&o);
    o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW, o.gap_bits = bits[b];
    ck_assert_msg(!macko_encode(&c, &o, &m, &err) && !macko_device_upload(m, NULL, &d, &err), "%s", err.text);
    for (int again = 0; again < 3; again++) check_f32(a, d, 0, "sums left by several warps"), check_f32(a, d, 0.5, "beta");
    macko_device_destroy(&d), macko_destroy(&m);
  }
}

/* Long rows with 25 to 64 empty ones behind each: more rows in what a warp takes than it has lanes, most of them without entries,
 * and rows that several warps share. */
START_TEST(empty_rows_between)
{
  enum { LONG = 48, COLS = 40000, MOST = LONG * 65 };
  test_matrix a = {"empty rows between", 0, COLS, calloc(MOST + 1, 8), malloc((size_t)LONG * COLS * 8), MACKO_F16, NULL, NULL};
  int64_t count = 0;
  test_seed(5);
  for (int k = 0; k < LONG; k++) {
    for (int j = 0; j < COLS; j++)
      if (test_draw() % 16) a.cols[count++] = j;
    for (int i = 0; i <= 25 + k % 40; i++) a.row_ptr[++a.nrows] = count;
  }
  a.values = malloc((size_t)count * 8), a.exact = malloc((size_t)count * 8);
  test_fill(&a, 0);
  check_long_rows(&a);
  /* One row without entries behind the last chunk, which is full. */
  count -= count % 512;
  while (a.nrows > 1 && a.row_ptr[a.nrows - 2] >= count) a.nrows--;
  a.row_ptr[a.nrows - 1] = a.row_ptr[a.nrows] = count;
  check_long_rows(&a);
  test_free(&a);
}
END_TEST

/* Several rows a lane, all kinds of tables, escapes in both: what dtans does on matrices of many rows only. */
START_TEST(lanes_of_several_rows)
{
  enum { N = 200, ROWS = N * N };
  int64_t *row_ptr = calloc(ROWS + 1, 8), *cols = malloc(ROWS * 6 * 8), count = 0;
  double *values = malloc(ROWS * 6 * 8);
  test_seed(9);
  for (int64_t i = 0; i < ROWS; i++) {
    static const int64_t offsets[] = {-N, -1, 0, 1, N};
    for (int k = 0; k < 5; k++)
      if (i + offsets[k] >= 0 && i + offsets[k] < ROWS && i % 1000 > 40) {
        cols[count] = i + offsets[k];
        values[count++] = _i == 0 ? (k == 2 ? 4 : -1) : (double)(test_draw() % (_i == 1 ? 50 : 100000)) / 7;
      }
    if (i % 97 == 0 && i + 3 * N < ROWS) cols[count] = i + 2 * N + (int64_t)(test_draw() % N), values[count++] = 0.1;
    row_ptr[i + 1] = count;
  }
  test_matrix a = {"many rows", ROWS, ROWS, row_ptr, cols, MACKO_F64, values, values};
  test_products *p = test_products_make(&a);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS;
  for (int variant = MACKO_VARIANT_AUTO; variant <= MACKO_VARIANT_PAPER; variant++) {
    o.variant = (macko_variant)variant;
    for (int prefer = MACKO_PREFER_TIME; prefer <= MACKO_PREFER_MEMORY; prefer++) {
      o.prefer = (macko_prefer)prefer, o.target = MACKO_TARGET_GPU;
      with_options(&a, p, &o);
    }
  }
  test_products_free(p);
  free(row_ptr), free(cols), free(values);
}
END_TEST

/* Blocks of csr as on large matrices: full ones, thousands of empty rows, rows of a few blocks, and one of so many blocks that
 * their sums are more than there are threads, and that it is longer than what one warp cuts into blocks; so are the empty rows
 * behind it, before a last row of one entry. */
START_TEST(rows_of_every_length)
{
  enum { FULL = 270000, ROWS = 400000, COLS = 400000, ROOM = 4000000 };
  static const int longer[] = {600, 993, 1024, 1025, 5000, 300000};
  int64_t *row_ptr = calloc(ROWS + 1, 8), *cols = malloc(ROOM * 8), count = 0;
  double *values = malloc(ROOM * 8);
  test_seed(11);
  for (int64_t i = 0; i < ROWS; i++) {
    int64_t length = i >= 40000 && i < 44000 ? 0 : i % 1000 == 7 ? (int64_t)(test_draw() % 200) : (int64_t)(test_draw() % 21);
    if (i >= FULL) length = i == ROWS - 1;
    else if (i % 45000 == 2) length = longer[i / 45000];
    for (int64_t k = 0, gap = COLS / (length + 1); k < length; k++) {
      cols[count] = k * gap + (int64_t)(test_draw() % (uint64_t)gap);
      values[count++] = (double)test_draw() * 0x1p-30 - 1;
    }
    row_ptr[i + 1] = count;
  }
  test_matrix a = {"rows of every length", ROWS, COLS, row_ptr, cols, MACKO_F64, values, values};
  test_products *p = test_products_make(&a);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  with_options(&a, p, &o);
  test_products_free(p);
  free(row_ptr), free(cols), free(values);
}
END_TEST

/* Enough entries that blocks of threads take several thousand of one row; columns by a power law. Rows of up to 79 entries, empty
 * ones, of 2000 and 5000 as a whole, and in pieces. */
START_TEST(uneven_rows)
{
  enum { ROWS = 160000, COLS = 150000, ROOM = 9000000 };
  int64_t *row_ptr = calloc(ROWS + 1, 8), *cols = malloc(ROOM * 8), count = 0;
  double *values = malloc(ROOM * 8);
  test_seed(12);
  for (int64_t i = 0; i < ROWS; i++) {
    int64_t length = (int64_t)(test_draw() % 80), before = -1;
    if (i >= 40000 && i < 44000) length = 0;
    if (i % 4000 == 2) length = i % 3 ? 40000 : 120000;
    if (i % 9000 == 7) length = i % 2 ? 2000 : 5000;
    for (int64_t k = 0; k < length; k++) {
      double at = ((double)k + (double)test_draw() * 0x1p-31) / (double)length;
      int64_t col = (int64_t)(at * at * at * at * COLS);
      if (col == before || col == COLS) continue;
      cols[count] = before = col;
      values[count++] = (double)test_draw() * 0x1p-30 - 1;
    }
    row_ptr[i + 1] = count;
  }
  ck_assert_int_gt(count, 6000000);
  test_matrix a = {"uneven rows", ROWS, COLS, row_ptr, cols, MACKO_F64, values, values};
  test_products *p = test_products_make(&a);
  macko_csr c = test_view(&a);
  macko_options o;
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  ck_assert_int_eq(macko_encode(&c, &o, &m, NULL), MACKO_OK);
  ck_assert_int_eq(macko_device_upload(m, NULL, &d, NULL), MACKO_OK);
  check_device(&a, p, m, d, "uneven rows");
  check_16_bits(&a, d, MACKO_F16, 1, 0.5, "uneven rows");
  macko_device_destroy(&d);
  macko_destroy(&m);
  test_products_free(p);
  free(row_ptr), free(cols), free(values);
}
END_TEST

/* Rows of so many blocks of 2n columns that kernels take whole tiles: two of each dropped; more, and some blocks missing; some with
 * too many; the last block cut by the end of the matrix. */
START_TEST(rows_of_windows)
{
  enum { ROWS = 7, BLOCKS = 300, HOW = 3 };
  static const int kinds[] = {0, 4, 7, 2, 9};
  const int64_t n = _i, cols = BLOCKS * 2 * n - 3;
  for (int run = 0; run < HOW * (int)(sizeof kinds / sizeof *kinds); run++) {
    const int how = run % HOW, kind = kinds[run / HOW];
    test_matrix a = {"rows of windows", ROWS, cols, calloc(ROWS + 1, 8), malloc((size_t)(ROWS * cols) * 8), test_kinds[kind].type,
                     malloc((size_t)(ROWS * cols) * 8), malloc((size_t)(ROWS * cols) * 8)};
    int64_t count = 0, first = 0, second = 0;
    test_seed((uint64_t)(run + 1));
    for (int64_t i = 0; i < ROWS; a.row_ptr[++i] = count)
      for (int64_t j = 0, missing = 0; j < cols; j++) {
        if (j % (2 * n) == 0)
          first = (int64_t)test_draw() % (2 * n), second = (first + 1 + (int64_t)test_draw() % (2 * n - 1)) % (2 * n);
        if (j % (2 * n) == 0) missing = how > 0 && test_draw() % 5 == 0;
        if (how == 2 && test_draw() % 2) first = -1;
        if (!missing && j % (2 * n) != first && j % (2 * n) != second && (how == 0 || test_draw() % 3)) a.cols[count++] = j;
      }
    test_fill(&a, test_kinds[kind].values);
    test_products *p = test_products_make(&a);
    macko_options o;
    macko_options_init(&o);
    o.format = MACKO_FORMAT_SLIDE;
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_DICT; values++)
      o.values = (macko_values)values, with_options(&a, p, &o);
    test_products_free(p), test_free(&a);
  }
}
END_TEST

void add_large_cases(Suite *suite)
{
  TCase *large = add_case(suite, "large", 0);
  tcase_add_loop_test(large, wide_rows, 0, 6);
  tcase_add_test(large, streams_of_rows);
  tcase_add_loop_test(large, rows_in_bundles, 0, 6);
  tcase_add_test(large, empty_rows_between);
  tcase_add_loop_test(large, lanes_of_several_rows, 0, 3);
  tcase_add_test(large, rows_of_every_length);
  tcase_add_test(large, uneven_rows);
  tcase_add_loop_test(large, rows_of_windows, 2, 9);
  tcase_add_loop_test(add_case(suite, "bundles", 0), rows_in_bundles, 0, 6);
  tcase_add_test(add_case(suite, "uneven", 0), uneven_rows);
  tcase_add_loop_test(add_case(suite, "rows", 0), wide_rows, 0, 1);
  tcase_add_loop_test(add_case(suite, "windows", 0), rows_of_windows, 2, 9);
}
