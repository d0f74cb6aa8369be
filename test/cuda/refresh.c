/* New values from device memory give the bytes that the host's refresh gives. */
#include "both.h"
#include "common.h"

START_TEST(refresh_gives_the_hosts_bytes)
{
  macko_options o;
  test_matrix a = _i < TEST_PATTERNS ? test_make(_i, 4, MACKO_F64) : many_rows(_i - TEST_PATTERNS);
  macko_options_init(&o);
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_AUTO; layout <= MACKO_LAYOUT_PAPER; layout++)
      for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_PAIRS; values++) {
        if (f != MACKO_FORMAT_MACKO && (layout || values)) continue;
        o.format = (macko_format)f, o.layout = (macko_layout)layout, o.values = (macko_values)values;
        for (int cpu = layout == MACKO_LAYOUT_SLICE; cpu >= 0; cpu--) { /* slices are masked for a CPU alone */
          o.target = cpu ? MACKO_TARGET_CPU : MACKO_TARGET_GPU;
          test_fill(&a, 4);
          refresh_both(&a, &o);
        }
      }
  o.prefer = MACKO_PREFER_MEMORY, o.values = MACKO_VALUES_AUTO; /* codes of pairs, which go by the pattern as well */
  for (int f = MACKO_FORMAT_MACKO; f <= MACKO_FORMAT_AUTO; f += MACKO_FORMAT_AUTO - MACKO_FORMAT_MACKO) {
    o.format = (macko_format)f, o.layout = MACKO_LAYOUT_SLICE;
    test_fill(&a, 1);
    refresh_both(&a, &o);
  }
  o.layout = MACKO_LAYOUT_AUTO; /* format dtans, where it takes the fewest bytes */
  test_fill(&a, 0);
  refresh_both(&a, &o);
  test_free(&a);
}
END_TEST

START_TEST(eccsr_takes_new_values)
{
  test_matrix a = coupled_rows(_i);
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_ECCSR;
  for (int values = MACKO_VALUES_AUTO; values <= MACKO_VALUES_DICT; values++) {
    o.values = (macko_values)values;
    test_fill(&a, 1);
    refresh_both(&a, &o);
  }
  test_free(&a);
}
END_TEST

START_TEST(refresh_refuses_other_rows)
{
  macko_error err = {0}, host_err = {0};
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_options o;
  test_matrix a = test_make(8, _i % TEST_VALUES, MACKO_F64);
  both b = open_both(&a, 0);
  macko_options_init(&o);
  if (_i >= TEST_VALUES) o.format = MACKO_FORMAT_DTANS, o.target = MACKO_TARGET_GPU;
  ck_assert_msg(!macko_device_encode(&b.device, &o, NULL, &d, &err), "%s", err.text);
  ck_assert(!macko_encode(&b.host, &o, &m, NULL));
  close_both(&b);
  a.row_ptr[7]--;
  b = open_both(&a, 0);
  ck_assert_int_eq(macko_refresh(m, &b.host, &host_err), MACKO_INVALID_MATRIX);
  ck_assert_int_eq(macko_device_refresh_csr(d, &b.device, NULL, NULL, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, host_err.text);
  b.device.nrows--;
  ck_assert_int_eq(macko_device_refresh_csr(d, &b.device, NULL, NULL, &err), MACKO_INVALID_MATRIX);
  compare_matrices(m, d, "refused");
  close_both(&b);
  macko_device_destroy(&d);
  macko_destroy(&m);
  test_free(&a);
}
END_TEST

/* A column of some row that can move on to the next one; -1 where none can. */
static int64_t free_column(const test_matrix *a)
{
  for (int64_t i = a->nrows / 2; i < a->nrows; i++) {
    int64_t last = a->row_ptr[i + 1] - 1;
    if (last >= a->row_ptr[i] && a->cols[last] + 1 < a->ncols) return last;
  }
  return -1;
}

/* The same row lengths, one column moved: both ways of refreshing what is on the GPU keep what is there, in the host's words. */
static void refuse_moved_column(test_matrix *a, const macko_options *o, int64_t moved)
{
  macko_error err = {0}, host_err = {0};
  macko_matrix *m = NULL, *other = NULL, *fetched = NULL;
  macko_device_matrix *d = NULL;
  both b = open_both(a, 0);
  macko_status s = macko_device_encode(&b.device, o, NULL, &d, &err);
  if (s == MACKO_UNSUPPORTED || s == MACKO_LIMIT) {
    close_both(&b);
    return;
  }
  ck_assert_msg(!s && !macko_encode(&b.host, o, &m, &err), "%s: %s", a->name, err.text);
  close_both(&b);
  a->cols[moved]++;
  b = open_both(a, 1);
  ck_assert_int_eq(macko_refresh(m, &b.host, &host_err), MACKO_INVALID_MATRIX);
  ck_assert_int_eq(macko_device_refresh_csr(d, &b.device, NULL, NULL, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, host_err.text);
  compare_matrices(m, d, a->name);
  ck_assert_msg(!macko_encode(&b.host, o, &other, &err), "%s", err.text);
  ck_assert_msg(macko_device_refresh(d, other, NULL, NULL, &err) == MACKO_INVALID_MATRIX, "%s", a->name);
  compare_matrices(m, d, a->name);
  close_both(&b);
  a->cols[moved]--;
  b = open_both(a, 2); /* and what was encoded on the GPU is refreshed on the host, by its number */
  ck_assert_msg(!macko_device_fetch(d, NULL, &fetched, &err) && !macko_refresh(fetched, &b.host, &err), "%s", err.text);
  ck_assert_msg(!macko_device_refresh(d, fetched, NULL, NULL, &err), "%s", err.text);
  close_both(&b);
  macko_device_destroy(&d);
  macko_destroy(&m), macko_destroy(&other), macko_destroy(&fetched);
}

START_TEST(refresh_refuses_other_columns)
{
  macko_options o;
  test_matrix a = _i < TEST_PATTERNS ? test_make(_i, 1, MACKO_F64) : many_rows(_i - TEST_PATTERNS);
  int64_t moved = free_column(&a);
  if (_i >= TEST_PATTERNS) test_fill(&a, 1);
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  for (int f = 0; moved >= 0 && f <= MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_AUTO; layout <= (f == MACKO_FORMAT_MACKO ? MACKO_LAYOUT_PAPER : MACKO_LAYOUT_AUTO); layout++) {
      o.format = (macko_format)f, o.layout = (macko_layout)layout;
      refuse_moved_column(&a, &o, moved);
    }
  test_free(&a);
}
END_TEST

START_TEST(dtans_takes_new_values)
{
  static const macko_values values[] = {MACKO_VALUES_RAW, MACKO_VALUES_NARROW, MACKO_VALUES_DICT, MACKO_VALUES_CODED};
  test_matrix a = _i < TEST_PATTERNS ? test_make(_i, 4, MACKO_F64) : many_rows(_i - TEST_PATTERNS);
  for (int variant = MACKO_VARIANT_AUTO; variant <= MACKO_VARIANT_PAPER; variant++)
    refresh_variant(&a, (macko_variant)variant, MACKO_VALUES_AUTO);
  for (int i = 0; i < 4; i++) refresh_variant(&a, MACKO_VARIANT_SPLIT, values[i]);
  test_free(&a);
}
END_TEST

/* The transpose is made of the csr on the GPU, as the host makes it of the compressed form, also after new values. */
static void transpose_both(test_matrix *a, const macko_options *o, int kind)
{
  macko_error err = {0};
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  test_fill(a, kind);
  both b = open_both(a, kind % 4);
  if (!macko_encode(&b.host, o, &m, NULL)) {
    ck_assert_msg(!macko_device_encode(&b.device, o, NULL, &d, &err), "%s: %s", a->name, err.text);
    ck_assert_msg(!macko_device_add_transpose_csr(d, &b.device, NULL, &err), "%s: %s", a->name, err.text);
    compare_transposes(m, d, a->name);
    for (int step = 0; step < TEST_VALUES; step++) {
      test_fill(a, step);
      send_values(a, &b);
      macko_status s = macko_refresh(m, &b.host, &err);
      ck_assert_int_eq(s, macko_device_refresh_csr(d, &b.device, NULL, NULL, &err));
      compare_transposes(m, d, a->name); /* where the codec cannot hold the values: the old ones */
    }
  }
  macko_device_destroy(&d);
  macko_destroy(&m);
  close_both(&b);
}

START_TEST(transposes_are_the_hosts)
{
  macko_options o;
  test_matrix a = _i < TEST_PATTERNS ? test_make(_i, 1, MACKO_F64) : many_rows(_i - TEST_PATTERNS);
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  for (int f = 0; f <= MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_AUTO; layout <= (f == MACKO_FORMAT_MACKO ? MACKO_LAYOUT_PAPER : MACKO_LAYOUT_AUTO); layout++) {
      o.format = (macko_format)f, o.layout = (macko_layout)layout;
      transpose_both(&a, &o, (f + layout + _i) % TEST_VALUES);
    }
  test_free(&a);
}
END_TEST

START_TEST(transposes_of_another_pattern_are_refused)
{
  macko_error err = {0};
  macko_matrix *m = NULL, *other = NULL;
  macko_device_matrix *d = NULL;
  macko_options o;
  test_matrix a = test_make(8, 1, MACKO_F64);
  int64_t moved = free_column(&a);
  ck_assert(moved >= 0);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  both b = open_both(&a, 0);
  ck_assert(!macko_encode(&b.host, &o, &m, NULL) && !macko_device_upload(m, NULL, &d, NULL));
  close_both(&b);
  a.cols[moved]++;
  b = open_both(&a, 1);
  ck_assert(!macko_encode(&b.host, &o, &other, NULL));
  ck_assert_int_eq(macko_device_add_transpose_csr(d, &b.device, NULL, &err), MACKO_INVALID_MATRIX);
  ck_assert_str_eq(err.text, "the matrix has other row lengths or columns than the one on the GPU");
  ck_assert_int_eq(macko_device_add_transpose(d, other, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "the matrix has other row lengths or columns than the one on the GPU");
  ck_assert_msg(!macko_device_add_transpose(d, m, NULL, &err), "%s", err.text);
  compare_transposes(m, d, "the right one");
  close_both(&b);
  macko_device_destroy(&d);
  macko_destroy(&m), macko_destroy(&other);
  test_free(&a);
}
END_TEST

static Suite *refresh_suite(void)
{
  Suite *suite = suite_create("cuda_refresh");
  TCase *all = add_case(suite, "all", 0);
  tcase_add_loop_test(all, refresh_gives_the_hosts_bytes, 0, TEST_PATTERNS + 3);
  tcase_add_loop_test(all, refresh_refuses_other_rows, 0, 2 * TEST_VALUES);
  tcase_add_loop_test(all, refresh_refuses_other_columns, 0, TEST_PATTERNS + 3);
  TCase *transposes = add_case(suite, "transposes", 0);
  tcase_add_loop_test(transposes, transposes_are_the_hosts, 0, TEST_PATTERNS + 3);
  tcase_add_test(transposes, transposes_of_another_pattern_are_refused);
  tcase_add_loop_test(add_case(suite, "eccsr", 0), eccsr_takes_new_values, 0, COUPLED);
  tcase_add_loop_test(add_case(suite, "dtans", 0), dtans_takes_new_values, 0, TEST_PATTERNS + 3);
  return suite;
}

int main(void)
{
  return run_cuda_suite(refresh_suite);
}
