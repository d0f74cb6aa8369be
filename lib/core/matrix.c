/* The public functions on a compressed matrix: argument checks, then the format's own table. */
#include "core/facts.h"
#include "core/measure.h"
#include "core/pattern.h"
#include "core/product.h"
#include "core/row_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each format's own questions are answered in host memory here; libmacko_cuda fills the same table with its own answers. */
macko_facts macko_host_facts(macko_findings *found)
{
  const macko_csr *a = found->csr;
  macko_facts f = {.csr = a, .nnz = macko_found_nnz(found), .values = macko_facts_of_values(found), .context = found};
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

/* Adds the losers and what they would have cost to the reason, as far as there is room; plans[i] has been made where planned[i]
 * is set. */
static void compare_formats(const macko_options *options, const macko_plan plans[], const int planned[], macko_format winner,
                            macko_plan *plan)
{
  char one[128], first[64];
  snprintf(first, sizeof first, "; predicted %.3g us a multiply", 1e-3 * plan->time);
  for (int i = 0, losers = 0; i < MACKO_FORMAT_AUTO; i++) {
    const char *name = macko_format_name((macko_format)i);
    if (!planned[i] || i == (int)winner) continue;
    if (options->prefer == MACKO_PREFER_MEMORY)
      snprintf(one, sizeof one, "; %s takes %lld bytes", name, (long long)plans[i].bytes);
    else snprintf(one, sizeof one, "%s, %s %.3g us", losers ? "" : first, name, 1e-3 * plans[i].time);
    if (strlen(plan->reason) + strlen(one) < sizeof plan->reason) strcat(plan->reason, one);
    losers++;
  }
}

/* Gives the time that a later format has to beat. Predictions for a CPU are not so good that a format which takes longer to
 * encode were worth it for less than a tenth. */
static double time_to_beat(const macko_options *options, const macko_plan *best)
{
  return options->target == MACKO_TARGET_CPU ? 0.9 * best->time : best->time;
}

/* Tells whether a plan is better than the best of the formats before it. They are planned in the order of formats.def. Before
 * anything is measured, prefer measured goes by time. */
static int replaces(const macko_options *options, const macko_plan *plan, const macko_plan *best)
{
  return options->prefer == MACKO_PREFER_MEMORY ? plan->bytes < best->bytes : plan->time < time_to_beat(options, best);
}

/* A choice under way: what has been planned so far, and m, which has the best of it. */
typedef struct {
  const macko_facts *f;
  const macko_options *options;
  macko_matrix *m;
  macko_plan plans[MACKO_FORMAT_AUTO];
  int planned[MACKO_FORMAT_AUTO]; /* 1: plans[i] has been made */
  int sure[MACKO_FORMAT_AUTO];    /* 1: it has shown that another format would lose, so that it has to be compared */
  macko_status refused;           /* the last refusal */
} choosing;

/* Tells whether a format is to be planned. Automatic choice is of the formats that have what the options ask for, and passes over
 * those that have no chance. */
static int is_candidate(const choosing *c, int i)
{
  const macko_format_ops *ops = macko_formats[i];
  if (c->options->format != MACKO_FORMAT_AUTO) return c->options->format == (macko_format)i;
  if (!macko_format_has((macko_format)i, c->options)) return 0;
  return c->sure[i] || !ops->may_win || ops->may_win(c->f, c->options, c->plans, c->m->ops ? &c->m->plan : NULL);
}

/* Plans format i, which has to beat that time (0: none). One that cannot hold this matrix is passed over. */
static macko_status plan_one(choosing *c, int i, double time, macko_error *err)
{
  if (c->planned[i]) return MACKO_OK;
  c->plans[i] = (macko_plan){.time = time};
  macko_status s = macko_formats[i]->plan(c->f, c->options, &c->plans[i], err);
  if (s != MACKO_UNSUPPORTED && s != MACKO_LIMIT) c->planned[i] = !s;
  else c->refused = s, s = MACKO_OK;
  return s;
}

/* Gives what a product by format i promises to take, 0 where nothing is promised. */
static double promise_of(const choosing *c, int i)
{
  return macko_formats[i]->promise ? macko_formats[i]->promise(c->f, c->options) : 0;
}

/* Plans a later format before format i where it promises to replace whatever there is with i, which takes long to plan. Sets
 * *rival to its number and lowers *time, which i has to beat, to where it would; *rival is -1 where there is none. */
static macko_status plan_rival(choosing *c, int i, double *time, int *rival, macko_error *err)
{
  macko_plan promised = {.time = *time > 0 ? promise_of(c, i) : 0};
  macko_status s = MACKO_OK;
  *rival = -1;
  for (int j = i + 1; promised.time > 0 && j < MACKO_FORMAT_AUTO && !s && *rival < 0; j++) {
    const double likely = promise_of(c, j), least = time_to_beat(c->options, &promised);
    if (likely <= 0 || likely >= *time || likely >= least || !is_candidate(c, j)) continue;
    s = plan_one(c, j, *time, err);
    if (s || !c->planned[j] || c->plans[j].time >= *time) continue;
    const macko_plan one = {.time = 1};
    *rival = j, *time = fmin(*time, c->plans[j].time / time_to_beat(c->options, &one));
  }
  return s;
}

/* Plans format i and takes it if it is better than what there is. */
static macko_status try_format(choosing *c, int i, macko_error *err)
{
  macko_matrix *m = c->m;
  const int compared = m->ops && c->options->prefer != MACKO_PREFER_MEMORY;
  double time = compared ? time_to_beat(c->options, &m->plan) : 0;
  int rival = -1;
  macko_status s = c->planned[i] ? MACKO_OK : plan_rival(c, i, &time, &rival, err);
  if (!s) s = plan_one(c, i, time, err);
  if (s || !c->planned[i]) return s;
  if (rival >= 0 && c->plans[i].time >= time) c->sure[rival] = 1;
  else if (!m->ops || replaces(c->options, &c->plans[i], &m->plan))
    m->format = (macko_format)i, m->ops = macko_formats[i], m->plan = c->plans[i];
  return MACKO_OK;
}

/* Sets format and plan of m. Formats are compared in the order of formats.def, and the last refusal is reported when none can hold
 * the matrix. */
static macko_status choose(const macko_facts *f, const macko_options *options, macko_matrix *m, macko_error *err)
{
  choosing c = {.f = f, .options = options, .m = m};
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) {
    const int candidate = is_candidate(&c, i);
    macko_status s = candidate ? try_format(&c, i, err) : MACKO_OK;
    if (s) return s;
    if (!candidate) c.planned[i] = 0;
  }
  if (m->ops) compare_formats(options, c.plans, c.planned, m->format, &m->plan);
  return m->ops ? MACKO_OK : c.refused;
}

/* Does what encode and predict do before they part: *m is a matrix without sections. */
static macko_status open_matrix(const macko_facts *f, const macko_options *options, macko_matrix *m, macko_error *err)
{
  const macko_csr *a = f->csr;
  *m = (macko_matrix){.options = *options, .value_type = a->value_type, .nrows = a->nrows, .ncols = a->ncols, .nnz = f->nnz};
  return choose(f, options, m, err);
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
    s = macko_fail(err, MACKO_UNSUPPORTED, "prefer measured times products on a CPU; on a GPU prefer is time or memory");
  return s ? s : new_matrix(f, &settled, matrix, err);
}

/* Settles the options and checks *csr: *a is sorted, and *owned, which the caller frees, what it had to be copied to. Nothing is
 * left to free after a failure. */
static macko_status check_input(const macko_csr *csr, const macko_options *options, macko_options *settled, macko_csr *a,
                                void **owned, macko_error *err)
{
  macko_status s = macko_settle_options(options, settled, err);
  if (!s) s = macko_sort_csr(csr, a, owned, err);
  if (!s) s = macko_check_overflow(a, settled, csr->index_base, err);
  if (s) free(*owned), *owned = NULL;
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

macko_status macko_encode_sorted(const macko_csr *a, const macko_options *options, int lent, macko_matrix **matrix,
                                 macko_error *err)
{
  const macko_format_ops *asked = options->format == MACKO_FORMAT_AUTO ? NULL : macko_formats[options->format];
  macko_findings found = {.csr = a, .handed_on = 1, .lent = lent};
  if (!asked || !asked->encode_rows || (lent && asked->borrows)) return plan_and_encode(&found, options, matrix, err);
  macko_rows rows = macko_rows_of(a); /* plans and encodes in one go, so that what plan has counted is not counted again */
  return macko_encode_in_pieces(&rows, options, asked, matrix, err);
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
static macko_status encode(const macko_csr *csr, const macko_options *options, int lent, macko_matrix **matrix, macko_error *err)
{
  macko_options settled;
  macko_csr a;
  void *owned = NULL;
  if (!csr || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and matrix must not be NULL");
  macko_status s = check_input(csr, options, &settled, &a, &owned, err);
  if (s) return s;
  s = settled.prefer == MACKO_PREFER_MEASURED ? macko_encode_measured(&a, &settled, lent && !owned, matrix, err)
                                              : macko_encode_sorted(&a, &settled, lent && !owned, matrix, err);
  if (!s) (*matrix)->pattern = macko_pattern_of_csr(&a);
  free(owned);
  return s;
}

macko_status macko_encode(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  return encode(csr, options, 0, matrix, err);
}

macko_status macko_encode_borrowed(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  return encode(csr, options, 1, matrix, err);
}

macko_status macko_foresee(const macko_csr *a, const macko_options *options, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a};
  macko_facts facts = macko_host_facts(&found);
  macko_status s = open_matrix(&facts, options, m, err);
  forget_others(&found, -1);
  return s;
}

macko_status macko_predict(const macko_csr *csr, const macko_options *options, macko_info *info, macko_error *err)
{
  macko_options settled;
  macko_csr a;
  macko_matrix m;
  void *owned = NULL;
  if (!csr || !info) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and info must not be NULL");
  macko_status s = check_input(csr, options, &settled, &a, &owned, err);
  if (!s) s = macko_foresee(&a, &settled, &m, err);
  free(owned);
  if (s) return s;
  macko_get_info(&m, info);
  info->bytes = m.plan.bytes;
  info->reason = NULL;
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
  if (csr->nrows != m->nrows || csr->ncols != m->ncols || csr->value_type != m->value_type)
    return macko_fail(err, MACKO_INVALID_MATRIX,
                      "a matrix of %lld x %lld values of type %s cannot refresh one of %lld x %lld, %s", (long long)csr->nrows,
                      (long long)csr->ncols, macko_type_name(csr->value_type), (long long)m->nrows, (long long)m->ncols,
                      macko_type_name(m->value_type));
  macko_status s = match_pattern(m, csr, &a, &owned, err);
  if (!s) s = macko_check_overflow(&a, &m->options, csr->index_base, err);
  if (!s && owned) s = macko_own_arrays(m, err); /* arrays that are about to go */
  if (!s) s = m->ops->refresh(&a, m, err);
  if (!s) s = macko_prepare(m, err);
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
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "%lld rows from row %lld on are not there: the matrix has %lld", (long long)count,
                      (long long)first, (long long)matrix->nrows);
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
  if (k < 0) return macko_fail(err, MACKO_INVALID_ARGUMENT, "k is %lld, a count of vectors cannot be negative", (long long)k);
  if (k > 1 && (ldx < nx || ldy < ny))
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "ldx %lld and ldy %lld must be at least %lld and %lld", (long long)ldx,
                      (long long)ldy, (long long)nx, (long long)ny);
  if (k == 0 || ny == 0) return MACKO_OK;
  if (!y || (nx > 0 && !x)) return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y must not be NULL");
  macko_product p = {op, vector_type, k, alpha, beta, x, ldx, y, ldy};
  if (alpha == 0 || m->nnz == 0) return macko_scale(&p, ny), MACKO_OK;
  if (macko_vectors_overlap(&p, nx, ny)) return macko_fail(err, MACKO_INVALID_ARGUMENT, "x and y overlap: a product cannot be made in place");
  return m->ops->multiply(m, &p, err);
}

/* Gives the seconds that a product is predicted to take where the matrix is stored as plain CSR; 0 where that is not known. The
 * pattern may be out of reach, so that rows of uneven length are not counted. */
static double csr_seconds(const macko_matrix *m)
{
  const macko_csr sizes = {.nrows = m->nrows, .ncols = m->ncols, .value_type = m->value_type};
  const macko_facts facts = {.csr = &sizes, .nnz = m->nnz, .values = {.value_type = m->value_type}};
  macko_options options;
  macko_plan plan = {0};
  macko_options_init(&options);
  options.values = MACKO_VALUES_RAW, options.target = m->options.target;
  return macko_csr_ops.plan(&facts, &options, &plan, NULL) ? 0 : 1e-9 * plan.time;
}

void macko_get_info(const macko_matrix *m, macko_info *info)
{
  int64_t ptr_bytes = m->nnz > INT32_MAX ? 8 : 4, col_bytes = m->ncols > INT32_MAX ? 8 : 4;
  *info = (macko_info){.format = m->format, .value_type = m->value_type, .stored_type = m->plan.stored_type,
                       .values = m->plan.values, .layout = m->plan.layout, .variant = m->plan.variant, .gap_bits = m->plan.gap_bits,
                       .lossy = m->plan.lossy, .nrows = m->nrows, .ncols = m->ncols, .nnz = m->nnz, .nsections = m->nsections,
                       .seconds = 1e-9 * m->plan.time, .csr_seconds = csr_seconds(m), .reason = m->plan.reason};
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
