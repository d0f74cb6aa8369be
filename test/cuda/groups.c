/* Of the suite cuda_conformance: several vectors with format csr have the bits of one, whatever they are multiplied together with,
 * and however they lie. */
#include "conformance.h"
#include "core/cost.h"

#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 200000, ROOM = 4000000, MOST = 13 };

/* How columns lie: each of a row near the one before, or anywhere. */
enum { NEAR, ANYWHERE, PLACES };

/* Gives a matrix of rows of 0 to 23 entries, of some that lanes hand over to their warp, and of some in pieces. */
static test_matrix make(int place, macko_type type)
{
  test_matrix a = {"groups", ROWS, ROWS, calloc(ROWS + 1, 8), malloc(ROOM * 8), type, malloc(ROOM * 8), malloc(ROOM * 8)};
  int64_t count = 0;
  for (int64_t i = 0; i < ROWS; a.row_ptr[++i] = count) {
    const int64_t length = i % 20000 == 9 ? 30000 : i % 1000 == 7 ? 400 : (int64_t)(test_draw() % 24);
    const int64_t gap = place == NEAR ? 2 : (ROWS - 1) / (length + 1), start = place == NEAR && i + 1000 < ROWS ? i : 0;
    for (int64_t k = 0; k < length && start + (k + 1) * gap < ROWS; k++)
      a.cols[count++] = start + k * gap + (int64_t)(test_draw() % (uint64_t)gap);
  }
  test_fill(&a, 0);
  return a;
}

/* Fills n elements with numbers that every type of vectors holds. */
static void fill(macko_type type, void *v, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    const float number = (float)((int)(test_draw() % 255) - 127) * 0x1p-6f; /* exact in bf16 and in f16 */
    uint32_t bits;
    memcpy(&bits, &number, 4);
    const uint32_t half = number == 0 ? 0 : (bits >> 16 & 0x8000) | (((bits >> 23 & 0xff) - 112) << 10 | (bits >> 13 & 0x3ff));
    if (type == MACKO_F64) ((double *)v)[i] = number + 0x1p-40 * (double)test_draw();
    else if (type == MACKO_F32) ((float *)v)[i] = number + 0x1p-50f * (float)test_draw();
    else ((uint16_t *)v)[i] = (uint16_t)(type == MACKO_F16 ? half : bits >> 16);
  }
}

/* Vectors of a type: x, y before a product and y of it on the device; what each y is to be, and room, on the host. */
typedef struct {
  macko_type type;
  char *x, *y0, *y, *want, *got;
} vectors;

/* Sets y to those of vectors first .. first + k - 1. */
static void multiply(const macko_device_matrix *d, const vectors *v, int64_t first, int64_t k)
{
  const int64_t at = first * ROWS * macko_type_bytes(v->type);
  macko_error err = {0};
  ck_assert_msg(!macko_device_multiply(d, MACKO_OP_N, v->type, k, 0.75, v->x + at, ROWS, 0.5, v->y + at, ROWS, NULL, &err), "%s",
                err.text);
}

/* Does so for some numbers of vectors of a type, and fails unless y is what each vector gives by itself. */
static void check_type(const macko_device_matrix *d, macko_type type)
{
  static const int64_t counts[] = {2, 4, 7, 8, MOST};
  const size_t vector = (size_t)(ROWS * macko_type_bytes(type)), bytes = MOST * vector;
  vectors v = {.type = type, .want = malloc(bytes), .got = malloc(bytes)};
  ck_assert(!cudaMalloc((void **)&v.x, bytes) && !cudaMalloc((void **)&v.y, bytes) && !cudaMalloc((void **)&v.y0, bytes));
  fill(type, v.got, MOST * ROWS), cudaMemcpy(v.x, v.got, bytes, cudaMemcpyHostToDevice);
  fill(type, v.got, MOST * ROWS), cudaMemcpy(v.y0, v.got, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(v.y, v.y0, bytes, cudaMemcpyDeviceToDevice);
  for (int64_t j = 0; j < MOST; j++) multiply(d, &v, j, 1);
  cudaMemcpy(v.want, v.y, bytes, cudaMemcpyDeviceToHost);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    cudaMemcpy(v.y, v.y0, bytes, cudaMemcpyDeviceToDevice);
    multiply(d, &v, 0, counts[i]);
    ck_assert_int_eq(cudaMemcpy(v.got, v.y, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    ck_assert_msg(!memcmp(v.want, v.got, (size_t)counts[i] * vector), "%d vectors of %s have other bits than one by one",
                  (int)counts[i], macko_type_name(type));
  }
  cudaFree(v.x), cudaFree(v.y), cudaFree(v.y0);
  free(v.want), free(v.got);
}

START_TEST(several_have_the_bits_of_one)
{
  static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};
  test_seed((uint64_t)_i + 1);
  test_matrix a = make(_i / 4, types[_i % 4]);
  const macko_csr csr = test_view(&a);
  macko_options o;
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR, o.target = MACKO_TARGET_GPU;
  ck_assert_int_eq(macko_encode(&csr, &o, &m, NULL), MACKO_OK);
  ck_assert_int_eq(macko_device_upload(m, NULL, &d, NULL), MACKO_OK);
  ck_assert_int_eq(macko_sectors_of_entry(m) > 0.5, _i / 4 == ANYWHERE);
  for (int type = 0; type < 4; type++) check_type(d, types[type]);
  macko_device_destroy(&d);
  macko_destroy(&m);
  test_free(&a);
}
END_TEST

void add_group_cases(Suite *suite)
{
  tcase_add_loop_test(add_case(suite, "groups", 0), several_have_the_bits_of_one, 0, 4 * PLACES);
}
