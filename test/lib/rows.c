/* Encoding from rows that come in pieces: the same bytes as from the whole, and sources that do not keep their word. */
#include "core/format.h"
#include "matrices.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a source that hands out copies of rows ---- */

typedef struct {
  macko_csr whole;
  int64_t largest, calls; /* the largest piece asked for */
  int64_t change_after;   /* from this call on, row 1 has one entry less; 0: never */
  int fail;
  int64_t *row_ptr, *cols;
  void *values;
} piece_source;

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
  for (int64_t i = 1; s->change_after && s->calls >= s->change_after && i <= count; i++)
    if (first + i - 1 >= 1) s->row_ptr[i]--;
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
    o.format = MACKO_FORMAT_DTANS;
    for (int values = MACKO_VALUES_RAW; values <= MACKO_VALUES_CODED; values++) {
      o.values = (macko_values)values;
      compare(&c, &o, a.name);
    }
    o.values = MACKO_VALUES_AUTO;
    for (int variant = MACKO_VARIANT_SPLIT; variant <= MACKO_VARIANT_PAPER; variant++) {
      o.variant = (macko_variant)variant;
      compare(&c, &o, a.name);
    }
    test_free(&a);
  }
}
END_TEST

/* More rows than fit one prediction's sample, so that slices are asked for here and there; several rows a lane. */
START_TEST(pieces_of_a_large_matrix_give_the_same_bytes)
{
  enum { ROWS = 40000, PER_ROW = 9 };
  int64_t *row_ptr = malloc((ROWS + 1) * 8), *cols = malloc(ROWS * PER_ROW * 8);
  double *values = malloc(ROWS * PER_ROW * 8);
  macko_options o;
  row_ptr[0] = 0;
  test_seed(5);
  for (int64_t i = 0, n = 0; i < ROWS; i++) {
    for (int k = 0; k < PER_ROW; k++)
      if (test_draw() % 8) cols[n] = 3 * i + k * (k + 1), values[n++] = (double)(test_draw() % (_i ? 5 : 100000)) / 3;
    row_ptr[i + 1] = n;
  }
  macko_csr c = {.nrows = ROWS, .ncols = 3 * ROWS + PER_ROW * PER_ROW, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                 .value_type = MACKO_F64, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS;
  for (int64_t step = 100; step <= 10000; step *= 10) {
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

START_TEST(sources_that_fail_or_change_are_reported)
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
  int64_t calls = s.calls;
  macko_destroy(&m);
  for (int64_t after = 2; after < calls; after++) { /* the first pass only learns what there is */
    s.calls = 0, s.change_after = after;
    if (macko_encode_rows(&source, &o, &m, &err)) ck_assert_int_eq(err.status, MACKO_INVALID_MATRIX);
    macko_destroy(&m);
  }
  s.change_after = 0;
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

int main(void)
{
  Suite *suite = suite_create("rows");
  TCase *t = tcase_create("rows");
  tcase_set_timeout(t, 900);
  tcase_add_loop_test(t, pieces_give_the_same_bytes, 0, TEST_PATTERNS);
  tcase_add_loop_test(t, pieces_of_a_large_matrix_give_the_same_bytes, 0, 2);
  tcase_add_test(t, sources_that_fail_or_change_are_reported);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
