/* Every format must give back the matrix bit for bit and multiply within the error bound of plain CSR. */
#include "macko.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int64_t nrows, ncols, *row_ptr, *cols;
  double *values;
} matrix;

static uint64_t seed;

static uint64_t draw(void)
{
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return seed >> 33;
}

/* Sorted rows with about per_row entries, among them explicit zeros, -0.0, NaN payloads, denormals and empty rows. */
static matrix random_matrix(int64_t nrows, int64_t ncols, int64_t per_row)
{
  matrix a = {nrows, ncols, calloc((size_t)nrows + 1, 8), calloc((size_t)(nrows * ncols) + 1, 8),
              calloc((size_t)(nrows * ncols) + 1, 8)};
  int64_t n = 0;
  for (int64_t i = 0; i < nrows; i++) {
    for (int64_t j = 0; j < ncols && i % 7 != 3; j++) {
      if ((int64_t)(draw() % (uint64_t)ncols) >= per_row) continue;
      a.cols[n] = j;
      a.values[n++] = draw() % 9 == 0 ? 0.0 : draw() % 9 == 0 ? -0.0 : draw() % 50 == 0 ? DBL_MIN / 4 : (double)draw() / 1e9 - 1;
    }
    a.row_ptr[i + 1] = n;
  }
  return a;
}

static void release(matrix *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

static macko_csr view(const matrix *a)
{
  return (macko_csr){a->nrows, a->ncols, MACKO_I64, MACKO_I64, MACKO_F64, a->row_ptr, a->cols, a->values};
}

static macko_matrix *encode(const matrix *a, int format)
{
  macko_options o;
  macko_error err;
  macko_matrix *m = NULL;
  macko_csr c = view(a);
  macko_options_init(&o);
  o.format = (macko_format)format;
  ck_assert_msg(macko_encode(&c, &o, &m, &err) == MACKO_OK, "%s", err.text);
  return m;
}

static const int64_t shapes[][3] = {{0, 0, 0}, {0, 5, 1}, {5, 0, 0}, {1, 40, 20}, {40, 1, 1}, {33, 65, 4}, {100, 100, 60}, {64, 300, 1}};
enum { SHAPES = sizeof shapes / sizeof *shapes, CASES = SHAPES * (MACKO_FORMAT_AUTO + 1) };

static matrix case_matrix(int i)
{
  const int64_t *s = shapes[i % SHAPES];
  seed = (uint64_t)i + 1;
  return random_matrix(s[0], s[1], s[2]);
}

START_TEST(decode_is_bit_exact)
{
  matrix a = case_matrix(_i);
  if (a.row_ptr[a.nrows] > 2) memcpy(a.values, &(uint64_t){0x7ff8dead0000beefu}, 8);
  macko_matrix *m = encode(&a, _i / SHAPES);
  int64_t nnz = a.row_ptr[a.nrows];
  int64_t *row_ptr = malloc((size_t)(a.nrows + 1) * 8), *cols = malloc((size_t)nnz * 8 + 8);
  double *values = malloc((size_t)nnz * 8 + 8);
  macko_info info;
  macko_get_info(m, &info);
  ck_assert_int_eq(info.nnz, nnz);
  ck_assert_int_eq(macko_decode(m, row_ptr, cols, values, NULL), MACKO_OK);
  ck_assert(!memcmp(row_ptr, a.row_ptr, (size_t)(a.nrows + 1) * 8));
  ck_assert(!memcmp(cols, a.cols, (size_t)nnz * 8));
  ck_assert(!memcmp(values, a.values, (size_t)nnz * 8));
  free(row_ptr), free(cols), free(values);
  macko_destroy(&m);
  ck_assert_ptr_null(m);
  release(&a);
}
END_TEST

/* |y - y_ref| <= gamma(terms + 3) * (|alpha| |op(A)| |x| + |beta| |y0|), row by row, the reference in long double. */
static void check_multiply(const matrix *a, const macko_matrix *m, macko_op op, double alpha, double beta)
{
  int64_t nx = op == MACKO_OP_N ? a->ncols : a->nrows, ny = op == MACKO_OP_N ? a->nrows : a->ncols, k = 3, ld = 3;
  double *x = calloc((size_t)(k * (nx + ld)) + 1, 8), *y = calloc((size_t)(k * (ny + ld)) + 1, 8);
  long double *ref = calloc((size_t)ny + 1, sizeof *ref), *size = calloc((size_t)ny + 1, sizeof *size);
  int64_t *terms = calloc((size_t)ny + 1, 8);
  for (int64_t i = 0; i < k * (nx + ld); i++) x[i] = (double)draw() / 1e9 - 1;
  for (int64_t i = 0; i < k * (ny + ld); i++) y[i] = beta == 0 ? NAN : (double)draw() / 1e9 - 1;
  double *before = memcpy(malloc((size_t)(k * (ny + ld)) * 8 + 8), y, (size_t)(k * (ny + ld)) * 8);
  macko_error err;
  ck_assert_msg(!macko_multiply(m, op, MACKO_F64, k, alpha, x, nx + ld, beta, y, ny + ld, &err), "%s", err.text);
  for (int64_t v = 0; v < k; v++) {
    const double *xv = x + v * (nx + ld), *yv = y + v * (ny + ld), *y0 = before + v * (ny + ld);
    for (int64_t i = 0; i < ny; i++) {
      ref[i] = beta == 0 ? 0 : (long double)beta * y0[i];
      size[i] = fabsl(ref[i]);
      terms[i] = 3;
    }
    for (int64_t r = 0; r < a->nrows; r++)
      for (int64_t p = a->row_ptr[r]; p < a->row_ptr[r + 1]; p++) {
        int64_t to = op == MACKO_OP_N ? r : a->cols[p], from = op == MACKO_OP_N ? a->cols[p] : r;
        long double t = (long double)alpha * a->values[p] * xv[from];
        ref[to] += t, size[to] += fabsl(t), terms[to]++;
      }
    for (int64_t i = 0; i < ny; i++) {
      long double nu = (long double)terms[i] * DBL_EPSILON / 2, bound = nu / (1 - nu) * size[i] + DBL_MIN;
      ck_assert_msg(fabsl(yv[i] - ref[i]) <= bound, "row %ld: %g, not %Lg", (long)i, yv[i], ref[i]);
    }
  }
  free(x), free(y), free(ref), free(size), free(terms), free(before);
}

START_TEST(multiply_is_within_the_bound)
{
  matrix a = case_matrix(_i);
  macko_matrix *m = encode(&a, _i / SHAPES);
  for (int op = MACKO_OP_N; op <= MACKO_OP_T; op++) {
    check_multiply(&a, m, (macko_op)op, 1, 0);
    check_multiply(&a, m, (macko_op)op, -0.75, 1);
    check_multiply(&a, m, (macko_op)op, 2.5, 0.3);
  }
  macko_destroy(&m);
  release(&a);
}
END_TEST

START_TEST(duplicates_are_added_and_rows_sorted)
{
  int32_t row_ptr[] = {0, 4, 5}, cols[] = {2, 0, 2, 1, 0};
  float values[] = {1, 2, 4, 8, 16}, out[4];
  int64_t back[3], out_cols[4];
  macko_csr c = {2, 3, MACKO_I32, MACKO_I32, MACKO_F32, row_ptr, cols, values};
  macko_matrix *m = NULL;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, NULL), MACKO_OK);
  macko_decode(m, back, out_cols, out, NULL);
  ck_assert(back[1] == 3 && back[2] == 4);
  ck_assert(out_cols[0] == 0 && out_cols[1] == 1 && out_cols[2] == 2 && out_cols[3] == 0);
  ck_assert(out[0] == 2 && out[1] == 8 && out[2] == 5 && out[3] == 16);
  macko_destroy(&m);
}
END_TEST

START_TEST(bad_input_is_named_and_changes_nothing)
{
  int64_t row_ptr[] = {0, 1, 2}, cols[] = {0, 7};
  double values[] = {1, 2};
  macko_csr c = {2, 3, MACKO_I64, MACKO_I64, MACKO_F64, row_ptr, cols, values};
  macko_matrix *m = NULL;
  macko_error err;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "column 7 at entry 1 of row 1 is outside 0..2");
  ck_assert_ptr_null(m);
  row_ptr[1] = 3;
  ck_assert_int_eq(macko_encode(&c, NULL, &m, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "row_ptr falls from 3 to 2 at row 1");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("conformance");
  TCase *t = tcase_create("formats");
  tcase_add_loop_test(t, decode_is_bit_exact, 0, CASES);
  tcase_add_loop_test(t, multiply_is_within_the_bound, 0, CASES);
  tcase_add_test(t, duplicates_are_added_and_rows_sorted);
  tcase_add_test(t, bad_input_is_named_and_changes_nothing);
  suite_add_tcase(suite, t);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
