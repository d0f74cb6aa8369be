/* Y = A X for format slide: arguments checked, what is planned kept, and which form of A multiplies. */
#include "slide/slide_matmul.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  REASON = 600,        /* bytes of a reason */
  FORMS = 3,           /* kernel, sparse and dense tensor cores */
  KERNEL_COLUMNS = 128 /* more columns are never multiplied fastest by the kernel, which takes so many at a time */
};

/* An algorithm of cuBLASLt's has this bit set, so that its number says which library it is of. */
#define DENSE_ALGORITHM ((int64_t)1 << 40)

/* These are the products of up to n columns, a multiple of 32, that are planned. */
typedef struct shape {
  struct shape *next;
  int64_t n, work_bytes;
  macko_matmul_form form;
  char reason[REASON];
} shape;

struct macko_matmul {
  const macko_device_matrix *d; /* the caller's, which outlives this */
  macko_matmul_options options;
  macko_tensor *sparse, *dense; /* forms for tensor cores; NULL: not there. The dense one is kept only while a shape takes it */
  char reason[REASON];          /* why the kernel multiplies, or no sparse form; empty where one does */
  char first[REASON];           /* which form multiplies where nothing is planned */
  shape *shapes;                /* a list of what is planned */
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
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "path is %d, none of auto, kernel, tensor and dense", (int)o->path);
  if ((unsigned)o->operands >= MACKO_OPERANDS_COUNT)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "operands are %d, none of exact, f16, bf16, i8 and e4m3", (int)o->operands);
  if (!is_float(o->x_type) || !is_float(o->y_type))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "X of type %d and Y of type %d: each is one of f64, f32, f16 and bf16",
                      (int)o->x_type, (int)o->y_type);
  return MACKO_OK;
}

/* Makes the form that was asked for ready, which must work. With AUTO the sparse one is tried, and m->reason says why it is not
 * there; the dense one waits until something is planned. */
static macko_status open_forms(macko_matmul *m, cudaStream_t stream, macko_error *err)
{
  macko_error why = {0};
  macko_status s = MACKO_OK;
  switch (m->options.path) {
  case MACKO_MATMUL_KERNEL: snprintf(m->reason, sizeof m->reason, "as asked for"); return MACKO_OK;
  case MACKO_MATMUL_DENSE:
    s = macko_tensor_open(m->d, MACKO_MATMUL_DENSE, &m->options, stream, &m->dense, &why);
    return s ? macko_fail(err, s, "no dense tensor cores: %.480s", why.text) : MACKO_OK;
  default: s = macko_tensor_open(m->d, MACKO_MATMUL_TENSOR, &m->options, stream, &m->sparse, &why);
  }
  if (s && (m->options.path == MACKO_MATMUL_TENSOR || s != MACKO_UNSUPPORTED))
    return macko_fail(err, s, "no sparse tensor cores: %.480s", why.text);
  if (s) snprintf(m->reason, sizeof m->reason, "%.500s", why.text);
  return MACKO_OK;
}

/* Writes to `reason` which form multiplies; why_not says why it is no sparse one. */
static void say(const macko_matmul *m, macko_matmul_path path, const char *why_not, char *reason)
{
  if (path == MACKO_MATMUL_TENSOR)
    snprintf(reason, REASON, "sparse tensor cores through cuSPARSELt %s, operands %s, %lld rows of X lifted to %lld",
             macko_tensor_version(m->sparse), macko_tensor_operands(m->sparse), (long long)m->d->m.ncols,
             (long long)macko_tensor_lifted(m->sparse));
  else if (path == MACKO_MATMUL_DENSE)
    snprintf(reason, REASON, "dense tensor cores through cuBLASLt %s, operands %s%s%.400s", macko_tensor_version(m->dense),
             macko_tensor_operands(m->dense), *why_not ? ", not sparse ones: " : "", why_not);
  else snprintf(reason, REASON, "the kernel for any GPU: %.500s", why_not);
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
    return macko_fail(err, MACKO_UNSUPPORTED,
                      "format %s has no product with many columns: encode to slide, or use macko_device_multiply",
                      macko_format_name(device->m.format));
  macko_matmul *m = calloc(1, sizeof *m);
  if (!m) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matmul of %zu bytes", sizeof *m);
  m->d = device, m->options = o;
  s = open_forms(m, stream, err);
  if (s) return macko_matmul_close(&m), s;
  say(m, m->sparse ? MACKO_MATMUL_TENSOR : m->dense ? MACKO_MATMUL_DENSE : MACKO_MATMUL_KERNEL, m->reason, m->first);
  m->options.library = NULL; /* the caller's */
  *matmul = m;
  return MACKO_OK;
}

/* ---- plans ---- */

/* Gives what is planned for n columns, or for as many more as tensor cores take for n; NULL if nothing is. */
static shape *find_shape(const macko_matmul *m, int64_t n)
{
  shape *s = m->shapes;
  while (s && s->n != macko_lift_padded(n)) s = s->next;
  return s;
}

/* Gives the form with which a matmul of so many columns begins: that of the algorithm that is named, or that was asked for; AUTO
 * where all are to be tried. */
static macko_matmul_path form_of(const macko_matmul *m, int64_t algorithm)
{
  if (m->options.path != MACKO_MATMUL_AUTO || algorithm < 0) return m->options.path;
  return algorithm & DENSE_ALGORITHM ? MACKO_MATMUL_DENSE : m->sparse ? MACKO_MATMUL_TENSOR : MACKO_MATMUL_KERNEL;
}

/* Adds a form of tensor cores to those that can multiply; one that cannot is passed over, and *why says why. */
static macko_status add_form(macko_matmul *m, macko_matmul_path path, int64_t n, int64_t algorithm, cudaStream_t stream,
                             macko_matmul_form *forms, int *count, macko_error *why)
{
  macko_tensor **t = path == MACKO_MATMUL_DENSE ? &m->dense : &m->sparse;
  macko_status s = *t ? MACKO_OK : macko_tensor_open(m->d, path, &m->options, stream, t, why);
  if (!s)
    s = macko_tensor_plan_new(*t, n, algorithm < 0 ? -1 : algorithm & (DENSE_ALGORITHM - 1), stream, &forms[*count].plan, why);
  if (!s) forms[(*count)++].path = path;
  return s;
}

/* Sets *forms to what can multiply n columns, of which there is at least one where it answers MACKO_OK, and adds to why_not why
 * there is no sparse one. With AUTO a form that is not there, or has no memory to be there beside the others, is none. */
static macko_status find_forms(macko_matmul *m, int64_t n, int64_t algorithm, cudaStream_t stream, macko_matmul_form *forms,
                               int *count, char *why_not, macko_error *err)
{
  const macko_matmul_path path = form_of(m, algorithm);
  macko_error why = {0};
  macko_status s = MACKO_OK;
  if (path == MACKO_MATMUL_TENSOR || (path == MACKO_MATMUL_AUTO && m->sparse))
    s = add_form(m, MACKO_MATMUL_TENSOR, n, algorithm, stream, forms, count, &why);
  if (s && (m->options.path == MACKO_MATMUL_TENSOR || s != MACKO_UNSUPPORTED))
    return macko_fail(err, s, "no sparse tensor cores for %lld columns: %.400s", (long long)n, why.text);
  if (s) snprintf(why_not, REASON, "for %lld columns %.480s", (long long)n, why.text), s = MACKO_OK;
  if (path == MACKO_MATMUL_DENSE || path == MACKO_MATMUL_AUTO)
    s = add_form(m, MACKO_MATMUL_DENSE, n, algorithm, stream, forms, count, &why);
  if (s && (path == MACKO_MATMUL_DENSE || (s != MACKO_UNSUPPORTED && s != MACKO_OUT_OF_MEMORY)))
    return macko_fail(err, s, "no dense tensor cores for %lld columns: %.400s", (long long)n, why.text);
  if (path == MACKO_MATMUL_KERNEL || !*count || (path == MACKO_MATMUL_AUTO && n <= KERNEL_COLUMNS))
    forms[(*count)++].path = MACKO_MATMUL_KERNEL;
  return MACKO_OK;
}

/* Gives the bytes of work of a product of n columns by a form. */
static int64_t work_of(const macko_matmul *m, int64_t n, const macko_matmul_form *form)
{
  return form->plan ? macko_tensor_plan_work(form->plan) : macko_slide_kernel_work(m->d, m->options.x_type, n);
}

/* Adds the times of all forms to a reason, if they were timed. */
static void add_times(int64_t n, const macko_matmul_form *forms, int count, char *reason)
{
  static const char *const names[] = {"", "the kernel", "sparse", "dense"};
  size_t at = strlen(reason);
  if (count < 2 || !(forms[0].us > 0)) return;
  at += (size_t)snprintf(reason + at, REASON - at, "; %lld columns take us:", (long long)n);
  for (int i = 0; i < count && at < REASON; i++)
    at += (size_t)snprintf(reason + at, REASON - at, "%s %s %.1f", i ? "," : "", names[forms[i].path], forms[i].us);
}

/* The dense form is as large as a dense matrix, and is not kept for nothing. */
static void drop_unused(macko_matmul *m, const shape *planned)
{
  int used = m->options.path == MACKO_MATMUL_DENSE || planned->form.path == MACKO_MATMUL_DENSE;
  for (const shape *s = m->shapes; s; s = s->next) used |= s->form.path == MACKO_MATMUL_DENSE;
  if (!used && m->dense) macko_tensor_close(&m->dense);
}

/* Plans products of s->n columns by the form that is fastest. */
static macko_status plan_shape(macko_matmul *m, int64_t algorithm, cudaStream_t stream, shape *s, macko_error *err)
{
  macko_matmul_form forms[FORMS] = {{0}};
  int count = 0, best = 0;
  int64_t work = 0;
  char why_not[REASON];
  memcpy(why_not, m->reason, sizeof why_not);
  macko_status status = find_forms(m, s->n, algorithm, stream, forms, &count, why_not, err);
  for (int i = 0; i < count; i++) work = work_of(m, s->n, &forms[i]) > work ? work_of(m, s->n, &forms[i]) : work;
  if (!status) {
    best = macko_matmul_fastest(m->d, &m->options, s->n, work, forms, count, stream);
    s->form = forms[best], s->work_bytes = work_of(m, s->n, &s->form);
    say(m, s->form.path, why_not, s->reason);
    add_times(s->n, forms, count, s->reason);
  }
  for (int i = 0; i < FORMS; i++)
    if (status || i != best) macko_tensor_plan_free(&forms[i].plan);
  drop_unused(m, s);
  return status;
}

/* Refuses an algorithm of another library than that which was asked for. */
static macko_status check_algorithm(const macko_matmul *m, int64_t algorithm, macko_error *err)
{
  static const char *const names[] = {"auto", "kernel", "tensor", "dense"};
  const int is_dense = (algorithm & DENSE_ALGORITHM) != 0;
  if (algorithm < -1 || algorithm >= 2 * DENSE_ALGORITHM)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "algorithm is %lld, not -1 or one that was named", (long long)algorithm);
  if (algorithm < 0 || m->options.path == MACKO_MATMUL_AUTO ||
      m->options.path == (is_dense ? MACKO_MATMUL_DENSE : MACKO_MATMUL_TENSOR))
    return MACKO_OK;
  return macko_fail(err, MACKO_INVALID_ARGUMENT, "algorithm %lld is none of path %s", (long long)algorithm, names[m->options.path]);
}

/* A shape is added to the list only once it is complete. */
macko_status macko_matmul_plan(macko_matmul *matmul, int64_t n, int64_t algorithm, cudaStream_t stream, macko_error *err)
{
  if (!matmul) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matmul must not be NULL");
  if (n < 1 || n > INT32_MAX)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "n is %lld, not a count of columns from 1 to %d", (long long)n, INT32_MAX);
  macko_status s = check_algorithm(matmul, algorithm, err);
  if (!s) s = macko_check_device(matmul->d, err);
  if (s || find_shape(matmul, n)) return s;
  shape *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the plan of a product");
  fresh->n = macko_lift_padded(n);
  s = plan_shape(matmul, algorithm, stream, fresh, err);
  if (s) return free(fresh), s;
  fresh->next = matmul->shapes, matmul->shapes = fresh;
  return MACKO_OK;
}

/* Gives the number of the algorithm of a form; -1 for the kernel. */
static int64_t algorithm_of(const macko_matmul_form *form)
{
  if (!form->plan) return -1;
  return macko_tensor_plan_algorithm(form->plan) | (form->path == MACKO_MATMUL_DENSE ? DENSE_ALGORITHM : 0);
}

/* Without a plan for n it answers by what is ready without one. */
void macko_matmul_get_info(const macko_matmul *matmul, int64_t n, macko_matmul_info *info)
{
  const shape *s = find_shape(matmul, n);
  const macko_matmul_path ready = matmul->sparse ? MACKO_MATMUL_TENSOR
                                  : matmul->options.path == MACKO_MATMUL_DENSE ? MACKO_MATMUL_DENSE : MACKO_MATMUL_KERNEL;
  const macko_matmul_path path = s ? s->form.path : ready;
  const macko_tensor *t = path == MACKO_MATMUL_DENSE ? matmul->dense : path == MACKO_MATMUL_TENSOR ? matmul->sparse : NULL;
  *info = (macko_matmul_info){.path = path,
                              .reason = s ? s->reason : matmul->first,
                              .nrows = matmul->d->m.nrows,
                              .ncols = matmul->d->m.ncols,
                              .lifted = t ? macko_tensor_lifted(t) : 0,
                              .bytes = (matmul->sparse ? macko_tensor_bytes(matmul->sparse) : 0) +
                                       (matmul->dense ? macko_tensor_bytes(matmul->dense) : 0),
                              .work_bytes = s ? s->work_bytes : -1,
                              .algorithm = s ? algorithm_of(&s->form) : -1};
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
    macko_tensor_plan_free(&s->form.plan);
    free(s);
  }
  macko_tensor_close(&m->sparse);
  macko_tensor_close(&m->dense);
  if (current != m->d->device) cudaSetDevice(current);
  free(m);
  *matmul = NULL;
}

/* ---- products ---- */

/* Checks everything that can be checked without looking at device memory. */
static macko_status check_product(const macko_matmul *m, const macko_dense_product *p, int64_t work_bytes, macko_error *err)
{
  const shape *s = p->n > 0 ? find_shape(m, p->n) : NULL;
  if (!s)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "a product of %lld columns is not planned: macko_matmul_plan", (long long)p->n);
  if (p->ldx < m->d->m.ncols || p->ldy < m->d->m.nrows)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "ldx %lld and ldy %lld must be at least %lld and %lld", (long long)p->ldx,
                      (long long)p->ldy, (long long)m->d->m.ncols, (long long)m->d->m.nrows);
  if ((m->d->m.ncols && !p->x) || (m->d->m.nrows && !p->y))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y must not be NULL");
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
  if (planned->form.plan) return macko_tensor_multiply(planned->form.plan, &p, stream, err);
  return macko_cuda_status(macko_slide_kernel(matmul->d, &p, stream), "starting a product", err);
}
