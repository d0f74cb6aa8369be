/* Format csr written: rows of a csr copied in parts, or its arrays borrowed where they are what would be stored. */
#include "core/threads.h"
#include "csr/csr.h"
#include "values/codecs.h"

#include <string.h>

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
    if (from < past)
      memcpy(values + (c->entry + from) * size, (const char *)c->a->values + at * size, (size_t)((past - from) * size));
    return;
  }
  macko_open_writer(c->a, &codec, values, NULL, &w, NULL);
  macko_write_values(&w, at, past - from, c->entry + from, 1);
  macko_close_writer(&w);
}

/* Writes number `from` of an array of indices and those after it, each less base, to `count` elements of the section from element
 * `to` on. Types most often agree, and then bytes are copied. */
static void copy_indices(macko_section *s, int64_t to, int64_t count, macko_type type, const void *array, int64_t from,
                         int64_t base)
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
  m->nsections = m->ops->sections(m, m->sections);
  m->sections[ROW_PTR].data = (void *)a->row_ptr, m->sections[COLS].data = (void *)a->cols;
  m->sections[VALUES].data = (void *)a->values;
  m->borrowed = 1;
}

/* Fills the sections, or borrows them where that is allowed. */
macko_status macko_csr_encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  if (found->lent && same_arrays(found->csr, m)) return borrow_arrays(found->csr, m), MACKO_OK;
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_status s = macko_add_sections(m, 0, err);
  return s ? s : copy_pieces(rows, m, err);
}

/* Counts entries and plans by them, as no csr has told how many there are, and copies. */
macko_status macko_csr_encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  const macko_csr shape = {.nrows = rows->nrows, .ncols = rows->ncols, .value_type = rows->value_type};
  macko_status s = macko_count_entries(rows, &m->nnz, err);
  macko_findings found = {.csr = &shape, .rows = rows, .others = m->others};
  rows->nnz = m->nnz;
  macko_facts facts = macko_host_facts(&found);
  facts.values = macko_facts_of_rows(rows);
  if (!s) s = m->ops->plan(&facts, &m->options, &m->plan, err);
  if (!s) s = macko_add_sections(m, 0, err);
  return s ? s : copy_pieces(rows, m, err);
}

/* Takes new values. Whatever can fail comes first: the plan, then copies of borrowed arrays that the new ones do not replace. */
macko_status macko_csr_refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a, .others = m->others};
  macko_facts f = macko_host_facts(&found);
  macko_plan plan;
  macko_status s = m->ops->plan_values(&f, m, &plan, err);
  if (!s && m->borrowed && same_arrays(a, m)) return borrow_arrays(a, m), MACKO_OK;
  if (!s) s = macko_own_arrays(m, err);
  if (s) return s;
  m->plan = plan;
  const macko_cut entries = {.n = m->nnz};
  copying c = {.a = a, .m = m};
  macko_do_parts(&entries, macko_parts(m->nnz), copy_values, &c);
  return MACKO_OK;
}
