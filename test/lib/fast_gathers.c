/* Layout slice gives the same bits whether x is gathered by one instruction or element by element, whatever this processor does by
 * itself: it needs AVX-512 alone, and without that the suite is skipped. */
#include "core/cpu.h"
#include "matrices.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 7, SKIPPED = 77 }; /* vectors; the exit status of a suite that was skipped */

/* Codecs that loops of their own read, and what others are read as. */
static const macko_values codecs[] = {MACKO_VALUES_RAW, MACKO_VALUES_NARROW, MACKO_VALUES_DICT, MACKO_VALUES_PAIRS};
enum { CODECS = sizeof codecs / sizeof *codecs };

/* Fills x, Inf and NaN among them, for k vectors of that type. */
static void fill(macko_type type, int64_t n, void *x)
{
  for (int64_t i = 0; i < n; i++) {
    const double v = i % 97 == 13 ? NAN : i % 89 == 5 ? -INFINITY : (double)(test_draw() % 2000) / 7 - 100;
    if (type == MACKO_F64) ((double *)x)[i] = v;
    else ((float *)x)[i] = (float)v;
  }
}

/* Says whether two results are the same bits, or both no number. */
static int same(macko_type type, const void *a, const void *b, int64_t i)
{
  if (type == MACKO_F64)
    return !memcmp((const double *)a + i, (const double *)b + i, 8) || (isnan(((const double *)a)[i]) && isnan(((const double *)b)[i]));
  return !memcmp((const float *)a + i, (const float *)b + i, 4) || (isnan(((const float *)a)[i]) && isnan(((const float *)b)[i]));
}

/* Multiplies by k vectors both ways. */
static void check_product(const macko_matrix *m, macko_type type, int64_t k, double beta, const char *what)
{
  macko_info info;
  macko_get_info(m, &info);
  const size_t size = type == MACKO_F64 ? 8 : 4, nx = (size_t)(info.ncols * k + 1) * size, ny = (size_t)(info.nrows * k + 1) * size;
  char *x = malloc(nx), *y[2] = {malloc(ny), malloc(ny)};
  fill(type, info.ncols * k, x), fill(type, info.nrows * k, y[0]);
  memcpy(y[1], y[0], ny);
  for (int way = 0; way < 2; way++) {
    macko_gathers = way;
    ck_assert(!macko_multiply(m, MACKO_OP_N, type, k, 1.5, x, info.ncols, beta, y[way], info.nrows, NULL));
  }
  for (int64_t i = 0; i < info.nrows * k; i++)
    ck_assert_msg(same(type, y[0], y[1], i), "%s, %d vectors of %s: element %d of y", what, (int)k, macko_type_name(type), (int)i);
  free(x), free(y[0]), free(y[1]);
}

/* Encodes a matrix by a codec and multiplies; counts what the codec does not take. */
static void check_codec(const test_matrix *a, macko_values values, int *refused)
{
  const macko_csr csr = test_view(a);
  macko_options o;
  macko_matrix *m = NULL;
  char what[128];
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE, o.values = values;
  if (macko_encode(&csr, &o, &m, NULL)) {
    ++*refused;
    return;
  }
  snprintf(what, sizeof what, "%s, values %s", a->name, macko_values_name(values));
  for (int type = 0; type < 2; type++)
    for (int64_t k = 1; k <= MOST; k += k < 4 ? 1 : 3)
      check_product(m, type ? MACKO_F32 : MACKO_F64, k, (double)(k % 2), what);
  macko_destroy(&m);
}

/* Any matrix is taken as it is, so that no more than the other codecs can be refused. */
START_TEST(both_ways_give_the_same_bits)
{
  const test_kind kind = test_kinds[_i % TEST_COMBINATIONS];
  test_matrix a = test_make(_i / TEST_COMBINATIONS, kind.values, kind.type);
  int refused = 0;
  for (int v = 0; v < CODECS; v++) check_codec(&a, codecs[v], &refused);
  ck_assert_int_lt(refused, CODECS);
  test_free(&a);
}
END_TEST

/* Tells whether the system says that the processor has that feature. */
static int has_flag(const char *flag)
{
  char line[8192], *rest = NULL;
  int has = 0;
  FILE *f = fopen("/proc/cpuinfo", "r");
  if (!f) return 0;
  while (!has && fgets(line, sizeof line, f))
    if (!strncmp(line, "flags", 5))
      for (const char *word = strtok_r(line, " \t\n", &rest); word && !has; word = strtok_r(NULL, " \t\n", &rest))
        has = !strcmp(word, flag);
  fclose(f);
  return has;
}

/* A virtual machine may have the model number of a processor that leaks through gathers while it has what none of these has. It
 * runs before any test has set the answer. */
START_TEST(a_virtual_machine_with_the_model_of_another_gathers_fast)
{
  if (has_flag("avx512_fp16")) ck_assert_int_ne(macko_this_processor(), MACKO_EARLIER_INTEL);
}
END_TEST

int main(void)
{
#if MACKO_HAS_X86_64
  if (!macko_has_avx512()) return printf("skipped: this processor has no AVX-512\n"), SKIPPED;
  Suite *suite = suite_create("gathers");
  TCase *t = tcase_create("slices");
  tcase_add_test(t, a_virtual_machine_with_the_model_of_another_gathers_fast);
  tcase_add_loop_test(t, both_ways_give_the_same_bits, 0, TEST_PATTERNS * TEST_COMBINATIONS);
  suite_add_tcase(suite, t);
  return test_run(suite);
#else
  return printf("skipped: only x86-64 has such instructions\n"), SKIPPED;
#endif
}
