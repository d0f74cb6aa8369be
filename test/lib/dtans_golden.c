/* Variant paper of format dtans against golden files, which an independent model has written (test/golden/dtans/make.py): the
 * same tables, the same words. */
#include "macko.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const cases[] = {
    "ones-f64", "ones-f32", "few-f64", "few-f32", "any-f64",    "any-f32", "one-row", "one-each",
    "short",    "fours",    "eights",  "wide-f64", "wide-f32",  "dense",   "far",     "dense-ones",
    "far-any",  "long",     "tall",    "slices",   "escaped-values",       "escaped-gaps"};
enum { CASES = sizeof cases / sizeof *cases };

static uint64_t state;

static uint64_t draw(void)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

static void put_value(macko_type type, int kind, void *values, int64_t p)
{
  double number = kind == 0 ? 1 : (double)(draw() % 5) - 1;
  uint64_t bits;
  memcpy(&bits, &number, 8);
  if (type == MACKO_F32) {
    float single = (float)number;
    uint32_t half;
    memcpy(&half, &single, 4);
    bits = half;
  }
  if (kind == 2) {
    bits = draw();
    if (type == MACKO_F64) bits = bits << 33 ^ draw() << 2;
    else bits <<= 1;
  }
  memcpy((char *)values + p * macko_type_bytes(type), &bits, (size_t)macko_type_bytes(type));
}

/* The matrix that the first line of the file describes. */
static macko_csr make(FILE *file)
{
  long rows, largest, gap;
  int kind;
  char type[8];
  unsigned long seed;
  ck_assert_int_eq(fscanf(file, "%ld %ld %ld %d %7s %lu", &rows, &largest, &gap, &kind, type, &seed), 6);
  int64_t *row_ptr = calloc((size_t)rows + 1, 8), *cols = calloc((size_t)(rows * largest) + 1, 8), n = 0;
  macko_type value_type = !strcmp(type, "f64") ? MACKO_F64 : MACKO_F32;
  void *values = calloc((size_t)(rows * largest) + 1, 8);
  state = seed;
  for (long i = 0; i < rows; i++) {
    int64_t length = i % 7 == 3 ? 0 : (int64_t)(draw() % (uint64_t)(largest + 1)), col = -1;
    for (; length > 0; length--, n++) {
      col += 1 + (int64_t)(draw() % (uint64_t)gap);
      cols[n] = col;
      put_value(value_type, kind, values, n);
    }
    row_ptr[i + 1] = n;
  }
  return (macko_csr){.nrows = rows, .ncols = UINT32_MAX, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = value_type, .row_ptr = row_ptr, .cols = cols, .values = values};
}

static uint64_t element(const macko_section *s, int64_t i)
{
  uint64_t bits = 0;
  memcpy(&bits, (const char *)s->data + i * macko_type_bytes(s->type), (size_t)macko_type_bytes(s->type));
  return bits;
}

static const macko_section *find(const macko_matrix *m, const char *name)
{
  const macko_section *s;
  for (int64_t i = 0; (s = macko_get_section(m, i)); i++)
    if (!strcmp(s->name, name)) return s;
  return NULL;
}

START_TEST(same_bytes_as_the_model)
{
  char path[500], name[40];
  long count;
  int sections = 0;
  const char *srcdir = getenv("srcdir");
  snprintf(path, sizeof path, "%s/test/golden/dtans/%s.txt", srcdir ? srcdir : ".", cases[_i]);
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "%s cannot be opened", path);
  macko_csr a = make(file);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.variant = MACKO_VARIANT_PAPER;
  ck_assert_msg(!macko_encode(&a, &o, &m, &err), "%s: %s", cases[_i], err.text);
  for (; fscanf(file, "%39s %ld", name, &count) == 2; sections++) {
    const macko_section *s = find(m, name);
    ck_assert_msg(s && s->bytes == count * macko_type_bytes(s->type), "%s: %s should have %ld elements", cases[_i], name, count);
    for (long i = 0; i < count; i++) {
      unsigned long long expected;
      ck_assert_int_eq(fscanf(file, "%llx", &expected), 1);
      ck_assert_msg(element(s, i) == expected, "%s: %s[%ld] is %llx, not %llx", cases[_i], name, i,
                    (unsigned long long)element(s, i), expected);
    }
  }
  ck_assert_int_eq(sections, 6);
  ck_assert(!macko_validate(m, &err));
  fclose(file);
  macko_destroy(&m);
  free((void *)a.row_ptr), free((void *)a.cols), free((void *)a.values);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("dtans_golden");
  TCase *t = tcase_create("paper");
  tcase_add_loop_test(t, same_bytes_as_the_model, 0, CASES);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
