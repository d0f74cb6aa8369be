/* Format slide: every pattern of a block packed, patterns found, what no pattern covers, slots that hold nothing, sizes that must
 * be reached, the choice of the format, the predicted time, damage, golden files, the example of the manual. */
#include "core/cost.h"
#include "core/half.h"
#include "manual.h"
#include "slide/slide.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- packing ---- */

/* Of all patterns of blocks of 2n columns: entries come back where they were, at most two a window, in the order of columns; what
 * finds no room is what there is beyond 2n - 2. */
START_TEST(every_pattern_is_packed)
{
  const int n = _i;
  for (uint32_t entries = 0; entries < 1u << 2 * n; entries++) {
    uint32_t left = entries, packed = 0;
    const uint32_t positions = macko_slide_pack(n, &left);
    int before = -1;
    for (int s = 0; s < 2 * n - 2; s++) {
      const int window = macko_slide_window(positions, s / 2), col = s / 2 * 2 + macko_slide_column(window, s % 2);
      if (!macko_slide_holds(window, s % 2)) continue;
      ck_assert_msg(col > before, "n %d, entries %x: column %d behind %d", n, entries, col, before);
      packed |= 1u << col, before = col;
    }
    const int count = __builtin_popcount(entries), over = count > 2 * n - 2 ? count - (2 * n - 2) : 0;
    ck_assert_msg((packed | left) == entries && !(packed & left), "n %d, entries %x: %x and %x", n, entries, packed, left);
    ck_assert_msg(__builtin_popcount(left) == over, "n %d, entries %x: %x is left over", n, entries, left);
  }
}
END_TEST

/* ---- matrices ---- */

typedef struct {
  macko_csr csr;
  int64_t *row_ptr, *cols;
  void *values;
} test_matrix;

static uint64_t state;

static uint64_t draw(void)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

static void put(macko_type type, void *values, int64_t p, double number)
{
  if (type == MACKO_F64) ((double *)values)[p] = number;
  else if (type == MACKO_F32) ((float *)values)[p] = (float)number;
  else ((uint16_t *)values)[p] = macko_f32_to_f16((float)number);
}

/* As test/golden/slide/make.py: two columns, or one twice, dropped of every `width`, or so many percent of all kept. */
static test_matrix make(int64_t rows, int64_t ncols, int64_t width, int percent, macko_type type, uint64_t seed)
{
  test_matrix t = {.row_ptr = calloc((size_t)rows + 1, 8), .cols = malloc((size_t)(rows * ncols + 1) * 8),
                   .values = malloc((size_t)(rows * ncols + 1) * 8)};
  int64_t n = 0;
  state = seed;
  for (int64_t i = 0; i < rows; t.row_ptr[++i] = n)
    for (int64_t j = 0, first = -1, second = -1; j < ncols; j++) {
      if (width && j % width == 0) first = (int64_t)(draw() % (uint64_t)width), second = (int64_t)(draw() % (uint64_t)width);
      if (width ? j % width == first || j % width == second : draw() % 100 >= (uint64_t)percent) continue;
      t.cols[n] = j, put(type, t.values, n++, 1 + (double)(draw() % 50));
    }
  t.csr = (macko_csr){.nrows = rows, .ncols = ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = type,
                      .row_ptr = t.row_ptr, .cols = t.cols, .values = t.values};
  return t;
}

static void release(test_matrix *t)
{
  free(t->row_ptr), free(t->cols), free(t->values);
}

static macko_matrix *encode_as(const macko_csr *a, macko_format format, macko_values values, macko_prefer prefer)
{
  macko_options o;
  macko_error err = {0};
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = format, o.values = values, o.prefer = prefer;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s", err.text);
  ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
  return m;
}

static macko_matrix *encode(const macko_csr *a)
{
  return encode_as(a, MACKO_FORMAT_SLIDE, MACKO_VALUES_RAW, MACKO_PREFER_TIME);
}

/* Exactly 2n - 2 of every 2n. */
static test_matrix pruned(int64_t rows, int64_t blocks, int n, macko_type type)
{
  test_matrix t = make(rows, blocks * 2 * n, 0, 100, type, 1);
  int64_t count = 0, width = 2 * n;
  for (int64_t i = 0, p = 0; i < rows; t.row_ptr[++i] = count)
    for (int64_t j = 0, first = 0, second = 0; j < blocks * width; j++, p++) {
      if (j % width == 0)
        first = (int64_t)(draw() % (uint64_t)width), second = (first + 1 + (int64_t)(draw() % (uint64_t)(width - 1))) % width;
      if (j % width != first && j % width != second) t.cols[count] = j, count++;
    }
  return t;
}

/* ---- what is chosen ---- */

/* The pattern that a matrix was pruned to, no slot of it empty, no block columns: of f16 pruned to 6:8 at most 0.80 of dense. */
START_TEST(the_pattern_is_found)
{
  const int n = _i;
  test_matrix t = pruned(64, 64, n, MACKO_F16);
  macko_matrix *m = encode(&t.csr);
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  char pattern[20];
  snprintf(pattern, sizeof pattern, "%d:%d in ", 2 * n - 2, 2 * n);
  ck_assert_msg(c->n == n && c->empty == 0 && c->rest == 0 && c->broken == 0 && c->every, "%s", m->plan.reason);
  ck_assert_msg(!strncmp(m->plan.reason, pattern, strlen(pattern)), "%s", m->plan.reason);
  const double dense = 64 * 64 * 2 * n * 2, bits = ceil(log2(n * (2 * n - 1)));
  macko_info info;
  macko_get_info(m, &info);
  ck_assert_msg((double)info.bytes <= dense * ((2 * n - 2) * 16 + bits) / (32 * n) + 65 * 4 + 4 + 4 * 256, "%lld of %g",
                (long long)info.bytes, dense);
  if (n == 4) ck_assert_msg((double)info.bytes <= 0.80 * dense, "%lld of %g", (long long)info.bytes, dense);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* One entry too many in one block: beside the pattern, and by strict refused with its place. */
START_TEST(what_no_pattern_covers_is_beside_or_refused)
{
  enum { COLS = 48, ROWS = 3 };
  test_matrix t = make(ROWS, COLS, 0, 100, MACKO_F64, 3);
  macko_options o;
  macko_error err = {0};
  macko_matrix *m = NULL;
  int64_t n = 0;
  for (int64_t i = 0; i < ROWS; t.row_ptr[++i] = n)
    for (int64_t j = 0; j < COLS; j++)
      if ((i == 1 && j / 16 == 2) ? j != 40 : j % 16 > 1) t.cols[n++] = j;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE, o.variant = MACKO_VARIANT_STRICT;
  ck_assert_int_eq(macko_encode(&t.csr, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, "row 1, column 32, counted from 0: 15 entries in the block of 16 columns that begins there; with "
                             "variant strict a block has at most 14");
  ck_assert(err.row == 1 && err.col == 32);
  ck_assert_ptr_null(m);
  o.variant = MACKO_VARIANT_AUTO;
  ck_assert(!macko_encode(&t.csr, &o, &m, &err) && !macko_validate(m, &err));
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  ck_assert_msg(c->broken > 0 && c->rest >= c->broken && strstr(m->plan.reason, " blocks have more, "), "%s", m->plan.reason);
  macko_destroy(&m);
  t.csr.nrows = 1; /* the first row holds to it */
  o.variant = MACKO_VARIANT_STRICT;
  ck_assert_msg(!macko_encode(&t.csr, &o, &m, &err) && m->plan.variant == MACKO_VARIANT_STRICT, "%s", err.text);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* Slots that hold nothing read and multiply nothing; entries that are zero do. */
START_TEST(empty_slots_do_not_multiply)
{
  enum { COLS = 64 };
  int64_t row_ptr[3] = {0, 0, 0}, cols[COLS], back[COLS], n = 0;
  double values[COLS], x[COLS], y[2], out[COLS];
  for (int64_t j = 0; j < COLS; j++) {
    x[j] = j % 8 == 5 ? 2 : j % 8 == 6 ? -INFINITY : j % 2 ? INFINITY : NAN;
    if (j % 8 == 5) cols[n] = j, values[n++] = j == 5 ? -0.0 : 1;
  }
  row_ptr[1] = n, row_ptr[2] = n + 1, cols[n] = 6, values[n++] = 0;
  macko_csr a = {.nrows = 2, .ncols = COLS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_matrix *m = encode(&a);
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, COLS, 0, y, 2, NULL));
  ck_assert_msg(y[0] == 14 && isnan(y[1]), "%g and %g", y[0], y[1]);
  ck_assert(!macko_decode(m, NULL, back, out, NULL));
  ck_assert(!memcmp(back, cols, (size_t)n * 8) && !memcmp(out, values, (size_t)n * 8));
  macko_destroy(&m);
}
END_TEST

/* By time nothing is chosen or planned; by memory it is looked at, and chosen where it is smallest. */
START_TEST(automatic_choice_goes_by_memory_only)
{
  test_matrix t = pruned(64, 256, 4, MACKO_F16);
  for (int64_t p = 0; p < t.row_ptr[64]; p++)
    ((uint16_t *)t.values)[p] = (uint16_t)(draw() % 0x7c00); /* nothing narrower holds them */
  macko_matrix *m = encode_as(&t.csr, MACKO_FORMAT_AUTO, MACKO_VALUES_AUTO, MACKO_PREFER_TIME);
  ck_assert_msg(m->format != MACKO_FORMAT_SLIDE && !strstr(m->plan.reason, "slide"), "%s", m->plan.reason);
  macko_destroy(&m);
  m = encode_as(&t.csr, MACKO_FORMAT_AUTO, MACKO_VALUES_AUTO, MACKO_PREFER_MEMORY);
  ck_assert_msg(m->format == MACKO_FORMAT_SLIDE, "%s", m->plan.reason);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* From work and bytes, and on a GPU what any product takes, as that of every format, before and after new values: of a small matrix
 * bytes come from a cache. */
START_TEST(the_time_is_that_of_work_and_bytes)
{
  test_matrix t = pruned(64, 16, 4, MACKO_F64);
  macko_options o;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE, o.values = MACKO_VALUES_AUTO, o.target = _i ? MACKO_TARGET_GPU : MACKO_TARGET_CPU;
  ck_assert(!macko_encode(&t.csr, &o, &m, NULL));
  for (int pass = 0; pass < 2; pass++) {
    const macko_plan *p = &m->plan;
    const macko_cost *cost = macko_cost_of(&o);
    const double expected = p->work + (_i ? cost->launch + (double)p->bytes * cost->byte : 0);
    ck_assert_msg(p->work > 0 && fabs(p->time - expected) <= 1e-12 * expected, "%g ns of work, %g ns", p->work, p->time);
    for (int64_t i = 0; i < t.row_ptr[64]; i++) ((double *)t.values)[i] = 1 + 1e-9 * (double)i;
    ck_assert(!macko_refresh(m, &t.csr, NULL));
  }
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* ---- damage ---- */

static const struct {
  const char *section;
  int64_t element;
  uint64_t bits; /* that change */
  const char *sentence;
} damages[] = {{"starts", 0, 1, "section starts has 1 for row 0"},
               {"starts", 2, 0x40000000, "section starts has 1073741"},
               {"blocks", 0, 0x4000, "is block 16384"},
               {"positions", 0, 0xffffffff, "the rows hold "},
               {"patterns", 0, 0xf0000000, "pattern 0 is f"},
               {"rest_ptr", 1, 0x1000000, "section rest_ptr has 16777"},
               {"rest_cols", 0, 0x1000, "entry 0 of rest_cols"}};

START_TEST(damage_is_named)
{
  int patterns = !strcmp(damages[_i].section, "patterns");
  test_matrix t = patterns ? pruned(60, 100, 4, MACKO_F64) : make(30, 80, 0, 80, MACKO_F64, 11);
  macko_matrix *m = encode(&t.csr);
  macko_error err = {0};
  if (!strcmp(damages[_i].section, "blocks")) { /* of a matrix that lacks some */
    macko_destroy(&m), release(&t);
    t = make(30, 80, 0, 10, MACKO_F64, 11), m = encode(&t.csr);
  }
  const macko_section *s = test_section(m, damages[_i].section);
  const int64_t size = macko_type_bytes(s->type);
  for (int64_t b = 0; b < size; b++) ((uint8_t *)s->data)[damages[_i].element * size + b] ^= (uint8_t)(damages[_i].bits >> 8 * b);
  ck_assert_int_eq(macko_validate(m, &err), MACKO_CORRUPT);
  ck_assert_msg(strstr(err.text, damages[_i].sentence), "%s", err.text);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* ---- golden files and the manual ---- */

static uint64_t element(const macko_section *s, int64_t i)
{
  uint64_t bits = 0;
  memcpy(&bits, (const char *)s->data + i * macko_type_bytes(s->type), (size_t)macko_type_bytes(s->type));
  return bits;
}

static FILE *open_source(const char *path)
{
  const char *srcdir = getenv("srcdir");
  char whole[500];
  snprintf(whole, sizeof whole, "%s/%s", srcdir ? srcdir : ".", path);
  FILE *file = fopen(whole, "r");
  ck_assert_msg(file != NULL, "%s cannot be opened", whole);
  return file;
}

static const char *const golden[] = {"pruned-4-f64", "pruned-8-f16", "pruned-6-f32", "pruned-16-f16", "random-f64", "dense-f32",
                                     "full-f64", "sparse-f16", "nothing"};

START_TEST(same_bytes_as_the_model)
{
  char path[100], name[40], type[8];
  long rows, cols, width, count;
  int percent, sections = 0;
  unsigned long seed;
  snprintf(path, sizeof path, "test/golden/slide/%s.txt", golden[_i]);
  FILE *file = open_source(path);
  ck_assert_int_eq(fscanf(file, "%ld %ld %ld %d %7s %lu", &rows, &cols, &width, &percent, type, &seed), 6);
  test_matrix t = make(rows, cols, width, percent,
                       !strcmp(type, "f64") ? MACKO_F64 : !strcmp(type, "f32") ? MACKO_F32 : MACKO_F16, seed);
  macko_matrix *m = encode(&t.csr);
  for (; fscanf(file, "%39s %ld", name, &count) == 2; sections++) {
    const macko_section *s = test_section(m, name);
    ck_assert_msg(s && s->bytes == count * macko_type_bytes(s->type), "%s: %s should have %ld elements", golden[_i], name, count);
    for (long i = 0; i < count; i++) {
      unsigned long long expected;
      ck_assert_int_eq(fscanf(file, "%llx", &expected), 1);
      ck_assert_msg(element(s, i) == expected, "%s: %s[%ld] is %llx, not %llx", golden[_i], name, i,
                    (unsigned long long)element(s, i), expected);
    }
  }
  ck_assert_int_eq(sections, m->nsections);
  fclose(file);
  macko_destroy(&m);
  release(&t);
}
END_TEST

/* Numbers of 8 bits have no type of their own: integers are values of codec narrow, e4m3's at most 254 finite numbers of codec
 * dict, and both take a byte. */
START_TEST(values_of_8_bits_take_a_byte)
{
  test_matrix t = pruned(64, 40, 4, MACKO_F16);
  const macko_values codec = _i ? MACKO_VALUES_DICT : MACKO_VALUES_NARROW;
  const int64_t nnz = t.row_ptr[64];
  int64_t *back = malloc(65 * sizeof *back), *cols = malloc((size_t)nnz * sizeof *cols), at = 0;
  uint16_t *out = malloc((size_t)nnz * sizeof *out);
  for (int64_t p = 0; p < nnz; p++, at = (at + 1) % 127) {
    const int sign = p & 1 ? -1 : 1, fraction = (int)at % 8, exponent = (int)at / 8; /* e4m3: 4 bits of exponent, 3 of fraction */
    put(MACKO_F16, t.values, p, _i == 0 ? (double)(sign * (at + (p & 1)))
                                            : sign * (exponent ? ldexp(8 + fraction, exponent - 10) : ldexp(fraction, -9)));
  }
  macko_matrix *m = encode_as(&t.csr, MACKO_FORMAT_SLIDE, codec, MACKO_PREFER_TIME);
  const macko_section *values = test_section(m, "values");
  const int64_t slots = macko_slide_counts_of(&m->plan)->cells * 6;
  ck_assert_int_eq(macko_type_bytes(values->type), 1);
  ck_assert_msg(values->bytes >= slots && values->bytes < slots + 32 * 8 * 6, "%lld bytes for %lld slots", (long long)values->bytes,
                (long long)slots);
  ck_assert(!macko_decode(m, back, cols, out, NULL));
  ck_assert(!memcmp(back, t.row_ptr, 65 * sizeof *back) && !memcmp(cols, t.cols, (size_t)nnz * 8) &&
            !memcmp(out, t.values, (size_t)nnz * 2));
  free(back), free(cols), free(out);
  macko_destroy(&m);
  release(&t);
}
END_TEST

START_TEST(the_example_of_the_manual_is_true)
{
  test_example e;
  macko_csr a = test_manual_matrix("slide", &e);
  macko_matrix *m = encode_as(&a, MACKO_FORMAT_SLIDE, MACKO_VALUES_NARROW, MACKO_PREFER_TIME);
  test_check_manual_sections("slide", m, 0);
  macko_destroy(&m);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("slide");
  TCase *t = tcase_create("slide");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, every_pattern_is_packed, MACKO_SLIDE_LEAST, MACKO_SLIDE_MOST + 1);
  tcase_add_loop_test(t, the_pattern_is_found, MACKO_SLIDE_LEAST, MACKO_SLIDE_MOST + 1);
  tcase_add_test(t, what_no_pattern_covers_is_beside_or_refused);
  tcase_add_test(t, empty_slots_do_not_multiply);
  tcase_add_test(t, automatic_choice_goes_by_memory_only);
  tcase_add_loop_test(t, the_time_is_that_of_work_and_bytes, 0, 2);
  tcase_add_loop_test(t, damage_is_named, 0, (int)(sizeof damages / sizeof *damages));
  tcase_add_loop_test(t, same_bytes_as_the_model, 0, (int)(sizeof golden / sizeof *golden));
  tcase_add_loop_test(t, values_of_8_bits_take_a_byte, 0, 2);
  tcase_add_test(t, the_example_of_the_manual_is_true);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
