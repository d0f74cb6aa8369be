/* Multiplies one layer of a language model, Y = W X, whose weights are pruned to 2:4, 6:8 and 4:6 (of every four columns two are
 * kept, and so on), on sparse tensor cores with operands of bf16, i8 and e4m3. It prints the time beside that of the dense layer,
 * and what pruning and rounding each cost in accuracy. Weights and activations are made up: numbers of a bell curve.
 * usage: linear [ROWS COLUMNS BATCH]
 * compile: cc linear.c $(pkg-config --cflags --libs macko-cuda) -lcublas -lcudart -lm -o linear
 * cuSPARSELt is opened when the program runs, from the folder that CUSPARSELT names, if it does. */
#include <macko_cuda.h>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 4, TIMES = 15 };

typedef struct {
  int64_t rows, cols, batch;
  macko_csr weights;            /* dense, as CSR */
  uint16_t *x, *y;              /* host; bf16, columns one after the other */
  double *exact;                /* the dense layer's first columns of Y, of which there are SAMPLES */
  void *device_w, *device_x, *device_y;
} layer;

static void die(const char *what)
{
  fprintf(stderr, "linear: %s\n", what);
  exit(1);
}

static void cuda(cudaError_t e, const char *what)
{
  if (e) fprintf(stderr, "linear: %s: %s\n", what, cudaGetErrorString(e)), exit(1);
}

static uint16_t to_bf16(float f)
{
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static double from_bf16(uint16_t h)
{
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

/* Sum of four uniform numbers: close to a bell curve. */
static float bell(uint64_t *state)
{
  float sum = 0;
  for (int i = 0; i < 4; i++)
    *state = *state * 6364136223846793005u + 1442695040888963407u, sum += (float)(int32_t)(*state >> 32) * 0x1p-31f;
  return sum;
}

/* The first SAMPLES columns of W X in f64. */
static void multiply_exactly(const layer *l, const macko_csr *w, double *y)
{
  const int64_t *row_ptr = w->row_ptr;
  for (int64_t i = 0; i < l->rows; i++)
    for (int s = 0; s < SAMPLES; s++) {
      double sum = 0;
      for (int64_t p = row_ptr[i]; p < row_ptr[i + 1]; p++)
        sum += from_bf16(((const uint16_t *)w->values)[p]) * from_bf16(l->x[s * l->cols + ((const int32_t *)w->cols)[p]]);
      y[s * l->rows + i] = sum;
    }
}

/* Of the columns that were computed exactly, how far y is off: in root mean square, as a share of the exact one's. */
static double error_of(const layer *l, const double *exact)
{
  double off = 0, size = 0;
  cuda(cudaMemcpy(l->y, l->device_y, (size_t)(SAMPLES * l->rows) * 2, cudaMemcpyDeviceToHost), "copying Y");
  for (int64_t i = 0; i < SAMPLES * l->rows; i++) {
    const double d = from_bf16(l->y[i]) - exact[i];
    off += d * d, size += exact[i] * exact[i];
  }
  return sqrt(off / size);
}

static layer make_layer(int64_t rows, int64_t cols, int64_t batch)
{
  layer l = {.rows = rows, .cols = cols, .batch = batch};
  const size_t entries = (size_t)(rows * cols), x_count = (size_t)(cols * batch), y_count = (size_t)(rows * batch);
  int64_t *row_ptr = malloc((size_t)(rows + 1) * sizeof *row_ptr);
  int32_t *columns = malloc(entries * sizeof *columns);
  uint16_t *values = malloc(entries * 2);
  uint64_t state = 1;
  l.x = malloc(x_count * 2), l.y = malloc(y_count * 2), l.exact = malloc((size_t)(SAMPLES * rows) * sizeof *l.exact);
  if (!row_ptr || !columns || !values || !l.x || !l.y || !l.exact) die("no memory");
  for (int64_t i = 0; i <= rows; i++) row_ptr[i] = i * cols;
  for (size_t p = 0; p < entries; p++) columns[p] = (int32_t)(p % (size_t)cols), values[p] = to_bf16(bell(&state) * 0.02f);
  for (size_t i = 0; i < x_count; i++) l.x[i] = to_bf16(bell(&state));
  l.weights = (macko_csr){.nrows = rows, .ncols = cols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I32, .value_type = MACKO_BF16,
                          .row_ptr = row_ptr, .cols = columns, .values = values};
  multiply_exactly(&l, &l.weights, l.exact);
  cuda(cudaMalloc(&l.device_w, entries * 2), "memory for W");
  cuda(cudaMalloc(&l.device_x, x_count * 2), "memory for X");
  cuda(cudaMalloc(&l.device_y, y_count * 2), "memory for Y");
  cuda(cudaMemcpy(l.device_w, values, entries * 2, cudaMemcpyHostToDevice), "copying W");
  cuda(cudaMemcpy(l.device_x, l.x, x_count * 2, cudaMemcpyHostToDevice), "copying X");
  return l;
}

/* ---- time ---- */

typedef void (*product)(void *context);

/* Microseconds of the fastest of a few. */
static double time_of(product run, void *context)
{
  cudaEvent_t from, to;
  float best = 1e30f, ms;
  cuda(cudaEventCreate(&from), "an event");
  cuda(cudaEventCreate(&to), "an event");
  for (int i = 0; i < TIMES; i++) {
    cuda(cudaEventRecord(from, NULL), "an event");
    run(context);
    cuda(cudaEventRecord(to, NULL), "an event");
    cuda(cudaEventSynchronize(to), "a product");
    cuda(cudaEventElapsedTime(&ms, from, to), "an event");
    if (ms < best) best = ms;
  }
  cudaEventDestroy(from), cudaEventDestroy(to);
  return 1e3 * best;
}

/* ---- the dense layer ---- */

typedef struct {
  layer *l;
  cublasHandle_t handle;
} dense;

static void multiply_dense(void *context)
{
  const dense *d = context;
  const layer *l = d->l;
  const float one = 1, zero = 0;
  /* cuBLAS counts by columns: the rows of W are columns of its transpose. */
  if (cublasGemmEx(d->handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)l->rows, (int)l->batch, (int)l->cols, &one, l->device_w, CUDA_R_16BF,
                   (int)l->cols, l->device_x, CUDA_R_16BF, (int)l->cols, &zero, l->device_y, CUDA_R_16BF, (int)l->rows,
                   CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT))
    die("cuBLAS fails");
}

static double show_dense(layer *l)
{
  dense d = {.l = l};
  if (cublasCreate(&d.handle)) die("cuBLAS does not start");
  const double us = time_of(multiply_dense, &d);
  printf("%-6s %-6s %10.1f %8.2f %12s %12.2e  cuBLAS\n", "dense", "bf16", us, 1.0, "-", error_of(l, l->exact));
  cublasDestroy(d.handle);
  return us;
}

/* ---- the pruned layer ---- */

typedef struct {
  layer *l;
  macko_matmul *matmul;
  macko_matmul_info info;
  void *work;
} sparse;

static void multiply_sparse(void *context)
{
  const sparse *s = context;
  macko_error err;
  if (macko_device_matmul(s->matmul, s->l->batch, s->l->device_x, s->l->cols, NULL, s->l->device_y, s->l->rows, s->work,
                          s->info.work_bytes, NULL, &err))
    die(err.text);
}

static void show_operands(layer *l, const char *pattern, const macko_device_matrix *d, macko_operands operands, const char *name,
                          const double *exact, double dense_us)
{
  macko_matmul_options o;
  macko_error err;
  sparse s = {.l = l};
  macko_matmul_options_init(&o);
  o.operands = operands, o.x_type = o.y_type = MACKO_BF16, o.library = getenv("CUSPARSELT");
  if (macko_matmul_open(d, &o, NULL, &s.matmul, &err) || macko_matmul_plan(s.matmul, l->batch, -1, NULL, &err)) die(err.text);
  macko_matmul_get_info(s.matmul, l->batch, &s.info);
  cuda(cudaMalloc(&s.work, (size_t)s.info.work_bytes + 1), "memory to work in");
  const double us = time_of(multiply_sparse, &s);
  printf("%-6s %-6s %10.1f %8.2f %12.2e %12.2e  %s\n", pattern, name, us, dense_us / us, error_of(l, exact), error_of(l, l->exact),
         s.info.reason);
  macko_matmul_close(&s.matmul);
  cudaFree(s.work);
}

static void show_pattern(layer *l, int z, int of, double dense_us)
{
  macko_csr pruned;
  macko_options o;
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_error err;
  char pattern[16];
  double *exact = malloc((size_t)(SAMPLES * l->rows) * sizeof *exact);
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE, o.target = MACKO_TARGET_GPU;
  if (!exact) die("no memory");
  if (macko_prune(&l->weights, z, of, &pruned, &err) || macko_encode(&pruned, &o, &m, &err) ||
      macko_device_upload(m, NULL, &d, &err))
    die(err.text);
  cuda(cudaDeviceSynchronize(), "copying W");
  multiply_exactly(l, &pruned, exact);
  snprintf(pattern, sizeof pattern, "%d:%d", z, of);
  show_operands(l, pattern, d, MACKO_OPERANDS_EXACT, "bf16", exact, dense_us);
  show_operands(l, pattern, d, MACKO_OPERANDS_I8, "i8", exact, dense_us);
  show_operands(l, pattern, d, MACKO_OPERANDS_E4M3, "e4m3", exact, dense_us);
  macko_device_destroy(&d);
  macko_destroy(&m);
  macko_free_csr(&pruned);
  free(exact);
}

int main(int argc, char **argv)
{
  macko_error err;
  int64_t sizes[3] = {4096, 4096, 1024};
  if (argc != 1 && argc != 4) return fprintf(stderr, "usage: linear [ROWS COLUMNS BATCH]\n"), 1;
  for (int i = 1; i < argc; i++)
    if ((sizes[i - 1] = atoll(argv[i])) < SAMPLES || sizes[i - 1] > 1 << 20)
      return fprintf(stderr, "linear: %s is no size\n", argv[i]), 1;
  if (!macko_device_count(&err)) return fprintf(stderr, "linear: %s\n", err.text), 77;
  layer l = make_layer(sizes[0], sizes[1], sizes[2]);
  printf("a layer of %lld x %lld, %lld columns; errors in root mean square, of the rounding and of all\n", (long long)l.rows,
         (long long)l.cols, (long long)l.batch);
  printf("%-6s %-6s %10s %8s %12s %12s  %s\n", "kept", "type", "us", "x dense", "rounding", "all", "by");
  const double us = show_dense(&l);
  show_pattern(&l, 2, 4, us);
  show_pattern(&l, 6, 8, us);
  show_pattern(&l, 4, 6, us);
  macko_free_csr(&l.weights);
  cudaFree(l.device_w), cudaFree(l.device_x), cudaFree(l.device_y);
  free(l.x), free(l.y), free(l.exact);
  return 0;
}
