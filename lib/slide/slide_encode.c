/* Format slide written: cells and the rest counted row by row, then filled in parts; values by reading the pattern back. */
#include "core/row_source.h"
#include "core/threads.h"
#include "slide/slide.h"

#include <stdlib.h>
#include <string.h>

/* This is what parts share while they write the pattern. */
typedef struct {
  const macko_csr *a; /* the piece at hand */
  int64_t row;        /* the number of its first row in the matrix */
  int changed;        /* 1 if a row is not what it was when it was counted: encoding fails then */
  macko_matrix *m;
  macko_slide_set *found;  /* the patterns that each part has met */
  uint8_t *codes;          /* where there is a table: the code of each pattern, which is the entries of a block as a number */
  const macko_section *starts, *rest_ptr, *blocks;
  uint32_t *positions;
  int32_t *rest_cols;
} packing;

/* ---- where rows begin, and which patterns there are ---- */

/* As a macko_part this writes how many cells and entries of the rest each row has, in the place of where the next row begins, and
 * notes which patterns there are. */
static void count_rows(void *context, int part, int64_t from, int64_t to)
{
  const packing *k = context;
  const int n = (int)macko_slide_counts_of(&k->m->plan)->n;
  for (int64_t i = from; i < to; i++) {
    int64_t cells = 0, rest = 0, block;
    for (int64_t p = macko_csr_row(k->a, i), end = macko_csr_row(k->a, i + 1); p < end; cells++) {
      uint32_t entries, left;
      p = macko_slide_next_block(k->a, n, p, end, &block, &entries);
      left = entries;
      macko_slide_pack(n, &left);
      macko_slide_add(&k->found[part], entries & ~left);
      rest += __builtin_popcount(left);
    }
    macko_put_index(k->starts, k->row + i + 1, cells);
    if (k->rest_ptr) macko_put_index(k->rest_ptr, k->row + i + 1, rest);
  }
}

/* Makes starts of the numbers of each row. INVALID_MATRIX unless there are as many in all as the plan expects; `what` says of
 * what. */
static macko_status sum_up(const macko_section *starts, int64_t nrows, int64_t expected, const char *what, macko_error *err)
{
  int64_t sum = 0;
  for (int64_t i = 0; i < nrows; i++) sum += macko_index_at(starts, i + 1), macko_put_index(starts, i + 1, sum);
  if (sum == expected) return MACKO_OK;
  return macko_fail(err, MACKO_INVALID_MATRIX, "the matrix no longer has the %lld %s that were counted", (long long)expected, what);
}

/* Fills the table of patterns, in the order of their entries as a number, so that it does not depend on which part met them
 * first; and the code of each. */
static macko_status fill_table(const packing *k, int parts, macko_error *err)
{
  const int n = (int)macko_slide_counts_of(&k->m->plan)->n;
  uint32_t *patterns = macko_section_data(k->m, "patterns");
  int count = 0;
  for (int i = 1; i < parts; i++)
    for (int w = 0; w < 1024; w++) k->found[0].words[w] |= k->found[i].words[w];
  for (uint32_t entries = 0; entries < 1u << 2 * n; entries++) {
    uint32_t left = entries;
    if (!macko_slide_has(&k->found[0], entries)) continue;
    if (count == macko_slide_counts_of(&k->m->plan)->patterns)
      return macko_fail(err, MACKO_INVALID_MATRIX, "the matrix no longer has the %d patterns that were counted", count);
    k->codes[entries] = (uint8_t)count;
    patterns[count++] = macko_slide_pack(n, &left);
  }
  return MACKO_OK;
}

/* ---- cells ---- */

/* Stores the code of a cell. Cells of two parts may lie in one word, so that bits are added to words that were zero, by one
 * operation that no thread can come between. */
static void put_code(uint32_t *words, int bits, int64_t cell, uint32_t code)
{
  const int64_t at = cell * bits;
  const uint64_t two = (uint64_t)code << at % 32;
  __atomic_fetch_or(&words[at / 32], (uint32_t)two, __ATOMIC_RELAXED);
  if (two >> 32) __atomic_fetch_or(&words[at / 32 + 1], (uint32_t)(two >> 32), __ATOMIC_RELAXED);
}

/* Writes a cell: its code, its block, and the columns that are left over into the rest from *rest on, which moves behind them. */
static void put_cell(const packing *k, int64_t cell, int64_t block, uint32_t entries, int64_t *rest)
{
  const macko_slide_counts *c = macko_slide_counts_of(&k->m->plan);
  uint32_t left = entries, positions = macko_slide_pack((int)c->n, &left);
  put_code(k->positions, (int)c->bits, cell, k->codes ? k->codes[entries & ~left] : positions);
  if (k->blocks && k->blocks->type == MACKO_I32) ((int32_t *)k->blocks->data)[cell] = (int32_t)block;
  else if (k->blocks) ((uint16_t *)k->blocks->data)[cell] = (uint16_t)block;
  for (; left; left &= left - 1) k->rest_cols[(*rest)++] = (int32_t)(block * 2 * c->n + __builtin_ctz(left));
}

/* Writes cells and rest of row i of the piece; 0 if it has not as many as were counted. None is written beyond the row's own
 * then. */
static int put_row(const packing *k, int64_t i)
{
  const int n = (int)macko_slide_counts_of(&k->m->plan)->n;
  const int64_t row = k->row + i, end = macko_index_at(k->starts, row + 1);
  const int64_t rest_end = k->rest_ptr ? macko_index_at(k->rest_ptr, row + 1) : 0;
  int64_t cell = macko_index_at(k->starts, row), rest = k->rest_ptr ? macko_index_at(k->rest_ptr, row) : 0, block;
  for (int64_t p = macko_csr_row(k->a, i), past = macko_csr_row(k->a, i + 1); p < past;) {
    uint32_t entries, left;
    p = macko_slide_next_block(k->a, n, p, past, &block, &entries);
    left = entries;
    macko_slide_pack(n, &left);
    /* A row that has grown since it was counted must not write over the next one. */
    if (cell == end || rest + __builtin_popcount(left) > rest_end) return 0;
    put_cell(k, cell++, block, entries, &rest);
  }
  return cell == end && rest == rest_end;
}

/* As a macko_part this writes rows from .. to - 1 of the piece. */
static void put_rows(void *context, int part, int64_t from, int64_t to)
{
  packing *k = context;
  (void)part;
  for (int64_t i = from; i < to; i++)
    if (!put_row(k, i)) __atomic_store_n(&k->changed, 1, __ATOMIC_RELAXED);
}

/* Has the work done for all rows, a piece after the other, each in parts: in no more than the matrix was to have, as each part
 * has a set of its own. INVALID_MATRIX where rows have changed. */
static macko_status for_pieces(macko_rows *rows, packing *k, macko_part work, macko_error *err)
{
  macko_csr piece = {0};
  macko_status s = MACKO_OK;
  for (k->row = 0; !s && k->row < rows->nrows && !k->changed; k->row += piece.nrows) {
    const int64_t step = macko_rows_step(rows), left = rows->nrows - k->row;
    s = macko_get_rows(rows, k->row, step < left ? step : left, &piece, err);
    if (s) return s;
    const macko_cut cut = rows->whole ? macko_cut_rows(&piece, 1) : (macko_cut){.n = piece.nrows};
    const int64_t entries = macko_csr_row(&piece, piece.nrows) - macko_csr_row(&piece, 0);
    k->a = &piece;
    macko_do_parts(&cut, macko_parts(entries < k->m->nnz ? entries : k->m->nnz), work, k);
  }
  if (k->changed) return macko_fail(err, MACKO_INVALID_MATRIX, "the rows are not what they were when they were counted");
  return MACKO_OK;
}

/* Adds the sections of the pattern to m and fills them. It reads the rows twice: where a row's cells go depends on all rows
 * before, and codes on all patterns. */
static macko_status encode_pattern(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  int parts = macko_parts(m->nnz);
  macko_status s = macko_add_sections(m, 1, err);
  if (s) return s;
  packing k = {.m = m, .found = calloc((size_t)parts, sizeof *k.found)};
  int table = macko_slide_counts_of(&m->plan)->patterns > 0;
  if (table) k.codes = calloc(65536, 1);
  if (!k.found || (table && !k.codes)) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the patterns of blocks");
  k.starts = macko_find_section(m, "starts"), k.rest_ptr = macko_find_section(m, "rest_ptr");
  k.blocks = macko_find_section(m, "blocks");
  k.positions = macko_section_data(m, "positions"), k.rest_cols = macko_section_data(m, "rest_cols");
  if (!s) s = for_pieces(rows, &k, count_rows, err);
  if (!s) s = sum_up(k.starts, m->nrows, macko_slide_counts_of(&m->plan)->cells, "blocks with entries", err);
  if (!s && k.rest_ptr)
    s = sum_up(k.rest_ptr, m->nrows, macko_slide_counts_of(&m->plan)->rest, "entries beside the windows", err);
  if (!s && table) s = fill_table(&k, parts, err);
  if (!s) s = for_pieces(rows, &k, put_rows, err);
  free(k.found), free(k.codes);
  return s;
}

/* ---- values ---- */

/* This is what the walk that writes values reads. changed is NULL for a matrix in memory, which stays as it is. */
typedef struct {
  const macko_csr *a; /* the piece at hand */
  int64_t row;
  const macko_matrix *m;
  int *changed;
} value_source;

/* Gives how many entries the form has for row `row`. */
static int64_t entries_of(const macko_slide_reader *r, int64_t row)
{
  int64_t first = macko_slide_start(r, row), rest = macko_slide_rest(r, row), rest_end = macko_slide_rest(r, row + 1), count = 0;
  macko_slide_entries e;
  for (int64_t cell = first; cell < macko_slide_start(r, row + 1); cell++) {
    macko_slide_read(r, cell, macko_slide_block(r, first, cell), &rest, rest_end, &e);
    count += e.count;
  }
  return count;
}

/* As a macko_value_walk this writes the values of rows from .. to - 1 of the piece. Reading the pattern back gives the slots of a
 * row's entries in the order of columns, which is that of the csr. */
static void write_rows(const void *context, macko_value_writer *w, int64_t from, int64_t to)
{
  const value_source *source = context;
  macko_slide_reader r = macko_slide_open(source->m);
  macko_slide_entries e;
  for (int64_t i = from; i < to; i++) {
    const int64_t row = source->row + i;
    int64_t p = macko_csr_row(source->a, i), rest = macko_slide_rest(&r, row), rest_end = macko_slide_rest(&r, row + 1);
    int64_t first = macko_slide_start(&r, row), end = macko_slide_start(&r, row + 1);
    if (source->changed && entries_of(&r, row) != macko_csr_row(source->a, i + 1) - p) {
      *source->changed = 1;
      continue;
    }
    for (int64_t cell = first; cell < end; cell++) {
      macko_slide_read(&r, cell, macko_slide_block(&r, first, cell), &rest, rest_end, &e);
      for (int j = 0; j < e.count; j++) macko_write_values(w, p++, 1, e.slots[j], 1);
    }
  }
}

/* Writes the values of all rows, a piece after the other; in parts where they are in memory. */
static macko_status write_pieces(macko_rows *rows, const macko_matrix *m, macko_value_writer *w, macko_error *err)
{
  macko_csr piece = {0};
  macko_status s = MACKO_OK;
  int changed = 0;
  for (int64_t row = 0; !s && row < rows->nrows; row += piece.nrows) {
    const int64_t step = macko_rows_step(rows), left = rows->nrows - row;
    s = macko_get_rows(rows, row, step < left ? step : left, &piece, err);
    if (s) return s;
    const value_source source = {&piece, row, m, rows->whole ? NULL : &changed};
    const macko_cut cut = macko_cut_rows(&piece, 1);
    w->values = piece.values;
    if (rows->whole) macko_write_in_parts(w, &cut, m->nnz, write_rows, &source);
    else write_rows(&source, w, 0, piece.nrows);
    if (changed) return macko_fail(err, MACKO_INVALID_MATRIX, "the rows are not what they were when they were counted");
  }
  return s;
}

/* Makes the value stream of m->plan in fresh sections, which the caller owns; nothing of m changes, so that a failure leaves it
 * as it was. */
static macko_status new_values(macko_rows *rows, const macko_matrix *m, macko_section *values, macko_section *dict,
                               macko_error *err)
{
  const macko_plan *plan = &m->plan;
  const macko_codec codec = macko_codec_of(plan);
  const macko_csr shape = {.nrows = rows->nrows, .ncols = rows->ncols, .value_type = rows->value_type};
  macko_section list[MACKO_MAX_SECTIONS];
  macko_value_writer w = {0};
  int n = m->ops->sections(m, list);
  *values = *dict = (macko_section){0};
  macko_status s = macko_new_section(list[plan->table ? n - 2 : n - 1], values, err);
  if (!s && plan->table) s = macko_new_section(list[n - 1], dict, err);
  if (!s) s = macko_open_writer(rows->whole ? rows->whole : &shape, &codec, values->data, dict->data, &w, err);
  if (!s) s = write_pieces(rows, m, &w, err);
  if (!s) s = macko_check_writer(&w, err);
  macko_close_writer(&w);
  if (s) free(values->data), free(dict->data);
  return s;
}

/* Encodes the rows by m->plan: the pattern first, because it says in which slot each value goes. */
static macko_status encode_all(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  macko_section values, dict;
  macko_status s = encode_pattern(rows, m, err);
  if (!s) s = new_values(rows, m, &values, &dict, err);
  if (!s) macko_put_values(m, &values, &dict);
  return s;
}

macko_status macko_slide_encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  macko_rows whole;
  return encode_all(macko_found_rows(found, &whole), m, err);
}

/* Entries are counted before anything else, as the plan needs their number. */
macko_status macko_slide_encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  static const macko_slide_facts of_rows = {macko_slide_count_rows};
  const macko_csr shape = {.nrows = rows->nrows, .ncols = rows->ncols, .value_type = rows->value_type};
  macko_status s = macko_count_entries(rows, &m->nnz, err);
  macko_facts facts = {.csr = &shape, .nnz = m->nnz, .others = m->others, .values = macko_facts_of_rows(rows),
                       .context = rows};
  facts.of_format[m->format] = &of_rows;
  if (!s) s = macko_slide_plan(&facts, &m->options, &m->plan, err);
  return s ? s : encode_all(rows, m, err);
}

/* There is always a new stream, so that a failure leaves m as it was. */
macko_status macko_slide_refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = a, .others = m->others};
  macko_facts f = macko_host_facts(&found);
  macko_section values, dict;
  macko_matrix next = *m;
  macko_rows rows = macko_rows_of(a);
  macko_status s = macko_slide_plan_values(&f, m, &next.plan, err);
  if (!s) s = new_values(&rows, &next, &values, &dict, err);
  if (s) return s;
  m->plan = next.plan;
  macko_put_values(m, &values, &dict);
  return MACKO_OK;
}
