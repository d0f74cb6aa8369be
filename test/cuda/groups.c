/* Of the suite cuda_conformance: several vectors have the bits of one, whatever they are multiplied together with, and however they
 * lie. */
#include "conformance.h"
#include "core/cost.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 4000000, MOST = 13 };

/* How columns lie: each of a row near the one before, or anywhere. */
enum { NEAR, ANYWHERE, PLACES };

/* Gives a matrix of n rows of 0 to 23 entries, and where they are uneven of some that lanes hand over to their warp, and of some in
 * pieces. */
static test_matrix make(int64_t n, int place, int uneven, macko_type type)
{
  test_matrix a = {"groups", n, n, calloc((size_t)n + 1, 8), malloc(ROOM * 8), type, malloc(ROOM * 8), malloc(ROOM * 8)};
  int64_t count = 0;
  for (int64_t i = 0; i < n; a.row_ptr[++i] = count) {
    const int64_t some = (int64_t)(test_draw() % 24);
    const int64_t length = uneven && i % 20000 == 9 ? 30000 : uneven && i % 1000 == 7 ? 400 : some;
    const int64_t gap = place == NEAR ? 2 : (n - 1) / (length + 1), start = place == NEAR && i + 1000 < n ? i : 0;
    for (int64_t k = 0; k < length && start + (k + 1) * gap < n; k++)
      a.cols[count++] = start + k * gap + (int64_t)(test_draw() % (uint64_t)gap);
  }
  test_fill(&a, 0);
  return a;
}

/* Fills n elements of a vector. */
static void fill(macko_type type, void *v, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    const double number = (double)test_draw() * 0x1p-30 - 1;
    if (type == MACKO_F64) ((double *)v)[i] = number;
    else if (type == MACKO_F32) ((float *)v)[i] = (float)number;
    else ((uint16_t *)v)[i] = draw_16_bits(type);
  }
}

/* Vectors of a type, of n elements: x, y before a product and y of it on the device; on the host what each y is to be, and room. */
typedef struct {
  macko_type type;
  int64_t n;
  char *x, *y0, *y, *want, *got;
} vectors;

/* Sets y to those of vectors first .. first + k - 1. */
static void multiply(const macko_device_matrix *d, const vectors *v, int64_t first, int64_t k)
{
  const int64_t at = first * v->n * macko_type_bytes(v->type);
  macko_error err = {0};
  ck_assert_msg(!macko_device_multiply(d, MACKO_OP_N, v->type, k, 0.75, v->x + at, v->n, 0.5, v->y + at, v->n, NULL, &err), "%s",
                err.text);
}

/* Does so for some numbers of vectors of a type, and fails unless y is what each vector gives by itself. */
static void check_type(const macko_device_matrix *d, int64_t n, macko_type type, const char *form)
{
  static const int64_t counts[] = {2, 4, 7, 8, MOST};
  const size_t vector = (size_t)(n * macko_type_bytes(type)), bytes = MOST * vector;
  vectors v = {.type = type, .n = n, .want = malloc(bytes), .got = malloc(bytes)};
  ck_assert(!cudaMalloc((void **)&v.x, bytes) && !cudaMalloc((void **)&v.y, bytes) && !cudaMalloc((void **)&v.y0, bytes));
  fill(type, v.got, MOST * n), cudaMemcpy(v.x, v.got, bytes, cudaMemcpyHostToDevice);
  fill(type, v.got, MOST * n), cudaMemcpy(v.y0, v.got, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(v.y, v.y0, bytes, cudaMemcpyDeviceToDevice);
  for (int64_t j = 0; j < MOST; j++) multiply(d, &v, j, 1);
  cudaMemcpy(v.want, v.y, bytes, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    cudaMemcpy(v.y, v.y0, bytes, cudaMemcpyDeviceToDevice);
    multiply(d, &v, 0, counts[i]);
    ck_assert_int_eq(cudaMemcpy(v.got, v.y, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    ck_assert_msg(!memcmp(v.want, v.got, (size_t)counts[i] * vector), "%s: %d vectors of %s have other bits than one by one", form,
                  (int)counts[i], macko_type_name(type));
  }
  cudaFree(v.x), cudaFree(v.y), cudaFree(v.y0);
  free(v.want), free(v.got);
}

/* Checks all types of vectors with one form of a matrix; csr's plan says how columns lie. */
static void check_form(const test_matrix *a, macko_format format, macko_layout layout, int anywhere)
{
  const macko_csr csr = test_view(a);
  macko_options o;
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  char form[100];
  macko_options_init(&o);
  o.format = format, o.layout = layout, o.target = MACKO_TARGET_GPU;
  ck_assert_int_eq(macko_encode(&csr, &o, &m, NULL), MACKO_OK);
  ck_assert_int_eq(macko_device_upload(m, NULL, &d, NULL), MACKO_OK);
  if (format == MACKO_FORMAT_CSR) ck_assert_int_eq(macko_sectors_of_entry(m) > 0.5, anywhere);
  snprintf(form, sizeof form, "%s %s, %d rows", macko_format_name(format), macko_layout_name(layout), (int)a->nrows);
  for (int type = MACKO_F64; type <= MACKO_BF16; type++) check_type(d, a->nrows, (macko_type)type, form);
  macko_device_destroy(&d);
  macko_destroy(&m);
}

/* Of few rows slices are shared by several warps. */
START_TEST(several_have_the_bits_of_one)
{
  enum { UNEVEN, EVEN, FEW, SHAPES };
  static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};
  const int place = _i / 4;
  test_seed((uint64_t)_i + 1);
  for (int shape = UNEVEN; shape < SHAPES; shape++) {
    test_matrix a = make(shape == FEW ? 20000 : 200000, place, shape == UNEVEN, types[_i % 4]);
    if (shape != FEW) check_form(&a, MACKO_FORMAT_CSR, MACKO_LAYOUT_AUTO, place == ANYWHERE);
    check_form(&a, MACKO_FORMAT_MACKO, MACKO_LAYOUT_ROW, 0);
    if (shape != UNEVEN) check_form(&a, MACKO_FORMAT_MACKO, MACKO_LAYOUT_SLICE, 0);
    check_form(&a, MACKO_FORMAT_ECCSR, MACKO_LAYOUT_AUTO, 0);
    check_form(&a, MACKO_FORMAT_DTANS, MACKO_LAYOUT_AUTO, 0);
    test_free(&a);
  }
}
END_TEST

void add_group_cases(Suite *suite)
{
  tcase_add_loop_test(add_case(suite, "groups", 0), several_have_the_bits_of_one, 0, 4 * PLACES);
}
