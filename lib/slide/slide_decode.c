/* Format slide read back: decode to CSR, and the check that no start, code, block or column leads outside the arrays. */
#include "slide/slide.h"

#include <string.h>

/* Adds an entry of the rest, by its number there, to *e. */
static void add_rest(const macko_slide_reader *r, int64_t number, macko_slide_entries *e)
{
  e->cols[e->count] = r->rest_cols[number];
  e->slots[e->count++] = r->first_rest + number;
}

/* Entries of windows come in the order of columns, as packing goes from the left; those of the rest are put between them. */
void macko_slide_read(const macko_slide_reader *r, int64_t cell, int64_t block, int64_t *rest, int64_t rest_end,
                      macko_slide_entries *e)
{
  const uint32_t positions = macko_slide_positions(r, cell);
  const int64_t first = block * 2 * r->n;
  e->count = 0;
  for (int s = 0; s < 2 * r->n - 2; s++) {
    const int window = macko_slide_window(positions, s / 2);
    if (!macko_slide_holds(window, s % 2)) continue;
    const int64_t col = first + s / 2 * 2 + macko_slide_column(window, s % 2);
    while (*rest < rest_end && r->rest_cols[*rest] < col) add_rest(r, (*rest)++, e);
    e->cols[e->count] = col, e->slots[e->count++] = macko_slide_slot(r->n, r->per, cell, s);
  }
  while (*rest < rest_end && r->rest_cols[*rest] < first + 2 * r->n) add_rest(r, (*rest)++, e);
}

/* ---- decode ---- */

/* Writes the columns and values of row i, from element p on; either output may be NULL. Returns the element behind them. */
static int64_t decode_row(const macko_matrix *m, const macko_slide_reader *r, int64_t i, int64_t p, int64_t *cols, void *values)
{
  const macko_value_stream v = macko_stream_of(m);
  macko_slide_entries e;
  int64_t first = macko_slide_start(r, i), end = macko_slide_start(r, i + 1);
  int64_t rest = macko_slide_rest(r, i), rest_end = macko_slide_rest(r, i + 1);
  for (int64_t cell = first; cell < end; cell++) {
    macko_slide_read(r, cell, macko_slide_block(r, first, cell), &rest, rest_end, &e);
    for (int j = 0; j < e.count; j++, p++) {
      if (cols) cols[p] = e.cols[j];
      if (values) macko_read_values(&m->plan, m->value_type, &v, e.slots[j], 1, 1, values, p);
    }
  }
  return p;
}

/* starts tells where each row goes, so that rows can be read from any one on. */
void macko_slide_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  const macko_slide_reader r = macko_slide_open(m);
  for (int64_t i = first; i < past; i++) decode_row(m, &r, i, starts[i] - starts[first], cols, values);
}

/* How many entries a row has is known once it is read, so that rows are read one after the other. */
macko_status macko_slide_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  const macko_slide_reader r = macko_slide_open(m);
  int64_t p = 0;
  (void)err;
  if (row_ptr) row_ptr[0] = 0;
  for (int64_t i = 0; i < m->nrows; i++) {
    p = decode_row(m, &r, i, p, cols, values);
    if (row_ptr) row_ptr[i + 1] = p;
  }
  return MACKO_OK;
}

/* ---- validate ---- */

/* Checks the numbers of a plan from outside, before sections are measured by them, and its codec. */
static macko_status validate_plan(const macko_matrix *m, macko_error *err)
{
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  if (m->ncols > INT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "format slide holds at most %d columns, not %lld", INT32_MAX, (long long)m->ncols);
  if (c->n < MACKO_SLIDE_LEAST || c->n > MACKO_SLIDE_MOST)
    return macko_fail(err, MACKO_CORRUPT, "blocks of %lld columns; they have 4 to %d", (long long)(uint64_t)c->n,
                      2 * MACKO_SLIDE_MOST);
  if (c->patterns < 0 || c->patterns > MACKO_SLIDE_PATTERNS || c->bits < 1 || c->bits > 4 * (c->n - 1) ||
      (!c->patterns && c->bits != 4 * (c->n - 1)))
    return macko_fail(err, MACKO_CORRUPT, "codes of %lld bits for %lld patterns", (long long)c->bits, (long long)c->patterns);
  if (c->cells < 0 || c->cells > INT64_MAX / 64 || c->rest < 0 || c->rest > INT64_MAX / 64 || c->every < 0 || c->every > 1)
    return macko_fail(err, MACKO_CORRUPT, "%lld cells (every: %lld) and %lld entries beside them", (long long)c->cells,
                      (long long)c->every, (long long)c->rest);
  return macko_check_codec(m, err);
}

/* Checks that starts do not fall, and run from 0 to `total`. */
static macko_status validate_starts(const macko_section *s, int64_t nrows, int64_t total, macko_error *err)
{
  int64_t before = 0;
  for (int64_t i = 0; i <= nrows; i++) {
    int64_t at = macko_index_at(s, i);
    if (at < before || at > total || (i == 0 && at) || (i == nrows && at != total))
      return macko_fail(err, MACKO_CORRUPT, "section %s has %lld for row %lld, behind %lld and of %lld at the end", s->name,
                        (long long)at, (long long)i, (long long)before, (long long)total);
    before = at;
  }
  return MACKO_OK;
}

/* Checks that no pattern has bits beyond its n - 1 windows. */
static macko_status validate_patterns(const macko_slide_reader *r, const macko_slide_counts *c, macko_error *err)
{
  for (int64_t i = 0; i < c->patterns; i++)
    if (r->patterns[i] >> 2 * (c->n - 1) >> 2 * (c->n - 1))
      return macko_fail(err, MACKO_CORRUPT, "pattern %lld is %08x, of more than %lld windows", (long long)i, r->patterns[i],
                        (long long)c->n - 1);
  return MACKO_OK;
}

/* This is a check under way: the matrix, and what the rows add up to. */
typedef struct {
  const macko_matrix *m;
  macko_slide_reader r;
  int64_t entries, empty;
} check;

/* Checks that the code of a cell is one of the table, its block inside the matrix, and that its columns, with those of the
 * rest in the block, rise inside the matrix. Windows need not be those that packing would write: any whose columns rise can
 * be read. */
static macko_status validate_cell(check *k, int64_t row, int64_t cell, int64_t block, int64_t *rest, int64_t rest_end,
                                  macko_error *err)
{
  const macko_slide_counts *c = macko_slide_counts_of(&k->m->plan);
  const int64_t code = macko_slide_code(k->r.codes, k->r.bits, cell);
  macko_slide_entries e;
  if (c->patterns && code >= c->patterns)
    return macko_fail(err, MACKO_CORRUPT, "cell %lld has code %lld; there are %lld patterns", (long long)cell, (long long)code,
                      (long long)c->patterns);
  if (block < 0 || block >= macko_slide_blocks(k->m->ncols, c->n) ||
      (*rest < rest_end && k->r.rest_cols[*rest] < block * 2 * c->n))
    return macko_fail(err, MACKO_CORRUPT, "cell %lld of row %lld is block %lld, which is outside, or an entry lies before it",
                      (long long)cell, (long long)row, (long long)block);
  const uint32_t positions = macko_slide_positions(&k->r, cell);
  for (int s = 0; s < 2 * k->r.n - 2; s++) k->empty += !macko_slide_holds(macko_slide_window(positions, s / 2), s % 2);
  macko_slide_read(&k->r, cell, block, rest, rest_end, &e);
  k->entries += e.count;
  for (int j = 0; j < e.count; j++)
    if (e.cols[j] >= k->m->ncols || (j && e.cols[j] <= e.cols[j - 1]))
      return macko_fail(err, MACKO_CORRUPT, "cell %lld of row %lld has column %lld, which is outside or not behind the one before",
                        (long long)cell, (long long)row, (long long)e.cols[j]);
  return MACKO_OK;
}

/* Checks that the columns of the rest of a row rise inside the matrix, so that a cell has no more of them than it has columns:
 * there is room for these in macko_slide_entries. */
static macko_status validate_rest(const check *k, int64_t row, int64_t rest, int64_t end, macko_error *err)
{
  for (int64_t before = -1; rest < end; rest++) {
    if (k->r.rest_cols[rest] <= before || k->r.rest_cols[rest] >= k->m->ncols)
      return macko_fail(err, MACKO_CORRUPT, "entry %lld of rest_cols, in row %lld, is %d: outside or not behind the one before",
                        (long long)rest, (long long)row, k->r.rest_cols[rest]);
    before = k->r.rest_cols[rest];
  }
  return MACKO_OK;
}

/* Checks row i: the rest first, as cells take it in; blocks rise, and every entry of the rest lies in the block of a cell. */
static macko_status validate_row(check *k, int64_t i, macko_error *err)
{
  int64_t first = macko_slide_start(&k->r, i), end = macko_slide_start(&k->r, i + 1), before = -1;
  int64_t rest = macko_slide_rest(&k->r, i), rest_end = macko_slide_rest(&k->r, i + 1);
  macko_status s = validate_rest(k, i, rest, rest_end, err);
  if (!s && k->r.blocks && end - first != k->r.blocks)
    return macko_fail(err, MACKO_CORRUPT, "row %lld has %lld cells, where every row should have %lld", (long long)i,
                      (long long)(end - first), (long long)k->r.blocks);
  for (int64_t cell = first; !s && cell < end; cell++) {
    int64_t block = macko_slide_block(&k->r, first, cell);
    if (block <= before)
      return macko_fail(err, MACKO_CORRUPT, "cell %lld of row %lld is block %lld, not behind %lld", (long long)cell, (long long)i,
                        (long long)block, (long long)before);
    s = validate_cell(k, i, cell, before = block, &rest, rest_end, err);
  }
  if (s || rest == rest_end) return s;
  return macko_fail(err, MACKO_CORRUPT, "column %d of rest_cols in row %lld is in no cell's block", k->r.rest_cols[rest],
                    (long long)i);
}

/* Starts are checked before any row is read by them, codes of values last. */
macko_status macko_slide_validate(const macko_matrix *m, macko_error *err)
{
  const macko_slide_counts *c = macko_slide_counts_of(&m->plan);
  macko_status s = validate_plan(m, err);
  if (!s) s = macko_check_sections(m, err);
  if (s) return s;
  /* Every section that the plan asks for is there now and has its length, which opening relies on. */
  check k = {.m = m, .r = macko_slide_open(m)};
  s = validate_starts(&k.r.starts, m->nrows, c->cells, err);
  if (!s && c->rest) s = validate_starts(&k.r.rest_ptr, m->nrows, c->rest, err);
  if (!s) s = validate_patterns(&k.r, c, err);
  for (int64_t i = 0; i < m->nrows && !s; i++) s = validate_row(&k, i, err);
  if (s) return s;
  if (k.entries != m->nnz || k.empty != c->empty)
    return macko_fail(err, MACKO_CORRUPT, "the rows hold %lld entries and %lld empty slots; the matrix %lld and the plan %lld",
                      (long long)k.entries, (long long)k.empty, (long long)m->nnz, (long long)c->empty);
  return macko_check_codes(m, err);
}
