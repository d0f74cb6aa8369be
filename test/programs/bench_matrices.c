/* Matrices of macko-bench: generated and repeated ones, sets of names, files. */
#include "bench.h"

/* A second copy of generate.c, for what only a lack of memory shows: here realloc gives nothing, or what the test has. */
static void *given;
static int asked;
static void *give(void *old, size_t bytes)
{
  (void)old, (void)bytes;
  asked++;
  return given;
}
#define realloc give
#define generate_matrix generate_matrix_of_little
#include "../../solvers/bench/generate.c"
#undef realloc
#undef generate_matrix

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
               {"pruned:4x4:50:upper", "pruned", MACKO_INVALID_ARGUMENT},
               {"pattern:4x8:2:columns", "columns", MACKO_INVALID_ARGUMENT}};

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

/* Every row keeps as many weights, and some columns are kept by nearly all rows, others by few. */
START_TEST(columns_matter_unlike)
{
  enum { ROWS = 400, COLUMNS = 2001 };
  macko_csr a;
  macko_error err = {0};
  int kept[COLUMNS] = {0}, many = 0, few = 0;
  ck_assert_msg(!bench_matrix("pruned:400x2001:70:columns", &a, &err), "%s", err.text);
  const int32_t *row_ptr = a.row_ptr, *cols = a.cols;
  for (int i = 0; i < ROWS; i++) ck_assert_int_eq(row_ptr[i + 1] - row_ptr[i], 600); /* of 600.3 */
  for (int32_t p = 0; p < row_ptr[ROWS]; p++) kept[cols[p]]++;
  for (int j = 0; j < COLUMNS; j++) many += kept[j] > ROWS * 9 / 10, few += kept[j] < ROWS / 10;
  ck_assert_msg(many >= 4 && many < 40 && few > 100, "%d columns of many rows, %d of few", many, few);
  macko_free_csr(&a);
}
END_TEST

START_TEST(all_or_no_weights_may_be_kept)
{
  macko_csr a, b;
  macko_error err = {0};
  ck_assert_msg(!bench_matrix("pruned:3x7:100:columns", &a, &err), "%s", err.text);
  ck_assert_int_eq(nonzeros(&a), 0);
  ck_assert_msg(!bench_matrix("pruned:3x7:1:columns", &b, &err), "%s", err.text);
  ck_assert_int_eq(nonzeros(&b), 21);
  macko_free_csr(&a), macko_free_csr(&b);
}
END_TEST

/* Weights with columns that matter unlike take as many percent less than csr as the authors of format eccsr's variant paper say of
 * the models that they pruned. */
START_TEST(pruned_weights_take_as_little_as_published)
{
  static const int zeros[] = {70, 80, 90};
  static const double least[][3] = {{55.4, 53.5, 41.3}, {52.0, 49.9, 45.8}}; /* gaps of 4 and 8 bits */
  macko_csr a;
  macko_error err = {0};
  macko_options o;
  macko_matrix *m = NULL;
  macko_info info;
  char name[64];
  snprintf(name, sizeof name, "pruned:128x28672:%d:columns", zeros[_i % 3]);
  ck_assert_msg(!bench_matrix(name, &a, &err), "%s", err.text);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.variant = MACKO_VARIANT_PAPER, o.gap_bits = _i < 3 ? 4 : 8, o.values = MACKO_VALUES_RAW;
  ck_assert_msg(!macko_encode(&a, &o, &m, &err), "%s", err.text);
  macko_get_info(m, &info);
  const double less = 100 * (1 - (double)info.bytes / (double)info.csr_bytes);
  ck_assert_msg(less >= least[_i / 3][_i % 3], "%g %% less: %s", less, info.reason);
  macko_destroy(&m);
  macko_free_csr(&a);
}
END_TEST

START_TEST(a_pattern_without_room_stays_as_it_was)
{
  int32_t cols[2] = {7, 8}, other[2] = {0, 0};
  const int64_t most = (int64_t)INT32_MAX * 2;
  /* Without memory, and with memory for more than there may be. */
  builder b = {.nnz = 2, .room = 2, .cols = cols}, large = {.nnz = most, .room = most, .cols = cols};
  given = NULL, asked = 0;
  for (int i = 0; i < 3; i++) add(&b, 9);
  ck_assert(b.failed && b.cols == cols && b.nnz == 2 && cols[0] == 7 && cols[1] == 8);
  ck_assert_int_eq(asked, 1);
  given = other, asked = 0;
  for (int i = 0; i < 3; i++) add(&large, 9);
  ck_assert(large.failed && large.cols == cols && large.nnz == most && cols[0] == 7 && other[0] == 0);
  ck_assert_int_eq(asked, 0);
}
END_TEST

/* ---- several unknowns a node ---- */

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

TCase *test_bench_matrices(void)
{
  TCase *tests = tcase_create("matrices");
  tcase_add_test(tests, tile_repeats_a_file);
  tcase_add_test(tests, tile_repeats_a_generated_matrix);
  tcase_add_loop_test(tests, refusals_name_what_is_wrong, 0, (int)(sizeof refused / sizeof *refused));
  tcase_add_test(tests, patterns_keep_all_but_two);
  tcase_add_test(tests, pruned_drops_its_share);
  tcase_add_test(tests, columns_matter_unlike);
  tcase_add_test(tests, all_or_no_weights_may_be_kept);
  tcase_add_loop_test(tests, pruned_weights_take_as_little_as_published, 0, 6);
  tcase_add_test(tests, a_pattern_without_room_stays_as_it_was);
  tcase_add_test(tests, tetra_is_one_mesh_in_any_order);
  tcase_add_test(tests, tetra_couples_as_many_as_tetrahedra);
  tcase_add_test(tests, numbers_are_reverse_cuthill_mckee);
  tcase_add_test(tests, elasticity_is_27_points_of_three_unknowns);
  tcase_add_loop_test(tests, masks_leave_couplings_out, 0, (int)(sizeof coupled / sizeof *coupled));
  tcase_add_test(tests, couplings_are_dropped_in_pairs);
  tcase_add_loop_test(tests, blocks_are_found, 0, 9);
  tcase_add_test(tests, sets_expand);
  return tests;
}
