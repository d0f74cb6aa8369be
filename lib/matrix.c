/* The public functions on a compressed matrix: argument checks, then the format's own table. */
#include "format.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const macko_format_ops *const format_ops[] = {
#define MACKO_FORMAT(symbol, name, text) &macko_##name##_ops,
#include "formats.def"
#undef MACKO_FORMAT
};

static const char *const format_names[] = {
#define MACKO_FORMAT(symbol, name, text) #name,
#include "formats.def"
#undef MACKO_FORMAT
};

static const char *const status_texts[] = {
#define MACKO_STATUS_CODE(symbol, text) text,
#include "status.def"
#undef MACKO_STATUS_CODE
};

macko_status macko_fail(macko_error *err, macko_status status, const char *sentence, ...)
{
  if (err) {
    va_list args;
    va_start(args, sentence);
    vsnprintf(err->text, sizeof err->text, sentence, args);
    va_end(args);
    err->status = status;
  }
  return status;
}

const char *macko_format_name(macko_format format)
{
  return (unsigned)format < MACKO_FORMAT_AUTO ? format_names[format] : NULL;
}

const char *macko_status_text(macko_status status)
{
  return (size_t)status < sizeof status_texts / sizeof *status_texts ? status_texts[status] : "unknown status";
}

int64_t macko_type_bytes(macko_type type)
{
  return type == MACKO_F64 || type == MACKO_I64 ? 8 : 4;
}

void macko_options_init(macko_options *options)
{
  options->format = MACKO_FORMAT_AUTO;
}

macko_status macko_add_section(macko_matrix *m, const char *name, macko_type type, int64_t count, macko_error *err)
{
  int64_t bytes = count * macko_type_bytes(type);
  void *data = calloc(bytes > 0 ? (size_t)bytes : 1, 1);
  if (!data) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld bytes of section %s", (long long)bytes, name);
  m->sections[m->nsections++] = (macko_section){name, data, bytes, type};
  return MACKO_OK;
}

static macko_status choose(const macko_sorted_csr *a, macko_matrix *m, macko_format wanted, macko_error *err)
{
  int64_t best = -1;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++) {
    int64_t bytes;
    char reason[sizeof m->reason];
    if (wanted != MACKO_FORMAT_AUTO && wanted != (macko_format)f) continue;
    macko_status s = format_ops[f]->plan(a, &bytes, reason, err);
    if (s) return s;
    if (best >= 0 && bytes >= best) continue;
    best = bytes;
    m->format = (macko_format)f;
    m->ops = format_ops[f];
    memcpy(m->reason, reason, sizeof reason);
  }
  return MACKO_OK;
}

macko_status macko_encode(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  macko_options defaults;
  macko_sorted_csr a;
  macko_options_init(&defaults);
  if (!csr || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and matrix must not be NULL");
  if (!options) options = &defaults;
  if ((unsigned)options->format > MACKO_FORMAT_AUTO)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "format %d is not one of the %d formats", (int)options->format, MACKO_FORMAT_AUTO);
  macko_status s = macko_sort_csr(csr, &a, err);
  if (s) return s;
  macko_matrix *m = calloc(1, sizeof *m);
  if (!m) {
    macko_sorted_free(&a);
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matrix handle of %zu bytes", sizeof *m);
  }
  m->nrows = a.nrows, m->ncols = a.ncols, m->nnz = a.nnz, m->value_type = a.value_type;
  s = choose(&a, m, options->format, err);
  if (!s) s = m->ops->encode(&a, m, err);
  macko_sorted_free(&a);
  if (s) macko_destroy(&m);
  else *matrix = m;
  return s;
}

macko_status macko_decode(const macko_matrix *matrix, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  if (!matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix must not be NULL");
  return matrix->ops->decode(matrix, row_ptr, cols, values, err);
}

static void scale(macko_type type, int64_t n, double beta, void *y)
{
  if (beta == 1) return;
  for (int64_t i = 0; i < n; i++)
    if (type == MACKO_F64) ((double *)y)[i] = beta == 0 ? 0 : beta * ((double *)y)[i];
    else ((float *)y)[i] = beta == 0 ? 0 : (float)(beta * ((float *)y)[i]);
}

macko_status macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                            const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err)
{
  if (!matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix must not be NULL");
  if (op != MACKO_OP_N && op != MACKO_OP_T) return macko_fail(err, MACKO_INVALID_ARGUMENT, "op is %d, not N or T", (int)op);
  if (vector_type != MACKO_F64 && vector_type != MACKO_F32)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "vector type %d is neither f64 nor f32", (int)vector_type);
  int64_t nx = op == MACKO_OP_N ? matrix->ncols : matrix->nrows, ny = op == MACKO_OP_N ? matrix->nrows : matrix->ncols;
  if (k < 0) return macko_fail(err, MACKO_INVALID_ARGUMENT, "k is %lld, a count of vectors cannot be negative", (long long)k);
  if (k > 1 && (ldx < nx || ldy < ny))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "ldx %lld and ldy %lld must be at least %lld and %lld", (long long)ldx,
                      (long long)ldy, (long long)nx, (long long)ny);
  if (k > 0 && ((nx > 0 && !x) || (ny > 0 && !y))) return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y must not be NULL");
  int64_t size = macko_type_bytes(vector_type);
  for (int64_t j = 0; j < k; j++) {
    char *yj = ny ? (char *)y + j * ldy * size : NULL;
    scale(vector_type, ny, beta, yj);
    if (alpha != 0 && nx && ny) matrix->ops->multiply(matrix, op, vector_type, alpha, (const char *)x + j * ldx * size, yj);
  }
  return MACKO_OK;
}

void macko_get_info(const macko_matrix *m, macko_info *info)
{
  int64_t ptr_bytes = m->nnz > INT32_MAX ? 8 : 4, col_bytes = m->ncols > INT32_MAX ? 8 : 4;
  *info = (macko_info){.format = m->format, .value_type = m->value_type, .nrows = m->nrows, .ncols = m->ncols, .nnz = m->nnz};
  for (int i = 0; i < m->nsections; i++) info->bytes += m->sections[i].bytes;
  info->csr_bytes = (m->nrows + 1) * ptr_bytes + m->nnz * (col_bytes + macko_type_bytes(m->value_type));
  info->reason = m->reason;
}

void macko_destroy(macko_matrix **matrix)
{
  if (!matrix || !*matrix) return;
  for (int i = 0; i < (*matrix)->nsections; i++) free((*matrix)->sections[i].data);
  free(*matrix);
  *matrix = NULL;
}
