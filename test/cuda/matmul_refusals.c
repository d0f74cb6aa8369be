/* Y = A X for format slide: which way multiplies and why, and what is refused. */
#include "matmul.h"

#include <string.h>

/* This is what the kernel for any GPU multiplies, for tests that ask for other ways besides. */
static const problem small = {.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F16,
                              .y_type = MACKO_F16, .path = MACKO_MATMUL_KERNEL};

/* ---- which of them, and why ---- */

/* cuBLASLt comes with the CUDA Toolkit, so that this runs where cuSPARSELt is not there. */
START_TEST(dense_tensor_cores_alone)
{
  for (int o = MACKO_OPERANDS_EXACT; o < MACKO_OPERANDS_COUNT; o++)
    run((problem){.nrows = 37, .ncols = 100, .n = 33, .z = patterns[_i % WINDOWS].z, .l = patterns[_i % WINDOWS].l,
                  .value_type = MACKO_BF16, .x_type = MACKO_BF16, .y_type = o == MACKO_OPERANDS_F16 ? MACKO_F16 : MACKO_BF16,
                  .path = MACKO_MATMUL_DENSE, .operands = (macko_operands)o});
  run((problem){.nrows = 300, .ncols = 200, .n = 40, .l = 3, .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F16,
                .path = MACKO_MATMUL_DENSE}); /* with entries beside the windows */
}
END_TEST

START_TEST(the_kernel_multiplies_and_says_why)
{
  static const struct { problem p; const char *reason; } all[] = {
    {{.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F32, .x_type = MACKO_F16, .y_type = MACKO_F16},
     "values are f32 and X is f16"},
    {{.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F64, .y_type = MACKO_F64,
      .operands = MACKO_OPERANDS_I8}, "vectors of f64"},
    {{.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16, .x_type = MACKO_F16, .y_type = MACKO_F32},
     "tensor cores give f16 from operands f16, not f32"}};
  fixture f = open_fixture(all[_i].p);
  macko_matmul_options o;
  macko_matmul *other = NULL;
  ck_assert_msg(f.info.path == MACKO_MATMUL_KERNEL && f.info.lifted == 0 && f.info.algorithm == -1, "%s", f.info.reason);
  ck_assert_msg(!strncmp(f.info.reason, "the kernel for any GPU: ", 24) && strstr(f.info.reason, all[_i].reason), "%s",
                f.info.reason);
  OK(multiply(&f));
  fetch_y(&f);
  check_all(&f);
  macko_matmul_options_init(&o);
  o.path = MACKO_MATMUL_TENSOR, o.operands = f.p.operands, o.x_type = f.p.x_type, o.y_type = f.p.y_type;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, f.stream, &other, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(!strncmp(err.text, "no sparse tensor cores: ", 24) && strstr(err.text, all[_i].reason), "%s", err.text);
  ck_assert_ptr_null(other);
  close_fixture(&f);
}
END_TEST

/* Sparse tensor cores cannot take entries beside the windows: the faster of the others does, and both times are named. */
START_TEST(entries_beside_the_windows)
{
  fixture f = open_fixture((problem){.nrows = 40, .ncols = 64, .n = 3, .l = 1, .value_type = MACKO_F16, .x_type = MACKO_F16,
                                     .y_type = MACKO_F16});
  ck_assert_msg(f.info.path != MACKO_MATMUL_TENSOR && strstr(f.info.reason, "beside the windows"), "%s", f.info.reason);
  ck_assert_msg(strstr(f.info.reason, "; 32 columns take us: dense ") && strstr(f.info.reason, ", the kernel "), "%s",
                f.info.reason);
  OK(multiply(&f));
  fetch_y(&f);
  check_all(&f);
  close_fixture(&f);
}
END_TEST

START_TEST(a_library_that_is_not_there_is_named)
{
  fixture f = open_fixture(small);
  macko_matmul_options o;
  macko_matmul_info info;
  macko_matmul *other = NULL;
  macko_matmul_options_init(&o);
  o.library = "/nowhere/libcusparseLt.so.0";
  OK(macko_matmul_open(f.d, &o, f.stream, &other, &err));
  macko_matmul_get_info(other, 3, &info);
  ck_assert_int_eq(info.path, MACKO_MATMUL_KERNEL);
  ck_assert_int_eq(info.work_bytes, -1);
  ck_assert_msg(strstr(info.reason, "cuSPARSELt cannot be opened: /nowhere") != NULL, "%s", info.reason);
  macko_matmul_close(&other);
  o.path = MACKO_MATMUL_TENSOR;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, f.stream, &other, &err), MACKO_UNSUPPORTED);
  close_fixture(&f);
}
END_TEST

/* Its products are checked when they are planned: with the default path another form multiplies, with path TENSOR none does. */
START_TEST(a_library_that_multiplies_wrong_is_passed_over)
{
  fixture f = open_fixture(small);
  macko_matmul_options o;
  macko_matmul_info info;
  macko_matmul *other = NULL;
  macko_matmul_options_init(&o);
  o.library = "test/cuda/wrong_sparselt.so";
  OK(macko_matmul_open(f.d, &o, f.stream, &other, &err));
  OK(macko_matmul_plan(other, 3, -1, f.stream, &err));
  macko_matmul_get_info(other, 3, &info);
  ck_assert_msg(info.path != MACKO_MATMUL_TENSOR &&
                    strstr(info.reason, "cuSPARSELt 0.10.0 multiplies wrong here: a sum over column "),
                "%s", info.reason);
  macko_matmul_close(&other);
  o.path = MACKO_MATMUL_TENSOR;
  OK(macko_matmul_open(f.d, &o, f.stream, &other, &err));
  ck_assert_int_eq(macko_matmul_plan(other, 3, -1, f.stream, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(strstr(err.text, "multiplies wrong here") != NULL, "%s", err.text);
  macko_matmul_close(&other);
  close_fixture(&f);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(wrong_arguments_are_named)
{
  fixture f = open_fixture(small);
  macko_matmul *other = NULL;
  macko_matmul_options o;
  const struct { int64_t n, ldx, ldy, work_bytes, shift; const char *sentence; } bad[] = {
    {33, 64, 40, f.info.work_bytes, 0, "a product of 33 columns is not planned: macko_matmul_plan"},
    {-1, 64, 40, f.info.work_bytes, 0, "a product of -1 columns is not planned: macko_matmul_plan"},
    {3, 63, 40, f.info.work_bytes, 0, "ldx 63 and ldy 40 must be at least 64 and 40"},
    {3, 64, 40, f.info.work_bytes - 1, 0, "a product of 3 columns needs 4096 bytes of work, not 4095"},
    {3, 64, 40, f.info.work_bytes, 2, "work must begin at a multiple of 256 bytes"}};
  for (int i = 0; i < 5; i++) {
    ck_assert_int_eq(macko_device_matmul(f.matmul, bad[i].n, f.device_x, bad[i].ldx, NULL, f.device_y, bad[i].ldy,
                                         (char *)f.work + bad[i].shift, bad[i].work_bytes, NULL, &err), MACKO_INVALID_ARGUMENT);
    ck_assert_str_eq(err.text, bad[i].sentence);
  }
  OK(macko_device_matmul(f.matmul, 0, NULL, 64, NULL, NULL, 40, NULL, 0, NULL, &err));
  ck_assert_int_eq(macko_matmul_plan(f.matmul, 0, -1, NULL, &err), MACKO_INVALID_ARGUMENT);
  macko_matmul_options_init(&o);
  o.x_type = MACKO_I32;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, NULL, &other, &err), MACKO_INVALID_ARGUMENT);
  macko_matmul_options_init(&o);
  o.operands = (macko_operands)77;
  ck_assert_int_eq(macko_matmul_open(f.d, &o, NULL, &other, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "operands are 77, none of exact, f16, bf16, i8 and e4m3");
  ck_assert_ptr_null(other);
  close_fixture(&f);
}
END_TEST

START_TEST(another_format_is_refused)
{
  const problem p = {.nrows = 40, .ncols = 64, .n = 3, .z = 2, .l = 4, .value_type = MACKO_F16};
  macko_matmul *matmul = NULL;
  macko_matrix *m;
  macko_device_matrix *d;
  macko_options o;
  macko_csr a = make_matrix(&p);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_CSR;
  OK(macko_encode(&a, &o, &m, &err));
  OK(macko_device_upload(m, NULL, &d, &err));
  ck_assert_int_eq(macko_matmul_open(d, NULL, NULL, &matmul, &err), MACKO_UNSUPPORTED);
  ck_assert_str_eq(err.text, "format csr has no product with many columns: encode to slide, or use macko_device_multiply");
  CUDA(cudaDeviceSynchronize());
  macko_device_destroy(&d);
  macko_destroy(&m);
  macko_free_csr(&a);
}
END_TEST

void add_refusals(Suite *s)
{
  TCase *errors = add_case(s, "errors", 0);
  tcase_add_test(errors, wrong_arguments_are_named);
  tcase_add_test(errors, another_format_is_refused);
  tcase_add_loop_test(errors, the_kernel_multiplies_and_says_why, 0, 3);
  tcase_add_test(errors, a_library_that_is_not_there_is_named);
  tcase_add_test(errors, a_library_that_multiplies_wrong_is_passed_over);
  tcase_add_test(errors, entries_beside_the_windows);
  tcase_add_loop_test(errors, dense_tensor_cores_alone, WINDOWS, 2 * WINDOWS);
}
