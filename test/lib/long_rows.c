/* What a GPU is predicted to take where a few rows are far longer than the others: slices of layout slice wait for the longest, so
 * that format csr is chosen; codes of 8 bits wait less, as rounds have more of them; and a dictionary that the first-level cache
 * does not hold costs more than one that it holds. */
#include "macko.h"
#include "suite.h"

#include <stdint.h>
#include <stdlib.h>

enum { EVERY = 130, ROWS = 4450 * EVERY, LONG = 124, SHORT = 5 };

/* This is a matrix of rows of SHORT entries near the diagonal, of which every EVERY-th has `longest` instead. */
typedef struct {
  int32_t *row_ptr, *cols;
  double *values;
} matrix;

/* Makes one, of so many different values, which are whole numbers. */
static matrix make(int longest, int64_t different)
{
  matrix a = {malloc((ROWS + 1) * sizeof *a.row_ptr), NULL, NULL};
  const size_t room = (size_t)ROWS * SHORT + (size_t)(ROWS / EVERY) * (size_t)longest;
  int32_t count = 0;
  uint64_t random = 1;
  a.cols = malloc(room * sizeof *a.cols), a.values = malloc(room * sizeof *a.values);
  a.row_ptr[0] = 0;
  for (int i = 0; i < ROWS; a.row_ptr[++i] = count) {
    const int length = i % EVERY ? SHORT : longest, step = EVERY / length;
    for (int j = 0; j < length; j++, count++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      a.cols[count] = i / EVERY * EVERY + j * step + (int)(random >> 40) % step;
      a.values[count] = (double)((random >> 20) % (uint64_t)different);
    }
  }
  return a;
}

static void release(matrix *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

/* Gives what is predicted for a format, in layout slice where it has layouts, with values by that codec. */
static macko_info predicted(const matrix *a, macko_format format, macko_values values)
{
  const macko_csr csr = {.nrows = ROWS, .ncols = ROWS, .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values,
                         .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64};
  macko_options o;
  macko_info info;
  macko_error err = {0};
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU, o.format = format, o.values = values;
  if (format == MACKO_FORMAT_MACKO) o.layout = MACKO_LAYOUT_SLICE;
  ck_assert_msg(!macko_predict(&csr, &o, &info, &err), "%s", err.text);
  return info;
}

/* Gives the seconds that layout slice takes besides moving its bytes. */
static double waiting(const macko_info *info)
{
  return info->seconds - (double)info->bytes * 0.207e-12;
}

START_TEST(few_long_rows_are_for_csr)
{
  matrix uneven = make(LONG, 300), even = make(SHORT, 300);
  ck_assert_int_eq(predicted(&uneven, MACKO_FORMAT_AUTO, MACKO_VALUES_AUTO).format, MACKO_FORMAT_CSR);
  ck_assert_int_eq(predicted(&even, MACKO_FORMAT_AUTO, MACKO_VALUES_AUTO).format, MACKO_FORMAT_MACKO);
  /* 0.1 to 0.2 microseconds a step were measured. */
  const macko_info longer = predicted(&uneven, MACKO_FORMAT_MACKO, MACKO_VALUES_RAW);
  const macko_info plain = predicted(&even, MACKO_FORMAT_MACKO, MACKO_VALUES_RAW);
  ck_assert_double_gt(waiting(&longer), waiting(&plain) + 0.1e-6 * (LONG - SHORT));
  release(&uneven), release(&even);
}
END_TEST

START_TEST(codes_of_8_bits_wait_less)
{
  matrix a = make(LONG, 100);
  const macko_info raw = predicted(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_RAW);
  const macko_info codes = predicted(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_NARROW);
  ck_assert_int_eq(codes.stored_type, MACKO_I8);
  ck_assert_double_lt(waiting(&codes), waiting(&raw) - 0.05e-6 * (LONG - SHORT));
  release(&a);
}
END_TEST

START_TEST(large_dictionaries_cost_more)
{
  matrix a = make(SHORT, 30000), b = make(SHORT, 60000);
  const macko_info cached = predicted(&a, MACKO_FORMAT_MACKO, MACKO_VALUES_DICT);
  const macko_info larger = predicted(&b, MACKO_FORMAT_MACKO, MACKO_VALUES_DICT);
  ck_assert_double_gt(waiting(&larger), waiting(&cached) + 1e-12 * SHORT * ROWS);
  release(&a), release(&b);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("long rows");
  TCase *t = tcase_create("predictions");
  tcase_set_timeout(t, 120);
  tcase_add_test(t, few_long_rows_are_for_csr);
  tcase_add_test(t, codes_of_8_bits_wait_less);
  tcase_add_test(t, large_dictionaries_cost_more);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
