/* Y = A X for format slide on sparse tensor cores: whether they can, A packed for cuSPARSELt, and a product in three steps: X
 * lifted (and rounded), cuSPARSELt's product of the lifted matrices, and Y scaled back. */
#include "slide/slide_matmul.h"
#include "slide/slide_params.h"
#include "slide/sparselt.h"

#include <stdlib.h>

/* This is A made ready for sparse tensor cores. */
struct macko_tensor {
  const macko_device_matrix *d;
  macko_operands operands;
  macko_sparselt *lt;
  macko_sparselt_shape shape;
  void *packed;  /* A in cuSPARSELt's form, device memory */
  float *scales; /* of rows; NULL without */
  int64_t bytes; /* of packed and scales */
};

/* These are the products of n columns, and how their work is divided. */
struct macko_tensor_plan {
  int64_t n, algorithm;
  macko_sparselt_plan *plan;
  int64_t scales, sums, work, bytes; /* where they begin behind the lifted X, in bytes, and how much it is in all */
};

static const char *const operand_names[] = {"exact", "f16", "bf16", "i8", "e4m3"};

/* Gives the number of bytes of an operand. */
static int operand_bytes(macko_operands operands)
{
  return operands == MACKO_OPERANDS_F16 || operands == MACKO_OPERANDS_BF16 ? 2 : 1;
}

int64_t macko_tensor_bytes(const macko_tensor *t) { return t->bytes; }
int64_t macko_tensor_lifted(const macko_tensor *t) { return t->shape.k; }
const char *macko_tensor_version(const macko_tensor *t) { return macko_sparselt_version(t->lt); }
const char *macko_tensor_operands(const macko_tensor *t) { return operand_names[t->operands]; }
int64_t macko_tensor_plan_work(const macko_tensor_plan *plan) { return plan->bytes; }
int64_t macko_tensor_plan_algorithm(const macko_tensor_plan *plan) { return plan->algorithm; }

/* ---- whether they can ---- */

/* Sets *operands to what is multiplied. EXACT means that nothing is rounded, so that values and X must be of one type that
 * tensor cores take. */
static macko_status choose_operands(const macko_matrix *m, const macko_matmul_options *o, macko_operands *operands, macko_error *err)
{
  *operands = o->operands;
  if (*operands == MACKO_OPERANDS_EXACT) {
    if (m->value_type != o->x_type || (o->x_type != MACKO_F16 && o->x_type != MACKO_BF16))
      return macko_fail(err, MACKO_UNSUPPORTED, "tensor cores multiply f16 with f16 or bf16 with bf16, and values are %s and X is %s; "
                        "operands say what to round to", macko_type_name(m->value_type), macko_type_name(o->x_type));
    *operands = o->x_type == MACKO_F16 ? MACKO_OPERANDS_F16 : MACKO_OPERANDS_BF16;
  }
  if (o->x_type == MACKO_F64 || o->y_type == MACKO_F64)
    return macko_fail(err, MACKO_UNSUPPORTED, "tensor cores do not multiply vectors of f64");
  if (operand_bytes(*operands) == 2 && o->y_type != (*operands == MACKO_OPERANDS_F16 ? MACKO_F16 : MACKO_BF16))
    return macko_fail(err, MACKO_UNSUPPORTED, "cuSPARSELt gives %s from operands %s, not %s", operand_names[*operands],
                      operand_names[*operands], macko_type_name(o->y_type));
  return MACKO_OK;
}

/* Refuses what tensor cores cannot multiply: nothing at all, entries beside the windows, and sizes that cuSPARSELt counts in 32
 * bits. */
static macko_status check_matrix(const macko_matrix *m, macko_error *err)
{
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  if (m->nrows == 0 || m->ncols == 0) return macko_fail(err, MACKO_UNSUPPORTED, "the matrix is empty");
  if (c->rest)
    return macko_fail(err, MACKO_UNSUPPORTED, "%lld entries lie beside the windows, in %lld blocks that have more than %lld of %lld",
                      (long long)c->rest, (long long)c->broken, 2 * (long long)c->n - 2, 2 * (long long)c->n);
  if (macko_lift_columns(m->ncols, (int)c->n) > INT32_MAX || m->nrows > INT32_MAX - MACKO_LIFT_STEP)
    return macko_fail(err, MACKO_UNSUPPORTED, "%lld x %lld is more than cuSPARSELt takes once it is lifted", (long long)m->nrows,
                      (long long)m->ncols);
  return MACKO_OK;
}

/* Sparse tensor cores came with one generation of GPUs, those for e4m3 with a later one. */
static macko_status check_gpu(int device, macko_operands operands, macko_error *err)
{
  int major = 0, minor = 0, least = operands == MACKO_OPERANDS_E4M3 ? 89 : 80;
  cudaError_t e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (!e) e = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (e) return macko_cuda_status(e, "asking for the compute capability", err);
  if (10 * major + minor >= least) return MACKO_OK;
  return macko_fail(err, MACKO_UNSUPPORTED, "sparse tensor cores for operands %s come with compute capability %d.%d, and GPU %d has %d.%d",
                    operand_names[operands], least / 10, least % 10, device, major, minor);
}

/* ---- A ---- */

/* Lifts A to a dense matrix and has cuSPARSELt pack it. The dense matrix is needed for that only, but the stream must have
 * passed before it is freed. */
static macko_status pack(macko_tensor *t, cudaStream_t stream, macko_error *err)
{
  const int64_t dense_bytes = t->shape.rows * t->shape.k * operand_bytes(t->operands);
  void *dense = NULL, *scales = NULL;
  int64_t bytes = 0;
  macko_status s = macko_device_alloc(dense_bytes, "the lifted matrix", &dense, err);
  if (!s && operand_bytes(t->operands) == 1) {
    s = macko_device_alloc(t->shape.rows * (int64_t)sizeof *t->scales, "scales of rows", &scales, err);
    t->scales = scales, t->bytes = t->shape.rows * (int64_t)sizeof *t->scales;
  }
  if (!s)
    s = macko_cuda_status(macko_slide_expand(t->d, t->operands, t->shape.rows, t->shape.k, t->scales, dense, stream),
                          "lifting the matrix", err);
  if (!s) s = macko_sparselt_compress(t->lt, &t->shape, dense, &t->packed, &bytes, stream, err);
  t->bytes += bytes;
  if (dense) cudaStreamSynchronize(stream), cudaFree(dense);
  return s;
}

/* What is asked for is checked before the library is opened, so that the reason is the same where there is none. */
macko_status macko_tensor_open(const macko_device_matrix *d, const macko_matmul_options *options, cudaStream_t stream,
                               macko_tensor **tensor, macko_error *err)
{
  static const cudaDataType types[] = {CUDA_R_16F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_8I, CUDA_R_8F_E4M3};
  static const cudaDataType results[] = {CUDA_R_16F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_32I, CUDA_R_32F};
  macko_operands operands;
  macko_status s = choose_operands(&d->m, options, &operands, err);
  if (!s) s = check_matrix(&d->m, err);
  if (!s) s = check_gpu(d->device, operands, err);
  if (s) return s;
  macko_tensor *t = calloc(1, sizeof *t);
  if (!t) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a product on tensor cores");
  t->d = d, t->operands = operands;
  t->shape = (macko_sparselt_shape){macko_lift_padded(d->m.nrows),
                                    macko_lift_columns(d->m.ncols, (int)macko_slide_counts_of(&d->m.plan)->n), types[operands],
                                    results[operands]};
  s = macko_sparselt_open(options->library, &t->lt, err);
  if (!s) s = pack(t, stream, err);
  if (s) macko_tensor_close(&t);
  else *tensor = t;
  return s;
}

void macko_tensor_close(macko_tensor **tensor)
{
  macko_tensor *t = *tensor;
  if (!t) return;
  cudaFree(t->packed);
  cudaFree(t->scales);
  if (t->lt) macko_sparselt_close(&t->lt);
  free(t);
  *tensor = NULL;
}

/* ---- plans ---- */

/* Rounds up to a multiple at which arrays of the work begin. */
static int64_t aligned(int64_t bytes)
{
  return (bytes + MACKO_SECTION_ALIGN - 1) / MACKO_SECTION_ALIGN * MACKO_SECTION_ALIGN;
}

/* Divides the work of a product: X lifted, scales of its columns for operands of 8 bits, sums, and what cuSPARSELt needs. */
static void place(const macko_tensor *t, macko_tensor_plan *p)
{
  p->scales = aligned(p->n * t->shape.k * operand_bytes(t->operands));
  p->sums = p->scales + (operand_bytes(t->operands) == 1 ? aligned(p->n * (int64_t)sizeof(float)) : 0);
  p->work = p->sums + aligned(p->n * t->shape.rows * (operand_bytes(t->operands) == 2 ? 2 : 4));
}

/* Has cuSPARSELt try its algorithms in memory of its own. Every byte there is 0x3c, 60 for i8 and not 0 in any type, because a
 * GPU that multiplies zeros runs at other clocks. */
static macko_status try_algorithms(const macko_tensor *t, macko_tensor_plan *p, cudaStream_t stream, macko_error *err)
{
  void *scratch = NULL;
  macko_status s = macko_device_alloc(p->work, "trying algorithms", &scratch, err);
  if (!s) s = macko_cuda_status(cudaMemsetAsync(scratch, 0x3c, (size_t)p->work, stream), "trying algorithms", err);
  if (!s) s = macko_sparselt_search(p->plan, t->packed, scratch, (char *)scratch + p->sums, stream, err);
  const macko_status done = macko_cuda_status(cudaStreamSynchronize(stream), "trying algorithms", s ? NULL : err);
  cudaFree(scratch);
  return s ? s : done;
}

/* Blocks of threads that lift X or scale Y are numbered in 31 bits in a launch. */
macko_status macko_tensor_plan_new(const macko_tensor *t, int64_t n, int64_t algorithm, cudaStream_t stream, macko_tensor_plan **plan,
                                   macko_error *err)
{
  macko_tensor_plan *p = NULL;
  int64_t work = 0;
  const int64_t largest = t->shape.k > t->shape.rows ? t->shape.k : t->shape.rows;
  if (n * (largest / 256 + 1) > INT32_MAX) /* blocks of threads that lift X or scale Y */
    return macko_fail(err, MACKO_UNSUPPORTED, "%lld columns of %lld elements are more than one launch of a kernel lifts", (long long)n,
                      (long long)largest);
  p = calloc(1, sizeof *p);
  if (!p) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the plan of a product");
  p->n = n;
  place(t, p);
  macko_status s = macko_sparselt_plan_new(t->lt, &t->shape, n, algorithm, &p->plan, err);
  if (!s && algorithm < 0) s = try_algorithms(t, p, stream, err);
  if (!s) s = macko_sparselt_algorithm(p->plan, &p->algorithm, err);
  if (!s) s = macko_sparselt_work(p->plan, &work, err);
  p->bytes = p->work + aligned(work);
  if (s) macko_tensor_plan_free(&p);
  else *plan = p;
  return s;
}

void macko_tensor_plan_free(macko_tensor_plan **plan)
{
  if (!*plan) return;
  macko_sparselt_plan_free(&(*plan)->plan);
  free(*plan);
  *plan = NULL;
}

/* ---- products ---- */

/* Says whether cuSPARSELt can write Y itself, which saves a pass over it: in its type, without a bias, and in a Y of the shape
 * that was planned. */
static int fits(const macko_tensor *t, const macko_tensor_plan *plan, const macko_dense_product *p)
{
  return operand_bytes(t->operands) == 2 && !p->bias && t->d->m.nrows == t->shape.rows && p->n == plan->n && p->ldy == t->shape.rows &&
         (uintptr_t)p->y % 16 == 0;
}

macko_status macko_tensor_multiply(const macko_tensor *t, const macko_tensor_plan *plan, const macko_dense_product *p,
                                   cudaStream_t stream, macko_error *err)
{
  char *work = p->work;
  float *scales = (float *)(work + plan->scales);
  void *sums = fits(t, plan, p) ? p->y : work + plan->sums;
  macko_status s = macko_cuda_status(macko_slide_lift(t->d, t->operands, p, plan->n, t->shape.k, scales, work, stream), "lifting X", err);
  if (!s)
    s = macko_sparselt_multiply(plan->plan, t->packed, work, sums, plan->bytes > plan->work ? work + plan->work : NULL, stream, err);
  if (s || sums == p->y) return s;
  return macko_cuda_status(macko_slide_back(t->operands, p, t->d->m.nrows, t->shape.rows, t->scales, scales, sums, stream),
                           "scaling a product", err);
}
