/* The container: what is saved comes back bit for bit, files of earlier versions too. With --write FOLDER it makes the golden files
 * anew. */
#include "container.h"
#include "matrices.h"
#include "suite.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { STRIDE = 5 }; /* meets every pattern and every kind of values */

macko_matrix *load(const char *path, macko_origin *origin)
{
  macko_matrix *m = NULL;
  macko_error err = {0};
  ck_assert_msg(!macko_load(path, &m, origin, &err), "%s", err.text);
  return m;
}

/* ---- round trips ---- */

/* A refresh and a copy of what was loaded are those of what was saved. */
static void same_afterwards(test_matrix *a, macko_matrix *m, macko_matrix *read, const char *what)
{
  macko_matrix *copy = NULL;
  test_fill(a, 3);
  macko_csr c = test_view(a);
  macko_error err = {0}, other = {0};
  macko_status s = macko_refresh(m, &c, &err);
  ck_assert_msg(macko_refresh(read, &c, &other) == s, "%s: \"%s\", not \"%s\"", what, other.text, err.text);
  test_same(m, read, what);
  ck_assert(!macko_copy(read, &copy, NULL));
  macko_destroy(&read);
  test_same(m, copy, what);
  macko_destroy(&copy);
}

START_TEST(every_format_and_type_comes_back)
{
  const int n = _i * STRIDE, pattern = n % TEST_PATTERNS;
  const test_kind *kind = &test_kinds[n / TEST_PATTERNS];
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++) {
    test_matrix a = test_make(pattern, kind->values, kind->type);
    macko_csr c = test_view(&a);
    macko_options o;
    macko_matrix *m = NULL;
    macko_error err = {0};
    char what[100];
    macko_options_init(&o);
    o.format = (macko_format)f;
    snprintf(what, sizeof what, "%s, %s, kind %d of %s", a.name, macko_format_name((macko_format)f), kind->values,
             macko_type_name(a.type));
    ck_assert_msg(!macko_encode(&c, &o, &m, &err), "%s: %s", what, err.text);
    ck_assert_msg(!macko_save(test_path("a.macko"), m, NULL, &err), "%s: %s", what, err.text);
    macko_matrix *read = load(test_path("a.macko"), NULL);
    test_same(m, read, what);
    test_check_decode(&a, read, what);
    same_afterwards(&a, m, read, what);
    macko_destroy(&m);
    test_free(&a);
  }
}
END_TEST

/* All combinations of options, lossy ones and those for a GPU among them. */
START_TEST(every_option_comes_back)
{
  macko_options o;
  macko_csr c = test_golden_csr();
  int kept = 0, valid = 0;
  for (int64_t n = 0; test_options(n, &o); n++) {
    macko_matrix *m = NULL;
    macko_error err = {0};
    if (macko_options_check(&o, NULL) || valid++ % 8 != _i || macko_encode(&c, &o, &m, NULL)) continue;
    ck_assert_msg(!macko_save(test_path("a.macko"), m, NULL, &err), "%s", err.text);
    macko_matrix *read = load(test_path("a.macko"), NULL);
    test_same(m, read, macko_format_name(o.format));
    macko_destroy(&m), macko_destroy(&read);
    kept++;
  }
  ck_assert_int_ge(kept, 10);
  macko_free_csr(&c);
}
END_TEST

static const char *golden_path(const char *folder, const char *name, char path[600])
{
  snprintf(path, 600, "%s/%s.macko", folder, name);
  return path;
}

static const char *golden_folder(char folder[500])
{
  const char *source = getenv("srcdir");
  snprintf(folder, 500, "%s/test/golden/container", source ? source : ".");
  return folder;
}

START_TEST(golden_files_are_read)
{
  const test_encoding *e = &test_encodings[_i];
  char folder[500], path[600];
  macko_origin origin;
  macko_csr a = test_golden_csr(), read;
  macko_file_info info;
  macko_error err = {0};
  macko_matrix *m = test_encode(&a, e), *golden = load(golden_path(golden_folder(folder), e->name, path), &origin);
  ck_assert_str_eq(origin.name, "matrix.mtx");
  ck_assert_str_eq(origin.hash, "none");
  int64_t nnz = test_nnz(&a), cols[2][500], row_ptr[2][100];
  double values[2][500];
  ck_assert_int_le(nnz, 500);
  macko_decode(m, row_ptr[0], cols[0], values[0], NULL), macko_decode(golden, row_ptr[1], cols[1], values[1], NULL);
  ck_assert_mem_eq(row_ptr[0], row_ptr[1], (size_t)(a.nrows + 1) * 8);
  ck_assert_mem_eq(cols[0], cols[1], (size_t)nnz * 8);
  ck_assert_mem_eq(values[0], values[1], (size_t)nnz * 8);
  ck_assert_msg(!macko_read(path, NULL, &read, &info, &err), "%s", err.text);
  ck_assert(read.nrows == a.nrows && read.ncols == a.ncols && test_nnz(&read) == nnz && info.stored_entries == nnz);
  test_check_csr(&read);
  ck_assert_mem_eq(read.values, a.values, (size_t)nnz * 8);
  ck_assert_mem_eq(read.cols, a.cols, (size_t)nnz * 4);
  macko_free_csr(&a), macko_free_csr(&read);
  macko_destroy(&m), macko_destroy(&golden);
}
END_TEST

/* What no JSON holds is replaced, what is too long is cut; info alone reads no sections. */
/* An entry, its mirror image in the first file only, which has its value in no other. */
START_TEST(the_head_says_what_is_symmetric)
{
  static const struct {
    const char *symmetry;
    int64_t ncols, entries, places[6][2];
    double values[6];
  } cases[] = {{"symmetric", 4, 6, {{0, 0}, {0, 2}, {1, 3}, {2, 0}, {3, 1}, {3, 3}}, {5, 1, -2, 1, -2, 0}},
               {"pattern", 4, 6, {{0, 0}, {0, 2}, {1, 3}, {2, 0}, {3, 1}, {3, 3}}, {5, 1, -2, 1, 2, 0}},
               {"pattern", 4, 6, {{0, 0}, {0, 2}, {1, 3}, {2, 0}, {3, 1}, {3, 3}}, {5, 1, -2, -2, 1, 0}},
               {"none", 4, 5, {{0, 0}, {0, 2}, {1, 3}, {2, 0}, {3, 3}}, {5, 1, -2, 1, 0}},
               {"none", 4, 5, {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {3, 3}}, {1, 1, 1, 1, 1}},
               {"none", 5, 1, {{0, 0}}, {1}},
               {"symmetric", 4, 0, {{0}}, {0}}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int f = 0; f < MACKO_FORMAT_AUTO; f++) {
      int64_t row_ptr[5] = {0}, cols[6];
      char text[8192] = "", expected[40];
      for (int64_t p = 0; p < cases[c].entries; p++) {
        cols[p] = cases[c].places[p][1];
        for (int64_t i = cases[c].places[p][0]; i < 4; i++) row_ptr[i + 1]++;
      }
      macko_csr csr = {.nrows = 4, .ncols = cases[c].ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                       .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = cases[c].values};
      macko_options o;
      macko_matrix *m = NULL;
      macko_error err = {0};
      macko_options_init(&o);
      o.format = (macko_format)f;
      ck_assert_msg(!macko_encode(&csr, &o, &m, &err) && !macko_save(test_path("s.macko"), m, NULL, &err), "%s", err.text);
      FILE *file = fopen(test_path("s.macko"), "rb");
      size_t count = fread(text, 1, sizeof text - 1, file);
      fclose(file);
      snprintf(expected, sizeof expected, "\"symmetry\": \"%s\"", cases[c].symmetry);
      ck_assert_msg(count > HEADER && strstr(text + HEADER, expected), "case %zu, %s: %s", c, macko_format_name(o.format),
                    text + HEADER);
      macko_destroy(&m);
    }
}
END_TEST

START_TEST(the_origin_and_info_come_back)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[1]);
  macko_origin origin = {.name = "a \"b\"\n\xff.mtx", .hash = "crc32:12345678", .lossy = _i}, back;
  macko_info info, head;
  macko_error err = {0};
  test_file f = test_save(m, &origin);
  macko_matrix *read = load(f.name, &back);
  ck_assert_str_eq(back.name, "a \"b\"\n?.mtx");
  ck_assert_str_eq(back.hash, origin.hash);
  ck_assert_int_eq(back.lossy, _i);
  macko_get_info(m, &info);
  ck_assert_msg(!macko_load_info(f.name, &head, &back, &err), "%s", err.text);
  info.reason = NULL;
  ck_assert_mem_eq(&info, &head, sizeof info);
  ck_assert_int_eq(macko_load_info(test_path("none"), &head, NULL, &err), MACKO_IO);
  test_close(&f);
  macko_destroy(&m), macko_destroy(&read), macko_free_csr(&a);
}
END_TEST

/* ---- pipes ---- */

typedef struct {
  int to;
  const unsigned char *bytes;
  size_t count;
} flow;

static void *pour(void *context)
{
  const flow *w = context;
  for (size_t at = 0; at < w->count;) {
    ssize_t written = write(w->to, w->bytes + at, w->count - at);
    if (written <= 0) break;
    at += (size_t)written;
  }
  close(w->to);
  return NULL;
}

START_TEST(a_pipe_is_read)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[2]), *read = NULL;
  test_file f = test_save(m, NULL);
  for (int cut = 0; cut < 2; cut++) {
    int ends[2];
    char name[40];
    pthread_t thread;
    macko_error err = {0};
    ck_assert(!pipe(ends));
    flow w = {ends[1], f.bytes, f.size - (size_t)cut};
    snprintf(name, sizeof name, "/proc/self/fd/%d", ends[0]);
    ck_assert(!pthread_create(&thread, NULL, pour, &w));
    macko_status s = macko_load(name, &read, NULL, &err);
    close(ends[0]);
    pthread_join(thread, NULL);
    ck_assert_msg(s == (cut ? MACKO_CORRUPT : MACKO_OK), "%s", err.text);
    ck_assert(!cut || strstr(err.text, "before all of it is there"));
  }
  test_same(m, read, "through a pipe");
  test_close(&f);
  macko_destroy(&m), macko_destroy(&read), macko_free_csr(&a);
}
END_TEST

START_TEST(a_build_without_the_libraries_says_so)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[0]), *read = NULL;
  macko_error err = {0};
  ck_assert_int_eq(macko_save(test_path("a.macko"), m, NULL, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(strstr(err.text, "jansson") != NULL, "%s", err.text);
  ck_assert_int_eq(macko_load(test_path("a.macko"), &read, NULL, &err), MACKO_UNSUPPORTED);
  macko_destroy(&m), macko_free_csr(&a);
}
END_TEST

static const char *folder_to_write;

START_TEST(write_golden_file)
{
  static const macko_origin origin = {"matrix.mtx", "none", 0};
  char path[600];
  macko_error err = {0};
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[_i]);
  ck_assert_msg(!macko_save(golden_path(folder_to_write, test_encodings[_i].name, path), m, &origin, &err), "%s", err.text);
  macko_destroy(&m), macko_free_csr(&a);
}
END_TEST

int main(int argc, char **argv)
{
  Suite *suite = suite_create("container");
  TCase *t = tcase_create("files");
  tcase_set_timeout(t, 120);
  if (argc == 3 && !strcmp(argv[1], "--write")) {
    folder_to_write = argv[2];
    tcase_add_loop_test(t, write_golden_file, 0, TEST_ENCODINGS);
  } else if (HAVE_CONTAINER) {
    tcase_add_loop_test(t, every_format_and_type_comes_back, 0, TEST_PATTERNS * TEST_COMBINATIONS / STRIDE);
    tcase_add_loop_test(t, every_option_comes_back, 0, 8);
    tcase_add_loop_test(t, golden_files_are_read, 0, TEST_ENCODINGS);
    tcase_add_test(t, the_head_says_what_is_symmetric);
    tcase_add_loop_test(t, the_origin_and_info_come_back, 0, 2);
    add_damage_tests(t);
    tcase_add_test(t, a_pipe_is_read);
  } else tcase_add_test(t, a_build_without_the_libraries_says_so);
  suite_add_tcase(suite, t);
  test_make_folder();
  int status = test_run(suite);
  test_remove_folder();
  return status;
}
