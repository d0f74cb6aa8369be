/* Y = A X for format slide: arguments checked, what is planned kept, and which of the two ways multiplies. */
#include "slide/slide_matmul.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These are the products of up to n columns, a multiple of 32, that are planned. */
typedef struct shape {
  struct shape *next;
  int64_t n, work_bytes;
  macko_tensor_plan *tensor; /* NULL: the kernel multiplies */
  char reason[512];
} shape;

struct macko_matmul {
  const macko_device_matrix *d; /* the caller's, which outlives this */
  macko_matmul_options options;
  macko_tensor *tensor; /* NULL: the kernel multiplies */
  char reason[512];
  shape *shapes;     /* a list of what is planned */
};

/* Says whether X and Y may have that type. */
static int is_float(macko_type type)
{
  return type == MACKO_F64 || type == MACKO_F32 || type == MACKO_F16 || type == MACKO_BF16;
}

void macko_matmul_options_init(macko_matmul_options *options)
{
  *options = (macko_matmul_options){MACKO_MATMUL_AUTO, MACKO_OPERANDS_EXACT, MACKO_F16, MACKO_F16, NULL};
}

/* Every field that is a choice must be one. */
static macko_status check_options(const macko_matmul_options *o, macko_error *err)
{
  if ((unsigned)o->path >= MACKO_MATMUL_PATHS)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "path is %d, none of auto, kernel and tensor", (int)o->path);
  if ((unsigned)o->operands >= MACKO_OPERANDS_COUNT)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "operands are %d, none of exact, f16, bf16, i8 and e4m3", (int)o->operands);
  if (!is_float(o->x_type) || !is_float(o->y_type))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "X of type %d and Y of type %d: each is one of f64, f32, f16 and bf16",
                      (int)o->x_type, (int)o->y_type);
  return MACKO_OK;
}

/* Decides which of the two ways multiplies, and says why in m->reason. That tensor cores cannot is no error unless they were
 * asked for. */
static macko_status choose_path(macko_matmul *m, cudaStream_t stream, macko_error *err)
{
  macko_error why = {MACKO_OK, ""};
  if (m->options.path == MACKO_MATMUL_KERNEL) {
    snprintf(m->reason, sizeof m->reason, "the kernel for any GPU, as asked for");
    return MACKO_OK;
  }
  macko_status s = macko_tensor_open(m->d, &m->options, stream, &m->tensor, &why);
  if (s && (m->options.path == MACKO_MATMUL_TENSOR || s != MACKO_UNSUPPORTED))
    return macko_fail(err, s, "no sparse tensor cores: %.480s", why.text);
  if (s) snprintf(m->reason, sizeof m->reason, "the kernel for any GPU: %.480s", why.text);
  else
    snprintf(m->reason, sizeof m->reason, "sparse tensor cores through cuSPARSELt %s, operands %s, %lld rows of X lifted to %lld",
             macko_tensor_version(m->tensor), macko_tensor_operands(m->tensor), (long long)m->d->m.ncols,
             (long long)macko_tensor_lifted(m->tensor));
  return MACKO_OK;
}

/* The path to the library is used here only and not kept. */
macko_status macko_matmul_open(const macko_device_matrix *device, const macko_matmul_options *options, cudaStream_t stream,
                               macko_matmul **matmul, macko_error *err)
{
  macko_matmul_options o;
  macko_matmul_options_init(&o);
  if (options) o = *options;
  if (!device || !matmul) return macko_fail(err, MACKO_INVALID_ARGUMENT, "device and matmul must not be NULL");
  macko_status s = check_options(&o, err);
  if (!s) s = macko_check_device(device, err);
  if (s) return s;
  if (device->m.format != MACKO_FORMAT_SLIDE)
    return macko_fail(err, MACKO_UNSUPPORTED, "format %s has no product with many columns: encode to slide, or use macko_device_multiply",
                      macko_format_name(device->m.format));
  macko_matmul *m = calloc(1, sizeof *m);
  if (!m) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matmul of %zu bytes", sizeof *m);
  m->d = device, m->options = o;
  s = choose_path(m, stream, err);
  m->options.library = NULL; /* the caller's */
  if (s) macko_matmul_close(&m);
  else *matmul = m;
  return s;
}

/* ---- plans ---- */

/* Gives what is planned for n columns, or for as many more as tensor cores take for n; NULL if nothing is. */
static shape *find_shape(const macko_matmul *m, int64_t n)
{
  shape *s = m->shapes;
  while (s && s->n != macko_lift_padded(n)) s = s->next;
  return s;
}

/* Plans products of s->n columns. Where tensor cores have no algorithm for these the kernel takes them, unless that was ruled
 * out. */
static macko_status plan_shape(const macko_matmul *m, int64_t algorithm, cudaStream_t stream, shape *s, macko_error *err)
{
  macko_error why = {MACKO_OK, ""};
  macko_status status = m->tensor ? macko_tensor_plan_new(m->tensor, s->n, algorithm, stream, &s->tensor, &why) : MACKO_OK;
  if (status && (m->options.path == MACKO_MATMUL_TENSOR || status != MACKO_UNSUPPORTED))
    return macko_fail(err, status, "no sparse tensor cores for %lld columns: %.400s", (long long)s->n, why.text);
  if (status) snprintf(s->reason, sizeof s->reason, "the kernel for any GPU: for %lld columns %.400s", (long long)s->n, why.text);
  else snprintf(s->reason, sizeof s->reason, "%s", m->reason);
  s->work_bytes = s->tensor ? macko_tensor_plan_work(s->tensor) : macko_slide_kernel_work(m->d, m->options.x_type, s->n);
  return MACKO_OK;
}

/* A shape is added to the list only once it is complete. */
macko_status macko_matmul_plan(macko_matmul *matmul, int64_t n, int64_t algorithm, cudaStream_t stream, macko_error *err)
{
  if (!matmul) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matmul must not be NULL");
  if (n < 1 || n > INT32_MAX)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "n is %lld, not a count of columns from 1 to %d", (long long)n, INT32_MAX);
  if (algorithm < -1) return macko_fail(err, MACKO_INVALID_ARGUMENT, "algorithm is %lld, not -1 or one that was named", (long long)algorithm);
  macko_status s = macko_check_device(matmul->d, err);
  if (s || find_shape(matmul, n)) return s;
  shape *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the plan of a product");
  fresh->n = macko_lift_padded(n);
  s = plan_shape(matmul, algorithm, stream, fresh, err);
  if (s) return free(fresh), s;
  fresh->next = matmul->shapes, matmul->shapes = fresh;
  return MACKO_OK;
}

/* Without a plan for n it answers by the way that the matmul was opened with. */
void macko_matmul_get_info(const macko_matmul *matmul, int64_t n, macko_matmul_info *info)
{
  const shape *s = find_shape(matmul, n);
  const int tensor = s ? s->tensor != NULL : matmul->tensor != NULL;
  *info = (macko_matmul_info){.path = tensor ? MACKO_MATMUL_TENSOR : MACKO_MATMUL_KERNEL,
                              .reason = s ? s->reason : matmul->reason,
                              .nrows = matmul->d->m.nrows,
                              .ncols = matmul->d->m.ncols,
                              .lifted = tensor ? macko_tensor_lifted(matmul->tensor) : 0,
                              .bytes = matmul->tensor ? macko_tensor_bytes(matmul->tensor) : 0,
                              .work_bytes = s ? s->work_bytes : -1,
                              .algorithm = s && s->tensor ? macko_tensor_plan_algorithm(s->tensor) : -1};
}

/* The matmul is freed on its own device, which need not be the current one. Products may still be running, and are waited for. */
void macko_matmul_close(macko_matmul **matmul)
{
  if (!matmul || !*matmul) return;
  macko_matmul *m = *matmul;
  int current = m->d->device;
  cudaGetDevice(&current);
  if (current != m->d->device) cudaSetDevice(m->d->device);
  cudaDeviceSynchronize();
  for (shape *s = m->shapes, *next; s; s = next) {
    next = s->next;
    macko_tensor_plan_free(&s->tensor);
    free(s);
  }
  if (m->tensor) macko_tensor_close(&m->tensor);
  if (current != m->d->device) cudaSetDevice(current);
  free(m);
  *matmul = NULL;
}

/* ---- products ---- */

/* Checks everything that can be checked without looking at device memory. */
static macko_status check_product(const macko_matmul *m, const macko_dense_product *p, int64_t work_bytes, macko_error *err)
{
  const shape *s = p->n > 0 ? find_shape(m, p->n) : NULL;
  if (!s) return macko_fail(err, MACKO_INVALID_ARGUMENT, "a product of %lld columns is not planned: macko_matmul_plan", (long long)p->n);
  if (p->ldx < m->d->m.ncols || p->ldy < m->d->m.nrows)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "ldx %lld and ldy %lld must be at least %lld and %lld", (long long)p->ldx,
                      (long long)p->ldy, (long long)m->d->m.ncols, (long long)m->d->m.nrows);
  if ((m->d->m.ncols && !p->x) || (m->d->m.nrows && !p->y)) return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y must not be NULL");
  if (work_bytes < s->work_bytes || (s->work_bytes && !p->work))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "a product of %lld columns needs %lld bytes of work, not %lld", (long long)p->n,
                      (long long)s->work_bytes, p->work ? (long long)work_bytes : 0LL);
  if ((uintptr_t)p->work % MACKO_SECTION_ALIGN)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "work must begin at a multiple of %d bytes", MACKO_SECTION_ALIGN);
  return MACKO_OK;
}

/* A matrix without rows has no Y, and no columns are no product: nothing is started then. */
macko_status macko_device_matmul(const macko_matmul *matmul, int64_t n, const void *x, int64_t ldx, const float *bias, void *y,
                                 int64_t ldy, void *work, int64_t work_bytes, cudaStream_t stream, macko_error *err)
{
  if (!matmul) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matmul must not be NULL");
  const macko_dense_product p = {n, x, ldx, matmul->options.x_type, bias, y, ldy, matmul->options.y_type, work};
  macko_status s = n ? check_product(matmul, &p, work_bytes, err) : MACKO_OK;
  if (!s) s = macko_check_device(matmul->d, err);
  if (s || n == 0 || matmul->d->m.nrows == 0) return s;
  const shape *planned = find_shape(matmul, n);
  if (planned->tensor) return macko_tensor_multiply(matmul->tensor, planned->tensor, &p, stream, err);
  return macko_cuda_status(macko_slide_kernel(matmul->d, &p, stream), "starting a product", err);
}
