/* Layout slice read back: decode to CSR, and the check that no header, length or gap leads outside the arrays. */
#include "macko/slice_masked.h"

#include <stdlib.h>
#include <string.h>

/* ---- decode ---- */

/* Sets row_ptr, of nrows + 1 elements, from the lengths of all rows: first at the place behind each row, wherever order puts it,
 * and then summed up. */
static void decode_lengths(const slice_reader *r, int64_t *row_ptr)
{
  uint8_t stencil[MACKO_SLICE_ROWS];
  row_ptr[0] = 0;
  for (int64_t i = 0; i < macko_slices_of(r->nrows); i++) {
    macko_slice s = macko_slice_at(r->headers, i);
    if (s.stencil) macko_stencil_lengths(r, &s, stencil);
    for (int l = 0; l < macko_slice_lanes(r, i); l++)
      row_ptr[macko_slice_row(r, i * MACKO_SLICE_ROWS + l) + 1] = s.stencil ? stencil[l] : macko_lane_length(r, &s, l);
  }
  for (int64_t i = 0; i < r->nrows; i++) row_ptr[i + 1] += row_ptr[i];
}

/* Writes the columns of a lane, of a slice that is no stencil, from cols[0] on. */
static void decode_columns(const slice_reader *r, const macko_slice *s, int lane, int64_t *cols)
{
  const uint32_t *gaps = macko_slice_gaps(s, r->blocks);
  int64_t length = macko_lane_length(r, s, lane), base = macko_lane_base(r, s, lane), col = base;
  for (int64_t k = 0; k < length; k++) {
    if (k) col = macko_lane_column(r, s, gaps, base, col, k, lane);
    cols[k] = col;
  }
}

/* Writes the values of a lane from element p of values on. Elements narrower than a word lie `per` side by side, and are read
 * so. */
static void decode_values(const macko_matrix *m, const slice_reader *r, const macko_slice *s, int lane, void *values, int64_t p)
{
  macko_value_stream v = macko_stream_of(m);
  int size = r->element_bytes, per = size < 4 ? 4 / size : 1;
  int64_t length = macko_lane_length(r, s, lane);
  if (per == 1)
    macko_read_values(&m->plan, m->value_type, &v, macko_slice_slot(s->values, size, 0, lane), MACKO_SLICE_ROWS, length, values,
                      p);
  else
    for (int64_t k = 0; k < length; k += per)
      macko_read_values(&m->plan, m->value_type, &v, macko_slice_slot(s->values, size, k, lane), 1,
                        length - k < per ? length - k : per, values, p + k);
}

/* Writes columns and values of a lane of a masked slice, what is wanted of both. */
static void decode_masked(const macko_matrix *m, const slice_reader *r, const macko_slice *s, int lane, int64_t *cols,
                          void *values, int64_t p)
{
  const macko_value_stream v = macko_stream_of(m);
  if (cols) macko_masked_columns(r, s, lane, cols + p);
  for (uint32_t k = 0; values && k < s->steps; k++)
    if (macko_masked_at(s, r->blocks, k).lanes >> lane & 1)
      macko_read_values(&m->plan, m->value_type, &v, macko_slice_slot(s->values, r->element_bytes, k, lane), 1, 1, values, p++);
}

/* Goes through positions, not rows: rows that are put in order lie within their window, so that whole windows are gone through
 * where there is an order, and rows outside first .. past - 1 are passed over. */
void macko_slice_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  const slice_reader r = macko_open_slices(m);
  const int64_t step = r.order ? MACKO_SLICE_WINDOW : 1, end = (past + step - 1) / step * step;
  for (int64_t i = first / step * step; i < end && i < m->nrows; i++) {
    const macko_slice s = macko_slice_at(r.headers, i / MACKO_SLICE_ROWS);
    const int64_t row = macko_slice_row(&r, i), p = row >= first && row < past ? starts[row] - starts[first] : 0;
    const int lane = (int)(i % MACKO_SLICE_ROWS);
    if (row < first || row >= past) continue;
    if (s.stencil) {
      macko_stencil_lane(&r, &s, lane, m->value_type, cols ? cols + p : NULL, values, p);
      continue;
    }
    if (s.gap_bits == MACKO_GAP_MASKED) {
      decode_masked(m, &r, &s, lane, cols, values, p);
      continue;
    }
    if (cols) decode_columns(&r, &s, lane, cols + p);
    if (values) decode_values(m, &r, &s, lane, values, p);
  }
}

/* Where every row begins has to be known before any is written, as slices with an order write rows out of turn. Without row_ptr
 * of the caller's there is one for the time being. */
macko_status macko_slice_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  slice_reader r = macko_open_slices(m);
  int64_t *starts = row_ptr ? row_ptr : malloc((size_t)(m->nrows + 1) * sizeof *starts);
  if (!starts) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld rows", (long long)m->nrows);
  decode_lengths(&r, starts);
  if (cols || values) macko_slice_decode_rows(m, starts, 0, m->nrows, cols, values);
  if (starts != row_ptr) free(starts);
  return MACKO_OK;
}

/* ---- validate ---- */

/* Checks the numbers of a plan from outside, before sections are measured by them. */
static macko_status validate_plan(const macko_matrix *m, macko_error *err)
{
  int64_t words = macko_params_of(&m->plan)->slice.block_words, window = macko_params_of(&m->plan)->slice.window;
  int64_t size = macko_type_bytes(m->plan.stored_type), e = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  int64_t units = macko_params_of(&m->plan)->slice.value_units[e];
  if (words < 0 || words > UINT32_MAX || units < 0 || units > UINT32_MAX || (window && window != MACKO_SLICE_WINDOW))
    return macko_fail(err, MACKO_CORRUPT, "layout slice: %lld words, %lld units, window %lld", (long long)words, (long long)units,
                      (long long)window);
  int pairs = m->plan.values == MACKO_VALUES_PAIRS;
  if (pairs && (m->plan.stored_type != MACKO_U8 || m->plan.table > 256))
    return macko_fail(err, MACKO_CORRUPT, "layout slice: %lld pairs with codes of type %s", (long long)m->plan.table,
                      macko_type_name(m->plan.stored_type));
  return MACKO_OK;
}

/* Checks that the order of every window is a permutation of its rows. */
static macko_status validate_order(const slice_reader *r, macko_error *err)
{
  uint8_t seen[MACKO_SLICE_WINDOW];
  for (int64_t i = 0; r->order && i < r->nrows; i++) {
    const int64_t start = i / MACKO_SLICE_WINDOW * MACKO_SLICE_WINDOW, rest = r->nrows - start;
    const int64_t count = rest < MACKO_SLICE_WINDOW ? rest : MACKO_SLICE_WINDOW;
    if (i == start) memset(seen, 0, sizeof seen);
    if (r->order[i] >= count || seen[r->order[i]])
      return macko_fail(err, MACKO_CORRUPT, "position %lld holds row %u of its window a second time or beyond its %lld rows",
                        (long long)i, r->order[i], (long long)count);
    seen[r->order[i]] = 1;
  }
  return MACKO_OK;
}

/* Checks the code of entry k of the row at a position, before its gap is looked up. The first of a row must have gap 0, on which
 * products rely. */
static macko_status validate_pair(const macko_matrix *m, const slice_reader *r, const macko_slice *s, int64_t position, int64_t k,
                                  macko_error *err)
{
  int64_t slot = macko_slice_slot(s->values, 1, k, (int)(position % MACKO_SLICE_ROWS));
  if (r->codes[slot] >= m->plan.table)
    return macko_fail(err, MACKO_CORRUPT, "value code %u at slot %lld is beyond the %lld pairs", r->codes[slot], (long long)slot,
                      (long long)m->plan.table);
  if (k == 0 && r->pair_gaps[r->codes[slot]])
    return macko_fail(err, MACKO_CORRUPT, "the row at position %lld begins with a pair of gap %u, not 0", (long long)position,
                      r->pair_gaps[r->codes[slot]]);
  return MACKO_OK;
}

/* Checks the row at a position, of a slice that is neither a stencil nor masked: its length, its codes, and that its columns
 * rise inside the matrix. */
static macko_status validate_lane(const macko_matrix *m, const slice_reader *r, const macko_slice *s, int64_t position,
                                  macko_error *err)
{
  int lane = (int)(position % MACKO_SLICE_ROWS);
  const uint32_t *gaps = macko_slice_gaps(s, r->blocks);
  int64_t length = macko_lane_length(r, s, lane), base = macko_lane_base(r, s, lane), col = base;
  if (length > s->steps)
    return macko_fail(err, MACKO_CORRUPT, "the row at position %lld has %lld entries in a slice of %u steps", (long long)position,
                      (long long)length, s->steps);
  for (int64_t k = 0; k < length; k++) {
    int64_t before = col;
    if (s->gap_bits == MACKO_GAP_PAIRS) {
      macko_status wrong = validate_pair(m, r, s, position, k, err);
      if (wrong) return wrong;
    }
    if (k) col = macko_lane_column(r, s, gaps, base, col, k, lane);
    if (col < 0 || col >= m->ncols || (k && col <= before))
      return macko_fail(err, MACKO_CORRUPT, "the row at position %lld goes from column %lld to %lld of 0..%lld",
                        (long long)position, (long long)before, (long long)col, (long long)m->ncols - 1);
  }
  return MACKO_OK;
}

/* Checks that the block and the values of a slice lie inside their sections; only then may anything of the slice be read. Gaps of
 * codes need codec pairs. */
static macko_status validate_header(const macko_matrix *m, const slice_reader *r, int64_t slice, macko_error *err)
{
  macko_slice s = macko_slice_at(r->headers, slice);
  int64_t words = macko_params_of(&m->plan)->slice.block_words;
  int64_t units = macko_find_section(m, "values")->bytes / MACKO_VALUE_UNIT;
  uint32_t info = r->headers[slice * MACKO_SLICE_WORDS + 2];
  const int no_width = (info & 7) > 6 || ((info & 7) == 5 && m->plan.values != MACKO_VALUES_PAIRS);
  if (no_width || s.block + macko_slice_block_words(&s) > words ||
      s.values + macko_slice_value_units(&s, r->element_bytes) > units)
    return macko_fail(err, MACKO_CORRUPT,
                      "slice %lld (info %08x) needs words %u + %lld of %lld and value units %u + %lld of %lld",
                      (long long)slice, info, s.block, (long long)macko_slice_block_words(&s), (long long)words, s.values,
                      (long long)macko_slice_value_units(&s, r->element_bytes), (long long)units);
  if (s.gap_bits == MACKO_GAP_MASKED && !s.stencil) return macko_validate_masked(m, r, slice, err);
  return s.stencil ? macko_validate_stencil(m, r, slice, err) : MACKO_OK;
}

/* Checks what the plan counts of all slices: refresh makes room by it, and which kernels a GPU runs depends on it. */
static macko_status validate_counts(const macko_matrix *m, const slice_reader *r, macko_error *err)
{
  const macko_params *params = macko_params_of(&m->plan);
  int64_t units[4] = {0}, stencils = 0, masked = 0;
  for (int64_t i = 0; i < macko_slices_of(m->nrows); i++) {
    macko_slice s = macko_slice_at(r->headers, i);
    for (int e = 0; e < 4; e++) units[e] += macko_slice_value_units(&s, 1 << e);
    stencils += s.stencil, masked += s.gap_bits == MACKO_GAP_MASKED;
  }
  if (stencils != params->slice.stencils || masked != params->slice.masked)
    return macko_fail(err, MACKO_CORRUPT, "layout slice: %lld slices are stencils and %lld masked, not %lld and %lld",
                      (long long)stencils, (long long)masked, (long long)params->slice.stencils,
                      (long long)params->slice.masked);
  for (int e = 0; e < 4; e++)
    if (units[e] != params->slice.value_units[e])
      return macko_fail(err, MACKO_CORRUPT, "layout slice: the slices take %lld value units for elements of %d byte%s, not %lld",
                        (long long)units[e], 1 << e, e ? "s" : "", (long long)params->slice.value_units[e]);
  return MACKO_OK;
}

/* A header is looked at before the first of its rows is, and the counts last. */
macko_status macko_slice_validate(const macko_matrix *m, macko_error *err)
{
  macko_status s = validate_plan(m, err);
  if (!s) s = macko_check_sections(m, err);
  if (s) return s;
  slice_reader r = macko_open_slices(m);
  int64_t entries = 0;
  s = validate_order(&r, err);
  for (int64_t i = 0; !s && i < m->nrows; i++) {
    if (i % MACKO_SLICE_ROWS == 0) s = validate_header(m, &r, i / MACKO_SLICE_ROWS, err);
    if (s) return s;
    macko_slice slice = macko_slice_at(r.headers, i / MACKO_SLICE_ROWS);
    if (!slice.stencil && slice.gap_bits != MACKO_GAP_MASKED) s = validate_lane(m, &r, &slice, i, err);
    entries += macko_lane_length(&r, &slice, (int)(i % MACKO_SLICE_ROWS));
  }
  if (!s && entries != m->nnz)
    s = macko_fail(err, MACKO_CORRUPT, "the slices hold %lld entries, the matrix %lld", (long long)entries, (long long)m->nnz);
  return s ? s : validate_counts(m, &r, err);
}
