/* Every format, layout, gap width, value codec and vector type on the GPU, within the error bound of plain CSR. */
#include "conformance.h"
#include "../lib/half_value.h"

#include <cuda_runtime_api.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

macko_status multiply_on_device(const void *matrix, const test_product *q, macko_error *err)
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

uint16_t draw_16_bits(macko_type type)
{
  uint64_t r = test_draw();
  return (uint16_t)((type == MACKO_F16 ? 0x3c00 | (r & 0x3ff) : 0x3f80 | (r & 0x7f)) | (r & 0x1000 ? 0x8000 : 0));
}

void check_16_bits(const test_matrix *a, const macko_device_matrix *d, macko_type type, int64_t k, double beta, const char *what)
{
  int64_t nx = a->ncols * k, ny = a->nrows * k;
  uint16_t *x = malloc((size_t)nx * 2 + 2), *y = malloc((size_t)ny * 2 + 2), *y0 = malloc((size_t)ny * 2 + 2);
  long double largest = type == MACKO_F16 ? 65504 : FLT_MAX, unit = type == MACKO_F16 ? 0x1p-11L : 0x1p-8L;
  long double tiny = type == MACKO_F16 ? 0x1p-24L : 0x1p-133L;
  macko_error err = {0};
  for (int64_t j = 0; j < nx; j++) x[j] = draw_16_bits(type);
  for (int64_t i = 0; i < ny; i++) y[i] = y0[i] = beta == 0 ? 0x7fff : draw_16_bits(type);
  test_product q = {MACKO_OP_N, type, k, 0.75, beta, x, a->ncols, y, a->nrows};
  on_device on = {d, a->nrows, a->ncols};
  ck_assert_msg(!multiply_on_device(&on, &q, &err), "%s, %s: %s", a->name, what, err.text);
  for (int64_t n = 0; n < ny; n++) {
    int64_t i = n % a->nrows, vector = n / a->nrows;
    long double ref = beta == 0 ? 0 : beta * test_half_value(type, y0[n]), size = fabsl(ref);
    for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) {
      long double t = 0.75L * a->exact[p] * test_half_value(type, x[vector * a->ncols + a->cols[p]]);
      ref += t, size += fabsl(t);
    }
    long double nu = (long double)(a->row_ptr[i + 1] - a->row_ptr[i] + 3) * (FLT_EPSILON / 2);
    long double bound = nu / (1 - nu) * size * (1 + unit) + unit * fabsl(ref) + tiny;
    double got = test_half_value(type, y[n]);
    /* Beyond the type's range the result is Inf. */
    if (fabsl(ref) + bound > largest ? isnan(got) : !(fabsl(got - ref) <= bound))
      ck_abort_msg("%s, %s, %s vectors: element %ld of vector %ld is %.9g, not %.9Lg", a->name, what, macko_type_name(type),
                   (long)i, (long)vector, got, ref);
  }
  free(x), free(y), free(y0);
}

/* ---- all of them ---- */

/* Vectors that kernels take together, and one that is left. */
enum { GROUP_AND_ONE = 5 };

void check_device(const test_matrix *a, const test_products *p, const macko_matrix *m, macko_device_matrix *d, const char *what)
{
  macko_error err = {0};
  ck_assert_msg(!macko_device_add_transpose(d, m, NULL, &err), "%s, %s: %s", a->name, what, err.text);
  on_device on = {d, a->nrows, a->ncols};
  test_check_products_by(p, multiply_on_device, &on, what);
}

void with_options(const test_matrix *a, const test_products *p, const macko_options *o)
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
           macko_layout_name(info.layout), info.gap_bits, macko_values_name(info.values), macko_type_name(info.stored_type),
           macko_type_name(a->type), info.reason);
  macko_status s = macko_device_upload(m, NULL, &d, &err);
  ck_assert_msg(s == MACKO_OK || s == MACKO_UNSUPPORTED, "%s, %s: %s", a->name, what, err.text);
  if (s == MACKO_UNSUPPORTED) ck_assert_msg(strstr(err.text, "no GPU kernel") != NULL, "%s", err.text);
  if (!s) check_device(a, p, m, d, what);
  if (!s)
    for (int type = MACKO_F16; type <= MACKO_BF16; type++)
      check_16_bits(a, d, (macko_type)type, 1, 0, what), check_16_bits(a, d, (macko_type)type, GROUP_AND_ONE, 0.5, what);
  macko_device_destroy(&d);
  macko_destroy(&m);
}

/* Variants of format eccsr that have bundles. A crew is of as many lanes as planning takes. */
static void check_bundles(const test_matrix *a, const test_products *p, int all_widths)
{
  static const macko_variant variants[] = {MACKO_VARIANT_SHARED, MACKO_VARIANT_PAPER};
  static const int widths[] = {0, 4, 8, 16};
  for (int v = 0; v < 2; v++)
    for (int w = 0; w < (all_widths ? 4 : 1); w++)
      for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_DICT; values++) {
        macko_options o;
        macko_options_init(&o);
        o.format = MACKO_FORMAT_ECCSR, o.variant = variants[v], o.gap_bits = widths[w], o.values = (macko_values)values;
        with_options(a, p, &o);
      }
}

static void check_matrix(int pattern, int kind, int all_widths)
{
  macko_options o;
  test_matrix a = test_make(pattern, test_kinds[kind].values, test_kinds[kind].type);
  test_products *p = test_products_make(&a);
  macko_options_init(&o);
  for (int variant = MACKO_VARIANT_SPLIT; variant <= MACKO_VARIANT_PAPER; variant++) {
    o.format = MACKO_FORMAT_DTANS, o.variant = (macko_variant)variant, o.values = MACKO_VALUES_CODED;
    with_options(&a, p, &o);
  }
  o.variant = MACKO_VARIANT_AUTO;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_PAIRS; values++)
      for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++)
        for (int w = 0; w < (all_widths ? TEST_WIDTHS : 1); w++) {
          if (f != MACKO_FORMAT_MACKO && (layout || w)) continue;
          o.format = (macko_format)f, o.values = (macko_values)values, o.layout = (macko_layout)layout;
          o.gap_bits = test_widths[w];
          with_options(&a, p, &o);
        }
  check_bundles(&a, p, all_widths);
  test_products_free(p);
  test_free(&a);
}

START_TEST(formats_agree_with_csr)
{
  check_matrix(_i % TEST_PATTERNS, _i / TEST_PATTERNS, 1);
}
END_TEST

enum { ALL = 12, FEW = 16 };

/* What a memory checker can get through: every kernel once, on matrices that have every kind of slice and row. */
START_TEST(a_few)
{
  static const int patterns[] = {5, 8, 11, 13};
  static const int kinds[] = {0, 1, 4, 11}; /* the last: stencils */
  check_matrix(patterns[_i % 4], kinds[_i / 4], 0);
}
END_TEST

START_TEST(refresh_takes_new_values)
{
  macko_options o;
  test_matrix a = test_make(_i, TEST_VALUES - 1, MACKO_F64);
  macko_options_init(&o);
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int choice = 0; choice <= (int)MACKO_LAYOUT_PAPER; choice++) { /* of a layout, or of a variant of dtans or eccsr */
      macko_matrix *m = NULL;
      macko_device_matrix *d = NULL;
      macko_error err = {0};
      macko_csr c = test_view(&a);
      if (f == MACKO_FORMAT_CSR && choice) continue;
      o.format = (macko_format)f, o.layout = f == MACKO_FORMAT_MACKO ? (macko_layout)choice : MACKO_LAYOUT_AUTO;
      o.variant = f == MACKO_FORMAT_DTANS || f == MACKO_FORMAT_ECCSR ? (macko_variant)choice : MACKO_VARIANT_AUTO;
      if (f == MACKO_FORMAT_ECCSR && choice == MACKO_VARIANT_JOINT) o.variant = MACKO_VARIANT_SHARED;
      test_fill(&a, TEST_VALUES - 1); /* stencils, which the next values end */
      if (macko_encode(&c, &o, &m, NULL)) continue;
      if (macko_device_upload(m, NULL, &d, &err)) {
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
  for (int part = 0; part < ALL; part++) { /* which run side by side, as the host takes longer than the device */
    const int products = TEST_PATTERNS * TEST_COMBINATIONS;
    TCase *all = add_case(suite, "all", part + 1);
    tcase_add_loop_test(all, formats_agree_with_csr, products * part / ALL, products * (part + 1) / ALL);
    tcase_add_loop_test(all, refresh_takes_new_values, TEST_PATTERNS * part / ALL, TEST_PATTERNS * (part + 1) / ALL);
  }
  add_large_cases(suite), add_coupled_cases(suite), add_group_cases(suite), add_stencil_cases(suite);
  add_tile_cases(suite);
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
