/* The layout as published (arXiv 2511.13061, section 3): gaps of b = 1, 2, 4 or 8 bits from column 0 on, a gap beyond 2^b bridged
 * by padding entries of 2^b columns each, row_ptr counting padded entries. For comparison with the paper, and asked for by name.
 * One departure: padding is marked by a bit pattern that no entry has (+0.0 where it is free, as in the paper, else an unused
 * NaN), so that it never multiplies (0 * Inf is NaN) and explicit zeros come back. Values are stored as they are. */
#include "core/cost.h"
#include "core/product.h"
#include "core/threads.h"
#include "macko/layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These are the widths of a code that the paper has, in bits. */
enum { WIDTHS = 4 };
static const int widths[WIDTHS] = {1, 2, 4, 8};

/* Counts the slots of rows from .. to - 1 for gaps of b bits: their entries, and the padding that bridges long gaps. */
static int64_t count_stored(const macko_csr *a, int b, int64_t from, int64_t to)
{
  int64_t stored = 0;
  for (int64_t i = from; i < to; i++) {
    int64_t before = -1;
    for (int64_t p = macko_csr_row(a, i); p < macko_csr_row(a, i + 1); p++) {
      int64_t col = macko_csr_col(a, p);
      stored += 1 + ((col - before - 1) >> b);
      before = col;
    }
  }
  return stored;
}

/* This is plan_pattern of the layout (layouts.h). The width is that of the fewest bytes, values included, because padding takes
 * values, too. The rows are read for it, as no facts count padding. The value stream itself is added by the caller. */
static macko_status plan_pattern(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  int64_t best = INT64_MAX, size = macko_type_bytes(a->value_type), all[WIDTHS] = {0};
  macko_rows whole;
  macko_view v = macko_open_view(macko_found_rows(f->context, &whole), 1);
  macko_status s = MACKO_OK;
  while (macko_next_view(&v, &s, err))
    for (int w = 0; w < WIDTHS; w++) all[w] += count_stored(&v.view, widths[w], v.first, v.past);
  macko_close_view(&v);
  if (s) return s;
  for (int w = 0; w < WIDTHS; w++) {
    if (options->gap_bits && options->gap_bits != widths[w]) continue;
    int64_t stored = all[w], fixed = (a->nrows + 1) * macko_type_bytes(macko_index_type(stored));
    int64_t bytes = fixed + macko_gap_bytes(stored, widths[w]);
    if (bytes + stored * size >= best) continue;
    best = bytes + stored * size;
    plan->bytes = bytes, plan->work = (double)stored * macko_cost_of(options)->paper_entry;
    plan->gap_bits = widths[w];
    macko_set_params(plan)->paper.stored = stored;
  }
  snprintf(plan->reason, sizeof plan->reason, "layout paper, as asked for: gaps of %d bits %s, %lld padding entries",
           plan->gap_bits, options->gap_bits ? "as asked for" : "cost least",
           (long long)(macko_params_of(plan)->paper.stored - f->nnz));
  return MACKO_OK;
}

/* This is value_slots of the layout: padding has a value, the marker. */
static int64_t value_slots(int64_t nnz, const macko_plan *plan, int64_t element_bytes)
{
  (void)nnz, (void)element_bytes;
  return macko_params_of(plan)->paper.stored;
}

/* Lists the sections of the pattern: there are neither base columns nor lists of long gaps. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  int64_t stored = macko_params_of(&m->plan)->paper.stored;
  list[0] = macko_pattern_section("row_ptr", macko_index_type(stored), m->nrows + 1);
  list[1] = macko_pattern_section("gaps", MACKO_U8, macko_gap_bytes(stored, m->plan.gap_bits));
  return 2;
}

/* ---- the marker of padding ---- */

/* Gives the bits of value i of an array of that type; values are compared as bits, because +0.0 equals -0.0 and a NaN not
 * itself. */
static inline __attribute__((always_inline)) uint64_t bits_of(macko_type type, const void *array, int64_t i)
{
  uint64_t bits = 0;
  int64_t size = macko_type_bytes(type);
  memcpy(&bits, (const char *)array + i * size, (size_t)size);
  return bits;
}

/* Marks those of the numbers 1 .. room - 1 that are payloads of NaNs among the values in view. nan is the bits of the NaN of
 * payload 0. */
static void mark_payloads(const macko_view *v, uint64_t nan, int64_t room, uint8_t *used)
{
  const macko_csr *a = &v->view;
  for (int64_t p = macko_csr_row(a, v->first); p < macko_csr_row(a, v->past); p++) {
    uint64_t bits = bits_of(a->value_type, a->values, p);
    if (bits > nan && bits - nan < (uint64_t)room) used[bits - nan] = 1;
  }
}

/* Finds the first number of 1, 2, 3, ... that is no NaN's payload among the values. One more than there are entries is enough to
 * try, and `limit` is what the type has room for. UNSUPPORTED where all of these are in use. */
static macko_status unused_payload(macko_rows *rows, int64_t nnz, uint64_t nan, uint64_t limit, uint64_t *payload, macko_error *err)
{
  int64_t room = nnz + 2 < (int64_t)limit ? nnz + 2 : (int64_t)limit;
  uint8_t *used = calloc((size_t)room, 1);
  macko_view v = macko_open_view(rows, 1);
  macko_status s = MACKO_OK;
  if (!used) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look for an unused bit pattern");
  while (macko_next_view(&v, &s, err)) mark_payloads(&v, nan, room, used);
  for (*payload = 1; *payload < (uint64_t)room && used[*payload];) ++*payload;
  macko_close_view(&v);
  free(used);
  if (s || *payload < (uint64_t)room) return s;
  return macko_fail(err, MACKO_UNSUPPORTED, "layout paper: the values use every bit pattern that could mark padding");
}

/* Sets *found to whether an entry is +0.0, whose bits could not mark padding then. */
static macko_status find_zero(macko_rows *rows, int *found, macko_error *err)
{
  macko_view v = macko_open_view(rows, 1);
  macko_status s = MACKO_OK;
  *found = 0;
  while (!*found && macko_next_view(&v, &s, err))
    for (int64_t p = macko_csr_row(&v.view, v.first); p < macko_csr_row(&v.view, v.past) && !*found; p++)
      *found = bits_of(v.view.value_type, v.view.values, p) == 0;
  macko_close_view(&v);
  return s;
}

/* This is plan_values of the layout. It chooses the marker of padding, which depends on the values. It is +0.0 as in the paper
 * where no entry is, else a quiet NaN that no entry has. limit keeps payloads within the bits below the quiet one; of f64 2^30
 * are tried at the most. */
static macko_status plan_values(macko_rows *rows, macko_plan *plan, macko_error *err)
{
  const macko_type type = rows->value_type;
  int zero;
  uint64_t payload = 0;
  macko_status s = find_zero(rows, &zero, err);
  macko_set_params(plan)->paper.marker = 0;
  if (s || !zero) return s;
  uint64_t nan = type == MACKO_F64 ? 0x7ff8000000000000u : type == MACKO_F32 ? 0x7fc00000u : type == MACKO_F16 ? 0x7e00u : 0x7fc0u;
  uint64_t limit = type == MACKO_F64 ? 1u << 30 : type == MACKO_F32 ? 1u << 22 : type == MACKO_F16 ? 1u << 9 : 1u << 6;
  s = unused_payload(rows, rows->whole ? macko_csr_nnz(rows->whole) : rows->nnz, nan, limit, &payload, err);
  if (!s) macko_set_params(plan)->paper.marker = (int64_t)(nan + payload);
  return s;
}

/* ---- encode ---- */

/* Writes the code of slot p into the gaps, which are zero there before. */
static inline void put_code(uint8_t *gaps, int b, int64_t p, uint32_t code)
{
  gaps[p * b >> 3] |= (uint8_t)(code << (p * b & 7));
}

/* Writes the codes of row i from slot q on, and gives the slot behind them; -1 where they would reach slot `stored`, which is
 * none: the row is not the one that was counted. */
static int64_t encode_row(const macko_csr *a, int64_t i, int b, uint8_t *gaps, int64_t q, int64_t stored)
{
  int64_t before = -1;
  for (int64_t p = macko_csr_row(a, i); p < macko_csr_row(a, i + 1); p++) {
    int64_t rest = macko_csr_col(a, p) - before - 1;
    if (q + (rest >> b) >= stored) return -1;
    for (; rest >> b; rest -= 1 << b) put_code(gaps, b, q++, (1u << b) - 1);
    put_code(gaps, b, q++, (uint32_t)rest);
    before = macko_csr_col(a, p);
  }
  return q;
}

/* This is encode_pattern of the layout, by one thread: the layout is there to be compared with. */
static macko_status encode_pattern(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const int64_t stored = macko_params_of(&m->plan)->paper.stored;
  int64_t q = 0;
  macko_status s = macko_add_sections(m, 1, err);
  if (s) return s;
  macko_rows whole;
  macko_view v = macko_open_view(macko_found_rows(found, &whole), 1);
  const macko_section *row_ptr = macko_find_section(m, "row_ptr");
  uint8_t *gaps = macko_section_data(m, "gaps");
  while (q >= 0 && macko_next_view(&v, &s, err))
    for (int64_t i = v.first; i < v.past && q >= 0; i++) {
      q = encode_row(&v.view, i, m->plan.gap_bits, gaps, q, stored);
      macko_put_index(row_ptr, i + 1, q);
    }
  macko_close_view(&v);
  if (s || q == stored) return s;
  return macko_fail(err, MACKO_INVALID_MATRIX, "the rows are not what they were when they were counted");
}

/* Writes the values of row i from slot q on, the marker into padding. */
static void write_row(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t i, int64_t q)
{
  int64_t marker = macko_params_of(&m->plan)->paper.marker, size = macko_type_bytes(m->value_type), before = -1;
  for (int64_t p = macko_csr_row(a, i); p < macko_csr_row(a, i + 1); p++, q++) {
    int64_t padding = (macko_csr_col(a, p) - before - 1) >> m->plan.gap_bits;
    for (; padding; padding--, q++) memcpy((char *)w->stream + q * size, &marker, (size_t)size);
    macko_write_values(w, p, 1, q, 1);
    before = macko_csr_col(a, p);
  }
}

/* This is write_values of the layout. A row that comes in pieces is counted again, so that a changed one does not write into the
 * next. */
static void write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to)
{
  const macko_section *row_ptr = macko_find_section(m, "row_ptr");
  for (int64_t i = from; i < to; i++) {
    const int64_t q = macko_index_at(row_ptr, i);
    if (w->in_pieces && count_stored(a, m->plan.gap_bits, i, i + 1) != macko_index_at(row_ptr, i + 1) - q) macko_set(&w->changed);
    else write_row(a, m, w, i, q);
  }
}

/* ---- decode ---- */

/* This is a matrix of this layout as it is read: the data of its sections, the marker and the bits of a gap. */
typedef struct {
  const macko_section *row_ptr;
  const uint8_t *gaps;
  const void *values;
  uint64_t marker;
  int b;
} paper_reader;

/* Gives the reader of a matrix that has all its sections; there is nothing to free. */
static paper_reader open_paper(const macko_matrix *m)
{
  return (paper_reader){macko_find_section(m, "row_ptr"), macko_section_data(m, "gaps"), macko_section_data(m, "values"),
                        (uint64_t)macko_params_of(&m->plan)->paper.marker, m->plan.gap_bits};
}

/* Gives the first slot of row i, i = nrows included. */
static inline int64_t row_start(const paper_reader *r, int64_t i)
{
  return macko_index_at(r->row_ptr, i);
}

/* Reads row i back into cols and values, either of which may be NULL, from entry p on, and gives the entry behind it. Slots that
 * have the marker are passed over. */
static int64_t decode_row(const macko_matrix *m, const paper_reader *r, int64_t i, int64_t p, int64_t *cols, void *values)
{
  const int64_t size = macko_type_bytes(m->value_type);
  int64_t col = -1;
  for (int64_t q = row_start(r, i); q < row_start(r, i + 1); q++) {
    col += macko_gap_code(r->gaps, r->b, q) + 1;
    if (bits_of(m->value_type, r->values, q) == r->marker) continue;
    if (cols) cols[p] = col;
    if (values) memcpy((char *)values + p * size, (const char *)r->values + q * size, (size_t)size);
    p++;
  }
  return p;
}

/* This is decode of the layout. Only the values tell how many entries a row has, so that all rows are read even for row_ptr. */
static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  paper_reader r = open_paper(m);
  int64_t p = 0;
  (void)err;
  if (row_ptr) row_ptr[0] = 0;
  for (int64_t i = 0; i < m->nrows; i++) {
    p = decode_row(m, &r, i, p, cols, values);
    if (row_ptr) row_ptr[i + 1] = p;
  }
  return MACKO_OK;
}

/* This is decode_rows of the layout. */
static void decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  const paper_reader r = open_paper(m);
  for (int64_t i = first; i < past; i++) (void)decode_row(m, &r, i, starts[i] - starts[first], cols, values);
}

/* This is validate of the layout. Columns rise by themselves, as every gap is at least 1; what is left to check is where rows
 * begin, the last column of each, and that as many slots are no padding as the matrix has entries. */
static macko_status validate(const macko_matrix *m, macko_error *err)
{
  int64_t stored = macko_params_of(&m->plan)->paper.stored, entries = 0;
  int b = m->plan.gap_bits;
  if ((b != 1 && b != 2 && b != 4 && b != 8) || stored < m->nnz || stored > INT64_MAX / 64 ||
      m->plan.stored_type != m->value_type)
    return macko_fail(err, MACKO_CORRUPT, "layout paper: gaps of %d bits, %lld stored entries for %lld", b, (long long)stored,
                      (long long)m->nnz);
  macko_status s = macko_check_sections(m, err);
  if (s) return s;
  paper_reader r = open_paper(m);
  if (row_start(&r, 0) != 0 || row_start(&r, m->nrows) != stored)
    return macko_fail(err, MACKO_CORRUPT, "row_ptr does not run from 0 to %lld", (long long)stored);
  for (int64_t i = 0; i < m->nrows; i++) {
    int64_t begin = row_start(&r, i), end = row_start(&r, i + 1), col = -1;
    if (begin > end || end > stored)
      return macko_fail(err, MACKO_CORRUPT, "row %lld runs from entry %lld to %lld", (long long)i, (long long)begin,
                        (long long)end);
    for (int64_t q = begin; q < end; q++) {
      col += macko_gap_code(r.gaps, b, q) + 1;
      entries += bits_of(m->value_type, r.values, q) != r.marker;
    }
    if (col >= m->ncols)
      return macko_fail(err, MACKO_CORRUPT, "row %lld reaches column %lld, outside 0..%lld", (long long)i, (long long)col,
                        (long long)m->ncols - 1);
  }
  if (entries != m->nnz)
    return macko_fail(err, MACKO_CORRUPT, "the rows hold %lld entries, the matrix %lld", (long long)entries, (long long)m->nnz);
  return MACKO_OK;
}

/* ---- multiply ---- */

/* Multiplies all rows with a group of vectors, an entry at a time; type, vector, op and group are constants. Padding is passed
 * over before its value is used. */
static inline __attribute__((always_inline)) void multiply_as(const macko_matrix *m, const macko_product *q, int b,
                                                              macko_type type, macko_type vector, macko_op op, int group)
{
  paper_reader r = open_paper(m);
  for (int64_t i = 0; i < m->nrows; i++) {
    double sum[MACKO_GROUP] = {0};
    int64_t end = row_start(&r, i + 1), col = -1;
    if (op == MACKO_OP_T)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) sum[j] = q->alpha * macko_x(vector, q, j, i);
    for (int64_t p = row_start(&r, i); p < end; p++) {
      col += macko_gap_code(r.gaps, b, p) + 1;
      if (bits_of(type, r.values, p) == r.marker) continue;
      double value = macko_float_at(type, r.values, p);
#pragma GCC unroll 4
      for (int j = 0; j < group; j++)
        if (op == MACKO_OP_N) sum[j] += value * macko_x(vector, q, j, col);
        else macko_add_y(vector, q, j, col, value * sum[j]);
    }
    if (op == MACKO_OP_N)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) macko_put_y(vector, q, j, i, sum[j]);
  }
}

/* This is multiply of the layout, by one thread, as the layout is there to be compared with. f64 values have kernels of their
 * own. */
static void multiply(const macko_matrix *m, const macko_product *p)
{
#define F64(vector, op, group) multiply_as(m, &q, m->plan.gap_bits, MACKO_F64, vector, op, group)
#define ANY(vector, op, group) multiply_as(m, &q, m->plan.gap_bits, m->value_type, vector, op, group)
  if (m->value_type == MACKO_F64) MACKO_FOR_GROUPS(p, q, F64)
  else MACKO_FOR_GROUPS(p, q, ANY)
}

const macko_layout_ops macko_paper_layout = {
  .plan_pattern = plan_pattern,
  .value_slots = value_slots,
  .sections = sections,
  .plan_values = plan_values,
  .encode_pattern = encode_pattern,
  .write_values = write_values,
  .rows_of_item = 1,
  .decode = decode,
  .decode_rows = decode_rows,
  .validate = validate,
  .multiply = multiply};
