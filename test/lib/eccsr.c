/* Format eccsr: what blocks and masks it finds, sizes that must be reached, refresh, x that no entry meets, the choice of the
 * format, the example of the manual. */
#include "core/hash.h"
#include "eccsr/eccsr.h"
#include "eccsr/eccsr_parts.h"
#include "manual.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- matrices: nodes with neighbours at random distances, some unknowns each ---- */

typedef struct {
  macko_csr csr;
  int64_t *row_ptr, *cols;
  double *values;
} test_matrix;

/* 10 to 20 neighbours, up to 40 nodes from one to the next; holes, where not 0: unknowns i and j of two nodes are not coupled
 * where i + j is a multiple of that. */
static test_matrix mesh(int64_t nodes, int unknowns, int holes)
{
  test_matrix t = {.row_ptr = calloc((size_t)(nodes * unknowns + 1), 8)};
  size_t room = (size_t)(nodes * unknowns * unknowns * 21);
  int64_t n = 0;
  t.cols = malloc(8 * room), t.values = malloc(8 * room);
  for (int64_t i = 0; i < nodes; i++)
    for (int r = 0; r < unknowns; r++) {
      int64_t other = i > 100 ? i - 100 : 0, count = 10 + (int64_t)(macko_mix((uint64_t)i) % 11);
      for (int64_t k = 0; k < count && other < nodes; other += 1 + (int64_t)(macko_mix((uint64_t)(i * 32 + k)) % 40), k++)
        for (int j = 0; j < unknowns; j++) {
          if (holes && (r + j) % holes == 0) continue;
          t.cols[n] = other * unknowns + j, t.values[n] = (double)(macko_mix((uint64_t)n) >> 11) * 0x1p-53;
          n++;
        }
      t.row_ptr[i * unknowns + r + 1] = n;
    }
  t.csr = (macko_csr){.nrows = nodes * unknowns, .ncols = nodes * unknowns, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                      .value_type = MACKO_F64, .row_ptr = t.row_ptr, .cols = t.cols, .values = t.values};
  return t;
}

/* The same with unknowns numbered field by field: all the first of the nodes, then all the second. */
static test_matrix by_fields(int64_t nodes, int unknowns)
{
  test_matrix from = mesh(nodes, unknowns, 0), t = {.row_ptr = calloc((size_t)(nodes * unknowns + 1), 8)};
  int64_t n = 0;
  t.cols = malloc(8 * (size_t)from.row_ptr[nodes * unknowns]), t.values = malloc(8 * (size_t)from.row_ptr[nodes * unknowns]);
  for (int64_t i = 0; i < nodes * unknowns; t.row_ptr[++i] = n) {
    const int64_t row = i % nodes * unknowns + i / nodes;
    for (int field = 0; field < unknowns; field++)
      for (int64_t p = from.row_ptr[row]; p < from.row_ptr[row + 1]; p++)
        if (from.cols[p] % unknowns == field) t.cols[n] = from.cols[p] / unknowns + field * nodes, t.values[n++] = from.values[p];
  }
  t.csr = from.csr;
  t.csr.row_ptr = t.row_ptr, t.csr.cols = t.cols, t.csr.values = t.values;
  free(from.row_ptr), free(from.cols), free(from.values);
  return t;
}

static void release(test_matrix *t)
{
  free(t->row_ptr), free(t->cols), free(t->values);
}

static macko_matrix *encode(const macko_csr *a, macko_format format, macko_target target)
{
  macko_options o;
  macko_error err;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = format, o.target = target;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s", err.text);
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  return m;
}

static const macko_eccsr_counts *counts_of(const macko_matrix *m)
{
  return &macko_eccsr_params_of(&m->plan)->of.counts;
}

static double bytes_an_entry(const macko_matrix *m)
{
  macko_info info;
  macko_get_info(m, &info);
  return (double)info.bytes / (double)info.nnz;
}

/* Blocks of as many rows and columns as a node has unknowns, and nothing but the entries and 8 % of their size. */
START_TEST(nodes_become_blocks)
{
  int b = _i;
  test_matrix t = mesh(3000, b, 0);
  macko_matrix *m = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
  ck_assert_int_eq(counts_of(m)->blocks, 3000);
  ck_assert_int_eq(counts_of(m)->widths, 1 << b);
  ck_assert_int_eq(counts_of(m)->masked, 0);
  ck_assert_msg(bytes_an_entry(m) <= (b == 2 ? 8.8 : 8.6), "%d unknowns: %g bytes an entry", b, bytes_an_entry(m));
  macko_destroy(&m);
  release(&t);
}
END_TEST

static void check_product(const macko_matrix *m, const test_matrix *t)
{
  const int64_t n = t->csr.nrows;
  double *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
  for (int64_t j = 0; j < n; j++) x[j] = 1 + (double)(j % 7);
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, n, 0, y, n, NULL));
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t p = t->row_ptr[i]; p < t->row_ptr[i + 1]; p++) sum += t->values[p] * x[t->cols[p]];
    ck_assert_msg(fabs(y[i] - sum) <= 1e-12 * sum, "row %ld: %g, not %g", (long)i, y[i], sum);
  }
  free(x), free(y);
}

/* Rows of equal columns make blocks where they do not follow each other, too: not those of a GPU's plan, whose encoder finds
 * none. */
START_TEST(fields_become_blocks)
{
  int b = _i;
  test_matrix t = by_fields(3200, b); /* so that rows that are looked at have each other's columns */
  int64_t *back = malloc((size_t)t.row_ptr[t.csr.nrows] * 8);
  double *values = malloc((size_t)t.row_ptr[t.csr.nrows] * 8);
  macko_matrix *m = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
  ck_assert_int_le(counts_of(m)->blocks, 3220); /* some are cut by the end of a window */
  ck_assert_msg(strstr(m->plan.reason, "of rows that lie apart"), "%s", m->plan.reason);
  ck_assert_msg(bytes_an_entry(m) <= (b == 2 ? 9.4 : 9), "%d unknowns: %g bytes an entry", b, bytes_an_entry(m));
  check_product(m, &t);
  ck_assert(!macko_decode(m, NULL, back, values, NULL));
  ck_assert(!memcmp(back, t.cols, (size_t)m->nnz * 8) && !memcmp(values, t.values, (size_t)m->nnz * 8));
  for (int64_t p = 0; p < m->nnz; p++) t.values[p] = (double)(p % 3) + 1;
  ck_assert(!macko_refresh(m, &t.csr, NULL));
  check_product(m, &t);
  macko_destroy(&m);
  m = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_GPU);
  ck_assert_int_eq(counts_of(m)->blocks, t.csr.nrows);
  macko_destroy(&m);
  free(back), free(values);
  release(&t);
}
END_TEST

/* Rows that only look alike to what looks for candidates: 20 columns of which the last ones differ. */
START_TEST(rows_that_look_alike_stay_apart)
{
  enum { ROWS = 8000, LENGTH = 20 };
  test_matrix t = {.row_ptr = malloc((ROWS + 1) * 8), .cols = malloc(ROWS * LENGTH * 8), .values = malloc(ROWS * LENGTH * 8)};
  for (int64_t i = 0; i <= ROWS; i++) t.row_ptr[i] = i * LENGTH;
  for (int64_t p = 0; p < ROWS * LENGTH; p++) {
    const int64_t i = p / LENGTH, k = p % LENGTH, second = i >= ROWS / 2;
    t.cols[p] = i % (ROWS / 2) + 10 * k + (k == LENGTH - 1 && i % 3 == 0 ? second : 0), t.values[p] = 1 + (double)(p % 5);
  }
  t.csr = (macko_csr){.nrows = ROWS, .ncols = ROWS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                      .row_ptr = t.row_ptr, .cols = t.cols, .values = t.values};
  macko_matrix *m = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
  ck_assert_int_ge(counts_of(m)->blocks, ROWS / 2 + ROWS / 6 - 10);
  ck_assert_int_le(counts_of(m)->blocks, ROWS / 2 + ROWS / 6 + 10);
  check_product(m, &t);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* 5 of 9 entries of a block are there in places that differ from row to row. */
START_TEST(missing_couplings_become_masks)
{
  int b = _i;
  test_matrix t = mesh(3000, b, 3);
  macko_matrix *m = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
  ck_assert_int_eq(counts_of(m)->blocks, 3000);
  ck_assert_int_eq(counts_of(m)->masked, counts_of(m)->slices);
  ck_assert_int_eq(test_section(m, "values")->bytes, (m->nnz + MACKO_ECCSR_SPARE) * 8);
  ck_assert_msg(bytes_an_entry(m) <= 8.9, "%d unknowns: %g bytes an entry", b, bytes_an_entry(m));
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* Unknowns on a grid of nine points, none of which meets an earlier one. Other blocks, across nodes, may take fewer bytes, but more
 * of their slots would be empty, or there would be more runs. */
START_TEST(masks_keep_to_the_nodes)
{
  enum { SIDE = 60, NODES = SIDE * SIDE };
  const int64_t b = _i, most = NODES * 9 * b * (b + 1) / 2;
  int64_t *row_ptr = calloc((size_t)(b * NODES + 1), 8), *cols = malloc((size_t)most * 8), n = 0;
  double *values = malloc((size_t)most * sizeof *values);
  for (int64_t row = 0; row < b * NODES; row_ptr[++row] = n) {
    const int64_t node = row / b;
    for (int64_t k = 0; k < 9; k++) {
      const int64_t line = node / SIDE + k / 3 - 1, place = node % SIDE + k % 3 - 1;
      if (line < 0 || line >= SIDE || place < 0 || place >= SIDE) continue;
      for (int64_t j = row % b; j < b; j++) cols[n] = b * (line * SIDE + place) + j, values[n] = 1 + (double)n, n++;
    }
  }
  const macko_csr a = {.nrows = b * NODES, .ncols = b * NODES, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                       .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m = encode(&a, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
  ck_assert_int_eq(counts_of(m)->blocks, NODES);
  ck_assert_int_gt(counts_of(m)->masked, 0);
  macko_destroy(&m);
  free(row_ptr), free(cols), free(values);
}
END_TEST

/* Columns that only masks leave out hold infinite elements of x, which must not reach y. The last run of the last node is cut by
 * the end of the matrix. */
START_TEST(what_masks_leave_out_is_not_multiplied)
{
  enum { NODES = 400, ROWS = 3 * NODES };
  int64_t row_ptr[ROWS + 1] = {0}, cols[ROWS * 4], n = 0;
  double values[ROWS * 4], x[ROWS], y[ROWS];
  for (int i = 0; i < ROWS; i++) {
    for (int j = 0; j < 6; j++) {
      int64_t col = i / 3 * 3 + j;
      if (col % 3 == 1 || (col % 3 == 2 && i % 3 == 2) || col >= ROWS - 1) continue;
      cols[n] = col, values[n++] = 1;
    }
    row_ptr[i + 1] = n;
    x[i] = i % 3 == 1 ? INFINITY : 1;
  }
  macko_csr a = {.nrows = ROWS, .ncols = ROWS - 1, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m = encode(&a, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
  ck_assert_int_gt(counts_of(m)->masked, 0);
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, ROWS, 0, y, ROWS, NULL));
  for (int i = 0; i < ROWS; i++) ck_assert_msg(y[i] == (double)(row_ptr[i + 1] - row_ptr[i]), "row %d: %g", i, y[i]);
  macko_destroy(&m);
}
END_TEST

/* Leaves what no column is where a product will have its own. */
static __attribute__((noinline)) void soil_stack(void)
{
  volatile char soil[1 << 16];
  for (size_t i = 0; i < sizeof soil; i++) soil[i] = 0x73;
}

/* Slices of fewer blocks than there are lanes, of one to eight rows each, with gaps of 8 bits. */
START_TEST(lanes_without_a_block_read_nothing)
{
  for (int nodes = 1; nodes <= 40; nodes++) {
    test_matrix t = mesh(200, _i, 0);
    int64_t n = t.csr.nrows;
    double *x = calloc((size_t)n, sizeof *x), *y = calloc((size_t)n, sizeof *y);
    t.csr.nrows = nodes * _i;
    macko_matrix *m = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
    for (int64_t j = 0; j < n; j++) x[j] = 1;
    soil_stack();
    ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, n, 0, y, n, NULL));
    for (int64_t i = 0; i < t.csr.nrows; i++) {
      double sum = 0;
      for (int64_t p = t.row_ptr[i]; p < t.row_ptr[i + 1]; p++) sum += t.values[p];
      ck_assert_msg(fabs(y[i] - sum) <= 1e-13 * sum, "%d nodes, row %d: %g, not %g", nodes, (int)i, y[i], sum);
    }
    macko_destroy(&m);
    free(x), free(y);
    release(&t);
  }
}
END_TEST

START_TEST(refresh_leaves_the_pattern_alone)
{
  test_matrix t = mesh(500, 3, 3 * _i);
  macko_matrix *m = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU), *fresh;
  const void *gaps = test_section(m, "gaps")->data, *slices = test_section(m, "slices")->data;
  for (int64_t p = 0; p < m->nnz; p++) t.values[p] = (double)(p % 5) - 2; /* another codec */
  ck_assert(!macko_refresh(m, &t.csr, NULL));
  ck_assert(test_section(m, "gaps")->data == gaps && test_section(m, "slices")->data == slices);
  fresh = encode(&t.csr, MACKO_FORMAT_ECCSR, MACKO_TARGET_CPU);
  ck_assert_int_eq(m->nsections, fresh->nsections);
  for (int i = 0; i < m->nsections; i++) {
    ck_assert_int_eq(m->sections[i].bytes, fresh->sections[i].bytes);
    ck_assert(!memcmp(m->sections[i].data, fresh->sections[i].data, (size_t)m->sections[i].bytes));
  }
  macko_destroy(&m), macko_destroy(&fresh);
  release(&t);
}
END_TEST

/* By time where rows share columns, unless loops of format csr for a CPU read these once, too; where they do not it is not even
 * planned. */
START_TEST(automatic_choice_takes_it_for_shared_rows)
{
  test_matrix several = mesh(20000, 3, 0), one = mesh(20000, 1, 0);
  for (int target = MACKO_TARGET_CPU; target <= (int)MACKO_TARGET_GPU; target++) {
    macko_matrix *m = encode(&several.csr, MACKO_FORMAT_AUTO, (macko_target)target);
    const int as_csr = target == MACKO_TARGET_CPU && strstr(m->plan.reason, "read once for rows that share them");
    ck_assert_msg(m->format == (as_csr ? MACKO_FORMAT_CSR : MACKO_FORMAT_ECCSR), "%s", m->plan.reason);
    macko_destroy(&m);
    m = encode(&one.csr, MACKO_FORMAT_AUTO, (macko_target)target);
    ck_assert_msg(m->format != MACKO_FORMAT_ECCSR && !strstr(m->plan.reason, "eccsr"), "%s", m->plan.reason);
    macko_destroy(&m);
  }
  release(&several), release(&one);
}
END_TEST

static double predicted(const macko_csr *a, macko_format format, macko_target target)
{
  macko_options o;
  macko_error err;
  macko_info info;
  macko_options_init(&o);
  o.format = format, o.target = target;
  ck_assert_msg(!macko_predict(a, &o, &info, &err), "%s", err.text);
  return info.seconds;
}

/* Nothing that is asked for by name is predicted to be faster than what is chosen, with couplings left out or not; on a CPU by no
 * more than the tenth by which a format has to beat an earlier one. */
START_TEST(the_fastest_is_chosen)
{
  const macko_target target = _i % 2 ? MACKO_TARGET_GPU : MACKO_TARGET_CPU;
  const double most = target == MACKO_TARGET_GPU ? 1.0001 : 1.0001 / 0.9;
  static const int holes[] = {0, 3, 5};
  test_matrix t = mesh(target == MACKO_TARGET_GPU ? 30000 : 14000, 1 + _i / 6, holes[_i / 2 % 3]);
  const double chosen = predicted(&t.csr, MACKO_FORMAT_AUTO, target);
  static const macko_format formats[] = {MACKO_FORMAT_CSR, MACKO_FORMAT_MACKO, MACKO_FORMAT_ECCSR};
  for (int i = 0; i < 3; i++) {
    const double time = predicted(&t.csr, formats[i], target);
    ck_assert_msg(chosen <= most * time, "%g s are chosen, %s takes %g", chosen, macko_format_name(formats[i]), time);
  }
  release(&t);
}
END_TEST

/* Warps share slices that would keep one busy after others are done: where slices are few as far as all parts fit at once, and where
 * they are many those that are much longer than others. On a GPU of 132 multiprocessors 4224 warps run at once for narrow runs,
 * 2640 for wide ones. */
START_TEST(long_slices_are_shared_by_warps)
{
  static const struct {
    macko_eccsr_counts counts;
    double mean; /* steps of a block */
    int64_t most, longest_part;
  } cases[] = {{{.slices = 1383, .longest = 27, .widths = 1 << 3}, 25.7, 14, 14}, /* two parts, as 2766 warps run at once */
               {{.slices = 1000, .longest = 27, .widths = 1 << 3}, 25.7, 7, 7},   /* four */
               {{.slices = 2980, .longest = 27, .widths = 1 << 3}, 25.7, 0, 27},  /* two would not fit */
               {{.slices = 1383, .longest = 27, .widths = 1 << 6}, 25.7, 0, 27},  /* of wide runs neither */
               {{.slices = 1000, .longest = 5, .widths = 1 << 3}, 5, 0, 5},       /* short */
               {{.slices = 1000, .longest = 27, .widths = 1 << 3 | 1 << 2}, 25.7, 0, 27}, /* without kernels */
               {{.slices = 2500, .longest = 165, .widths = 1 << 3}, 28, 30, 42},
               {{.slices = 7263, .longest = 190, .widths = 1 << 3}, 29.3, 35, 48},
               {{.slices = 12500, .longest = 35, .widths = 1 << 3}, 15, 0, 35}, /* hardly longer than what each warp has */
               {{.slices = 5000, .longest = 40, .widths = 1 << 3}, 15, 24, 24},
               {{.slices = 0}, 0, 0, 0}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const macko_eccsr_counts *c = &cases[i].counts;
    const int64_t nrows = 1000, nnz = (int64_t)(1000 * cases[i].mean * macko_eccsr_width(c));
    ck_assert_int_eq(macko_eccsr_most_steps(c, nrows, nnz, 132), cases[i].most);
    ck_assert_int_eq(macko_eccsr_longest_part(c, nrows, nnz, 132), cases[i].longest_part);
  }
}
END_TEST

/* ---- the manual ---- */

START_TEST(the_example_of_the_manual_is_true)
{
  test_example e;
  macko_csr a = test_manual_matrix("eccsr", &e);
  macko_options o;
  macko_error err;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.values = MACKO_VALUES_NARROW; /* by time a processor may have them raw */
  ck_assert_msg(!macko_encode(&a, &o, &m, &err), "%s", err.text);
  test_check_manual_sections("eccsr", m, MACKO_ECCSR_SPARE);
  macko_destroy(&m);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("eccsr");
  TCase *t = tcase_create("eccsr");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, nodes_become_blocks, 2, 9);
  tcase_add_loop_test(t, fields_become_blocks, 2, 6);
  tcase_add_test(t, rows_that_look_alike_stay_apart);
  tcase_add_loop_test(t, missing_couplings_become_masks, 3, 7);
  tcase_add_loop_test(t, masks_keep_to_the_nodes, 2, 7);
  tcase_add_test(t, what_masks_leave_out_is_not_multiplied);
  tcase_add_loop_test(t, lanes_without_a_block_read_nothing, 1, 9);
  tcase_add_loop_test(t, refresh_leaves_the_pattern_alone, 0, 2);
  tcase_add_test(t, automatic_choice_takes_it_for_shared_rows);
  tcase_add_loop_test(t, the_fastest_is_chosen, 0, 36);
  tcase_add_test(t, long_slices_are_shared_by_warps);
  tcase_add_test(t, the_example_of_the_manual_is_true);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
