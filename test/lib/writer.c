/* Writing Matrix Market files: the same bits come back, and a failure loses nothing. */
#include "half_value.h"
#include "readers.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N = 3000 };

static macko_csr row_of(macko_type type, const int32_t *row_ptr, const int32_t *cols, const void *values)
{
  return (macko_csr){.nrows = 1, .ncols = N, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = type,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

static double value_at(macko_type type, const uint64_t *bits, int i)
{
  double wide;
  float narrow;
  switch (type) {
  case MACKO_F64: return memcpy(&wide, &bits[i], sizeof wide), wide;
  case MACKO_F32: return memcpy(&narrow, (const char *)bits + 4 * i, sizeof narrow), (double)narrow;
  default: return test_half_value(type, ((const uint16_t *)bits)[i]);
  }
}

/* Random bits of every type: each value is written as the double it is. */
START_TEST(values_come_back)
{
  static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};
  macko_type type = types[_i % 4];
  const char *name = _i < 4 ? "values.mtx" : "values.mtx.gz";
  uint64_t bits[N], state = 88172645463325252u;
  int32_t row_ptr[] = {0, N}, cols[N];
  macko_csr back;
  macko_error err = {0};
  for (int i = 0; i < N; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    bits[i] = state, cols[i] = i;
  }
  bits[0] = 0x8000000000000000u, bits[1] = 0x7ff0000000000000u, bits[2] = 1, bits[3] = 0x3fb999999999999au;
  macko_csr c = row_of(type, row_ptr, cols, bits);
  if (_i >= 4 && !HAVE_ZLIB) {
    ck_assert_int_eq(macko_write_matrix_market(test_path(name), &c, &err), MACKO_UNSUPPORTED);
    return;
  }
  ck_assert_msg(!macko_write_matrix_market(test_path(name), &c, &err), "%s", err.text);
  ck_assert_msg(!macko_read(test_path(name), NULL, &back, NULL, &err), "%s", err.text);
  ck_assert_int_eq(test_nnz(&back), N);
  for (int i = 0; i < N; i++) {
    double expected = value_at(type, bits, i), got = ((const double *)back.values)[i];
    ck_assert_msg(isnan(expected) ? isnan(got) : !memcmp(&expected, &got, sizeof got), "%d: %a came back as %a",
                  i, expected, got);
  }
  macko_free_csr(&back);
}
END_TEST

static void read_whole(const char *path, char *text, size_t size)
{
  FILE *file = fopen(path, "r");
  ck_assert(file != NULL);
  text[fread(text, 1, size - 1, file)] = 0;
  fclose(file);
}

START_TEST(the_text_is_short_and_sorted)
{
  char text[400];
  int32_t row_ptr[] = {1, 3, 4}, cols[] = {2, 1, 2};
  double values[] = {0.1, -1, 1e100};
  macko_csr c = {.nrows = 2, .ncols = 2, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values, .index_base = 1};
  ck_assert(!macko_write_matrix_market(test_path("short.mtx"), &c, NULL));
  read_whole(test_path("short.mtx"), text, sizeof text);
  ck_assert_str_eq(text, "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 -1\n1 2 0.1\n2 2 1e+100\n");
}
END_TEST

/* Files in the test's folder; what is left after a failure would be one more. */
static int count_files(void)
{
  char command[300], text[40];
  snprintf(command, sizeof command, "ls -a '%s' | wc -l", test_path(""));
  FILE *pipe = popen(command, "r");
  ck_assert(pipe && fgets(text, sizeof text, pipe));
  pclose(pipe);
  return atoi(text);
}

START_TEST(a_failure_keeps_the_old_file)
{
  char text[40];
  const char *name = _i ? "old.mtx.gz" : "old.mtx";
  uint64_t bits[N];
  int32_t row_ptr[] = {0, N}, cols[N];
  macko_error err = {0};
  if (_i && !HAVE_ZLIB) return;
  for (int i = 0; i < N; i++) bits[i] = 0x3fb999999999999au + (uint64_t)i * 0x9e3779b97f4a7c15u % 0x10000000000000u, cols[i] = i;
  macko_csr c = row_of(MACKO_F64, row_ptr, cols, bits);
  test_write(name, "old", 3);
  int files = count_files();
  struct rlimit limit = {4096, 4096}; /* stands for a full disk */
  signal(SIGXFSZ, SIG_IGN);
  ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
  ck_assert_int_eq(macko_write_matrix_market(test_path(name), &c, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, "cannot be written: File too large") != NULL, "%s", err.text);
  read_whole(test_path(name), text, sizeof text);
  ck_assert_str_eq(text, "old");
  ck_assert_int_eq(count_files(), files);
}
END_TEST

/* The reader takes the greatest number for one that is beyond 64 bits, so that it is not written either; one less comes back. */
START_TEST(columns_beyond_the_reader)
{
  int32_t row_ptr[] = {0, 1};
  int64_t col = INT64_MAX - 2;
  double value = 4;
  macko_csr back, c = {.nrows = 1, .ncols = INT64_MAX, .row_ptr_type = MACKO_I32, .col_type = MACKO_I64, .value_type = MACKO_F64,
                       .row_ptr = row_ptr, .cols = &col, .values = &value};
  macko_error err = {0};
  const char *path = test_path("wide.mtx");
  remove(path);
  ck_assert_int_eq(macko_write_matrix_market(path, &c, &err), MACKO_LIMIT);
  ck_assert_ptr_nonnull(strstr(err.text, "wide.mtx: 9223372036854775807 columns are more"));
  ck_assert_int_ne(access(path, F_OK), 0);
  c.ncols--;
  ck_assert_int_eq(macko_write_matrix_market(path, &c, &err), MACKO_OK);
  ck_assert_msg(!macko_read(path, NULL, &back, NULL, &err), "%s", err.text);
  ck_assert_int_eq(back.ncols, INT64_MAX - 1);
  macko_free_csr(&back);
}
END_TEST

START_TEST(places_that_cannot_be_written)
{
  char text[400], link[300];
  int32_t row_ptr[] = {0, 1}, cols[] = {0}, beyond[] = {N};
  double values[] = {2};
  struct stat facts;
  macko_error err = {0};
  macko_csr c = row_of(MACKO_F64, row_ptr, cols, values);
  ck_assert_int_eq(macko_write_matrix_market(test_path("none/a.mtx"), &c, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, "No such file or directory") != NULL, "%s", err.text);
  /* A pipe of the test's own stands for a device: were it replaced, nothing outside the folder would be lost. */
  ck_assert(!mkfifo(test_path("pipe"), 0600));
  ck_assert_int_eq(macko_write_matrix_market(test_path("pipe"), &c, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, "not a regular file") != NULL, "%s", err.text);
  ck_assert(!stat(test_path("pipe"), &facts) && S_ISFIFO(facts.st_mode));
  test_write("target.mtx", "old", 3);
  snprintf(link, sizeof link, "%s", test_path("link.mtx"));
  ck_assert(!symlink("target.mtx", link));
  ck_assert(!macko_write_matrix_market(link, &c, &err));
  ck_assert(!lstat(link, &facts) && S_ISLNK(facts.st_mode));
  read_whole(test_path("target.mtx"), text, sizeof text);
  ck_assert_str_eq(text, "%%MatrixMarket matrix coordinate real general\n1 3000 1\n1 1 2\n");
  ck_assert(!chmod(test_path("target.mtx"), 0604));
  ck_assert(!macko_write_matrix_market(link, &c, &err));
  ck_assert(!stat(test_path("target.mtx"), &facts));
  ck_assert_int_eq(facts.st_mode & 0777, 0604);
  ck_assert(!symlink("nothing.mtx", test_path("dangling.mtx")));
  ck_assert(!macko_write_matrix_market(test_path("dangling.mtx"), &c, &err));
  ck_assert(!lstat(test_path("dangling.mtx"), &facts) && S_ISREG(facts.st_mode));
  ck_assert(stat(test_path("nothing.mtx"), &facts));
  c.cols = beyond;
  ck_assert_int_eq(macko_write_matrix_market(link, &c, &err), MACKO_INVALID_MATRIX);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("writer");
  TCase *t = tcase_create("files");
  tcase_add_loop_test(t, values_come_back, 0, 8);
  tcase_add_test(t, the_text_is_short_and_sorted);
  tcase_add_loop_test(t, a_failure_keeps_the_old_file, 0, 2);
  tcase_add_test(t, places_that_cannot_be_written);
  tcase_add_test(t, columns_beyond_the_reader);
  suite_add_tcase(suite, t);
  test_make_folder();
  int status = test_run(suite);
  test_remove_folder();
  return status;
}
