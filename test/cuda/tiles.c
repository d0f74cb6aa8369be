/* Of the suite cuda_conformance: weights of 16 bits in layout row with so many vectors that their rows are multiplied with zeros,
 * in tiles. A zero must not meet elements of x that are not finite. */
#include "conformance.h"
#include "../lib/half_value.h"

#include <cuda_runtime_api.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* How the columns of a row lie. */
enum { EVENLY, FAR_APART, LONG_GAPS, UNEVENLY, PLACES };
enum { ROWS = 39, MOST_COLS = 9000 };

/* Gives the next column after `col` in a row. Gaps beyond 16 and 256 are what codes of 4 and of 8 bits do not hold. */
static int64_t next_column(int place, int64_t row, int64_t col)
{
  const int64_t draw = (int64_t)test_draw();
  if (place == EVENLY) return col + 1 + draw % 5;
  if (place == FAR_APART) return col + 17 + draw % 13;
  if (place == LONG_GAPS) return col + (draw % 40 ? 1 + draw % 3 : 200 + draw % 400);
  return row % 5 == 0 ? MOST_COLS : row % 5 == 1 && col >= 0 ? MOST_COLS : col + 1 + draw % 3;
}

static test_matrix make(int place, int64_t ncols, macko_type type)
{
  test_matrix a = {"tiles", ROWS, ncols, calloc(ROWS + 1, 8), malloc(ROWS * MOST_COLS * 8), type, malloc(ROWS * MOST_COLS * 8),
                   malloc(ROWS * MOST_COLS * 8)};
  int64_t count = 0;
  for (int64_t i = 0; i < ROWS; a.row_ptr[++i] = count)
    for (int64_t col = next_column(place, i, -1); col < ncols; col = next_column(place, i, col)) a.cols[count++] = col;
  test_fill(&a, 0);
  return a;
}

/* Says whether an element of y is what it is to be: the reference to within rounding, or no more finite than that. */
static int agrees(double got, long double want, long double size, int64_t entries, macko_type type)
{
  const long double unit = type == MACKO_F16 ? 0x1p-11L : 0x1p-8L, tiny = type == MACKO_F16 ? 0x1p-24L : 0x1p-133L;
  const long double nu = (long double)(entries + 3) * (FLT_EPSILON / 2);
  if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
  if (isinf(want) || isinf(got)) return (double)want == got;
  return fabsl(got - want) <= nu / (1 - nu) * size * (1 + unit) + unit * fabsl(want) + tiny;
}

/* Multiplies by k vectors, ldx elements apart, and fails unless each element of y agrees; odd: some elements of x are not
 * finite. */
static void check(const test_matrix *a, const macko_device_matrix *d, int64_t k, int64_t ldx, int odd)
{
  const uint16_t inf = a->type == MACKO_F16 ? 0x7c00 : 0x7f80;
  const double beta = odd ? 0 : 0.5;
  uint16_t *x = malloc((size_t)(k * ldx) * 2), *y = malloc((size_t)(k * ROWS) * 2), *y0 = malloc((size_t)(k * ROWS) * 2);
  macko_error err = {0};
  for (int64_t j = 0; j < k * ldx; j++) x[j] = j % ldx < a->ncols ? draw_16_bits(a->type) : 0x7fff; /* NaN between vectors */
  for (int64_t i = 0; i < k * ROWS; i++) y[i] = y0[i] = beta == 0 ? 0x7fff : draw_16_bits(a->type);
  for (int64_t j = 0; odd && j < k; j += 2) x[j * ldx + (j * 997 + 5) % a->ncols] = (uint16_t)(j % 6 == 4 ? inf + 1 : inf);
  test_product q = {MACKO_OP_N, a->type, k, 0.75, beta, x, ldx, y, ROWS};
  on_device on = {d, ROWS, a->ncols};
  ck_assert_msg(!multiply_on_device(&on, &q, &err), "%s", err.text);
  for (int64_t n = 0; n < k * ROWS; n++) {
    const int64_t i = n % ROWS, vector = n / ROWS;
    long double want = beta == 0 ? 0 : beta * test_half_value(a->type, y0[n]), size = fabsl(want);
    for (int64_t p = a->row_ptr[i]; p < a->row_ptr[i + 1]; p++) {
      const long double t = 0.75L * a->exact[p] * test_half_value(a->type, x[vector * ldx + a->cols[p]]);
      want += t, size += fabsl(t);
    }
    const double got = test_half_value(a->type, y[n]);
    if (!agrees(got, want, size, a->row_ptr[i + 1] - a->row_ptr[i], a->type))
      ck_abort_msg("row %d of vector %d of %d is %g instead of %Lg", (int)i, (int)vector, (int)k, got, want);
  }
  free(x), free(y), free(y0);
}

/* Leaves memory for the next matrix in which all bits are set, as far as the driver takes what was freed: what kernels read behind
 * the last row is not the matrix's. */
static void poison(void)
{
  enum { BYTES = 4 << 20 };
  void *memory;
  ck_assert(!cudaMalloc(&memory, BYTES) && !cudaMemset(memory, 0xff, BYTES) && !cudaFree(memory));
}

/* Vectors that begin where copies of 16 bytes can, and others; columns that fill the last tile, and that do not. */
START_TEST(rows_with_zeros)
{
  static const int64_t counts[] = {3, 8, 13, 32, 37}, cols[] = {1024, 5120, 3001, MOST_COLS - 4};
  const macko_type type = _i % 2 ? MACKO_BF16 : MACKO_F16;
  test_seed((uint64_t)_i + 1);
  for (int n = 0; n < 4; n++)
    for (int bits = 4; bits <= 8; bits += 4) {
      test_matrix a = make(_i / 2, cols[n], type);
      const macko_csr csr = test_view(&a);
      macko_options o;
      macko_matrix *m = NULL;
      macko_device_matrix *d = NULL;
      macko_options_init(&o);
      o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW, o.gap_bits = bits, o.values = MACKO_VALUES_RAW;
      o.target = MACKO_TARGET_GPU;
      ck_assert_int_eq(macko_encode(&csr, &o, &m, NULL), MACKO_OK);
      poison();
      ck_assert_int_eq(macko_device_upload(m, NULL, &d, NULL), MACKO_OK);
      for (int odd = 0; odd < 2; odd++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) check(&a, d, counts[k], (cols[n] + 7) / 8 * 8, odd);
        check(&a, d, counts[0], cols[n] + 1, odd);
      }
      macko_device_destroy(&d);
      macko_destroy(&m);
      test_free(&a);
    }
}
END_TEST

void add_tile_cases(Suite *suite)
{
  tcase_add_loop_test(add_case(suite, "tiles", 0), rows_with_zeros, 0, 2 * PLACES);
}
