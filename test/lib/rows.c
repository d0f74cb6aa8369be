/* Encoding from rows that come in pieces: the same bytes as from the whole, and sources that do not keep their word. */
#include "core/format.h"
#include "matrices.h"
#include "rows.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a source that hands out copies of rows ---- */

/* What a source may give that it did not give before: a row with one entry less, which is no longer the same length; other
 * columns; as many distinct values as there are entries; values that fit no narrower type. */
typedef enum { NO_LIE, SHORTER, OTHER_COLUMNS, MANY_VALUES, WIDE_VALUES, LIES } lie;

typedef struct {
  macko_csr whole;
  int64_t largest, calls; /* the largest piece asked for */
  int64_t change_after;   /* from this call on the source lies; 0: never */
  lie lie;
  int fail;
  int64_t *row_ptr, *cols;
  void *values;
} piece_source;

/* Entry p of the whole, which is entry q of the piece. */
static void lie_about_value(const piece_source *s, int64_t p, int64_t q)
{
  static const double wide[] = {1.0 / 3, 2.0 / 7, 1.0 / 3, 5.0 / 9};
  double many = (double)(p + 1) / 8, given = s->lie == MANY_VALUES ? many : wide[p % 4];
  float single = (float)given;
  uint16_t half = (uint16_t)(0x3c00 + (s->lie == MANY_VALUES ? p % 1000 : 1 + p % 3));
  if (s->whole.value_type == MACKO_F64) ((double *)s->values)[q] = given;
  else if (s->whole.value_type == MACKO_F32) ((float *)s->values)[q] = single;
  else ((uint16_t *)s->values)[q] = half;
}

/* Rows first .. first + count - 1, otherwise than they are. */
static void tell_lies(piece_source *s, int64_t first, int64_t count)
{
  const macko_csr *a = &s->whole;
  int64_t begin = macko_csr_row(a, first), n = macko_csr_row(a, first + count) - begin;
  if (s->lie == SHORTER && first <= 1 && first + count > 1) {
    int64_t size = macko_type_bytes(a->value_type), past = s->row_ptr[2 - first] - 1;
    memmove(s->cols + past - 1, s->cols + past, (size_t)(n - past) * 8);
    memmove((char *)s->values + (past - 1) * size, (char *)s->values + past * size, (size_t)((n - past) * size));
    for (int64_t i = 2 - first; i <= count; i++) s->row_ptr[i]--;
  }
  for (int64_t i = 0; s->lie == OTHER_COLUMNS && i < count; i++) /* the last of a row moves where it can */
    if (s->row_ptr[i + 1] > s->row_ptr[i] && s->cols[s->row_ptr[i + 1] - 2] < a->ncols) s->cols[s->row_ptr[i + 1] - 2] = a->ncols;
  for (int64_t q = 0; (s->lie == MANY_VALUES || s->lie == WIDE_VALUES) && q < n; q++) lie_about_value(s, begin + q, q);
}

static macko_status give(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  piece_source *s = context;
  const macko_csr *a = &s->whole;
  int64_t size = macko_type_bytes(a->value_type), begin = macko_csr_row(a, first), n = macko_csr_row(a, first + count) - begin;
  ck_assert_int_ge(first, 0);
  ck_assert_int_le(first + count, a->nrows);
  if (count > s->largest) s->largest = count;
  s->calls++;
  if (s->fail) return snprintf(err->text, sizeof err->text, "the tape has run out at row %ld", (long)first), MACKO_IO;
  free(s->row_ptr), free(s->cols), free(s->values); /* nobody may still read the piece before */
  s->row_ptr = malloc(((size_t)count + 1) * 8), s->cols = malloc((size_t)n * 8 + 8), s->values = malloc((size_t)(n * size) + 8);
  for (int64_t i = 0; i <= count; i++) s->row_ptr[i] = macko_csr_row(a, first + i) - begin + 1;
  for (int64_t p = 0; p < n; p++) s->cols[p] = macko_csr_col(a, begin + p) + 1;
  if (n) memcpy(s->values, (const char *)a->values + begin * size, (size_t)(n * size));
  if (s->change_after && s->calls >= s->change_after) tell_lies(s, first, count);
  *piece = (macko_csr){.nrows = count, .ncols = a->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                       .value_type = a->value_type, .row_ptr = s->row_ptr, .cols = s->cols, .values = s->values, .index_base = 1};
  return MACKO_OK;
}

static void close_source(piece_source *s)
{
  free(s->row_ptr), free(s->cols), free(s->values);
}

static macko_row_source rows_of(piece_source *s, int64_t piece_rows)
{
  return (macko_row_source){.nrows = s->whole.nrows, .ncols = s->whole.ncols, .value_type = s->whole.value_type,
                            .piece_rows = piece_rows, .rows = give, .context = s};
}

/* ---- tests ---- */

static void check_same(const macko_matrix *a, const macko_matrix *b, const char *what)
{
  ck_assert_msg(a->nnz == b->nnz && a->format == b->format && a->nsections == b->nsections, "%s: other sections", what);
  ck_assert_msg(!memcmp(a->plan.params, b->plan.params, sizeof a->plan.params), "%s: other parameters", what);
  for (int i = 0; i < a->nsections; i++) {
    const macko_section *p = &a->sections[i], *q = &b->sections[i];
    ck_assert_msg(!strcmp(p->name, q->name) && p->type == q->type && p->bytes == q->bytes &&
                  !memcmp(p->data, q->data, (size_t)p->bytes),
                  "%s: section %s differs", what, p->name);
  }
}

static void compare(const macko_csr *c, const macko_options *o, const char *name)
{
  static const int64_t steps[] = {1, 7, 1000};
  macko_matrix *whole = NULL;
  macko_error err = {0};
  macko_status expected = macko_encode(c, o, &whole, &err);
  for (int i = 0; i < 3; i++) {
    piece_source s = {.whole = *c};
    macko_row_source source = rows_of(&s, steps[i]);
    macko_matrix *m = NULL;
    macko_status status = macko_encode_rows(&source, o, &m, &err);
    ck_assert_msg(status == expected, "%s, %s, pieces of %ld: %s", name, macko_format_name(o->format), (long)steps[i], err.text);
    ck_assert_int_le(s.largest, steps[i]);
    if (!status) check_same(whole, m, name);
    macko_destroy(&m);
    close_source(&s);
  }
  macko_destroy(&whole);
}

START_TEST(pieces_give_the_same_bytes)
{
  static const macko_type types[] = {MACKO_F64, MACKO_F64, MACKO_F64, MACKO_F32, MACKO_BF16};
  for (int kind = 0; kind < 5; kind++) {
    test_matrix a = test_make(_i, kind % TEST_VALUES, types[kind]);
    macko_csr c = test_view(&a);
    macko_options o;
    macko_options_init(&o);
    for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
      o.format = (macko_format)f, o.variant = MACKO_VARIANT_AUTO, o.values = MACKO_VALUES_AUTO;
      compare(&c, &o, a.name);
    }
    o.prefer = MACKO_PREFER_MEMORY;
    compare(&c, &o, a.name);
    o.prefer = MACKO_PREFER_TIME;
    o.format = MACKO_FORMAT_DTANS;
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_CODED; values++) {
      o.values = (macko_values)values;
      compare(&c, &o, a.name);
    }
    o.format = MACKO_FORMAT_MACKO;
    for (int form = 0; form < 3 * (MACKO_VALUES_PAIRS + 1); form++) { /* what a layout has not is refused, and by the same status */
      o.layout = (macko_layout)(MACKO_LAYOUT_AUTO + 1 + form % 3), o.values = (macko_values)(form / 3);
      compare(&c, &o, a.name);
    }
    o.format = MACKO_FORMAT_DTANS, o.layout = MACKO_LAYOUT_AUTO, o.values = MACKO_VALUES_AUTO;
    for (int variant = MACKO_VARIANT_SPLIT; variant <= MACKO_VARIANT_PAPER; variant++) {
      o.variant = (macko_variant)variant;
      compare(&c, &o, a.name);
    }
    o.format = MACKO_FORMAT_ECCSR, o.variant = MACKO_VARIANT_PAPER;
    compare(&c, &o, a.name);
    o.variant = MACKO_VARIANT_SHARED;
    compare(&c, &o, a.name);
    test_free(&a);
  }
}
END_TEST

/* More rows than fit one prediction's sample, so that slices are asked for here and there; several rows a lane. */
START_TEST(pieces_of_a_large_matrix_give_the_same_bytes)
{
  enum { LARGE = 40000, PER_ROW = 9 };
  int64_t *row_ptr = malloc((LARGE + 1) * 8), *cols = malloc(LARGE * PER_ROW * 8);
  double *values = malloc(LARGE * PER_ROW * 8);
  macko_options o;
  row_ptr[0] = 0;
  test_seed(5);
  for (int64_t i = 0, n = 0; i < LARGE; i++) {
    for (int k = 0; k < PER_ROW; k++)
      if (test_draw() % 8) cols[n] = 3 * i + k * (k + 1), values[n++] = (double)(test_draw() % (_i ? 5 : 100000)) / 3;
    row_ptr[i + 1] = n;
  }
  macko_csr c = {.nrows = LARGE, .ncols = 3 * LARGE + PER_ROW * PER_ROW, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                 .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options_init(&o);
  for (int kind = 0; kind < 3 * (MACKO_FORMAT_AUTO + 5); kind++) {
    static const macko_layout layouts[] = {MACKO_LAYOUT_AUTO, MACKO_LAYOUT_AUTO, MACKO_LAYOUT_ROW, MACKO_LAYOUT_SLICE,
                                           MACKO_LAYOUT_PAPER};
    int64_t step = kind % 3 == 0 ? 100 : kind % 3 == 1 ? 1000 : 10000;
    int more = kind / 3 - MACKO_FORMAT_AUTO; /* auto by time and by memory, layouts */
    o.format = more < 0 ? (macko_format)(kind / 3) : more < 2 ? MACKO_FORMAT_AUTO : MACKO_FORMAT_MACKO;
    o.layout = more < 0 ? MACKO_LAYOUT_AUTO : layouts[more], o.prefer = more == 1 ? MACKO_PREFER_MEMORY : MACKO_PREFER_TIME;
    piece_source s = {.whole = c};
    macko_row_source source = rows_of(&s, step);
    macko_matrix *whole = NULL, *m = NULL;
    macko_error err = {0};
    ck_assert_msg(!macko_encode(&c, &o, &whole, &err) && !macko_encode_rows(&source, &o, &m, &err), "%s", err.text);
    check_same(whole, m, "large");
    macko_destroy(&whole), macko_destroy(&m);
    close_source(&s);
  }
  free(row_ptr), free(cols), free(values);
}
END_TEST

START_TEST(sources_that_fail_are_reported)
{
  test_matrix a = test_make(8, 1, MACKO_F64);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  piece_source s = {.whole = test_view(&a), .fail = 1};
  macko_row_source source = rows_of(&s, 50);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS;
  ck_assert_int_eq(macko_encode_rows(&source, &o, &m, &err), MACKO_IO);
  ck_assert_str_eq(err.text, "the tape has run out at row 0");
  s.fail = 0;
  ck_assert(!macko_encode_rows(&source, &o, &m, &err));
  macko_destroy(&m);
  source.ncols--;
  ck_assert_int_eq(macko_encode_rows(&source, &o, &m, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "the piece of rows 0 to 49 has 50 rows of 400 columns of type f64, not of 399, f64");
  source.piece_rows = 0;
  ck_assert_int_eq(macko_encode_rows(&source, &o, &m, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_ptr_null(m);
  close_source(&s);
  test_free(&a);
}
END_TEST

/* ---- sources that do not always say the same ---- */

enum { ROWS = 75, COLS = 60, MOST = 12 };

typedef struct {
  int64_t row_ptr[ROWS + 1], cols[ROWS * MOST];
  uint64_t values[ROWS * MOST];
} decoded;

static void decode(const macko_matrix *m, decoded *d)
{
  ck_assert(m->nrows == ROWS && m->nnz <= ROWS * MOST);
  ck_assert(!macko_decode(m, d->row_ptr, d->cols, d->values, NULL));
}

/* What the source gives when it always, or never, lies. */
static void read_as(const piece_source *source, int lying, decoded *d)
{
  piece_source s = {.whole = source->whole, .lie = source->lie, .change_after = lying};
  macko_row_source rows = rows_of(&s, s.whole.nrows);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  ck_assert_msg(!macko_encode_rows(&rows, &o, &m, &err), "%s", err.text);
  decode(m, d);
  macko_destroy(&m);
  close_source(&s);
}

/* 1 if row i of m is that of one reading, its values too unless they were rounded. */
static int is_row(const macko_matrix *m, const decoded *d, const decoded *reading, int64_t i)
{
  int64_t p = d->row_ptr[i], q = reading->row_ptr[i], n = d->row_ptr[i + 1] - p, size = macko_type_bytes(m->value_type);
  return n == reading->row_ptr[i + 1] - q && !memcmp(d->cols + p, reading->cols + q, (size_t)n * 8) &&
         (m->plan.lossy ||
          !memcmp((const char *)d->values + p * size, (const char *)reading->values + q * size, (size_t)(n * size)));
}

/* A source that lies from call number `from` on: refused, or all of one reading. Returns how often it was asked. */
static int64_t check_lie(piece_source *s, const macko_row_source *rows, const macko_options *o, int64_t from,
                         const decoded readings[2])
{
  macko_matrix *m = NULL;
  macko_error err = {0};
  s->calls = 0, s->change_after = from;
  macko_status status = macko_encode_rows(rows, o, &m, &err);
  int expected = status == MACKO_INVALID_MATRIX || status == MACKO_UNSUPPORTED || status == MACKO_LIMIT;
  ck_assert_msg(!status || (expected && !m && err.text[0]), "lie %d from call %ld: status %d: %s", s->lie, (long)from, status,
                err.text);
  if (!status) {
    ck_assert_msg(!macko_validate(m, &err), "lie %d from call %ld: %s", s->lie, (long)from, err.text);
    static decoded d;
    decode(m, &d);
    for (int64_t i = 0; i < ROWS; i++)
      ck_assert_msg(is_row(m, &d, &readings[0], i) || is_row(m, &d, &readings[1], i),
                    "%s, lie %d from call %ld: row %ld was never given", m->plan.reason, s->lie, (long)from, (long)i);
  }
  macko_destroy(&m);
  return s->calls;
}

static void check_lies(const macko_csr *c, const macko_options *o)
{
  for (int kind = NO_LIE + 1; kind < LIES; kind++) {
    piece_source s = {.whole = *c, .lie = (lie)kind};
    static decoded readings[2];
    read_as(&s, 0, &readings[0]), read_as(&s, 1, &readings[1]);
    macko_row_source rows = rows_of(&s, c->nrows / 2 + 1);
    int64_t calls = check_lie(&s, &rows, o, 0, readings);
    for (int64_t from = 1; from <= calls; from++) check_lie(&s, &rows, o, from, readings);
    close_source(&s);
  }
}

/* Rows of 0 to 12 entries, values of a kind: one value, few, small integers. */
static void small_matrix(int kind, macko_type type, macko_csr *c)
{
  static int64_t row_ptr[ROWS + 1], cols[ROWS * MOST];
  static uint64_t values[ROWS * MOST];
  static const double few[] = {1, 0.25, -2.5, 3};
  int64_t n = 0;
  test_seed(7);
  for (int64_t i = 0; i < ROWS; i++) {
    for (int64_t j = 0, length = i == 1 ? 5 : (int64_t)(test_draw() % 13); j < length; j++, n++) {
      double value = kind == 0 ? 1 : kind == 1 ? few[test_draw() % 4] : (double)(test_draw() % 90);
      float single = (float)value;
      uint32_t bits;
      memcpy(&bits, &single, 4);
      cols[n] = 5 * j + (int64_t)(test_draw() % 5) - (j == 11);
      if (type == MACKO_F64) ((double *)values)[n] = value;
      else if (type == MACKO_F32) ((float *)values)[n] = single;
      else ((uint16_t *)values)[n] = (uint16_t)(bits >> 16);
    }
    row_ptr[i + 1] = n;
  }
  *c = (macko_csr){.nrows = ROWS, .ncols = COLS, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = type,
                   .row_ptr = row_ptr, .cols = cols, .values = values};
}

START_TEST(no_source_can_lie)
{
  static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_BF16};
  macko_options o;
  macko_csr c;
  macko_options_init(&o);
  o.format = (macko_format)_i;
  for (int values = 0; values <= MACKO_VALUES_BF16; values++)
    for (int more = 0; more < 4; more++) { /* layouts or variants */
      int layouts = _i == MACKO_FORMAT_MACKO, variants = _i == MACKO_FORMAT_DTANS, kind = (values + more) % 3;
      if (more && !layouts && !variants) continue;
      small_matrix(kind, types[(kind + more) % 3], &c);
      o.values = (macko_values)values;
      o.layout = layouts ? (macko_layout)more : MACKO_LAYOUT_AUTO;
      o.variant = variants ? (macko_variant)more : MACKO_VARIANT_AUTO;
      check_lies(&c, &o);
    }
  for (int kind = 0; kind < 3; kind++) { /* where a change of values is found last */
    o.values = kind ? MACKO_VALUES_DICT : MACKO_VALUES_AUTO, o.layout = MACKO_LAYOUT_AUTO, o.variant = MACKO_VARIANT_AUTO;
    small_matrix(kind, MACKO_F64, &c);
    check_lies(&c, &o);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("rows");
  TCase *t = tcase_create("rows");
  tcase_set_timeout(t, 900);
  tcase_add_loop_test(t, pieces_give_the_same_bytes, 0, TEST_PATTERNS);
  tcase_add_loop_test(t, pieces_of_a_large_matrix_give_the_same_bytes, 0, 2);
  tcase_add_test(t, sources_that_fail_are_reported);
  tcase_add_loop_test(t, no_source_can_lie, 0, MACKO_FORMAT_AUTO + 1);
  add_memory_tests(t);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
