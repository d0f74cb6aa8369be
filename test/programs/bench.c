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
               {"27-pint:4", "27-pint:4: no such file, and no generated matrix", MACKO_INVALID_ARGUMENT},
               {"tetra:4:17", "17 unknowns", MACKO_INVALID_ARGUMENT},
               {"tetra:4:2:arrow", "arrow", MACKO_INVALID_ARGUMENT},
               {"tetra:4:1:upper", "upper", MACKO_INVALID_ARGUMENT},
               {"tetra:4:3:drop0", "drop0", MACKO_INVALID_ARGUMENT},
               {"tetra:4:3:drop100", "drop100", MACKO_INVALID_ARGUMENT},
               {"27-point:4:rcm", "rcm", MACKO_INVALID_ARGUMENT},
               {"tetra:1291", "1290", MACKO_INVALID_ARGUMENT},
               {"rmat:4:3", "rmat", MACKO_INVALID_ARGUMENT},
               {"pruned:4x4:50:upper", "pruned", MACKO_INVALID_ARGUMENT}};

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

/* ---- several unknowns a node ---- */

static macko_csr made(const char *name)
{
  macko_csr a = {0};
  macko_error err = {0};
  ck_assert_msg(!bench_matrix(name, &a, &err), "%s", err.text);
  return a;
}

/* Whether (i, j) is there; rows are sorted. */
static int has(const macko_csr *a, int64_t i, int64_t j)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int32_t from = row_ptr[i], to = row_ptr[i + 1];
  while (from < to) {
    int32_t middle = from + (to - from) / 2;
    if (cols[middle] < j) from = middle + 1;
    else to = middle;
  }
  return from < row_ptr[i + 1] && cols[from] == j;
}

static void check_pattern(const char *name, const macko_csr *a)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  for (int64_t i = 0; i < a->nrows; i++) {
    ck_assert_msg(has(a, i, i), "%s: no diagonal in row %d", name, (int)i);
    for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) {
      if (p > row_ptr[i] && cols[p] <= cols[p - 1]) ck_abort_msg("%s: row %d is not sorted", name, (int)i);
      if (cols[p] < 0 || cols[p] >= a->ncols) ck_abort_msg("%s: column %d", name, (int)cols[p]);
    }
  }
}

/* Of the blocks of so many unknowns every coupling (d, e): how many blocks have it. */
static int64_t count_couplings(const macko_csr *a, int unknowns, int64_t counts[16][16])
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  memset(counts, 0, sizeof(int64_t) * 256);
  for (int64_t i = 0; i < a->nrows; i++)
    for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) counts[i % unknowns][cols[p] % unknowns]++;
  return counts[0][0];
}

static int64_t farthest(const macko_csr *a)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t most = 0;
  for (int64_t i = 0; i < a->nrows; i++)
    for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++) most = llabs(i - cols[p]) > most ? llabs(i - cols[p]) : most;
  return most;
}

static int compare_lengths(const void *a, const void *b)
{
  return *(const int *)a - *(const int *)b;
}

static int *sorted_lengths(const macko_csr *a)
{
  const int32_t *row_ptr = a->row_ptr;
  int *lengths = malloc((size_t)a->nrows * sizeof *lengths);
  for (int64_t i = 0; i < a->nrows; i++) lengths[i] = row_ptr[i + 1] - row_ptr[i];
  qsort(lengths, (size_t)a->nrows, sizeof *lengths, compare_lengths);
  return lengths;
}

static const char *const orders[] = {"morton", "rcm", "brick", "shuffle"};

START_TEST(tetra_is_one_mesh_in_any_order)
{
  enum { SIDE = 12, NODES = SIDE * SIDE * SIDE };
  macko_csr usual = made("tetra:12"), one = made("tetra:12:shuffle");
  int *usual_lengths = sorted_lengths(&usual);
  for (int i = 0; i < 4; i++) {
    char name[64];
    snprintf(name, sizeof name, "tetra:%d:%s", SIDE, orders[i]);
    macko_csr a = made(name);
    check_pattern(name, &a);
    ck_assert_int_eq(a.nrows, NODES);
    for (int64_t r = 0; r < a.nrows; r++)
      for (int32_t p = ((const int32_t *)a.row_ptr)[r]; p < ((const int32_t *)a.row_ptr)[r + 1]; p++)
        if (!has(&a, ((const int32_t *)a.cols)[p], r)) ck_abort_msg("%s is not symmetric", name);
    int *lengths = sorted_lengths(&a);
    ck_assert_mem_eq(lengths, usual_lengths, sizeof *lengths * NODES);
    if (i < 3) ck_assert_int_lt(farthest(&a), farthest(&one)); /* the others keep neighbours together */
    if (i == 0) ck_assert_mem_eq(a.cols, usual.cols, 4 * (size_t)nonzeros(&usual));
    else ck_assert_mem_ne(a.cols, usual.cols, 4 * (size_t)nonzeros(&usual));
    free(lengths);
    macko_free_csr(&a);
  }
  free(usual_lengths);
  macko_free_csr(&usual), macko_free_csr(&one);
}
END_TEST

START_TEST(tetra_couples_as_many_as_tetrahedra)
{
  macko_csr a = made("tetra:48:2");
  int64_t counts[16][16], blocks = count_couplings(&a, 2, counts);
  ck_assert_double_eq_tol((double)blocks / (48 * 48 * 48), 15, 1); /* 15.5 without the surface */
  for (int d = 0; d < 2; d++)
    for (int e = 0; e < 2; e++) ck_assert_int_eq(counts[d][e], blocks);
  ck_assert_int_eq(nonzeros(&a), 4 * blocks);
  macko_free_csr(&a);
}
END_TEST

START_TEST(numbers_are_reverse_cuthill_mckee)
{
  macko_csr rcm = made("tetra:12:rcm"), morton = made("tetra:12:morton");
  ck_assert_int_lt(farthest(&rcm), farthest(&morton));
  macko_free_csr(&rcm), macko_free_csr(&morton);
}
END_TEST

START_TEST(elasticity_is_27_points_of_three_unknowns)
{
  macko_csr one = made("elasticity:5"), other = made("27-point:5:3:random");
  ck_assert_int_eq(nonzeros(&one), nonzeros(&other));
  ck_assert_mem_eq(one.cols, other.cols, 4 * (size_t)nonzeros(&one));
  ck_assert_mem_eq(one.values, other.values, 8 * (size_t)nonzeros(&one));
  macko_free_csr(&one), macko_free_csr(&other);
}
END_TEST

static const char *const coupled[] = {"tetra:6:4", "7-point:6:4", "mesh:8:4", "erdos:300x6:4", "banded:300x6:4"};

START_TEST(masks_leave_couplings_out)
{
  char name[64];
  int64_t counts[16][16];
  snprintf(name, sizeof name, "%s:arrow", coupled[_i]);
  macko_csr full = made(coupled[_i]), arrow = made(name);
  int64_t blocks = count_couplings(&full, 4, counts);
  count_couplings(&arrow, 4, counts);
  for (int d = 0; d < 4; d++)
    for (int e = 0; e < 4; e++) ck_assert_int_eq(counts[d][e], d == e || d == 3 || e == 3 ? blocks : 0);
  macko_free_csr(&arrow);
  snprintf(name, sizeof name, "%s:upper", coupled[_i]);
  macko_csr upper = made(name);
  count_couplings(&upper, 4, counts);
  for (int d = 0; d < 4; d++)
    for (int e = 0; e < 4; e++) ck_assert_int_eq(counts[d][e], d <= e ? blocks : 0);
  macko_free_csr(&upper), macko_free_csr(&full);
}
END_TEST

START_TEST(couplings_are_dropped_in_pairs)
{
  macko_csr full = made("tetra:10:3:brick"), a = made("tetra:10:3:brick:drop20");
  const int32_t *row_ptr = a.row_ptr, *cols = a.cols;
  check_pattern("tetra:10:3:brick:drop20", &a);
  for (int64_t r = 0; r < a.nrows; r++)
    for (int32_t p = row_ptr[r]; p < row_ptr[r + 1]; p++)
      if (!has(&a, cols[p], r) || !has(&full, r, cols[p])) ck_abort_msg("row %d, column %d", (int)r, (int)cols[p]);
  double pairs = (double)(nonzeros(&full) - full.nrows) / 2, dropped = (double)(nonzeros(&full) - nonzeros(&a)) / 2;
  ck_assert_double_lt(fabs(dropped - 0.2 * pairs), 6 * sqrt(pairs * 0.2 * 0.8));
  macko_free_csr(&full), macko_free_csr(&a);
}
END_TEST

START_TEST(blocks_are_found)
{
  static const struct {
    const char *name;
    int block;
  } cases[] = {{"tetra:8", 1}, {"tetra:8:2", 2}, {"tetra:8:5:shuffle", 5}, {"tetra:8:6", 6}, {"elasticity:6", 3},
               {"27-point:7", 1}, {"tetra:8:4:arrow", 4}, {"tetra:8:3:drop10", 3}, {"erdos:300x6", 1}};
  macko_csr a = made(cases[_i].name);
  ck_assert_int_eq(bench_block_size(&a), cases[_i].block);
  macko_free_csr(&a);
}
END_TEST

/* ---- every element is compared ---- */

static const struct {
  macko_type type;
  const char *matrix;
  double error; /* of one element, in units of what the exact one may be rounded by */
} checked[] = {{MACKO_F64, "tetra:5", 0x1p-53}, {MACKO_F32, "tetra:5:f32", 0x1p-24}, {MACKO_F16, "pruned:40x50:50", 0x1p-11},
               {MACKO_BF16, "pruned:40x50:50:bf16", 0x1p-8}};

START_TEST(one_wrong_element_is_found)
{
  macko_type type = checked[_i].type;
  macko_csr a = made(checked[_i].matrix);
  macko_error err = {0};
  bench_reference r;
  void *x = malloc((size_t)a.ncols * 8), *y = malloc((size_t)a.nrows * 8);
  double difference;
  bench_fill(type, x, a.ncols);
  ck_assert_int_eq(bench_reference_open(&a, type, x, &r, &err), MACKO_OK);
  for (int64_t i = 0; i < a.nrows; i++) bench_put(type, y, i, (double)r.sum[i]);
  ck_assert_msg(!bench_check(&r, y, 0, &difference, &err), "%s", err.text);
  ck_assert_double_le(difference, 2 * checked[_i].error);
  int64_t last = a.nrows - 1, nnz = ((const int32_t *)a.row_ptr)[a.nrows] - ((const int32_t *)a.row_ptr)[last];
  double wrong = 4 * ((double)nnz + 4) * checked[_i].error * r.size[last];
  bench_put(type, y, last, (double)r.sum[last] + wrong);
  ck_assert_int_eq(bench_check(&r, y, 0, &difference, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, "row") != NULL, "%s", err.text);
  ck_assert_int_eq(bench_check(&r, y, 1, &difference, &err), MACKO_OK); /* values that were rounded to nothing */
  bench_put(type, y, last, NAN);
  ck_assert_int_eq(bench_check(&r, y, 1, &difference, &err), MACKO_CORRUPT);
  bench_reference_close(&r);
  free(x), free(y);
  macko_free_csr(&a);
}
END_TEST

/* The library's, with one element a little off where that is asked for. */
macko_status __real_macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);
macko_status __wrap_macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);
static int disturbed;

macko_status __wrap_macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                                   const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err)
{
  macko_status s = __real_macko_multiply(matrix, op, vector_type, k, alpha, x, ldx, beta, y, ldy, err);
  if (disturbed) ((double *)y)[ldy / 2] += 1e-9;
  return s;
}

START_TEST(wrong_forms_are_counted_and_left_out)
{
  macko_csr a = made("tetra:6:2");
  macko_error err = {0};
  for (disturbed = 0; disturbed < 2; disturbed++) {
    bench_settings settings = {.repeats = 1, .encodings = "csr,slice.f32"};
    bench_table table = {0};
    ck_assert_msg(!bench_cpu("tetra:6:2", &a, &settings, &table, &err), "%s", err.text);
    int ours = 0;
    for (int i = 0; i < table.count; i++) ours += !table.all[i].peer;
    ck_assert_int_eq(table.wrong, disturbed); /* f32 may be off by so much */
    ck_assert_int_eq(ours, 2 - disturbed);
    free(table.all);
  }
  disturbed = 0;
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
                        .us = 8 - 2 * i, .warm = 1.25, .encode = 24e-6, .difference = i ? 1e-16 : NAN};
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
  tcase_add_test(matrices, tetra_is_one_mesh_in_any_order);
  tcase_add_test(matrices, tetra_couples_as_many_as_tetrahedra);
  tcase_add_test(matrices, numbers_are_reverse_cuthill_mckee);
  tcase_add_test(matrices, elasticity_is_27_points_of_three_unknowns);
  tcase_add_loop_test(matrices, masks_leave_couplings_out, 0, (int)(sizeof coupled / sizeof *coupled));
  tcase_add_test(matrices, couplings_are_dropped_in_pairs);
  tcase_add_loop_test(matrices, blocks_are_found, 0, 9);
  tcase_add_loop_test(matrices, one_wrong_element_is_found, 0, (int)(sizeof checked / sizeof *checked));
  tcase_add_test(matrices, wrong_forms_are_counted_and_left_out);
  tcase_add_test(matrices, sets_expand);
  tcase_add_test(tables, tsv_reads_back);
  tcase_add_test(tables, ratios_leave_lossy_peers_out);
  tcase_add_loop_test(tables, damaged_tables_are_refused, 0, (int)(sizeof damaged / sizeof *damaged));
  suite_add_tcase(suite, matrices), suite_add_tcase(suite, tables);
  return test_run(suite);
}
