/* One thread multiplies where OMP_NUM_THREADS says nothing, as many as it says else: OpenMP's threads stay, and so can be
 * counted. A process forked from one with threads multiplies, too. */
#include "suite.h"
#include "macko.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_threads(void)
{
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  for (struct dirent *task; (task = readdir(tasks));) count += task->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* In a process of its own, which has not asked OpenMP for anything before. */
static int threads_of_a_product(void)
{
  enum { N = 100000 };
  int32_t *row_ptr = malloc((N + 1) * sizeof *row_ptr), *cols = malloc(N * sizeof *cols);
  double *values = malloc(N * sizeof *values), *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
  macko_matrix *m = NULL;
  macko_error err = {0};
  for (int i = 0; i < N; i++) row_ptr[i] = cols[i] = i, values[i] = x[i] = i;
  row_ptr[N] = N;
  const macko_csr a = {.nrows = N, .ncols = N, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                       .row_ptr = row_ptr, .cols = cols, .values = values};
  ck_assert_msg(!macko_encode(&a, NULL, &m, &err), "%s", err.text);
  ck_assert_msg(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, N, 0, y, N, &err), "%s", err.text);
  for (int i = 0; i < N; i++) ck_assert_double_eq(y[i], (double)i * i);
  macko_destroy(&m);
  free(row_ptr), free(cols), free(values), free(x), free(y);
  return count_threads();
}

START_TEST(one_without_a_word)
{
  unsetenv("OMP_NUM_THREADS");
  ck_assert_int_eq(threads_of_a_product(), 1);
}
END_TEST

START_TEST(one_for_what_is_no_number)
{
  static const char *const words[] = {"", "0", "-2", "all"};
  setenv("OMP_NUM_THREADS", words[_i], 1);
  ck_assert_int_eq(threads_of_a_product(), 1);
}
END_TEST

START_TEST(as_many_as_asked_for)
{
  const char *asked = getenv("OMP_NUM_THREADS"); /* OpenMP has read it before main began */
  ck_assert_msg(asked && *asked == '3', "started by main with 3");
#ifdef _OPENMP
  ck_assert_int_eq(threads_of_a_product(), 3);
#else
  ck_assert_int_eq(threads_of_a_product(), 1);
#endif
}
END_TEST

/* A child that waited for threads of its parent would be ended by the alarm. */
START_TEST(a_forked_process_multiplies)
{
  int status = -1;
  threads_of_a_product();
  pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(threads_of_a_product() == 1 ? 0 : 1);
  }
  ck_assert(child > 0 && waitpid(child, &status, 0) == child);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x", (unsigned)status);
}
END_TEST

int main(int argc, char **argv)
{
  (void)argc;
  const char *asked = getenv("OMP_NUM_THREADS");
  if (!asked || *asked != '3') {
    setenv("OMP_NUM_THREADS", "3", 1);
    execv("/proc/self/exe", argv);
    return 1;
  }
  Suite *suite = suite_create("openmp");
  TCase *threads = tcase_create("threads");
  tcase_add_test(threads, one_without_a_word);
  tcase_add_loop_test(threads, one_for_what_is_no_number, 0, 4);
  tcase_add_test(threads, as_many_as_asked_for);
  tcase_add_test(threads, a_forked_process_multiplies);
  suite_add_tcase(suite, threads);
  return test_run(suite);
}
