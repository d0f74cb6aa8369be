/* What the functions of macko_cuda.h promise besides right results: what they refuse, errors of others, and a full GPU. */
#include "interface.h"

#include <string.h>

enum { MANY = 4096 };

static double again[N];

START_TEST(wrong_arguments_are_named)
{
  macko_error err = {0};
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  ck_assert_int_eq(macko_device_multiply(f.d, (macko_op)7, MACKO_F64, 1, 1, f.x, N, 0, f.y, N, NULL, &err),
                   MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "op is 7, not N or T");
  ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_I8, 1, 1, f.x, N, 0, f.y, N, NULL, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_F64, -2, 1, f.x, N, 0, f.y, N, NULL, &err),
                   MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "k is -2, a count of vectors cannot be negative");
  ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_F64, 2, 1, f.x, 5, 0, f.y, N, NULL, &err),
                   MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "ldx 5 and ldy 4096 must be at least 4096 and 4096");
  ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_F64, 1, 1, NULL, N, 0, f.y, N, NULL, &err),
                   MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_F64, 0, 1, NULL, N, 0, NULL, N, NULL, &err), MACKO_OK);
  close_fixture(&f);
}
END_TEST

START_TEST(x_and_y_must_not_overlap)
{
  static const char sentence[] = "x and y overlap: a product cannot be made in place";
  macko_error err = {0};
  fixture f = open_fixture(_i);
  if (f.d) {
    for (int offset = 1 - N; offset < N; offset += N - 1) {
      ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_F64, 1, 1, f.x, N, 0, f.x + offset, N, f.stream, &err),
                       MACKO_INVALID_ARGUMENT);
      ck_assert_str_eq(err.text, sentence);
    }
    ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_F64, 3, 1, f.x, N, 0, f.x, N, f.stream, &err),
                     MACKO_INVALID_ARGUMENT);
    CUDA(cudaStreamSynchronize(f.stream));
    CUDA(cudaMemcpy(again, f.x, sizeof x, cudaMemcpyDeviceToHost));
    ck_assert(!memcmp(again, x, sizeof x));
    ck_assert_int_eq(macko_device_multiply(f.d, MACKO_OP_N, MACKO_F64, 1, 0, f.x, N, 1, f.x, N, f.stream, &err), MACKO_OK);
  }
  close_fixture(&f);
}
END_TEST

/* What an earlier call of the program left with CUDA: no function takes it for its own, and none takes it away. */
START_TEST(errors_of_the_program_stay_its_own)
{
  macko_error err = {0};
  macko_device_matrix *encoded = NULL;
  macko_options o;
  int32_t moved;
  void *nothing;
  fixture f = open_fixture(_i);
  if (!f.d) return close_fixture(&f);
  macko_csr a = csr_on_the_gpu();
  macko_options_init(&o);
  o.format = (macko_format)_i, o.target = MACKO_TARGET_GPU;
  ck_assert_int_eq(cudaMalloc(&nothing, SIZE_MAX / 2), cudaErrorMemoryAllocation);
#define OURS(call) \
  ck_assert_msg(!(call), "%s: %s", #call, err.text); \
  ck_assert_msg(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "%s has taken the error away", #call)
  OURS(multiply(&f, MACKO_OP_N, 1, 0, &err));
  OURS(macko_device_add_transpose(f.d, f.m, f.stream, &err));
  OURS(multiply(&f, MACKO_OP_T, 1, 0, &err));
  OURS(macko_device_refresh(f.d, f.m, f.stream, &moved, &err));
  OURS(macko_device_encode(&a, &o, f.stream, &encoded, &err));
  OURS(macko_device_refresh_csr(encoded, &a, f.stream, &moved, &err));
  OURS((macko_device_destroy(&encoded), 0));
  OURS(macko_device_gather(MACKO_F64, f.x, NULL, 0, f.y, f.stream, &err));
  OURS(multiply(&f, MACKO_OP_N, 1, 0, &err));
#undef OURS
  ck_assert_int_eq(cudaGetLastError(), cudaErrorMemoryAllocation);
  CUDA(cudaStreamSynchronize(f.stream));
  CUDA(cudaMemcpy(y, f.y, sizeof y, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++) ck_assert_msg(y[i] == expected(i), "element %d is %g, not %g", i, y[i], expected(i));
  free_on_the_gpu(&a);
  close_fixture(&f);
}
END_TEST

/* A transpose is made of the matrix that was uploaded; what cannot be that one is refused, and nothing is added. */
START_TEST(a_transpose_of_another_matrix_is_refused)
{
  static const struct {
    macko_format format;
    macko_type type;
    int64_t nrows, ncols;
    const char *sentence;
  } others[] = {{MACKO_FORMAT_DTANS, MACKO_F64, N, N, "a matrix of format dtans, 4096 x 4096 with 12286 nonzeros of f64"},
                {MACKO_FORMAT_CSR, MACKO_F32, N, N, "a matrix of format csr, 4096 x 4096 with 12286 nonzeros of f32"},
                {MACKO_FORMAT_CSR, MACKO_F64, N, N + 1, "a matrix of format csr, 4096 x 4097 with 12286 nonzeros of f64"},
                {MACKO_FORMAT_CSR, MACKO_F64, N - 1, N, "a matrix of format csr, 4095 x 4096 with 12284 nonzeros of f64"},
                {MACKO_FORMAT_CSR, MACKO_F64, N, N, "a matrix of format csr, 4096 x 4096 with 12285 nonzeros of f64"}};
  static float singles[3 * N];
  macko_error err = {0};
  macko_options o;
  macko_matrix *other = NULL;
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  int64_t bytes = macko_device_bytes(f.d);
  macko_csr a = tridiagonal();
  macko_options_init(&o);
  o.format = others[_i].format;
  a.nrows = others[_i].nrows, a.ncols = others[_i].ncols, a.value_type = others[_i].type;
  if (a.value_type == MACKO_F32) a.values = singles;
  if (_i == 4) row_ptr[N]--; /* an entry fewer */
  ck_assert_msg(!macko_encode(&a, &o, &other, &err), "%s", err.text);
  ck_assert_int_eq(macko_device_add_transpose(f.d, other, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_msg(!strncmp(err.text, others[_i].sentence, strlen(others[_i].sentence)), "%s", err.text);
  ck_assert_msg(strstr(err.text, " is not the one on the GPU: csr, 4096 x 4096 with 12286 of f64") != NULL, "%s", err.text);
  ck_assert_int_eq(macko_device_bytes(f.d), bytes);
  ck_assert_int_eq(multiply(&f, MACKO_OP_T, 1, 0, &err), MACKO_INVALID_ARGUMENT);
  macko_destroy(&other);
  close_fixture(&f);
}
END_TEST

START_TEST(add_at_names_wrong_arguments)
{
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  macko_error err = {0};
  const int64_t *none = NULL, some = 0;
  ck_assert_int_eq(macko_device_add_at(MACKO_F16, f.x, &some, 1, f.y, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_msg(strstr(err.text, "is not f64 or f32"), "%s", err.text);
  ck_assert_int_eq(macko_device_add_at(MACKO_F64, f.x, &some, -3, f.y, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "n is -3, a count of entries cannot be negative");
  ck_assert_int_eq(macko_device_add_at(MACKO_F32, NULL, none, 1, NULL, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "from, indices or y is NULL");
  ck_assert_int_eq(macko_device_add_at(MACKO_F32, NULL, none, 0, NULL, f.stream, &err), MACKO_OK);
  close_fixture(&f);
}
END_TEST

START_TEST(refresh_refuses_another_matrix)
{
  macko_error err = {0};
  macko_matrix *other = NULL;
  fixture f = open_fixture(MACKO_FORMAT_MACKO);
  macko_csr a = tridiagonal();
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_MACKO, a.nrows = 7;
  ck_assert(!macko_encode(&a, &o, &other, NULL));
  ck_assert_int_eq(macko_device_refresh(f.d, other, f.stream, NULL, &err), MACKO_INVALID_MATRIX);
  ck_assert_msg(!multiply(&f, MACKO_OP_N, 1, 0, &err), "%s", err.text);
  macko_destroy(&other);
  close_fixture(&f);
}
END_TEST

/* A full GPU: the sentence holds both numbers, the host's matrix still multiplies, and once there is room the upload works. */
START_TEST(out_of_device_memory)
{
  macko_error err = {0};
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  size_t available, total;
  void *blocks[MANY];
  int count = 0;
  macko_device_destroy(&f.d);
  CUDA(cudaMemGetInfo(&available, &total));
  for (size_t size = available; size >= 4096; size /= 2)
    while (count < MANY && cudaMalloc(&blocks[count], size) == cudaSuccess) count++;
  cudaGetLastError();
  macko_status s = macko_device_upload(f.m, f.stream, &f.d, &err);
  for (int i = 0; i < count; i++) CUDA(cudaFree(blocks[i]));
  ck_assert_int_eq(s, MACKO_OUT_OF_MEMORY);
  ck_assert_msg(strstr(err.text, "bytes of GPU memory wanted") && strstr(err.text, "free"), "%s", err.text);
  ck_assert_ptr_null(f.d);
  ck_assert(!macko_multiply(f.m, MACKO_OP_N, MACKO_F64, 1, 1, x, N, 0, again, N, NULL));
  ck_assert(again[5] == expected(5));
  ck_assert_msg(!macko_device_upload(f.m, f.stream, &f.d, &err), "%s", err.text);
  close_fixture(&f);
}
END_TEST

static void assert_products(const fixture *f, double factor, const char *when)
{
  macko_error err = {0};
  for (int op = MACKO_OP_N; op <= MACKO_OP_T; op++) {
    ck_assert_msg(!multiply(f, (macko_op)op, 1, 0, &err), "%s: %s", when, err.text);
    CUDA(cudaStreamSynchronize(f->stream));
    CUDA(cudaMemcpy(y, f->y, sizeof y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) ck_assert_msg(y[i] == factor * expected(i), "%s, op %d: element %d is %g", when, op, i, y[i]);
  }
}

/* Without room for the new transpose the old values and the old transpose stay together. */
START_TEST(values_and_transpose_stay_together)
{
  macko_error err = {0};
  fixture f = open_fixture(_i);
  void *blocks[MANY];
  size_t available, total;
  int count = 0;
  macko_csr a = tridiagonal();
  if (!f.d) return close_fixture(&f);
  ck_assert_msg(!macko_device_add_transpose(f.d, f.m, f.stream, &err), "%s", err.text);
  for (int i = 0; i < 3 * N; i++) values[i] *= 2;
  ck_assert_msg(!macko_refresh(f.m, &a, &err), "%s", err.text);
  CUDA(cudaStreamSynchronize(f.stream));
  CUDA(cudaMemGetInfo(&available, &total));
  for (size_t size = available; size >= 4096; size /= 2)
    while (count < MANY && cudaMalloc(&blocks[count], size) == cudaSuccess) count++;
  cudaGetLastError();
  macko_status s = macko_device_refresh(f.d, f.m, f.stream, NULL, &err);
  for (int i = 0; i < count; i++) CUDA(cudaFree(blocks[i]));
  ck_assert_int_eq(s, MACKO_OUT_OF_MEMORY);
  assert_products(&f, 1, "refused");
  ck_assert_msg(!macko_device_refresh(f.d, f.m, f.stream, NULL, &err), "%s", err.text);
  assert_products(&f, 2, "refreshed");
  close_fixture(&f);
}
END_TEST

void add_error_tests(TCase *t)
{
  tcase_add_test(t, wrong_arguments_are_named);
  tcase_add_loop_test(t, x_and_y_must_not_overlap, 0, FORMATS);
  tcase_add_loop_test(t, errors_of_the_program_stay_its_own, 0, FORMATS);
  tcase_add_loop_test(t, a_transpose_of_another_matrix_is_refused, 0, 5);
  tcase_add_test(t, add_at_names_wrong_arguments);
  tcase_add_test(t, refresh_refuses_another_matrix);
  tcase_add_test(t, out_of_device_memory);
  tcase_add_loop_test(t, values_and_transpose_stay_together, 0, FORMATS);
}
