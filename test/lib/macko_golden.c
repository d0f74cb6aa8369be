/* Format macko as written down: the golden files of test/golden/macko, made by earlier versions, decode to the matrices they were
 * made of, and the examples of doc/formats/macko.md are what encode makes. With --write FOLDER it makes the golden files anew. */
#include "golden.h"
#include "macko/params.h"
#include "suite.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *matrix;
  macko_layout layout;
  macko_values values;
  int bits;
  macko_type type;
} golden;

#define ROW(matrix, values, bits) {matrix, MACKO_LAYOUT_ROW, MACKO_VALUES_##values, bits, MACKO_F64}
#define WIDTHS(values) ROW("gaps", values, 1), ROW("gaps", values, 2), ROW("gaps", values, 4), ROW("gaps", values, 8), \
  ROW("gaps", values, 16)
#define SLICE(matrix, values, type) {matrix, MACKO_LAYOUT_SLICE, MACKO_VALUES_##values, 0, type}
#define PAPER(matrix, bits, type) {matrix, MACKO_LAYOUT_PAPER, MACKO_VALUES_RAW, bits, type}
#define EMPTY(matrix) ROW(matrix, RAW, 0), SLICE(matrix, PAIRS, MACKO_F64), PAPER(matrix, 4, MACKO_F64)
#define NARROW(matrix) ROW(matrix, NARROW, 0), SLICE(matrix, NARROW, MACKO_F64)

static const golden cases[] = {
    WIDTHS(RAW), WIDTHS(NARROW), WIDTHS(DICT), WIDTHS(F32), WIDTHS(F16), WIDTHS(BF16), NARROW("integers"), NARROW("halves"),
    NARROW("singles"), NARROW("ranges"), ROW("values", DICT, 0), ROW("values", F32, 0), ROW("values", BF16, 0),
    ROW("lengths", RAW, 0), SLICE("slices", RAW, MACKO_F64), SLICE("slices", NARROW, MACKO_F64), SLICE("slices", DICT, MACKO_F64),
    SLICE("slices", F32, MACKO_F64), SLICE("slices", F16, MACKO_F64), SLICE("slices", BF16, MACKO_F64),
    SLICE("slices", RAW, MACKO_F32), SLICE("slices", RAW, MACKO_F16), SLICE("slices", RAW, MACKO_BF16),
    SLICE("slices", DICT, MACKO_F32), SLICE("values", DICT, MACKO_F64), SLICE("values", F32, MACKO_F64),
    SLICE("lengths", RAW, MACKO_F64), SLICE("lengths", NARROW, MACKO_F32), PAPER("lengths", 1, MACKO_F64),
    PAPER("lengths", 2, MACKO_F64), PAPER("lengths", 4, MACKO_F64), PAPER("lengths", 8, MACKO_F64),
    PAPER("lengths", 8, MACKO_F32), PAPER("lengths", 4, MACKO_F16), PAPER("lengths", 2, MACKO_BF16),
    PAPER("values", 4, MACKO_F64), ROW("slices", RAW, 0), SLICE("band", DICT, MACKO_F64), SLICE("band", RAW, MACKO_F32),
    SLICE("grid", RAW, MACKO_F64), SLICE("grid", RAW, MACKO_BF16), SLICE("grid", NARROW, MACKO_F64), SLICE("grid", DICT, MACKO_F64),
    SLICE("stencil", RAW, MACKO_F64), SLICE("stencil", RAW, MACKO_F32), SLICE("stencil", RAW, MACKO_BF16),
    SLICE("slices", PAIRS, MACKO_F64), SLICE("slices", PAIRS, MACKO_F32), SLICE("slices", PAIRS, MACKO_BF16),
    SLICE("lengths", PAIRS, MACKO_F64), ROW("wide", RAW, 0), SLICE("wide", RAW, MACKO_F64), SLICE("wide", PAIRS, MACKO_F64),
    ROW("before", DICT, 0), SLICE("before", NARROW, MACKO_F64), EMPTY("none"), EMPTY("nothing"), ROW("special", RAW, 8),
    ROW("special", DICT, 0), SLICE("special", RAW, MACKO_F64), SLICE("special", F32, MACKO_F32), PAPER("special", 8, MACKO_F64),
    PAPER("special", 8, MACKO_BF16)};
enum { CASES = sizeof cases / sizeof *cases, PARAMETERS = 8 /* of format macko */ };

static const char *file_name(const golden *g, char name[100])
{
  snprintf(name, 100, "%s-%s-%s-%d-%s.txt", g->matrix, macko_layout_name(g->layout), macko_values_name(g->values), g->bits,
           macko_type_name(g->type));
  return name;
}

static macko_matrix *encode(const macko_csr *a, const golden *g)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = g->layout, o.values = g->values, o.gap_bits = g->bits;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s: %s", g->matrix, err.text);
  return m;
}

START_TEST(golden_files_decode)
{
  char folder[500], name[100], path[700];
  snprintf(path, sizeof path, "%s/%s", test_source_path("test/golden/macko", folder), file_name(&cases[_i], name));
  FILE *in = fopen(path, "r");
  ck_assert_msg(in != NULL, "%s cannot be opened", path);
  macko_csr a = test_golden_matrix(folder, cases[_i].matrix, cases[_i].type);
  macko_matrix *m = test_read_golden(in);
  test_check_golden(m, &a, name);
  fclose(in);
  macko_destroy(&m);
  macko_free_csr(&a);
}
END_TEST

/* The block of the page that begins with that line. */
static FILE *open_page(const char *block)
{
  char path[500], line[500];
  FILE *file = fopen(test_source_path("doc/formats/macko.md", path), "r");
  ck_assert_msg(file != NULL, "%s cannot be opened", path);
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, "```", 3) && !strncmp(line + 3, block, strlen(block))) return file;
  ck_abort_msg("%s has no block %s", path, block);
  return NULL;
}

static char *text_of(const macko_matrix *m)
{
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  test_write_golden(m, PARAMETERS, out);
  fclose(out);
  return text;
}

START_TEST(the_examples_of_the_page_are_true)
{
  static const golden examples[] = {ROW("row", DICT, 2), SLICE("slice", NARROW, MACKO_F64), PAPER("paper", 8, MACKO_F64)};
  int64_t row_ptr[20] = {0}, cols[50];
  double values[50];
  long rows, ncols, row, col, n = 0;
  FILE *page = open_page("matrix");
  ck_assert_int_eq(fscanf(page, "%ld %ld", &rows, &ncols), 2);
  for (; n < 50 && fscanf(page, "%ld %ld %lf", &row, &col, &values[n]) == 3; n++) cols[n] = col, row_ptr[row + 1] = n + 1;
  for (long i = 1; i <= rows; i++)
    if (row_ptr[i] < row_ptr[i - 1]) row_ptr[i] = row_ptr[i - 1];
  fclose(page);
  macko_csr a = {.nrows = rows, .ncols = ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  page = open_page(examples[_i].matrix);
  macko_matrix *ours = encode(&a, &examples[_i]), *read = test_read_golden(page);
  char *mine = text_of(ours), *theirs = text_of(read);
  ck_assert_msg(!strcmp(mine, theirs), "encode makes\n%sand the page says\n%s", mine, theirs);
  test_check_golden(read, &a, examples[_i].matrix);
  fclose(page);
  free(mine), free(theirs);
  macko_destroy(&ours), macko_destroy(&read);
}
END_TEST

static const macko_csr two_rows = {.nrows = 2, .ncols = 4, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                                   .value_type = MACKO_F64, .row_ptr = (const int32_t[]){0, 2, 4},
                                   .cols = (const int32_t[]){0, 3, 1, 2}, .values = (const double[]){0.1, 2, 4, 0.1}};

/* The page says so, and a multiply relies on it. */
START_TEST(a_first_code_that_is_not_zero_is_refused)
{
  const golden g = ROW("", RAW, 4);
  macko_error err = {0};
  macko_matrix *m = encode(&two_rows, &g);
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  for (int64_t i = 0; i < m->nsections; i++)
    if (!strcmp(macko_get_section(m, i)->name, "gaps"))
      ((uint8_t *)macko_get_section(m, i)->data)[1] |= 5; /* entries 2 and 3 are row 1 */
  ck_assert_int_eq(macko_validate(m, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, "row 1 has code 5") != NULL, "%s", err.text);
  macko_destroy(&m);
}
END_TEST

/* One row of so many entries side by side, as a stencil: what encode makes of no matrix beyond 128. */
static macko_matrix *long_stencil(int steps)
{
  FILE *text = tmpfile();
  ck_assert(text != NULL);
  fprintf(text, "macko slice 1 %d %d f64 raw f64 0\nparameters 0 %d 0 0 0 0 1 0\n", steps, steps, 4 * steps);
  fprintf(text, "slices u32 4 0 0 %x 0\nblocks u32 %d", steps << 8 | 0x80, 4 * steps);
  for (int k = 0; k < steps; k++) fprintf(text, " %x 1 0 3ff00000", k); /* distance, lanes, the two halves of 1.0 */
  fprintf(text, "\nvalues f64 0\n");
  rewind(text);
  macko_matrix *m = test_read_golden(text);
  fclose(text);
  return m;
}

START_TEST(stencils_of_more_than_128_steps_are_refused)
{
  macko_error err = {0};
  macko_matrix *most = long_stencil(128), *more = long_stencil(129);
  ck_assert_msg(!macko_validate(most, &err), "%s", err.text);
  ck_assert_int_eq(macko_validate(more, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, "slice 0 is a stencil of 129 steps") != NULL, "%s", err.text);
  macko_destroy(&most), macko_destroy(&more);
}
END_TEST

/* Numbers of a plan on which refresh and products on a GPU rely. */
static const struct {
  macko_layout layout;
  macko_values values;
  size_t place;
  int64_t number;
  const char *sentence;
} damages[] = {
#define PLACE(member) (offsetof(macko_plan, params) + offsetof(macko_params, member))
    {MACKO_LAYOUT_SLICE, MACKO_VALUES_RAW, PLACE(slice.value_units[0]), 0, "1 value units for elements of 1 byte"},
    {MACKO_LAYOUT_SLICE, MACKO_VALUES_RAW, PLACE(slice.stencils), 1,
     "section slices tells of the pattern (1) and of values (0); it should be 1 and 1"},
    {MACKO_LAYOUT_ROW, MACKO_VALUES_RAW, PLACE(row.base_bias), INT64_MAX, "bias 9223372036854775807"},
    {MACKO_LAYOUT_ROW, MACKO_VALUES_RAW, PLACE(row.base_bias), INT64_MIN, "bias -9223372036854775808"},
    {MACKO_LAYOUT_PAPER, MACKO_VALUES_RAW, PLACE(paper.stored), INT64_MAX, "9223372036854775807 stored entries"},
    {MACKO_LAYOUT_SLICE, MACKO_VALUES_DICT, offsetof(macko_plan, table), 257, "257 values; codes of 8 bits tell 256 apart"},
#undef PLACE
};

START_TEST(a_damaged_plan_is_refused)
{
  golden g = {.layout = damages[_i].layout, .values = damages[_i].values, .type = MACKO_F64};
  macko_error err = {0};
  macko_matrix *m = encode(&two_rows, &g);
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  memcpy((char *)&m->plan + damages[_i].place, &damages[_i].number, sizeof damages[_i].number);
  ck_assert_int_eq(macko_validate(m, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, damages[_i].sentence) != NULL, "%s", err.text);
  macko_destroy(&m);
}
END_TEST

static const char *folder_to_write;

START_TEST(write_golden_file)
{
  char name[100], path[700];
  macko_csr a = test_golden_matrix(folder_to_write, cases[_i].matrix, cases[_i].type);
  macko_matrix *m = encode(&a, &cases[_i]);
  snprintf(path, sizeof path, "%s/%s", folder_to_write, file_name(&cases[_i], name));
  FILE *out = fopen(path, "w");
  ck_assert_msg(out != NULL, "%s cannot be written", path);
  test_write_golden(m, PARAMETERS, out);
  fclose(out);
  macko_destroy(&m);
  macko_free_csr(&a);
}
END_TEST

int main(int argc, char **argv)
{
  Suite *suite = suite_create("macko_golden");
  TCase *t = tcase_create("format macko");
  if (argc == 3 && !strcmp(argv[1], "--write")) {
    folder_to_write = argv[2];
    tcase_add_loop_test(t, write_golden_file, 0, CASES);
  } else {
    tcase_add_loop_test(t, golden_files_decode, 0, CASES);
    tcase_add_loop_test(t, the_examples_of_the_page_are_true, 0, 3);
    tcase_add_test(t, a_first_code_that_is_not_zero_is_refused);
    tcase_add_loop_test(t, a_damaged_plan_is_refused, 0, (int)(sizeof damages / sizeof *damages));
    tcase_add_test(t, stencils_of_more_than_128_steps_are_refused);
  }
  suite_add_tcase(suite, t);
  return test_run(suite);
}
