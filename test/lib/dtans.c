/* Format dtans: refresh beside untouched gaps, what is chosen and refused, damage, the example of the manual. */
#include "dtans.h"
#include "damage.h"
#include "manual.h"
#include "matrices.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

/* ---- matrices ---- */

macko_csr view(const plain *a)
{
  return (macko_csr){.nrows = a->rows, .ncols = a->rows, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = MACKO_F64, .row_ptr = a->row_ptr, .cols = a->cols, .values = a->values};
}

plain room(int64_t rows, int64_t nnz)
{
  return (plain){rows, calloc((size_t)rows + 1, 8), malloc((size_t)nnz * 8), malloc((size_t)nnz * 8)};
}

void release(plain *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
}

plain stencil(int64_t n, int64_t depth)
{
  plain a = room(n * n * depth, n * n * depth * 27);
  int64_t count = 0, i = 0;
  for (int64_t z = 0; z < depth; z++)
    for (int64_t y = 0; y < n; y++)
      for (int64_t x = 0; x < n; x++) {
        for (int64_t c = z - 1; c <= z + 1; c++)
          for (int64_t b = y - 1; b <= y + 1; b++)
            for (int64_t d = x - 1; d <= x + 1; d++) {
              if (c < 0 || b < 0 || d < 0 || c >= depth || b >= n || d >= n || (depth == 1 && b != y && d != x)) continue;
              int64_t j = (c * n + b) * n + d;
              a.cols[count] = j;
              a.values[count++] = j == i ? (depth == 1 ? 4 : 26) : -1;
            }
        a.row_ptr[++i] = count;
      }
  return a;
}

double gauss(void)
{
  double sum = -6;
  for (int i = 0; i < 12; i++) sum += (double)test_draw() / 2147483648.0;
  return sum;
}

/* About per_row entries within half_width of the diagonal, random values. */
static plain banded(int64_t n, int64_t half_width, int64_t per_row)
{
  plain a = room(n, n * (2 * half_width + 1));
  int64_t count = 0;
  test_seed(3);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i - half_width; j <= i + half_width; j++)
      if (j >= 0 && j < n && (j == i || (int64_t)(test_draw() % (uint64_t)(2 * half_width)) < per_row))
        a.cols[count] = j, a.values[count++] = gauss();
    a.row_ptr[i + 1] = count;
  }
  return a;
}

/* Barabasi-Albert: each new node joins m nodes, chosen in proportion to their degree. Ones; rows are not sorted. */
static plain power_law(int64_t n, int64_t m)
{
  int64_t *from = malloc((size_t)(n * m) * 8), *to = malloc((size_t)(n * m) * 8), *at = calloc((size_t)n + 1, 8), edges = 0;
  plain a = room(n, 2 * n * m);
  test_seed(4);
  for (int64_t u = m; u < n; u++)
    for (int64_t k = 0, first = edges; k < m; k++) {
      int64_t v = k, seen = 0;
      if (first) v = test_draw() & 1 ? from[test_draw() % (uint64_t)first] : to[test_draw() % (uint64_t)first];
      for (int64_t e = first; e < edges; e++) seen |= to[e] == v;
      if (seen) continue;
      from[edges] = u, to[edges++] = v;
    }
  for (int64_t e = 0; e < edges; e++) a.row_ptr[from[e] + 1]++, a.row_ptr[to[e] + 1]++;
  for (int64_t i = 0; i < n; i++) at[i] = a.row_ptr[i], a.row_ptr[i + 1] += a.row_ptr[i];
  for (int64_t e = 0; e < edges; e++) a.cols[at[from[e]]++] = to[e], a.cols[at[to[e]]++] = from[e];
  for (int64_t p = 0; p < 2 * edges; p++) a.values[p] = 1;
  free(from), free(to), free(at);
  return a;
}

plain kind_of_matrix(int kind)
{
  return kind == 0 ? stencil(256, 1) : kind == 1 ? stencil(40, 40) : kind == 2 ? banded(20000, 200, 20) : power_law(50000, 8);
}

macko_matrix *encode(const macko_csr *a, macko_variant variant, macko_values values)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.variant = variant, o.values = values;
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s", err.text);
  return m;
}

/* ---- tests ---- */

/* A copy of the sections that hold the pattern. */
static const char *const pattern_sections[] = {"lengths", "stream", "slices", "gap_symbols", "gap_slots"};
enum { PATTERN_SECTIONS = 5 };

/* From coded values to raw, to one value and back, with the pattern's arrays in place. */
START_TEST(refresh_leaves_the_gaps_of_split_alone)
{
  plain a = stencil(40, 1);
  macko_csr c = view(&a);
  macko_matrix *m = encode(&c, MACKO_VARIANT_SPLIT, MACKO_VALUES_AUTO);
  int64_t nnz = a.row_ptr[a.rows];
  double *back = malloc((size_t)nnz * 8);
  macko_error err = {0};
  const void *data[PATTERN_SECTIONS];
  void *copy[PATTERN_SECTIONS];
  for (int i = 0; i < PATTERN_SECTIONS; i++) {
    const macko_section *s = test_section(m, pattern_sections[i]);
    data[i] = s->data;
    copy[i] = memcpy(malloc((size_t)s->bytes), s->data, (size_t)s->bytes);
  }
  for (int kind = 0; kind < 4; kind++) {
    for (int64_t p = 0; p < nnz; p++) a.values[p] = kind == 1 ? 7 : kind == 2 ? (double)(p % 3) / 3 : gauss();
    ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
    ck_assert_msg(!macko_validate(m, &err), "%s", err.text);
    ck_assert(!macko_decode(m, NULL, NULL, back, &err));
    ck_assert(!memcmp(back, a.values, (size_t)nnz * 8));
    for (int i = 0; i < PATTERN_SECTIONS; i++) {
      const macko_section *s = test_section(m, pattern_sections[i]);
      ck_assert_ptr_eq(s->data, data[i]);
      ck_assert(!memcmp(s->data, copy[i], (size_t)s->bytes));
    }
  }
  for (int i = 0; i < PATTERN_SECTIONS; i++) free(copy[i]);
  free(back);
  macko_destroy(&m);
  release(&a);
}
END_TEST

/* The time is that of the new values: what they take more, in bytes and in decoding, and as before where the old ones return. */
START_TEST(new_values_have_a_time_of_their_own)
{
  plain a = stencil(40, 1);
  macko_csr c = view(&a);
  const int64_t nnz = a.row_ptr[a.rows];
  macko_info before, raw, again, fresh;
  macko_error err = {0};
  for (int64_t p = 0; p < nnz; p++) a.values[p] = 7;
  macko_matrix *m = encode(&c, MACKO_VARIANT_SPLIT, MACKO_VALUES_AUTO);
  macko_get_info(m, &before);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = gauss();
  ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
  macko_get_info(m, &raw);
  macko_matrix *other = encode(&c, MACKO_VARIANT_SPLIT, MACKO_VALUES_AUTO);
  macko_get_info(other, &fresh);
  ck_assert_double_gt(raw.seconds, before.seconds);
  ck_assert_double_eq_tol(raw.seconds, fresh.seconds, 1e-9 * fresh.seconds);
  for (int64_t p = 0; p < nnz; p++) a.values[p] = 7;
  ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
  macko_get_info(m, &again);
  ck_assert_double_eq_tol(again.seconds, before.seconds, 1e-9 * before.seconds);
  macko_destroy(&m), macko_destroy(&other);
  release(&a);
}
END_TEST

/* Automatic choice is for multiplies on a CPU, where decoding costs more than reading CSR. */
START_TEST(automatic_choice_passes_dtans_over)
{
  plain a = stencil(16, 16);
  macko_csr c = view(&a);
  macko_matrix *m = NULL;
  macko_info info;
  ck_assert(!macko_encode(&c, NULL, &m, NULL));
  macko_get_info(m, &info);
  ck_assert_int_ne(info.format, MACKO_FORMAT_DTANS);
  macko_destroy(&m);
  release(&a);
}
END_TEST

START_TEST(values_of_joint_and_paper_cannot_be_stored_otherwise)
{
  plain a = stencil(4, 1);
  macko_csr c = view(&a);
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_DTANS, o.variant = MACKO_VARIANT_PAPER, o.values = MACKO_VALUES_F32;
  ck_assert_int_eq(macko_encode(&c, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, "format dtans does not have values f32 with variant paper; format eccsr does");
  o.format = MACKO_FORMAT_MACKO, o.values = MACKO_VALUES_CODED;
  ck_assert_int_eq(macko_encode(&c, &o, &m, &err), MACKO_UNSUPPORTED);
  ck_assert_ptr_null(m);
  release(&a);
}
END_TEST

START_TEST(damage_is_found_or_harmless)
{
  plain a = banded(66, 9, 5);
  macko_csr c = view(&a);
  macko_matrix *m = encode(&c, (macko_variant)_i, MACKO_VALUES_AUTO);
  test_change_every_byte(m, 100);
  macko_destroy(&m);
  release(&a);
}
END_TEST

START_TEST(the_example_of_the_manual_is_true)
{
  test_example e;
  macko_csr a = test_manual_matrix("dtans", &e);
  macko_matrix *m = encode(&a, MACKO_VARIANT_JOINT, MACKO_VALUES_AUTO);
  test_check_manual_sections("dtans", m, 0);
  macko_destroy(&m);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("dtans");
  TCase *t = tcase_create("dtans");
  tcase_set_timeout(t, 120);
  add_prediction_tests(t);
  tcase_add_test(t, refresh_leaves_the_gaps_of_split_alone);
  tcase_add_test(t, new_values_have_a_time_of_their_own);
  tcase_add_test(t, automatic_choice_passes_dtans_over);
  tcase_add_test(t, values_of_joint_and_paper_cannot_be_stored_otherwise);
  tcase_add_loop_test(t, damage_is_found_or_harmless, 0, MACKO_VARIANT_PAPER + 1);
  tcase_add_test(t, the_example_of_the_manual_is_true);
  suite_add_tcase(suite, t);
  return test_run(suite);
}
