/* Predictions for a GPU know how many sectors of x the entries ask for, whole or in pieces, and whatever the form; those for a CPU
 * know lines of x. */
#include "core/cost.h"
#include "scattered.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Encodes the matrix with these options. */
static macko_matrix *encode_with(const scattered *a, const macko_options *o)
{
  const macko_csr c = scattered_view(a);
  macko_matrix *m = NULL;
  macko_error err = {0};
  ck_assert_msg(!macko_encode(&c, o, &m, &err), "%s", err.text);
  return m;
}

/* Rows that ask for two, four and eight sectors differ by two and four: that is all that csr knows of their columns. */
START_TEST(a_gpu_loads_sectors)
{
  double time[3], csr[3];
  for (int i = 0; i < 3; i++) {
    scattered a = scattered_make(2 << i);
    time[i] = scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[i]);
    ck_assert_double_eq_tol(csr[i], time[i], 1e-9 * time[i]);
    scattered_free(&a);
  }
  ck_assert_double_gt(time[1], 1.01 * time[0]);
  ck_assert_double_eq_tol(time[2] - time[1], 2 * (time[1] - time[0]), 1e-6 * time[2]);
}
END_TEST

/* In layout slice the same entries cost the same sectors, beside what their columns cost in other ways. */
START_TEST(every_form_gathers_alike)
{
  double time[2][2], csr[2];
  for (int i = 0; i < 2; i++) {
    scattered a = scattered_make(i ? 8 : 2);
    time[i][0] = scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[i]);
    time[i][1] = scattered_seconds(&a, MACKO_FORMAT_MACKO, MACKO_TARGET_GPU, &csr[i]);
    ck_assert_double_eq_tol(csr[i], time[i][0], 1e-9 * csr[i]);
    scattered_free(&a);
  }
  ck_assert_double_ge(time[1][1] - time[0][1], 0.99 * (time[1][0] - time[0][0]));
}
END_TEST

/* A GPU with half the memory bandwidth takes longer for bytes, one with half the multiprocessors for the rest but the launch; the
 * first one counts. */
START_TEST(a_gpu_is_as_fast_as_it_is)
{
  const double memory = 4917, work = 132 * 1.98;
  scattered a = scattered_make(2);
  const macko_csr c = scattered_view(&a);
  const macko_info info = scattered_predict(&c, MACKO_FORMAT_CSR, MACKO_TARGET_GPU);
  double csr;
  const double bytes = 1e-9 * (double)info.bytes * macko_h200_cost.byte, launch = 1e-9 * macko_h200_cost.launch;
  macko_know_gpu(0, work);
  ck_assert_double_eq(scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), info.seconds);
  if (_i) macko_know_gpu(memory, work / 2);
  else macko_know_gpu(memory / 2, work);
  const double expected = info.seconds + (_i ? info.seconds - bytes - launch : bytes);
  ck_assert_double_eq_tol(scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), expected, 1e-6 * expected);
  macko_know_gpu(memory, work);
  ck_assert_double_eq_tol(scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), expected, 1e-6 * expected);
  scattered_free(&a);
}
END_TEST

/* An x that the first-level caches hold is loaded once a multiprocessor, however many entries ask for it. */
START_TEST(a_small_x_is_loaded_once)
{
  double time[2], csr[2];
  scattered a = scattered_make(8);
  macko_csr c = scattered_view(&a);
  for (int64_t p = 0; p < ROWS * LENGTH; p++) a.cols[p] = (int32_t)(p % LENGTH * 512 + p / LENGTH % 512); /* 4096 columns */
  c.ncols = LENGTH * 512;
  time[0] = scattered_predict(&c, MACKO_FORMAT_CSR, MACKO_TARGET_GPU).seconds;
  scattered_free(&a);
  a = scattered_make(2);
  time[1] = scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[1]);
  ck_assert_double_gt(time[0], time[1]); /* 132 times 1024 sectors are more than two a row, and less than eight */
  scattered_free(&a);
  a = scattered_make(8);
  ck_assert_double_lt(time[0], scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[0]));
  scattered_free(&a);
}
END_TEST

/* Gives the seconds of a format for the same entries, whose columns are spread over so many, a sector each. */
static double seconds_of_spread(int64_t ncols, macko_format format)
{
  scattered a = scattered_make(8);
  macko_csr c = scattered_view(&a);
  for (int64_t p = 0; p < ROWS * LENGTH; p++)
    a.cols[p] = (int32_t)(p % LENGTH * (ncols / LENGTH) + 4 * 7919 * (p / LENGTH) % (ncols / LENGTH));
  c.ncols = ncols;
  const double time = scattered_predict(&c, format, MACKO_TARGET_GPU).seconds;
  scattered_free(&a);
  return time;
}

/* Slices leave the first-level caches to x: one that these hold only then costs slices less than one that they never hold. */
START_TEST(slices_leave_the_cache_to_x)
{
  const int64_t held = 24000, too_many = 64000;
  const double again = 132 * (ROWS * LENGTH / 132.0 - (double)held / 4 * (1 - exp(-4.0 * ROWS * LENGTH / 132 / (double)held)));
  const double csr = seconds_of_spread(too_many, MACKO_FORMAT_CSR) - seconds_of_spread(held, MACKO_FORMAT_CSR);
  const double slices = seconds_of_spread(too_many, MACKO_FORMAT_MACKO) - seconds_of_spread(held, MACKO_FORMAT_MACKO);
  ck_assert_double_ge(slices - csr, 0.9e-9 * macko_h200_cost.sector * again);
}
END_TEST

/* Gives the seconds that a CPU is predicted to take where entry p has column p * stride of so many. */
static double seconds_on_a_cpu(int64_t stride, int64_t ncols, macko_format format)
{
  scattered a = scattered_make(2);
  macko_csr c = scattered_view(&a);
  c.ncols = ncols;
  for (int64_t p = 0; p < ROWS * LENGTH; p++) a.cols[p] = (int32_t)(p / LENGTH + p % LENGTH * stride);
  const double taken = scattered_predict(&c, format, MACKO_TARGET_CPU).seconds;
  scattered_free(&a);
  return taken;
}

/* A core of a CPU loads lines of x that its own caches do not hold: an x of 64 MB is in none of them, one of 16 KB in any. What is
 * asked for again soon is loaded once. */
START_TEST(a_cpu_loads_lines)
{
  const macko_format formats[] = {MACKO_FORMAT_CSR, MACKO_FORMAT_ECCSR};
  const int64_t far = 1000003, wide = LENGTH * far;
  scattered a = scattered_make(8);
  for (int i = 0; i < 2; i++) {
    const double near = seconds_on_a_cpu(1, wide, formats[i]), apart = seconds_on_a_cpu(far, wide, formats[i]);
    ck_assert_double_ge(apart, near);
    ck_assert_double_lt(apart, 1.3 * near); /* a line is asked for by eight rows that follow each other */
  }
  macko_csr c = scattered_view(&a);
  for (int64_t i = 0; i < ROWS; i++)
    for (int e = 0; e < LENGTH; e++) a.cols[i * LENGTH + e] = (int32_t)(i * 7 % 256 + 256 * e);
  c.ncols = 2048;
  const double spread = scattered_predict(&c, MACKO_FORMAT_CSR, MACKO_TARGET_CPU).seconds;
  for (int64_t i = 0; i < ROWS; i++)
    for (int e = 0; e < LENGTH; e++) a.cols[i * LENGTH + e] = (int32_t)(i * 7919 % ROWS * 25 + far * e);
  c.ncols = wide;
  ck_assert_double_gt(scattered_predict(&c, MACKO_FORMAT_CSR, MACKO_TARGET_CPU).seconds, 1.3 * spread);
  scattered_free(&a);
}
END_TEST

/* Gives a length of 2, 4, .. 16 entries, by chance. */
static int64_t some_length(int64_t i)
{
  return 2 * (1 + (int64_t)(by_chance(i + 1) >> 61));
}

enum { MOST = 16 };

/* A matrix in which two rows that follow each other have the same columns, each in a sector of its own, as far as both reach: the
 * second row is as long as the first, or, `uneven`, as the first row of the pair three pairs on. */
static scattered make_pairs(int uneven)
{
  scattered a = {malloc((ROWS + 1) * sizeof *a.row_ptr), malloc(ROWS * MOST * sizeof *a.cols), calloc(ROWS * MOST, 8)};
  a.row_ptr[0] = 0;
  for (int64_t i = 0; i < ROWS; i++) {
    const int64_t pair = i / 2, length = some_length(uneven && i % 2 ? (pair + 3) % (ROWS / 2) : pair);
    for (int64_t e = 0; e < length; e++)
      a.cols[a.row_ptr[i] + e] = (int32_t)(4 * (e * (ROWS / MOST) + pair * 7919 % (ROWS / MOST)));
    a.row_ptr[i + 1] = a.row_ptr[i] + length;
  }
  for (int64_t p = 0; p < a.row_ptr[ROWS]; p++) a.values[p] = 1 / (1.0 + (double)p);
  return a;
}

/* Gives the seconds of layout slice and of plain CSR that are predicted for such pairs on a GPU. Rows must be sorted. */
static double seconds_of_pairs(const scattered *a, double *csr)
{
  const macko_options o = gpu_options(1);
  macko_matrix *m = encode_with(a, &o);
  macko_info info;
  macko_get_info(m, &info);
  ck_assert_ptr_nonnull(strstr(info.reason, "sorted by length"));
  macko_destroy(&m);
  *csr = info.csr_seconds;
  return info.seconds;
}

/* Gives rows of the matrix that context is. */
static macko_status some_rows(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  static int64_t starts[ROWS + 1];
  const scattered *a = context;
  (void)err;
  for (int64_t i = 0; i <= count; i++) starts[i] = a->row_ptr[first + i] - a->row_ptr[first];
  *piece = scattered_view(a);
  piece->nrows = count, piece->row_ptr = starts;
  piece->cols = a->cols + a->row_ptr[first], piece->values = a->values + a->row_ptr[first];
  return MACKO_OK;
}

/* The samples are the same where rows come in pieces, also those of sorted rows. */
START_TEST(pieces_are_predicted_alike)
{
  scattered a = _i ? make_pairs(1) : scattered_make(4);
  macko_row_source source = {.nrows = ROWS, .ncols = COLS, .value_type = MACKO_F64, .piece_rows = 300, .rows = some_rows,
                             .context = &a};
  const macko_options o = gpu_options(_i);
  macko_matrix *whole = encode_with(&a, &o), *pieces = NULL;
  macko_info one, other;
  macko_error err = {0};
  ck_assert_msg(!macko_encode_rows(&source, &o, &pieces, &err), "%s", err.text);
  macko_get_info(whole, &one), macko_get_info(pieces, &other);
  ck_assert_str_eq(one.reason, other.reason);
  ck_assert_double_eq(one.seconds, other.seconds);
  macko_destroy(&whole), macko_destroy(&pieces);
  scattered_free(&a);
}
END_TEST

/* Rows of equal columns that are sorted away from each other ask for their sectors twice. In pairs of unequal rows the second one
 * asks for those of the first once more, a quarter of all entries at least. */
START_TEST(sorted_rows_gather_apart)
{
  double time[2], csr[2], nnz[2];
  for (int i = 0; i < 2; i++) {
    scattered a = make_pairs(i);
    time[i] = seconds_of_pairs(&a, &csr[i]), nnz[i] = (double)a.row_ptr[ROWS];
    scattered_free(&a);
  }
  ck_assert_double_eq(nnz[0], nnz[1]);
  ck_assert_double_gt((time[1] - csr[1]) - (time[0] - csr[0]), 1e-9 * nnz[0] / 4 * macko_h200_cost.apart);
}
END_TEST

/* A file keeps what was predicted, of both forms. */
START_TEST(files_keep_it)
{
  const char *path = "gathers.macko";
  scattered a = scattered_make(8);
  const macko_options o = gpu_options(0);
  macko_matrix *saved = encode_with(&a, &o), *loaded = NULL;
  macko_info before, after;
  macko_error err = {0};
  ck_assert_msg(!macko_save(path, saved, NULL, &err), "%s", err.text);
  ck_assert_msg(!macko_load(path, &loaded, NULL, &err), "%s", err.text);
  macko_get_info(saved, &before), macko_get_info(loaded, &after);
  ck_assert_double_eq(before.seconds, after.seconds);
  ck_assert_double_eq(before.csr_seconds, after.csr_seconds);
  macko_destroy(&saved), macko_destroy(&loaded);
  remove(path);
  scattered_free(&a);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gathers");
  TCase *t = tcase_create("predictions");
  tcase_add_test(t, a_gpu_loads_sectors);
  tcase_add_test(t, every_form_gathers_alike);
  tcase_add_test(t, a_small_x_is_loaded_once);
  tcase_add_test(t, slices_leave_the_cache_to_x);
  tcase_add_test(t, a_cpu_loads_lines);
  tcase_add_loop_test(t, a_gpu_is_as_fast_as_it_is, 0, 2);
  tcase_add_loop_test(t, pieces_are_predicted_alike, 0, 2);
  tcase_add_test(t, sorted_rows_gather_apart);
  tcase_add_test(t, files_keep_it);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
