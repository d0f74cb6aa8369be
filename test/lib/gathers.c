/* Predictions for a GPU know how many sectors of x the entries ask for, whole or in pieces, and whatever the form; those of csr,
 * which others are compared with, know of uneven rows. */
#include "core/cost.h"
#include "macko.h"
#include "suite.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40000, LENGTH = 8, COLS = 4 * ROWS };

/* A matrix whose rows have their entries in 2, 4 or 8 sectors of four elements, which no row nearby shares. */
typedef struct {
  int64_t *row_ptr;
  int32_t *cols;
  double *values;
} scattered;

static scattered make(int sectors)
{
  scattered a = {malloc((ROWS + 1) * sizeof *a.row_ptr), malloc(ROWS * LENGTH * sizeof *a.cols),
                 malloc(ROWS * LENGTH * sizeof *a.values)};
  const int shared = LENGTH / sectors; /* entries of a sector */
  for (int64_t i = 0; i <= ROWS; i++) a.row_ptr[i] = i * LENGTH;
  for (int64_t i = 0; i < ROWS; i++)
    for (int e = 0; e < LENGTH; e++) {
      a.cols[i * LENGTH + e] = (int32_t)(4 * ((i + e / shared * (ROWS / LENGTH)) % ROWS) + e % shared);
      a.values[i * LENGTH + e] = 1 / (1.0 + (double)(i * LENGTH + e));
    }
  return a;
}

static void release(scattered *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

static macko_csr view(const scattered *a)
{
  return (macko_csr){.nrows = ROWS, .ncols = COLS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32, .value_type = MACKO_F64,
                     .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values};
}

/* Gives what is predicted of a csr. */
static macko_info predicted(const macko_csr *c, macko_format format, macko_target target)
{
  macko_options o;
  macko_info info;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = format, o.target = target;
  ck_assert_msg(!macko_predict(c, &o, &info, &err), "%s", err.text);
  return info;
}

/* Gives the seconds that are predicted for the matrix, and those of plain CSR beside them. */
static double seconds(const scattered *a, macko_format format, macko_target target, double *csr)
{
  const macko_csr c = view(a);
  const macko_info info = predicted(&c, format, target);
  *csr = info.csr_seconds;
  return info.seconds;
}

/* Gives options for a GPU: all formats, or layout slice alone. */
static macko_options gpu_options(int slices)
{
  macko_options o;
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  if (slices) o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE;
  return o;
}

/* Encodes the matrix with these options. */
static macko_matrix *encode_with(const scattered *a, const macko_options *o)
{
  const macko_csr c = view(a);
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
    scattered a = make(2 << i);
    time[i] = seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[i]);
    ck_assert_double_eq_tol(csr[i], time[i], 1e-9 * time[i]);
    release(&a);
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
    scattered a = make(i ? 8 : 2);
    time[i][0] = seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[i]);
    time[i][1] = seconds(&a, MACKO_FORMAT_MACKO, MACKO_TARGET_GPU, &csr[i]);
    ck_assert_double_eq_tol(csr[i], time[i][0], 1e-9 * csr[i]);
    release(&a);
  }
  ck_assert_double_ge(time[1][1] - time[0][1], 0.99 * (time[1][0] - time[0][0]));
}
END_TEST

/* A GPU with half the memory bandwidth takes longer for bytes, one with half the multiprocessors for the rest but the launch; the
 * first one counts. */
START_TEST(a_gpu_is_as_fast_as_it_is)
{
  const double memory = 4917, work = 132 * 1.98;
  scattered a = make(2);
  const macko_csr c = view(&a);
  const macko_info info = predicted(&c, MACKO_FORMAT_CSR, MACKO_TARGET_GPU);
  double csr;
  const double bytes = 1e-9 * (double)info.bytes * macko_h200_cost.byte, launch = 1e-9 * macko_h200_cost.launch;
  macko_know_gpu(0, work);
  ck_assert_double_eq(seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), info.seconds);
  if (_i) macko_know_gpu(memory, work / 2);
  else macko_know_gpu(memory / 2, work);
  const double expected = info.seconds + (_i ? info.seconds - bytes - launch : bytes);
  ck_assert_double_eq_tol(seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), expected, 1e-6 * expected);
  macko_know_gpu(memory, work);
  ck_assert_double_eq_tol(seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), expected, 1e-6 * expected);
  release(&a);
}
END_TEST

/* An x that the first-level caches hold is loaded once a multiprocessor, however many entries ask for it. */
START_TEST(a_small_x_is_loaded_once)
{
  double time[2], csr[2];
  scattered a = make(8);
  macko_csr c = view(&a);
  for (int64_t p = 0; p < ROWS * LENGTH; p++) a.cols[p] = (int32_t)(p % LENGTH * 512 + p / LENGTH % 512); /* 4096 columns */
  c.ncols = LENGTH * 512;
  time[0] = predicted(&c, MACKO_FORMAT_CSR, MACKO_TARGET_GPU).seconds;
  release(&a);
  a = make(2);
  time[1] = seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[1]);
  ck_assert_double_gt(time[0], time[1]); /* 132 times 1024 sectors are more than two a row, and less than eight */
  release(&a);
  a = make(8);
  ck_assert_double_lt(time[0], seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr[0]));
  release(&a);
}
END_TEST

/* Gives the seconds of a format for the same entries, whose columns are spread over so many, a sector each. */
static double seconds_of_spread(int64_t ncols, macko_format format)
{
  scattered a = make(8);
  macko_csr c = view(&a);
  for (int64_t p = 0; p < ROWS * LENGTH; p++)
    a.cols[p] = (int32_t)(p % LENGTH * (ncols / LENGTH) + 4 * 7919 * (p / LENGTH) % (ncols / LENGTH));
  c.ncols = ncols;
  const double time = predicted(&c, format, MACKO_TARGET_GPU).seconds;
  release(&a);
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

/* A warp waits for its longest row: where rows have 4 and 12 entries in turn, each differs from the mean by 4. */
START_TEST(a_gpu_waits_for_long_rows)
{
  double even, csr;
  scattered a = make(2);
  even = seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr);
  for (int64_t i = 1; i < ROWS; i += 2) a.row_ptr[i] -= LENGTH / 2;
  const double expected = 1e-9 * ROWS * (LENGTH / 2) * macko_h200_cost.csr_uneven;
  ck_assert_double_gt(expected, 0.01 * even);
  ck_assert_double_eq_tol(seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr) - even, expected, 0.05 * expected);
  release(&a);
}
END_TEST

/* Values of f32 save csr their bytes on a GPU, but for what such an entry costs besides. */
START_TEST(narrower_values_save_less_than_their_bytes)
{
  macko_options o = gpu_options(0);
  macko_info info;
  double csr;
  scattered a = make(2);
  const macko_csr c = view(&a);
  const double f64 = seconds(&a, MACKO_FORMAT_CSR, MACKO_TARGET_GPU, &csr), entries = ROWS * LENGTH;
  o.format = MACKO_FORMAT_CSR, o.values = MACKO_VALUES_F32;
  ck_assert_int_eq(macko_predict(&c, &o, &info, NULL), MACKO_OK);
  const double saved = 1e-9 * entries * (4 * macko_h200_cost.byte - macko_h200_cost.csr_narrower);
  ck_assert_double_eq_tol(f64 - info.seconds, saved, 1e-3 * saved);
  ck_assert_int_eq(info.lossy, 1);
  release(&a);
}
END_TEST

/* Gives the seconds that a CPU is predicted to take where entry p has column p * stride of so many. */
static double seconds_on_a_cpu(int64_t stride, int64_t ncols, macko_format format)
{
  scattered a = make(2);
  macko_csr c = view(&a);
  c.ncols = ncols;
  for (int64_t p = 0; p < ROWS * LENGTH; p++) a.cols[p] = (int32_t)(p / LENGTH + p % LENGTH * stride);
  const double taken = predicted(&c, format, MACKO_TARGET_CPU).seconds;
  release(&a);
  return taken;
}

/* A core of a CPU loads lines of x that its own caches do not hold: an x of 64 MB is in none of them, one of 16 KB in any. What is
 * asked for again soon is loaded once. */
START_TEST(a_cpu_loads_lines)
{
  const macko_format formats[] = {MACKO_FORMAT_CSR, MACKO_FORMAT_ECCSR};
  const int64_t far = 1000003, wide = LENGTH * far;
  scattered a = make(8);
  for (int i = 0; i < 2; i++) {
    const double near = seconds_on_a_cpu(1, wide, formats[i]), apart = seconds_on_a_cpu(far, wide, formats[i]);
    ck_assert_double_ge(apart, near);
    ck_assert_double_lt(apart, 1.3 * near); /* a line is asked for by eight rows that follow each other */
  }
  macko_csr c = view(&a);
  for (int64_t i = 0; i < ROWS; i++)
    for (int e = 0; e < LENGTH; e++) a.cols[i * LENGTH + e] = (int32_t)(i * 7 % 256 + 256 * e);
  c.ncols = 2048;
  const double spread = predicted(&c, MACKO_FORMAT_CSR, MACKO_TARGET_CPU).seconds;
  for (int64_t i = 0; i < ROWS; i++)
    for (int e = 0; e < LENGTH; e++) a.cols[i * LENGTH + e] = (int32_t)(i * 7919 % ROWS * 25 + far * e);
  c.ncols = wide;
  ck_assert_double_gt(predicted(&c, MACKO_FORMAT_CSR, MACKO_TARGET_CPU).seconds, 1.3 * spread);
  release(&a);
}
END_TEST

/* Gives the same number every time, which looks like chance. */
static uint64_t by_chance(int64_t i)
{
  const uint64_t mixed = (uint64_t)i * 0x9e3779b97f4a7c15u;
  return (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
}

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
  *piece = view(a);
  piece->nrows = count, piece->row_ptr = starts;
  piece->cols = a->cols + a->row_ptr[first], piece->values = a->values + a->row_ptr[first];
  return MACKO_OK;
}

/* The samples are the same where rows come in pieces, also those of sorted rows. */
START_TEST(pieces_are_predicted_alike)
{
  scattered a = _i ? make_pairs(1) : make(4);
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
  release(&a);
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
    release(&a);
  }
  ck_assert_double_eq(nnz[0], nnz[1]);
  ck_assert_double_gt((time[1] - csr[1]) - (time[0] - csr[0]), 1e-9 * nnz[0] / 4 * macko_h200_cost.apart);
}
END_TEST

/* Gives the nanoseconds, less those of bytes, that a GPU is predicted to take in layout row for ROWS * LENGTH entries of f16 in
 * rows of so many each. */
static double time_of_rows(int64_t length, int64_t ncols)
{
  scattered a = make(2);
  macko_csr c = view(&a);
  macko_options o;
  macko_info info;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW, o.gap_bits = 8, o.target = MACKO_TARGET_GPU;
  c.value_type = MACKO_F16, c.ncols = ncols, c.nrows = ROWS * LENGTH / length;
  for (int64_t r = 0; r <= c.nrows; r++) a.row_ptr[r] = r * length;
  for (int64_t p = 0; p < c.nrows * length; p++) a.cols[p] = (int32_t)(p % length * 20);
  ck_assert_msg(!macko_predict(&c, &o, &info, &err), "%s", err.text);
  release(&a);
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
  scattered a = make(2);
  macko_csr c = view(&a);
  c.nrows = nrows;
  for (int64_t r = 0; r <= nrows; r++) a.row_ptr[r] = r * length;
  for (int64_t p = 0; p < nrows * length; p++) a.cols[p] = (int32_t)(p % length);
  const macko_info info = predicted(&c, MACKO_FORMAT_CSR, MACKO_TARGET_GPU);
  release(&a);
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
  scattered a = make(2);
  macko_csr c = view(&a);
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
  release(&a);
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

/* A GPU runs 6,700 warps of slices at once: a few more are another wave, which takes longer than its bytes. */
START_TEST(the_last_wave_counts)
{
  const double fewer = seconds_of_slices(6500), full = seconds_of_slices(6700), more = seconds_of_slices(6900);
  ck_assert_double_gt(full, fewer);
  ck_assert_double_gt(more - full, 1.5 * (full - fewer));
}
END_TEST

/* A file keeps what was predicted, of both forms. */
START_TEST(files_keep_it)
{
  const char *path = "gathers.macko";
  scattered a = make(8);
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
  release(&a);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gathers");
  TCase *t = tcase_create("predictions");
  tcase_add_test(t, a_gpu_loads_sectors);
  tcase_add_test(t, every_form_gathers_alike);
  tcase_add_test(t, a_gpu_waits_for_long_rows);
  tcase_add_test(t, a_small_x_is_loaded_once);
  tcase_add_test(t, slices_leave_the_cache_to_x);
  tcase_add_test(t, narrower_values_save_less_than_their_bytes);
  tcase_add_test(t, a_cpu_loads_lines);
  tcase_add_loop_test(t, a_gpu_is_as_fast_as_it_is, 0, 2);
  tcase_add_loop_test(t, pieces_are_predicted_alike, 0, 2);
  tcase_add_test(t, sorted_rows_gather_apart);
  tcase_add_test(t, row_ends_count);
  tcase_add_test(t, rows_that_leave_room_count);
  tcase_add_test(t, uneven_rows_count);
  tcase_add_test(t, the_last_wave_counts);
  tcase_add_test(t, files_keep_it);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
