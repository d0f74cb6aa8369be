/* Of the suite cuda_conformance: slices that are stencils or masked, of few different entries and of many, alone and among others.
 * All numbers are small integers, so that every sum is exact and compares as it is. */
#include "conformance.h"
#include "../lib/manual.h"
#include "core/convert.h"
#include "macko/layout_bits.h"
#include "macko/params.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 70001, WIDEST = 3000, MOST = 60, VECTORS = 6 };

/* How rows differ: hardly, so that few blocks occur; by the row, so that each slice has a block of its own; in the values of the
 * lower half, and at its border; and as the first of these with slices of any values in between. Half of
 * the slices of ANY_VALUES are masked for a CPU. */
typedef enum { ALIKE, EACH_ITS_OWN, HALVES, AMONG_OTHERS, KINDS, ANY_VALUES = KINDS } kind;

/* Says whether row i has the entry number e. */
static int has(kind k, int64_t i, int e)
{
  if (k == ANY_VALUES) return e == 0 || i % 64 != e; /* row 0 of 64 and the last few have all */
  return k == EACH_ITS_OWN ? (i * 2654435761u >> 7 ^ (uint64_t)e * 40503) % 7 != 0 : (i / 997 + e) % 5 != 0;
}

/* Gives its value. */
static double value(kind k, int64_t i, int e)
{
  if (k == ANY_VALUES || (k == AMONG_OTHERS && i / 32 % 3 == 0)) return (double)((i + e) % 7 - 3);
  return (e % 4 + 1) * (k == HALVES && i > N / 2 ? -1 : 1);
}

/* Puts n numbers into an array of a type, all of which it holds but bf16, where sums are rounded. */
static void put(macko_type type, void *array, const double *numbers, int64_t n)
{
  if (type == MACKO_F64) memcpy(array, numbers, (size_t)n * sizeof *numbers);
  else for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = macko_convert(MACKO_F64, type, numbers, i);
    memcpy((char *)array + i * macko_type_bytes(type), &bits, (size_t)macko_type_bytes(type));
  }
}

/* Gives a matrix of rows of up to so many entries. */
static test_matrix make(kind k, int entries, macko_type type)
{
  test_matrix a = {"stencils", N, N, calloc(N + 1, 8), malloc((size_t)N * MOST * 8), type, malloc((size_t)N * MOST * 8),
                   malloc((size_t)N * MOST * 8)};
  int64_t count = 0;
  for (int64_t i = 0; i < N; a.row_ptr[++i] = count)
    for (int e = 0; e < entries; e++) {
      const int64_t col = i + e * (2 * WIDEST / entries) - WIDEST + e % 3;
      if (col >= 0 && col < N && has(k, i, e)) a.cols[count] = col, a.exact[count++] = value(k, i, e);
    }
  put(type, a.values, a.exact, count);
  return a;
}

/* Multiplies VECTORS vectors of a type, together and one by one, and compares with sums in f64. */
static void compare(const test_matrix *a, const macko_device_matrix *d, macko_type type, const char *what)
{
  const size_t vector = (size_t)(N * macko_type_bytes(type)), bytes = VECTORS * vector;
  double *x = malloc(VECTORS * N * sizeof *x), *y = calloc(VECTORS * N, sizeof *y);
  char *want = malloc(bytes), *got = malloc(bytes), *dx, *dy;
  macko_error err = {0};
  ck_assert(!cudaMalloc((void **)&dx, bytes) && !cudaMalloc((void **)&dy, bytes));
  for (int64_t i = 0; i < VECTORS * N; i++) x[i] = (double)(i * 7919 % 1013 % 9 - 4);
  for (int64_t j = 0; j < VECTORS; j++)
    for (int64_t i = 0; i < N; i++)
      for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) y[j * N + i] += a->exact[p] * x[j * N + a->cols[p]];
  put(type, got, x, VECTORS * N), put(type, want, y, VECTORS * N);
  cudaMemcpy(dx, got, bytes, cudaMemcpyHostToDevice);
  for (int64_t k = VECTORS; k > 0; k -= VECTORS - 1) {
    cudaMemset(dy, 0xff, bytes);
    for (int64_t j = 0; j < VECTORS; j += k)
      ck_assert_msg(!macko_device_multiply(d, MACKO_OP_N, type, k, 1, dx + j * vector, N, 0, dy + j * vector, N, NULL, &err),
                    "%s: %s", what, err.text);
    ck_assert_int_eq(cudaMemcpy(got, dy, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    for (int64_t i = 0, size = macko_type_bytes(type); i < VECTORS * N; i++)
      ck_assert_msg(!memcmp(got + i * size, want + i * size, (size_t)size), "%s, %d vectors of %s: row %d of vector %d is not %g",
                    what, (int)k, macko_type_name(type), (int)(i % N), (int)(i / N), y[i]);
  }
  cudaFree(dx), cudaFree(dy);
  free(x), free(y), free(want), free(got);
}

/* Stores a matrix as slices of plain values. */
static macko_matrix *encode(const macko_csr *csr, const char *what)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE, o.values = MACKO_VALUES_RAW;
  ck_assert_msg(!macko_encode(csr, &o, &m, &err), "%s: %s", what, err.text);
  return m;
}

/* Three entries, as many as a word of masks has bits, one more, and almost twice as many, of HALVES almost as many as a kernel is
 * given by value. */
START_TEST(stencils_multiply)
{
  static const int entries[] = {3, 32, 33, MOST};
  static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};
  const kind k = (kind)(_i / 4);
  const int e = entries[_i % 4];
  for (int t = 0; t < 4; t++) {
    macko_device_matrix *d = NULL;
    macko_error err = {0};
    char what[80];
    test_matrix a = make(k, e, types[t]);
    const macko_csr csr = test_view(&a);
    int moved = -1;
    snprintf(what, sizeof what, "kind %d, %d entries of %s", (int)k, e, macko_type_name(types[t]));
    macko_matrix *m = encode(&csr, what);
    ck_assert_msg(macko_params_of(&m->plan)->slice.stencils > N / 32 / 2, "%s: few stencils", what);
    ck_assert_msg(!macko_device_upload(m, NULL, &d, &err), "%s: %s", what, err.text);
    for (int v = 0; v < 4; v++) compare(&a, d, types[v], what);
    /* The same values again, then others, which graphs would not see where kernels are given them by value. */
    ck_assert(!macko_refresh(m, &csr, &err) && !macko_device_refresh(d, m, NULL, &moved, &err));
    ck_assert_int_eq(moved, 0);
    for (int64_t p = 0; p < a.row_ptr[N]; p++) a.exact[p] *= -1;
    put(a.type, a.values, a.exact, a.row_ptr[N]);
    ck_assert(!macko_refresh(m, &csr, &err) && !macko_device_refresh(d, m, NULL, &moved, &err));
    ck_assert_int_eq(moved, k != HALVES);
    compare(&a, d, MACKO_F64, what);
    macko_device_destroy(&d);
    macko_destroy(&m);
    test_free(&a);
  }
}
END_TEST

/* Masked slices of values of each type and of codes, of which no product asks the GPU for a plan: they were encoded for a CPU. */
START_TEST(masked_slices_multiply)
{
  static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};
  for (int t = 0; t < 4; t++)
    for (int codes = 0; codes < 2; codes++) {
      macko_device_matrix *d = NULL;
      macko_options o;
      macko_error err = {0};
      test_matrix a = make(ANY_VALUES, _i ? MOST : 5, types[t]);
      const macko_csr csr = test_view(&a);
      macko_matrix *m = NULL;
      macko_options_init(&o);
      o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE, o.values = codes ? MACKO_VALUES_DICT : MACKO_VALUES_RAW;
      ck_assert_msg(!macko_encode(&csr, &o, &m, &err), "%s", err.text);
      ck_assert_int_gt(macko_params_of(&m->plan)->slice.masked, N / 32 / 20);
      ck_assert_msg(!macko_device_upload(m, NULL, &d, &err), "%s", err.text);
      for (int v = 0; v < 4; v++) compare(&a, d, types[v], codes ? "masked, codes" : "masked");
      macko_device_destroy(&d);
      macko_destroy(&m);
      test_free(&a);
    }
}
END_TEST

/* Takes the last step from every third slice of a matrix that is encoded, whose block begins like that of others from then on, as
 * files of others may have it, and the entries from the matrix that products are compared with. */
static void shorten(macko_matrix *m, test_matrix *a)
{
  uint32_t *headers = test_section(m, "slices")->data;
  const uint32_t *blocks = test_section(m, "blocks")->data;
  for (int64_t slice = 0; slice < (N + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS; slice += 3) {
    macko_slice s = macko_slice_at(headers, slice);
    if (!s.stencil || s.steps < 2) continue;
    const macko_stencil_step last = macko_stencil_at(&s, blocks, --s.steps);
    macko_put_slice(&s, headers + slice * MACKO_SLICE_WORDS);
    for (int64_t i = s.base; i < N && i < s.base + MACKO_SLICE_ROWS; i++)
      for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++)
        if (a->cols[p] == i + last.distance) a->exact[p] = 0;
  }
}

START_TEST(stencils_share_steps)
{
  static const int entries[] = {3, MOST};
  const kind k = _i / 2 ? EACH_ITS_OWN : ALIKE;
  const char *what = k ? "shared steps, blocks of their own" : "shared steps";
  macko_device_matrix *d = NULL;
  macko_error err = {0};
  test_matrix a = make(k, entries[_i % 2], MACKO_F64);
  const macko_csr csr = test_view(&a);
  macko_matrix *m = encode(&csr, what);
  shorten(m, &a);
  ck_assert_msg(!macko_device_upload(m, NULL, &d, &err), "%s", err.text);
  compare(&a, d, MACKO_F64, what);
  macko_device_destroy(&d);
  macko_destroy(&m);
  test_free(&a);
}
END_TEST

void add_stencil_cases(Suite *suite)
{
  TCase *tc = add_case(suite, "stencils", 0);
  tcase_add_loop_test(tc, stencils_multiply, 0, 4 * KINDS);
  tcase_add_loop_test(tc, stencils_share_steps, 0, 4);
  tcase_add_loop_test(tc, masked_slices_multiply, 0, 2);
}
