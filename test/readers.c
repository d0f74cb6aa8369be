/* Reading and writing matrix files: every kind of file that is documented, small and written here. */
#include "readers.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a text must read as, in dense form by rows. */
static void check_dense(const char *name, const char *text, int64_t nrows, int64_t ncols, const double *dense)
{
  macko_csr c;
  macko_file_info info;
  macko_error err = {0};
  const char *path = test_write(name, text, strlen(text));
  ck_assert_msg(!macko_read(path, NULL, &c, &info, &err), "%s", err.text);
  test_check_csr(&c);
  ck_assert_int_eq(c.nrows, nrows);
  ck_assert_int_eq(c.ncols, ncols);
  for (int64_t i = 0; i < nrows; i++)
    for (int64_t j = 0; j < ncols; j++)
      ck_assert_msg(test_entry(&c, i, j) == dense[i * ncols + j], "%s: entry (%lld, %lld) is %g", text, (long long)i, (long long)j,
                    test_entry(&c, i, j));
  macko_free_csr(&c);
  ck_assert_ptr_null(c.values);
}

START_TEST(coordinate_files)
{
  check_dense("a.mtx", "%%MatrixMarket matrix coordinate real general\n% a comment\n\n2 3 3\n2 3 -1.5\n1 1 2e0\n2 1 +.25\n", 2, 3,
              (double[]){2, 0, 0, .25, 0, -1.5});
  check_dense("a.mtx", "%%matrixmarket MATRIX Coordinate INTEGER symmetric\r\n2 2 2\r\n1 1 7\r\n\r\n 2\t1   -3  \r\n", 2, 2,
              (double[]){7, -3, -3, 0});
  check_dense("a.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 3\n2 2", 3, 3,
              (double[]){0, 0, 1, 0, 1, 0, 1, 0, 0});
  check_dense("a.mtx", "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 4D-1\n", 2, 2, (double[]){0, -.4, .4, 0});
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("readers");
  TCase *t = tcase_create("matrix market");
  tcase_add_test(t, coordinate_files);
  suite_add_tcase(suite, t);
  SRunner *runner = srunner_create(suite);
  test_make_folder();
  srunner_run_all(runner, CK_NORMAL);
  test_remove_folder();
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
