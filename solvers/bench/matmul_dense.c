/* macko-bench --matmul: the dense product by cuBLASLt. */
#include "bench/matmul.h"
#include "common/random.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

/* How many algorithms are tried, and how often each; bytes of work space, and of random numbers before they repeat. */
enum { PROPOSALS = 8, TRIES = 5, WORK = 64 << 20, PATTERN = 32 << 20 };

/* A dense product made ready. */
typedef struct {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, x, y;
  cublasLtMatmulAlgo_t algorithm; /* the one to run */
  void *memory[4]; /* A, X, Y and work space */
  int integers;    /* 1: operands of 8 bits, sums of 32 */
} dense;

/* Returns MACKO_OK, or fails with cuBLASLt's sentence: UNSUPPORTED for what it does not have, else DEVICE. */
static macko_status check(cublasStatus_t status, const char *what, macko_error *err)
{
  if (status == CUBLAS_STATUS_SUCCESS) return MACKO_OK;
  snprintf(err->text, sizeof err->text, "cuBLASLt: %s: %s", what, cublasLtGetStatusString(status));
  return err->status = status == CUBLAS_STATUS_NOT_SUPPORTED ? MACKO_UNSUPPORTED : MACKO_DEVICE;
}

/* Fills device memory with random operands: of 8 bits they are e4m3 below 2 as much as integers, of 16 bits of size 1 or less. No
 * bits are those of a NaN or of an infinity. */
static macko_status fill(void *to, size_t bytes, cudaDataType type, macko_error *err)
{
  uint8_t *pattern = malloc(PATTERN);
  uint64_t state = 7;
  macko_status s = MACKO_OK;
  if (!pattern) return snprintf(err->text, sizeof err->text, "no memory on the host"), err->status = MACKO_OUT_OF_MEMORY;
  /* Bits are drawn, and those of the exponent set or cleared so that the number is as small as it should be. */
  for (size_t i = 0; i < PATTERN; i += 2) {
    const uint64_t bits = draw(&state);
    uint16_t two = (uint16_t)(bits & (type == CUDA_R_8I ? 0xffff : 0xbfbf));
    if (type == CUDA_R_16F) two = (uint16_t)((bits & 0x83ff) | (0x3800 - (bits >> 20 & 3) * 0x400));
    if (type == CUDA_R_16BF) two = (uint16_t)((bits & 0x807f) | (0x3f00 - (bits >> 20 & 3) * 0x80));
    memcpy(pattern + i, &two, 2);
  }
  for (size_t at = 0; !s && at < bytes; at += PATTERN)
    s = bench_cuda(cudaMemcpy((char *)to + at, pattern, bytes - at < PATTERN ? bytes - at : PATTERN, cudaMemcpyHostToDevice),
                   "filling a dense matrix", err);
  free(pattern);
  return s;
}

/* Queues one product; context is the dense. Sums of integers are scaled by integers, others by floats. */
static macko_status run(void *context, macko_error *err)
{
  const dense *d = context;
  const float one = 1, zero = 0;
  const int32_t whole = 1, nothing = 0;
  return check(cublasLtMatmul(d->handle, d->product, d->integers ? (const void *)&whole : &one, d->memory[0], d->a, d->memory[1],
                              d->x, d->integers ? (const void *)&nothing : &zero, d->memory[2], d->y, d->memory[2], d->y,
                              &d->algorithm, d->memory[3], WORK, NULL),
               "a product", err);
}

/* Describes A, X and Y. Columns of A are its rows as macko has them, so that both operands go along k, the order that cuBLASLt
 * asks for with operands of 8 bits. */
static macko_status describe(dense *d, const matmul_type *t, int64_t m, int64_t k, int64_t n, macko_error *err)
{
  const cublasOperation_t transposed = CUBLAS_OP_T;
  macko_status s = check(cublasLtMatmulDescCreate(&d->product, d->integers ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                                                  d->integers ? CUDA_R_32I : CUDA_R_32F), "describing a product", err);
  if (!s)
    s = check(cublasLtMatmulDescSetAttribute(d->product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
              "describing a product", err);
  if (!s) s = check(cublasLtMatrixLayoutCreate(&d->a, t->type, (uint64_t)k, (uint64_t)m, k), "describing A", err);
  if (!s) s = check(cublasLtMatrixLayoutCreate(&d->x, t->type, (uint64_t)k, (uint64_t)n, k), "describing X", err);
  if (!s) s = check(cublasLtMatrixLayoutCreate(&d->y, t->result, (uint64_t)m, (uint64_t)n, m), "describing Y", err);
  return s;
}

/* Allocates operands, result and work space; 4 bytes an element of Y are enough for every type. */
static macko_status allocate(dense *d, const matmul_type *t, int64_t m, int64_t k, int64_t n, macko_error *err)
{
  /* Operands have 2 bytes or 1. */
  const size_t operand = t->type == CUDA_R_16F || t->type == CUDA_R_16BF ? 2 : 1;
  const size_t bytes[] = {(size_t)(m * k) * operand, (size_t)(k * n) * operand, (size_t)(m * n) * 4, WORK};
  macko_status s = MACKO_OK;
  for (int i = 0; !s && i < 4; i++) s = bench_cuda(cudaMalloc(&d->memory[i], bytes[i]), "memory for a dense product", err);
  for (int i = 0; !s && i < 2; i++) s = fill(d->memory[i], bytes[i], t->type, err);
  return s;
}

/* Times a few runs of each algorithm that cuBLASLt proposes; the fastest is then timed as ours is. */
static macko_status choose(dense *d, int repeats, double *us, macko_error *err)
{
  cublasLtMatmulPreference_t preference = NULL;
  cublasLtMatmulHeuristicResult_t proposals[PROPOSALS];
  const size_t work = WORK;
  int count = 0, best = -1;
  double fastest = 0, time;
  macko_status s = check(cublasLtMatmulPreferenceCreate(&preference), "a preference", err);
  if (!s)
    s = check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &work, sizeof work),
              "a preference", err);
  if (!s)
    s = check(cublasLtMatmulAlgoGetHeuristic(d->handle, d->product, d->a, d->x, d->y, d->y, preference, PROPOSALS, proposals,
                                             &count), "asking for algorithms", err);
  for (int i = 0; !s && i < count; i++) {
    d->algorithm = proposals[i].algo;
    if (proposals[i].state == CUBLAS_STATUS_SUCCESS && !matmul_time(run, d, TRIES, &time, err) && (best < 0 || time < fastest))
      best = i, fastest = time;
  }
  if (preference) cublasLtMatmulPreferenceDestroy(preference);
  /* No algorithm that was proposed could be run. */
  if (!s && best < 0) s = check(CUBLAS_STATUS_NOT_SUPPORTED, "no algorithm", err);
  if (s) return s;
  d->algorithm = proposals[best].algo;
  return matmul_time(run, d, repeats, us, err);
}

/* All is freed before it returns, so that our product has the memory. */
macko_status matmul_dense(const matmul_type *type, int64_t m, int64_t k, int64_t n, int repeats, double *us, macko_error *err)
{
  dense d = {.integers = type->type == CUDA_R_8I};
  macko_status s = check(cublasLtCreate(&d.handle), "starting", err);
  if (!s) s = describe(&d, type, m, k, n, err);
  if (!s) s = allocate(&d, type, m, k, n, err);
  if (!s) s = choose(&d, repeats, us, err);
  if (d.a) cublasLtMatrixLayoutDestroy(d.a);
  if (d.x) cublasLtMatrixLayoutDestroy(d.x);
  if (d.y) cublasLtMatrixLayoutDestroy(d.y);
  if (d.product) cublasLtMatmulDescDestroy(d.product);
  if (d.handle) cublasLtDestroy(d.handle);
  for (int i = 0; i < 4; i++) cudaFree(d.memory[i]);
  return s;
}
