/* Plain CSR: what no format improves, and the reference in every comparison. Values are stored as they are, or rounded where that
 * is asked for. */
#include "core/cost.h"
#include "core/cpu.h"
#include "core/facts.h"
#include "core/product.h"
#include "core/threads.h"
#include "values/codecs.h"

#include <stdio.h>
#include <string.h>

/* Sections by their place in a matrix. */
enum { ROW_PTR, COLS, VALUES, SECTIONS };

/* LONG_ROWS is how many entries a row must have on average for CSR_WIDTH entries at a time to be faster where the matrix is in a
 * cache; elsewhere half as many are enough. CSR_GROUP is the most vectors of a pass. */
enum { LONG_ROWS = 6, CSR_WIDTH = 4, CSR_GROUP = 4 };

/* What planning asks of a matrix besides its values: how many rows take another number of steps than the row before. Where the
 * arrays are out of the host's reach planning does without. */
typedef struct {
  double (*uneven_rows)(void *context);
} csr_facts;

/* The forms of format csr. On a GPU values are raw only, because kernels read them as they are. */
static const macko_form forms[] = {
  {.values = MACKO_HAS(VALUES_RAW) | MACKO_HAS(VALUES_F32) | MACKO_HAS(VALUES_F16) | MACKO_HAS(VALUES_BF16)},
  {.values = MACKO_HAS(VALUES_RAW), .target = MACKO_HAS(TARGET_GPU)}};

/* Gives the entries that the loops take in one step. */
static int64_t entries_of_step(const macko_csr *a, int64_t nnz)
{
  return nnz < LONG_ROWS * a->nrows ? 1 : CSR_WIDTH;
}

/* Counts rows that take another number of steps than the one before in a stretch of 256 of every 4096 rows, and gives the number
 * that all rows have in proportion. Such a row ends its loop where the processor did not expect it. */
static double host_uneven_rows(void *context)
{
  enum { STRETCH = 256, EVERY = 4096 };
  const macko_findings *found = context;
  const int64_t nrows = found->csr->nrows, step = entries_of_step(found->csr, macko_found_nnz(found));
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_csr a;
  int64_t seen = 0, uneven = 0, before = 0;
  for (int64_t first = 0; first < nrows; first += EVERY) {
    const int64_t past = first + STRETCH < nrows ? first + STRETCH : nrows;
    if (macko_view_rows(rows, first, past - first, &room, &a, NULL)) break; /* the next pass over the rows tells why */
    for (int64_t i = first; i < past; i++, seen++) {
      int64_t steps = (macko_csr_row(&a, i + 1) - macko_csr_row(&a, i) + step - 1) / step;
      uneven += i > first && steps != before;
      before = steps;
    }
  }
  macko_free_assembly(&room);
  return seen ? (double)uneven / (double)seen * (double)nrows : 0;
}

static const csr_facts host_facts = {host_uneven_rows};

/* Gives how many of those rows a processor does not foresee: it remembers about MACKO_LEARNT_ROWS of them from one product to the
 * next. */
static double missed_rows(const macko_facts *f)
{
  const csr_facts *ask = f->of_format[MACKO_FORMAT_CSR];
  const int64_t rows = f->csr->nrows;
  return ask && rows > MACKO_LEARNT_ROWS ? ask->uneven_rows(f->context) * (1 - (double)MACKO_LEARNT_ROWS / (double)rows) : 0;
}

/* Plans format csr. The codec is what was asked for or raw: nothing is chosen here, because this format is what others are
 * compared with. */
static macko_status plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  int64_t nnz = f->nnz, indices = (a->nrows + 1) * macko_type_bytes(macko_index_type(nnz));
  macko_values wanted = options->values == MACKO_VALUES_AUTO ? MACKO_VALUES_RAW : options->values;
  macko_codec codecs[3];
  int count;
  macko_status s = macko_codecs_by(&f->values, wanted, MACKO_DICT_LIMIT, codecs, &count, err);
  if (s) return s;
  plan->values = codecs[0].values, plan->stored_type = codecs[0].stored_type, plan->lossy = codecs[0].lossy;
  int64_t size = macko_type_bytes(plan->stored_type);
  plan->bytes = indices + nnz * (macko_type_bytes(macko_index_type(a->ncols)) + size);
  /* Vectors have the type of values as a rule: for those of f64 and f32 there are loops with AVX2, which short rows of f32 gain
   * less from, and a GPU nothing. */
  const int steps = options->target == MACKO_TARGET_CPU && entries_of_step(a, nnz) > 1;
  const int wide = size >= 4 && (a->value_type == MACKO_F64 || steps);
  double entry = wide ? cost->csr_entry : size == 4 ? cost->csr_single : cost->csr_half;
  const double miss = entries_of_step(a, nnz) > 1 ? cost->csr_long_miss : cost->csr_miss;
  plan->work = (double)nnz * entry + (double)a->nrows * cost->csr_row + missed_rows(f) * miss +
               (double)(nnz < MACKO_FILLING_ENTRIES ? nnz : MACKO_FILLING_ENTRIES) * cost->csr_filling;
  macko_set_time(options, a, plan);
  snprintf(plan->reason, sizeof plan->reason, "plain CSR, %s columns, %s row pointers, values as %s",
           macko_type_name(macko_index_type(a->ncols)), macko_type_name(macko_index_type(nnz)),
           macko_type_name(plan->stored_type));
  return MACKO_OK;
}

/* Plans new values: columns and the type of the values stay, and only whether rounding changes a value is asked again. */
static macko_status plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  *plan = m->plan;
  if (plan->stored_type == m->value_type) return MACKO_OK;
  return f->values.misfit(f->values.context, plan->stored_type, &plan->lossy, err);
}

/* Lists the sections, of which the first two tell of the pattern. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  list[ROW_PTR] = macko_pattern_section("row_ptr", macko_index_type(m->nnz), m->nrows + 1);
  list[COLS] = macko_pattern_section("cols", macko_index_type(m->ncols), m->nnz);
  list[VALUES] = macko_value_section("values", m->plan.stored_type, m->nnz);
  return SECTIONS;
}

/* Gives the codec of the values; format csr never has a dictionary. */
static macko_codec codec_of(const macko_matrix *m)
{
  return (macko_codec){m->plan.values, m->plan.stored_type, m->plan.lossy, 0};
}

/* The context of copying rows of a csr into the matrix, all of it or a piece, whose row 0 is row `row` and whose first entry is
 * entry `entry` of the matrix. */
typedef struct {
  const macko_csr *a;
  macko_matrix *m;
  int64_t row, entry, begin; /* begin: where the first entry is in the arrays of *a */
} copying;

/* Writes the values of entries from .. past - 1 of the piece. Without a dictionary a writer is the same for all parts and needs
 * nothing that could fail, so that each part opens its own. */
static void write_values(const copying *c, int64_t from, int64_t past)
{
  const macko_codec codec = codec_of(c->m);
  char *values = c->m->sections[VALUES].data;
  int64_t size = macko_type_bytes(c->m->value_type), at = c->begin + from;
  macko_value_writer w;
  if (codec.stored_type == c->m->value_type) {
    if (from < past) memcpy(values + (c->entry + from) * size, (const char *)c->a->values + at * size, (size_t)((past - from) * size));
    return;
  }
  macko_open_writer(c->a, &codec, values, NULL, &w, NULL);
  macko_write_values(&w, at, past - from, c->entry + from, 1);
  macko_close_writer(&w);
}

/* Writes number `from` of an array of indices and those after it, each less base, to `count` elements of the section from element
 * `to` on. Types most often agree, and then bytes are copied. */
static void copy_indices(macko_section *s, int64_t to, int64_t count, macko_type type, const void *array, int64_t from, int64_t base)
{
  int64_t size = macko_type_bytes(s->type);
  if (s->type == type && base == 0 && count > 0)
    memcpy((char *)s->data + to * size, (const char *)array + from * size, (size_t)(count * size));
  else if (s->type == MACKO_I32)
    for (int64_t i = 0; i < count; i++) ((int32_t *)s->data)[to + i] = (int32_t)(macko_index(type, array, from + i) - base);
  else
    for (int64_t i = 0; i < count; i++) ((int64_t *)s->data)[to + i] = macko_index(type, array, from + i) - base;
}

/* Copies row starts from .. past - 1 of the piece, moved so that they count the entries of the matrix. The one behind the last
 * row is there again as the first of the next piece. */
static void copy_rows(void *context, int part, int64_t from, int64_t past)
{
  const copying *c = context;
  (void)part;
  copy_indices(&c->m->sections[ROW_PTR], c->row + from, past - from, c->a->row_ptr_type, c->a->row_ptr, from,
               c->a->index_base + c->begin - c->entry);
}

/* This is the macko_part of new values. */
static void copy_values(void *context, int part, int64_t from, int64_t past)
{
  const copying *c = context;
  (void)part;
  write_values(c, from, past);
}

/* Copies columns and values of entries from .. past - 1 of the piece. */
static void copy_entries(void *context, int part, int64_t from, int64_t past)
{
  const copying *c = context;
  copy_indices(&c->m->sections[COLS], c->entry + from, past - from, c->a->col_type, c->a->cols, c->begin + from, c->a->index_base);
  copy_values(context, part, from, past);
}

/* ---- encode: rows are counted, looked at where rounding asks for it, and copied, a piece at a time ---- */

/* Gets the piece that begins with row `first`, and the number of its entries. */
static macko_status next_piece(macko_rows *rows, int64_t first, macko_csr *piece, int64_t *entries, macko_error *err)
{
  int64_t step = macko_rows_step(rows), left = rows->nrows - first;
  macko_status s = macko_get_rows(rows, first, step < left ? step : left, piece, err);
  if (!s) *entries = macko_csr_row(piece, piece->nrows) - macko_csr_row(piece, 0);
  return s;
}

/* Copies all rows. A piece that has changed since it was counted, which its hashes may have missed, must not be written beyond
 * the sections, so that entries are counted against those that are left. */
static macko_status copy_pieces(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_csr piece = {0};
  int64_t entries = 0, before = 0;
  for (int64_t first = 0; !s && first < rows->nrows; first += piece.nrows, before += entries) {
    s = next_piece(rows, first, &piece, &entries, err);
    int64_t left = m->nnz - before;
    if (!s && (first + piece.nrows == rows->nrows ? entries != left : entries > left))
      s = macko_fail(err, MACKO_INVALID_MATRIX, "the matrix no longer has the %lld entries that were counted", (long long)m->nnz);
    if (s) return s;
    copying c = {&piece, m, first, before, macko_csr_row(&piece, 0)};
    const macko_cut starts = {.n = piece.nrows + 1}, all = {.n = entries};
    macko_do_parts(&starts, macko_parts(piece.nrows), copy_rows, &c);
    macko_do_parts(&all, macko_parts(entries), copy_entries, &c);
  }
  return s;
}

/* ---- borrowed: the caller's arrays where they are what would be stored ---- */

/* Tells whether the caller's arrays are, byte for byte, what the sections would be. An empty matrix has nothing to borrow. */
static int same_arrays(const macko_csr *a, const macko_matrix *m)
{
  return m->nnz > 0 && a->index_base == 0 && a->row_ptr_type == macko_index_type(m->nnz) &&
         a->col_type == macko_index_type(m->ncols) && m->plan.stored_type == m->value_type;
}

/* Makes sections of the caller's arrays. The const is cast away because sections of other formats are written; nothing writes
 * into these while they are borrowed. */
static void borrow_arrays(const macko_csr *a, macko_matrix *m)
{
  m->nsections = sections(m, m->sections);
  m->sections[ROW_PTR].data = (void *)a->row_ptr, m->sections[COLS].data = (void *)a->cols;
  m->sections[VALUES].data = (void *)a->values;
  m->borrowed = 1;
}

/* Fills the sections, or borrows them where that is allowed. */
static macko_status encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  if (found->lent && same_arrays(found->csr, m)) return borrow_arrays(found->csr, m), MACKO_OK;
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_status s = macko_add_sections(m, 0, err);
  return s ? s : copy_pieces(rows, m, err);
}

/* Counts entries and plans by them, as no csr has told how many there are, and copies. */
static macko_status encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  const macko_csr shape = {.nrows = rows->nrows, .ncols = rows->ncols, .value_type = rows->value_type};
  macko_status s = macko_count_entries(rows, &m->nnz, err);
  const macko_facts facts = {.csr = &shape, .nnz = m->nnz, .values = macko_facts_of_rows(rows)};
  if (!s) s = plan(&facts, &m->options, &m->plan, err);
  if (!s) s = macko_add_sections(m, 0, err);
  return s ? s : copy_pieces(rows, m, err);
}

/* Takes new values. Whatever can fail comes first: the plan, then copies of borrowed arrays that the new ones do not replace. */
static macko_status refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a};
  macko_facts f = macko_host_facts(&found);
  macko_plan plan;
  macko_status s = plan_values(&f, m, &plan, err);
  if (!s && m->borrowed && same_arrays(a, m)) return borrow_arrays(a, m), MACKO_OK;
  if (!s) s = macko_own_arrays(m, err);
  if (s) return s;
  m->plan = plan;
  const macko_cut entries = {.n = m->nnz};
  copying c = {.a = a, .m = m};
  macko_do_parts(&entries, macko_parts(m->nnz), copy_values, &c);
  return MACKO_OK;
}

/* Writes the sections back, in 64-bit indices, and values in the matrix's own type. */
static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  (void)err;
  for (int64_t i = 0; row_ptr && i <= m->nrows; i++) row_ptr[i] = macko_index_at(&m->sections[ROW_PTR], i);
  for (int64_t p = 0; cols && p < m->nnz; p++) cols[p] = macko_index_at(&m->sections[COLS], p);
  macko_value_stream stream = {m->sections[VALUES].data, NULL};
  if (values && m->plan.stored_type != m->value_type)
    macko_read_values(&m->plan, m->value_type, &stream, 0, 1, m->nnz, values, 0);
  else if (values && m->nnz) memcpy(values, stream.stream, (size_t)m->sections[VALUES].bytes);
  return MACKO_OK;
}

/* Entries are in the order of the rows, so that any of them can be copied alone. */
static void decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  const macko_value_stream stream = {m->sections[VALUES].data, NULL};
  const int64_t begin = starts[first], count = starts[past] - begin, size = macko_type_bytes(m->value_type);
  for (int64_t p = 0; cols && p < count; p++) cols[p] = macko_index_at(&m->sections[COLS], begin + p);
  if (values && m->plan.stored_type != m->value_type)
    macko_read_values(&m->plan, m->value_type, &stream, begin, 1, count, values, 0);
  else if (values && count) memcpy(values, (const char *)stream.stream + begin * size, (size_t)(count * size));
}

/* Checks the types, then that row starts run from 0 to nnz without falling, then that columns rise strictly and are inside, which
 * also proves that no row has duplicates. */
static macko_status validate(const macko_matrix *m, macko_error *err)
{
  macko_type stored = m->plan.stored_type;
  if (stored != m->value_type && ((unsigned)stored > MACKO_BF16 || macko_type_bytes(stored) > macko_type_bytes(m->value_type)))
    return macko_fail(err, MACKO_CORRUPT, "values of type %s are stored as type %d, no float that is as narrow",
                      macko_type_name(m->value_type), (int)stored);
  macko_status s = macko_check_sections(m, err);
  if (s) return s;
  if (macko_index_at(&m->sections[ROW_PTR], 0) != 0 || macko_index_at(&m->sections[ROW_PTR], m->nrows) != m->nnz)
    return macko_fail(err, MACKO_CORRUPT, "row_ptr does not run from 0 to %lld", (long long)m->nnz);
  for (int64_t i = 0; i < m->nrows; i++) {
    int64_t begin = macko_index_at(&m->sections[ROW_PTR], i), end = macko_index_at(&m->sections[ROW_PTR], i + 1);
    if (end < begin || end > m->nnz)
      return macko_fail(err, MACKO_CORRUPT, "row_ptr goes from %lld to %lld at row %lld", (long long)begin, (long long)end,
                        (long long)i);
    for (int64_t p = begin, before = -1; p < end; p++) {
      int64_t col = macko_index_at(&m->sections[COLS], p);
      if (col <= before || col >= m->ncols)
        return macko_fail(err, MACKO_CORRUPT,
                          "column %lld at entry %lld of row %lld is outside 0..%lld or not after the one before",
                          (long long)col, (long long)p, (long long)i, (long long)m->ncols - 1);
      before = col;
    }
  }
  return MACKO_OK;
}

/* Multiplies rows from .. to - 1 with `group` vectors, for every combination of types; all of them are constants in the calls,
 * which makes each instance a plain loop. Sums are double. Op T adds the multiples of row i to y, which has been scaled
 * before. */
static inline __attribute__((always_inline)) void multiply_as(const macko_matrix *m, const macko_product *to_do, macko_type rows,
                                                              macko_type col_type, macko_type values, macko_type vector, macko_op op,
                                                              int group, int64_t from, int64_t to)
{
  const macko_product own = *to_do, *q = &own; /* a copy that no write to y can change, as a compiler sees */
  const void *row_ptr = m->sections[ROW_PTR].data, *cols = m->sections[COLS].data, *v = m->sections[VALUES].data;
  for (int64_t i = from; i < to; i++) {
    int64_t end = macko_index(rows, row_ptr, i + 1);
    double sum[MACKO_GROUP] = {0};
    if (op == MACKO_OP_T)
      for (int j = 0; j < group; j++) sum[j] = q->alpha * macko_x(vector, q, j, i);
    for (int64_t p = macko_index(rows, row_ptr, i); p < end; p++) { /* this start does not wait for the row before */
      int64_t col = macko_index(col_type, cols, p);
      double value = macko_float_at(values, v, p);
      for (int j = 0; j < group; j++)
        if (op == MACKO_OP_N) sum[j] += value * macko_x(vector, q, j, col);
        else macko_add_y(vector, q, j, col, value * sum[j]);
    }
    if (op == MACKO_OP_N)
      for (int j = 0; j < group; j++) macko_put_y(vector, q, j, i, sum[j]);
  }
}

/* A matrix for the loops with AVX2: f64 or f32 values and 32-bit columns, which is what solvers multiply most. */
typedef struct {
  macko_type row_ptr_type;
  int64_t nnz;
  const void *row_ptr;
  const int32_t *cols;
  const void *values;
} csr_view;

/* Bytes up to which a matrix is taken to stay in a cache between products. */
enum { CACHED_BYTES = 16 << 20 };

#if MACKO_HAS_X86_64
#include <immintrin.h>
#include "csr/csr_avx2.h"
#include "csr/csr_packed.h"

/* Gives that view of a matrix that has such types. */
static csr_view view_of(const macko_matrix *m)
{
  return (csr_view){m->sections[ROW_PTR].type, m->nnz, m->sections[ROW_PTR].data, m->sections[COLS].data, m->sections[VALUES].data};
}

/* Tells whether the matrix is likely in a cache: then a prefetch costs a load and saves nothing (0.85 of the time without, Zen
 * 4). */
static int is_cached(const macko_matrix *m)
{
  return m->plan.bytes < CACHED_BYTES;
}
#endif

/* Tells whether the loops with AVX2 take this matrix and this product. A plain loop wastes less of short rows, which counts where
 * nothing waits for memory. */
static int has_wide(const macko_matrix *m, const macko_product *p)
{
#if MACKO_HAS_X86_64
  if (m->nnz < (is_cached(m) ? LONG_ROWS : LONG_ROWS / 2) * m->nrows) return 0;
  return p->op == MACKO_OP_N && m->sections[COLS].type == MACKO_I32 && macko_has_avx2() &&
         (m->plan.stored_type == MACKO_F32 ? p->vector_type == MACKO_F64 || p->vector_type == MACKO_F32
                                           : m->plan.stored_type == MACKO_F64 && p->vector_type == MACKO_F64);
#else
  return (void)m, (void)p, 0;
#endif
}

/* Multiplies with the loops of csr_avx2.h, as many vectors at a time as they take; gives 0, and does nothing, where they do not
 * take this product. */
static int multiply_wide(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
#if MACKO_HAS_X86_64
  const csr_view a = view_of(m);
  const int kind = m->plan.stored_type == MACKO_F64 ? 0 : p->vector_type == MACKO_F64 ? 1 : 2;
  if (!has_wide(m, p)) return 0;
  for (int64_t j = 0, group; j < p->k; j += group) {
    const macko_product q = macko_product_from(p, j);
    group = p->k - j >= 4 ? 4 : p->k - j >= 2 ? 2 : 1;
    csr_kernels[kind][!is_cached(m)][group / 2](&a, &q, from, to);
  }
  return 1;
#else
  (void)m, (void)p, (void)from, (void)to;
  return 0;
#endif
}

/* This is the macko_pieces of format csr: rows from .. to - 1. Types that most matrices have are constants; all others share one
 * instance that asks for them in the loop. */
static void multiply_rows(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  const int narrow = m->sections[COLS].type == MACKO_I32 && m->sections[ROW_PTR].type == MACKO_I32;
  const macko_type rows = m->sections[ROW_PTR].type, stored = m->plan.stored_type;
  if (multiply_wide(m, p, from, to)) return;
#define F64_MATRIX(vector, op, group) multiply_as(m, &q, MACKO_I32, MACKO_I32, MACKO_F64, vector, op, group, from, to)
#define F32_MATRIX(vector, op, group) multiply_as(m, &q, MACKO_I32, MACKO_I32, MACKO_F32, vector, op, group, from, to)
#define ANY_MATRIX(vector, op, group) multiply_as(m, &q, rows, m->sections[COLS].type, stored, vector, op, group, from, to)
  if (narrow && stored == MACKO_F64) MACKO_FOR_GROUPS(p, q, F64_MATRIX)
  else if (narrow && stored == MACKO_F32) MACKO_FOR_GROUPS(p, q, F32_MATRIX)
  else MACKO_FOR_GROUPS(p, q, ANY_MATRIX)
}

/* Multiplies vectors three or four at a time with the loops of csr_packed.h, and gives how many have been done. None are where
 * putting them side by side would take longer than it saves, which takes more entries a column where the packed vectors do not
 * fit the second-level cache, or where there is no memory for it. */
static int64_t multiply_side_by_side(const macko_matrix *m, const macko_product *p, const macko_cut *rows)
{
  int64_t done = 0;
#if MACKO_HAS_X86_64
  const int parts = macko_parts(m->nnz);
  const macko_cut columns = {.n = m->ncols};
  const int64_t bytes = (m->ncols + 1) * (int64_t)sizeof(csr_vector), least = bytes <= macko_machine_caches().middle ? 4 : 16;
  if (p->k < 3 || m->nnz < least * m->ncols || p->vector_type != MACKO_F64 || !has_wide(m, p)) return 0;
  csr_packing c = {.a = view_of(m), .stored = m->plan.stored_type};
  void *room = malloc((size_t)bytes); /* aligned_alloc would get new pages from the system each time */
  c.side_by_side = (csr_vector *)(((uintptr_t)room + sizeof *c.side_by_side - 1) & ~(uintptr_t)(sizeof *c.side_by_side - 1));
  for (; room && p->k - done >= 3; done += c.columns) {
    c.p = macko_product_from(p, done), c.columns = p->k - done >= CSR_WIDTH ? CSR_WIDTH : 3;
    macko_do_parts(&columns, parts, csr_pack, &c);
    macko_do_parts(rows, parts, csr_multiply_packed, &c);
  }
  free(room);
#else
  (void)m, (void)p, (void)rows;
#endif
  return done;
}

/* Does vectors side by side as far as that pays and the others after them. The cut is by entries, so that parts of uneven rows
 * take as long. */
static macko_status multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  const macko_cut cut = {m->nrows, m->sections[ROW_PTR].type, m->sections[ROW_PTR].data, 1, m->nnz};
  const int64_t done = multiply_side_by_side(m, p, &cut);
  macko_product rest = macko_product_from(p, done);
  rest.k -= done;
  if (rest.k) macko_share_product(m, &rest, multiply_rows, &cut);
  return MACKO_OK;
}

static const char *const section_names[] = {"row_ptr", "cols", "values", NULL};

const macko_format_ops macko_csr_ops = {
  .plan = plan,
  .facts = &host_facts,
  .forget = NULL,
  .plan_values = plan_values,
  .sections = sections,
  .section_names = section_names,
  .encode = encode,
  .refresh = refresh,
  .prepare = NULL, /* products read the sections */
  .decode = decode,
  .validate = validate,
  .multiply = multiply,
  .encode_rows = encode_rows,
  .may_win = NULL,     /* planned at once */
  .forms = forms,
  .nforms = sizeof forms / sizeof *forms,
  .in_pieces = 1,
  .decode_rows = decode_rows,
  .borrows = 1};
