/* What predictions know besides loads of x: of rows that are uneven, do not fill blocks of threads or end within chunks, of values
 * that are stored in fewer bytes, of lanes beside a long row, and of the last wave of slices. */
#include "core/cost.h"
#include "core/cpu.h"
#include "eccsr/eccsr.h"
#include "scattered.h"

#include <stdlib.h>
#include <string.h>

/* A warp waits for its longest row: where rows have 4 and 12 entries in turn, each differs from the mean by 4. */
START_TEST(a_gpu_waits_for_long_rows)
{
  double even, csr;
  scattered a = scattered_make(2);
  even = scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr);
  for (int64_t i = 1; i < ROWS; i += 2) a.row_ptr[i] -= LENGTH / 2;
  const double expected = 1e-9 * ROWS * (LENGTH / 2) * macko_h200_cost.csr_uneven;
  ck_assert_double_gt(expected, 0.01 * even);
  ck_assert_double_eq_tol(scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr) - even, expected, 0.05 * expected);
  scattered_free(&a);
}
END_TEST

/* Values of f32 save csr their bytes on a GPU, but for what such an entry costs besides. */
START_TEST(narrower_values_save_less_than_their_bytes)
{
  macko_options o = gpu_options(0);
  macko_info info;
  double csr;
  scattered a = scattered_make(2);
  const macko_csr c = scattered_view(&a);
  const double f64 = scattered_seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), entries = ROWS * LENGTH;
  o.format = MACKO_FORMAT_CSR, o.values = MACKO_VALUES_F32;
  ck_assert_int_eq(macko_predict(&c, &o, &info, NULL), MACKO_OK);
  const double saved = 1e-9 * entries * (4 * macko_h200_cost.byte - macko_h200_cost.csr_narrower);
  ck_assert_double_eq_tol(f64 - info.seconds, saved, 1e-3 * saved);
  ck_assert_int_eq(info.lossy, 1);
  scattered_free(&a);
}
END_TEST

/* Gives the nanoseconds, less those of bytes, that a GPU is predicted to take in layout row for ROWS * LENGTH entries of f16 in
 * rows of so many each. */
static double time_of_rows(int64_t length, int64_t ncols)
{
  scattered a = scattered_make(2);
  macko_csr c = scattered_view(&a);
  macko_options o;
  macko_info info;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW, o.gap_bits = 8, o.target = MACKO_TARGET_GPU;
  c.value_type = MACKO_F16, c.ncols = ncols, c.nrows = ROWS * LENGTH / length;
  for (int64_t r = 0; r <= c.nrows; r++) a.row_ptr[r] = r * length;
  for (int64_t p = 0; p < c.nrows * length; p++) a.cols[p] = (int32_t)(p % length * 20);
  ck_assert_msg(!macko_predict(&c, &o, &info, &err), "%s", err.text);
  scattered_free(&a);
  return 1e9 * info.seconds - macko_h200_cost.byte * (double)info.bytes;
}

/* Where a GPU has x in shared memory, which it has where rows are long and x is short, no row costs more than its entries;
 * otherwise each has the slots of a warp's chunk, of which its entries fill the first half, and takes time for itself. */
START_TEST(row_ends_count)
{
  enum { LONG = 1024, LONGER = 2 * LONG, MORE = ROWS * LENGTH / LONG - ROWS * LENGTH / LONGER, SHORT_X = 50000, LONG_X = 60000 };
  const macko_cost *cost = &macko_h200_cost;
  const double shared = time_of_rows(LONG, SHORT_X) - time_of_rows(LONGER, SHORT_X);
  const double others = time_of_rows(LONG, LONG_X) - time_of_rows(LONGER, LONG_X);
  /* Loads of x depend on the length of rows, not on how rows are taken. */
  ck_assert_double_eq_tol(others - shared, MORE * (cost->row_row + (256 - 128 / 5.0) * cost->row_narrow), 1);
  ck_assert_double_eq_tol(time_of_rows(LENGTH, SHORT_X), time_of_rows(LENGTH, LONG_X), 1);
}
END_TEST

/* Gives the nanoseconds, less those of bytes, that a GPU is predicted to take in format csr for so many f64 rows of that length,
 * whose columns follow each other. */
static double time_of_csr(int64_t nrows, int64_t length)
{
  scattered a = scattered_make(2);
  macko_csr c = scattered_view(&a);
  c.nrows = nrows;
  for (int64_t r = 0; r <= nrows; r++) a.row_ptr[r] = r * length;
  for (int64_t p = 0; p < nrows * length; p++) a.cols[p] = (int32_t)(p % length);
  const macko_info info = scattered_predict(&c, MACKO_FORMAT_CSR, MACKO_TARGET_GPU);
  scattered_free(&a);
  return 1e9 * info.seconds - macko_h200_cost.byte * (double)info.bytes;
}

/* Blocks of threads take whole rows: one of 300 entries leaves room for 196 of the 496 that a block of so small a matrix has for
 * sure, which costs more than rows of 248, two of which fill it; and rows that are longer than blocks go in pieces. */
START_TEST(rows_that_leave_room_count)
{
  const macko_cost *cost = &macko_h200_cost;
  const double one = time_of_csr(800, 300), two = time_of_csr(800, 248), cut = time_of_csr(400, 600);
  const double entry = cost->csr_entry + cost->csr_filling;
  ck_assert_double_eq_tol(one - two, 800 * (52 * entry + 196 * cost->csr_unfilled), 15);
  /* Longer rows ask for more of x. */
  ck_assert_double_eq_tol(cut - one, cost->csr_pieces - 400 * cost->csr_row - 800 * 196 * cost->csr_unfilled, 60);
}
END_TEST

/* Gives how many entries of row i - 1 go to row i: 7 or none, by chance. */
static int64_t shorter(int64_t i)
{
  return by_chance(i) >> 63 ? 7 : 0;
}

/* What csr would take is known with the rows that a processor does not foresee, also where csr is asked for. */
START_TEST(uneven_rows_count)
{
  scattered a = scattered_make(2);
  macko_csr c = scattered_view(&a);
  macko_matrix *m = NULL;
  macko_info planned, encoded;
  macko_options o;
  macko_error err = {0};
  macko_options_init(&o);
  for (int64_t i = 1; i < ROWS; i += 2) a.row_ptr[i] -= shorter(i); /* rows of 1 and of 15 entries, or of 8, nobody knows where */
  for (int64_t p = 0; p < ROWS * LENGTH; p++)
    a.cols[p] = (int32_t)(p % (2 * LENGTH) + p / (2 * LENGTH)); /* all different in a row */
  const macko_format formats[] = {MACKO_FORMAT_CSR, MACKO_FORMAT_MACKO};
  double csr[2];
  for (int i = 0; i < 2; i++) {
    o.format = formats[i];
    ck_assert_msg(!macko_predict(&c, &o, &planned, &err), "%s", err.text);
    ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
    macko_get_info(m, &encoded);
    ck_assert_double_eq(planned.seconds, encoded.seconds);
    ck_assert_double_eq(planned.csr_seconds, encoded.csr_seconds);
    csr[i] = encoded.csr_seconds;
    macko_destroy(&m);
  }
  ck_assert_double_eq(csr[0], csr[1]);
  for (int64_t i = 1; i < ROWS; i += 2) a.row_ptr[i] += shorter(i);
  o.format = MACKO_FORMAT_CSR;
  ck_assert_msg(!macko_predict(&c, &o, &planned, &err), "%s", err.text);
  ck_assert_double_gt(csr[0], 1.01 * planned.seconds); /* where bytes take longer, an eighth of the work counts */
  for (int64_t i = 1; i < ROWS; i += 2) a.row_ptr[i] -= 7; /* in turn: a processor foresees that */
  ck_assert_msg(!macko_predict(&c, &o, &encoded, &err), "%s", err.text);
  ck_assert_double_lt(encoded.seconds - planned.seconds, (csr[0] - planned.seconds) / 4);
  scattered_free(&a);
}
END_TEST

/* Predicts, in nanoseconds, format eccsr on a CPU for rows of 4 entries of which 32 have 2000, so many of them in a window. */
static double time_of_long_rows(int64_t a_window)
{
  enum { WINDOWS = 32, LONG = 2000, SHORT = 4, SOME = 32 };
  const int64_t nrows = (int64_t)WINDOWS * MACKO_ECCSR_WINDOW, nnz = nrows * SHORT + SOME * (LONG - SHORT);
  int64_t *row_ptr = malloc((size_t)(nrows + 1) * sizeof *row_ptr), p = 0;
  int32_t *cols = malloc((size_t)nnz * sizeof *cols);
  double *values = malloc((size_t)nnz * sizeof *values);
  macko_options o;
  macko_info info;
  macko_error err = {0};
  for (int64_t i = 0; i < nrows; i++) {
    const int is_long = i % MACKO_ECCSR_WINDOW < a_window && i / MACKO_ECCSR_WINDOW < SOME / a_window;
    row_ptr[i] = p;
    for (int64_t k = 0; k < (is_long ? LONG : SHORT); k++, p++)
      cols[p] = (int32_t)(3 * k + (int64_t)(by_chance(p) % 3)), values[p] = (double)p;
  }
  row_ptr[nrows] = p;
  const macko_csr a = {.nrows = nrows, .ncols = 3 * LONG, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32,
                       .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR;
  ck_assert_msg(!macko_predict(&a, &o, &info, &err), "%s", err.text);
  free(row_ptr), free(cols), free(values);
  return 1e9 * info.seconds;
}

/* A CPU takes all lanes of a slice of format eccsr through the steps of its longest row: one long row a slice costs 31 lanes more
 * than as many in one slice. */
START_TEST(lanes_beside_a_long_row_count)
{
  const double together = time_of_long_rows(32), alone = time_of_long_rows(1);
  const double expected = 31.0 * 32 * (2000 - 4) * macko_cpu_cost(macko_has_avx512(), macko_this_processor())->eccsr_idle;
  if (macko_has_avx512()) ck_assert_double_gt(expected, 0.1 * together);
  ck_assert_double_ge(alone - together, 0.9 * expected);
}
END_TEST

/* Predicts layout slice on a GPU for so many slices of rows of LONG entries, whose gaps nothing repeats. */
static double seconds_of_slices(int64_t slices)
{
  enum { LONG = 40, STEP = 100 };
  const int64_t nrows = 32 * slices;
  const macko_options o = gpu_options(1);
  int64_t *row_ptr = malloc((size_t)(nrows + 1) * sizeof *row_ptr);
  int32_t *cols = malloc((size_t)(nrows * LONG) * sizeof *cols);
  float *values = malloc((size_t)(nrows * LONG) * sizeof *values);
  macko_info info;
  macko_error err = {0};
  for (int64_t i = 0; i <= nrows; i++) row_ptr[i] = i * LONG;
  for (int64_t p = 0; p < nrows * LONG; p++)
    cols[p] = (int32_t)(p % LONG * STEP + (int64_t)((by_chance(p) >> 32) % STEP)), values[p] = (float)by_chance(p);
  const macko_csr a = {.nrows = nrows, .ncols = LONG * STEP, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32,
                       .value_type = MACKO_F32, .row_ptr = row_ptr, .cols = cols, .values = values};
  ck_assert_msg(!macko_predict(&a, &o, &info, &err), "%s", err.text);
  free(row_ptr), free(cols), free(values);
  return info.seconds;
}

/* Gives the predicted nanoseconds of a csr that is encoded, as csr on a CPU, as one of so many parts, and the same beside it. */
static double time_of_part(const macko_csr *c, double parts, macko_matrix **m, double *csr)
{
  macko_info info;
  macko_options o;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  ck_assert_msg(!macko_encode_part(c, parts, &o, m, &err), "%s", err.text);
  macko_get_info(*m, &info);
  *csr = 1e9 * info.csr_seconds;
  return 1e9 * info.seconds;
}

/* Each of many parts comes from memory, however well it would stay in the caches by itself, also with new values. */
START_TEST(parts_share_the_caches)
{
  macko_matrix *one, *of_many, *copy;
  macko_info info;
  macko_error err = {0};
  double csr[3];
  scattered a = scattered_make(2);
  macko_csr c = scattered_view(&a);
  c.nrows = ROWS / 8;
  const double alone = time_of_part(&c, 1, &one, &csr[0]), among = time_of_part(&c, 1e6, &of_many, &csr[1]);
  ck_assert_double_gt(among, 1.1 * alone);
  ck_assert_double_gt(csr[1], 1.1 * csr[0]);
  ck_assert_msg(!macko_copy(of_many, &copy, &err) && !macko_refresh(copy, &c, &err), "%s", err.text);
  macko_get_info(copy, &info);
  ck_assert_double_eq_tol(1e9 * info.seconds, among, 1e-6 * among);
  macko_destroy(&copy), macko_destroy(&of_many);
  /* What comes next is a whole matrix again, also after a failure. */
  const double wrong[] = {0.5, 0. / 0.};
  for (int i = 0; i < 2; i++) ck_assert_int_eq(macko_encode_part(&c, wrong[i], NULL, &copy, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_msg(strstr(err.text, "at least 1"), "%s", err.text);
  c.nrows = -1;
  ck_assert_int_eq(macko_encode_part(&c, 1e6, NULL, &copy, &err), MACKO_INVALID_MATRIX);
  c.nrows = ROWS / 8;
  macko_destroy(&one);
  ck_assert_double_eq_tol(time_of_part(&c, 1, &one, &csr[2]), alone, 1e-9 * alone);
  macko_destroy(&one);
  scattered_free(&a);
}
END_TEST

/* A format that counts while it encodes, as it was asked for by name, keeps that number for new values, too. */
START_TEST(slide_remembers_its_parts)
{
  enum { NROWS = 20000, LONG = 16, COLUMNS = 4400, SHIFTS = 997 };
  int64_t *row_ptr = malloc((NROWS + 1) * sizeof *row_ptr);
  int32_t *cols = malloc(NROWS * LONG * sizeof *cols);
  double *values = malloc(NROWS * LONG * sizeof *values);
  for (int i = 0; i <= NROWS; i++) row_ptr[i] = (int64_t)i * LONG;
  for (int p = 0; p < NROWS * LONG; p++)
    cols[p] = p % LONG / 2 * 4 + p % 2 + p / LONG % SHIFTS * 4, values[p] = 1. / (1 + p);
  const macko_csr a = {.nrows = NROWS, .ncols = COLUMNS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32,
                       .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m;
  macko_options o;
  macko_info before, after;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE;
  ck_assert_msg(!macko_encode_part(&a, 1e6, &o, &m, &err), "%s", err.text);
  macko_get_info(m, &before);
  ck_assert_msg(!macko_refresh(m, &a, &err), "%s", err.text);
  macko_get_info(m, &after);
  ck_assert_double_eq_tol(after.seconds, before.seconds, 1e-6 * before.seconds);
  macko_destroy(&m);
  free(row_ptr), free(cols), free(values);
}
END_TEST

/* A GPU runs 6,700 warps of slices at once: a few more are another wave, which takes longer than its bytes. */
START_TEST(the_last_wave_counts)
{
  const double fewer = seconds_of_slices(6500), full = seconds_of_slices(6700), more = seconds_of_slices(6900);
  ck_assert_double_gt(full, fewer);
  ck_assert_double_gt(more - full, 1.5 * (full - fewer));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("costs");
  TCase *t = tcase_create("predictions");
  tcase_add_test(t, a_gpu_waits_for_long_rows);
  tcase_add_test(t, narrower_values_save_less_than_their_bytes);
  tcase_add_test(t, row_ends_count);
  tcase_add_test(t, rows_that_leave_room_count);
  tcase_add_test(t, uneven_rows_count);
  tcase_add_test(t, lanes_beside_a_long_row_count);
  tcase_add_test(t, the_last_wave_counts);
  tcase_add_test(t, parts_share_the_caches);
  tcase_add_test(t, slide_remembers_its_parts);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
