/* CSR-dtANS: the rows to be encoded, what a first pass over them tells, and slices of them. */
#include "dtans/dtans.h"

#include <stdlib.h>

/* A matrix in memory comes as one piece. */
macko_status macko_dtans_next_piece(const macko_dtans_input *in, int64_t first, int64_t past, macko_csr *piece, macko_error *err)
{
  int64_t step = macko_rows_step(in->rows);
  return macko_get_rows(in->rows, first, step < past - first ? step : past - first, piece, err);
}

/* ---- row lengths ---- */

/* Writes the length of a row, which fits the section's type. */
static void put_length(macko_section *lengths, int64_t row, int64_t length)
{
  if (lengths->type == MACKO_U8) ((uint8_t *)lengths->data)[row] = (uint8_t)length;
  else if (lengths->type == MACKO_U16) ((uint16_t *)lengths->data)[row] = (uint16_t)length;
  else ((uint32_t *)lengths->data)[row] = (uint32_t)length;
}

/* Copies the lengths into a type that holds longer ones: whether one is needed is known only when a long row comes. Errors:
 * OUT_OF_MEMORY. */
static macko_status widen(macko_section *lengths, int64_t rows, int64_t longest, macko_error *err)
{
  macko_section wide;
  macko_type type = longest <= UINT16_MAX ? MACKO_U16 : MACKO_U32;
  macko_status s = macko_new_section(macko_pattern_section("lengths", type, rows), &wide, err);
  if (s) return s;
  for (int64_t i = 0; i < rows; i++) put_length(&wide, i, macko_dtans_length(lengths, i));
  free(lengths->data);
  *lengths = wide;
  return MACKO_OK;
}

/* Lengths are written as bytes until a row does not fit, so that rows are read once. */
macko_status macko_dtans_open_input(macko_rows *rows, macko_dtans_input *in, macko_error *err)
{
  macko_csr piece = {0};
  *in = (macko_dtans_input){.rows = rows, .values = rows};
  if (rows->ncols > UINT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format dtans holds at most %lld columns, not %lld", (long long)UINT32_MAX,
                      (long long)rows->ncols);
  macko_status s = macko_new_section(macko_pattern_section("lengths", MACKO_U8, rows->nrows), &in->lengths, err);
  for (int64_t first = 0; first < rows->nrows && !s; first += piece.nrows) {
    s = macko_dtans_next_piece(in, first, rows->nrows, &piece, err);
    for (int64_t i = 0; i < piece.nrows && !s; i++) {
      int64_t length = macko_csr_row(&piece, i + 1) - macko_csr_row(&piece, i);
      if (length > in->longest_row) in->longest_row = length;
      if (length > (in->lengths.type == MACKO_U8 ? UINT8_MAX : in->lengths.type == MACKO_U16 ? UINT16_MAX : UINT32_MAX))
        s = widen(&in->lengths, rows->nrows, length, err);
      if (!s) put_length(&in->lengths, first + i, length);
      in->nnz += length;
    }
  }
  if (s) macko_dtans_close_input(in);
  return s;
}

/* Arrays that have been handed over are NULL by then. */
void macko_dtans_close_input(macko_dtans_input *in)
{
  for (int part = MACKO_DTANS_GAPS; part <= MACKO_DTANS_PAIRS; part++) {
    free(in->histograms[part].slots), free(in->histograms[part].sorted);
    in->histograms[part] = (macko_dtans_histogram){0};
  }
  free(in->lengths.data);
  in->lengths.data = NULL;
}

/* ---- slices ---- */

/* Writes the symbols of row i of a piece, which is row `row` of the matrix, to `out`. 32-bit columns and f64 values, which most
 * matrices have, go through a loop of their own, in which types are not looked at for each entry. */
static void gather_row(const macko_csr *a, int64_t i, int64_t row, int relative, macko_dtans_symbol *out)
{
  int64_t begin = macko_csr_row(a, i), length = macko_csr_row(a, i + 1) - begin;
  if (length == 0) return;
  if (a->col_type == MACKO_I32 && a->value_type == MACKO_F64) {
    const int32_t *cols = (const int32_t *)a->cols + begin;
    const uint64_t *values = (const uint64_t *)a->values + begin;
    for (int64_t p = 1; p < length; p++) out[p] = (macko_dtans_symbol){values[p], (uint32_t)(cols[p] - cols[p - 1])};
    out[0].value = values[0];
  } else
    for (int64_t p = 0; p < length; p++) {
      if (p) out[p].gap = (uint32_t)(macko_csr_col(a, begin + p) - macko_csr_col(a, begin + p - 1));
      out[p].value = macko_bits_at(a->value_type, a->values, begin + p);
    }
  int64_t col = macko_csr_col(a, begin);
  out[0].gap = relative ? macko_dtans_zigzag(col - row) : (uint32_t)col;
}

/* Finds where the entries of each lane go in a slice of rows first .. past - 1, and makes room for them, also where there are
 * none. Errors: OUT_OF_MEMORY. */
static macko_status lay_out(const macko_dtans_input *in, int64_t first, int64_t past, macko_dtans_slice *s, macko_error *err)
{
  s->longest = s->nonzeros = 0;
  for (int l = 0; l < MACKO_DTANS_LANES; l++) {
    s->start[l] = s->nonzeros;
    s->count[l] = 0;
    for (int64_t row = first + l; row < past; row += MACKO_DTANS_LANES) s->count[l] += macko_dtans_length(&in->lengths, row);
    s->nonzeros += s->count[l];
    if (s->count[l] > s->longest) s->longest = s->count[l];
  }
  if (s->nonzeros < s->room) return MACKO_OK;
  free(s->symbols);
  s->room = s->nonzeros + s->nonzeros / 8 + 1;
  s->symbols = malloc((size_t)s->room * sizeof *s->symbols);
  if (s->symbols) return MACKO_OK;
  s->room = 0;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a slice of %lld nonzeros", (long long)s->nonzeros);
}

/* Rows come in their order and go to the lanes in turn. A row of another length would be written over its neighbour's place,
 * hence the check. */
macko_status macko_dtans_gather(const macko_dtans_input *in, int64_t rows, int64_t slice, macko_dtans_slice *s, macko_error *err)
{
  int64_t first = slice * rows * MACKO_DTANS_LANES, past = first + rows * MACKO_DTANS_LANES, at[MACKO_DTANS_LANES];
  macko_csr piece = {0};
  if (past > in->rows->nrows) past = in->rows->nrows;
  macko_status status = lay_out(in, first, past, s, err);
  for (int l = 0; l < MACKO_DTANS_LANES; l++) at[l] = s->start[l];
  for (int64_t next = first; next < past && !status; next += piece.nrows) {
    status = macko_dtans_next_piece(in, next, past, &piece, err);
    for (int64_t i = 0; i < piece.nrows && !status; i++) {
      int64_t row = next + i, l = (row - first) % MACKO_DTANS_LANES;
      int64_t length = macko_csr_row(&piece, i + 1) - macko_csr_row(&piece, i);
      if (length != macko_dtans_length(&in->lengths, row))
        return macko_fail(err, MACKO_INVALID_MATRIX, "row %lld has %lld entries; it had %lld when it was asked for before",
                          (long long)row, (long long)length, (long long)macko_dtans_length(&in->lengths, row));
      gather_row(&piece, i, row, in->relative, s->symbols + at[l]);
      at[l] += length;
    }
  }
  return status;
}
