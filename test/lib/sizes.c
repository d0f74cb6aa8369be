/* What is stored takes the bytes that it should, plan's count is exact, and options decide what is chosen. */
#include "matrices.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int64_t rows, cols, *row_ptr;
  int32_t *col;
  double *values;
} plain;

static macko_csr view(const plain *a)
{
  return (macko_csr){.nrows = a->rows, .ncols = a->cols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32,
                     .value_type = MACKO_F64, .row_ptr = a->row_ptr, .cols = a->col, .values = a->values};
}

static plain room(int64_t rows, int64_t cols, int64_t nnz)
{
  return (plain){rows, cols, calloc((size_t)rows + 1, 8), malloc((size_t)nnz * 4), malloc((size_t)nnz * 8)};
}

static void release(plain *a)
{
  free(a->row_ptr), free(a->col), free(a->values);
}

static double nonzero(void)
{
  return 1 + (double)test_draw();
}

static plain uniform_random(int64_t rows, int64_t cols, double density)
{
  plain a = room(rows, cols, rows * cols);
  int64_t n = 0;
  test_seed((uint64_t)(density * 1000));
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++)
      if ((double)test_draw() < density * 2147483648.0) a.col[n] = (int32_t)j, a.values[n++] = nonzero();
    a.row_ptr[i + 1] = n;
  }
  return a;
}

static plain stencil(int64_t n, int points)
{
  plain a = room(n * n * n, n * n * n, n * n * n * points);
  int64_t count = 0;
  for (int64_t i = 0; i < a.rows; i++) {
    for (int64_t d = -n * n - n - 1; d <= n * n + n + 1; d++) {
      int64_t j = i + d, dx = llabs(j % n - i % n), dy = llabs(j / n % n - i / n % n), dz = llabs(j / n / n - i / n / n);
      if (j < 0 || j >= a.rows || dx > 1 || dy > 1 || dz > 1 || (points == 7 && dx + dy + dz > 1)) continue;
      a.col[count] = (int32_t)j, a.values[count++] = nonzero();
    }
    a.row_ptr[i + 1] = count;
  }
  return a;
}

static macko_info encode_info(const plain *a, const char *layout, const char *bits, const char *values)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_info info;
  macko_csr c = view(a);
  macko_options_init(&o);
  ck_assert(!macko_options_set(&o, "format", "macko", &err) && !macko_options_set(&o, "layout", layout, &err));
  ck_assert(!macko_options_set(&o, "gap_bits", bits, &err) && !macko_options_set(&o, "values", values, &err));
  o.prefer = MACKO_PREFER_MEMORY;
  ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
  macko_get_info(m, &info);
  info.reason = NULL;
  macko_destroy(&m);
  return info;
}

/* arXiv 2511.13061, section 3: a gap beyond 2^b costs one padding entry for each further 2^b columns. With entries at density d,
 * a row stores 1 / (1 - (1 - d)^(2^b)) entries for each of its own, each of b bits and a value. */
START_TEST(paper_layout_has_the_papers_effective_density)
{
  static const double densities[] = {0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9};
  static const char *const bits[] = {"1", "2", "4", "8"};
  double d = densities[_i / 4];
  int b = 1 << _i % 4;
  plain a = uniform_random(400, 4000, d);
  macko_info info = encode_info(&a, "paper", bits[_i % 4], "raw");
  double nnz = (double)a.row_ptr[a.rows], row_ptr = 4.0 * (double)(a.rows + 1);
  double expected = d * 400 * 4000 / (1 - pow(1 - d, 1 << b)) * (8 + b / 8.0);
  ck_assert_msg(fabs((double)info.bytes - row_ptr - expected) <= 0.01 * expected, "density %g, %d bits: %ld bytes, not %g", d, b,
                (long)info.bytes, expected + row_ptr);
  ck_assert(nnz == (double)info.nnz);
  release(&a);
}
END_TEST

/* One gap far beyond 2^b adds at most 4 bytes (and the row starts of the list, once), not gap / 2^b entries. */
START_TEST(a_long_gap_has_a_bounded_cost)
{
  plain a = room(100, 2000000, 100 * 50);
  for (int64_t i = 0, n = 0; i < 100; i++) {
    for (int64_t k = 0; k < 50; k++, n++) a.col[n] = (int32_t)(k + (k > 25 ? 1900000 : 0)), a.values[n] = nonzero();
    a.row_ptr[i + 1] = n;
  }
  macko_info info = encode_info(&a, "row", "1", "raw");
  ck_assert_int_eq(info.bytes, 101 * 4 + 5000 * 8 + (5000 + 7) / 8 + 101 * 4 + 100 * 4);
  ck_assert_int_eq(info.gap_bits, 1);
  release(&a);
}
END_TEST

static int row_width(const plain *a, macko_prefer prefer, macko_target target)
{
  macko_options o;
  macko_info info;
  macko_csr c = view(a);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_ROW, o.prefer = prefer, o.target = target;
  ck_assert(!macko_predict(&c, &o, &info, NULL));
  return info.gap_bits;
}

/* Of entries at density 0.2 one in 28 has a gap beyond 4 bits. The bytes of a list of these are the fewest, but a GPU's lanes wait
 * for each other wherever one looks a gap up; at density 0.5 hardly any does. At density 0.95 two bits hold nearly all gaps, for
 * which there is no fast kernel. */
START_TEST(the_width_of_gaps_goes_by_time)
{
  plain few = uniform_random(50, 4000, 0.2), many = uniform_random(50, 4000, 0.5), most = uniform_random(50, 4000, 0.95);
  ck_assert_int_eq(row_width(&few, MACKO_PREFER_MEMORY, MACKO_TARGET_GPU), 4);
  ck_assert_int_eq(row_width(&few, MACKO_PREFER_TIME, MACKO_TARGET_GPU), 8);
  ck_assert_int_eq(row_width(&few, MACKO_PREFER_TIME, MACKO_TARGET_CPU), 4);
  ck_assert_int_eq(row_width(&many, MACKO_PREFER_TIME, MACKO_TARGET_GPU), 4);
  ck_assert_int_eq(row_width(&most, MACKO_PREFER_MEMORY, MACKO_TARGET_GPU), 2);
  ck_assert_int_eq(row_width(&most, MACKO_PREFER_TIME, MACKO_TARGET_GPU), 4);
  ck_assert_int_eq(row_width(&most, MACKO_PREFER_TIME, MACKO_TARGET_CPU), 2);
  release(&few), release(&many), release(&most);
}
END_TEST

/* On a mesh numbered in order the columns are nearly free: a few percent above the values alone. */
START_TEST(slice_layout_stores_a_mesh_in_its_values)
{
  plain a = stencil(32, _i);
  macko_info info = encode_info(&a, "slice", "auto", "raw");
  double values = 8.0 * (double)info.nnz;
  ck_assert_msg((double)info.bytes < 1.12 * values, "%d-point: %ld bytes for %g of values", _i, (long)info.bytes, values);
  release(&a);
}
END_TEST

START_TEST(codecs_choose_the_fewest_bytes)
{
  plain a = stencil(8, 7);
  int64_t nnz = a.row_ptr[a.rows];
  /* A table of nearly all values pays nothing. */
  ck_assert_int_eq(encode_info(&a, "row", "auto", "auto").values, MACKO_VALUES_RAW);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = (double)(p % 700) / 3;
  macko_info info = encode_info(&a, "row", "auto", "auto");
  ck_assert(info.values == MACKO_VALUES_DICT && info.stored_type == MACKO_U16);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = (double)p;
  ck_assert_int_eq(encode_info(&a, "row", "auto", "auto").stored_type, MACKO_F32);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = (double)(p % 9) - 4;
  ck_assert_int_eq(encode_info(&a, "row", "auto", "auto").stored_type, MACKO_I8);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = (double)(p % 9) / 3;
  info = encode_info(&a, "row", "auto", "auto");
  ck_assert(info.stored_type == MACKO_U8 && info.values == MACKO_VALUES_DICT && !info.lossy);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = (double)p / 3;
  info = encode_info(&a, "slice", "auto", "f32");
  ck_assert(info.stored_type == MACKO_F32 && info.values == MACKO_VALUES_F32 && info.lossy);
  release(&a);
}
END_TEST

/* The fewest bytes and the fastest loop are not the same: 16-bit codes are looked up one by one, and rows of other lengths leave
 * lanes idle. What is predicted is what is then encoded. */
START_TEST(prefer_decides)
{
  plain a = stencil(12, 7);
  macko_csr c = view(&a);
  macko_options o;
  macko_info info[2];
  char reason[2][512];
  for (int64_t p = 0; p < a.row_ptr[a.rows]; p++) a.values[p] = (double)(p % 700) / 3;
  for (int prefer = MACKO_PREFER_TIME; prefer <= MACKO_PREFER_MEMORY; prefer++) {
    macko_matrix *m = NULL;
    macko_info predicted;
    macko_options_init(&o);
    ck_assert(o.prefer == MACKO_PREFER_TIME && !macko_options_set(&o, "prefer", macko_prefer_name((macko_prefer)prefer), NULL));
    ck_assert(!macko_encode(&c, &o, &m, NULL) && !macko_predict(&c, &o, &predicted, NULL));
    macko_get_info(m, &info[prefer]);
    snprintf(reason[prefer], sizeof reason[prefer], "%s", info[prefer].reason);
    ck_assert(predicted.bytes == info[prefer].bytes && predicted.format == info[prefer].format && predicted.nsections == 0 &&
              predicted.layout == info[prefer].layout && predicted.values == info[prefer].values &&
              !strcmp(predicted.reason, reason[prefer]));
    macko_destroy(&m);
  }
  ck_assert_int_eq(info[MACKO_PREFER_MEMORY].values, MACKO_VALUES_DICT);
  ck_assert_int_eq(info[MACKO_PREFER_TIME].values, MACKO_VALUES_RAW);
  ck_assert(info[MACKO_PREFER_MEMORY].bytes < info[MACKO_PREFER_TIME].bytes);
  ck_assert_msg(strstr(reason[MACKO_PREFER_TIME], " us a multiply, "), "%s", reason[MACKO_PREFER_TIME]);
  ck_assert_msg(strstr(reason[MACKO_PREFER_MEMORY], "csr takes "), "%s", reason[MACKO_PREFER_MEMORY]);
  ck_assert_ptr_null(macko_prefer_name(MACKO_PREFER_COUNT));
  ck_assert_int_eq(macko_options_set(&o, "prefer", "tine", NULL), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_predict(&c, NULL, NULL, NULL), MACKO_INVALID_ARGUMENT);
  release(&a);
}
END_TEST

/* Encoded with these options; *reason is that of the matrix, whatever its format. */
static macko_info info_by(const macko_csr *c, macko_format format, macko_prefer prefer, macko_target target, char reason[512])
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_info info;
  macko_options_init(&o);
  o.format = format, o.prefer = prefer, o.target = target;
  ck_assert_msg(!macko_encode(c, &o, &m, &err), "%s", err.text);
  macko_get_info(m, &info);
  snprintf(reason, 512, "%s", info.reason);
  info.reason = NULL;
  macko_destroy(&m);
  return info;
}

static int has_target(macko_format format, macko_target target)
{
  macko_options o;
  macko_options_init(&o);
  o.format = format, o.target = target;
  return !macko_options_check(&o, NULL);
}

/* By memory automatic choice takes no more bytes than any format by itself that it looks at, and says what the others take: on a
 * CPU all of them, as by time not dtans; for a GPU those that are encoded there. */
START_TEST(automatic_choice_takes_the_fewest_bytes)
{
  test_matrix a = test_make(_i % TEST_PATTERNS, _i / TEST_PATTERNS, MACKO_F64);
  macko_csr c = test_view(&a);
  char reason[512], other[512], name[32];
  for (int target = MACKO_TARGET_CPU; target <= MACKO_TARGET_GPU; target++) {
    macko_info best = info_by(&c, MACKO_FORMAT_AUTO, MACKO_PREFER_MEMORY, (macko_target)target, reason);
    for (int f = 0; f < MACKO_FORMAT_AUTO; f++) {
      if (!has_target((macko_format)f, (macko_target)target)) continue;
      snprintf(name, sizeof name, "; %s takes ", macko_format_name((macko_format)f));
      if (f == MACKO_FORMAT_SLIDE && target == MACKO_TARGET_GPU) continue; /* which only the host encodes */
      macko_info info = info_by(&c, (macko_format)f, MACKO_PREFER_MEMORY, (macko_target)target, other);
      ck_assert_msg(best.bytes <= info.bytes, "%s: auto %lld bytes, %s %lld; %s", a.name, (long long)best.bytes,
                    macko_format_name((macko_format)f), (long long)info.bytes, reason);
      ck_assert_msg(f == (int)best.format || strstr(reason, name), "%s: no \"%s\" in \"%s\"", a.name, name, reason);
    }
  }
  macko_info info = info_by(&c, MACKO_FORMAT_AUTO, MACKO_PREFER_TIME, MACKO_TARGET_CPU, reason);
  ck_assert_msg(info.format != MACKO_FORMAT_DTANS && !strstr(reason, "dtans"), "%s", reason);
  test_free(&a);
}
END_TEST

/* Few values that are frequent and many that are rare: no code of one length suits. A layout of format macko leaves dtans out. */
START_TEST(memory_takes_dtans_where_it_is_smallest)
{
  plain a = uniform_random(400, 4000, 0.05);
  for (int64_t p = 0; p < a.row_ptr[a.rows]; p++) a.values[p] = p % 10 ? 1 : (double)(p % 3000) / 3;
  macko_csr c = view(&a);
  char reason[512];
  macko_options o;
  macko_info info = info_by(&c, MACKO_FORMAT_AUTO, MACKO_PREFER_MEMORY, MACKO_TARGET_CPU, reason);
  ck_assert_msg(info.format == MACKO_FORMAT_DTANS, "%s", reason);
  ck_assert(!strncmp(reason, "dtans ", 6) && strstr(reason, "; csr takes ") && strstr(reason, "; macko takes "));
  macko_options_init(&o);
  o.prefer = MACKO_PREFER_MEMORY, o.layout = MACKO_LAYOUT_ROW;
  ck_assert(!macko_predict(&c, &o, &info, NULL) && info.format == MACKO_FORMAT_MACKO && info.layout == MACKO_LAYOUT_ROW);
  o.prefer = MACKO_PREFER_TIME, o.layout = MACKO_LAYOUT_AUTO, o.values = MACKO_VALUES_CODED; /* no other format can */
  ck_assert(!macko_predict(&c, &o, &info, NULL) && info.format == MACKO_FORMAT_DTANS);
  release(&a);
}
END_TEST

/* 1 + 2^-11 + 2^-40 lies just above the middle of two f16 numbers: rounding to f32 on the way would put it on the middle. */
START_TEST(lossy_values_are_rounded_once)
{
  static const double numbers[] = {1.0 / 3, 1 + 0x1p-11 + 0x1p-40, 65519.999, 1e-30, 1e300};
  static const double f16[] = {0x1.554p-2, 1 + 0x1p-10, 65504, 0, INFINITY};
  int32_t row_ptr[] = {0, 5}, cols[] = {0, 1, 2, 3, 4};
  double back[5];
  macko_csr c = {.nrows = 1, .ncols = 5, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = numbers};
  macko_options o;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.values = MACKO_VALUES_F16, o.overflow = MACKO_OVERFLOW_ALLOW;
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
    o.format = (macko_format)f;
    if (macko_options_check(&o, NULL)) continue;
    ck_assert(!macko_encode(&c, &o, &m, NULL));
    macko_decode(m, NULL, NULL, back, NULL);
    for (int i = 0; i < 5; i++) ck_assert_double_eq(back[i], f16[i]);
    macko_destroy(&m);
  }
}
END_TEST

/* What a reason says of times, info has as numbers. */
START_TEST(predictions_are_numbers)
{
  plain a = stencil(12, 7);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_info info;
  macko_csr c = view(&a);
  double predicted, csr;
  for (int64_t p = 0; p < a.row_ptr[a.rows]; p++) a.values[p] = -1;
  macko_options_init(&o);
  ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s", err.text);
  macko_get_info(m, &info);
  const char *text = strstr(info.reason, "; predicted "), *other = text ? strstr(text, ", csr ") : NULL;
  ck_assert_msg(other && sscanf(text, "; predicted %lg us", &predicted) == 1 && sscanf(other, ", csr %lg us", &csr) == 1, "%s",
                info.reason);
  ck_assert_double_eq_tol(1e6 * info.seconds, predicted, 0.01 * predicted);
  ck_assert_double_eq_tol(1e6 * info.csr_seconds, csr, 0.01 * csr);
  macko_destroy(&m);
  release(&a);
}
END_TEST

/* Makes the matrix of two unknowns at each node of a grid of n x n x n, where nodes that touch are coupled, f32. */
static plain two_unknowns(int n)
{
  const int64_t nodes = (int64_t)n * n * n;
  plain a = room(2 * nodes, 2 * nodes, 108 * nodes);
  for (int64_t i = 0, count = 0; i < nodes; i++)
    for (int u = 0; u < 2; u++, a.row_ptr[2 * i + u] = count)
      for (int64_t z = i / n / n - 1; z <= i / n / n + 1; z++)
        for (int64_t y = i / n % n - 1; y <= i / n % n + 1; y++)
          for (int64_t x = i % n - 1; x <= i % n + 1; x++)
            for (int v = 0; v < 2 && z >= 0 && z < n && y >= 0 && y < n && x >= 0 && x < n; v++)
              ((float *)a.values)[count] = (float)nonzero(), a.col[count++] = (int32_t)(2 * ((z * n + y) * n + x) + v);
  return a;
}

/* Rows are put in the order that multiplies faster, also where a sample of them is not asked first because the format is given. */
START_TEST(a_format_asked_for_has_its_best_order)
{
  plain a = two_unknowns(20);
  macko_csr c = view(&a);
  macko_options asked, any;
  macko_info info[2];
  macko_error err = {0};
  c.value_type = MACKO_F32;
  macko_options_init(&asked), macko_options_init(&any);
  asked.format = MACKO_FORMAT_MACKO, any.layout = MACKO_LAYOUT_SLICE;
  ck_assert_msg(!macko_predict(&c, &asked, &info[0], &err), "%s", err.text);
  ck_assert_msg(!macko_predict(&c, &any, &info[1], &err), "%s", err.text);
  ck_assert_msg(info[0].seconds <= 1.001 * info[1].seconds, "%s takes %g s, %s %g s", info[0].reason, info[0].seconds,
                info[1].reason, info[1].seconds);
  release(&a);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("sizes");
  TCase *t = tcase_create("bytes");
  tcase_set_timeout(t, 60);
  tcase_add_loop_test(t, paper_layout_has_the_papers_effective_density, 0, 28);
  tcase_add_test(t, predictions_are_numbers);
  tcase_add_test(t, a_long_gap_has_a_bounded_cost);
  tcase_add_test(t, the_width_of_gaps_goes_by_time);
  tcase_add_loop_test(t, slice_layout_stores_a_mesh_in_its_values, 7, 8);
  tcase_add_loop_test(t, slice_layout_stores_a_mesh_in_its_values, 27, 28);
  tcase_add_test(t, codecs_choose_the_fewest_bytes);
  tcase_add_test(t, prefer_decides);
  tcase_add_loop_test(t, automatic_choice_takes_the_fewest_bytes, 0, TEST_PATTERNS * TEST_VALUES);
  tcase_add_test(t, memory_takes_dtans_where_it_is_smallest);
  tcase_add_test(t, lossy_values_are_rounded_once);
  tcase_add_test(t, a_format_asked_for_has_its_best_order);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
