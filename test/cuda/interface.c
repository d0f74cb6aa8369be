/* What the functions of macko_cuda.h promise besides right results: graphs and streams, and copies between vectors. */
#include "interface.h"

#include <stdio.h>
#include <string.h>

/* ---- what all files of the suite have ---- */

int32_t row_ptr[N + 1], cols[3 * N];
double values[3 * N], x[N], y[N];

macko_csr tridiagonal(void)
{
  int32_t p = 0;
  for (int32_t i = 0; i < N; i++) {
    for (int32_t j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < N) cols[p] = j, values[p++] = j == i ? 4 * i + 1 : -1;
    row_ptr[i + 1] = p;
    x[i] = i % 7 - 3;
  }
  return (macko_csr){.nrows = N, .ncols = N, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64,
                     .row_ptr = row_ptr, .cols = cols, .values = values};
}

/* The arrays are copied as they are. */
macko_csr csr_on_the_gpu(void)
{
  macko_csr a = {.nrows = N, .ncols = N, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = MACKO_F64};
  void *to[3];
  const void *const from[3] = {row_ptr, cols, values};
  const size_t bytes[3] = {sizeof row_ptr, sizeof cols, sizeof values};
  for (int i = 0; i < 3; i++) {
    CUDA(cudaMalloc(&to[i], bytes[i]));
    CUDA(cudaMemcpy(to[i], from[i], bytes[i], cudaMemcpyHostToDevice));
  }
  a.row_ptr = to[0], a.cols = to[1], a.values = to[2];
  return a;
}

void free_on_the_gpu(const macko_csr *a)
{
  CUDA(cudaFree((void *)a->row_ptr));
  CUDA(cudaFree((void *)a->cols));
  CUDA(cudaFree((void *)a->values));
}

/* All entries are small integers: every order of adding gives exactly this. */
double expected(int i)
{
  return (4 * i + 1) * x[i] - (i > 0 ? x[i - 1] : 0) - (i < N - 1 ? x[i + 1] : 0);
}

fixture open_fixture(int format)
{
  fixture f = {0};
  macko_error err = {0};
  macko_options o;
  macko_csr a = tridiagonal();
  macko_options_init(&o);
  o.format = (macko_format)format;
  ck_assert_msg(!macko_encode(&a, &o, &f.m, &err), "%s", err.text);
  CUDA(cudaStreamCreate(&f.stream));
  CUDA(cudaMalloc((void **)&f.x, sizeof x));
  CUDA(cudaMalloc((void **)&f.y, sizeof y));
  CUDA(cudaMemcpy(f.x, x, sizeof x, cudaMemcpyHostToDevice));
  macko_status s = macko_device_upload(f.m, f.stream, &f.d, &err);
  ck_assert_msg(!s || (s == MACKO_UNSUPPORTED && strstr(err.text, "no GPU kernel")), "%s", err.text);
  return f;
}

void close_fixture(fixture *f)
{
  macko_device_destroy(&f->d);
  ck_assert_ptr_null(f->d);
  macko_destroy(&f->m);
  CUDA(cudaFree(f->x));
  CUDA(cudaFree(f->y));
  CUDA(cudaStreamDestroy(f->stream));
}

macko_status multiply(const fixture *f, macko_op op, double alpha, double beta, macko_error *err)
{
  return macko_device_multiply(f->d, op, MACKO_F64, 1, alpha, f->x, N, beta, f->y, N, f->stream, err);
}

/* ---- graphs and streams ---- */

START_TEST(a_graph_captures_the_multiply)
{
  macko_error err = {0};
  cudaGraph_t graph;
  cudaGraphExec_t run;
  fixture f = open_fixture(_i);
  if (f.d) {
    CUDA(cudaStreamSynchronize(f.stream));
    CUDA(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeGlobal));
    ck_assert_msg(!multiply(&f, MACKO_OP_N, 1, 0, &err), "%s", err.text);
    ck_assert_msg(!multiply(&f, MACKO_OP_N, 2, 1, &err), "%s", err.text);
    CUDA(cudaStreamEndCapture(f.stream, &graph));
    CUDA(cudaGraphInstantiate(&run, graph, 0));
    for (int replay = 0; replay < 3; replay++) {
      CUDA(cudaMemsetAsync(f.y, 0xff, sizeof y, f.stream));
      CUDA(cudaGraphLaunch(run, f.stream));
      CUDA(cudaMemcpyAsync(y, f.y, sizeof y, cudaMemcpyDeviceToHost, f.stream));
      CUDA(cudaStreamSynchronize(f.stream));
      for (int i = 0; i < N; i++) ck_assert_msg(y[i] == 3 * expected(i), "element %d is %g, not %g", i, y[i], 3 * expected(i));
    }
    CUDA(cudaGraphExecDestroy(run));
    CUDA(cudaGraphDestroy(graph));
  }
  close_fixture(&f);
}
END_TEST

/* Between two multiplies N a multiply T must leave the first one's bits alone. */
START_TEST(n_and_t_do_not_disturb_each_other)
{
  macko_error err = {0};
  fixture f = open_fixture(_i);
  if (f.d) {
    ck_assert_int_eq(multiply(&f, MACKO_OP_T, 1, 0, &err), MACKO_INVALID_ARGUMENT);
    ck_assert_str_eq(err.text, "op T needs macko_device_add_transpose first");
    int64_t bytes = macko_device_bytes(f.d);
    ck_assert_msg(!macko_device_add_transpose(f.d, f.m, f.stream, &err), "%s", err.text);
    ck_assert(macko_device_bytes(f.d) > bytes);
    for (int round = 0; round < 3; round++) {
      ck_assert_msg(!multiply(&f, round == 1 ? MACKO_OP_T : MACKO_OP_N, 1, 0, &err), "%s", err.text);
      CUDA(cudaMemcpyAsync(y, f.y, sizeof y, cudaMemcpyDeviceToHost, f.stream));
      CUDA(cudaStreamSynchronize(f.stream));
      for (int i = 0; i < N; i++) ck_assert_msg(y[i] == expected(i), "round %d: element %d is %g", round, i, y[i]);
    }
  }
  close_fixture(&f);
}
END_TEST

/* ---- parts of vectors ---- */

START_TEST(gather_into_pinned_memory)
{
  fixture f = open_fixture(MACKO_FORMAT_CSR);
  macko_error err = {0};
  int64_t indices[N / 3], *on_device, n = N / 3;
  double *to;
  for (int64_t i = 0; i < n; i++) indices[i] = (i * 7919 + 5) % N;
  CUDA(cudaMalloc((void **)&on_device, sizeof indices));
  CUDA(cudaMemcpy(on_device, indices, sizeof indices, cudaMemcpyHostToDevice));
  CUDA(cudaMallocHost((void **)&to, ((size_t)n + 1) * sizeof *to));
  to[n] = -77;
  ck_assert_msg(!macko_device_gather(MACKO_F64, f.x, on_device, n, to, f.stream, &err), "%s", err.text);
  CUDA(cudaStreamSynchronize(f.stream));
  for (int64_t i = 0; i < n; i++) ck_assert_msg(to[i] == x[indices[i]], "entry %d is %g", (int)i, to[i]);
  ck_assert(to[n] == -77);
  ck_assert_int_eq(macko_device_gather(MACKO_F64, f.x, on_device, -1, to, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_str_eq(err.text, "n is -1, a count of entries cannot be negative");
  ck_assert_int_eq(macko_device_gather(MACKO_I8, f.x, on_device, n, to, f.stream, &err), MACKO_INVALID_ARGUMENT);
  ck_assert_int_eq(macko_device_gather(MACKO_F64, NULL, NULL, 0, NULL, f.stream, &err), MACKO_OK);
  cudaFreeHost(to);
  cudaFree(on_device);
  close_fixture(&f);
}
END_TEST

/* What several ranks add to one vector: lists that begin where the one before has its middle, so that most rows are met twice. */
START_TEST(add_at_some_rows)
{
  enum { LISTS = 5, LENGTH = 700 };
  static const macko_type types[] = {MACKO_F64, MACKO_F32};
  macko_type type = types[_i];
  macko_error err = {0};
  int64_t indices[LENGTH], *on_device;
  double want[N], from[N];
  float singles[N];
  size_t size = (size_t)macko_type_bytes(type);
  void *sent, *sums;
  for (int i = 0; i < N; i++) from[i] = i % 31 - 15, singles[i] = (float)from[i], want[i] = from[i];
  CUDA(cudaMalloc(&sent, N * size));
  CUDA(cudaMalloc(&sums, N * size));
  CUDA(cudaMalloc((void **)&on_device, sizeof indices));
  CUDA(cudaMemcpy(sent, type == MACKO_F64 ? (void *)from : singles, N * size, cudaMemcpyHostToDevice));
  CUDA(cudaMemcpy(sums, sent, N * size, cudaMemcpyDeviceToDevice));
  for (int list = 0; list < LISTS; list++) {
    for (int i = 0; i < LENGTH; i++) {
      indices[i] = (list * LENGTH / 2 + i) * 7919 % N; /* all different: N is a power of two */
      want[indices[i]] += from[i];
    }
    CUDA(cudaMemcpy(on_device, indices, sizeof indices, cudaMemcpyHostToDevice));
    ck_assert_msg(!macko_device_add_at(type, sent, on_device, LENGTH, sums, NULL, &err), "%s", err.text);
  }
  CUDA(cudaMemcpy(type == MACKO_F64 ? (void *)y : singles, sums, N * size, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++) {
    double got = type == MACKO_F64 ? y[i] : (double)singles[i];
    ck_assert_msg(got == want[i], "entry %d is %g, not %g", i, got, want[i]);
  }
  cudaFree(sent), cudaFree(sums), cudaFree(on_device);
}
END_TEST

static Suite *interface_suite(void)
{
  Suite *suite = suite_create("cuda_interface");
  TCase *t = add_case(suite, "interface", 0);
  tcase_add_loop_test(t, a_graph_captures_the_multiply, 0, FORMATS);
  tcase_add_loop_test(t, n_and_t_do_not_disturb_each_other, 0, FORMATS);
  tcase_add_test(t, gather_into_pinned_memory);
  tcase_add_loop_test(t, add_at_some_rows, 0, 2);
  add_choice_tests(t);
  add_diagonal_tests(t);
  add_error_tests(t);
  return suite;
}

int main(void)
{
  return run_cuda_suite(interface_suite);
}
