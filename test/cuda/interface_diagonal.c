/* The diagonal of rows that may be a part of a larger matrix: entries whose column is any number beyond their row's. */
#include "interface.h"

/* Gives the entry in that row and column of the csr. */
static double entry(int row, int64_t col)
{
  for (int32_t p = row_ptr[row]; p < row_ptr[row + 1]; p++)
    if (cols[p] == col) return values[p];
  return 0;
}

/* Compares what the GPU says, in an array that held something else, with the csr. */
static void compare_diagonal(const fixture *f, int64_t first, const char *kind)
{
  macko_error err = {0};
  CUDA(cudaMemset(f->y, 0xff, sizeof y));
  macko_status s = first ? macko_device_diagonal_from(f->d, first, f->y, f->stream, &err)
                         : macko_device_diagonal(f->d, f->y, f->stream, &err);
  ck_assert_msg(!s, "%s: %s", kind, err.text);
  CUDA(cudaStreamSynchronize(f->stream));
  CUDA(cudaMemcpy(y, f->y, sizeof y, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++)
    ck_assert_msg(y[i] == entry(i, first + i), "%s, first column %d: row %d has %g", kind, (int)first, i, y[i]);
}

/* Format csr; slices that are stencils, values as they are, codes for values and for pairs. `odd` has every fifth row begin with
 * another value. */
START_TEST(diagonals_begin_in_any_column)
{
  static const struct {
    const char *name;
    macko_format format;
    int constant, odd;
    macko_values values;
  } kinds[] = {{"stencils", MACKO_FORMAT_MACKO, 1, 0, MACKO_VALUES_AUTO}, {"raw", MACKO_FORMAT_MACKO, 0, 0, MACKO_VALUES_RAW},
               {"dict", MACKO_FORMAT_MACKO, 1, 1, MACKO_VALUES_DICT}, {"pairs", MACKO_FORMAT_MACKO, 1, 1, MACKO_VALUES_PAIRS},
               {"csr", MACKO_FORMAT_CSR, 0, 0, MACKO_VALUES_RAW}};
  macko_error err = {0};
  macko_options o;
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  macko_csr a = tridiagonal();
  if (kinds[_i].constant)
    for (int p = 0; p < row_ptr[N]; p++) values[p] = values[p] < 0 ? -1 : 4;
  if (kinds[_i].odd)
    for (int i = 0; i < N; i += 5) values[row_ptr[i]] = 7;
  macko_options_init(&o);
  o.format = kinds[_i].format, o.values = kinds[_i].values;
  if (o.format == MACKO_FORMAT_MACKO) o.layout = MACKO_LAYOUT_SLICE;
  macko_destroy(&f.m);
  macko_device_destroy(&f.d);
  ck_assert_msg(!macko_encode(&a, &o, &f.m, &err), "%s", err.text);
  ck_assert_msg(!macko_device_upload(f.m, f.stream, &f.d, &err), "%s", err.text);
  for (int64_t first = 0; first < 4; first++) compare_diagonal(&f, first, kinds[_i].name);
  compare_diagonal(&f, N - 1, kinds[_i].name);
  compare_diagonal(&f, N, kinds[_i].name);
  close_fixture(&f);
}
END_TEST

/* Of a csr in GPU memory, of other types and counted from 1. */
START_TEST(diagonals_need_no_encoding)
{
  macko_error err = {0};
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  macko_csr a = tridiagonal();
  static int64_t starts[N + 1], wide[3 * N];
  static float singles[3 * N];
  for (int i = 0; i <= N; i++) starts[i] = row_ptr[i] + _i;
  for (int p = 0; p < row_ptr[N]; p++) wide[p] = cols[p] + _i, singles[p] = (float)values[p], values[p] = singles[p];
  CUDA(cudaMalloc((void **)&a.row_ptr, sizeof starts));
  CUDA(cudaMalloc((void **)&a.cols, sizeof wide));
  CUDA(cudaMalloc((void **)&a.values, sizeof singles));
  CUDA(cudaMemcpy((void *)a.row_ptr, starts, sizeof starts, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy((void *)a.cols, wide, sizeof wide, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy((void *)a.values, singles, sizeof singles, cudaMemcpyHostToDevice));
  a.row_ptr_type = a.col_type = MACKO_I64, a.value_type = MACKO_F32, a.index_base = _i;
  for (int64_t first = 0; first < 3; first++) {
    CUDA(cudaMemset(f.y, 0xff, sizeof y));
    ck_assert_msg(!macko_device_diagonal_csr(&a, first, f.y, f.stream, &err), "%s", err.text);
    CUDA(cudaStreamSynchronize(f.stream));
    CUDA(cudaMemcpy(y, f.y, sizeof y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) ck_assert_double_eq(y[i], entry(i, first + i));
  }
  ck_assert_int_eq(macko_device_diagonal_csr(&a, -1, f.y, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "first_col is -1, of 4096 columns");
  ck_assert_int_eq(macko_device_diagonal_csr(&a, 0, NULL, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_device_diagonal_csr(NULL, 0, f.y, f.stream, &err), MACKO_INVALID_ARGUMENT);
  cudaFree((void *)a.row_ptr), cudaFree((void *)a.cols), cudaFree((void *)a.values);
  close_fixture(&f);
}
END_TEST

/* Row pointers of both types and bases, with empty rows at the beginning, the end and between. */
START_TEST(nonempty_rows_are_counted)
{
  enum { ROWS = 3000 };
  macko_error err = {0};
  static int64_t wide[ROWS + 1];
  static int32_t narrow[ROWS + 1];
  int64_t expected = 0, found = -1;
  for (int i = 0; i < ROWS; i++) {
    const int length = i < 5 || i % 3 == 0 || i > ROWS - 70 ? 0 : 1 + i % 4;
    wide[i + 1] = wide[i] + length, expected += length > 0;
  }
  for (int i = 0; i <= ROWS; i++) wide[i] += _i, narrow[i] = (int32_t)wide[i];
  macko_csr a = {.nrows = ROWS, .ncols = 4, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32, .value_type = MACKO_F64,
                 .index_base = _i};
  CUDA(cudaMalloc((void **)&a.row_ptr, sizeof wide));
  CUDA(cudaMemcpy((void *)a.row_ptr, wide, sizeof wide, cudaMemcpyHostToDevice));
  ck_assert_msg(!macko_device_nonempty_rows(&a, &found, NULL, &err), "%s", err.text);
  ck_assert_int_eq(found, expected);
  CUDA(cudaMemcpy((void *)a.row_ptr, narrow, sizeof narrow, cudaMemcpyHostToDevice));
  a.row_ptr_type = MACKO_I32;
  ck_assert_msg(!macko_device_nonempty_rows(&a, &found, NULL, &err), "%s", err.text);
  ck_assert_int_eq(found, expected);
  ck_assert_int_eq(macko_device_nonempty_rows(NULL, &found, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(found, 0);
  ck_assert_int_eq(macko_device_nonempty_rows(&a, NULL, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "csr and rows must not be NULL");
  cudaFree((void *)a.row_ptr);
}
END_TEST

START_TEST(diagonals_outside_are_refused)
{
  macko_error err = {0};
  fixture f = open_fixture(MACKO_FORMAT_MACKO);
  ck_assert_int_eq(macko_device_diagonal_from(f.d, -1, f.y, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "first_col is -1, of 4096 columns");
  ck_assert_int_eq(macko_device_diagonal_from(f.d, N + 1, f.y, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_device_diagonal_from(f.d, 1, NULL, f.stream, &err), MACKO_INVALID_ARGUMENT);
  close_fixture(&f);
}
END_TEST

void add_diagonal_tests(TCase *t)
{
  tcase_add_loop_test(t, diagonals_begin_in_any_column, 0, 5);
  tcase_add_loop_test(t, diagonals_need_no_encoding, 0, 2);
  tcase_add_loop_test(t, nonempty_rows_are_counted, 0, 2);
  tcase_add_test(t, diagonals_outside_are_refused);
}
