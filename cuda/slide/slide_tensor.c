/* Y = A X for format slide on tensor cores: whether they can, A packed for the library that drives them, and a product in three
 * steps: X lifted (and rounded), the library's product, and Y scaled back. Sparse ones take A with its windows side by side, a 2:4
 * matrix; A as a dense matrix is multiplied in the same steps, with an X that is not lifted. */
#include "slide/slide_matmul.h"
#include "slide/slide_params.h"
#include "slide/tensor_library.h"

#include <math.h>
#include <stdlib.h>

/* This is A made ready for tensor cores. */
struct macko_tensor {
  const macko_device_matrix *d;
  macko_operands operands;
  const macko_tensor_library *calls;
  void *library; /* opened */
  macko_tensor_shape shape;
  int block;       /* half the columns of a block of A whose windows overlap; 2: A is 2:4, or dense */
  macko_type sums; /* what the library writes */
  void *packed;    /* A in the library's form, device memory */
  float *scales;   /* of rows; NULL without */
  double *checks;  /* sums over the rows of A, by which products are checked */
  float largest;   /* magnitude of an operand of A */
  int64_t bytes;   /* of packed, scales and checks */
};

/* These are the products of n columns, and how their work is divided. */
struct macko_tensor_plan {
  const macko_tensor *t;
  int64_t n, algorithm;
  void *plan; /* the library's */
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
const char *macko_tensor_version(const macko_tensor *t) { return t->calls->version(t->library); }
const char *macko_tensor_operands(const macko_tensor *t) { return operand_names[t->operands]; }
int64_t macko_tensor_plan_work(const macko_tensor_plan *plan) { return plan->bytes; }
int64_t macko_tensor_plan_algorithm(const macko_tensor_plan *plan) { return plan->algorithm; }

/* ---- whether they can ---- */

/* Sets *operands to what is multiplied. EXACT means that nothing is rounded, so that values and X must be of one type that
 * tensor cores take. */
static macko_status choose_operands(const macko_matrix *m, const macko_matmul_options *o, macko_operands *operands,
                                    macko_error *err)
{
  *operands = o->operands;
  if (*operands == MACKO_OPERANDS_EXACT) {
    if (m->value_type != o->x_type || (o->x_type != MACKO_F16 && o->x_type != MACKO_BF16))
      return macko_fail(err, MACKO_UNSUPPORTED, "tensor cores multiply f16 with f16 or bf16 with bf16, and values are %s and X is "
                        "%s; operands say what to round to", macko_type_name(m->value_type), macko_type_name(o->x_type));
    *operands = o->x_type == MACKO_F16 ? MACKO_OPERANDS_F16 : MACKO_OPERANDS_BF16;
  }
  if (o->x_type == MACKO_F64 || o->y_type == MACKO_F64)
    return macko_fail(err, MACKO_UNSUPPORTED, "tensor cores do not multiply vectors of f64");
  if (operand_bytes(*operands) == 2 && o->y_type != (*operands == MACKO_OPERANDS_F16 ? MACKO_F16 : MACKO_BF16))
    return macko_fail(err, MACKO_UNSUPPORTED, "tensor cores give %s from operands %s, not %s", operand_names[*operands],
                      operand_names[*operands], macko_type_name(o->y_type));
  return MACKO_OK;
}

/* Refuses what tensor cores cannot multiply: nothing at all, sizes that the libraries count in 32 bits, and for sparse ones entries
 * beside the windows. */
static macko_status check_matrix(const macko_matrix *m, macko_matmul_path path, macko_error *err)
{
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  if (m->nrows == 0 || m->ncols == 0) return macko_fail(err, MACKO_UNSUPPORTED, "the matrix is empty");
  if (c->rest && path == MACKO_MATMUL_TENSOR)
    return macko_fail(err, MACKO_UNSUPPORTED,
                      "%lld entries lie beside the windows, in %lld blocks that have more than %lld of %lld", (long long)c->rest,
                      (long long)c->broken, 2 * (long long)c->n - 2, 2 * (long long)c->n);
  if (macko_lift_columns(m->ncols, (int)c->n) > INT32_MAX || m->nrows > INT32_MAX - MACKO_LIFT_STEP)
    return macko_fail(err, MACKO_UNSUPPORTED, "%lld x %lld is more than tensor cores take once it is lifted", (long long)m->nrows,
                      (long long)m->ncols);
  return MACKO_OK;
}

/* Sparse tensor cores, and dense ones for all that is multiplied, came with one generation of GPUs, those for e4m3 with a later
 * one. */
static macko_status check_gpu(int device, macko_operands operands, macko_error *err)
{
  int major = 0, minor = 0, least = operands == MACKO_OPERANDS_E4M3 ? 89 : 80;
  cudaError_t e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (!e) e = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (e) return macko_cuda_status(e, "asking for the compute capability", err);
  if (10 * major + minor >= least) return MACKO_OK;
  return macko_fail(err, MACKO_UNSUPPORTED, "tensor cores for operands %s come with compute capability %d.%d, and GPU %d has %d.%d",
                    operand_names[operands], least / 10, least % 10, device, major, minor);
}

/* ---- A ---- */

/* Keeps what products are checked by: sums over the rows of A, and the largest magnitude. */
static macko_status sum_rows(macko_tensor *t, const macko_operand_matrix *a, cudaStream_t stream, macko_error *err)
{
  const int64_t bytes = (t->shape.k + 1) * (int64_t)sizeof *t->checks; /* the largest is behind the sums */
  void *memory = NULL;
  macko_status s = macko_device_alloc(bytes, "sums over rows", &memory, err);
  if (s) return s;
  t->checks = memory, t->bytes += bytes;
  unsigned *largest = (unsigned *)(t->checks + t->shape.k);
  s = macko_cuda_status(macko_slide_sum_rows(t->operands, a, t->checks, largest, stream), "summing rows", err);
  if (!s)
    s = macko_cuda_status(cudaMemcpyAsync(&t->largest, largest, sizeof t->largest, cudaMemcpyDeviceToHost, stream), "summing rows",
                          err);
  return s ? s : macko_cuda_status(cudaStreamSynchronize(stream), "summing rows", err);
}

/* Makes A a dense matrix, lifted or not, and has the library pack it. What is not packed is needed for that only, but the stream
 * must have passed before it is freed. */
static macko_status pack(macko_tensor *t, int lifts, cudaStream_t stream, macko_error *err)
{
  macko_operand_matrix to = {.lifts = lifts, .rows = t->shape.rows, .width = t->shape.k};
  void *scales = NULL;
  int64_t bytes = 0;
  macko_status s = macko_device_alloc(to.rows * to.width * operand_bytes(t->operands), "the lifted matrix", &to.data, err);
  if (!s && operand_bytes(t->operands) == 1) {
    s = macko_device_alloc(to.rows * (int64_t)sizeof *t->scales, "scales of rows", &scales, err);
    to.scales = t->scales = scales, t->bytes = to.rows * (int64_t)sizeof *t->scales;
  }
  if (!s) s = macko_cuda_status(macko_slide_expand(t->d, t->operands, &to, stream), "lifting the matrix", err);
  if (!s) s = sum_rows(t, &to, stream, err);
  if (!s) s = t->calls->pack(t->library, &t->shape, &to.data, &t->packed, &bytes, stream, err);
  t->bytes += bytes;
  if (to.data) cudaStreamSynchronize(stream), cudaFree(to.data);
  return s;
}

/* Decides what sums the library writes. Where Y has 2 bytes an element, so have they: for operands of i8 f16, times a power of two
 * that keeps the largest below 65504 and, as the matrix has fewer than 2^16 columns, the smallest normal, so that sums keep 11
 * bits; for e4m3, whose numbers have 4, bf16, which nothing overflows. cuBLASLt gives i32 of i8. */
static void choose_sums(macko_tensor *t, macko_matmul_path path, macko_type y_type)
{
  const int halves = y_type != MACKO_F32;
  t->shape.alpha = 1;
  switch (t->operands) {
  case MACKO_OPERANDS_I8:
    t->sums = halves && path == MACKO_MATMUL_TENSOR && t->shape.k <= 1 << 16 ? MACKO_F16 : MACKO_I32;
    /* k / 2 products of at most 2^14 are 2^13 k */
    if (t->sums == MACKO_F16) t->shape.alpha = (float)ldexp(1, -(int)fmax(0, ceil(log2((double)t->shape.k)) - 2));
    break;
  case MACKO_OPERANDS_E4M3: t->sums = halves ? MACKO_BF16 : MACKO_F32; break;
  case MACKO_OPERANDS_BF16: t->sums = MACKO_BF16; break;
  default: t->sums = MACKO_F16;
  }
  t->shape.result = t->sums == MACKO_I32 ? CUDA_R_32I : t->sums == MACKO_F32 ? CUDA_R_32F
                                                                             : t->sums == MACKO_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

/* What is asked for is checked before the library is opened, so that the reason is the same where there is none. */
macko_status macko_tensor_open(const macko_device_matrix *d, macko_matmul_path path, const macko_matmul_options *options,
                               cudaStream_t stream, macko_tensor **tensor, macko_error *err)
{
  static const cudaDataType types[] = {CUDA_R_16F, CUDA_R_16F, CUDA_R_16BF, CUDA_R_8I, CUDA_R_8F_E4M3};
  const int sparse = path == MACKO_MATMUL_TENSOR;
  macko_operands operands;
  macko_status s = choose_operands(&d->m, options, &operands, err);
  if (!s) s = check_matrix(&d->m, path, err);
  if (!s) s = check_gpu(d->device, operands, err);
  if (s) return s;
  macko_tensor *t = calloc(1, sizeof *t);
  if (!t) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a product on tensor cores");
  t->d = d, t->operands = operands, t->calls = sparse ? &macko_cusparselt : &macko_cublaslt;
  t->block = sparse ? (int)macko_slide_counts_of(&d->m.plan)->n : 2;
  t->shape.rows = macko_lift_padded(d->m.nrows), t->shape.k = macko_lift_columns(d->m.ncols, t->block);
  t->shape.operands = types[operands];
  choose_sums(t, path, options->y_type);
  s = t->calls->open(sparse ? options->library : NULL, &t->library, err);
  if (!s) s = pack(t, sparse, stream, err);
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
  cudaFree(t->checks);
  if (t->library) t->calls->close(t->library);
  free(t);
  *tensor = NULL;
}

/* ---- plans ---- */

/* Divides the work of a product: X lifted, scales of its columns for operands of 8 bits, sums, and what the library needs. */
static void place(const macko_tensor *t, macko_tensor_plan *p)
{
  p->scales = macko_aligned(p->n * t->shape.k * operand_bytes(t->operands));
  p->sums = p->scales + (operand_bytes(t->operands) == 1 ? macko_aligned(p->n * (int64_t)sizeof(float)) : 0);
  p->work = p->sums + macko_aligned(p->n * t->shape.rows * macko_type_bytes(t->sums));
}

/* Has the library try its algorithms in memory of its own. Every byte there is 0x3c, 60 for i8 and not 0 in any type, because a
 * GPU that multiplies zeros runs at other clocks. */
static macko_status try_algorithms(const macko_tensor *t, macko_tensor_plan *p, cudaStream_t stream, macko_error *err)
{
  void *scratch = NULL;
  macko_status s = macko_device_alloc(p->work, "trying algorithms", &scratch, err);
  if (!s) s = macko_cuda_status(cudaMemsetAsync(scratch, 0x3c, (size_t)p->work, stream), "trying algorithms", err);
  if (!s) s = t->calls->search(p->plan, t->packed, scratch, (char *)scratch + p->sums, stream, err);
  const macko_status done = macko_cuda_status(cudaStreamSynchronize(stream), "trying algorithms", s ? NULL : err);
  cudaFree(scratch);
  return s ? s : done;
}

/* Gives what the operands of B are scaled by so that no product overflows f16, a power of two that leaves them operands; 1 for
 * operands of 8 bits, which need none. */
static float scale_of_b(const macko_tensor *t)
{
  const int least = t->operands == MACKO_OPERANDS_F16 ? -22 : -120;
  const int bits = t->largest > 0 ? 12 - (int)ceil(log2((double)t->largest) + log2((double)t->shape.k)) : 0;
  return operand_bytes(t->operands) == 1 ? 1 : (float)ldexp(1, bits < least ? least : bits > 13 ? 13 : bits);
}

/* Gives by how much a sum over the rows of a product may be wrong, in parts of the length of what is summed: integers not at all,
 * what f16 and bf16 round by sixteen times, and e4m3 by more, because the sums of tensor cores have but 14 bits there. */
static double most_wrong(const macko_tensor *t)
{
  if (t->sums == MACKO_I32) return 0x1p-30;
  return t->operands == MACKO_OPERANDS_E4M3 ? 0x1p-3 : t->sums == MACKO_BF16 ? 0x1p-4 : 0x1p-7;
}

/* Looks at what was found of n columns: the length of what is summed is taken of all columns together, as in one of them large
 * numbers may cancel. */
static macko_status judge(const macko_tensor *t, const double2 *found, int64_t n, macko_error *err)
{
  int64_t worst = 0;
  double squares = 0;
  for (int64_t j = 0; j < n; j++) {
    squares += found[j].y;
    if (!(found[j].x <= found[worst].x)) worst = j; /* NaN is worst */
  }
  const double length = sqrt(squares / (double)n);
  if (found[worst].x <= most_wrong(t) * length) return MACKO_OK;
  return macko_fail(err, MACKO_UNSUPPORTED,
                    "%s %s multiplies wrong here: a sum over column %lld of %lld is off by %.2g of its length", t->calls->name,
                    macko_tensor_version(t), (long long)worst, (long long)n, found[worst].x / length);
}

/* Multiplies once with a B that is known, in `work` as a product has it, and sets found to what that is off by in each column. */
static macko_status try_product(const macko_tensor_plan *p, char *work, double2 *differences, double2 *found, cudaStream_t stream,
                                macko_error *err)
{
  const macko_tensor *t = p->t;
  const macko_sums product = {t->sums, t->shape.rows, work + p->sums, NULL, NULL, 1 / t->shape.alpha};
  const float scale = scale_of_b(t);
  macko_status s = macko_cuda_status(macko_slide_fill(t->operands, p->n * t->shape.k, scale, work, stream), "checking a product",
                                     err);
  if (!s)
    s = t->calls->multiply(p->plan, t->packed, work, work + p->sums, p->bytes > p->work ? work + p->work : NULL, stream, err);
  if (!s)
    s = macko_cuda_status(macko_slide_compare(t->checks, t->shape.k, scale, &product, p->n, differences, stream),
                          "checking a product", err);
  if (!s)
    s = macko_cuda_status(cudaMemcpyAsync(found, differences, (size_t)p->n * sizeof *found, cudaMemcpyDeviceToHost, stream),
                          "checking a product", err);
  const macko_status done = macko_cuda_status(cudaStreamSynchronize(stream), "checking a product", s ? NULL : err);
  return s ? s : done;
}

/* Checks all columns of a product: libraries that are opened when the program runs may be any, and this costs less than to try one
 * algorithm. A that is not finite cannot be checked so. */
static macko_status check_product(const macko_tensor_plan *p, cudaStream_t stream, macko_error *err)
{
  void *work = NULL, *differences = NULL;
  if (!(p->t->largest - p->t->largest == 0)) return MACKO_OK;
  double2 *found = malloc((size_t)p->n * sizeof *found);
  if (!found) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to check a product of %lld columns", (long long)p->n);
  macko_status s = macko_device_alloc(p->bytes, "checking a product", &work, err);
  if (!s) s = macko_device_alloc(p->n * (int64_t)sizeof *found, "checking a product", &differences, err);
  if (!s) s = try_product(p, work, differences, found, stream, err);
  if (!s) s = judge(p->t, found, p->n, err);
  cudaFree(work), cudaFree(differences);
  free(found);
  return s;
}

/* Blocks of threads that lift X or scale Y are numbered in 31 bits in a launch. */
macko_status macko_tensor_plan_new(const macko_tensor *t, int64_t n, int64_t algorithm, cudaStream_t stream,
                                   macko_tensor_plan **plan, macko_error *err)
{
  macko_tensor_plan *p = NULL;
  int64_t work = 0;
  const int64_t largest = t->shape.k > t->shape.rows ? t->shape.k : t->shape.rows;
  if (n * (largest / 256 + 1) > INT32_MAX) /* blocks of threads that lift X or scale Y */
    return macko_fail(err, MACKO_UNSUPPORTED, "%lld columns of %lld elements are more than one launch of a kernel lifts",
                      (long long)n, (long long)largest);
  p = calloc(1, sizeof *p);
  if (!p) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the plan of a product");
  p->t = t, p->n = n;
  place(t, p);
  macko_status s = t->calls->plan_new(t->library, &t->shape, n, algorithm, &p->plan, err);
  if (!s && algorithm < 0) s = try_algorithms(t, p, stream, err);
  if (!s) s = t->calls->algorithm(p->plan, &p->algorithm, err);
  if (!s) s = t->calls->work(p->plan, &work, err);
  p->bytes = p->work + macko_aligned(work);
  if (!s) s = check_product(p, stream, err);
  if (s) macko_tensor_plan_free(&p);
  else *plan = p;
  return s;
}

void macko_tensor_plan_free(macko_tensor_plan **plan)
{
  if (!*plan) return;
  if ((*plan)->plan) (*plan)->t->calls->plan_free((*plan)->plan);
  free(*plan);
  *plan = NULL;
}

/* ---- products ---- */

/* Says whether the library can write Y itself, which saves a pass over it: in its type, without a bias, and in a Y of the shape
 * that was planned. */
static int writes_y(const macko_tensor_plan *plan, const macko_dense_product *p)
{
  const macko_tensor *t = plan->t;
  return !t->scales && !p->bias && t->d->m.nrows == t->shape.rows && p->n == plan->n && p->ldy == t->shape.rows &&
         (uintptr_t)p->y % 16 == 0;
}

/* Says whether it can read X as it is, which saves another: operands are of its type, nothing is repeated, and X has the shape. */
static int reads_x(const macko_tensor_plan *plan, const macko_dense_product *p)
{
  const macko_tensor *t = plan->t;
  return t->block == 2 && p->x_type == (t->operands == MACKO_OPERANDS_F16 ? MACKO_F16 : MACKO_BF16) && !t->scales &&
         t->d->m.ncols == t->shape.k && p->n == plan->n && p->ldx == t->shape.k && (uintptr_t)p->x % 16 == 0;
}

macko_status macko_tensor_multiply(const macko_tensor_plan *plan, const macko_dense_product *p, cudaStream_t stream,
                                   macko_error *err)
{
  const macko_tensor *t = plan->t;
  char *work = p->work;
  float *scales = (float *)(work + plan->scales);
  const void *x = reads_x(plan, p) ? p->x : work;
  void *sums = writes_y(plan, p) ? p->y : work + plan->sums;
  const macko_lifted_x lifted = {t->block, t->d->m.ncols, plan->n, t->shape.k, scales, work};
  const macko_sums from = {t->sums, t->shape.rows, sums, t->scales, scales, 1 / t->shape.alpha};
  macko_status s = MACKO_OK;
  if (x == work) s = macko_cuda_status(macko_slide_lift(t->operands, p, &lifted, stream), "lifting X", err);
  if (!s)
    s = t->calls->multiply(plan->plan, t->packed, x, sums, plan->bytes > plan->work ? work + plan->work : NULL, stream, err);
  if (s || sums == p->y) return s;
  return macko_cuda_status(macko_slide_back(p, t->d->m.nrows, &from, stream), "scaling a product", err);
}
