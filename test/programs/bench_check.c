/* macko-bench compares every element of every product. */
#include "bench.h"

/* ---- every element is compared ---- */

static const struct {
  macko_type type;
  const char *matrix;
  double error; /* of one element, in units of what the exact one may be rounded by */
} checked[] = {{MACKO_F64, "tetra:5", 0x1p-53}, {MACKO_F32, "tetra:5:f32", 0x1p-24}, {MACKO_F16, "pruned:40x50:50", 0x1p-11},
               {MACKO_BF16, "pruned:40x50:50:bf16", 0x1p-8}};

START_TEST(one_wrong_element_is_found)
{
  macko_type type = checked[_i].type;
  macko_csr a = made(checked[_i].matrix);
  macko_error err = {0};
  bench_reference r;
  void *x = malloc((size_t)a.ncols * 8), *y = malloc((size_t)a.nrows * 8);
  double difference;
  bench_fill(type, x, a.ncols);
  ck_assert_int_eq(bench_reference_open(&a, type, x, &r, &err), MACKO_OK);
  for (int64_t i = 0; i < a.nrows; i++) bench_put(type, y, i, (double)r.sum[i]);
  ck_assert_msg(!bench_check(&r, y, 0, &difference, &err), "%s", err.text);
  ck_assert_double_le(difference, 2 * checked[_i].error);
  int64_t last = a.nrows - 1, nnz = ((const int32_t *)a.row_ptr)[a.nrows] - ((const int32_t *)a.row_ptr)[last];
  double wrong = 4 * ((double)nnz + 4) * checked[_i].error * r.size[last];
  bench_put(type, y, last, (double)r.sum[last] + wrong);
  ck_assert_int_eq(bench_check(&r, y, 0, &difference, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, "row") != NULL, "%s", err.text);
  ck_assert_int_eq(bench_check(&r, y, 1, &difference, &err), MACKO_OK); /* values that were rounded to nothing */
  bench_put(type, y, last, NAN);
  ck_assert_int_eq(bench_check(&r, y, 1, &difference, &err), MACKO_CORRUPT);
  bench_reference_close(&r);
  free(x), free(y);
  macko_free_csr(&a);
}
END_TEST

/* The library's, with one element a little off where that is asked for. */
macko_status __real_macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);
macko_status __wrap_macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);
static int disturbed;

macko_status __wrap_macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err)
{
  macko_status s = __real_macko_multiply(matrix, op, vector_type, k, alpha, x, ldx, beta, y, ldy, err);
  if (disturbed) ((double *)y)[ldy / 2] += 1e-9;
  return s;
}

START_TEST(wrong_forms_are_counted_and_left_out)
{
  macko_csr a = made("tetra:6:2");
  macko_error err = {0};
  for (disturbed = 0; disturbed < 2; disturbed++) {
    bench_settings settings = {.vectors = 1, .repeats = 1, .encodings = "csr,slice.f32"};
    bench_table table = {0};
    ck_assert_msg(!bench_cpu("tetra:6:2", &a, &settings, &table, &err), "%s", err.text);
    int ours = 0;
    for (int i = 0; i < table.count; i++) ours += !table.all[i].peer;
    ck_assert_int_eq(table.wrong, disturbed); /* f32 may be off by so much */
    ck_assert_int_eq(ours, 2 - disturbed);
    free(table.all);
  }
  disturbed = 0;
  macko_free_csr(&a);
}
END_TEST

TCase *test_bench_check(void)
{
  TCase *tests = tcase_create("check");
  tcase_add_loop_test(tests, one_wrong_element_is_found, 0, (int)(sizeof checked / sizeof *checked));
  tcase_add_test(tests, wrong_forms_are_counted_and_left_out);
  return tests;
}
