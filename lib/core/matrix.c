/* The public functions on a compressed matrix: argument checks, then the format's own table. */
#include "core/cost.h"
#include "core/facts.h"
#include "core/measure.h"
#include "core/pattern.h"
#include "core/product.h"
#include "core/row_source.h"
#include "core/stretches.h"
#include "core/traps.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* Each format's own questions are answered in host memory here; libmacko_cuda fills the same table with its own answers. */
macko_facts macko_host_facts(macko_findings *found)
{
  const macko_csr *a = found->csr;
  macko_facts f = {.csr = a, .nnz = macko_found_nnz(found), .others = found->others, .values = macko_facts_of_values(found),
                   .sectors = macko_host_sectors, .lines = macko_host_lines, .context = found};
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) f.of_format[i] = macko_formats[i]->facts;
  return f;
}

void macko_forget(macko_findings *found, int i)
{
  if (found->own[i]) macko_formats[i]->forget(found->own[i]);
  found->own[i] = NULL;
}

/* Frees all findings but those of one format; of all formats where that is -1. Values are asked about while formats are planned,
 * and no longer. */
static void forget_others(macko_findings *found, int format)
{
  free(found->values.fewer);
  found->values.fewer = NULL;
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++)
    if (i != format) macko_forget(found, i);
}

/* Does what encode and predict do before they part: *m is a matrix without sections. */
static macko_status open_matrix(const macko_facts *f, const macko_options *options, macko_matrix *m, macko_error *err)
{
  const macko_csr *a = f->csr;
  *m = (macko_matrix){.options = *options, .value_type = a->value_type, .nrows = a->nrows, .ncols = a->ncols, .nnz = f->nnz,
                      .others = f->others};
  return macko_choose(f, options, m, err);
}

/* Makes a matrix with the best plan and no sections. */
static macko_status new_matrix(const macko_facts *f, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  macko_matrix *m = malloc(sizeof *m);
  if (!m) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matrix handle of %zu bytes", sizeof *m);
  macko_status s = open_matrix(f, options, m, err);
  if (s) free(m);
  else *matrix = m;
  return s;
}

macko_status macko_plan_matrix(const macko_facts *f, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  macko_options settled;
  macko_status s = macko_settle_options(options, &settled, err);
  if (!s && settled.prefer == MACKO_PREFER_MEASURED)
    s = macko_fail(err, MACKO_UNSUPPORTED, "prefer measured is no plan: products are timed");
  return s ? s : new_matrix(f, &settled, matrix, err);
}

/* What encode and predict make of what they are given: settled options, a sorted csr, and what it had to be copied to, which the
 * caller frees. number: that of its pattern, 0 where it is not known. */
typedef struct {
  macko_options options;
  macko_csr csr;
  void *owned;
  uint64_t number;
} checked_input;

/* Settles the options and checks *csr; the number is found in passing where it is wanted. Nothing is left to free after a
 * failure. */
static macko_status check_input(const macko_csr *csr, const macko_options *options, int numbered, checked_input *in,
                                macko_error *err)
{
  *in = (checked_input){.owned = NULL};
  macko_status s = macko_settle_options(options, &in->options, err);
  if (!s) s = macko_sort_and_number(csr, &in->csr, &in->owned, numbered ? &in->number : NULL, err);
  if (!s) s = macko_check_overflow(&in->csr, &in->options, csr->index_base, err);
  if (s) free(in->owned), in->owned = NULL;
  return s;
}

macko_status macko_prepare(macko_matrix *m, macko_error *err)
{
  return m->ops->prepare ? m->ops->prepare(m, err) : MACKO_OK;
}

/* Plans, encodes and prepares, and frees the findings on the way. Facts cannot fail, so that what went wrong with rows in pieces
 * while they were counted is reported here. */
static macko_status plan_and_encode(macko_findings *found, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  macko_facts facts = macko_host_facts(found);
  macko_matrix *m = NULL;
  macko_status s = new_matrix(&facts, options, &m, err);
  if (!s && found->rows && found->rows->failed.status)
    s = macko_fail(err, found->rows->failed.status, "%s", found->rows->failed.text);
  if (!s && found->rows && !m->ops->in_pieces) found->rows->needs_whole = 1;
  if (!s && found->rows && found->rows->needs_whole)
    s = macko_fail(err, MACKO_UNSUPPORTED, "rows in pieces are to be put together first");
  if (!s) forget_others(found, (int)m->format);
  if (!s) s = m->ops->encode(found, m, err);
  forget_others(found, -1);
  if (!s) s = macko_prepare(m, err);
  if (s) macko_destroy(&m);
  else *matrix = m;
  return s;
}

macko_status macko_encode_sorted(const macko_csr *a, const macko_options *options, int lent, double others,
                                 macko_matrix **matrix, macko_error *err)
{
  const macko_format_ops *asked = options->format == MACKO_FORMAT_AUTO ? NULL : macko_formats[options->format];
  macko_findings found = {.csr = a, .handed_on = 1, .lent = lent, .others = others};
  if (!asked || !asked->encode_rows || (lent && asked->borrows)) return plan_and_encode(&found, options, matrix, err);
  macko_rows rows = macko_rows_of(a); /* plans and encodes in one go, so that what plan has counted is not counted again */
  return macko_encode_in_pieces(&rows, options, asked, others, matrix, err);
}

macko_status macko_encode_views(macko_rows *r, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  const macko_csr shape = {.nrows = r->nrows, .ncols = r->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                           .value_type = r->value_type};
  macko_findings found = {.csr = &shape, .rows = r, .handed_on = 1};
  macko_status s = macko_count_entries(r, &r->nnz, err);
  return s ? s : plan_and_encode(&found, options, matrix, err);
}

/* A copy that had to be sorted is freed at the end, so that it is never lent. */
static macko_status encode_checked(const macko_csr *csr, const macko_options *options, int lent, double others,
                                   macko_matrix **matrix, macko_error *err)
{
  checked_input in;
  if (!csr || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and matrix must not be NULL");
  if (options && options->prefer == MACKO_PREFER_MEASURED && options->target == MACKO_TARGET_GPU)
    return macko_fail(err, MACKO_UNSUPPORTED,
                      "prefer measured with target gpu times products on a GPU: macko_device_encode does, of a matrix in GPU "
                      "memory; here prefer is time or memory");
  macko_status s = check_input(csr, options, 1, &in, err);
  if (s) return s;
  const int measured = in.options.prefer == MACKO_PREFER_MEASURED;
  s = (measured ? macko_encode_measured : macko_encode_sorted)(&in.csr, &in.options, lent && !in.owned, others, matrix, err);
  if (!s) (*matrix)->pattern = in.number ? in.number : macko_pattern_of_csr(&in.csr);
  free(in.owned);
  return s;
}

/* Does so without traps. */
static macko_status encode(const macko_csr *csr, const macko_options *options, int lent, double others, macko_matrix **matrix,
                           macko_error *err)
{
  fenv_t kept;
  macko_hold_traps(&kept);
  const macko_status s = encode_checked(csr, options, lent, others, matrix, err);
  macko_restore_traps(&kept);
  return s;
}

macko_status macko_encode(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  return encode(csr, options, 0, 0, matrix, err);
}

macko_status macko_encode_part(const macko_csr *csr, double parts, const macko_options *options, macko_matrix **matrix,
                               macko_error *err)
{
  if (!(parts >= 1 && parts <= DBL_MAX)) return macko_fail(err, MACKO_INVALID_ARGUMENT, "%g parts: must be at least 1", parts);
  return encode(csr, options, 0, parts - 1, matrix, err);
}

macko_status macko_encode_borrowed(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  return encode(csr, options, 1, 0, matrix, err);
}

macko_status macko_foresee(const macko_csr *a, const macko_options *options, double others, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a, .others = others};
  macko_facts facts = macko_host_facts(&found);
  macko_status s = open_matrix(&facts, options, m, err);
  forget_others(&found, -1);
  return s;
}

/* The reason of a prediction is kept by the thread that asked for it, as no matrix is there to own it. */
macko_status macko_predict(const macko_csr *csr, const macko_options *options, macko_info *info, macko_error *err)
{
  static _Thread_local char reason[MACKO_REASON_LENGTH];
  checked_input in;
  macko_matrix m;
  if (!csr || !info) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and info must not be NULL");
  fenv_t kept;
  macko_hold_traps(&kept);
  macko_status s = check_input(csr, options, 0, &in, err);
  if (!s) s = macko_foresee(&in.csr, &in.options, 0, &m, err);
  macko_restore_traps(&kept);
  free(in.owned);
  if (s) return s;
  macko_get_info(&m, info);
  info->bytes = m.plan.bytes;
  memcpy(reason, m.plan.reason, sizeof reason);
  info->reason = reason;
  return MACKO_OK;
}

/* Sets *sorted to what macko_sort_csr makes of *csr, if that has the pattern of *m. The number of a pattern also proves that
 * columns are sorted and in range, so that they are read once. */
static macko_status match_pattern(macko_matrix *m, const macko_csr *csr, macko_csr *sorted, void **owned, macko_error *err)
{
  macko_status s = macko_check_rows(csr, err);
  if (s) return s;
  *sorted = *csr;
  if (macko_has_pattern(m, csr)) return MACKO_OK;
  s = macko_sort_csr(csr, sorted, owned, err);
  return s ? s : macko_check_pattern(m, sorted, csr->index_base, err);
}

/* Everything that can fail comes before the format's own refresh, which leaves the matrix as it was if it fails itself. */
macko_status macko_refresh(macko_matrix *m, const macko_csr *csr, macko_error *err)
{
  macko_csr a;
  void *owned = NULL;
  if (!m || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix and csr must not be NULL");
  macko_status s = macko_check_types(csr, err);
  if (s) return s;
  if (csr->nrows != m->nrows || csr->ncols != m->ncols || csr->value_type != m->value_type)
    return macko_fail(err, MACKO_INVALID_MATRIX,
                      "a matrix of %lld x %lld values of type %s cannot refresh one of %lld x %lld, %s", (long long)csr->nrows,
                      (long long)csr->ncols, macko_type_name(csr->value_type), (long long)m->nrows, (long long)m->ncols,
                      macko_type_name(m->value_type));
  fenv_t kept;
  s = match_pattern(m, csr, &a, &owned, err);
  macko_hold_traps(&kept);
  if (!s) s = macko_check_overflow(&a, &m->options, csr->index_base, err);
  if (!s && owned) s = macko_own_arrays(m, err); /* arrays that are about to go */
  if (!s) s = m->ops->refresh(&a, m, err);
  if (!s) s = macko_prepare(m, err);
  macko_restore_traps(&kept);
  free(owned);
  return s;
}

macko_status macko_decode(const macko_matrix *matrix, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  if (!matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix must not be NULL");
  return matrix->ops->decode(matrix, row_ptr, cols, values, err);
}

/* Decodes all entries and copies some, for a format that has no decode_rows. */
static macko_status decode_among_all(const macko_matrix *m, const int64_t *row_ptr, int64_t first, int64_t past, int64_t *cols,
                                     void *values, macko_error *err)
{
  const int64_t size = macko_type_bytes(m->value_type), begin = row_ptr[first], count = row_ptr[past] - begin;
  int64_t *all_cols = cols ? malloc((size_t)(m->nnz + 1) * sizeof *cols) : NULL;
  char *all_values = values ? malloc((size_t)((m->nnz + 1) * size)) : NULL;
  macko_status s = (cols && !all_cols) || (values && !all_values)
                       ? macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld nonzeros", (long long)m->nnz)
                       : m->ops->decode(m, NULL, all_cols, all_values, err);
  if (!s && cols && count) memcpy(cols, all_cols + begin, (size_t)count * sizeof *cols);
  if (!s && values && count) memcpy(values, all_values + begin * size, (size_t)(count * size));
  free(all_cols), free(all_values);
  return s;
}

macko_status macko_decode_rows(const macko_matrix *matrix, const int64_t *row_ptr, int64_t first, int64_t count, int64_t *cols,
                               void *values, macko_error *err)
{
  if (!matrix || !row_ptr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix and row_ptr must not be NULL");
  if (first < 0 || count < 0 || first > matrix->nrows || count > matrix->nrows - first)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "%lld rows from row %lld on are not there: the matrix has %lld",
                      (long long)count, (long long)first, (long long)matrix->nrows);
  if (!matrix->ops->decode_rows) return decode_among_all(matrix, row_ptr, first, first + count, cols, values, err);
  matrix->ops->decode_rows(matrix, row_ptr, first, first + count, cols, values);
  return MACKO_OK;
}

macko_status macko_validate(const macko_matrix *matrix, macko_error *err)
{
  const int64_t most = INT64_MAX / 64; /* so that no format's count of bytes or bits overflows */
  if (!matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix must not be NULL");
  if (matrix->nrows < 0 || matrix->nrows > most || matrix->ncols < 0 || matrix->nnz < 0 || matrix->nnz > most)
    return macko_fail(err, MACKO_CORRUPT, "the size %lld x %lld with %lld nonzeros cannot be in memory", (long long)matrix->nrows,
                      (long long)matrix->ncols, (long long)matrix->nnz);
  if ((unsigned)matrix->value_type > MACKO_BF16)
    return macko_fail(err, MACKO_CORRUPT, "value type %d is none of f64, f32, f16 and bf16", (int)matrix->value_type);
  return matrix->ops->validate(matrix, err);
}

void macko_scale(const macko_product *p, int64_t n)
{
  if (p->beta == 1) return;
  for (int64_t j = 0; j < p->k; j++)
    for (int64_t i = 0; i < n; i++)
      if (p->vector_type == MACKO_F64) {
        double *y = (double *)p->y + j * p->ldy + i;
        *y = p->beta == 0 ? 0 : p->beta * *y;
      } else {
        float *y = (float *)p->y + j * p->ldy + i;
        *y = p->beta == 0 ? 0 : (float)(p->beta * *y);
      }
}

/* Numbers are checked first. Where there is nothing to do pointers are not looked at, because vectors without elements may be
 * NULL. */
macko_status macko_multiply(const macko_matrix *m, macko_op op, macko_type vector_type, int64_t k, double alpha, const void *x,
                            int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err)
{
  if (!m) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix must not be NULL");
  if (op != MACKO_OP_N && op != MACKO_OP_T) return macko_fail(err, MACKO_INVALID_ARGUMENT, "op is %d, not N or T", (int)op);
  if (vector_type != MACKO_F64 && vector_type != MACKO_F32)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "vector type %d is neither f64 nor f32", (int)vector_type);
  int64_t nx = op == MACKO_OP_N ? m->ncols : m->nrows, ny = op == MACKO_OP_N ? m->nrows : m->ncols;
  macko_product p = {op, vector_type, k, alpha, beta, x, ldx, y, ldy, NULL};
  macko_status s = macko_check_distances(&p, nx, ny, err);
  if (s) return s;
  if (k == 0 || ny == 0) return MACKO_OK;
  if (!y || (nx > 0 && !x)) return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y must not be NULL");
  if (alpha == 0 || m->nnz == 0) return macko_scale(&p, ny), MACKO_OK;
  if (macko_vectors_overlap(&p, nx, ny))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y overlap: a product cannot be made in place");
  return m->ops->multiply(m, &p, err);
}

/* Gives the seconds that a product is predicted to take where the matrix is stored as plain CSR; 0 where that is not known. Files
 * of earlier versions do not tell it: then it is planned by sizes, without rows of uneven length. */
static double csr_seconds(const macko_matrix *m)
{
  const macko_csr sizes = {.nrows = m->nrows, .ncols = m->ncols, .value_type = m->value_type};
  const macko_facts facts = {.csr = &sizes, .nnz = m->nnz, .values = {.value_type = m->value_type}};
  macko_plan plan = m->plan;
  if (plan.csr_time <= 0) macko_complete_plan(&facts, &m->options, &plan);
  return plan.csr_time > 0 ? 1e-9 * (plan.csr_time + m->plan.gathers) : 0;
}

void macko_get_info(const macko_matrix *m, macko_info *info)
{
  int64_t ptr_bytes = m->nnz > INT32_MAX ? 8 : 4, col_bytes = m->ncols > INT32_MAX ? 8 : 4;
  *info = (macko_info){.format = m->format, .value_type = m->value_type, .stored_type = m->plan.stored_type,
                       .values = m->plan.values, .layout = m->plan.layout, .variant = m->plan.variant, .gap_bits = m->plan.gap_bits,
                       .lossy = m->plan.lossy, .nrows = m->nrows, .ncols = m->ncols, .nnz = m->nnz, .nsections = m->nsections,
                       .seconds = 1e-9 * (m->plan.time + m->plan.gathers), .csr_seconds = csr_seconds(m), .reason = m->plan.reason};
  for (int i = 0; i < m->nsections; i++) info->bytes += m->sections[i].bytes;
  info->csr_bytes = (m->nrows + 1) * ptr_bytes + m->nnz * (col_bytes + macko_type_bytes(m->value_type));
}

/* Options, plan and pattern go along. What is prepared is made anew, as only the format knows what it points to. */
macko_status macko_copy(const macko_matrix *matrix, macko_matrix **copy, macko_error *err)
{
  if (!matrix || !copy) return macko_fail(err, MACKO_INVALID_ARGUMENT, "matrix and copy must not be NULL");
  macko_matrix *m = malloc(sizeof *m);
  if (!m) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matrix handle of %zu bytes", sizeof *m);
  *m = *matrix;
  m->nsections = 0, m->borrowed = 0, m->prepared = NULL;
  macko_status s = MACKO_OK;
  for (int i = 0; !s && i < matrix->nsections; i++) {
    const macko_section *from = &matrix->sections[i];
    s = macko_add_section(m, *from, err);
    if (!s) memcpy(m->sections[i].data, from->data, (size_t)from->bytes);
  }
  if (!s) s = macko_prepare(m, err);
  if (s) macko_destroy(&m);
  else *copy = m;
  return s;
}

void macko_destroy(macko_matrix **matrix)
{
  if (!matrix || !*matrix) return;
  for (int i = 0; i < (*matrix)->nsections && !(*matrix)->borrowed; i++) free((*matrix)->sections[i].data);
  free((*matrix)->prepared);
  free(*matrix);
  *matrix = NULL;
}
