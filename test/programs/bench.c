/* The suite of macko-bench: of the program the parts that need no device. */
#include "bench.h"

int main(void)
{
  Suite *suite = suite_create("bench");
  suite_add_tcase(suite, test_bench_matrices());
  suite_add_tcase(suite, test_bench_check());
  suite_add_tcase(suite, test_bench_tables());
  return test_run(suite);
}
