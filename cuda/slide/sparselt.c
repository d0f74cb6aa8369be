/* cuSPARSELt opened when the program runs. What is declared here is the part of its C interface (cusparseLt.h) that is called:
 * so the library is built the same way whether its header is there or not, and a structure that a version makes larger or
 * smaller fits, as cuSPARSELt is given pointers to its structures only. */
#include "slide/tensor_library.h"

#include <cusparse.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* This is a structure of its own: 512 bytes in 0.10, 11024 in the first versions, at 16 bytes. */
typedef struct {
  _Alignas(16) unsigned char data[16384];
} opaque;

/* This is how much memory behind the packed matrix may be read. */
enum { BEYOND = 64 << 10 };

/* These are the numbers of its enumerations that are used, the oldest version that is right on an H100, and what descriptions
 * of matrices promise as alignment in bytes. */
enum { HALF_OF_FOUR = 0, COMPUTE_32I = 0, COMPUTE_32F = 2, ALGORITHM_DEFAULT = 0, OLDEST = 801, ALIGNMENT = 16 };
enum { CONFIG_ID = 0, SPLIT_K = 3, SPLIT_K_MODE = 4 };

#define FUNCTIONS(f) \
  f(init, Init, (opaque *)) \
  f(destroy, Destroy, (const opaque *)) \
  f(version, GetVersion, (const opaque *, int *)) \
  f(dense, DenseDescriptorInit, (const opaque *, opaque *, int64_t, int64_t, int64_t, uint32_t, cudaDataType, cusparseOrder_t)) \
  f(structured, StructuredDescriptorInit, \
    (const opaque *, opaque *, int64_t, int64_t, int64_t, uint32_t, cudaDataType, cusparseOrder_t, int)) \
  f(descriptor_destroy, MatDescriptorDestroy, (const opaque *)) \
  f(matmul_init, MatmulDescriptorInit, (const opaque *, opaque *, cusparseOperation_t, cusparseOperation_t, const opaque *, \
                                        const opaque *, const opaque *, const opaque *, int)) \
  f(algorithm_init, MatmulAlgSelectionInit, (const opaque *, opaque *, const opaque *, int)) \
  f(algorithm_set, MatmulAlgSetAttribute, (const opaque *, opaque *, int, const void *, size_t)) \
  f(algorithm_get, MatmulAlgGetAttribute, (const opaque *, const opaque *, int, void *, size_t)) \
  f(workspace, MatmulGetWorkspace, (const opaque *, const opaque *, size_t *)) \
  f(plan_init, MatmulPlanInit, (const opaque *, opaque *, const opaque *, const opaque *)) \
  f(plan_destroy, MatmulPlanDestroy, (const opaque *)) \
  f(matmul, Matmul, (const opaque *, const opaque *, const void *, const void *, const void *, const void *, const void *, void *, \
                     void *, cudaStream_t *, int32_t)) \
  f(search, MatmulSearch, (const opaque *, opaque *, const void *, const void *, const void *, const void *, const void *, void *, \
                           void *, cudaStream_t *, int32_t)) \
  f(prune_check, SpMMAPruneCheck2, (const opaque *, const opaque *, int, cusparseOperation_t, const void *, int *, cudaStream_t)) \
  f(compressed_size, SpMMACompressedSize2, (const opaque *, const opaque *, size_t *, size_t *)) \
  f(compress, SpMMACompress2, (const opaque *, const opaque *, int, cusparseOperation_t, const void *, void *, void *, \
                               cudaStream_t))

/* This is cuSPARSELt opened: its handle, and its functions by name. */
typedef struct {
  void *library;    /* as dlopen gives it */
  int is_open;      /* the handle is started and to be destroyed */
  char version[16];
  opaque handle;
  const char *(*error)(cusparseStatus_t);
  cusparseStatus_t (*algorithm_destroy)(const opaque *); /* NULL in versions that have nothing to free */
  struct {
#define MEMBER(name, symbol, arguments) cusparseStatus_t (*name) arguments;
    FUNCTIONS(MEMBER)
#undef MEMBER
  } call;
} sparselt;

/* A plan of cuSPARSELt points to what it was made of, so that all of it stays where it is until the plan is freed. */
typedef struct {
  const sparselt *lt;
  float alpha;
  int descriptors, has_algorithm, has_plan; /* what is to be destroyed */
  opaque matrices[3], matmul, algorithm, plan;
} sparselt_plan;

/* Goes from cuSPARSELt's status to macko's. What it does not support becomes UNSUPPORTED, and so does what it calls an invalid
 * value; `what` says what was being done. */
static macko_status check(const sparselt *lt, cusparseStatus_t status, const char *what, macko_error *err)
{
  if (status == CUSPARSE_STATUS_SUCCESS) return MACKO_OK;
  const macko_status s = status == CUSPARSE_STATUS_ALLOC_FAILED ? MACKO_OUT_OF_MEMORY
                         : status == CUSPARSE_STATUS_NOT_SUPPORTED || status == CUSPARSE_STATUS_ARCH_MISMATCH ||
                             status == CUSPARSE_STATUS_INVALID_VALUE ? MACKO_UNSUPPORTED : MACKO_DEVICE;
  return macko_fail(err, s, "%s: cuSPARSELt says: %s", what, lt->error(status));
}

/* ---- the library ---- */

/* Opens the library, which stays in memory when it is closed: CUDA does not like the code of kernels to go. */
static void *open_file(const char *library)
{
  static const char name[] = "libcusparseLt.so.0";
  const int flags = RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE;
  char path[4096];
  struct stat facts;
  if (!library) return dlopen(name, flags);
  if (!stat(library, &facts) && S_ISDIR(facts.st_mode)) {
    if (snprintf(path, sizeof path, "%s/%s", library, name) >= (int)sizeof path) return NULL;
    library = path;
  }
  return dlopen(library, flags);
}

/* Sets a pointer to a function to the address of cusparseLt<symbol>; 0 where the library has none. */
static int find(void *library, const char *symbol, void *function)
{
  char name[64];
  snprintf(name, sizeof name, "cusparseLt%s", symbol);
  void *found = dlsym(library, name);
  *(void **)function = found;
  return found != NULL;
}

/* Opens the library and finds all of its functions, of which only that for freeing algorithms may be missing. */
static macko_status load(sparselt *lt, const char *library, macko_error *err)
{
  if (!(lt->library = open_file(library))) {
    const char *why = dlerror();
    return macko_fail(err, MACKO_UNSUPPORTED, "cuSPARSELt cannot be opened: %.300s", why ? why : "its path is too long");
  }
  if (!find(lt->library, "GetErrorString", &lt->error))
    return macko_fail(err, MACKO_UNSUPPORTED, "cuSPARSELt has no function cusparseLtGetErrorString");
  find(lt->library, "MatmulAlgSelectionDestroy", &lt->algorithm_destroy);
#define FIND(name, symbol, arguments) \
  if (!find(lt->library, #symbol, &lt->call.name)) \
    return macko_fail(err, MACKO_UNSUPPORTED, "cuSPARSELt has no function cusparseLt" #symbol);
  FUNCTIONS(FIND)
#undef FIND
  return MACKO_OK;
}

/* Starts the library and checks its version, whose number is, as cusparseLt.h of 0.10 has it, 1000000 times the major version
 * plus 100 times the minor one plus the patch: 801 for 0.8.1, 1000 for 0.10.0. Older headers had 1000 times the major version,
 * which was 0 in all of them. */
static macko_status start(sparselt *lt, macko_error *err)
{
  int version = 0;
  macko_status s = check(lt, lt->call.init(&lt->handle), "starting cuSPARSELt", err);
  if (s) return s;
  lt->is_open = 1;
  s = check(lt, lt->call.version(&lt->handle, &version), "asking cuSPARSELt for its version", err);
  if (s) return s;
  snprintf(lt->version, sizeof lt->version, "%d.%d.%d", version / 1000000, version / 100 % 10000, version % 100);
  if (version < OLDEST)
    return macko_fail(err, MACKO_UNSUPPORTED, "cuSPARSELt is %s, and 0.8.1 or newer is needed", lt->version);
  return MACKO_OK;
}

static void close_library(void *library)
{
  sparselt *lt = library;
  if (lt->is_open) lt->call.destroy(&lt->handle);
  if (lt->library) dlclose(lt->library);
  free(lt);
}

static macko_status open_library(const char *file, void **library, macko_error *err)
{
  sparselt *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a handle of cuSPARSELt");
  macko_status s = load(fresh, file, err);
  if (!s) s = start(fresh, err);
  if (s) close_library(fresh);
  else *library = fresh;
  return s;
}

static const char *version_of(const void *library)
{
  const sparselt *lt = library;
  return lt->version;
}

/* ---- the form of A ---- */

/* Describes A to cuSPARSELt as a 2:4 matrix by rows. */
static macko_status describe(const sparselt *lt, const macko_tensor_shape *shape, opaque *a, macko_error *err)
{
  return check(lt, lt->call.structured(&lt->handle, a, shape->rows, shape->k, shape->k, ALIGNMENT, shape->operands,
                                       CUSPARSE_ORDER_ROW, HALF_OF_FOUR), "describing the 2:4 matrix", err);
}

/* Fails with CORRUPT unless the dense matrix is 2:4. valid points to device memory for the answer, of which 0 says that it is. */
static macko_status check_pruned(const sparselt *lt, const opaque *a, const void *dense, int *valid, cudaStream_t stream,
                                 macko_error *err)
{
  int broken = 0;
  macko_status s = check(lt, lt->call.prune_check(&lt->handle, a, 1, CUSPARSE_OPERATION_NON_TRANSPOSE, dense, valid, stream),
                         "checking the 2:4 matrix", err);
  if (!s)
    s = macko_cuda_status(cudaMemcpyAsync(&broken, valid, sizeof broken, cudaMemcpyDeviceToHost, stream), "checking the 2:4 matrix",
                          err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(stream), "checking the 2:4 matrix", err);
  if (!s && broken)
    s = macko_fail(err, MACKO_CORRUPT, "cuSPARSELt finds more than two entries of four columns in the lifted windows");
  return s;
}

/* The answer of the check goes to the scratch memory of packing, which is not yet in use then. Behind the packed matrix there is
 * room to read, because kernels of cuSPARSELt load whole tiles, up to some KB beyond the size that it asks for (compute-sanitizer,
 * 0.10.0). */
static macko_status pack(const void *library, const macko_tensor_shape *shape, void **dense, void **packed, int64_t *bytes,
                         cudaStream_t stream, macko_error *err)
{
  const sparselt *lt = library;
  opaque *a = calloc(1, sizeof *a);
  size_t size = 0, scratch_size = 0;
  void *result = NULL, *scratch = NULL;
  if (!a) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a description of the 2:4 matrix");
  macko_status s = describe(lt, shape, a, err);
  if (s) return free(a), s;
  s = check(lt, lt->call.compressed_size(&lt->handle, a, &size, &scratch_size), "asking how large the 2:4 matrix is", err);
  if (!s) s = macko_device_alloc((int64_t)scratch_size + 256, "packing the 2:4 matrix", &scratch, err);
  if (!s) s = check_pruned(lt, a, *dense, scratch, stream, err);
  if (!s) s = macko_device_alloc((int64_t)size + BEYOND, "the 2:4 matrix", &result, err);
  if (!s) s = macko_cuda_status(cudaMemsetAsync((char *)result + size, 0, BEYOND, stream), "the 2:4 matrix", err);
  if (!s)
    s = check(lt, lt->call.compress(&lt->handle, a, 1, CUSPARSE_OPERATION_NON_TRANSPOSE, *dense, result, scratch, stream),
              "packing the 2:4 matrix", err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(stream), "packing the 2:4 matrix", err);
  lt->call.descriptor_destroy(a);
  free(a);
  cudaFree(scratch);
  if (s) cudaFree(result);
  else *packed = result, *bytes = (int64_t)size + BEYOND;
  return s;
}

/* ---- plans ---- */

/* Sets an algorithm: its number, how often it splits k, and how, in 16, 8 and 8 bits of `algorithm`. */
static macko_status set_algorithm(sparselt_plan *p, int64_t algorithm, macko_error *err)
{
  const opaque *handle = &p->lt->handle;
  int id = (int)(algorithm & 0xffff), split = (int8_t)(algorithm >> 16 & 0xff), mode = (int)(algorithm >> 24 & 0xff);
  macko_status s = check(p->lt, p->lt->call.algorithm_set(handle, &p->algorithm, CONFIG_ID, &id, sizeof id),
                         "choosing an algorithm", err);
  if (s || split == 1) return s;
  s = check(p->lt, p->lt->call.algorithm_set(handle, &p->algorithm, SPLIT_K, &split, sizeof split), "choosing an algorithm", err);
  if (!s)
    s = check(p->lt, p->lt->call.algorithm_set(handle, &p->algorithm, SPLIT_K_MODE, &mode, sizeof mode), "choosing an algorithm",
              err);
  return s;
}

/* How k is split is asked only where it is. */
static macko_status algorithm_of(const void *plan, int64_t *algorithm, macko_error *err)
{
  const sparselt_plan *p = plan;
  const opaque *handle = &p->lt->handle;
  int id = 0, split = 1, mode = 0;
  macko_status s = check(p->lt, p->lt->call.algorithm_get(handle, &p->algorithm, CONFIG_ID, &id, sizeof id), "reading an algorithm",
                         err);
  if (!s)
    s = check(p->lt, p->lt->call.algorithm_get(handle, &p->algorithm, SPLIT_K, &split, sizeof split), "reading an algorithm", err);
  if (!s && split != 1)
    s = check(p->lt, p->lt->call.algorithm_get(handle, &p->algorithm, SPLIT_K_MODE, &mode, sizeof mode), "reading an algorithm",
              err);
  if (!s) *algorithm = (id & 0xffff) | (split & 0xff) << 16 | (int64_t)(mode & 0xff) << 24;
  return s;
}

/* Describes A, B, D and the product. B has a column of X after the other, each of k elements: rows of its transpose, which is
 * what cuSPARSELt is told. descriptors counts what freeing must destroy. */
static macko_status describe_all(sparselt_plan *p, const macko_tensor_shape *shape, int64_t n, macko_error *err)
{
  const sparselt *lt = p->lt;
  macko_status s = describe(lt, shape, &p->matrices[0], err);
  if (s) return s;
  p->descriptors = 1;
  s = check(lt, lt->call.dense(&lt->handle, &p->matrices[1], n, shape->k, shape->k, ALIGNMENT, shape->operands, CUSPARSE_ORDER_ROW),
            "describing X", err);
  if (s) return s;
  p->descriptors = 2;
  s = check(lt,
            lt->call.dense(&lt->handle, &p->matrices[2], shape->rows, n, shape->rows, ALIGNMENT, shape->result, CUSPARSE_ORDER_COL),
            "describing Y", err);
  if (s) return s;
  p->descriptors = 3;
  return check(lt, lt->call.matmul_init(&lt->handle, &p->matmul, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE,
                                        &p->matrices[0], &p->matrices[1], &p->matrices[2], &p->matrices[2],
                                        shape->operands == CUDA_R_8I ? COMPUTE_32I : COMPUTE_32F), "describing the product", err);
}

/* Chooses an algorithm and plans with it. */
static macko_status make_plan(sparselt_plan *p, int64_t algorithm, macko_error *err)
{
  const sparselt *lt = p->lt;
  macko_status s = check(lt, lt->call.algorithm_init(&lt->handle, &p->algorithm, &p->matmul, ALGORITHM_DEFAULT),
                         "choosing an algorithm", err);
  if (s) return s;
  p->has_algorithm = 1;
  if (algorithm >= 0) s = set_algorithm(p, algorithm, err);
  if (!s) s = check(lt, lt->call.plan_init(&lt->handle, &p->plan, &p->matmul, &p->algorithm), "planning a product", err);
  p->has_plan = !s;
  return s;
}

static void plan_free(void *plan)
{
  sparselt_plan *p = plan;
  if (p->has_plan) p->lt->call.plan_destroy(&p->plan);
  if (p->has_algorithm && p->lt->algorithm_destroy) p->lt->algorithm_destroy(&p->algorithm);
  for (int i = 0; i < p->descriptors; i++) p->lt->call.descriptor_destroy(&p->matrices[i]);
  free(p);
}

static macko_status plan_new(const void *library, const macko_tensor_shape *shape, int64_t n, int64_t algorithm, void **plan,
                             macko_error *err)
{
  sparselt_plan *p = calloc(1, sizeof *p);
  if (!p) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a plan of cuSPARSELt");
  p->lt = library, p->alpha = shape->alpha;
  macko_status s = describe_all(p, shape, n, err);
  if (!s) s = make_plan(p, algorithm, err);
  if (s) plan_free(p);
  else *plan = p;
  return s;
}

static macko_status search(void *plan, const void *a, const void *b, void *d, cudaStream_t stream, macko_error *err)
{
  sparselt_plan *p = plan;
  const float zero = 0;
  return check(p->lt, p->lt->call.search(&p->lt->handle, &p->plan, &p->alpha, a, b, &zero, d, d, NULL, &stream, 1),
               "trying algorithms", err);
}

static macko_status work_of(const void *plan, int64_t *bytes, macko_error *err)
{
  const sparselt_plan *p = plan;
  size_t size = 0;
  macko_status s = check(p->lt, p->lt->call.workspace(&p->lt->handle, &p->plan, &size), "asking for work space", err);
  if (!s) *bytes = (int64_t)size;
  return s;
}

static macko_status multiply(const void *plan, const void *a, const void *b, void *d, void *work, cudaStream_t stream,
                             macko_error *err)
{
  const sparselt_plan *p = plan;
  const float zero = 0;
  return check(p->lt, p->lt->call.matmul(&p->lt->handle, &p->plan, &p->alpha, a, b, &zero, d, d, work, &stream, 1),
               "starting a product", err);
}

const macko_tensor_library macko_cusparselt = {.name = "cuSPARSELt",
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
