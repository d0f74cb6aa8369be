/* Every malformed file under test/malformed gets the status and the sentence it deserves, quickly and in little memory. */
#include "readers.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST = 400 };

static struct {
  char name[80], status[20], line[8], words[120];
} cases[MOST];
static int count;

static const char *folder(void)
{
  static char path[400];
  snprintf(path, sizeof path, "%s/test/malformed", getenv("srcdir") ? getenv("srcdir") : ".");
  return path;
}

static void load_cases(void)
{
  char path[500], row[300];
  snprintf(path, sizeof path, "%s/EXPECTED.tsv", folder());
  FILE *file = fopen(path, "r");
  if (!file) perror(path), exit(EXIT_FAILURE);
  while (count < MOST && fgets(row, sizeof row, file)) {
    if (sscanf(row, "%79[^\t]\t%19[^\t]\t%7[^\t]\t%119[^\n]", cases[count].name, cases[count].status, cases[count].line,
               cases[count].words) != 4) fprintf(stderr, "%s: %s", path, row), exit(EXIT_FAILURE);
    count++;
  }
  fclose(file);
}

static const char *status_name(macko_status status)
{
  static const char *const names[] = {
#define MACKO_STATUS_CODE(symbol, text) #symbol,
#include "status.def"
#undef MACKO_STATUS_CODE
  };
  return names[status];
}

static double seconds(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A packed file is refused before it is read where the build lacks the library for it. */
static int is_refused(const char *name)
{
  return (!HAVE_ZLIB && strstr(name, "gz") && strcmp(name, "gzip-not.mtx.gz")) || (!HAVE_LIBARCHIVE && strstr(name, ".tar"));
}

/* "FILE:LINE: ", or "FILE: " where no line is meant. */
static void check_place(const char *text, const char *path, const char *line, const char *name)
{
  char place[600];
  const char *behind = strstr(text, name);
  ck_assert_msg(behind != NULL, "%s: the sentence lacks the file's name: %s", name, text);
  if (!strcmp(line, "any")) return;
  if (strstr(name, ".tar") && strcmp(line, "0")) snprintf(place, sizeof place, ".mtx:%s: ", line);
  else if (strcmp(line, "0")) snprintf(place, sizeof place, "%s:%s: ", name, line);
  else snprintf(place, sizeof place, "%s: ", name);
  ck_assert_msg(strstr(text, place) != NULL, "%s: no \"%s\" in: %s", path, place, text);
}

START_TEST(gets_a_sentence)
{
  static const char untouched[sizeof(macko_csr)] = {1, 2, 3};
  char path[500];
  macko_csr csr;
  macko_error err = {0};
  struct rusage usage;
  memcpy(&csr, untouched, sizeof csr);
  snprintf(path, sizeof path, "%s/%s", folder(), cases[_i].name);
  double start = seconds();
  macko_status s = macko_read(path, NULL, &csr, NULL, &err);
  double taken = seconds() - start;
  getrusage(RUSAGE_SELF, &usage);
  if (is_refused(cases[_i].name)) {
    ck_assert_msg(s && strstr(err.text, cases[_i].name), "%s: %s", path, err.text);
    return;
  }
  ck_assert_msg(!strcmp(status_name(s), cases[_i].status), "%s: %s, not %s: %s", path, status_name(s),
                cases[_i].status, err.text);
  ck_assert_int_eq(err.status, s);
  check_place(err.text, path, cases[_i].line, cases[_i].name);
  ck_assert_msg(strstr(err.text, cases[_i].words) != NULL, "%s: no \"%s\" in: %s", path, cases[_i].words, err.text);
  ck_assert_mem_eq(&csr, untouched, sizeof csr);
  ck_assert_msg(taken < 1, "%s: took %g seconds", path, taken);
  ck_assert_msg(usage.ru_maxrss < 200 * 1024, "%s: took %ld kB", path, usage.ru_maxrss);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("malformed");
  TCase *t = tcase_create("files");
  load_cases();
  tcase_add_loop_test(t, gets_a_sentence, 0, count);
  suite_add_tcase(suite, t);
  int status = test_run(suite);
  return count < 60 ? EXIT_FAILURE : status;
}
