/* Of every suite of the GPU library: cases by name, and a main program that skips without a GPU. */
#include "common.h"
#include "macko_cuda.h"

#include <stdio.h>
#include <stdlib.h>

enum { CASES = 40, SECONDS = 600 };

TCase *add_case(Suite *suite, const char *name, int n)
{
  static char names[CASES][16]; /* Check keeps pointers */
  static int count;
  if (n) snprintf(names[count], sizeof *names, "%s%d", name, n);
  else snprintf(names[count], sizeof *names, "%s", name);
  TCase *added = tcase_create(names[count++]);
  tcase_set_timeout(added, SECONDS);
  suite_add_tcase(suite, added);
  return added;
}

int run_cuda_suite(Suite *(*suite)(void))
{
  macko_error err = {0};
  if (!macko_device_count(&err)) return fprintf(stderr, "SKIP: %s\n", err.text), 77;
  SRunner *runner = srunner_create(suite());
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner), ran = srunner_ntests_run(runner);
  if (!ran) fprintf(stderr, "no test of the name that CK_RUN_CASE has\n");
  srunner_free(runner);
  return failed || !ran ? EXIT_FAILURE : EXIT_SUCCESS;
}
