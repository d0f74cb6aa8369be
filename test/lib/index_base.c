/* Input that counts from 1, as Fortran's arrays do, must give the compressed form that the same matrix counted from 0 gives. */
#include "matrices.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* a's indices plus 1, in arrays of the type asked for; freed by the caller. */
static void *shifted(const int64_t *from, int64_t count, macko_type type)
{
  void *to = malloc((size_t)count * 8 + 8);
  for (int64_t i = 0; i < count; i++)
    if (type == MACKO_I64) ((int64_t *)to)[i] = from[i] + 1;
    else ((int32_t *)to)[i] = (int32_t)from[i] + 1;
  return to;
}

static macko_csr from_one(const test_matrix *a, macko_type type)
{
  macko_csr c = test_view(a);
  c.row_ptr_type = c.col_type = type;
  c.row_ptr = shifted(a->row_ptr, a->nrows + 1, type);
  c.cols = shifted(a->cols, a->row_ptr[a->nrows], type);
  c.index_base = 1;
  return c;
}

static void same_sections(const test_matrix *a, const macko_matrix *m, const macko_matrix *n)
{
  for (int64_t i = 0;; i++) {
    const macko_section *s = macko_get_section(m, i), *t = macko_get_section(n, i);
    ck_assert_msg(!s == !t, "%s: numbers of sections differ", a->name);
    if (!s) return;
    ck_assert_msg(!strcmp(s->name, t->name) && s->type == t->type && s->bytes == t->bytes &&
                  !memcmp(s->data, t->data, (size_t)s->bytes),
                  "%s: section %s differs", a->name, s->name);
  }
}

static void both_bases(test_matrix *a, const macko_options *o, macko_type type)
{
  macko_csr zero = test_view(a), one = from_one(a, type);
  macko_matrix *m = NULL, *n = NULL;
  macko_error err = {0};
  macko_status s = macko_encode(&zero, o, &m, &err);
  ck_assert_int_eq(macko_encode(&one, o, &n, &err), s);
  if (!s) {
    same_sections(a, m, n);
    ck_assert_msg(!macko_validate(n, &err), "%s: %s", a->name, err.text);
    test_check_decode(a, n, "counted from 1");
    test_seed(7), test_fill(a, 0);
    ck_assert_msg(!macko_refresh(n, &one, &err), "%s: %s", a->name, err.text);
    test_check_decode(a, n, "refreshed, counted from 1");
  }
  macko_destroy(&m), macko_destroy(&n);
  free((void *)one.row_ptr), free((void *)one.cols);
}

START_TEST(one_based_input_encodes_alike)
{
  test_matrix a = test_make(_i, 0, MACKO_F64);
  macko_options o;
  macko_options_init(&o);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++) {
      o.format = (macko_format)f, o.layout = (macko_layout)layout;
      if (macko_options_check(&o, NULL)) continue;
      both_bases(&a, &o, MACKO_I32);
      both_bases(&a, &o, MACKO_I64);
    }
  test_free(&a);
}
END_TEST

START_TEST(unsorted_one_based_rows_are_sorted)
{
  int32_t row_ptr[] = {1, 5, 6}, cols[] = {3, 1, 3, 2, 1};
  double values[] = {1, 2, 4, 8, 16}, out[4];
  int64_t back[3], out_cols[4];
  macko_csr c = {.nrows = 2, .ncols = 3, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values, .index_base = 1};
  macko_matrix *m = NULL;
  ck_assert(!macko_encode(&c, NULL, &m, NULL));
  macko_decode(m, back, out_cols, out, NULL);
  ck_assert_mem_eq(back, ((int64_t[]){0, 3, 4}), sizeof back);
  ck_assert_mem_eq(out_cols, ((int64_t[]){0, 1, 2, 0}), sizeof out_cols);
  ck_assert_mem_eq(out, ((double[]){2, 8, 5, 16}), sizeof out);
  macko_destroy(&m);
}
END_TEST

static void refused(const macko_csr *c, macko_status status, const char *sentence)
{
  macko_matrix *m = NULL;
  macko_error err = {0};
  ck_assert_int_eq(macko_encode(c, NULL, &m, &err), status);
  ck_assert_str_eq(err.text, sentence);
  ck_assert_ptr_null(m);
}

START_TEST(sentences_count_as_the_caller_does)
{
  int32_t row_ptr[] = {1, 2, 3}, cols[] = {1, 4};
  double values[] = {1, 2};
  macko_csr c = {.nrows = 2, .ncols = 3, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values, .index_base = 1};
  refused(&c, MACKO_INVALID_MATRIX, "column 4 at entry 2 of row 2 is outside 1..3");
  cols[1] = 0;
  refused(&c, MACKO_INVALID_MATRIX, "column 0 at entry 2 of row 2 is outside 1..3");
  row_ptr[1] = 4;
  refused(&c, MACKO_INVALID_MATRIX, "row_ptr falls from 4 to 3 at row 2");
  row_ptr[0] = 0;
  refused(&c, MACKO_INVALID_MATRIX, "row_ptr[1] is 0 and must be 1");
  c.index_base = 2;
  refused(&c, MACKO_INVALID_ARGUMENT, "index_base is 2 and must be 0 or 1");
}
END_TEST

START_TEST(the_ends_of_the_index_types_are_refused)
{
  int64_t row_ptr[] = {1, 2, 3}, cols[] = {1, INT64_MIN};
  double values[] = {1, 2};
  macko_csr c = {.nrows = 2, .ncols = INT64_MAX, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values, .index_base = 1};
  refused(&c, MACKO_INVALID_MATRIX, "column -9223372036854775808 at entry 2 of row 2 is outside 1..9223372036854775807");
  row_ptr[2] = INT64_MIN;
  refused(&c, MACKO_INVALID_MATRIX, "row_ptr falls from 2 to -9223372036854775808 at row 2");
  row_ptr[0] = INT64_MIN;
  refused(&c, MACKO_INVALID_MATRIX, "row_ptr[1] is -9223372036854775808 and must be 1");
  row_ptr[0] = INT64_MAX;
  refused(&c, MACKO_INVALID_MATRIX, "row_ptr[1] is 9223372036854775807 and must be 1");
}
END_TEST

/* One row of one entry in the last column that format macko has. */
START_TEST(the_last_column_of_a_slice)
{
  int64_t row_ptr[] = {0, 1}, cols[] = {INT32_MAX - 1};
  double value = 2;
  float y = 1, *x = mmap(NULL, (size_t)INT32_MAX * 4, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0); /* zeros */
  macko_csr c = {.nrows = 1, .ncols = INT32_MAX, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = &value};
  macko_options o;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE;
  o.values = MACKO_VALUES_F16; /* no stencil */
  ck_assert(!macko_encode(&c, &o, &m, NULL) && !macko_validate(m, NULL));
  ck_assert(x != MAP_FAILED);
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F32, 1, 1, x, 0, 0, &y, 0, NULL));
  ck_assert(y == 0);
  macko_destroy(&m);
  munmap(x, (size_t)INT32_MAX * 4);
}
END_TEST

/* One row of an entry in the middle and one in the last column that format slide has: what fills their windows reads nothing of x,
 * where it may be infinite. */
START_TEST(the_last_window)
{
  enum { MIDDLE = 1 << 30, NEAR = 64 };
  int64_t row_ptr[] = {0, 2}, cols[] = {MIDDLE, INT32_MAX - 1};
  double values[] = {2, 3};
  float y = 1, *x = mmap(NULL, (size_t)INT32_MAX * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  macko_csr c = {.nrows = 1, .ncols = INT32_MAX, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                 .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_options o;
  macko_matrix *m = NULL;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE;
  ck_assert(!macko_encode(&c, &o, &m, NULL) && !macko_validate(m, NULL));
  ck_assert(x != MAP_FAILED);
  for (int64_t i = 0; i < NEAR; i++) x[i] = x[MIDDLE - 1 - i] = x[MIDDLE + 1 + i] = x[INT32_MAX - 2 - i] = INFINITY;
  x[MIDDLE] = 5, x[INT32_MAX - 1] = 7;
  ck_assert(!macko_multiply(m, MACKO_OP_N, MACKO_F32, 1, 1, x, 0, 0, &y, 0, NULL));
  ck_assert(y == 31);
  macko_destroy(&m);
  munmap(x, (size_t)INT32_MAX * 4);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("index base");
  TCase *t = tcase_create("counting from 1");
  tcase_set_timeout(t, 120);
  tcase_add_loop_test(t, one_based_input_encodes_alike, 0, TEST_PATTERNS);
  tcase_add_test(t, unsorted_one_based_rows_are_sorted);
  tcase_add_test(t, sentences_count_as_the_caller_does);
  tcase_add_test(t, the_ends_of_the_index_types_are_refused);
  tcase_add_test(t, the_last_column_of_a_slice);
  tcase_add_test(t, the_last_window);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
