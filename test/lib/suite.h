/* How a suite of the library ends: Check runs it, each test in a process of its own. */
#ifndef TEST_SUITE_H
#define TEST_SUITE_H

#include "../assertions.h"
#include <stdlib.h>

/* Runs the suite, prints what failed, and gives back the exit status of the program. */
static inline int test_run(Suite *suite)
{
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
