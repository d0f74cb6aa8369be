/* Rows that share their columns: format csr reads these once for several rows, and every product has the bits that it has without:
 * those of a matrix that was encoded for a GPU, of which nothing is kept for a CPU. */
#include "macko.h"
#include "suite.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = 700, NOT_A_NUMBER = 30, LONGEST = 60, GROUPS = 14 };

/* A matrix with values of either type. */
typedef struct {
  macko_type type;
  int64_t nrows, *row_ptr;
  int32_t *cols;
  void *values;
} shared;

/* Makes rows in groups of 1 to 13 rows with the same columns, some of them empty or shorter than a step, until there are enough;
 * the last group ends the arrays. Twice as many columns come twice as far apart in every other group. */
static shared make(int64_t enough, macko_type type, int shortest)
{
  const int64_t room = enough + GROUPS;
  shared a = {type, 0, malloc((size_t)(room + 1) * sizeof *a.row_ptr), malloc((size_t)(room * LONGEST) * sizeof *a.cols), NULL};
  a.row_ptr[0] = 0;
  for (int group = 1; a.nrows < enough; group = (group * 5 + 3) % GROUPS + 1) {
    const int n = a.nrows % 11 == 5 ? (int)(a.nrows % 4) : shortest + (int)(a.nrows % (LONGEST - shortest));
    for (int r = 0; r < group % GROUPS; r++, a.nrows++) {
      int32_t *cols = a.cols + a.row_ptr[a.nrows];
      for (int e = 0; e < n; e++) cols[e] = (int32_t)((a.nrows - r) % 37 + (1 + group % 2) * e * 5);
      a.row_ptr[a.nrows + 1] = a.row_ptr[a.nrows] + n;
    }
  }
  const int64_t nnz = a.row_ptr[a.nrows];
  a.values = malloc((size_t)nnz * sizeof(double) + 1);
  for (int64_t p = 0; p < nnz; p++)
    if (type == MACKO_F64) ((double *)a.values)[p] = 1 / (1.5 + (double)(p % 997));
    else ((float *)a.values)[p] = 1 / (1.5f + (float)(p % 997));
  return a;
}

static macko_csr view(const shared *a)
{
  return (macko_csr){.nrows = a->nrows, .ncols = COLS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32, .value_type = a->type,
                     .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values};
}

static void release(shared *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

static macko_matrix *encode(const shared *a, macko_target target)
{
  const macko_csr c = view(a);
  macko_matrix *m = NULL;
  macko_options o;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR, o.target = target;
  ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
  return m;
}

/* Fails unless Y = alpha A X + beta Y of k vectors is the same, bit for bit, of both matrices. One column multiplies a NaN, which
 * only rows that have the column may feel. */
static void compare(const macko_matrix *m, const macko_matrix *without, int64_t nrows, macko_type vector, int k, double beta)
{
  const size_t size = vector == MACKO_F64 ? 8 : 4, bytes = (size_t)(nrows * k) * size;
  char *x = calloc((size_t)(k * COLS), size), *y = calloc(bytes, 1), *right = calloc(bytes, 1);
  macko_error err = {0};
  for (int j = 0; j < k * COLS; j++) {
    const double value = j % COLS == NOT_A_NUMBER ? NAN : sin(j);
    if (vector == MACKO_F64) ((double *)x)[j] = value;
    else ((float *)x)[j] = (float)value;
  }
  ck_assert_msg(!macko_multiply(m, MACKO_OP_N, vector, k, 1.5, x, COLS, beta, y, nrows, &err), "%s", err.text);
  ck_assert_msg(!macko_multiply(without, MACKO_OP_N, vector, k, 1.5, x, COLS, beta, right, nrows, &err), "%s", err.text);
  for (int64_t i = 0; i < nrows * k; i++)
    ck_assert_msg(!memcmp(y + i * (int64_t)size, right + i * (int64_t)size, size), "row %lld of %lld, %d vectors",
                  (long long)(i % nrows), (long long)nrows, k);
  free(x), free(y), free(right);
}

/* Sizes around those of a mark, one row after the other, and one that exceeds what is taken to stay in a cache. */
START_TEST(the_bits_are_those_without)
{
  const int64_t sizes[] = {1, 2, 5, 1000, 1024, 1030, 2048, 5000, 60000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (int type = 0; type < 2; type++)
      for (int shortest = 8; shortest <= 40; shortest += 32) {
        shared a = make(sizes[s], type ? MACKO_F32 : MACKO_F64, shortest);
        macko_matrix *m = encode(&a, MACKO_TARGET_CPU), *without = encode(&a, MACKO_TARGET_GPU);
        for (int k = 1; k <= 5; k++) compare(m, without, a.nrows, MACKO_F64, k, k % 2 ? 0 : -0.5);
        if (type) compare(m, without, a.nrows, MACKO_F32, 1, 0);
        macko_destroy(&m), macko_destroy(&without);
        release(&a);
      }
}
END_TEST

/* New values, and copies, keep what was found. */
START_TEST(new_values_and_copies)
{
  shared a = make(3000, MACKO_F64, 10);
  macko_matrix *m = encode(&a, MACKO_TARGET_CPU), *copy = NULL, *without = encode(&a, MACKO_TARGET_GPU);
  macko_error err = {0};
  for (int64_t p = 0; p < a.row_ptr[a.nrows]; p++) ((double *)a.values)[p] *= -3;
  const macko_csr c = view(&a);
  ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
  ck_assert_msg(!macko_refresh(without, &c, &err), "%s", err.text);
  ck_assert_msg(!macko_copy(m, &copy, &err), "%s", err.text);
  macko_destroy(&m);
  compare(copy, without, a.nrows, MACKO_F64, 1, 1);
  macko_destroy(&copy), macko_destroy(&without);
  release(&a);
}
END_TEST

/* What the plan says, and that such rows are predicted to take less time than others; where no loop reads shared columns they are
 * not. */
START_TEST(the_prediction_knows)
{
  shared a = make(60000, MACKO_F64, 20);
  macko_csr alike = view(&a);
  macko_options o;
  macko_info with, without;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  macko_matrix *m = encode(&a, MACKO_TARGET_CPU);
  macko_get_info(m, &with);
  const int told = strstr(with.reason, "read once for rows that share them") != NULL;
  macko_destroy(&m);
  for (int64_t i = 0; i < a.nrows; i++) /* every other row has a column of its own */
    if (i % 2 && a.row_ptr[i + 1] > a.row_ptr[i]) a.cols[a.row_ptr[i + 1] - 1] += 1;
  ck_assert_msg(!macko_predict(&alike, &o, &without, &err), "%s", err.text);
  if (told) ck_assert_double_lt(with.seconds, 0.9 * without.seconds);
  else ck_assert_double_le(fabs(with.seconds - without.seconds), 0.05 * without.seconds);
  release(&a);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("shared columns");
  TCase *t = tcase_create("products");
  tcase_add_test(t, the_bits_are_those_without);
  tcase_add_test(t, new_values_and_copies);
  tcase_add_test(t, the_prediction_knows);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
