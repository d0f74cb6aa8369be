/* Any number of streams and threads multiply with one matrix, and graphs beside them: each gets the bits that it gets alone. */
#include "common.h"
#include "macko_cuda.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20000, LONG = 9000, LONG_ROWS = 20, WEIGHT_ROWS = 1024, WEIGHT_COLS = 4096, MOST = ROWS, K = 9, PAIRS = 200 };
enum { ROOM = 3 * ROWS + LONG_ROWS * LONG };

#define CUDA(call) ck_assert_msg((call) == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()))

/* ---- matrices whose products need work space, and others ---- */

typedef struct {
  const char *name;
  macko_format format;
  macko_layout layout;
  macko_type type; /* of values and vectors */
  int weights;     /* all rows are long, and x fits into shared memory; else a few rows are */
  int stencils;    /* three diagonals of equal values */
} shape;

static const shape shapes[] = {{"csr", MACKO_FORMAT_CSR, MACKO_LAYOUT_AUTO, MACKO_F64, 0, 0},
                               {"csr, f32", MACKO_FORMAT_CSR, MACKO_LAYOUT_AUTO, MACKO_F32, 1, 0},
                               {"row", MACKO_FORMAT_MACKO, MACKO_LAYOUT_ROW, MACKO_F64, 0, 0},
                               {"row, f32", MACKO_FORMAT_MACKO, MACKO_LAYOUT_ROW, MACKO_F32, 1, 0},
                               {"paper", MACKO_FORMAT_MACKO, MACKO_LAYOUT_PAPER, MACKO_F64, 0, 0},
                               {"slice", MACKO_FORMAT_MACKO, MACKO_LAYOUT_SLICE, MACKO_F64, 0, 0},
                               {"stencils", MACKO_FORMAT_MACKO, MACKO_LAYOUT_SLICE, MACKO_F64, 0, 1},
                               {"dtans", MACKO_FORMAT_DTANS, MACKO_LAYOUT_AUTO, MACKO_F64, 0, 0}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct {
  const shape *shape;
  macko_csr a;
  int32_t *row_ptr, *cols;
  void *values;
  macko_matrix *m;
  macko_device_matrix *d;
  /* Two jobs, each with vectors and a stream of its own, and what it gets when it is alone. */
  void *x[2], *y[2], *want[2], *got;
  cudaStream_t stream[2];
  size_t y_bytes; /* of a vector */
} fixture;

static void put(void *array, macko_type type, int64_t i, double value)
{
  if (type == MACKO_F64) ((double *)array)[i] = value;
  else ((float *)array)[i] = (float)value;
}

/* No value is 0 unless zeros says so, nor are there few different ones, but of stencils. */
static void fill(fixture *f, double factor, int zeros)
{
  for (int32_t i = 0; i < f->a.nrows; i++)
    for (int32_t p = f->row_ptr[i]; p < f->row_ptr[i + 1]; p++) {
      const int number = f->shape->stencils ? f->cols[p] - i + 2 : p;
      put(f->values, f->shape->type, p, zeros && number % 5 == 0 ? 0 : factor * (1 + number % 9973 / 1024.0));
    }
}

static void make_matrix(fixture *f)
{
  const int weights = f->shape->weights, rows = weights ? WEIGHT_ROWS : ROWS, columns = weights ? WEIGHT_COLS : ROWS;
  int32_t count = 0;
  f->row_ptr = calloc((size_t)rows + 1, sizeof *f->row_ptr);
  f->cols = malloc(WEIGHT_ROWS * WEIGHT_COLS * sizeof *f->cols), f->values = malloc(WEIGHT_ROWS * WEIGHT_COLS * sizeof(double));
  for (int32_t i = 0; i < rows; i++) {
    const int stencils = f->shape->stencils, is_long = !stencils && (weights || i % (ROWS / LONG_ROWS) == 77);
    const int length = weights ? WEIGHT_COLS / 3 : is_long ? LONG : 3, spread = stencils ? 1 : weights ? 5 : 2;
    int32_t col = stencils ? (i > 0 ? i - 1 : 0) : is_long ? i % 5 : i * 7 % (ROWS - 10);
    for (int k = 0; k < length && col < columns; k++, col += 1 + (i * 31 + k * 17) % spread) f->cols[count++] = col;
    f->row_ptr[i + 1] = count;
  }
  f->a = (macko_csr){.nrows = rows, .ncols = columns, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                     .value_type = f->shape->type, .row_ptr = f->row_ptr, .cols = f->cols, .values = f->values};
  fill(f, 1, 0);
}

static macko_status multiply(const fixture *f, int job, int64_t k, cudaStream_t stream, macko_error *err)
{
  return macko_device_multiply(f->d, MACKO_OP_N, f->shape->type, k, 1, f->x[job], f->a.ncols, 0, f->y[job], f->a.nrows, stream,
                               err);
}

/* The product of a job alone, and nothing else under way. */
static void learn(const fixture *f, int job, int64_t k)
{
  macko_error err = {0};
  CUDA(cudaMemset(f->y[job], 0xff, K * f->y_bytes));
  CUDA(cudaDeviceSynchronize()); /* the streams are not ordered with the default one */
  ck_assert_msg(!multiply(f, job, k, f->stream[0], &err), "%s: %s", f->shape->name, err.text);
  CUDA(cudaStreamSynchronize(f->stream[0]));
  CUDA(cudaMemcpy(f->want[job], f->y[job], (size_t)k * f->y_bytes, cudaMemcpyDeviceToHost));
  CUDA(cudaMemset(f->y[job], 0xff, K * f->y_bytes));
  CUDA(cudaDeviceSynchronize());
}

/* Once its stream has been waited for. */
static int is_right(const fixture *f, int job, int64_t k)
{
  CUDA(cudaMemcpy(f->got, f->y[job], (size_t)k * f->y_bytes, cudaMemcpyDeviceToHost));
  return !memcmp(f->got, f->want[job], (size_t)k * f->y_bytes);
}

static fixture open_fixture(int number)
{
  fixture f = {.shape = &shapes[number]};
  macko_error err = {0};
  macko_options o;
  make_matrix(&f);
  macko_options_init(&o);
  o.format = f.shape->format, o.layout = f.shape->layout;
  if (f.shape->format == MACKO_FORMAT_MACKO) o.values = MACKO_VALUES_RAW;
  if (f.shape->layout == MACKO_LAYOUT_ROW && f.shape->weights) o.gap_bits = 4;
  ck_assert_msg(!macko_encode(&f.a, &o, &f.m, &err), "%s: %s", f.shape->name, err.text);
  ck_assert_msg(!macko_device_upload(f.m, NULL, &f.d, &err), "%s: %s", f.shape->name, err.text);
  size_t size = (size_t)macko_type_bytes(f.shape->type);
  f.y_bytes = (size_t)f.a.nrows * size, f.got = malloc(K * f.y_bytes);
  void *x = malloc(K * (size_t)f.a.ncols * size);
  for (int job = 0; job < 2; job++) {
    for (int64_t i = 0; i < K * f.a.ncols; i++) put(x, f.shape->type, i, (double)((i * 7919 + job) % 1013) / (job ? 8 : -16));
    CUDA(cudaMalloc(&f.x[job], K * (size_t)f.a.ncols * size));
    CUDA(cudaMemcpy(f.x[job], x, K * (size_t)f.a.ncols * size, cudaMemcpyHostToDevice));
    CUDA(cudaMalloc(&f.y[job], K * f.y_bytes));
    CUDA(cudaStreamCreateWithFlags(&f.stream[job], cudaStreamNonBlocking));
    f.want[job] = malloc(K * f.y_bytes);
  }
  CUDA(cudaDeviceSynchronize());
  free(x);
  return f;
}

static void close_fixture(fixture *f)
{
  CUDA(cudaDeviceSynchronize());
  macko_device_destroy(&f->d);
  macko_destroy(&f->m);
  for (int job = 0; job < 2; job++) {
    CUDA(cudaFree(f->x[job]));
    CUDA(cudaFree(f->y[job]));
    CUDA(cudaStreamDestroy(f->stream[job]));
    free(f->want[job]);
  }
  free(f->row_ptr), free(f->cols), free(f->values), free(f->got);
}

/* ---- streams and threads ---- */

START_TEST(two_streams_multiply_with_one_matrix)
{
  macko_error err = {0};
  fixture f = open_fixture(_i);
  for (int64_t k = 1; k <= K; k++) {
    int wrong = 0;
    for (int job = 0; job < 2; job++) learn(&f, job, k);
    for (int pair = 0; pair < PAIRS; pair++) {
      for (int job = 0; job < 2; job++) CUDA(cudaMemsetAsync(f.y[job], 0xff, (size_t)k * f.y_bytes, f.stream[job]));
      for (int job = 0; job < 2; job++)
        ck_assert_msg(!multiply(&f, job, k, f.stream[job], &err), "%s: %s", f.shape->name, err.text);
      for (int job = 0; job < 2; job++) CUDA(cudaStreamSynchronize(f.stream[job]));
      wrong += !is_right(&f, 0, k) || !is_right(&f, 1, k);
    }
    ck_assert_msg(!wrong, "%s, %d vectors: %d of %d pairs are wrong", f.shape->name, (int)k, wrong, PAIRS);
  }
  close_fixture(&f);
}
END_TEST

/* Whichever stream a matrix met first: what came on others leaves nothing behind. */
START_TEST(streams_come_and_go)
{
  macko_error err = {0};
  fixture f = open_fixture(_i);
  learn(&f, 0, K);
  for (int round = 0; round < 20; round++) {
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMemset(f.y[0], 0xff, K * f.y_bytes));
    CUDA(cudaDeviceSynchronize());
    ck_assert_msg(!multiply(&f, 0, K, stream, &err), "%s: %s", f.shape->name, err.text);
    CUDA(cudaStreamDestroy(stream)); /* its work goes on */
    CUDA(cudaDeviceSynchronize());
    ck_assert_msg(is_right(&f, 0, K), "%s: product %d is wrong", f.shape->name, round);
  }
  close_fixture(&f);
}
END_TEST

typedef struct {
  fixture *f;
  int job, wrong;
  cudaStream_t stream;
  pthread_barrier_t *start;
  char text[300];
} worker;

/* No assertion here: a thread of a test cannot leave it. */
static void *work(void *argument)
{
  worker *w = argument;
  macko_error err = {0};
  char *got = malloc(K * w->f->y_bytes);
  pthread_barrier_wait(w->start);
  for (int i = 0; i < PAIRS; i++) {
    cudaError_t e = cudaMemsetAsync(w->f->y[w->job], 0xff, K * w->f->y_bytes, w->stream);
    if (multiply(w->f, w->job, K, w->stream, &err)) memcpy(w->text, err.text, sizeof w->text - 1), w->wrong++;
    if (!e) e = cudaMemcpyAsync(got, w->f->y[w->job], K * w->f->y_bytes, cudaMemcpyDeviceToHost, w->stream);
    if (!e) e = cudaStreamSynchronize(w->stream);
    w->wrong += e || memcmp(got, w->f->want[w->job], K * w->f->y_bytes);
  }
  free(got);
  return NULL;
}

/* Of matrices[0] and matrices[1], in two threads, which may share a stream. */
static void multiply_in_threads(fixture *matrices[2], int share_stream)
{
  pthread_barrier_t start;
  pthread_t threads[2];
  worker workers[2];
  pthread_barrier_init(&start, NULL, 2);
  for (int job = 0; job < 2; job++) {
    workers[job] = (worker){.f = matrices[job], .job = job, .stream = matrices[0]->stream[share_stream ? 0 : job], .start = &start};
    learn(matrices[job], job, K);
  }
  for (int job = 0; job < 2; job++) ck_assert_int_eq(pthread_create(&threads[job], NULL, work, &workers[job]), 0);
  for (int job = 0; job < 2; job++) pthread_join(threads[job], NULL);
  pthread_barrier_destroy(&start);
  for (int job = 0; job < 2; job++)
    ck_assert_msg(!workers[job].wrong, "%s, thread %d: %d of %d products are wrong: %s", matrices[job]->shape->name, job,
                  workers[job].wrong, PAIRS, workers[job].text);
}

START_TEST(two_threads_multiply_with_one_matrix)
{
  fixture f = open_fixture(_i), *both[2] = {&f, &f};
  multiply_in_threads(both, 0);
  multiply_in_threads(both, 1);
  close_fixture(&f);
}
END_TEST

/* What a kernel is allowed of shared memory is said of the kernel, whichever matrix it is for. */
START_TEST(two_threads_multiply_with_two_matrices)
{
  fixture f = open_fixture(_i), g = open_fixture(_i), *both[2] = {&f, &g};
  multiply_in_threads(both, 0);
  close_fixture(&f);
  close_fixture(&g);
}
END_TEST

/* ---- graphs ---- */

/* The product of a job, captured on a stream that may have multiplied before. */
static cudaGraphExec_t capture(const fixture *f, int job, int64_t k)
{
  macko_error err = {0};
  cudaGraph_t graph;
  cudaGraphExec_t run;
  CUDA(cudaStreamBeginCapture(f->stream[0], cudaStreamCaptureModeGlobal));
  macko_status s = multiply(f, job, k, f->stream[0], &err);
  CUDA(cudaStreamEndCapture(f->stream[0], &graph));
  ck_assert_msg(!s, "%s: %s", f->shape->name, err.text);
  CUDA(cudaGraphInstantiate(&run, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  return run;
}

START_TEST(a_graph_replays_on_two_streams)
{
  fixture f = open_fixture(_i);
  for (int64_t k = 1; k <= K; k++) {
    learn(&f, 0, k);
    cudaGraphExec_t run = capture(&f, 0, k);
    for (int round = 0; round < 20; round++) {
      CUDA(cudaMemset(f.y[0], 0xff, K * f.y_bytes));
      CUDA(cudaDeviceSynchronize());
      for (int again = 0; again < 2; again++) CUDA(cudaGraphLaunch(run, f.stream[(round + again) % 2]));
      for (int i = 0; i < 2; i++) CUDA(cudaStreamSynchronize(f.stream[i]));
      ck_assert_msg(is_right(&f, 0, k), "%s, %d vectors, round %d", f.shape->name, (int)k, round);
    }
    CUDA(cudaGraphExecDestroy(run));
  }
  close_fixture(&f);
}
END_TEST

/* Two graphs at once on streams of which one multiplies for itself, too. */
START_TEST(graphs_replay_beside_products)
{
  macko_error err = {0};
  fixture f = open_fixture(_i);
  cudaGraphExec_t run[2];
  for (int job = 0; job < 2; job++) learn(&f, job, 1), run[job] = capture(&f, job, 1);
  for (int round = 0; round < PAIRS; round++) {
    for (int job = 0; job < 2; job++) CUDA(cudaMemsetAsync(f.y[job], 0xff, f.y_bytes, f.stream[job]));
    CUDA(cudaGraphLaunch(run[1], f.stream[1]));
    if (round % 2) CUDA(cudaGraphLaunch(run[0], f.stream[0]));
    else ck_assert_msg(!multiply(&f, 0, 1, f.stream[0], &err), "%s: %s", f.shape->name, err.text);
    for (int job = 0; job < 2; job++) CUDA(cudaStreamSynchronize(f.stream[job]));
    for (int job = 0; job < 2; job++) ck_assert_msg(is_right(&f, job, 1), "%s, job %d, round %d", f.shape->name, job, round);
  }
  for (int job = 0; job < 2; job++) CUDA(cudaGraphExecDestroy(run[job]));
  close_fixture(&f);
}
END_TEST

/* New values between replays: either the graph sees them or the refresh said that it must be captured again. The second ones hold
 * zeros, which layout paper's padding must not look like. */
START_TEST(a_refresh_between_replays)
{
  macko_error err = {0};
  fixture f = open_fixture(_i);
  learn(&f, 0, 1);
  cudaGraphExec_t run = capture(&f, 0, 1);
  for (int step = 0; step < 4; step++) {
    int moved = -1;
    fill(&f, step + 2, step % 2);
    ck_assert_msg(!macko_refresh(f.m, &f.a, &err), "%s: %s", f.shape->name, err.text);
    ck_assert_msg(!macko_device_refresh(f.d, f.m, f.stream[0], &moved, &err), "%s: %s", f.shape->name, err.text);
    ck_assert_msg(moved == 0 || moved == 1, "%s: moved is %d", f.shape->name, moved);
    CUDA(cudaStreamSynchronize(f.stream[0]));
    if (f.shape->format == MACKO_FORMAT_CSR || f.shape->layout == MACKO_LAYOUT_ROW) ck_assert_int_eq(moved, 0);
    learn(&f, 0, 1);
    if (moved) {
      CUDA(cudaGraphExecDestroy(run));
      run = capture(&f, 0, 1);
    }
    CUDA(cudaGraphLaunch(run, f.stream[1]));
    CUDA(cudaStreamSynchronize(f.stream[1]));
    ck_assert_msg(is_right(&f, 0, 1), "%s: replay after refresh %d, moved %d", f.shape->name, step, moved);
  }
  CUDA(cudaGraphExecDestroy(run));
  close_fixture(&f);
}
END_TEST

static Suite *streams_suite(void)
{
  Suite *suite = suite_create("cuda_streams");
  TCase *t = add_case(suite, "streams", 0);
  tcase_add_loop_test(t, two_streams_multiply_with_one_matrix, 0, SHAPES);
  tcase_add_loop_test(t, streams_come_and_go, 0, SHAPES);
  t = add_case(suite, "threads", 0);
  tcase_add_loop_test(t, two_threads_multiply_with_one_matrix, 0, SHAPES);
  tcase_add_loop_test(t, two_threads_multiply_with_two_matrices, 0, SHAPES);
  t = add_case(suite, "graphs", 0);
  tcase_add_loop_test(t, a_graph_replays_on_two_streams, 0, SHAPES);
  tcase_add_loop_test(t, graphs_replay_beside_products, 0, SHAPES);
  tcase_add_loop_test(t, a_refresh_between_replays, 0, SHAPES);
  return suite;
}

int main(void)
{
  return run_cuda_suite(streams_suite);
}
