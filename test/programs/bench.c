/* What macko-bench measures: generated and repeated matrices, sets of names; and that its tables read back. */
#include "bench/bench.h"
#include "bench/generate.h"
#include "../lib/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t nonzeros(const macko_csr *a)
{
  return ((const int32_t *)a->row_ptr)[a->nrows];
}

/* ---- tile ---- */

static void write_small(const char *path)
{
  FILE *f = fopen(path, "w");
  fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n3 4 4\n1 1 1.5\n1 4 2\n3 2 -1\n3 3 4\n");
  fclose(f);
}

START_TEST(tile_repeats_a_file)
{
  enum { NNZ = 4, ROWS = 3, COLUMNS = 4, ONE = 4 * ROWS + 12 * NNZ };
  char path[] = "bench-tileXXXXXX", name[64];
  int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  close(file);
  write_small(path);
  snprintf(name, sizeof name, "tile:%s:0.01", path);
  macko_csr a;
  macko_error err = {0};
  ck_assert_msg(!bench_matrix(name, &a, &err), "%s", err.text);
  int64_t copies = a.nrows / ROWS;
  ck_assert_int_eq(a.nrows, copies * ROWS);
  ck_assert_int_eq(a.ncols, copies * COLUMNS);
  ck_assert_int_eq(nonzeros(&a), copies * NNZ);
  ck_assert_int_ge(copies * ONE + 4, 10000); /* bytes as CSR */
  ck_assert_int_lt((copies - 1) * ONE + 4, 10000);
  macko_matrix *m = NULL;
  ck_assert_int_eq(macko_encode(&a, NULL, &m, &err), MACKO_OK);
  double *x = malloc((size_t)a.ncols * sizeof *x), *y = malloc((size_t)a.nrows * sizeof *y);
  for (int64_t j = 0; j < a.ncols; j++) x[j] = (double)(j + 1);
  ck_assert_int_eq(macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, a.ncols, 0, y, a.nrows, &err), MACKO_OK);
  for (int64_t t = 0; t < copies; t++) {
    const double *u = x + t * COLUMNS, *v = y + t * ROWS;
    ck_assert_double_eq(v[0], 1.5 * u[0] + 2 * u[3]);
    ck_assert_double_eq(v[1], 0);
    ck_assert_double_eq(v[2], -u[1] + 4 * u[2]);
  }
  free(x), free(y);
  macko_destroy(&m);
  macko_free_csr(&a);
  remove(path);
}
END_TEST

START_TEST(tile_repeats_a_generated_matrix)
{
  macko_csr one, many;
  macko_error err = {0};
  ck_assert_msg(!bench_matrix("27-point:4:random", &one, &err), "%s", err.text);
  ck_assert_msg(!bench_matrix("tile:27-point:4:random:0.1", &many, &err), "%s", err.text);
  int64_t copies = many.nrows / one.nrows, nnz = nonzeros(&one);
  ck_assert_int_gt(copies, 1);
  ck_assert_int_eq(nonzeros(&many), copies * nnz);
  for (int64_t p = 0; p < copies * nnz; p++) {
    ck_assert_int_eq(((const int32_t *)many.cols)[p], ((const int32_t *)one.cols)[p % nnz] + p / nnz * one.ncols);
    ck_assert_double_eq(((const double *)many.values)[p], ((const double *)one.values)[p % nnz]);
  }
  macko_free_csr(&one), macko_free_csr(&many);
}
END_TEST

static const struct {
  const char *name, *sentence;
  macko_status status;
} refused[] = {{"tile:27-point:4", "27-point needs a size", MACKO_INVALID_ARGUMENT},
               {"tile:27-point:4:x", "tile needs a matrix and a size", MACKO_INVALID_ARGUMENT},
               {"tile:27-point:4:-3", "27-point:4:-3", MACKO_INVALID_ARGUMENT},
               {"tile:27-point:4:nan", "27-point:4:nan", MACKO_INVALID_ARGUMENT},
               {"tile::3", "tile::3", MACKO_INVALID_ARGUMENT},
               {"tile:absent.mtx:3", "absent.mtx", MACKO_INVALID_ARGUMENT},
               {"tile:27-point:4:1e9", "do not fit into 32-bit indices", MACKO_LIMIT},
               {"27-pint:4", "27-pint:4: no such file, and no generated matrix", MACKO_INVALID_ARGUMENT}};

START_TEST(refusals_name_what_is_wrong)
{
  macko_csr a = {0};
  macko_error err = {0};
  ck_assert_int_eq(bench_matrix(refused[_i].name, &a, &err), refused[_i].status);
  ck_assert_msg(strstr(err.text, refused[_i].sentence) != NULL, "%s: %s", refused[_i].name, err.text);
  ck_assert_ptr_null(a.values);
}
END_TEST

/* ---- generated ---- */

START_TEST(patterns_keep_all_but_two)
{
  enum { N = 4, ROWS = 5, COLUMNS = 64 };
  macko_csr a;
  macko_error err = {0};
  ck_assert_msg(!bench_matrix("pattern:5x64:4", &a, &err), "%s", err.text);
  ck_assert_int_eq(a.value_type, MACKO_F16);
  const int32_t *row_ptr = a.row_ptr, *cols = a.cols;
  for (int i = 0; i < ROWS; i++) {
    int kept[COLUMNS / (2 * N)] = {0};
    for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) kept[cols[p] / (2 * N)]++;
    for (int g = 0; g < COLUMNS / (2 * N); g++) ck_assert_int_eq(kept[g], 2 * N - 2);
  }
  macko_free_csr(&a);
}
END_TEST

START_TEST(pruned_drops_its_share)
{
  macko_csr a;
  macko_error err = {0};
  ck_assert_msg(!bench_matrix("pruned:400x500:90", &a, &err), "%s", err.text);
  double deviation = sqrt(200000 * 0.1 * 0.9);
  ck_assert_double_lt(fabs((double)nonzeros(&a) - 20000), 6 * deviation);
  macko_free_csr(&a);
}
END_TEST

/* ---- sets ---- */

static void count_names(void *context, const char *name)
{
  int *count = context, rows, columns, number;
  ck_assert_msg(sscanf(name, "pruned:%dx%d:%d", &rows, &columns, &number) == 3 && rows >= 3584 && columns >= 3584, "%s", name);
  ck_assert_msg(number == 50 || number == 70 || number == 90, "%s", name);
  ++*count;
}

static void same_name(void *context, const char *name)
{
  ck_assert_str_eq(name, context);
}

START_TEST(sets_expand)
{
  int count = 0;
  char name[] = "27-point:4";
  bench_expand("pruned-shapes", count_names, &count);
  ck_assert_int_eq(count, 31 * 3);
  bench_expand(name, same_name, name);
}
END_TEST

/* ---- tables ---- */

static void fill(bench_table *table)
{
  for (int i = 0; i < 3; i++) {
    bench_result *r = bench_add(table);
    *r = (bench_result){.peer = i < 2, .lossy = i == 1, .nrows = 10, .ncols = 11, .nnz = 30, .bytes = 400 - 100 * i, .moved = 500,
                        .flushed = 8 - 2 * i, .warm = 1.25, .encode = 24e-6, .difference = i ? 1e-16 : NAN};
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
  bench_print_tsv(f, &table, &settings, 0);
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
    ck_assert_double_eq(a->flushed, b->flushed);
    ck_assert_double_eq(a->warm, b->warm);
    ck_assert_double_eq(a->encode, b->encode);
    ck_assert_int_eq(isnan(a->difference), isnan(b->difference));
  }
  free(table.all), free(again.all);
  remove(path);
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
} damaged[] = {{"", "no names of columns"}, {"# only a comment\n", "no names of columns"},
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

int main(void)
{
  Suite *suite = suite_create("bench");
  TCase *matrices = tcase_create("matrices"), *tables = tcase_create("tables");
  tcase_add_test(matrices, tile_repeats_a_file);
  tcase_add_test(matrices, tile_repeats_a_generated_matrix);
  tcase_add_loop_test(matrices, refusals_name_what_is_wrong, 0, (int)(sizeof refused / sizeof *refused));
  tcase_add_test(matrices, patterns_keep_all_but_two);
  tcase_add_test(matrices, pruned_drops_its_share);
  tcase_add_test(matrices, sets_expand);
  tcase_add_test(tables, tsv_reads_back);
  tcase_add_test(tables, ratios_leave_lossy_peers_out);
  tcase_add_loop_test(tables, damaged_tables_are_refused, 0, (int)(sizeof damaged / sizeof *damaged));
  suite_add_tcase(suite, matrices), suite_add_tcase(suite, tables);
  return test_run(suite);
}
