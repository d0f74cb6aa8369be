/* What cannot be done is refused by a sentence that names it, and changes nothing. */
#define _GNU_SOURCE /* MAP_NORESERVE, feenableexcept */
#include "macko.h"
#include "suite.h"

#include <fenv.h>
#include <stdio.h>
#include <sys/mman.h>

static macko_csr identity(void)
{
  static const int32_t row_ptr[] = {0, 1, 2, 3, 4, 5, 6, 7, 8}, cols[] = {0, 1, 2, 3, 4, 5, 6, 7};
  static const double values[] = {1, 1, 1, 1, 1, 1, 1, 1};
  return (macko_csr){.nrows = 8, .ncols = 8, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

/* "format 7 is none of 0 (csr), 1 (macko), ... and 3 (auto)" */
static const char *none_of_the_formats(int number)
{
  static char text[512];
  size_t used = (size_t)snprintf(text, sizeof text, "format %d is none of ", number);
  for (int f = 0; f <= MACKO_FORMAT_AUTO && used < sizeof text; f++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%d (%s)",
                             f == 0 ? "" : f < MACKO_FORMAT_AUTO ? ", " : " and ", f, macko_format_name((macko_format)f));
  return text;
}

START_TEST(options_name_the_nearest)
{
  macko_options o;
  macko_error err;
  macko_options_init(NULL);
  macko_options_init(&o);
  ck_assert_int_eq(macko_options_set(&o, "layout", "slcie", &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "layout \"slcie\" is unknown; the nearest is \"slice\"");
  ck_assert_int_eq(macko_options_set(&o, "value", "raw", &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "option \"value\" is unknown; the nearest is \"values\"");
  /* csr is as near, by a letter too many; one too few is more likely. */
  ck_assert_int_ne(macko_options_set(&o, "format", "ecsr", &err), MACKO_OK);
  ck_assert_str_eq(err.text, "format \"ecsr\" is unknown; the nearest is \"eccsr\"");
  ck_assert_int_eq(macko_options_set(&o, "gap_bits", "3", &err), MACKO_INVALID_ARGUMENT);
  ck_assert(o.layout == MACKO_LAYOUT_AUTO && o.values == MACKO_VALUES_AUTO && o.gap_bits == 0);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
    ck_assert_int_eq(macko_options_set(&o, "format", macko_format_name((macko_format)f), &err), MACKO_OK);
    ck_assert_int_eq(o.format, f);
  }
  ck_assert_ptr_null(macko_format_name((macko_format)(MACKO_FORMAT_AUTO + 1)));
  o.gap_bits = 3;
  macko_csr c = identity();
  macko_matrix *m = NULL;
  ck_assert_int_eq(macko_encode(&c, &o, &m, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "gap_bits 3 is none of 0 (auto), 1, 2, 4, 8 and 16");
  o.gap_bits = 0, o.format = (macko_format)(MACKO_FORMAT_AUTO + 4);
  ck_assert_int_eq(macko_options_check(&o, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, none_of_the_formats(MACKO_FORMAT_AUTO + 4));
  ck_assert_ptr_null(m);
}
END_TEST

START_TEST(bad_matrices_are_named)
{
  int64_t row_ptr[] = {0, 1, 2}, cols[] = {0, 7};
  double values[] = {1, 2};
  macko_csr c = {.nrows = 2, .ncols = 3, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m = NULL;
  macko_error err;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "column 7 at entry 1 of row 1 is outside 0..2");
  row_ptr[1] = 3;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "row_ptr falls from 3 to 2 at row 1");
  row_ptr[0] = 1;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "row_ptr[0] is 1 and must be 0");
  c.value_type = MACKO_I8;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_ptr_null(m);
}
END_TEST

/* Wherever it is, as many rows are compared at once. */
START_TEST(a_start_that_falls_is_named)
{
  enum { ROWS = 150 };
  int32_t row_ptr[ROWS + 1], col = 0;
  double value = 1;
  char expected[64];
  macko_csr c = {.nrows = ROWS, .ncols = 1, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = &col, .values = &value};
  macko_info info;
  macko_error err;
  for (int bad = 1; bad < ROWS; bad++) {
    for (int i = 0; i <= ROWS; i++) row_ptr[i] = i == bad;
    snprintf(expected, sizeof expected, "row_ptr falls from 1 to 0 at row %d", bad);
    ck_assert_int_eq(macko_predict(&c, NULL, &info, &err), MACKO_INVALID_MATRIX);
    ck_assert_str_eq(err.text, expected);
  }
}
END_TEST

START_TEST(bad_products_change_nothing)
{
  macko_csr c = identity();
  macko_matrix *m = NULL;
  macko_error err;
  double x[8] = {0}, y[8] = {5};
  ck_assert(!macko_encode(&c, NULL, &m, NULL));
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, 2, 1, x, 8, 0, y, 7, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "ldx 8 and ldy 7 must be at least 8 and 8");
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, INT64_MAX, 1, x, 8, 0, y, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "no memory holds 9223372036854775807 vectors 8 elements apart");
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F32, 3, 1, x, INT64_MAX, 0, y, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, -1, 1, x, 8, 0, y, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_U8, 1, 1, x, 8, 0, y, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_multiply(m, (macko_op)5, MACKO_F64, 1, 1, x, 8, 0, y, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, NULL, 8, 0, y, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert(y[0] == 5);
  double both[12] = {0};
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, both, 8, 0, both, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "x and y overlap: a product cannot be made in place");
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_T, MACKO_F64, 1, 1, both, 8, 0, both + 4, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, both + 4, 8, 0, both, 8, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F32, 1, 1, both + 4, 8, 0, both, 8, &err), MACKO_OK); /* side by side */
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 0, both, 8, 1, both, 8, &err), MACKO_OK); /* x is not read */
  c.value_type = (macko_type)9999;
  ck_assert_int_eq(macko_refresh(m, &c, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "value type 9999 is none of f64, f32, f16 and bf16");
  macko_destroy(&m);
}
END_TEST

/* Zeros that take memory only where they are touched. */
static double *sparse_vector(int64_t n)
{
  size_t bytes = (size_t)n * sizeof(double);
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static void check_wide(const macko_csr *c, const macko_matrix *m, const char *format)
{
  const int64_t *cols = c->cols;
  int64_t row_ptr[3], back[4];
  double values[4], y[2], *x = c->ncols < 1LL << 33 ? sparse_vector(c->ncols) : NULL;
  macko_error err = {0};
  ck_assert_msg(!macko_validate(m, &err) && !macko_decode(m, row_ptr, back, values, &err), "%s: %s", format, err.text);
  ck_assert_mem_eq(row_ptr, c->row_ptr, sizeof row_ptr);
  ck_assert_mem_eq(back, cols, sizeof back);
  ck_assert_mem_eq(values, c->values, sizeof values);
  if (!x) return; /* beyond what can be addressed here */
  for (int i = 0; i < 4; i++) x[cols[i]] = i < 2 ? 1 : 10;
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, c->ncols, 0, y, 2, &err));
  ck_assert_msg(y[0] == 1 + 2 && y[1] == 30 + 40, "%s, %lld columns: %g and %g", format, (long long)c->ncols, y[0], y[1]);
  munmap(x, (size_t)c->ncols * sizeof(double));
}

/* The place in a sentence is there as numbers too, and another may be named instead; a sentence without one stays. */
START_TEST(places_can_be_named_anew)
{
  macko_csr a = identity();
  double large = 1e6;
  macko_options o;
  macko_error err;
  macko_matrix *m = NULL;
  a.values = &large, a.nrows = 1;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR, o.values = MACKO_VALUES_F16;
  ck_assert_int_eq(macko_encode(&a, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(!strncmp(err.text, "row 0, column 0, counted from 0: 1000000 is beyond ", 51), "%s", err.text);
  ck_assert(err.place == 33 && err.row == 0 && err.col == 0);
  macko_error_place(&err, 9, 12345678901, 1);
  ck_assert_msg(!strncmp(err.text, "row 10, column 12345678902, counted from 1: 1000000 is beyond ", 62), "%s", err.text);
  ck_assert(err.place == 44 && err.row == 9 && err.col == 12345678901);
  macko_error_place(&err, 9, -1, 0);
  ck_assert_msg(!strncmp(err.text, "row 9, counted from 0: 1000000 is beyond ", 41), "%s", err.text);
  ck_assert(err.place == 23 && err.row == 9 && err.col == -1);
  macko_error_place(&err, INT64_MAX, INT64_MAX, 1); /* counted from 1 they are more than an int64_t holds */
  ck_assert_msg(!strncmp(err.text, "row 9223372036854775808, column 9223372036854775808, counted from 1: ", 69), "%s", err.text);
  a.nrows = -1;
  ck_assert(macko_encode(&a, &o, &m, &err) && !err.place);
  macko_error before = err;
  macko_error_place(&err, 9, 9, 0);
  macko_error_place(NULL, 9, 9, 0);
  ck_assert_str_eq(err.text, before.text);
}
END_TEST

/* A format that cannot hold the matrix is none of the caller's business where another one can. */
START_TEST(success_leaves_no_sentence)
{
  macko_csr a = identity();
  macko_error err = {.status = MACKO_OK, .text = "as it was"};
  macko_matrix *m = NULL;
  a.ncols = INT64_MAX;
  ck_assert(!macko_encode(&a, NULL, &m, &err));
  ck_assert_str_eq(err.text, "as it was");
  macko_destroy(&m);
}
END_TEST

/* Column numbers that do not fit 31, 32 or 53 bits: each format holds them, or refuses with its limit and the number; automatic
 * choice holds them all. */
START_TEST(wide_columns_are_held_or_refused)
{
  static const int64_t sizes[] = {INT32_MAX, 1LL << 31, (1LL << 31) + 1, UINT32_MAX, 1LL << 32, 1LL << 54, INT64_MAX};
  static const int64_t limits[MACKO_FORMAT_AUTO + 1] = {[MACKO_FORMAT_MACKO] = INT32_MAX, [MACKO_FORMAT_DTANS] = UINT32_MAX,
                                                        [MACKO_FORMAT_ECCSR] = INT32_MAX, [MACKO_FORMAT_SLIDE] = INT32_MAX};
  int64_t n = sizes[_i], row_ptr[] = {0, 2, 4}, cols[] = {1, n / 2, 2, n - 1};
  double values[] = {1, 2, 3, 4};
  char sentence[200];
  macko_csr c = {.nrows = 2, .ncols = n, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options o;
  macko_options_init(&o);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
    macko_matrix *m = NULL;
    macko_error err = {0};
    const char *name = macko_format_name((macko_format)f);
    o.format = (macko_format)f;
    macko_status s = macko_encode(&c, &o, &m, &err);
    macko_status right = limits[f] && n > limits[f] ? MACKO_LIMIT : MACKO_OK;
    ck_assert_msg(s == right, "%s, %lld columns: %s", name, (long long)n, err.text);
    if (s) {
      snprintf(sentence, sizeof sentence, "format %s holds at most %lld columns, not %lld", name, (long long)limits[f],
               (long long)n);
      ck_assert_str_eq(err.text, sentence);
    } else check_wide(&c, m, name);
    macko_destroy(&m);
  }
}
END_TEST

/* A program that traps exceptions is not stopped by trials whether its values survive as narrower numbers, nor told of them; its
 * traps are there afterwards. */
START_TEST(trials_raise_no_exception)
{
#ifdef __GLIBC__
  enum { N = 1000, TRAPS = FE_OVERFLOW | FE_UNDERFLOW | FE_INVALID | FE_DIVBYZERO };
  static int32_t row_ptr[N + 1], cols[2 * N];
  static double values[2 * N], x[N], y[N];
  macko_csr c = {.nrows = N, .ncols = N, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options o;
  macko_info info;
  for (int i = 0; i < N; i++) {
    cols[2 * i] = i, cols[2 * i + 1] = i + 1 < N ? i + 1 : i, row_ptr[i + 1] = 2 * i + 1 + (i + 1 < N);
    values[2 * i] = i % 3 ? 1e39 : 1e-300, values[2 * i + 1] = -1e300, x[i] = 1;
  }
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int v = MACKO_VALUES_AUTO; v <= MACKO_VALUES_BF16; v++) {
      macko_matrix *m = NULL;
      macko_options_init(&o);
      o.format = (macko_format)f, o.values = (macko_values)v;
      if (macko_options_check(&o, NULL)) continue;
      feclearexcept(FE_ALL_EXCEPT);
      feenableexcept(TRAPS);
      const macko_status s = macko_encode(&c, &o, &m, NULL), foreseen = macko_predict(&c, &o, &info, NULL);
      const macko_status again = s ? MACKO_OK : macko_refresh(m, &c, NULL);
      const macko_status product = s ? MACKO_OK : macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, N, 0, y, N, NULL);
      const int traps = fedisableexcept(TRAPS);
      ck_assert_int_eq(traps, TRAPS);
      ck_assert_int_eq(s, foreseen);
      ck_assert(!again && !product);
      if (!s) ck_assert(y[1] == 1e39 - 1e300 && y[N - 1] == 1e-300);
      macko_destroy(&m);
    }
#endif
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("errors");
  TCase *t = tcase_create("refusals");
  tcase_add_test(t, options_name_the_nearest);
  tcase_add_test(t, bad_matrices_are_named);
  tcase_add_test(t, a_start_that_falls_is_named);
  tcase_add_test(t, bad_products_change_nothing);
  tcase_add_test(t, places_can_be_named_anew);
  tcase_add_test(t, success_leaves_no_sentence);
  tcase_add_test(t, trials_raise_no_exception);
  tcase_add_loop_test(t, wide_columns_are_held_or_refused, 0, 7);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
