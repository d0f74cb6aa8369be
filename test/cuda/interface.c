/* What the functions of macko_cuda.h promise besides right results: graphs, streams, errors, memory. */
#include "common.h"
#include "macko_cuda.h"
#include "../lib/matrices.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096, FORMATS = MACKO_FORMAT_AUTO, MANY = 4096 };

#define CUDA(call) ck_assert_msg((call) == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()))

static int32_t row_ptr[N + 1], cols[3 * N];
static double values[3 * N], x[N], y[N], again[N];

/* Tridiagonal, so that the exact result is known: (4 i + 1) on the diagonal, -1 beside it. */
static macko_csr tridiagonal(void)
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

/* The same csr in GPU memory, by copies of the arrays as they are; and its end. */
static macko_csr csr_on_the_gpu(void)
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

static void free_on_the_gpu(const macko_csr *a)
{
  CUDA(cudaFree((void *)a->row_ptr));
  CUDA(cudaFree((void *)a->cols));
  CUDA(cudaFree((void *)a->values));
}

/* All entries are small integers: every order of adding gives exactly this. */
static double expected(int i)
{
  return (4 * i + 1) * x[i] - (i > 0 ? x[i - 1] : 0) - (i < N - 1 ? x[i + 1] : 0);
}

typedef struct {
  macko_matrix *m;
  macko_device_matrix *d;
  double *x, *y;
  cudaStream_t stream;
} fixture;

static fixture open_fixture(int format)
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

static void close_fixture(fixture *f)
{
  macko_device_destroy(&f->d);
  ck_assert_ptr_null(f->d);
  macko_destroy(&f->m);
  CUDA(cudaFree(f->x));
  CUDA(cudaFree(f->y));
  CUDA(cudaStreamDestroy(f->stream));
}

static macko_status multiply(const fixture *f, macko_op op, double alpha, double beta, macko_error *err)
{
  return macko_device_multiply(f->d, op, MACKO_F64, 1, alpha, f->x, N, beta, f->y, N, f->stream, err);
}

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
  CUDA(cudaMemcpy(type == MACKO_F64 ? (void *)again : singles, sums, N * size, cudaMemcpyDeviceToHost));
  for (int i = 0; i < N; i++) {
    double got = type == MACKO_F64 ? again[i] : (double)singles[i];
    ck_assert_msg(got == want[i], "entry %d is %g, not %g", i, got, want[i]);
  }
  cudaFree(sent), cudaFree(sums), cudaFree(on_device);
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

static Suite *interface_suite(void)
{
  Suite *suite = suite_create("cuda_interface");
  TCase *t = add_case(suite, "interface", 0);
  tcase_add_loop_test(t, a_graph_captures_the_multiply, 0, FORMATS);
  tcase_add_loop_test(t, n_and_t_do_not_disturb_each_other, 0, FORMATS);
  tcase_add_test(t, wrong_arguments_are_named);
  tcase_add_loop_test(t, x_and_y_must_not_overlap, 0, FORMATS);
  tcase_add_loop_test(t, errors_of_the_program_stay_its_own, 0, FORMATS);
  tcase_add_test(t, no_options_mean_a_gpu);
  tcase_add_test(t, forms_are_measured);
  tcase_add_test(t, unsorted_rows_are_not_measured);
  tcase_add_loop_test(t, a_transpose_of_another_matrix_is_refused, 0, 5);
  tcase_add_test(t, gather_into_pinned_memory);
  tcase_add_loop_test(t, add_at_some_rows, 0, 2);
  tcase_add_test(t, add_at_names_wrong_arguments);
  tcase_add_test(t, refresh_refuses_another_matrix);
  tcase_add_test(t, out_of_device_memory);
  tcase_add_loop_test(t, values_and_transpose_stay_together, 0, FORMATS);
  return suite;
}

int main(void)
{
  return run_cuda_suite(interface_suite);
}
