/* Tables of macko-bench read back, and what follows from them. */
#include "bench.h"

/* ---- tables ---- */

static void fill(bench_table *table)
{
  for (int i = 0; i < 3; i++) {
    bench_result *r = bench_add(table);
    *r = (bench_result){.k = 1, .peer = i < 2, .lossy = i == 1, .nrows = 10, .ncols = 11, .nnz = 30, .bytes = 400 - 100 * i,
                        .moved = 500, .us = 8 - 2 * i, .warm = 1.25, .encode = 24e-6, .difference = i ? 1e-16 : NAN};
    strcpy(r->matrix, "a \"quoted\" name"), strcpy(r->name, i == 0 ? "cusparse-csr1" : i == 1 ? "cusparse-csr1-f32" : "auto");
    strcpy(r->detail, "tab\there");
  }
}

START_TEST(tsv_reads_back)
{
  char path[] = "bench-tsvXXXXXX";
  bench_table table = {0}, again = {0};
  bench_settings settings = {.copy = 4e12, .repeats = 50, .machine = "A GPU, 60 MB L2"}, read = {0};
  macko_error err = {0};
  fill(&table);
  FILE *f = fdopen(mkstemp(path), "w");
  bench_print_tsv(f, &table, &settings, -1);
  fclose(f);
  ck_assert_msg(!bench_read_tsv(path, &again, &read, &err), "%s", err.text);
  ck_assert_int_eq(again.count, table.count);
  ck_assert_str_eq(read.machine, settings.machine);
  ck_assert_double_eq(read.copy, settings.copy);
  ck_assert_int_eq(read.repeats, 50);
  for (int i = 0; i < table.count; i++) {
    const bench_result *a = &table.all[i], *b = &again.all[i];
    ck_assert_str_eq(a->matrix, b->matrix);
    ck_assert_str_eq(a->name, b->name);
    ck_assert_str_eq("tab here", b->detail);
    ck_assert_int_eq(a->peer, b->peer);
    ck_assert_int_eq(a->lossy, b->lossy);
    ck_assert_int_eq(a->bytes, b->bytes);
    ck_assert_int_eq(a->moved, b->moved);
    ck_assert_int_eq(a->nnz, b->nnz);
    ck_assert_double_eq(a->us, b->us);
    ck_assert_double_eq(a->warm, b->warm);
    ck_assert_double_eq(a->encode, b->encode);
    ck_assert_int_eq(isnan(a->difference), isnan(b->difference));
  }
  free(table.all), free(again.all);
  remove(path);
}
END_TEST

/* A peer of one vector says nothing of four. */
START_TEST(ratios_are_of_as_many_vectors)
{
  bench_table table = {0};
  bench_settings settings = {.copy = 1e9};
  fill(&table);
  bench_result *ours = &table.all[2];
  ours->singles = 6;
  ck_assert_double_eq(bench_x_singles(&table, &settings, ours), 1.5);
  ck_assert(isnan(bench_x_singles(&table, &settings, &table.all[0])));
  ours->k = 4;
  ck_assert(isnan(bench_x_best_peer(&table, &settings, ours)));
  table.all[0].k = 4;
  ck_assert_double_eq(bench_x_best_peer(&table, &settings, ours), 8. / 4);
  ck_assert_double_eq_tol(bench_encode_multiplies(&table, &settings, ours), 12, 1e-12); /* of one vector each */
  free(table.all);
}
END_TEST

START_TEST(ratios_leave_lossy_peers_out)
{
  bench_table table = {0};
  bench_settings settings = {.copy = 1e9};
  fill(&table);
  const bench_result *ours = &table.all[2];
  ck_assert_double_eq(bench_x_best_peer(&table, &settings, ours), 8. / 4);
  ck_assert_double_eq_tol(bench_encode_multiplies(&table, &settings, ours), 3, 1e-12); /* 24 us by CSR_ALG1's 8 */
  ck_assert_double_eq_tol(bench_percent_of_copy(&table, &settings, ours), 12.5, 1e-9);
  ck_assert_double_eq(bench_best_peer(&table, ours, bench_bytes, 0), 400);
  free(table.all);
}
END_TEST

static const struct {
  const char *text, *sentence;
} damaged[] = {{"", "the file is empty"}, {"# only a comment\n", "no names of columns"},
               {"x\ty\n", "line 1: no names of columns"},
               {"matrix\tform\tbytes\na\tb\tmany\n", "line 2: no row"}, {"matrix\tform\tbytes\na\tb\n", "line 2: no row"},
               {"matrix\tform\tbytes\na\tb\t1\t2\n", "line 2: no row"}, {"matrix\tform\tbytes\n\t\t1\n", "line 2: no row"}};

START_TEST(damaged_tables_are_refused)
{
  char path[] = "bench-badXXXXXX";
  bench_table table = {0};
  bench_settings settings = {0};
  macko_error err = {0};
  FILE *f = fdopen(mkstemp(path), "w");
  fputs(damaged[_i].text, f);
  fclose(f);
  ck_assert_int_eq(bench_read_tsv(path, &table, &settings, &err), MACKO_PARSE);
  ck_assert_msg(strstr(err.text, damaged[_i].sentence) && strstr(err.text, path), "%s", err.text);
  ck_assert_int_eq(table.count, 0);
  free(table.all);
  remove(path);
}
END_TEST

TCase *test_bench_tables(void)
{
  TCase *tests = tcase_create("tables");
  tcase_add_test(tests, tsv_reads_back);
  tcase_add_test(tests, ratios_leave_lossy_peers_out);
  tcase_add_test(tests, ratios_are_of_as_many_vectors);
  tcase_add_loop_test(tests, damaged_tables_are_refused, 0, (int)(sizeof damaged / sizeof *damaged));
  return tests;
}
