/* What the functions of macko_cuda.h promise besides right results: what is chosen without options, and by measuring. */
#include "interface.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Without options the choice is a GPU's. */
START_TEST(no_options_mean_a_gpu)
{
  macko_error err = {0};
  macko_matrix *m = NULL;
  macko_options o;
  macko_info info, want;
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  macko_csr a = tridiagonal();
  macko_options_init(&o);
  o.target = MACKO_TARGET_GPU;
  ck_assert_msg(!macko_encode(&a, &o, &m, &err), "%s", err.text);
  macko_get_info(m, &want);
  a = csr_on_the_gpu();
  macko_device_destroy(&f.d);
  ck_assert_msg(!macko_device_encode(&a, NULL, f.stream, &f.d, &err), "%s", err.text);
  macko_device_get_info(f.d, &info);
  ck_assert_str_eq(info.reason, want.reason);
  ck_assert(info.format == want.format && info.layout == want.layout && info.values == want.values && info.bytes == want.bytes);
  free_on_the_gpu(&a);
  macko_destroy(&m);
  close_fixture(&f);
}
END_TEST

/* What is measured to be the fastest multiplies right, says what was measured, is remembered, and has what is asked for. */
START_TEST(forms_are_measured)
{
  char cache[] = "/tmp/macko-measured-XXXXXX", file[100];
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  macko_csr a = csr_on_the_gpu();
  ck_assert(mkdtemp(cache) != NULL && !setenv("XDG_CACHE_HOME", cache, 1));
  for (int round = 0; round < 3; round++) {
    macko_options o;
    macko_device_matrix *d = NULL;
    macko_info info;
    macko_error err = {0};
    double best, other;
    int others = 0;
    macko_options_init(&o);
    o.prefer = MACKO_PREFER_MEASURED, o.target = MACKO_TARGET_GPU;
    if (round == 2) o.format = MACKO_FORMAT_MACKO;
    ck_assert_msg(!macko_device_encode(&a, &o, f.stream, &d, &err), "%s", err.text);
    macko_device_get_info(d, &info);
    const char *said = strstr(info.reason, "; measured ");
    ck_assert_msg(said && sscanf(said, "; measured %lf us a multiply (predicted ", &best) == 1, "%s", info.reason);
    while ((said = strstr(said, "), "))) {
      said += 3, others++;
      ck_assert_msg(sscanf(said, "%*s %*s %lf us a multiply", &other) == 1 && other >= best, "%s", info.reason);
    }
    ck_assert_msg(others > 0 && strstr(info.reason, round == 1 ? " in an earlier run" : "; remembered"), "%s", info.reason);
    ck_assert(round < 2 || info.format == MACKO_FORMAT_MACKO);
    ck_assert(!macko_device_multiply(d, MACKO_OP_N, MACKO_F64, 1, 1, f.x, N, 0, f.y, N, f.stream, &err));
    CUDA(cudaMemcpy(y, f.y, sizeof y, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) ck_assert(y[i] == expected(i));
    macko_device_destroy(&d);
  }
  snprintf(file, sizeof file, "%s/macko/measured", cache);
  ck_assert(!remove(file));
  snprintf(file, sizeof file, "%s/macko", cache);
  ck_assert(!remove(file) && !remove(cache) && !unsetenv("XDG_CACHE_HOME"));
  free_on_the_gpu(&a);
  close_fixture(&f);
}
END_TEST

/* Rows that are not sorted have no kernels that encode them. */
START_TEST(unsorted_rows_are_not_measured)
{
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  macko_options o;
  macko_device_matrix *d = NULL;
  macko_error err = {0};
  cols[0] = 1, cols[1] = 0;
  macko_csr a = csr_on_the_gpu();
  macko_options_init(&o);
  o.prefer = MACKO_PREFER_MEASURED, o.target = MACKO_TARGET_GPU;
  ck_assert_int_eq(macko_device_encode(&a, &o, f.stream, &d, &err), MACKO_UNSUPPORTED);
  ck_assert_msg(!d && strstr(err.text, "sorted rows without duplicates"), "%s", err.text);
  free_on_the_gpu(&a);
  close_fixture(&f);
}
END_TEST

void add_choice_tests(TCase *t)
{
  tcase_add_test(t, no_options_mean_a_gpu);
  tcase_add_test(t, forms_are_measured);
  tcase_add_test(t, unsorted_rows_are_not_measured);
}
