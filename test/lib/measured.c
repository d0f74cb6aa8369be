/* Prefer measured: what is kept has been measured to be the fastest, is remembered, and is taken from memory the next time. */
#include "core/measure.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char cache[] = "/tmp/macko-measured-XXXXXX", file[100];

static void new_cache(void)
{
  ck_assert(mkdtemp(cache) != NULL);
  snprintf(file, sizeof file, "%s/macko/measured", cache);
  ck_assert(!setenv("XDG_CACHE_HOME", cache, 1));
}

static void remove_cache(void)
{
  char folder[100];
  snprintf(folder, sizeof folder, "%s/macko", cache);
  unlink(file), rmdir(folder), rmdir(cache);
}

/* 7 diagonals, values all different. */
static macko_csr band(int64_t n)
{
  int64_t *row_ptr = calloc((size_t)n + 1, 8), *cols = malloc((size_t)n * 7 * 8), p = 0;
  double *values = malloc((size_t)n * 7 * 8);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i - 3; j <= i + 3; j++)
      if (j >= 0 && j < n) cols[p] = j, values[p] = 1 + 1.0 / (double)(p + 1), p++;
    row_ptr[i + 1] = p;
  }
  return (macko_csr){.nrows = n, .ncols = n, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

static macko_matrix *encode(const macko_csr *a, macko_format format)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.prefer = MACKO_PREFER_MEASURED, o.format = format;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s", err.text);
  return m;
}

static void free_arrays(macko_csr *a)
{
  free((void *)a->row_ptr), free((void *)a->cols), free((void *)a->values);
}

/* The only line of the file. */
static char *read_line(char line[1000])
{
  char more[1000];
  FILE *in = fopen(file, "r");
  ck_assert_msg(in != NULL, "%s is not there", file);
  ck_assert(fgets(line, 1000, in) != NULL && fgets(more, 1000, in) == NULL);
  fclose(in);
  return line;
}

/* What comes after the key: the form, and what was measured. */
static char *choice_in(char line[1000])
{
  char *at = line;
  for (int field = 0; field < 6 && at; field++) at = strchr(at, '\t') ? strchr(at, '\t') + 1 : NULL;
  ck_assert_msg(at != NULL, "%s", line);
  return at;
}

static void write_file(const char *text)
{
  FILE *out = fopen(file, "w");
  ck_assert(out != NULL && fputs(text, out) >= 0 && !fclose(out));
}

/* "; measured 10 us a multiply (predicted 9), macko slice 12 us ..." */
START_TEST(the_fastest_is_kept_and_remembered)
{
  char line[1000], start[100];
  double best, other;
  int others = 0;
  macko_csr a = band(20000);
  macko_matrix *m = encode(&a, MACKO_FORMAT_AUTO);
  const char *said = strstr(m->plan.reason, "; measured ");
  ck_assert_msg(said && sscanf(said, "; measured %lf us a multiply (predicted ", &best) == 1, "%s", m->plan.reason);
  while ((said = strstr(said, "), "))) {
    said += 3;
    ck_assert_msg(sscanf(said, "%*s %*s %lf us a multiply", &other) == 1 && other >= best, "%s", m->plan.reason);
    others++;
  }
  ck_assert_msg(others > 0 && strstr(m->plan.reason, "; remembered"), "%s", m->plan.reason);
  ck_assert_msg(!strstr(m->plan.reason, "macko paper"), "layout paper, for comparison only, is tried: %s", m->plan.reason);
  snprintf(start, sizeof start, "%s %s\t", macko_format_name(m->format), macko_layout_name(m->plan.layout));
  ck_assert_msg(!strncmp(choice_in(read_line(line)), start, strlen(start)), "%s", line);
  macko_destroy(&m);
  m = encode(&a, MACKO_FORMAT_AUTO); /* the times are told again */
  said = strstr(m->plan.reason, "; measured ");
  ck_assert_msg(said && sscanf(said, "; measured %lf us a multiply (predicted ", &other) == 1 && other == best, "%s",
                m->plan.reason);
  ck_assert_msg(strstr(said, "), ") && strstr(said, ") in an earlier run"), "%s", m->plan.reason);
  macko_destroy(&m);
  free_arrays(&a);
}
END_TEST

START_TEST(what_is_remembered_is_taken_without_measuring)
{
  char line[1000];
  macko_csr a = band(1000), b = band(1001);
  macko_matrix *m = encode(&a, MACKO_FORMAT_AUTO);
  macko_destroy(&m);
  strcpy(choice_in(read_line(line)), "dtans auto\n");
  write_file(line);
  m = encode(&a, MACKO_FORMAT_AUTO);
  ck_assert_msg(m->format == MACKO_FORMAT_DTANS && strstr(m->plan.reason, "in an earlier run"), "%s", m->plan.reason);
  macko_destroy(&m);
  m = encode(&b, MACKO_FORMAT_AUTO); /* another pattern */
  ck_assert_msg(m->format != MACKO_FORMAT_DTANS && strstr(m->plan.reason, "; measured "), "%s", m->plan.reason);
  macko_destroy(&m);
  m = encode(&a, MACKO_FORMAT_MACKO); /* another question */
  ck_assert_int_eq(m->format, MACKO_FORMAT_MACKO);
  macko_destroy(&m);
  free_arrays(&a), free_arrays(&b);
}
END_TEST

/* Lines that are cut, unknown, too long or no text at all. */
START_TEST(a_damaged_file_is_passed_over)
{
  static const char *const endings[] = {"", "\n", "ma", "macko", "nothing auto\n", "macko nothing\n", "csr slice\n", "auto auto\n",
                                        "\377\377 \377\n", "dtans auto"};
  char line[1000], text[7000];
  macko_csr a = band(1000);
  macko_matrix *m = encode(&a, MACKO_FORMAT_AUTO);
  macko_destroy(&m);
  read_line(line);
  strcpy(choice_in(line), endings[_i]);
  memset(text, 'x', 5000);
  snprintf(text + 5000, sizeof text - 5000, "\n%s", line);
  write_file(text);
  m = encode(&a, MACKO_FORMAT_AUTO);
  ck_assert_msg(strstr(m->plan.reason, "; measured ") != NULL, "%s", m->plan.reason);
  macko_destroy(&m);
  free_arrays(&a);
}
END_TEST

START_TEST(no_file_is_needed)
{
  macko_csr a = band(1000);
  ck_assert(!setenv("XDG_CACHE_HOME", "/dev/null/nowhere", 1));
  macko_matrix *m = encode(&a, MACKO_FORMAT_AUTO);
  ck_assert_msg(strstr(m->plan.reason, "; not remembered") != NULL, "%s", m->plan.reason);
  macko_destroy(&m);
  ck_assert(!unsetenv("XDG_CACHE_HOME") && !unsetenv("HOME"));
  m = encode(&a, MACKO_FORMAT_AUTO);
  ck_assert_msg(strstr(m->plan.reason, "; not remembered") != NULL, "%s", m->plan.reason);
  macko_destroy(&m);
  free_arrays(&a);
}
END_TEST

static macko_status no_rows(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  (void)context, (void)first, (void)count, (void)piece, (void)err;
  return MACKO_INVALID_MATRIX;
}

START_TEST(what_cannot_be_measured_is_refused)
{
  const macko_row_source source = {.nrows = 5, .ncols = 5, .value_type = MACKO_F64, .piece_rows = 1, .rows = no_rows};
  macko_csr a = band(10);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.prefer = MACKO_PREFER_MEASURED;
  ck_assert_int_eq(macko_encode_rows(&source, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(strstr(err.text, "prefer measured needs the whole matrix") != NULL, "%s", err.text);
  o.target = MACKO_TARGET_GPU;
  ck_assert_int_eq(macko_encode(&a, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(strstr(err.text, "prefer measured with target gpu times products on a GPU") && !m, "%s", err.text);
  free_arrays(&a);
}
END_TEST

/* What decides the fastest does not decide what is stored. */
START_TEST(the_matrix_is_the_same)
{
  macko_csr a = band(700);
  macko_matrix *m = encode(&a, MACKO_FORMAT_AUTO);
  int64_t *row_ptr = malloc(701 * 8), *cols = malloc((size_t)m->nnz * 8);
  double *values = malloc((size_t)m->nnz * 8);
  ck_assert(!macko_decode(m, row_ptr, cols, values, NULL));
  ck_assert(!memcmp(row_ptr, a.row_ptr, 701 * 8) && !memcmp(cols, a.cols, (size_t)m->nnz * 8));
  ck_assert(!memcmp(values, a.values, (size_t)m->nnz * 8));
  ((double *)a.values)[5] = 17;
  ck_assert(!macko_refresh(m, &a, NULL) && !macko_decode(m, NULL, NULL, values, NULL) && values[5] == 17);
  free(row_ptr), free(cols), free(values);
  macko_destroy(&m);
  free_arrays(&a);
}
END_TEST

/* Rows of 1 to 29 entries that have nothing in common: in a cache plain CSR is the fastest, and never the smallest. */
static macko_csr scattered(int64_t n)
{
  int64_t *row_ptr = calloc((size_t)n + 1, 8), *cols = malloc((size_t)n * 29 * 8), p = 0;
  double *values = malloc((size_t)n * 29 * 8);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = 0; j <= i * i % 29; j++) cols[p] = (i * i + j * (n / 29)) % n, values[p] = 1 + 1.0 / (double)(p + 1), p++;
    row_ptr[i + 1] = p;
  }
  return (macko_csr){.nrows = n, .ncols = n, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

static macko_info predict(const macko_csr *a, macko_prefer prefer)
{
  macko_options o;
  macko_info info;
  macko_options_init(&o);
  o.prefer = prefer;
  ck_assert(!macko_predict(a, &o, &info, NULL));
  return info;
}

/* Before anything is measured: by time, where the fewest bytes would be another form's. */
START_TEST(what_is_predicted_is_the_fastest)
{
  macko_csr a = scattered(2000);
  const macko_info measured = predict(&a, MACKO_PREFER_MEASURED), fastest = predict(&a, MACKO_PREFER_TIME);
  ck_assert_int_lt(predict(&a, MACKO_PREFER_MEMORY).bytes, fastest.bytes);
  ck_assert_int_eq(measured.format, fastest.format);
  ck_assert_int_eq(measured.bytes, fastest.bytes);
  free_arrays(&a);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("measured");
  TCase *t = tcase_create("measured");
  tcase_add_checked_fixture(t, new_cache, remove_cache);
  tcase_add_test(t, the_fastest_is_kept_and_remembered);
  tcase_add_test(t, what_is_remembered_is_taken_without_measuring);
  tcase_add_loop_test(t, a_damaged_file_is_passed_over, 0, 10);
  tcase_add_test(t, no_file_is_needed);
  tcase_add_test(t, what_cannot_be_measured_is_refused);
  tcase_add_test(t, the_matrix_is_the_same);
  tcase_add_test(t, what_is_predicted_is_the_fastest);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
