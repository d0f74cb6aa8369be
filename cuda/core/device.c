/* The public functions on a device matrix: argument checks, then the format's own table. */
#include "core/device.h"
#include "core/encode.h"
#include "core/pattern.h"

#include <stdlib.h>
#include <string.h>

/* These are the tables of all formats by macko_format. Their addresses are weak, so that some are NULL. */
static const macko_device_ops *const device_ops[] = {
#define MACKO_FORMAT(symbol, name, text) &macko_##name##_device_ops,
#include "formats.def"
#undef MACKO_FORMAT
};

const macko_device_ops *macko_device_ops_of(macko_format format)
{
  return device_ops[format];
}

int macko_device_count(macko_error *err)
{
  int count = 0;
  macko_status s = macko_cuda_status(cudaGetDeviceCount(&count), "looking for GPUs", err);
  if (!s && count == 0) macko_fail(err, MACKO_DEVICE, "looking for GPUs: none is there");
  if (!s && count > 0) macko_know_current_gpu();
  return s ? 0 : count;
}

/* The device may be another one than the current, which is current again afterwards: a program may free matrices in any order. */
void macko_device_destroy(macko_device_matrix **device)
{
  if (!device || !*device) return;
  macko_device_matrix *d = *device;
  int current = d->device;
  macko_device_destroy(&d->transpose);
  cudaGetDevice(&current);
  if (current != d->device) cudaSetDevice(d->device);
  if (d->ops) d->ops->destroy(d);
  cudaFree(d->memory);
  if (current != d->device) cudaSetDevice(current);
  free(d);
  *device = NULL;
}

macko_status macko_device_new(const macko_matrix *matrix, macko_device_matrix **device, macko_error *err)
{
  if (!device_ops[matrix->format])
    return macko_fail(err, MACKO_UNSUPPORTED, "format %s has no GPU kernel", macko_format_name(matrix->format));
  macko_device_matrix *d = calloc(1, sizeof *d);
  if (!d) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a device matrix handle of %zu bytes", sizeof *d);
  d->m = *matrix;
  d->m.prepared = NULL, d->m.borrowed = 0; /* the host's: arrays on the GPU are its own */
  macko_status s = macko_cuda_status(cudaGetDevice(&d->device), "asking for the current GPU", err);
  if (s) macko_device_destroy(&d);
  else *device = d;
  return s;
}

/* ops are set once the sections are there, so that a failure before does not call the format's destroy for a matrix that it
 * never saw. */
macko_status macko_device_upload(const macko_matrix *matrix, cudaStream_t stream, macko_device_matrix **device, macko_error *err)
{
  macko_device_matrix *d = NULL;
  if (!matrix || !device) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix and device must not be NULL");
  macko_status s = macko_device_new(matrix, &d, err);
  if (!s) s = macko_upload(d, matrix, stream, err);
  if (!s) {
    d->ops = device_ops[matrix->format];
    s = d->ops->prepare(d, matrix, stream, err);
  }
  if (s) macko_device_destroy(&d);
  else *device = d;
  return s;
}

/* ---- the host's form back ---- */

/* This is what fetch can be asked for besides macko_reads: all sections. */
enum { EVERYTHING = MACKO_READS_PATTERN + 1 };

/* Says whether a section is among what is wanted, of macko_reads or EVERYTHING. */
static int belongs(const macko_section *s, int wanted)
{
  if (wanted == MACKO_READS_ROW_STARTS) return !strcmp(s->name, "row_ptr");
  return wanted == EVERYTHING || (wanted == MACKO_READS_PATTERN && s->pattern);
}

/* Copies the wanted sections to a new matrix on the host and waits for the stream; *matrix is freed with macko_destroy. It
 * waits also after a failure, because copies into the memory that is freed may still be under way. */
static macko_status fetch(const macko_device_matrix *d, int wanted, cudaStream_t stream, macko_matrix **matrix,
                          macko_error *err)
{
  macko_matrix *m = malloc(sizeof *m);
  macko_status s = MACKO_OK;
  if (!m) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matrix handle of %zu bytes", sizeof *m);
  *m = d->m;
  m->nsections = 0;
  for (int i = 0; !s && i < d->m.nsections; i++) {
    const macko_section *from = &d->m.sections[i];
    if (!belongs(from, wanted)) continue;
    s = macko_add_section(m, *from, err);
    if (!s)
      s = macko_cuda_status(cudaMemcpyAsync(m->sections[m->nsections - 1].data, from->data, (size_t)from->bytes,
                                            cudaMemcpyDeviceToHost, stream),
                            "copying the matrix from the GPU", err);
  }
  macko_status done = macko_cuda_status(cudaStreamSynchronize(stream), "copying the matrix from the GPU", s ? NULL : err);
  if (s || done) macko_destroy(&m);
  else *matrix = m;
  return s ? s : done;
}

/* A matrix on the host is complete once macko_prepare has made what its products need besides sections. */
macko_status macko_device_fetch(const macko_device_matrix *device, cudaStream_t stream, macko_matrix **matrix, macko_error *err)
{
  if (!device || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "device and matrix must not be NULL");
  macko_matrix *m = NULL;
  macko_status s = fetch(device, EVERYTHING, stream, &m, err);
  if (!s) s = macko_prepare(m, err);
  if (s) macko_destroy(&m);
  else *matrix = m;
  return s;
}

void macko_device_get_info(const macko_device_matrix *device, macko_info *info)
{
  macko_get_info(&device->m, info);
}

/* Copying sections back takes long, so that prepare is given no more than it reads. A format may need row starts to know
 * whether it needs the rest, and is therefore asked again with what there is. */
macko_status macko_device_finish(macko_device_matrix *d, cudaStream_t stream, macko_error *err)
{
  macko_matrix *host = NULL, no_data = d->m;
  macko_status s = MACKO_OK;
  macko_reads has = MACKO_READS_NOTHING, wants;
  no_data.nsections = 0;
  d->ops = device_ops[d->m.format];
  while (!s && (wants = d->ops->reads(host ? host : &no_data)) > has) {
    macko_destroy(&host);
    s = fetch(d, wants, stream, &host, err);
    has = wants;
  }
  if (!s) s = d->ops->prepare(d, host ? host : &no_data, stream, err);
  macko_destroy(&host);
  return s;
}

/* ---- sizes, transposes, new values ---- */

/* Gives the device memory of one matrix without its transpose. */
static int64_t own_bytes(const macko_device_matrix *d)
{
  return d->bytes + d->own_bytes;
}

int64_t macko_device_bytes(const macko_device_matrix *device)
{
  return !device ? 0 : own_bytes(device) + (device->transpose ? own_bytes(device->transpose) : 0);
}

macko_status macko_check_device(const macko_device_matrix *d, macko_error *err)
{
  int current = 0;
  macko_status s = macko_cuda_status(cudaGetDevice(&current), "asking for the current GPU", err);
  if (!s && current != d->device)
    s = macko_fail(err, MACKO_INVALID_ARGUMENT, "the matrix is on GPU %d, the current one is GPU %d", d->device, current);
  return s;
}

/* Says whether *matrix can be the one that was uploaded, as far as sizes and types tell. */
static macko_status check_uploaded(const macko_device_matrix *d, const macko_matrix *matrix, macko_error *err)
{
  const macko_matrix *m = &d->m;
  if (matrix->format == m->format && matrix->value_type == m->value_type && matrix->nrows == m->nrows &&
      matrix->ncols == m->ncols && matrix->nnz == m->nnz)
    return MACKO_OK;
  return macko_fail(err, MACKO_INVALID_ARGUMENT,
                    "a matrix of format %s, %lld x %lld with %lld nonzeros of %s, is not the one on the GPU: %s, %lld x %lld with "
                    "%lld of %s",
                    macko_format_name(matrix->format), (long long)matrix->nrows, (long long)matrix->ncols,
                    (long long)matrix->nnz, macko_type_name(matrix->value_type), macko_format_name(m->format),
                    (long long)m->nrows, (long long)m->ncols, (long long)m->nnz, macko_type_name(m->value_type));
}

macko_status macko_know_pattern(macko_device_matrix *d, cudaStream_t stream, macko_error *err)
{
  macko_matrix *host = NULL;
  if (d->m.pattern) return MACKO_OK;
  macko_status s = macko_device_fetch(d, stream, &host, err);
  if (!s) s = macko_pattern_of(host, &d->m.pattern, err);
  macko_destroy(&host);
  return s;
}

/* Fails with status `differs`, which says what the caller did wrong, unless *matrix has the pattern of *d. */
static macko_status check_pattern(macko_device_matrix *d, const macko_matrix *matrix, cudaStream_t stream, macko_status differs,
                                  macko_error *err)
{
  uint64_t number;
  macko_status s = macko_pattern_of(matrix, &number, err);
  if (!s) s = macko_know_pattern(d, stream, err);
  if (s || number == d->m.pattern) return s;
  return macko_fail(err, differs, "the matrix has other row lengths or columns than the one on the GPU");
}

/* Makes the transpose of *matrix on the host and copies it to the current GPU. The host's matrix is freed at the end, which is
 * why the copies are waited for. */
static macko_status upload_transpose(const macko_matrix *matrix, cudaStream_t stream, macko_device_matrix **transpose,
                                     macko_error *err)
{
  macko_matrix *t = NULL;
  macko_status s = macko_transpose(matrix, &t, err);
  if (!s) s = macko_device_upload(t, stream, transpose, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(stream), "uploading the transpose", err);
  macko_destroy(&t);
  if (s) macko_device_destroy(transpose);
  return s;
}

int macko_device_has_transpose(const macko_device_matrix *device)
{
  return device && device->transpose;
}

void macko_put_transpose(macko_device_matrix *d, macko_device_matrix **transpose)
{
  macko_device_destroy(&d->transpose);
  d->transpose = *transpose, *transpose = NULL;
}

/* The pattern is compared even where a transpose is there already, so that a wrong matrix is refused whatever came before. */
macko_status macko_device_add_transpose(macko_device_matrix *device, const macko_matrix *matrix, cudaStream_t stream,
                                        macko_error *err)
{
  if (!device || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "device and matrix must not be NULL");
  macko_status s = check_uploaded(device, matrix, err);
  if (!s) s = macko_check_device(device, err);
  if (!s) s = check_pattern(device, matrix, stream, MACKO_INVALID_ARGUMENT, err);
  return s || device->transpose ? s : upload_transpose(matrix, stream, &device->transpose, err);
}

/* Says whether both have the same sections with the same lengths, so that new values can be copied over old ones. */
static int same_sections(const macko_matrix *a, const macko_matrix *b)
{
  if (a->nsections != b->nsections) return 0;
  for (int i = 0; i < a->nsections; i++)
    if (strcmp(a->sections[i].name, b->sections[i].name) || a->sections[i].bytes != b->sections[i].bytes) return 0;
  return 1;
}

/* Copies the sections that tell of values, in place. Stream order puts the copies behind products that were queued before. */
static macko_status copy_values(macko_device_matrix *d, const macko_matrix *matrix, cudaStream_t stream, macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = 0; !s && i < matrix->nsections; i++) {
    const macko_section *from = &matrix->sections[i];
    macko_section *to = &d->m.sections[i];
    if (!from->values && !to->values) continue;
    to->values = from->values;
    s = macko_cuda_status(cudaMemcpyAsync(to->data, from->data, (size_t)from->bytes, cudaMemcpyHostToDevice, stream),
                          "copying new values", err);
  }
  return s;
}

/* Uploads everything anew and exchanges it with the old matrix once it is complete, so that a failure leaves the old one as it
 * was. The handle stays the same, and so does its transpose, which the caller replaces. */
static macko_status replace(macko_device_matrix *d, const macko_matrix *matrix, cudaStream_t stream, macko_error *err)
{
  macko_device_matrix *fresh = NULL, swap;
  macko_status s = macko_device_upload(matrix, stream, &fresh, err);
  if (s) return s;
  swap = *d, *d = *fresh, *fresh = swap;
  d->transpose = fresh->transpose, fresh->transpose = NULL;
  macko_device_destroy(&fresh);
  return MACKO_OK;
}

macko_status macko_device_refresh(macko_device_matrix *device, const macko_matrix *matrix, cudaStream_t stream, int *moved,
                                  macko_error *err)
{
  macko_device_matrix *transpose = NULL;
  macko_status s;
  if (!device || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "device and matrix must not be NULL");
  if (matrix->format != device->m.format || matrix->nrows != device->m.nrows || matrix->ncols != device->m.ncols ||
      matrix->nnz != device->m.nnz)
    return macko_fail(err, MACKO_INVALID_MATRIX,
                      "a matrix of %lld x %lld with %lld nonzeros cannot refresh one of %lld x %lld with %lld",
                      (long long)matrix->nrows, (long long)matrix->ncols, (long long)matrix->nnz, (long long)device->m.nrows,
                      (long long)device->m.ncols, (long long)device->m.nnz);
  if (matrix->value_type != device->m.value_type)
    return macko_fail(err, MACKO_INVALID_MATRIX, "a matrix of %s cannot refresh one of %s", macko_type_name(matrix->value_type),
                      macko_type_name(device->m.value_type));
  s = macko_check_device(device, err);
  if (!s) s = check_pattern(device, matrix, stream, MACKO_INVALID_MATRIX, err);
  /* The new transpose comes first, so that the old values and the old transpose stay together where it cannot be made. */
  if (!s && device->transpose) s = upload_transpose(matrix, stream, &transpose, err);
  if (s) return s;
  /* Coded values are part of streams and tables, which change as a whole. */
  int in_place = same_sections(&device->m, matrix) && matrix->plan.stored_type == device->m.plan.stored_type &&
                 matrix->plan.values != MACKO_VALUES_CODED;
  if (moved) *moved = !in_place || device->transpose || macko_parameters_differ(&device->m.plan, &matrix->plan);
  if (in_place) {
    s = copy_values(device, matrix, stream, err);
    const int64_t by_value = device->by_value;
    device->m.plan = matrix->plan;
    if (!s) s = device->ops->prepare(device, matrix, stream, err);
    if (moved && device->by_value != by_value) *moved = 1;
  } else
    s = replace(device, matrix, stream, err);
  if (!s) macko_put_transpose(device, &transpose);
  macko_device_destroy(&transpose);
  return s;
}

/* Checks everything about a product that the matrix and the arguments tell. Vectors may be NULL where they have no elements. */
static macko_status check_product(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  int64_t nx = p->op == MACKO_OP_N ? m->ncols : m->nrows, ny = p->op == MACKO_OP_N ? m->nrows : m->ncols;
  if (p->op != MACKO_OP_N && p->op != MACKO_OP_T) return macko_fail(err, MACKO_INVALID_ARGUMENT, "op is %d, not N or T",
                                                                    (int)p->op);
  if (p->vector_type != MACKO_F64 && p->vector_type != MACKO_F32 && p->vector_type != MACKO_F16 && p->vector_type != MACKO_BF16)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "vector type %d is none of f64, f32, f16 and bf16", (int)p->vector_type);
  macko_status s = macko_check_distances(p, nx, ny, err);
  if (s) return s;
  if (p->k && ny && (!p->y || (nx && !p->x))) return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y must not be NULL");
  return MACKO_OK;
}

/* Products in which the matrix takes no part are done here, so that no format's kernel has to think of them. The overlap of x
 * and y is checked after these, as they read no x. */
macko_status macko_device_multiply(const macko_device_matrix *device, macko_op op, macko_type vector_type, int64_t k,
                                   double alpha, const void *x, int64_t ldx, double beta, void *y, int64_t ldy,
                                   cudaStream_t stream, macko_error *err)
{
  macko_product p = {op, vector_type, k, alpha, beta, x, ldx, y, ldy, NULL};
  if (!device) return macko_fail(err, MACKO_INVALID_ARGUMENT, "device must not be NULL");
  macko_status s = check_product(&device->m, &p, err);
  if (!s) s = macko_check_device(device, err);
  if (s) return s;
  int64_t ny = op == MACKO_OP_N ? device->m.nrows : device->m.ncols;
  if (k == 0 || ny == 0) return MACKO_OK;
  if (alpha == 0 || device->m.nnz == 0) return macko_device_scale(&p, ny, stream, err);
  if (macko_vectors_overlap(&p, op == MACKO_OP_N ? device->m.ncols : device->m.nrows, ny))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y overlap: a product cannot be made in place");
  if (op == MACKO_OP_N) return device->ops->multiply(device, &p, stream, err);
  if (!device->transpose)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "op T needs macko_device_add_transpose first");
  p.op = MACKO_OP_N;
  return device->transpose->ops->multiply(device->transpose, &p, stream, err);
}

macko_status macko_device_diagonal(const macko_device_matrix *device, double *diagonal, cudaStream_t stream, macko_error *err)
{
  return macko_device_diagonal_from(device, 0, diagonal, stream, err);
}

/* Says what is wrong with a diagonal of rows of so many columns, if anything. */
static macko_status check_diagonal(int64_t first_col, int64_t ncols, macko_error *err)
{
  if (first_col >= 0 && first_col <= ncols) return MACKO_OK;
  return macko_fail(err, MACKO_INVALID_ARGUMENT, "first_col is %lld, of %lld columns", (long long)first_col, (long long)ncols);
}

macko_status macko_device_diagonal_csr(const macko_csr *csr, int64_t first_col, double *diagonal, cudaStream_t stream,
                                       macko_error *err)
{
  if (!csr || (csr->nrows && !diagonal))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and diagonal must not be NULL");
  macko_status s = macko_check_types(csr, err);
  if (!s) s = check_diagonal(first_col, csr->ncols, err);
  if (s || csr->nrows == 0) return s;
  const macko_device_csr a = macko_device_view(csr);
  return macko_cuda_status(macko_start_diagonal(&a, first_col, diagonal, stream), "starting to read a diagonal", err);
}

/* Copies the number to the host and waits for it. */
static macko_status count_rows(const macko_csr *csr, unsigned long long *counted, int64_t *rows, cudaStream_t stream,
                               macko_error *err)
{
  static const char what[] = "counting rows";
  const macko_device_csr a = macko_device_view(csr);
  unsigned long long count = 0;
  macko_status s = macko_cuda_status(cudaMemsetAsync(counted, 0, sizeof count, stream), what, err);
  if (!s) s = macko_cuda_status(macko_start_count_rows(&a, counted, stream), what, err);
  if (!s) s = macko_cuda_status(cudaMemcpyAsync(&count, counted, sizeof count, cudaMemcpyDeviceToHost, stream), what, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(stream), what, err);
  if (!s) *rows = (int64_t)count;
  return s;
}

macko_status macko_device_nonempty_rows(const macko_csr *csr, int64_t *rows, cudaStream_t stream, macko_error *err)
{
  void *counted = NULL;
  if (rows) *rows = 0;
  if (!csr || !rows) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and rows must not be NULL");
  macko_status s = macko_check_types(csr, err);
  if (s || csr->nrows == 0) return s;
  s = macko_device_alloc(sizeof(unsigned long long), "counting rows", &counted, err);
  if (!s) s = count_rows(csr, (unsigned long long *)counted, rows, stream, err);
  cudaFree(counted);
  return s;
}

macko_status macko_device_diagonal_from(const macko_device_matrix *device, int64_t first_col, double *diagonal, cudaStream_t stream,
                                        macko_error *err)
{
  if (!device || (device->m.nrows && !diagonal))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "device and diagonal must not be NULL");
  macko_status s = check_diagonal(first_col, device->m.ncols, err);
  if (!s) s = macko_check_device(device, err);
  if (s || device->m.nrows == 0) return s;
  if (!device->ops->diagonal)
    return macko_fail(err, MACKO_UNSUPPORTED, "format %s does not give its diagonal on the GPU",
                      macko_format_name(device->m.format));
  return device->ops->diagonal(device, first_col, diagonal, stream, err);
}
