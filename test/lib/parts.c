/* A matrix encoded, refreshed or refused in several parts is, byte for byte and word for word, what one part makes of it. Built
 * with -fsanitize=thread it also shows that parts do not touch what others write. */
#include "matrices.h"
#include "suite.h"
#include "core/threads.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---- */

#ifdef MACKO_TEST_PARTS
int macko_test_parts = 1;

typedef struct {
  const macko_cut *cut;
  int part, parts;
  macko_part run;
  void *context;
} job;

static void *do_job(void *argument)
{
  const job *j = argument;
  macko_do_part(j->cut, j->part, j->parts, j->run, j->context);
  return NULL;
}

void macko_test_do_parts(const macko_cut *cut, int parts, macko_part run, void *context)
{
  pthread_t threads[MACKO_MOST_PARTS];
  job jobs[MACKO_MOST_PARTS];
  for (int i = parts - 1; i >= 0; i--) { /* the last first: nothing may depend on who begins */
    jobs[i] = (job){cut, i, parts, run, context};
    if (pthread_create(&threads[i], NULL, do_job, &jobs[i])) abort();
  }
  for (int i = 0; i < parts; i++) pthread_join(threads[i], NULL);
}

static void set_parts(int parts)
{
  macko_test_parts = parts;
}
#else
static void set_parts(int parts)
{
  omp_set_num_threads(parts);
}
#endif

static const int several[] = {2, 3, 7};

/* ---- what is compared ---- */

static void compare(const macko_matrix *one, const macko_matrix *more, const char *what)
{
  macko_info a, b;
  macko_get_info(one, &a), macko_get_info(more, &b);
  ck_assert_msg(a.format == b.format && a.layout == b.layout && a.values == b.values && a.bytes == b.bytes, "%s: bytes", what);
  ck_assert_msg(!strcmp(a.reason, b.reason), "%s: \"%s\", not \"%s\"", what, b.reason, a.reason);
  ck_assert_msg(a.nsections == b.nsections, "%s: sections", what);
  for (int64_t i = 0; i < a.nsections; i++) {
    const macko_section *s = macko_get_section(one, i), *t = macko_get_section(more, i);
    ck_assert_msg(!strcmp(s->name, t->name) && s->type == t->type && s->bytes == t->bytes, "%s: section %s", what, s->name);
    ck_assert_msg(!memcmp(s->data, t->data, (size_t)s->bytes), "%s: section %s differs", what, s->name);
  }
}

/* Encodes, then refreshes with other values. */
typedef struct {
  macko_matrix *encoded, *refreshed;
  macko_status status, refresh_status;
  macko_error err, refresh_err;
  macko_info predicted;
} outcome;

static outcome run(const macko_csr *c, const void *new_values, const macko_options *o, int parts)
{
  outcome r = {0};
  macko_csr fresh = *c;
  fresh.values = new_values;
  set_parts(parts);
  r.status = macko_encode(c, o, &r.encoded, &r.err);
  if (!r.status && (macko_predict(c, o, &r.predicted, &r.err) || macko_copy(r.encoded, &r.refreshed, &r.err)))
    ck_abort_msg("%s", r.err.text);
  if (!r.status) r.refresh_status = macko_refresh(r.refreshed, &fresh, &r.refresh_err);
  set_parts(1);
  return r;
}

static void drop(outcome *r)
{
  macko_destroy(&r->encoded), macko_destroy(&r->refreshed);
}

/* ---- the same from rows in pieces ---- */

typedef struct {
  const macko_csr *whole;
  int64_t *row_ptr;
} piece_source;

static macko_status give(void *context, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  piece_source *s = context;
  const macko_csr *a = s->whole;
  const int64_t begin = macko_csr_row(a, first);
  (void)err;
  for (int64_t i = 0; i <= count; i++) s->row_ptr[i] = macko_csr_row(a, first + i) - begin + a->index_base;
  *piece = *a;
  piece->nrows = count, piece->row_ptr_type = MACKO_I64, piece->row_ptr = s->row_ptr;
  piece->cols = (const char *)a->cols + begin * macko_type_bytes(a->col_type);
  piece->values = (const char *)a->values + begin * macko_type_bytes(a->value_type);
  return MACKO_OK;
}

static void check_pieces(const macko_csr *c, const macko_options *o, const outcome *one, int parts, const char *what)
{
  piece_source s = {c, malloc((size_t)(c->nrows + 1) * sizeof *s.row_ptr)};
  macko_row_source source = {c->nrows, c->ncols, c->value_type, c->nrows / 2 + 1, give, &s};
  macko_matrix *m = NULL;
  macko_error err = {0};
  set_parts(parts);
  macko_status status = macko_encode_rows(&source, o, &m, &err);
  set_parts(1);
  ck_assert_msg(status == one->status, "%s, in pieces: %s", what, err.text);
  if (!status) compare(one->encoded, m, what);
  macko_destroy(&m);
  free(s.row_ptr);
}

static void check_parts(const macko_csr *c, const void *new_values, const macko_options *o, const char *name)
{
  char what[200];
  outcome one = run(c, new_values, o, 1);
  for (int i = 0; i < (int)(sizeof several / sizeof *several); i++) {
    outcome more = run(c, new_values, o, several[i]);
    snprintf(what, sizeof what, "%s, %s %s %s %d bits, %d parts", name, macko_format_name(o->format),
             macko_layout_name(o->layout), macko_values_name(o->values), o->gap_bits, several[i]);
    ck_assert_msg(one.status == more.status && !strcmp(one.err.text, more.err.text), "%s: \"%s\", not \"%s\"", what,
                  more.err.text, one.err.text);
    ck_assert_msg(one.refresh_status == more.refresh_status && !strcmp(one.refresh_err.text, more.refresh_err.text),
                  "%s, refresh: \"%s\", not \"%s\"", what, more.refresh_err.text, one.refresh_err.text);
    if (!one.status) {
      ck_assert_msg(one.predicted.bytes == more.predicted.bytes, "%s: predicted", what);
      compare(one.encoded, more.encoded, what);
      compare(one.refreshed, more.refreshed, what);
      ck_assert_msg(one.encoded->pattern == more.encoded->pattern, "%s: the number of the pattern", what);
    }
    if (several[i] == 3) check_pieces(c, o, &one, 3, what);
    drop(&more);
  }
  drop(&one);
}

/* The matrix with indices of 32 bits that count from 1; it owns them. */
static macko_csr narrow_view(const test_matrix *a)
{
  int64_t nnz = a->row_ptr[a->nrows];
  int32_t *row_ptr = malloc((size_t)(a->nrows + 1) * sizeof *row_ptr), *cols = malloc((size_t)nnz * sizeof *cols + 4);
  macko_csr c = test_view(a);
  if (!row_ptr || !cols) abort();
  for (int64_t i = 0; i <= a->nrows; i++) row_ptr[i] = (int32_t)a->row_ptr[i] + 1;
  for (int64_t p = 0; p < nnz; p++) cols[p] = (int32_t)a->cols[p] + 1;
  c.row_ptr_type = c.col_type = MACKO_I32, c.index_base = 1, c.row_ptr = row_ptr, c.cols = cols;
  return c;
}

static void with_all_options(const test_matrix *a, const macko_csr *c, const void *new_values)
{
  macko_options o;
  macko_options_init(&o);
  for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_PAIRS; values++) {
    o.values = (macko_values)values, o.format = MACKO_FORMAT_CSR, o.layout = MACKO_LAYOUT_AUTO;
    check_parts(c, new_values, &o, a->name);
    o.format = MACKO_FORMAT_MACKO;
    for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++) {
      o.layout = (macko_layout)layout;
      check_parts(c, new_values, &o, a->name);
      for (int b = 1; b <= 16 && layout == MACKO_LAYOUT_ROW && values == MACKO_VALUES_AUTO; b *= 2) {
        o.gap_bits = b;
        check_parts(c, new_values, &o, a->name);
      }
      o.gap_bits = 0;
    }
  }
  o.format = MACKO_FORMAT_ECCSR, o.layout = MACKO_LAYOUT_AUTO, o.values = MACKO_VALUES_AUTO;
  for (int variant = MACKO_VARIANT_PAPER; variant <= MACKO_VARIANT_SHARED; variant += MACKO_VARIANT_SHARED - MACKO_VARIANT_PAPER) {
    o.variant = (macko_variant)variant;
    check_parts(c, new_values, &o, a->name);
  }
  o.format = MACKO_FORMAT_AUTO, o.variant = MACKO_VARIANT_AUTO;
  for (int target = MACKO_TARGET_CPU; target <= MACKO_TARGET_GPU; target++) {
    o.target = (macko_target)target;
    check_parts(c, new_values, &o, a->name);
  }
  o.prefer = MACKO_PREFER_MEMORY, o.target = MACKO_TARGET_CPU; /* bytes are what they are for any target */
  check_parts(c, new_values, &o, a->name);
}

static const struct {
  int values, fresh;
  macko_type type;
} values_of[] = {{0, 1, MACKO_F64}, {1, 2, MACKO_F64}, {2, 2, MACKO_F64}, {4, 4, MACKO_F64}, {3, 0, MACKO_F32},
                 {2, 1, MACKO_F16}};
enum { KINDS = sizeof values_of / sizeof *values_of };

START_TEST(bytes_are_those_of_one_part)
{
  int kind = _i / TEST_PATTERNS;
  test_matrix a = test_make(_i % TEST_PATTERNS, values_of[kind].values, values_of[kind].type);
  size_t bytes = (size_t)a.row_ptr[a.nrows] * 8 + 8;
  void *old_values = memcpy(malloc(bytes), a.values, bytes), *new_values;
  test_fill(&a, values_of[kind].fresh);
  new_values = a.values, a.values = old_values;
  macko_csr wide = test_view(&a), narrow = narrow_view(&a);
  with_all_options(&a, kind % 2 ? &narrow : &wide, new_values);
  free((void *)narrow.row_ptr), free((void *)narrow.cols), free(new_values);
  test_free(&a);
}
END_TEST

/* ---- sentences ---- */

static void check_refusal(const test_matrix *a, const char *part_of_sentence)
{
  macko_csr c = test_view(a);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++) {
    macko_options o;
    macko_options_init(&o);
    o.format = (macko_format)f;
    outcome one = run(&c, a->values, &o, 1);
    ck_assert_msg(one.status == MACKO_INVALID_MATRIX && strstr(one.err.text, part_of_sentence), "\"%s\"", one.err.text);
    check_parts(&c, a->values, &o, a->name);
  }
}

START_TEST(first_fault_is_named)
{
  test_matrix a = test_make(9, 0, MACKO_F64);
  int64_t nnz = a.row_ptr[a.nrows], end = a.row_ptr[300];
  a.cols[nnz / 4] = 1000, a.cols[nnz / 3] = -1, a.cols[nnz - 1] = 2000;
  check_refusal(&a, "column 1000 ");
  a.row_ptr[300] = 0; /* before columns are looked at */
  check_refusal(&a, "at row 299");
  a.row_ptr[200] = nnz + 5;
  check_refusal(&a, "at row 200");
  a.row_ptr[300] = end;
  check_refusal(&a, "at row 200");
  test_free(&a);
}
END_TEST

/* Values in an order that gives every part other codes, most of them known to the parts before; and rows that are unsorted and
 * have duplicates, in one part only. */
START_TEST(codes_are_numbered_from_the_first_row)
{
  test_matrix a = test_make(_i ? 16 : 10, 2, MACKO_F64);
  int64_t nnz = a.row_ptr[a.nrows];
  for (int64_t p = 0; p < nnz; p++) ((double *)a.values)[p] = (double)((nnz - p) * 40 / nnz + p % 3) + 0.25;
  macko_csr c = test_view(&a);
  with_all_options(&a, &c, a.values);
  int64_t last = a.row_ptr[a.nrows] - 1, swap = a.cols[last];
  a.cols[last] = a.cols[last - 1], a.cols[last - 1] = swap;
  with_all_options(&a, &c, a.values);
  a.cols[last - 1] = a.cols[last];
  with_all_options(&a, &c, a.values);
  test_free(&a);
}
END_TEST

int main(void)
{
  /* Tables of each part are not given back to the system and asked for again, which took a third of the time. */
  mallopt(M_MMAP_THRESHOLD, 32 << 20), mallopt(M_TRIM_THRESHOLD, 1 << 30);
  Suite *s = suite_create("parts");
  TCase *c = tcase_create("parts");
  tcase_set_timeout(c, 240);
  tcase_add_loop_test(c, bytes_are_those_of_one_part, 0, TEST_PATTERNS * KINDS);
  tcase_add_test(c, first_fault_is_named);
  tcase_add_loop_test(c, codes_are_numbered_from_the_first_row, 0, 2);
  suite_add_tcase(s, c);
  return test_run(s);
}
