/* Layout row: row after row, gaps of b bits beside the values (arXiv 2511.13061, section 3), with two departures that matrices
 * from meshes need: a base column per row, and long gaps in a list of their own, so that one costs four bytes instead of
 * gap / 2^b padding entries. There is no padding, and row_ptr is CSR's. */
#include "macko/row_parts.h"

#include <string.h>

/* This is value_slots of the layout: a slot for each entry, and no padding. */
static int64_t value_slots(int64_t nnz, const macko_plan *plan, int64_t element_bytes)
{
  (void)plan, (void)element_bytes;
  return nnz;
}

/* Lists the sections of the pattern. base is missing where all offsets are 0, the lists of long gaps where no gap is long. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_params *params = macko_params_of(&m->plan);
  int64_t bytes = params->row.base_bytes, longs = params->row.long_gaps;
  int n = 0;
  list[n++] = macko_pattern_section("row_ptr", macko_index_type(m->nnz), m->nrows + 1);
  if (bytes) list[n++] = macko_pattern_section("base", macko_unsigned_type(bytes), m->nrows);
  if (params->row.base_mode == MACKO_BASE_BLOCK)
    list[n++] = macko_pattern_section("block_base", MACKO_I32, macko_base_blocks(m->nrows));
  list[n++] = macko_pattern_section("gaps", MACKO_U8, macko_gap_bytes(m->nnz, m->plan.gap_bits));
  if (longs) list[n++] = macko_pattern_section("long_ptr", MACKO_U32, m->nrows + 1);
  if (longs) list[n++] = macko_pattern_section("long_gaps", MACKO_U32, longs);
  return n;
}

/* ---- encode ---- */

/* Writes the base columns of rows from .. to - 1; from begins a block of rows with one reference. Empty rows keep 0. */
static void encode_bases(const macko_csr *a, const macko_matrix *m, int64_t from, int64_t to)
{
  int64_t mode = macko_params_of(&m->plan)->row.base_mode, bytes = macko_params_of(&m->plan)->row.base_bytes;
  int32_t *block_base = macko_section_data(m, "block_base");
  void *base = macko_section_data(m, "base");
  for (int64_t i = from; i < to; i++) {
    int64_t p = macko_csr_row(a, i), reference = mode == MACKO_BASE_DIAGONAL ? i : 0;
    if (block_base) {
      if (i % MACKO_BASE_ROWS == 0) block_base[i / MACKO_BASE_ROWS] = (int32_t)macko_row_block_first(a, i / MACKO_BASE_ROWS);
      reference = block_base[i / MACKO_BASE_ROWS];
    }
    if (!bytes || p == macko_csr_row(a, i + 1)) continue;
    uint32_t offset = (uint32_t)(macko_csr_col(a, p) - reference - macko_params_of(&m->plan)->row.base_bias);
    macko_put_unsigned(base, (int)bytes, i, offset);
  }
}

/* Writes the code of entry p into the gaps, which are zero there before. b is 1, 2, 4, 8 or 16. */
static inline void put_code(uint8_t *gaps, int b, int64_t p, uint32_t code)
{
  if (b == 16) gaps[2 * p] = (uint8_t)code, gaps[2 * p + 1] = (uint8_t)(code >> 8);
  else gaps[p * b >> 3] |= (uint8_t)(code << (p * b & 7));
}

/* This is what parts share while they encode the rows of a view. */
typedef struct {
  const macko_csr *a; /* the rows at hand, from row `row` on */
  int64_t row, before; /* entry q of their arrays is entry q + before of the matrix */
  int changed;         /* 1 if rows in pieces are not what they were when they were counted: nothing is written then */
  macko_matrix *m;
  const macko_section *row_ptr;
  uint8_t *gaps;
  uint32_t *long_ptr, *long_gaps;
  int b;
  /* These are, for each part, its first row, and how many long gaps come before it, those of earlier views among them. */
  int64_t first_row[MACKO_MOST_PARTS], long_before[MACKO_MOST_PARTS + 1];
} row_encoding;

/* Gives the code of the gap before entry q, which is not the first of its row. */
static inline uint32_t code_before(const macko_csr *a, int64_t q)
{
  return (uint32_t)(macko_csr_col(a, q) - macko_csr_col(a, q - 1) - 1);
}

/* As a macko_part this counts the long gaps of a part, which the part behind it has to know before it writes its own. */
static void count_long_gaps(void *context, int part, int64_t from, int64_t to)
{
  row_encoding *e = context;
  uint32_t escape = (1u << e->b) - 1;
  int64_t count = 0;
  from = macko_row_of_item(e->a, e->row, from), to = macko_row_of_item(e->a, e->row, to);
  for (int64_t i = from; i < to; i++)
    for (int64_t q = macko_csr_row(e->a, i) + 1; q < macko_csr_row(e->a, i + 1); q++) count += code_before(e->a, q) >= escape;
  e->long_before[part + 1] = count;
}

/* Gives the first entry from p on whose code is in no byte with codes before p: two parts must not write to one byte at once. */
static int64_t next_byte(int b, int64_t p)
{
  while (p * b % 8) p++;
  return p;
}

/* Writes bases, row starts, codes and long gaps of a part. Codes in a byte that the part before writes to are left out:
 * encode_first_codes writes them once all parts are done. */
static void encode_part(void *context, int part, int64_t from, int64_t to)
{
  row_encoding *e = context;
  const macko_csr *a = e->a;
  uint32_t escape = (1u << e->b) - 1, count = (uint32_t)e->long_before[part];
  from = macko_row_of_item(a, e->row, from), to = macko_row_of_item(a, e->row, to);
  int64_t own = part ? next_byte(e->b, macko_csr_row(a, from) + e->before) : 0;
  e->first_row[part] = from;
  encode_bases(a, e->m, from, to);
  for (int64_t i = from; i < to; i++) {
    int64_t p = macko_csr_row(a, i), end = macko_csr_row(a, i + 1);
    macko_put_index(e->row_ptr, i + 1, end + e->before);
    for (int64_t q = p + 1; q < end; q++) {
      uint32_t code = code_before(a, q);
      if (code >= escape) e->long_gaps[count++] = code + 1, code = escape;
      if (q + e->before >= own) put_code(e->gaps, e->b, q + e->before, code);
    }
    if (e->long_ptr) e->long_ptr[i + 1] = count;
  }
}

/* Writes the codes of rows from .. to - 1, a part, that encode_part has left out: fewer than eight. */
static void encode_first_codes(const row_encoding *e, int64_t from, int64_t to)
{
  uint32_t escape = (1u << e->b) - 1;
  int64_t own = next_byte(e->b, macko_csr_row(e->a, from) + e->before) - e->before;
  for (int64_t i = from; i < to && macko_csr_row(e->a, i) < own; i++)
    for (int64_t q = macko_csr_row(e->a, i) + 1; q < own && q < macko_csr_row(e->a, i + 1); q++) {
      uint32_t code = code_before(e->a, q);
      put_code(e->gaps, e->b, q + e->before, code < escape ? code : escape);
    }
}

/* Tells whether rows in view, which come in pieces, leave room: no more entries and long gaps than were counted. What their
 * columns are need not be looked at, as macko_get_rows compares rows with what they were before. */
static int fits(row_encoding *e, const macko_view *v)
{
  const macko_params *params = macko_params_of(&e->m->plan);
  const macko_csr *a = e->a;
  uint32_t escape = (1u << e->b) - 1;
  int64_t longs = e->long_before[0];
  for (int64_t i = v->first; i < v->past; i++)
    for (int64_t q = macko_csr_row(a, i) + 1; q < macko_csr_row(a, i + 1); q++) longs += code_before(a, q) >= escape;
  return macko_csr_row(a, v->past) + e->before <= e->m->nnz && longs <= params->row.long_gaps;
}

/* Encodes the rows in view in parts. Long gaps are counted in a pass of its own where there are several parts, as each must know
 * where in the list its own begin; one part counts as it goes. */
static void encode_view(row_encoding *e, const macko_view *v)
{
  const macko_cut cut = macko_cut_view(v);
  int parts = macko_parts(macko_view_entries(v));
  e->row = v->first, e->before = macko_index_at(e->row_ptr, v->first) - macko_csr_row(e->a, v->first);
  if (!v->rows->whole && !fits(e, v)) e->changed = 1;
  if (e->changed) return;
  if (e->long_ptr && parts > 1) macko_do_parts(&cut, parts, count_long_gaps, e);
  for (int part = 1; part < parts; part++) e->long_before[part] += e->long_before[part - 1];
  macko_do_parts(&cut, parts, encode_part, e);
  for (int part = 1; part < parts; part++)
    encode_first_codes(e, e->first_row[part], part + 1 < parts ? e->first_row[part + 1] : v->past);
  if (e->long_ptr) e->long_before[0] = e->long_ptr[v->past];
}

/* This is encode_pattern of the layout (layouts.h). Views begin with a multiple of MACKO_BASE_ROWS, so that no reference needs
 * rows of two. */
static macko_status encode_pattern(macko_findings *found, macko_matrix *m, macko_error *err)
{
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_status s = macko_add_sections(m, 1, err);
  if (s) return s;
  macko_view view = macko_open_view(rows, MACKO_BASE_ROWS);
  row_encoding e = {.a = &view.view, .m = m, .row_ptr = macko_find_section(m, "row_ptr"), .gaps = macko_section_data(m, "gaps"),
                    .long_ptr = macko_section_data(m, "long_ptr"), .long_gaps = macko_section_data(m, "long_gaps"),
                    .b = m->plan.gap_bits};
  while (!e.changed && macko_next_view(&view, &s, err)) encode_view(&e, &view);
  macko_close_view(&view);
  if (s || (!e.changed && macko_index_at(e.row_ptr, m->nrows) == m->nnz)) return s;
  return macko_fail(err, MACKO_INVALID_MATRIX, "the rows are not what they were when they were counted");
}

/* This is write_values of the layout. Entries lie as row_ptr says, which is CSR's, so that rows that follow each other are one
 * run of slots. */
static void write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to)
{
  const macko_section *row_ptr = macko_find_section(m, "row_ptr");
  int64_t p = macko_csr_row(a, from), slot = macko_index_at(row_ptr, from), count = macko_csr_row(a, to) - p;
  if (w->in_pieces && count != macko_index_at(row_ptr, to) - slot) macko_set(&w->changed);
  else macko_write_values(w, p, count, slot, 1);
}

/* ---- decode ---- */

/* This is decode of the layout. It goes through the rows once for each output that is asked for. */
static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  macko_row_reader r = macko_open_rows(m);
  macko_value_stream v = macko_stream_of(m);
  (void)err;
  for (int64_t i = 0; row_ptr && i <= m->nrows; i++) row_ptr[i] = macko_row_start(&r, i);
  for (int64_t i = 0; cols && i < m->nrows; i++) {
    uint32_t next_long = r.long_ptr ? r.long_ptr[i] : 0;
    int64_t p = macko_row_start(&r, i), end = macko_row_start(&r, i + 1), col = macko_base_column(&r, i);
    if (p < end) cols[p] = col;
    for (p++; p < end; p++) cols[p] = col += macko_next_gap(&r, r.b, p, &next_long);
  }
  if (values) macko_read_values(&m->plan, m->value_type, &v, 0, 1, m->nnz, values, 0);
  return MACKO_OK;
}

/* This is decode_rows of the layout. starts are the caller's, which spares reading row_ptr again. */
static void decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  const macko_row_reader r = macko_open_rows(m);
  const macko_value_stream v = macko_stream_of(m);
  for (int64_t i = first; cols && i < past; i++) {
    uint32_t next_long = r.long_ptr ? r.long_ptr[i] : 0;
    int64_t col = macko_base_column(&r, i), *to = cols + (starts[i] - starts[first]);
    for (int64_t p = starts[i]; p < starts[i + 1]; p++)
      to[p - starts[i]] = p == starts[i] ? col : (col += macko_next_gap(&r, r.b, p, &next_long));
  }
  if (values) macko_read_values(&m->plan, m->value_type, &v, starts[first], 1, starts[past] - starts[first], values, 0);
}

/* ---- validate ---- */

/* Checks the numbers of a plan from outside, before sections are measured by them. */
static macko_status validate_plan(const macko_matrix *m, macko_error *err)
{
  const macko_params *params = macko_params_of(&m->plan);
  int b = m->plan.gap_bits;
  int64_t bytes = params->row.base_bytes, mode = params->row.base_mode, longs = params->row.long_gaps;
  if ((b != 1 && b != 2 && b != 4 && b != 8 && b != 16) || (bytes != 0 && bytes != 1 && bytes != 2 && bytes != 4) ||
      mode < MACKO_BASE_ABSOLUTE || mode > MACKO_BASE_BLOCK || longs < 0 || longs > INT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "layout row: gaps of %d bits, base mode %lld of %lld bytes, %lld long gaps", b,
                      (long long)mode, (long long)bytes, (long long)longs);
  if (params->row.base_bias < -m->nrows || params->row.base_bias > INT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "layout row: base columns have bias %lld, outside -%lld..%d",
                      (long long)params->row.base_bias, (long long)m->nrows, INT32_MAX);
  return MACKO_OK;
}

/* Checks row i: its entries and long gaps lie inside the arrays and are as many as listed, its first code is 0, on which products
 * rely, and its columns rise inside the matrix. A gap of 0, which only the list of long gaps can hold, counts as outside. */
static macko_status validate_row(const macko_matrix *m, const macko_row_reader *r, int64_t i, macko_error *err)
{
  int64_t p = macko_row_start(r, i), end = macko_row_start(r, i + 1), col = macko_base_column(r, i);
  const uint32_t first = r->long_ptr ? r->long_ptr[i] : 0, long_end = r->long_ptr ? r->long_ptr[i + 1] : 0;
  uint32_t next = first;
  if (p > end || end > m->nnz || next > long_end || long_end > macko_params_of(&m->plan)->row.long_gaps)
    return macko_fail(err, MACKO_CORRUPT, "row %lld runs from entry %lld to %lld with long gaps %u to %u", (long long)i,
                      (long long)p, (long long)end, next, long_end);
  if (p == end) return MACKO_OK;
  if (macko_gap_code(r->gaps, r->b, p))
    return macko_fail(err, MACKO_CORRUPT, "row %lld has code %u before its first entry, not 0", (long long)i,
                      macko_gap_code(r->gaps, r->b, p));
  for (p++; col >= 0 && col < m->ncols && p < end; p++) {
    if (macko_gap_code(r->gaps, r->b, p) == (1u << r->b) - 1 && next == long_end)
      return macko_fail(err, MACKO_CORRUPT, "row %lld has more long gaps than the %u listed for it", (long long)i,
                        long_end - first);
    int64_t gap = macko_next_gap(r, r->b, p, &next);
    col = gap ? col + gap : -1;
  }
  if (col < 0 || col >= m->ncols)
    return macko_fail(err, MACKO_CORRUPT, "row %lld reaches column %lld, outside 0..%lld", (long long)i, (long long)col,
                      (long long)m->ncols - 1);
  return MACKO_OK;
}

/* This is validate of the layout: the plan, then the lengths of sections, then every row. It is what makes products safe without
 * a check. */
static macko_status validate(const macko_matrix *m, macko_error *err)
{
  macko_status s = validate_plan(m, err);
  if (!s) s = macko_check_sections(m, err);
  if (s) return s;
  macko_row_reader r = macko_open_rows(m);
  if (macko_row_start(&r, 0) != 0 || macko_row_start(&r, m->nrows) != m->nnz || (r.long_ptr && r.long_ptr[0] != 0))
    return macko_fail(err, MACKO_CORRUPT, "row_ptr does not run from 0 to %lld", (long long)m->nnz);
  for (int64_t i = 0; !s && i < m->nrows; i++) s = validate_row(m, &r, i, err);
  return s;
}

const macko_layout_ops macko_row_layout = {
  .plan_pattern = macko_row_plan,
  .value_slots = value_slots,
  .sections = sections,
  .encode_pattern = encode_pattern,
  .write_values = write_values,
  .rows_of_item = 1,
  .decode = decode,
  .decode_rows = decode_rows,
  .validate = validate,
  .multiply = macko_row_multiply};
