/* Every format, layout, gap width, value codec and vector type on the GPU, within the error bound of plain CSR. */
#include "cuda_common.h"
#include "macko_cuda.h"
#include "matrices.h"

#include <cuda_runtime_api.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int widths[] = {0, 1, 2, 4, 8, 16};

/* Device memory for the vectors of one multiply; grows. Everything is poisoned, so that what is not written shows. */
static struct {
  char *memory;
  size_t bytes;
} scratch;

static char *room_for(size_t bytes)
{
  if (bytes > scratch.bytes) {
    cudaFree(scratch.memory);
    ck_assert_int_eq(cudaMalloc((void **)&scratch.memory, bytes), cudaSuccess);
    scratch.bytes = bytes;
  }
  return scratch.memory;
}

typedef struct {
  const macko_device_matrix *d;
  int64_t nrows, ncols;
} on_device;

/* A test_multiply: vectors to the device, the multiply, y back. */
static macko_status multiply_on_device(const void *matrix, const test_product *q, macko_error *err)
{
  const on_device *a = matrix;
  int64_t nx = q->op == MACKO_OP_N ? a->ncols : a->nrows, ny = q->op == MACKO_OP_N ? a->nrows : a->ncols;
  size_t bytes = (size_t)macko_type_bytes(q->type), x_bytes = bytes * (size_t)((q->k - 1) * q->ldx + nx);
  size_t y_bytes = bytes * (size_t)((q->k - 1) * q->ldy + ny), y_at = (x_bytes + 255) / 256 * 256;
  char *x = room_for(y_at + y_bytes + 256), *y = x + y_at;
  ck_assert_int_eq(cudaMemcpy(x, q->x, x_bytes, cudaMemcpyHostToDevice), cudaSuccess);
  ck_assert_int_eq(cudaMemcpy(y, q->y, y_bytes, cudaMemcpyHostToDevice), cudaSuccess);
  macko_status s = macko_device_multiply(a->d, q->op, q->type, q->k, q->alpha, x, q->ldx, q->beta, y, q->ldy, NULL, err);
  if (!s) ck_assert_msg(cudaMemcpy(q->y, y, y_bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "%s",
                        cudaGetErrorString(cudaGetLastError()));
  return s;
}

/* ---- 16-bit vectors: inputs that are exact, the result within one rounding more ---- */

static double from_16_bits(macko_type type, uint16_t bits)
{
  int exponent_bits = type == MACKO_F16 ? 5 : 8, fraction_bits = 15 - exponent_bits, bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1), fraction = bits & ((1 << fraction_bits) - 1);
  double size = exponent ? ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits)
                         : ldexp(fraction, 1 - bias - fraction_bits);
  if (exponent == (1 << exponent_bits) - 1) size = fraction ? NAN : INFINITY;
  return bits >> 15 ? -size : size;
}

/* 1.0 to 2.0 in steps of the type, both signs. */
static uint16_t draw_16_bits(macko_type type)
{
  uint64_t r = test_draw();
  return (uint16_t)((type == MACKO_F16 ? 0x3c00 | (r & 0x3ff) : 0x3f80 | (r & 0x7f)) | (r & 0x1000 ? 0x8000 : 0));
}

static void check_16_bits(const test_matrix *a, const macko_device_matrix *d, macko_type type, double beta, const char *what)
{
  uint16_t *x = malloc((size_t)a->ncols * 2 + 2), *y = malloc((size_t)a->nrows * 2 + 2), *y0 = malloc((size_t)a->nrows * 2 + 2);
  long double largest = type == MACKO_F16 ? 65504 : FLT_MAX, unit = type == MACKO_F16 ? 0x1p-11L : 0x1p-8L;
  long double tiny = type == MACKO_F16 ? 0x1p-24L : 0x1p-133L;
  macko_error err = {0};
  for (int64_t j = 0; j < a->ncols; j++) x[j] = draw_16_bits(type);
  for (int64_t i = 0; i < a->nrows; i++) y[i] = y0[i] = beta == 0 ? 0x7fff : draw_16_bits(type);
  test_product q = {MACKO_OP_N, type, 1, 0.75, beta, x, a->ncols, y, a->nrows};
  on_device on = {d, a->nrows, a->ncols};
  ck_assert_msg(!multiply_on_device(&on, &q, &err), "%s, %s: %s", a->name, what, err.text);
  for (int64_t i = 0; i < a->nrows; i++) {
    long double ref = beta == 0 ? 0 : beta * from_16_bits(type, y0[i]), size = fabsl(ref);
    for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) {
      long double t = 0.75L * a->exact[p] * from_16_bits(type, x[a->cols[p]]);
      ref += t, size += fabsl(t);
    }
    long double nu = (long double)(a->row_ptr[i + 1] - a->row_ptr[i] + 3) * (FLT_EPSILON / 2);
    long double bound = nu / (1 - nu) * size * (1 + unit) + unit * fabsl(ref) + tiny;
    double got = from_16_bits(type, y[i]);
    /* Beyond the type's range the result is Inf. */
    if (fabsl(ref) + bound > largest ? isnan(got) : !(fabsl(got - ref) <= bound))
      ck_abort_msg("%s, %s, %s vectors: element %ld is %.9g, not %.9Lg", a->name, what, macko_type_name(type), (long)i, got, ref);
  }
  free(x), free(y), free(y0);
}

/* ---- all of them ---- */

static void check_device(const test_matrix *a, const test_products *p, const macko_matrix *m, macko_device_matrix *d,
                         const char *what)
{
  macko_error err = {0};
  ck_assert_msg(!macko_device_add_transpose(d, m, NULL, &err), "%s, %s: %s", a->name, what, err.text);
  on_device on = {d, a->nrows, a->ncols};
  test_check_products_by(p, multiply_on_device, &on, what);
}

static void with_options(const test_matrix *a, const test_products *p, const macko_options *o)
{
  macko_csr c = test_view(a);
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_error err = {0};
  char what[500];
  if (macko_encode(&c, o, &m, NULL)) return; /* the host's suite knows which combinations do not exist */
  macko_info info;
  macko_get_info(m, &info);
  snprintf(what, sizeof what, "%s %s, %d bits, values %s as %s, %s: %s", macko_format_name(info.format),
           macko_layout_name(info.layout), info.delta_bits, macko_values_name(info.values), macko_type_name(info.stored_type),
           macko_type_name(a->type), info.reason);
  macko_status s = macko_to_device(m, NULL, &d, &err);
  ck_assert_msg(s == MACKO_OK || s == MACKO_UNSUPPORTED, "%s, %s: %s", a->name, what, err.text);
  if (s == MACKO_UNSUPPORTED) ck_assert_msg(strstr(err.text, "no GPU kernel") != NULL, "%s", err.text);
  if (!s) check_device(a, p, m, d, what);
  if (!s)
    for (int type = MACKO_F16; type <= MACKO_BF16; type++)
      check_16_bits(a, d, (macko_type)type, 0, what), check_16_bits(a, d, (macko_type)type, 0.5, what);
  macko_device_destroy(&d);
  macko_destroy(&m);
}

static const struct {
  int values;
  macko_type type;
} values_of[] = {{0, MACKO_F64}, {1, MACKO_F64}, {2, MACKO_F64}, {3, MACKO_F64}, {0, MACKO_F32}, {2, MACKO_F32}, {3, MACKO_F32},
                 {0, MACKO_F16}, {2, MACKO_F16}, {0, MACKO_BF16}, {2, MACKO_BF16}, {4, MACKO_F64}, {4, MACKO_F32}, {4,
                     MACKO_BF16}};
enum { KINDS = sizeof values_of / sizeof *values_of };

static void check_matrix(int pattern, int kind, int all_widths)
{
  macko_options o;
  test_matrix a = test_make(pattern, values_of[kind].values, values_of[kind].type);
  test_products *p = test_products_make(&a);
  macko_options_init(&o);
  for (int variant = MACKO_VARIANT_SPLIT; variant <= MACKO_VARIANT_PAPER; variant++) {
    o.format = MACKO_FORMAT_DTANS, o.variant = (macko_variant)variant, o.values = MACKO_VALUES_CODED;
    with_options(&a, p, &o);
  }
  o.variant = MACKO_VARIANT_AUTO;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_JOINT; values++)
      for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++)
        for (int w = 0; w < (all_widths ? (int)(sizeof widths / sizeof *widths) : 1); w++) {
          if (f != MACKO_FORMAT_MACKO && (layout || w)) continue;
          o.format = (macko_format)f, o.values = (macko_values)values, o.layout = (macko_layout)layout, o.delta_bits = widths[w];
          with_options(&a, p, &o);
        }
  test_products_free(p);
  test_free(&a);
}

START_TEST(formats_agree_with_csr)
{
  check_matrix(_i % TEST_PATTERNS, _i / TEST_PATTERNS, 1);
}
END_TEST

enum { FEW = 16 };

/* What a memory checker can get through: every kernel once, on matrices that have every kind of slice and row. */
START_TEST(a_few)
{
  static const int patterns[] = {5, 8, 11, 13};
  static const int kinds[] = {0, 1, 4, 11}; /* the last: stencils */
  check_matrix(patterns[_i % 4], kinds[_i / 4], 0);
}
END_TEST

/* Rows of thousands of entries, as pruned networks have, some of them cut: a warp a row, x in shared memory. */
START_TEST(wide_rows)
{
  enum { ROWS = 12, COLS = 20000 };
  static const int percent[ROWS] = {50, 30, 0, 10, 90, 3, 50, 70, 1, 20, 100, 5};
  static const int kinds[] = {7, 8, 9, 4, 6, 0};
  test_matrix a = {"wide rows", ROWS, COLS, calloc(ROWS + 1, 8), malloc(ROWS * COLS * 8), values_of[kinds[_i]].type,
                   malloc(ROWS * COLS * 8), malloc(ROWS * COLS * 8)};
  test_seed((uint64_t)_i);
  for (int i = 0, count = 0; i < ROWS; a.row_ptr[++i] = count)
    for (int j = 0; j < COLS; j++)
      if ((int)(test_draw() % 100) < percent[i]) a.cols[count++] = j;
  test_fill(&a, values_of[kinds[_i]].values);
  test_products *p = test_products_make(&a);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW;
  for (int w = 0; w < (int)(sizeof widths / sizeof *widths); w++)
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_JOINT; values++) {
      o.delta_bits = widths[w], o.values = (macko_values)values;
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
      o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW, o.delta_bits = bits[b];
      ck_assert_msg(!macko_encode(&c, &o, &m, &err) && !macko_to_device(m, NULL, &d, &err), "%s", err.text);
      check_f32(&a, d, 0, bits[b] == 4 ? "4 bits" : "8 bits"), check_f32(&a, d, 0.5, bits[b] == 4 ? "4 bits" : "8 bits");
      check_16_bits(&a, d, MACKO_F16, 0, "f16 vectors");
      macko_device_destroy(&d), macko_destroy(&m);
    }
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
 * their sums are more than there are threads. */
START_TEST(rows_of_every_length)
{
  enum { ROWS = 270000, COLS = 400000, ROOM = 4000000 };
  static const int longer[] = {600, 993, 1024, 1025, 5000, 300000};
  int64_t *row_ptr = calloc(ROWS + 1, 8), *cols = malloc(ROOM * 8), count = 0;
  double *values = malloc(ROOM * 8);
  test_seed(11);
  for (int64_t i = 0; i < ROWS; i++) {
    int64_t length = i >= 40000 && i < 44000 ? 0 : i % 1000 == 7 ? (int64_t)(test_draw() % 200) : (int64_t)(test_draw() % 21);
    if (i % 45000 == 2) length = longer[i / 45000];
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

/* Enough entries that blocks of threads take several thousand of one row; columns by a power law. Rows of up to 79 entries, empty ones, of 2000 and 5000 as a whole, and in pieces. */
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
  ck_assert_int_eq(macko_to_device(m, NULL, &d, NULL), MACKO_OK);
  check_device(&a, p, m, d, "uneven rows");
  check_16_bits(&a, d, MACKO_F16, 0.5, "uneven rows");
  macko_device_destroy(&d);
  macko_destroy(&m);
  test_products_free(p);
  free(row_ptr), free(cols), free(values);
}
END_TEST

START_TEST(refresh_takes_new_values)
{
  macko_options o;
  test_matrix a = test_make(_i, TEST_VALUES - 1, MACKO_F64);
  macko_options_init(&o);
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int choice = 0; choice <= (int)MACKO_LAYOUT_PAPER; choice++) { /* of a layout, or of a variant of dtans */
      macko_matrix *m = NULL;
      macko_device_matrix *d = NULL;
      macko_error err = {0};
      macko_csr c = test_view(&a);
      if (f == MACKO_FORMAT_CSR && choice) continue;
      o.format = (macko_format)f, o.layout = f == MACKO_FORMAT_MACKO ? (macko_layout)choice : MACKO_LAYOUT_AUTO;
      o.variant = f == MACKO_FORMAT_DTANS ? (macko_variant)choice : MACKO_VARIANT_AUTO;
      test_fill(&a, TEST_VALUES - 1); /* stencils, which the next values end */
      if (macko_encode(&c, &o, &m, NULL)) continue;
      if (macko_to_device(m, NULL, &d, &err)) {
        macko_destroy(&m);
        continue;
      }
      for (int kind = TEST_VALUES - 1; kind >= 0; kind--) {
        test_seed((uint64_t)kind), test_fill(&a, kind);
        test_products *p = test_products_make(&a);
        ck_assert_msg(!macko_refresh(m, &c, &err), "%s: %s", a.name, err.text);
        ck_assert_msg(!macko_device_refresh(d, m, NULL, NULL, &err), "%s: %s", a.name, err.text);
        check_device(&a, p, m, d, "refreshed");
        test_products_free(p);
      }
      macko_device_destroy(&d);
      macko_destroy(&m);
    }
  test_free(&a);
}
END_TEST

static Suite *conformance_suite(void)
{
  Suite *suite = suite_create("cuda_conformance");
  TCase *all = add_case(suite, "all", 0), *large = add_case(suite, "large", 0);
  tcase_add_loop_test(all, formats_agree_with_csr, 0, TEST_PATTERNS * KINDS);
  tcase_add_loop_test(all, refresh_takes_new_values, 0, TEST_PATTERNS);
  tcase_add_loop_test(large, wide_rows, 0, 6);
  tcase_add_test(large, streams_of_rows);
  tcase_add_loop_test(large, lanes_of_several_rows, 0, 3);
  tcase_add_test(large, rows_of_every_length);
  tcase_add_test(large, uneven_rows);
  tcase_add_test(add_case(suite, "uneven", 0), uneven_rows);
  tcase_add_loop_test(add_case(suite, "rows", 0), wide_rows, 0, 1);
  for (int part = 0; part < FEW; part++) /* one matrix each, because a checker takes long */
    tcase_add_loop_test(add_case(suite, "few", part + 1), a_few, part, part + 1);
  return suite;
}

int main(void)
{
  int status = run_cuda_suite(conformance_suite);
  cudaFree(scratch.memory);
  return status;
}
