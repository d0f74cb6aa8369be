/* Format eccsr as written down: the golden files of test/golden/eccsr, made by earlier versions, decode to the matrices they were
 * made of. With --write FOLDER it makes the golden files anew. */
#include "golden.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *matrix;
  macko_values values;
  macko_type type;
  macko_variant variant;
} golden;

#define OF(matrix, values, type) {matrix, MACKO_VALUES_##values, MACKO_##type, MACKO_VARIANT_AUTO}
#define VARIANT(matrix, variant, values, type) {matrix, MACKO_VALUES_##values, MACKO_##type, MACKO_VARIANT_##variant}

static const golden cases[] = {OF("one", RAW, F64), OF("two", RAW, F64), OF("three", RAW, F64), OF("five", RAW, F64),
                               OF("eight", RAW, F64), OF("holes", RAW, F64), OF("far", RAW, F64), OF("long", RAW, F64),
                               OF("none", RAW, F64), OF("nothing", RAW, F64), OF("special", RAW, F64), OF("special", NARROW, F64),
                               OF("three", RAW, F32), OF("three", RAW, F16), OF("three", RAW, BF16), OF("three", DICT, F64),
                               OF("three", NARROW, F64), OF("three", F32, F64), OF("holes", DICT, F32), OF("holes", F16, F64),
                               OF("holes", BF16, F64),
                               VARIANT("levels", PAPER, RAW, F16), VARIANT("levels", SHARED, RAW, F32),
                               VARIANT("levels", PAPER, DICT, F64), VARIANT("far", PAPER, RAW, F64),
                               VARIANT("far", SHARED, RAW, F64), VARIANT("eight", SHARED, NARROW, F64),
                               VARIANT("long", SHARED, RAW, BF16), VARIANT("none", PAPER, RAW, F64),
                               VARIANT("nothing", SHARED, RAW, F64), VARIANT("special", PAPER, RAW, F64)};
enum { CASES = sizeof cases / sizeof *cases };

static const char *path_of(const char *folder, const golden *g, char path[700])
{
  snprintf(path, 700, "%s/%s%s%s-%s-%s.txt", folder, g->matrix, g->variant ? "-" : "",
           g->variant ? macko_variant_name(g->variant) : "", macko_values_name(g->values), macko_type_name(g->type));
  return path;
}

START_TEST(golden_files_decode)
{
  const golden *g = &cases[_i];
  char folder[500], path[700];
  FILE *in = fopen(path_of(test_source_path("test/golden/eccsr", folder), g, path), "r");
  ck_assert_msg(in != NULL, "%s cannot be opened", path);
  macko_csr a = test_golden_matrix(folder, g->matrix, g->type);
  macko_matrix *m = test_read_golden(in);
  test_check_golden(m, &a, path);
  fclose(in);
  macko_destroy(&m);
  macko_free_csr(&a);
}
END_TEST

static const char *folder_to_write;

START_TEST(write_golden_file)
{
  const golden *g = &cases[_i];
  char path[700];
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_csr a = test_golden_matrix(folder_to_write, g->matrix, g->type);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR, o.variant = g->variant, o.values = g->values;
  ck_assert_msg(!macko_encode(&a, &o, &m, &err), "%s: %s", g->matrix, err.text);
  FILE *out = fopen(path_of(folder_to_write, g, path), "w");
  ck_assert_msg(out != NULL, "%s cannot be written", path);
  test_write_golden(m, MACKO_MAX_PARAMS, out);
  fclose(out);
  macko_destroy(&m);
  macko_free_csr(&a);
}
END_TEST

int main(int argc, char **argv)
{
  Suite *suite = suite_create("eccsr_golden");
  TCase *t = tcase_create("format eccsr");
  if (argc == 3 && !strcmp(argv[1], "--write")) {
    folder_to_write = argv[2];
    tcase_add_loop_test(t, write_golden_file, 0, CASES);
  } else {
    tcase_add_loop_test(t, golden_files_decode, 0, CASES);
  }
  suite_add_tcase(suite, t);
  return test_run(suite);
}
