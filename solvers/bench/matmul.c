/* macko-bench --matmul: Y = A X of weights at 2:4, 4:6 and 6:8 in bf16, i8, e4m3 and f16, beside the dense product of the same
 * type. Ours is timed as a whole: X of bf16 (f16) is lifted and rounded, multiplied, and Y of bf16 (f16) is scaled back. */
#include "bench/matmul.h"
#include "bench/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* SAMPLES: columns that are checked; FILLED: random elements before they repeat; PATTERNS: 2:4, 4:6, 6:8 */
enum { WARM_UP = 3, SAMPLES = 1, FILLED = 1 << 22, PATTERNS = 3 };

/* f16 comes last: cuSPARSELt 0.8.1 was seen to crash with it. */
static const matmul_type types[] = {{"bf16", MACKO_OPERANDS_BF16, CUDA_R_16BF, CUDA_R_16BF, MACKO_BF16, MACKO_BF16},
                                    {"i8", MACKO_OPERANDS_I8, CUDA_R_8I, CUDA_R_32I, MACKO_BF16, MACKO_BF16},
                                    {"e4m3", MACKO_OPERANDS_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, MACKO_BF16, MACKO_BF16},
                                    {"f16", MACKO_OPERANDS_F16, CUDA_R_16F, CUDA_R_16F, MACKO_F16, MACKO_F16}};
enum { TYPES = sizeof types / sizeof *types };

/* This is the pattern that the hardware has itself. */
#define NATIVE "2:4"

/* Weights of one pattern, in host memory and as the library has them on the GPU. */
typedef struct {
  macko_csr csr;
  macko_device_matrix *d;
} weights;

/* A run of --matmul, and the times of the shape at hand that others are compared with. */
typedef struct {
  weights w[PATTERNS]; /* of the shape at hand, and of those that follow it with other columns only */
  int64_t w_m, w_k;    /* of which shape they are; 0: of none */
  int64_t m, k, n;     /* of the shape at hand */
  int repeats;
  const char *library; /* cuSPARSELt, or NULL */
  FILE *tsv;           /* NULL without */
  double dense[TYPES], native[TYPES]; /* microseconds of the dense product and of 2:4; NAN where there is no such product */
} request;

/* A few calls go before those that are timed, as the first ones load kernels. */
macko_status matmul_time(macko_status (*run)(void *context, macko_error *err), void *context, int repeats, double *us,
                         macko_error *err)
{
  cudaEvent_t from = NULL, to = NULL;
  double *times = calloc((size_t)repeats, sizeof *times);
  macko_status s = bench_cuda(times ? cudaEventCreate(&from) : cudaErrorMemoryAllocation, "an event", err);
  if (!s) s = bench_cuda(cudaEventCreate(&to), "an event", err);
  for (int i = -WARM_UP; !s && i < repeats; i++) {
    cudaEventRecord(from, NULL);
    s = run(context, err);
    cudaEventRecord(to, NULL);
    if (!s) s = bench_cuda(cudaEventSynchronize(to), "a product", err);
    if (!s && i >= 0) times[i] = bench_gpu_between(from, to);
  }
  if (!s) *us = bench_median(times, repeats);
  if (from) cudaEventDestroy(from);
  if (to) cudaEventDestroy(to);
  free(times);
  return s;
}

/* ---- ours ---- */

/* One product of ours: weights, type, vectors. */
typedef struct {
  const request *r;
  const macko_csr *csr;      /* the weights, in host memory */
  macko_matmul *matmul;
  macko_matmul_info info;    /* for products of r->n columns */
  macko_type x_type, y_type;
  void *host, *x, *y, *work; /* X in host memory; X, Y and work space in device memory */
} contender;

/* Queues one product; context is the contender. Columns of X and of Y follow each other. */
static macko_status run(void *context, macko_error *err)
{
  const contender *c = context;
  return macko_device_matmul(c->matmul, c->r->n, c->x, c->r->k, NULL, c->y, c->r->m, c->work, c->info.work_bytes, NULL, err);
}

/* Sets *error to how far the first column of Y is off, in root mean square, as a share of what it is. Operands of 8 bits are off
 * by their rounding, which is reported; only what no rounding explains is an error. */
static macko_status check(const contender *c, double *error, macko_error *err)
{
  const request *r = c->r;
  const int64_t samples = r->n < SAMPLES ? r->n : SAMPLES;
  const int32_t *row_ptr = c->csr->row_ptr, *cols = c->csr->cols;
  double off = 0, size = 0;
  uint16_t *y = malloc((size_t)(samples * r->m) * 2);
  macko_status s = bench_cuda(y ? cudaMemcpy(y, c->y, (size_t)(samples * r->m) * 2, cudaMemcpyDeviceToHost)
                                : cudaErrorMemoryAllocation, "copying Y", err);
  for (int64_t i = 0; !s && i < r->m; i++)
    for (int64_t j = 0; j < samples; j++) {
      double sum = 0;
      for (int32_t p = row_ptr[i]; p < row_ptr[i + 1]; p++)
        sum += bench_get(c->csr->value_type, c->csr->values, p) * bench_get(c->x_type, c->host, j * r->k + cols[p]);
      const double d = bench_get(c->y_type, y, j * r->m + i) - sum;
      off += d * d, size += sum * sum;
    }
  free(y);
  *error = sqrt(off / size);
  if (s || *error < 0.1) return s;
  snprintf(err->text, sizeof err->text, "a product is off by %.3g of its size (%s)", *error, c->info.reason);
  return err->status = MACKO_CORRUPT;
}

/* Fills x with elements of 2 bytes, random ones at first and then the same again, as X may be large. */
static void fill(macko_type type, void *x, int64_t count)
{
  bench_fill(type, x, count < FILLED ? count : FILLED);
  for (int64_t at = FILLED; at < count; at += FILLED)
    memcpy((char *)x + at * 2, x, (size_t)(count - at < FILLED ? count - at : FILLED) * 2);
}

/* Makes a product ready on the matrix d and fills X. After an error *c has to be closed as well. */
static macko_status open_contender(const request *r, const matmul_type *t, macko_matmul_path path, const macko_csr *csr,
                                   const macko_device_matrix *d, contender *c, macko_error *err)
{
  const size_t x_bytes = (size_t)(r->k * r->n) * 2, y_bytes = (size_t)(r->m * r->n) * 2;
  macko_matmul_options o;
  macko_matmul_options_init(&o);
  o.path = path, o.operands = t->operands, o.x_type = t->x_type, o.y_type = t->y_type, o.library = r->library;
  *c = (contender){.r = r, .csr = csr, .x_type = t->x_type, .y_type = t->y_type};
  macko_status s = macko_matmul_open(d, &o, NULL, &c->matmul, err);
  if (!s) s = macko_matmul_plan(c->matmul, r->n, -1, NULL, err);
  if (s) return s;
  macko_matmul_get_info(c->matmul, r->n, &c->info);
  c->host = malloc(x_bytes);
  if (c->host) fill(t->x_type, c->host, r->k * r->n);
  s = bench_cuda(c->host ? cudaMalloc(&c->x, x_bytes) : cudaErrorMemoryAllocation, "memory for X", err);
  if (!s) s = bench_cuda(cudaMemcpy(c->x, c->host, x_bytes, cudaMemcpyHostToDevice), "copying X", err);
  if (!s) s = bench_cuda(cudaMalloc(&c->y, y_bytes), "memory for Y", err);
  if (!s) s = bench_cuda(cudaMalloc(&c->work, (size_t)c->info.work_bytes + 1), "work space", err);
  return s;
}

/* What was not opened is NULL, which all of these pass over. */
static void close_contender(contender *c)
{
  macko_matmul_close(&c->matmul);
  cudaFree(c->x), cudaFree(c->y), cudaFree(c->work);
  free(c->host);
}

/* ---- rows of the table ---- */

/* Prints a row of the table, and of the file. of_native is what measure says; a rate counts the operations of the dense product,
 * whatever was left out, so that rows can be compared. */
static void print_row(const request *r, const char *pattern, const char *type, double us, double dense, double of_native,
                      double error, const char *by)
{
  /* A multiplication and an addition for each element of W and column of X, in 10^12 a second. */
  const double rate = 2e-6 * (double)r->m * (double)r->k * (double)r->n / us;
  printf("%6lldx%-6lldx%-6lld %-6s %-5s %10.1f %8.2f %8.2f %10.1f %10.2e  %s\n", (long long)r->m, (long long)r->k, (long long)r->n,
         pattern, type, us, dense / us, of_native, rate, error, by);
  fflush(stdout);
  if (!r->tsv) return;
  fprintf(r->tsv, "%lld\t%lld\t%lld\t%s\t%s\t%.2f\t%.4f\t%.4f\t%.2f\t%.3e\t%s\n", (long long)r->m, (long long)r->k, (long long)r->n,
          pattern, type, us, dense / us, of_native, rate, error, by);
  fflush(r->tsv);
}

/* Measures type i on the matrix d by a path, prints a row, and sets *taken to what multiplied. "x native" is the speed-up over
 * native 2:4, times what lifting lengthens k by (SlideSparse, equation 19): 1 means that the lifted product is as fast as its
 * length allows. */
static macko_status measure_path(request *r, int i, macko_matmul_path path, const char *pattern, const macko_csr *csr,
                                 const macko_device_matrix *d, macko_matmul_path *taken, macko_error *err)
{
  contender c = {0};
  double us = NAN, error = NAN, of_native = NAN;
  macko_status s = open_contender(r, &types[i], path, csr, d, &c, err);
  if (!s) s = matmul_time(run, &c, r->repeats, &us, err);
  if (!s) s = check(&c, &error, err);
  if (!s && c.info.path == MACKO_MATMUL_TENSOR) {
    if (!strcmp(pattern, NATIVE)) r->native[i] = us;
    of_native = r->native[i] / us * (double)c.info.lifted / (double)r->k;
  }
  if (!s) print_row(r, pattern, types[i].name, us, r->dense[i], of_native, error, c.info.reason);
  *taken = c.info.path;
  close_contender(&c);
  return s;
}

/* Measures what the library takes by itself, and sparse tensor cores where it takes another form, if there are any. */
static macko_status measure(request *r, int i, const char *pattern, const macko_csr *csr, const macko_device_matrix *d,
                            macko_error *err)
{
  macko_matmul_path taken;
  macko_status s = measure_path(r, i, MACKO_MATMUL_AUTO, pattern, csr, d, &taken, err);
  if (s || taken == MACKO_MATMUL_TENSOR) return s;
  s = measure_path(r, i, MACKO_MATMUL_TENSOR, pattern, csr, d, &taken, err);
  return s == MACKO_UNSUPPORTED ? MACKO_OK : s;
}

/* Makes weights of which 2n - 2 of every 2n columns are kept. They are generated as other matrices are, and so are the same in
 * every run; the csr stays, as products are checked with it. */
static macko_status make_weights(const request *r, int n, weights *w, macko_error *err)
{
  char name[64];
  macko_matrix *m = NULL;
  macko_options o;
  macko_options_init(&o);
  o.format = MACKO_FORMAT_SLIDE, o.target = MACKO_TARGET_GPU;
  snprintf(name, sizeof name, "pattern:%lldx%lld:%d", (long long)r->m, (long long)r->k, n);
  macko_status s = generate_matrix(name, &w->csr, err);
  if (!s) s = macko_encode(&w->csr, &o, &m, err);
  if (!s) s = macko_device_upload(m, NULL, &w->d, err);
  if (!s) s = bench_cuda(cudaDeviceSynchronize(), "copying the matrix", err);
  macko_destroy(&m);
  return s;
}

static void free_weights(request *r)
{
  for (int i = 0; i < PATTERNS; i++) macko_device_destroy(&r->w[i].d), macko_free_csr(&r->w[i].csr);
  memset(r->w, 0, sizeof r->w);
}

/* Measures all types with weights of one pattern. */
static macko_status measure_pattern(request *r, int n, macko_error *err)
{
  char pattern[16];
  weights *w = &r->w[n - 2];
  macko_status s = w->d ? MACKO_OK : make_weights(r, n, w, err);
  snprintf(pattern, sizeof pattern, "%d:%d", 2 * n - 2, 2 * n);
  for (int i = 0; !s && i < TYPES; i++) s = measure(r, i, pattern, &w->csr, w->d, err);
  return s;
}

/* Measures dense products first, then patterns with 2:4 (n = 2) before the others, as rows are compared with both. A type that
 * cuBLASLt has no dense product for keeps NAN there. */
static macko_status measure_shape(request *r, macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = 0; i < TYPES; i++) {
    r->native[i] = r->dense[i] = NAN;
    s = matmul_dense(&types[i], r->m, r->k, r->n, r->repeats, &r->dense[i], err);
    /* A type without a dense product has its sparse ones all the same. */
    if (s && s != MACKO_UNSUPPORTED) return s;
    print_row(r, "dense", types[i].name, r->dense[i], r->dense[i], NAN, NAN, s ? err->text : "cuBLASLt");
  }
  s = MACKO_OK;
  if (r->w_m != r->m || r->w_k != r->k) free_weights(r);
  r->w_m = r->m, r->w_k = r->k;
  for (int n = 2; !s && n < 2 + PATTERNS; n++) s = measure_pattern(r, n, err);
  return s;
}

/* Sizes are limited so that bytes of X and Y cannot overflow. */
macko_status bench_matmul(const char *shapes, int repeats, const char *library, FILE *tsv, macko_error *err)
{
  request r = {.repeats = repeats, .library = library, .tsv = tsv};
  macko_status s = MACKO_OK;
  printf("%-20s %-6s %-5s %10s %8s %8s %10s %10s  %s\n", "M x K x N", "kept", "type", "us", "x dense", "x native", "TFLOP/s",
         "error", "by");
  if (tsv) fprintf(tsv, "m\tk\tn\tkept\ttype\tus\tx_dense\tx_native\ttflops\terror\tby\n");
  for (const char *at = shapes; !s && *at;) {
    int length = 0;
    long long m, k, n;
    if (sscanf(at, "%lldx%lldx%lld%n", &m, &k, &n, &length) != 3 || m < 1 || k < 1 || n < 1 || m > 1 << 20 || k > 1 << 20 ||
        n > 1 << 24 || (at[length] && at[length] != ',')) {
      snprintf(err->text, sizeof err->text, "--matmul wants MxKxN, several with commas between, not %.64s", at);
      return err->status = MACKO_INVALID_ARGUMENT;
    }
    r.m = m, r.k = k, r.n = n;
    at += length + (at[length] == ',');
    s = measure_shape(&r, err);
  }
  free_weights(&r);
  return s;
}
