/* Values that are replaced in pairs of a gap and a value. */
#include "conformance.h"

#include <stdlib.h>
#include <string.h>

/* Rows of gaps 1 to 20, so that no slice has a list. */
static test_matrix irregular_rows(void)
{
  enum { N = 500, WIDTH = 9 };
  test_matrix a = {"irregular rows", N, 1000, calloc(N + 1, 8), malloc(N * WIDTH * 8), MACKO_F64, malloc(N * WIDTH * 8),
                   malloc(N * WIDTH * 8)};
  int64_t n = 0;
  test_seed(7);
  for (int i = 0; i < N; i++) {
    int64_t col = i / 2 + (int64_t)(test_draw() % 40), length = (int64_t)(test_draw() % (WIDTH + 1));
    for (int k = 0; k < length; k++, col += 1 + (int64_t)(test_draw() % 20)) a.cols[n++] = col;
    a.row_ptr[i + 1] = n;
  }
  return a;
}

/* Of so many distinct values, some of which are no numbers that compare. */
static void fill_bits(test_matrix *a, int patterns)
{
  static const uint64_t odd[] = {0x7ff8dead0000beefu, 0x8000000000000000u, 0, 0xfff8000000000000u};
  for (int64_t p = 0; p < a->row_ptr[a->nrows]; p++) {
    uint64_t r = test_draw() % (uint64_t)patterns;
    ((uint64_t *)a->values)[p] = r < 4 ? odd[r] : r << 50;
  }
}

static macko_matrix *encode_checked(const test_matrix *a, const macko_options *o)
{
  macko_csr c = test_view(a);
  macko_matrix *m = NULL;
  macko_info predicted, info;
  macko_error err = {0};
  ck_assert_msg(!macko_encode(&c, o, &m, &err) && !macko_predict(&c, o, &predicted, &err), "%s", err.text);
  macko_get_info(m, &info);
  ck_assert_int_eq(info.values, MACKO_VALUES_PAIRS);
  ck_assert_int_eq(info.bytes, predicted.bytes);
  test_check_decode(a, m, "pairs");
  return m;
}

/* Pairs of gap and value, by its bits; more of them than fit leave the old values, or take another codec where that is free. */
START_TEST(joint_follows_new_values)
{
  static const int patterns[] = {4, 2, 11, 1};
  test_matrix a = irregular_rows(), old = irregular_rows();
  macko_options o;
  macko_info info;
  macko_error err;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, o.layout = MACKO_LAYOUT_SLICE;
  if (_i) o.prefer = MACKO_PREFER_MEMORY;
  else o.values = MACKO_VALUES_PAIRS;
  fill_bits(&a, 4);
  macko_csr c = test_view(&a);
  macko_matrix *m = encode_checked(&a, &o);
  for (int i = 0; i < 4; i++) {
    fill_bits(&a, patterns[i]);
    ck_assert_msg(!macko_refresh(m, &c, &err), "%s", err.text);
    test_check_decode(&a, m, "refreshed");
    check_info(m, &a, "refreshed");
    macko_get_info(m, &info);
    ck_assert_int_eq(info.values, MACKO_VALUES_PAIRS);
  }
  memcpy(old.values, a.values, (size_t)a.row_ptr[a.nrows] * 8);
  fill_bits(&a, 60);
  macko_status s = macko_refresh(m, &c, &err);
  macko_get_info(m, &info);
  ck_assert_int_eq(s, _i ? MACKO_OK : MACKO_UNSUPPORTED);
  if (s) ck_assert_str_eq(err.text, "values pairs: the matrix has more than 256 pairs of a column gap and a value");
  ck_assert_int_eq(info.values == MACKO_VALUES_PAIRS, !_i);
  test_check_decode(s ? &old : &a, m, "many values");
  check_info(m, &a, "many values");
  macko_destroy(&m);
  test_free(&a), test_free(&old);
}
END_TEST

void add_pairs_tests(TCase *t)
{
  tcase_add_loop_test(t, joint_follows_new_values, 0, INT32_MAX < 1000 ? 0 : 2);
}
