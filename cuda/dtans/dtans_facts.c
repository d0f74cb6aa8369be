/* Format dtans encoded on the GPU: what the host's planner asks of a csr in device memory, which is counts, the rows of its
 * sample and distinct values. */
#include "dtans/dtans_facts.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_PIECE = 1 << 16 /* distinct values looked at together */ };

macko_status macko_dtans_copy_back(const macko_dtans_device_rows *r, void *to, const void *from, int64_t bytes, macko_error *err)
{
  cudaError_t error = cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost, r->stream);
  if (!error) error = cudaStreamSynchronize(r->stream);
  return macko_cuda_status(error, "reading the matrix back", err);
}

/* ---- what the planner asks for ---- */

macko_status macko_dtans_count_part(macko_dtans_device_rows *r, macko_dtans_part part, macko_error *err)
{
  macko_dtans_found *f = &r->found[part];
  return f->counts ? MACKO_OK : macko_dtans_count_device(r->a, r->nnz, part, r->relative, r->stream, f, err);
}

/* Answers the planner's question for a histogram: counts are made on the device and handed over as the host's counting would
 * leave them. */
static macko_status count(void *context, int relative, macko_dtans_histogram *h, macko_error *err)
{
  macko_dtans_device_rows *r = context;
  r->relative = relative;
  macko_status s = macko_dtans_count_part(r, h->part, err);
  if (s) return s;
  const macko_dtans_found *f = &r->found[h->part];
  h->slots = malloc((size_t)(f->used + 1) * sizeof *h->slots);
  if (!h->slots) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld symbols", (long long)f->used);
  memcpy(h->slots, f->counts, (size_t)f->used * sizeof *h->slots);
  h->used = h->room = f->used, h->forgotten = f->forgotten;
  return MACKO_OK;
}

/* Copies rows first .. first + rows - 1 to the host. Columns count from what they count from in the csr, and so do the row
 * starts, from the first row on. What was taken before a failure is in *p. */
static macko_status fetch_piece(macko_dtans_device_rows *r, int64_t first, int64_t rows, macko_dtans_piece *p, macko_error *err)
{
  const macko_csr *a = r->a;
  int64_t row_bytes = macko_type_bytes(a->row_ptr_type), col_bytes = macko_type_bytes(a->col_type);
  int64_t value_bytes = macko_type_bytes(a->value_type), begin = 0, entries = 0;
  *p = (macko_dtans_piece){first, rows, malloc((size_t)(rows + 1) * sizeof *p->row_ptr), NULL, NULL};
  void *row_ptr = malloc((size_t)((rows + 1) * row_bytes));
  macko_status s = MACKO_OK;
  if (!p->row_ptr || !row_ptr) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld rows", (long long)rows);
  if (!s) s = macko_dtans_copy_back(r, row_ptr, (const char *)a->row_ptr + first * row_bytes, (rows + 1) * row_bytes, err);
  if (!s) begin = macko_index(a->row_ptr_type, row_ptr, 0), entries = macko_index(a->row_ptr_type, row_ptr, rows) - begin;
  for (int64_t i = 0; i <= rows && !s; i++) p->row_ptr[i] = macko_index(a->row_ptr_type, row_ptr, i) - begin + a->index_base;
  free(row_ptr);
  if (s) return s;
  p->cols = malloc((size_t)(entries * col_bytes + 1)), p->values = malloc((size_t)(entries * value_bytes + 1));
  if (!p->cols || !p->values) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld entries", (long long)entries);
  begin -= a->index_base;
  cudaError_t error = cudaMemcpyAsync(p->cols, (const char *)a->cols + begin * col_bytes, (size_t)(entries * col_bytes),
                                      cudaMemcpyDeviceToHost, r->stream);
  s = macko_cuda_status(error, "reading the matrix back", err);
  if (s) return s;
  return macko_dtans_copy_back(r, p->values, (const char *)a->values + begin * value_bytes, entries * value_bytes, err);
}

/* Frees the arrays of a piece, some of which may be NULL. */
static void drop_piece(macko_dtans_piece *p)
{
  free(p->row_ptr), free(p->cols), free(p->values);
}

/* Sets *piece to those rows, copied to the host the first time. The planner asks for its sample in the same order each time, so
 * that the search begins behind the piece that was asked for last. */
static macko_status keep_piece(macko_dtans_device_rows *r, int64_t first, int64_t rows, const macko_dtans_piece **piece,
                               macko_error *err)
{
  for (int64_t i = 0; i < r->kept; i++) {
    int64_t at = (r->next + i) % r->kept;
    if (r->pieces[at].first != first || r->pieces[at].count != rows) continue;
    r->next = at + 1;
    *piece = &r->pieces[at];
    return MACKO_OK;
  }
  if (r->kept == r->room) {
    int64_t room = 2 * r->room + 64;
    macko_dtans_piece *pieces = realloc(r->pieces, (size_t)room * sizeof *pieces);
    if (!pieces) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld pieces of rows", (long long)room);
    r->pieces = pieces, r->room = room;
  }
  macko_status s = fetch_piece(r, first, rows, &r->pieces[r->kept], err);
  if (s) drop_piece(&r->pieces[r->kept]);
  else *piece = &r->pieces[r->kept++], r->next = r->kept;
  return s;
}

/* Gives rows as a row source gives them (lib/core/row_source.h), from the pieces that are kept. */
static macko_status fetch_rows(void *context, int64_t first, int64_t rows, macko_csr *out, macko_error *err)
{
  macko_dtans_device_rows *r = context;
  const macko_dtans_piece *p = NULL;
  macko_status s = keep_piece(r, first, rows, &p, err);
  if (s) return s;
  *out = *r->a;
  out->nrows = rows, out->row_ptr = p->row_ptr, out->row_ptr_type = MACKO_I64, out->cols = p->cols, out->values = p->values;
  return MACKO_OK;
}

/* Gives the distinct values as a row source of one row of VALUE_PIECE columns each, which is how the planner looks at values: a
 * codec that holds every distinct value once holds all. Rows beyond the last value are empty. */
static macko_status fetch_values(void *context, int64_t row, int64_t rows, macko_csr *out, macko_error *err)
{
  macko_dtans_device_rows *r = context;
  (void)rows;
  macko_status s = macko_dtans_count_part(r, MACKO_DTANS_VALUES, err);
  if (s) return s;
  const macko_dtans_found *f = &r->found[MACKO_DTANS_VALUES];
  int64_t first = row * VALUE_PIECE, left = f->distinct_count - first, n = left < 0 ? 0 : left < VALUE_PIECE ? left : VALUE_PIECE;
  if (!r->piece_cols) r->piece_cols = malloc(VALUE_PIECE * sizeof *r->piece_cols);
  if (!r->piece_values) r->piece_values = malloc(VALUE_PIECE * 8);
  if (!r->piece_cols || !r->piece_values)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %d values", (int)VALUE_PIECE);
  for (int32_t i = 0; i < n; i++) r->piece_cols[i] = i;
  const char *from = (const char *)f->distinct + first * f->distinct_bytes;
  s = macko_dtans_copy_back(r, r->piece_values, from, n * f->distinct_bytes, err);
  if (r->a->value_type == MACKO_F16 || r->a->value_type == MACKO_BF16) /* sorted as words of 32 bits */
    for (int64_t i = 0; i < n && !s; i++) ((uint16_t *)r->piece_values)[i] = (uint16_t)((uint32_t *)r->piece_values)[i];
  r->piece_row_ptr[1] = (int32_t)n;
  *out = (macko_csr){.nrows = 1, .ncols = VALUE_PIECE, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32,
                     .value_type = r->a->value_type, .row_ptr = r->piece_row_ptr, .cols = r->piece_cols,
                     .values = r->piece_values};
  return s;
}

/* ---- open and close ---- */

/* There are as many rows of values as there could be distinct ones, because how many there are is not counted before somebody
 * asks. */
void macko_dtans_open_rows(const macko_csr *a, int64_t nnz, cudaStream_t stream, macko_dtans_device_rows *r)
{
  *r = (macko_dtans_device_rows){.a = a, .nnz = nnz, .stream = stream};
  r->row_source =
      (macko_row_source){a->nrows, a->ncols, a->value_type, MACKO_DTANS_MAX_ROWS * MACKO_DTANS_LANES, fetch_rows, r};
  r->value_source =
      (macko_row_source){(nnz + VALUE_PIECE - 1) / VALUE_PIECE, VALUE_PIECE, a->value_type, 1, fetch_values, r};
  r->rows = (macko_rows){.nrows = a->nrows, .ncols = a->ncols, .value_type = a->value_type, .source = &r->row_source};
  r->values = (macko_rows){.nrows = r->value_source.nrows, .ncols = VALUE_PIECE, .value_type = a->value_type,
                           .source = &r->value_source};
  r->counter = (macko_dtans_counter){count, r};
  r->in = (macko_dtans_input){.rows = &r->rows, .values = &r->values, .counter = &r->counter, .nnz = nnz};
}

void macko_dtans_close_rows(macko_dtans_device_rows *r)
{
  for (int part = MACKO_DTANS_GAPS; part <= MACKO_DTANS_PAIRS; part++) macko_dtans_drop_found(&r->found[part]);
  for (int64_t i = 0; i < r->kept; i++) drop_piece(&r->pieces[i]);
  free(r->pieces), free(r->piece_cols), free(r->piece_values);
  free(r->rows.owned), free(r->values.owned);
  macko_dtans_close_input(&r->in);
}
