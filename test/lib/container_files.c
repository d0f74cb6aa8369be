/* Saving where it cannot go well: a sentence, nothing left over, and the old file whole. */
#include "containers.h"
#include "suite.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OLD = 0, NEW = 2 };

static macko_matrix *make(int encoding)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[encoding]);
  macko_free_csr(&a);
  return m;
}

/* Fails unless path holds the matrix of that encoding. */
static void holds(const char *path, int encoding)
{
  macko_matrix *m = make(encoding), *read = NULL;
  macko_error err = {0};
  ck_assert_msg(!macko_load(path, &read, NULL, &err), "%s", err.text);
  test_same(m, read, "on disk");
  macko_destroy(&m), macko_destroy(&read);
}

static int count_files(const char *folder)
{
  DIR *d = opendir(folder);
  int count = 0;
  ck_assert(d != NULL);
  while (readdir(d)) count++;
  closedir(d);
  return count;
}

static void save(const char *path, int encoding)
{
  macko_matrix *m = make(encoding);
  macko_error err = {0};
  ck_assert_msg(!macko_save(path, m, NULL, &err), "%s", err.text);
  macko_destroy(&m);
}

static void cannot_save(const char *path, const char *words)
{
  macko_matrix *m = make(NEW);
  macko_error err = {0};
  ck_assert_int_eq(macko_save(path, m, NULL, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, words) && !strncmp(err.text, path, strlen(path)), "%s", err.text);
  macko_destroy(&m);
}

/* A limit stands for a full disk: at every page of the file. */
START_TEST(a_full_disk_keeps_the_old_file)
{
  char path[300], folder[300];
  snprintf(path, sizeof path, "%s", test_path("full.macko"));
  snprintf(folder, sizeof folder, "%s", test_path(""));
  save(path, OLD);
  int files = count_files(folder);
  signal(SIGXFSZ, SIG_IGN);
  for (rlim_t size = 0; size < 16384; size += 2048) {
    struct rlimit limit = {size, RLIM_INFINITY};
    ck_assert(!setrlimit(RLIMIT_FSIZE, &limit));
    cannot_save(path, "cannot be written: File too large");
    ck_assert_int_eq(count_files(folder), files);
  }
  holds(path, OLD);
}
END_TEST

START_TEST(what_is_no_file_is_not_replaced)
{
  struct stat facts;
  cannot_save("/dev/full", "is not a regular file");
  ck_assert(!stat("/dev/full", &facts) && S_ISCHR(facts.st_mode));
  cannot_save(test_path(""), "is not a regular file");
  cannot_save(test_path("none/a.macko"), "No such file or directory");
}
END_TEST

/* The folder may be read only: root becomes somebody else, whom permissions concern. */
START_TEST(without_the_right_to_write_nothing_changes)
{
  char path[300], folder[300];
  snprintf(folder, sizeof folder, "%s", test_path("closed"));
  snprintf(path, sizeof path, "%s", test_path("closed/a.macko"));
  ck_assert(!mkdir(folder, 0755));
  save(path, OLD);
  ck_assert(!chmod(test_path(""), 0755) && !chmod(path, 0644) && !chmod(folder, 0555));
  const int root = !geteuid();
  if (root) ck_assert(!seteuid(65534));
  cannot_save(path, "cannot be created: Permission denied");
  if (root) ck_assert(!seteuid(0));
  ck_assert_int_eq(count_files(folder), 3);
  holds(path, OLD);
  ck_assert(!chmod(folder, 0755));
}
END_TEST

START_TEST(without_the_right_to_read_there_is_a_sentence)
{
  char path[300];
  macko_matrix *m = NULL;
  macko_error err = {0};
  snprintf(path, sizeof path, "%s", test_path("secret.macko"));
  save(path, OLD);
  ck_assert(!chmod(test_path(""), 0755) && !chmod(path, 0));
  const int root = !geteuid();
  if (root) ck_assert(!seteuid(65534));
  ck_assert_int_eq(macko_load(path, &m, NULL, &err), MACKO_IO);
  if (root) ck_assert(!seteuid(0));
  ck_assert_msg(strstr(err.text, "cannot be opened: Permission denied") != NULL, "%s", err.text);
  ck_assert_int_eq(macko_load(test_path(""), &m, NULL, &err), MACKO_IO);
  ck_assert_msg(strstr(err.text, "cannot be read: Is a directory") != NULL, "%s", err.text);
  ck_assert_int_eq(macko_load(test_path("none"), &m, NULL, &err), MACKO_IO);
  ck_assert_int_eq(macko_load(NULL, &m, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_save(NULL, m, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_ptr_null(m);
}
END_TEST

START_TEST(links_and_permissions_stay)
{
  char link[300];
  struct stat facts;
  snprintf(link, sizeof link, "%s", test_path("link.macko"));
  save(test_path("target.macko"), OLD);
  ck_assert(!chmod(test_path("target.macko"), 0604) && !symlink("target.macko", link));
  save(link, NEW);
  ck_assert(!lstat(link, &facts) && S_ISLNK(facts.st_mode));
  ck_assert(!stat(test_path("target.macko"), &facts));
  ck_assert_int_eq(facts.st_mode & 0777, 0604);
  holds(link, NEW);
}
END_TEST

typedef struct {
  const char *path;
  macko_matrix *m;
  int failed;
} writer;

enum { ROUNDS = 60 };

static void *write_often(void *context)
{
  writer *w = context;
  for (int i = 0; i < ROUNDS; i++) w->failed += macko_save(w->path, w->m, NULL, NULL) != MACKO_OK;
  return NULL;
}

/* Whoever reads meanwhile sees the file of one of them, whole. */
START_TEST(two_writers_do_not_mix)
{
  char path[300], folder[300];
  pthread_t threads[2];
  macko_matrix *matrices[] = {make(OLD), make(NEW)};
  macko_info first, second, seen;
  int of[2] = {0};
  snprintf(path, sizeof path, "%s", test_path("shared.macko"));
  snprintf(folder, sizeof folder, "%s", test_path(""));
  save(path, OLD);
  int files = count_files(folder);
  macko_get_info(matrices[0], &first), macko_get_info(matrices[1], &second);
  writer writers[] = {{path, matrices[0], 0}, {path, matrices[1], 0}};
  for (int i = 0; i < 2; i++) ck_assert(!pthread_create(&threads[i], NULL, write_often, &writers[i]));
  for (int i = 0; i < ROUNDS; i++) {
    macko_matrix *read = NULL;
    macko_error err = {0};
    ck_assert_msg(!macko_load(path, &read, NULL, &err), "%s", err.text);
    macko_get_info(read, &seen);
    ck_assert(seen.format == first.format || seen.format == second.format);
    of[seen.format == second.format]++;
    test_same(read, matrices[seen.format == second.format], "between two writers");
    macko_destroy(&read);
  }
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  ck_assert_int_eq(writers[0].failed + writers[1].failed, 0);
  ck_assert_int_eq(of[0] + of[1], ROUNDS);
  ck_assert_int_eq(count_files(folder), files);
  macko_destroy(&matrices[0]), macko_destroy(&matrices[1]);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("container_files");
  TCase *t = tcase_create("files");
  if (!HAVE_CONTAINER) {
    puts("SKIPPED: this build lacks zlib or jansson");
    return 77;
  }
  tcase_add_test(t, a_full_disk_keeps_the_old_file);
  tcase_add_test(t, what_is_no_file_is_not_replaced);
  tcase_add_test(t, without_the_right_to_write_nothing_changes);
  tcase_add_test(t, without_the_right_to_read_there_is_a_sentence);
  tcase_add_test(t, links_and_permissions_stay);
  tcase_add_test(t, two_writers_do_not_mix);
  suite_add_tcase(suite, t);
  test_make_folder();
  int status = test_run(suite);
  test_remove_folder();
  return status;
}
