/* Reading matrix files: every kind that is documented, small and written here or packed under test/data. */
#include "readers.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a text must read as, in dense form by rows; entries is the count in the csr, explicit zeros included. */
static void check_file(const char *path, int64_t nrows, int64_t ncols, int64_t entries, const double *dense, const char *kind)
{
  macko_csr c;
  macko_file_info info;
  macko_error err = {0};
  ck_assert_msg(!macko_read(path, NULL, &c, &info, &err), "%s", err.text);
  test_check_csr(&c);
  ck_assert_str_eq(info.kind, kind);
  ck_assert_int_eq(c.nrows, nrows);
  ck_assert_int_eq(c.ncols, ncols);
  ck_assert_int_eq(test_nnz(&c), entries);
  for (int64_t i = 0; i < nrows; i++)
    for (int64_t j = 0; j < ncols; j++)
      ck_assert_msg(test_entry(&c, i, j) == dense[i * ncols + j], "%s: entry (%lld, %lld) is %g", path, (long long)i,
                    (long long)j, test_entry(&c, i, j));
  macko_free_csr(&c);
  ck_assert_ptr_null(c.values);
}

static void check_text(const char *text, int64_t nrows, int64_t ncols, int64_t entries, const double *dense, const char *kind)
{
  check_file(test_write("text.mtx", text, strlen(text)), nrows, ncols, entries, dense, kind);
}

static macko_csr read_text(const char *name, const char *text)
{
  macko_csr c;
  macko_error err = {0};
  ck_assert_msg(!macko_read(test_write(name, text, strlen(text)), NULL, &c, NULL, &err), "%s", err.text);
  test_check_csr(&c);
  return c;
}

START_TEST(coordinate_files)
{
  check_text("%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 3 3\n2 3 -1.5\n1 1 2e0\n% another\n2 1 +.25\n", 2,
             3, 3, (double[]){2, 0, 0, .25, 0, -1.5}, "Matrix Market coordinate real general");
  check_text("%%matrixmarket MATRIX Coordinate INTEGER symmetric\r\n2 2 2\r\n1 1 7\r\n\r\n 2\t1   -3  \r\n", 2, 2, 3,
             (double[]){7, -3, -3, 0}, "Matrix Market coordinate integer symmetric");
  check_text("%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 3\n2 2", 3, 3, 3,
             (double[]){0, 0, 1, 0, 1, 0, 1, 0, 0}, "Matrix Market coordinate pattern symmetric");
  /* Of real numbers a Hermitian matrix is a symmetric one. */
  check_text("%%MatrixMarket matrix coordinate real Hermitian\n2 2 2\n2 1 3\n1 1 5\n", 2, 2, 3, (double[]){5, 3, 3, 0},
             "Matrix Market coordinate real symmetric");
  check_text("%%MatrixMarket matrix array integer hermitian\n2 2\n1\n2\n3\n", 2, 2, 4, (double[]){1, 2, 2, 3},
             "Matrix Market array integer symmetric");
  check_text("%%MatrixMarket matrix coordinate double skew-symmetric\n2 2 1\n2 1 4D-1\n", 2, 2, 2, (double[]){0, -.4, .4, 0},
             "Matrix Market coordinate real skew-symmetric");
  check_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 2 1\n1 2 2\n1 2 4\n", 2, 2, 1, (double[]){0, 7, 0, 0},
             "Matrix Market coordinate real general");
  check_text("%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 0\n", 1, 2, 1, (double[]){0, 0},
             "Matrix Market coordinate real general");
}
END_TEST

/* As editors, spreadsheets and other programs write them. */
START_TEST(unusual_files)
{
  static const char *const texts[] = {
    "\xef\xbb\xbf%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 3\n",
    "%%MATRIXMARKET\tMATRIX\tCOORDINATE\tREAL\tGENERAL\n2\t2\t1\n2\t1\t3\n",
    "%%MatrixMarket matrix coordinate real general\n+2 +2 +1\n+2 +1 +3.\n\n% the end\n   \n",
    "%%MatrixMarket matrix coordinate real general\n2 2 1\n2\f1\v3e0000000000000000000000000000000000000\n",
    "%%MatrixMarket matrix coordinate real general\n2 2 2\n2 1 1.5D0\n% between\n\n2 1 15E-1"};
  char text[1400];
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    check_text(texts[i], 2, 2, 1, (double[]){0, 0, 3, 0}, "Matrix Market coordinate real general");
  snprintf(text, sizeof text, "%%%%MatrixMarket matrix coordinate real general\n2 2 1\n%0400d %0400d 0.%0300d3e301\n", 2, 1, 0);
  check_text(text, 2, 2, 1, (double[]){0, 0, 3, 0}, "Matrix Market coordinate real general");
}
END_TEST

START_TEST(array_files)
{
  check_text("%%MatrixMarket matrix array real general\n2 3\n1\n2\n0\n4\n5\n\n6\n", 2, 3, 5, (double[]){1, 0, 5, 2, 4, 6},
             "Matrix Market array real general");
  check_text("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3, 9,
             (double[]){1, 2, 3, 2, 4, 5, 3, 5, 6}, "Matrix Market array integer symmetric");
  check_text("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n", 3, 3, 6,
             (double[]){0, -1, -2, 1, 0, -3, 2, 3, 0}, "Matrix Market array real skew-symmetric");
}
END_TEST

START_TEST(matrices_without_entries)
{
  check_text("%%MatrixMarket matrix coordinate real general\n0 0 0\n", 0, 0, 0, NULL, "Matrix Market coordinate real general");
  check_text("%%MatrixMarket matrix coordinate real general\n0 3 0\n", 0, 3, 0, NULL, "Matrix Market coordinate real general");
  check_text("%%MatrixMarket matrix array real general\n3 0\n", 3, 0, 0, NULL, "Matrix Market array real general");
  check_text("%%MatrixMarket matrix array real skew-symmetric\n1 1\n", 1, 1, 0, (double[]){0},
             "Matrix Market array real skew-symmetric");
}
END_TEST

START_TEST(info_counts_what_is_stored)
{
  macko_csr c;
  macko_file_info info;
  const char *text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n2 1 1\n3 2 1\n";
  ck_assert(!macko_read(test_write("a.mtx", text, strlen(text)), NULL, &c, &info, NULL));
  ck_assert_int_eq(info.stored_entries, 3);
  ck_assert_int_eq(info.symmetric, 1);
  ck_assert_int_eq(test_nnz(&c), 5);
  macko_free_csr(&c);
}
END_TEST

START_TEST(special_values)
{
  macko_csr c = read_text("a.mtx", "%%MatrixMarket matrix coordinate real general\n1 6 6\n1 1 nan\n1 2 -Inf\n1 3 infinity\n"
                                   "1 4 -0\n1 5 4.9e-324\n1 6 1e-999\n");
  const double *v = c.values;
  ck_assert(isnan(v[0]) && v[1] == -INFINITY && v[2] == INFINITY && v[3] == 0 && signbit(v[3]) && v[4] == 0x1p-1074 && v[5] == 0);
  macko_free_csr(&c);
  c = read_text("a.mtx", "%%MatrixMarket matrix coordinate integer general\n1 3 3\n1 1 9007199254740992\n"
                         "1 2 -1152921504606846976\n1 3 9007199254740994\n");
  v = c.values;
  ck_assert(v[0] == 0x1p53 && v[1] == -0x1p60 && v[2] == 0x1p53 + 2);
  macko_free_csr(&c);
}
END_TEST

START_TEST(wide_columns_take_64_bits)
{
  macko_csr c = read_text("a.mtx", "%%MatrixMarket matrix coordinate real general\n"
                         "2 3000000000000 2\n2 3000000000000 7\n2 1 8\n");
  ck_assert_int_eq(c.col_type, MACKO_I64);
  ck_assert_int_eq(c.row_ptr_type, MACKO_I32);
  ck_assert(((const int64_t *)c.cols)[1] == 2999999999999 && ((const double *)c.values)[1] == 7);
  macko_free_csr(&c);
}
END_TEST

static uint64_t state;

static uint64_t next_random(void)
{
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return state;
}

/* Rows of every length around those where sorting changes its way, with duplicates; each sum is exact. */
START_TEST(unsorted_rows)
{
  enum { COLUMNS = 997 };
  int length = (int[]){2, 23, 24, 25, 48, 49, 200, 5000}[_i];
  double *dense = calloc(COLUMNS, sizeof *dense);
  FILE *file = fopen(test_path("rows.mtx"), "w");
  macko_csr c;
  macko_error err = {0};
  state = 88172645463325252u + (uint64_t)_i;
  fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n3 %d %d\n1 5 1\n", COLUMNS, length + 2);
  for (int k = 0; k < length; k++) {
    int col = (int)(next_random() % COLUMNS), value = (int)(next_random() % 100) + 1;
    dense[col] += value;
    fprintf(file, "2 %d %d\n", col + 1, value);
  }
  fprintf(file, "3 6 2\n");
  ck_assert(!fclose(file));
  ck_assert_msg(!macko_read(test_path("rows.mtx"), NULL, &c, NULL, &err), "%s", err.text);
  test_check_csr(&c);
  for (int j = 0; j < COLUMNS; j++) ck_assert(test_entry(&c, 1, j) == dense[j]);
  ck_assert(test_entry(&c, 0, 4) == 1 && test_entry(&c, 2, 5) == 2);
  macko_free_csr(&c);
  free(dense);
}
END_TEST

/* Texts of numbers in every style, many of them halfway between two doubles or next to it. */
static void print_number(char *text, size_t size)
{
  uint64_t bits = next_random();
  double value;
  unsigned long long whole = bits, other = next_random();
  switch (next_random() % 5) {
  case 0:
    do memcpy(&value, &bits, sizeof value), bits = next_random();
    while (!isfinite(value));
    snprintf(text, size, "%.*e", (int)(next_random() % 25) + 2, value);
    break;
  case 1: snprintf(text, size, "%llu.%llue%d", whole, other, (int)(bits % 61) - 30); break;
  case 2: snprintf(text, size, "-%lluE%d", whole >> bits % 64, (int)(next_random() % 57) - 28); break;
  case 3: snprintf(text, size, "%llu.5%s", whole >> 11 | 1ull << 52, bits & 1 ? "" : "0000000000000000000001"); break;
  default: snprintf(text, size, "%.*f", (int)(bits % 60), ldexp((double)(bits >> 11), (int)(next_random() % 60) - 60));
  }
}

START_TEST(numbers_are_correctly_rounded)
{
  enum { NUMBERS = 50000, SIZE = 200 };
  double *expected = calloc(NUMBERS, sizeof *expected);
  char text[SIZE];
  macko_csr c;
  macko_error err = {0};
  FILE *file = fopen(test_path("numbers.mtx"), "w");
  state = 88172645463325252u;
  fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n%d 1 %d\n", NUMBERS + 1, NUMBERS + 1);
  for (int i = 0; i < NUMBERS; i++) {
    print_number(text, sizeof text);
    expected[i] = strtod(text, NULL);
    fprintf(file, "%d 1 %s\n", i + 1, text);
  }
  /* 1 + 2^-53, a tie that 900 zeros and a one break upwards */
  fprintf(file, "%d 1 1.00000000000000011102230246251565404236316680908203125%0900d1\n", NUMBERS + 1, 0);
  ck_assert(!fclose(file));
  ck_assert_msg(!macko_read(test_path("numbers.mtx"), NULL, &c, NULL, &err), "%s", err.text);
  ck_assert_mem_eq(c.values, expected, NUMBERS * sizeof *expected);
  ck_assert(((const double *)c.values)[NUMBERS] == 1 + 0x1p-52);
  macko_free_csr(&c);
  free(expected);
}
END_TEST

/* ---- packed files ---- */

START_TEST(packed_files)
{
  static const struct {
    const char *name, *kind;
    int zlib, libarchive;
  } files[] = {{"small.mtx.gz", "Matrix Market coordinate real general", 1, 0},
               {"unnamed", "Matrix Market coordinate real general", 1, 0},
               {"two-members.mtx.gz", "Matrix Market coordinate real general", 1, 0},
               {"small.tar.gz", "Matrix Market coordinate real general", 1, 1},
               {"dotted.tgz", "Rutherford-Boeing real unsymmetric", 1, 1},
               {"plain.tar", "Matrix Market coordinate real general", 0, 1}};
  char path[500];
  macko_csr c;
  macko_error err = {0};
  snprintf(path, sizeof path, "%s/test/data/%s", getenv("srcdir") ? getenv("srcdir") : ".", files[_i].name);
  if (files[_i].zlib > HAVE_ZLIB || files[_i].libarchive > HAVE_LIBARCHIVE) {
    ck_assert_int_eq(macko_read(path, NULL, &c, NULL, &err), MACKO_UNSUPPORTED);
    ck_assert_msg(strstr(err.text, files[_i].zlib > HAVE_ZLIB ? "zlib" : "libarchive") != NULL, "%s", err.text);
  } else check_file(path, 2, 2, 2, (double[]){1.5, 0, -2, 0}, files[_i].kind);
}
END_TEST

/* ---- files as such ---- */

START_TEST(files_that_cannot_be_read)
{
  macko_csr c;
  macko_error err;
  ck_assert_int_eq(macko_read(test_path("missing.mtx"), NULL, &c, NULL, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, "missing.mtx: cannot be opened: No such file or directory") != NULL, "%s", err.text);
  ck_assert_int_eq(macko_read(test_path(""), NULL, &c, NULL, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, "Is a directory") != NULL, "%s", err.text);
  ck_assert_int_eq(macko_read(NULL, NULL, &c, NULL, &err), MACKO_INVALID_ARGUMENT);
}
END_TEST

/* A path longer than a sentence must not push the cause out of it. */
START_TEST(long_paths_keep_the_cause)
{
  char path[2000] = "", *at = path;
  macko_csr c;
  macko_error err;
  while (at < path + 1500) at += sprintf(at, "/no-such-folder");
  strcpy(at, "/last.mtx");
  ck_assert_int_eq(macko_read(path, NULL, &c, NULL, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, "/last.mtx: cannot be opened: No such file") != NULL, "%s", err.text);
}
END_TEST

typedef struct {
  int64_t calls, last, total;
} seen;

static void see(void *context, int64_t done, int64_t total)
{
  seen *s = context;
  ck_assert(done >= s->last && done <= total);
  s->calls++, s->last = done, s->total = total;
}

START_TEST(progress_reaches_the_end)
{
  seen s = {0};
  macko_progress progress = {see, &s};
  macko_csr c;
  FILE *file = fopen(test_path("long.mtx"), "w");
  fprintf(file, "%%%%MatrixMarket matrix array integer general\n400000 1\n");
  for (int i = 0; i < 400000; i++) fprintf(file, "%d\n", i);
  long size = ftell(file);
  ck_assert(!fclose(file));
  ck_assert(!macko_read(test_path("long.mtx"), &progress, &c, NULL, NULL));
  ck_assert(s.calls > 5);
  ck_assert_int_eq(s.last, size);
  ck_assert_int_eq(s.total, size);
  macko_free_csr(&c);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("readers");
  TCase *t = tcase_create("files");
  tcase_set_timeout(t, 300);
  tcase_add_test(t, coordinate_files);
  tcase_add_test(t, unusual_files);
  tcase_add_test(t, array_files);
  tcase_add_test(t, matrices_without_entries);
  tcase_add_test(t, info_counts_what_is_stored);
  tcase_add_test(t, special_values);
  tcase_add_test(t, wide_columns_take_64_bits);
  tcase_add_loop_test(t, unsorted_rows, 0, 8);
  tcase_add_test(t, numbers_are_correctly_rounded);
  tcase_add_loop_test(t, packed_files, 0, 6);
  tcase_add_test(t, files_that_cannot_be_read);
  tcase_add_test(t, long_paths_keep_the_cause);
  tcase_add_test(t, progress_reaches_the_end);
  suite_add_tcase(suite, t);
  test_make_folder();
  int status = test_run(suite);
  test_remove_folder();
  return status;
}
