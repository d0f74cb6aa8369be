/* cuBLASLt, NVIDIA's library for dense products, opened when the program runs: half a gigabyte that only those need who multiply
 * with many columns. Its header, which comes with nvcc, says what its functions take. */
#include "slide/tensor_library.h"

#include <cublasLt.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* PROPOSALS algorithms are tried, TRIES times each; WORK bytes are the most that one may work in. */
enum { PROPOSALS = 8, TRIES = 3, WORK = 32 << 20 };

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

#define FUNCTIONS(f) \
  f(cublasLtCreate) f(cublasLtDestroy) f(cublasLtGetVersion) f(cublasLtGetStatusString) f(cublasLtMatmulDescCreate) \
  f(cublasLtMatmulDescDestroy) f(cublasLtMatmulDescSetAttribute) f(cublasLtMatrixLayoutCreate) f(cublasLtMatrixLayoutDestroy) \
  f(cublasLtMatmulPreferenceCreate) f(cublasLtMatmulPreferenceDestroy) f(cublasLtMatmulPreferenceSetAttribute) \
  f(cublasLtMatmulAlgoGetHeuristic) f(cublasLtMatmul)

/* This is cuBLASLt opened: its handle, and its functions by name. */
typedef struct {
  void *library; /* as dlopen gives it */
  cublasLtHandle_t handle;
  char version[24];
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
#undef MEMBER
} cublaslt;

/* These are products of one shape. */
typedef struct {
  const cublaslt *lt;
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulHeuristicResult_t proposals[PROPOSALS];
  int count, chosen; /* of the proposals */
  int integers;      /* sums are i32, and so are the numbers that they are multiplied with */
} cublaslt_plan;

/* Goes from cuBLASLt's status to macko's; `what` says what was being done. */
static macko_status check(const cublaslt *lt, cublasStatus_t status, const char *what, macko_error *err)
{
  if (status == CUBLAS_STATUS_SUCCESS) return MACKO_OK;
  const macko_status s = status == CUBLAS_STATUS_ALLOC_FAILED ? MACKO_OUT_OF_MEMORY
                         : status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_ARCH_MISMATCH ||
                             status == CUBLAS_STATUS_INVALID_VALUE ? MACKO_UNSUPPORTED : MACKO_DEVICE;
  return macko_fail(err, s, "%s: cuBLASLt says: %s", what, lt->cublasLtGetStatusString(status));
}

/* ---- the library ---- */

static void close_library(void *library)
{
  cublaslt *lt = library;
  if (lt->handle) lt->cublasLtDestroy(lt->handle);
  if (lt->library) dlclose(lt->library);
  free(lt);
}

/* Opens the library of the header's major version and finds its functions. It stays in memory when it is closed: CUDA does not like
 * the code of kernels to go. */
static macko_status load(cublaslt *lt, const char *file, macko_error *err)
{
  lt->library = dlopen(file ? file : "libcublasLt.so." TEXT(CUBLAS_VER_MAJOR), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!lt->library) return macko_fail(err, MACKO_UNSUPPORTED, "cuBLASLt cannot be opened: %.300s", dlerror());
#define FIND(name) \
  if (!(*(void **)&lt->name = dlsym(lt->library, #name))) \
    return macko_fail(err, MACKO_UNSUPPORTED, "cuBLASLt has no function " #name);
  FUNCTIONS(FIND)
#undef FIND
  return MACKO_OK;
}

static macko_status open_library(const char *file, void **library, macko_error *err)
{
  cublaslt *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a handle of cuBLASLt");
  macko_status s = load(fresh, file, err);
  if (!s) s = check(fresh, fresh->cublasLtCreate(&fresh->handle), "starting cuBLASLt", err);
  if (!s) {
    const size_t version = fresh->cublasLtGetVersion();
    snprintf(fresh->version, sizeof fresh->version, "%zu.%zu.%zu", version / 10000, version / 100 % 100, version % 100);
    *library = fresh;
  } else close_library(fresh);
  return s;
}

static const char *version_of(const void *library)
{
  const cublaslt *lt = library;
  return lt->version;
}

/* The dense matrix is multiplied as it is. */
static macko_status pack(const void *library, const macko_tensor_shape *shape, void **dense, void **packed, int64_t *bytes,
                         cudaStream_t stream, macko_error *err)
{
  const int64_t operand = shape->operands == CUDA_R_16F || shape->operands == CUDA_R_16BF ? 2 : 1;
  (void)library;
  *packed = *dense, *dense = NULL, *bytes = shape->rows * shape->k * operand;
  return macko_cuda_status(cudaStreamSynchronize(stream), "making the dense matrix", err);
}

/* ---- plans ---- */

static void plan_free(void *plan)
{
  cublaslt_plan *p = plan;
  if (p->a) p->lt->cublasLtMatrixLayoutDestroy(p->a);
  if (p->b) p->lt->cublasLtMatrixLayoutDestroy(p->b);
  if (p->d) p->lt->cublasLtMatrixLayoutDestroy(p->d);
  if (p->product) p->lt->cublasLtMatmulDescDestroy(p->product);
  free(p);
}

/* Describes A, B, D and the product. Rows of A are columns to cuBLASLt, which counts by columns, so that both operands go along k,
 * the order that it asks for with operands of 8 bits. */
static macko_status describe(cublaslt_plan *p, const macko_tensor_shape *shape, int64_t n, macko_error *err)
{
  const cublaslt *lt = p->lt;
  const cublasOperation_t transposed = CUBLAS_OP_T;
  const uint64_t rows = (uint64_t)shape->rows, k = (uint64_t)shape->k;
  macko_status s = check(lt, lt->cublasLtMatmulDescCreate(&p->product, p->integers ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F,
                                                          p->integers ? CUDA_R_32I : CUDA_R_32F), "describing the product", err);
  if (!s)
    s = check(lt, lt->cublasLtMatmulDescSetAttribute(p->product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
              "describing the product", err);
  if (!s) s = check(lt, lt->cublasLtMatrixLayoutCreate(&p->a, shape->operands, k, rows, shape->k), "describing the matrix", err);
  if (!s) s = check(lt, lt->cublasLtMatrixLayoutCreate(&p->b, shape->operands, k, (uint64_t)n, shape->k), "describing X", err);
  if (!s) s = check(lt, lt->cublasLtMatrixLayoutCreate(&p->d, shape->result, rows, (uint64_t)n, shape->rows), "describing Y", err);
  return s;
}

/* Asks for algorithms, the ones that cuBLASLt thinks fastest first. */
static macko_status propose(cublaslt_plan *p, macko_error *err)
{
  const cublaslt *lt = p->lt;
  const size_t work = WORK;
  cublasLtMatmulPreference_t preference = NULL;
  macko_status s = check(lt, lt->cublasLtMatmulPreferenceCreate(&preference), "choosing an algorithm", err);
  if (s) return s;
  s = check(lt, lt->cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &work, sizeof work),
            "choosing an algorithm", err);
  if (!s)
    s = check(lt, lt->cublasLtMatmulAlgoGetHeuristic(lt->handle, p->product, p->a, p->b, p->d, p->d, preference, PROPOSALS,
                                                     p->proposals, &p->count), "choosing an algorithm", err);
  lt->cublasLtMatmulPreferenceDestroy(preference);
  if (!s && !p->count) s = macko_fail(err, MACKO_UNSUPPORTED, "cuBLASLt has no algorithm for the product");
  return s;
}

static macko_status plan_new(const void *library, const macko_tensor_shape *shape, int64_t n, int64_t algorithm, void **plan,
                             macko_error *err)
{
  cublaslt_plan *p = calloc(1, sizeof *p);
  if (!p) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a plan of cuBLASLt");
  p->lt = library, p->integers = shape->operands == CUDA_R_8I;
  macko_status s = describe(p, shape, n, err);
  if (!s) s = propose(p, err);
  if (!s && algorithm >= p->count)
    s = macko_fail(err, MACKO_INVALID_ARGUMENT, "algorithm is %lld of cuBLASLt's, which has %d for the product",
                   (long long)algorithm, p->count);
  if (s) return plan_free(p), s;
  p->chosen = algorithm < 0 ? 0 : (int)algorithm;
  *plan = p;
  return MACKO_OK;
}

static macko_status multiply(const void *plan, const void *a, const void *b, void *d, void *work, cudaStream_t stream,
                             macko_error *err)
{
  const cublaslt_plan *p = plan;
  const cublasLtMatmulHeuristicResult_t *chosen = &p->proposals[p->chosen];
  const float one = 1, zero = 0;
  const int32_t whole = 1, nothing = 0;
  return check(p->lt, p->lt->cublasLtMatmul(p->lt->handle, p->product, p->integers ? (const void *)&whole : &one, a, p->a, b, p->b,
                                            p->integers ? (const void *)&nothing : &zero, d, p->d, d, p->d, &chosen->algo, work,
                                            chosen->workspaceSize, stream), "starting a product", err);
}

/* Sets *ms to the shortest of a few products by the chosen algorithm, the first of which is not counted: it loads the kernel. */
static macko_status time_chosen(const cublaslt_plan *p, const void *a, const void *b, void *d, void *work,
                                const cudaEvent_t *events, cudaStream_t stream, float *ms)
{
  macko_status s = MACKO_OK;
  *ms = 1e30f;
  for (int i = 0; !s && i <= TRIES; i++) {
    float time = 0;
    cudaEventRecord(events[0], stream);
    s = multiply(p, a, b, d, work, stream, NULL);
    cudaEventRecord(events[1], stream);
    if (!s) s = macko_cuda_status(cudaEventSynchronize(events[1]), "trying algorithms", NULL);
    if (!s) s = macko_cuda_status(cudaEventElapsedTime(&time, events[0], events[1]), "trying algorithms", NULL);
    if (i && time < *ms) *ms = time;
  }
  return s;
}

/* An algorithm that fails is passed over. */
static macko_status search(void *plan, const void *a, const void *b, void *d, cudaStream_t stream, macko_error *err)
{
  cublaslt_plan *p = plan;
  cudaEvent_t events[2] = {NULL, NULL};
  void *work = NULL;
  int best = -1;
  float fastest = 1e30f;
  macko_status s = macko_device_alloc(WORK, "trying algorithms", &work, err);
  for (int i = 0; !s && i < 2; i++) s = macko_cuda_status(cudaEventCreate(&events[i]), "trying algorithms", err);
  for (int i = 0; !s && i < p->count; i++) {
    float ms;
    p->chosen = i;
    if (!time_chosen(p, a, b, d, work, events, stream, &ms) && ms < fastest) best = i, fastest = ms;
  }
  if (!s && best < 0) s = macko_fail(err, MACKO_UNSUPPORTED, "none of cuBLASLt's %d algorithms can be run", p->count);
  p->chosen = best < 0 ? 0 : best;
  for (int i = 0; i < 2; i++)
    if (events[i]) cudaEventDestroy(events[i]);
  cudaFree(work);
  return s;
}

static macko_status algorithm_of(const void *plan, int64_t *algorithm, macko_error *err)
{
  const cublaslt_plan *p = plan;
  (void)err;
  *algorithm = p->chosen;
  return MACKO_OK;
}

static macko_status work_of(const void *plan, int64_t *bytes, macko_error *err)
{
  const cublaslt_plan *p = plan;
  (void)err;
  *bytes = (int64_t)p->proposals[p->chosen].workspaceSize;
  return MACKO_OK;
}

const macko_tensor_library macko_cublaslt = {.name = "cuBLASLt",
                                             .open = open_library,
                                             .close = close_library,
                                             .version = version_of,
                                             .pack = pack,
                                             .plan_new = plan_new,
                                             .plan_free = plan_free,
                                             .search = search,
                                             .algorithm = algorithm_of,
                                             .work = work_of,
                                             .multiply = multiply};
