/* Reads every matrix of a catalogue of real ones, where there is one: CATALOGUE.tsv and NAME.mtx.gz in the folder MACKO_MATRICES,
 * or in shared/matrices beside the source tree. Skipped without. */
#include "readers.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

static char folder[400];

static FILE *open_catalogue(void)
{
  char path[600];
  if (getenv("MACKO_MATRICES")) snprintf(folder, sizeof folder, "%s", getenv("MACKO_MATRICES"));
  else snprintf(folder, sizeof folder, "%s/../shared/matrices", getenv("srcdir") ? getenv("srcdir") : ".");
  snprintf(path, sizeof path, "%s/CATALOGUE.tsv", folder);
  return fopen(path, "r");
}

START_TEST(sizes_are_those_of_the_catalogue)
{
  char row[4000], name[100], path[600];
  int count = 0;
  FILE *catalogue = open_catalogue();
  ck_assert(fgets(row, sizeof row, catalogue) != NULL);
  for (; fgets(row, sizeof row, catalogue); count++) {
    long long nrows, ncols, stored, nnz;
    macko_csr c;
    macko_file_info info;
    macko_error err = {0};
    ck_assert(sscanf(row, "%99s %lld %lld %lld %lld", name, &nrows, &ncols, &stored, &nnz) == 5);
    snprintf(path, sizeof path, "%s/%s.mtx.gz", folder, name);
    ck_assert_msg(!macko_read(path, NULL, &c, &info, &err), "%s", err.text);
    test_check_csr(&c);
    ck_assert_msg(c.nrows == nrows && c.ncols == ncols && info.stored_entries == stored && test_nnz(&c) == nnz, "%s", name);
    macko_free_csr(&c);
  }
  ck_assert_int_gt(count, 0);
  fclose(catalogue);
}
END_TEST

int main(void)
{
  FILE *catalogue = open_catalogue();
  if (!HAVE_ZLIB || !catalogue) {
    printf("SKIPPED: %s\n", HAVE_ZLIB ? "no CATALOGUE.tsv in MACKO_MATRICES" : "this build lacks zlib");
    return SKIPPED;
  }
  fclose(catalogue);
  Suite *suite = suite_create("real_matrices");
  TCase *t = tcase_create("catalogue");
  tcase_set_timeout(t, 300);
  tcase_add_test(t, sizes_are_those_of_the_catalogue);
  suite_add_tcase(suite, t);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
