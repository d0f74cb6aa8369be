/* Rows in pieces: getting them, and encoding from them. */
#include "core/row_source.h"

#include "core/convert.h"
#include "core/hash.h"
#include "core/traps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

macko_rows macko_rows_of(const macko_csr *whole)
{
  return (macko_rows){.nrows = whole->nrows, .ncols = whole->ncols, .value_type = whole->value_type, .whole = whole};
}

/* Frees the copy of the piece at hand. */
static void drop_piece(macko_rows *r)
{
  free(r->owned);
  r->owned = NULL;
}

/* Makes room for a hash of every row: 4 bytes a row are what the check for changed rows takes. */
static macko_status remember_rows(macko_rows *r, macko_error *err)
{
  r->seen = calloc((size_t)r->nrows + 1, sizeof *r->seen);
  if (r->seen) return MACKO_OK;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to compare %lld rows", (long long)r->nrows);
}

int64_t macko_rows_step(const macko_rows *r)
{
  return r->whole ? r->nrows : r->source->piece_rows;
}

/* Puts the rows of the piece before the sentence of a failure, which counts rows from the first of the piece. Gives s again. */
static macko_status place_error(int64_t first, int64_t count, macko_status s, macko_error *err)
{
  char text[sizeof err->text];
  if (!err) return s;
  snprintf(text, sizeof text, "%s", err->text);
  return macko_fail(err, s, "in the piece of rows %lld to %lld: %.400s", (long long)first, (long long)(first + count - 1), text);
}

/* Gives a hash of the columns of row i of a piece and of the bits of its values; never 0, which says that the row has not been
 * asked for. The key may be fixed: a change that a hash misses does no harm, because columns are checked in every pass and
 * encoders compare lengths as well. */
static uint32_t hash_row(const macko_csr *piece, int64_t i)
{
  const uint64_t factor = 0x9e3779b97f4a7c15u;
  const macko_hash_key key = {0x243f6a8885a308d3u, factor};
  int64_t begin = macko_csr_row(piece, i), end = macko_csr_row(piece, i + 1);
  uint64_t hash = (uint64_t)(end - begin);
  for (int64_t p = begin; p < end; p++) {
    uint64_t bits = macko_bits_at(piece->value_type, piece->values, p), col = (uint64_t)macko_csr_col(piece, p);
    hash = hash * factor + macko_hash(key, bits ^ col * 0xd6e8feb86659fd93u);
  }
  return (uint32_t)(hash >> 32) | 1;
}

/* Compares the rows of a piece with what they were when they were asked for before. An encoding puts together what several passes
 * have read: it is of one matrix only where all of them have read the same. */
static macko_status check_unchanged(macko_rows *r, int64_t first, const macko_csr *piece, macko_error *err)
{
  for (int64_t i = 0; i < piece->nrows; i++) {
    uint32_t hash = hash_row(piece, i), *seen = &r->seen[first + i];
    if (*seen && *seen != hash)
      return macko_fail(err, MACKO_INVALID_MATRIX, "row %lld is not what it was when it was asked for before",
                        (long long)(first + i));
    *seen = hash;
  }
  return MACKO_OK;
}

/* Of a matrix in memory the piece is a view of its rows, which have been checked. What a source gives is checked every time,
 * because it is the program that answers. */
macko_status macko_get_rows(macko_rows *r, int64_t first, int64_t count, macko_csr *piece, macko_error *err)
{
  macko_csr given = {0};
  macko_error own; /* sources may write to it whether or not anyone reads it */
  if (r->whole) {
    *piece = *r->whole;
    piece->nrows = count;
    piece->row_ptr = (const char *)r->whole->row_ptr + first * macko_type_bytes(r->whole->row_ptr_type);
    return MACKO_OK;
  }
  drop_piece(r);
  if (!err) err = &own;
  *err = (macko_error){.text = "the source gave no reason"};
  macko_status s = r->source->rows(r->source->context, first, count, &given, err);
  if (s) return err->status = s;
  s = macko_check_types(&given, err);
  if (s) return place_error(first, count, s, err);
  if (given.nrows != count || given.ncols != r->ncols || given.value_type != r->value_type)
    return macko_fail(err, MACKO_INVALID_MATRIX,
                      "the piece of rows %lld to %lld has %lld rows of %lld columns of type %s, not of %lld, %s",
                      (long long)first, (long long)(first + count - 1), (long long)given.nrows, (long long)given.ncols,
                      macko_type_name(given.value_type), (long long)r->ncols, macko_type_name(r->value_type));
  s = macko_sort_csr(&given, piece, &r->owned, err);
  if (s) return place_error(first, count, s, err);
  return r->seen ? check_unchanged(r, first, piece, err) : MACKO_OK;
}

/* The rows of a piece are counted by what the source gave once duplicates have been added. */
macko_status macko_count_entries(macko_rows *r, int64_t *nnz, macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_csr piece = {0};
  *nnz = 0;
  for (int64_t first = 0, step = macko_rows_step(r); !s && first < r->nrows; first += piece.nrows) {
    s = macko_get_rows(r, first, step < r->nrows - first ? step : r->nrows - first, &piece, err);
    if (!s) *nnz += macko_csr_row(&piece, piece.nrows) - macko_csr_row(&piece, 0);
  }
  return s;
}

/* ---- rows put together: of pieces, or all of a matrix whose format needs it as a whole ---- */

/* Makes room for nnz entries in all, by half as many more than needed, so that piece after piece does not copy all each time.
 * After a failure what was there is still there to be freed. */
static macko_status make_room(macko_assembly *a, int64_t nnz, int64_t size, macko_error *err)
{
  if (nnz <= a->room) return MACKO_OK;
  int64_t room = nnz + nnz / 2;
  int64_t *cols = realloc(a->cols, (size_t)room * sizeof *cols);
  if (cols) a->cols = cols;
  char *values = cols ? realloc(a->values, (size_t)(room * size)) : NULL;
  if (values) a->values = values;
  if (!values) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to put %lld nonzeros together", (long long)nnz);
  a->room = room;
  return MACKO_OK;
}

/* Appends a piece, which becomes rows `row` and so on of those that are put together. */
static macko_status append(macko_assembly *a, const macko_rows *r, int64_t row, const macko_csr *piece, macko_error *err)
{
  int64_t size = macko_type_bytes(r->value_type), begin = macko_csr_row(piece, 0), to = a->row_ptr[row];
  int64_t count = macko_csr_row(piece, piece->nrows) - begin;
  macko_status s = make_room(a, to + count, size, err);
  if (s) return s;
  for (int64_t i = 0; i < piece->nrows; i++) a->row_ptr[row + i + 1] = to + macko_csr_row(piece, i + 1) - begin;
  for (int64_t p = 0; p < count; p++) a->cols[to + p] = macko_csr_col(piece, begin + p);
  if (count) memcpy(a->values + to * size, (const char *)piece->values + begin * size, (size_t)(count * size));
  return MACKO_OK;
}

macko_status macko_assemble(macko_rows *r, int64_t first, int64_t count, macko_assembly *a, macko_csr *rows, macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_csr piece = {0};
  int64_t *row_ptr = a->rows < count || !a->row_ptr ? realloc(a->row_ptr, ((size_t)count + 1) * sizeof *row_ptr) : a->row_ptr;
  if (!row_ptr) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the starts of %lld rows", (long long)count);
  if (row_ptr != a->row_ptr || a->rows < count) a->row_ptr = row_ptr, a->rows = count;
  row_ptr[0] = 0;
  for (int64_t row = 0, step = macko_rows_step(r); !s && row < count; row += piece.nrows) {
    s = macko_get_rows(r, first + row, step < count - row ? step : count - row, &piece, err);
    if (!s) s = append(a, r, row, &piece, err);
  }
  *rows = (macko_csr){.nrows = count, .ncols = r->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                      .value_type = r->value_type, .row_ptr = row_ptr, .cols = a->cols, .values = a->values};
  return s;
}

void macko_free_assembly(macko_assembly *a)
{
  free(a->row_ptr), free(a->cols), free(a->values);
  *a = (macko_assembly){0};
}

/* ---- views ---- */

/* The row starts of a piece begin at its first row. The view gets a pointer so many rows before them, computed as a number
 * because C allows no such pointer; nothing in front of the first row is read through it. */
macko_status macko_view_rows(macko_rows *r, int64_t first, int64_t count, macko_assembly *a, macko_csr *view, macko_error *err)
{
  if (r->whole) {
    *view = *r->whole;
    return MACKO_OK;
  }
  macko_error own = {0}, *why = err ? err : &own;
  macko_status s = count <= macko_rows_step(r) ? macko_get_rows(r, first, count, view, why)
                                               : macko_assemble(r, first, count, a, view, why);
  if (s && !err) r->failed = own, r->failed.status = s;
  if (s) return s;
  view->row_ptr = (const void *)((uintptr_t)view->row_ptr - (uintptr_t)(first * macko_type_bytes(view->row_ptr_type)));
  view->nrows = first + count;
  return MACKO_OK;
}

macko_view macko_open_view(macko_rows *r, int64_t multiple)
{
  const int64_t piece = macko_rows_step(r), step = r->whole ? r->nrows : piece < multiple ? multiple : piece / multiple * multiple;
  return (macko_view){.rows = r, .step = step};
}

/* A view that fails leaves *s as it should be returned, so that the caller tests it once, after the loop. */
int macko_next_view(macko_view *v, macko_status *s, macko_error *err)
{
  const int64_t left = v->rows->nrows - v->past;
  if (*s || left == 0) return 0;
  v->first = v->past, v->past += v->step < left ? v->step : left;
  *s = macko_view_rows(v->rows, v->first, v->past - v->first, &v->room, &v->view, err);
  return !*s;
}

void macko_close_view(macko_view *v)
{
  macko_free_assembly(&v->room);
}

/* Puts all rows together and encodes them as a whole: for formats that look at rows far apart. */
static macko_status encode_assembled(macko_rows *r, const macko_options *options, macko_matrix **matrix, macko_error *err)
{
  macko_assembly a = {0};
  macko_csr whole;
  macko_status s = macko_assemble(r, 0, r->nrows, &a, &whole, err);
  if (!s) s = macko_encode(&whole, options, matrix, err);
  macko_free_assembly(&a);
  return s;
}

/* ---- encoding ---- */

/* Checks what the program says of its matrix. The rows themselves are checked as they come. */
static macko_status check_source(const macko_row_source *source, macko_error *err)
{
  if (!source->rows) return macko_fail(err, MACKO_INVALID_ARGUMENT, "a row source without a function");
  if (source->nrows < 0 || source->ncols < 0)
    return macko_fail(err, MACKO_INVALID_MATRIX, "a matrix of %lld x %lld", (long long)source->nrows, (long long)source->ncols);
  if (source->piece_rows < 1)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "pieces of %lld rows; at least 1", (long long)source->piece_rows);
  if (source->value_type != MACKO_F64 && source->value_type != MACKO_F32 && source->value_type != MACKO_F16 &&
      source->value_type != MACKO_BF16)
    return macko_fail(err, MACKO_INVALID_MATRIX, "value type %d is none of f64, f32, f16 and bf16", (int)source->value_type);
  return MACKO_OK;
}

/* Adds to the plan what is the same in every form, of rows that have been encoded and counted. */
static void complete(macko_rows *r, macko_matrix *m)
{
  const macko_csr shape = {.nrows = r->nrows, .ncols = r->ncols, .value_type = r->value_type};
  macko_findings found = {.csr = &shape, .rows = r, .others = m->others};
  r->nnz = m->nnz;
  const macko_facts facts = macko_host_facts(&found);
  macko_complete_plan(&facts, &m->options, &m->plan);
}

macko_status macko_encode_in_pieces(macko_rows *r, const macko_options *options, const macko_format_ops *ops, double others,
                                    macko_matrix **matrix, macko_error *err)
{
  macko_matrix *m = calloc(1, sizeof *m);
  if (!m) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matrix handle of %zu bytes", sizeof *m);
  m->options = *options, m->format = options->format, m->ops = ops;
  m->value_type = r->value_type, m->nrows = r->nrows, m->ncols = r->ncols, m->others = others;
  macko_status s = ops->encode_rows(r, m, err);
  if (!s) complete(r, m);
  if (!s && r->failed.status) s = macko_fail(err, r->failed.status, "%s", r->failed.text); /* of a view whose facts cannot fail */
  if (!s) s = macko_prepare(m, err);
  if (s) macko_destroy(&m);
  else *matrix = m;
  return s;
}

/* Overflow is looked for in a pass of its own, before anything is planned, as macko_encode does. Rows are put together as a whole
 * only where a format has asked for that, and nothing else went wrong. */
static macko_status encode_source(const macko_row_source *source, const macko_options *options, macko_matrix **matrix,
                                  macko_error *err)
{
  macko_options settled;
  if (!source || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "source and matrix must not be NULL");
  macko_status s = macko_settle_options(options, &settled, err);
  if (!s) s = check_source(source, err);
  if (!s && settled.prefer == MACKO_PREFER_MEASURED)
    s = macko_fail(err, MACKO_UNSUPPORTED,
                   "prefer measured needs the whole matrix; rows that come in pieces are encoded by time or memory");
  if (s) return s;
  macko_rows r = {.nrows = source->nrows, .ncols = source->ncols, .value_type = source->value_type, .source = source};
  const macko_format_ops *ops = settled.format == MACKO_FORMAT_AUTO ? NULL : macko_formats[settled.format];
  s = remember_rows(&r, err);
  if (!s) s = macko_check_overflow_of_rows(&r, &settled, err);
  if (!s && ops && ops->encode_rows) s = macko_encode_in_pieces(&r, &settled, ops, 0, matrix, err);
  else if (!s) s = macko_encode_views(&r, &settled, matrix, err);
  if (s == MACKO_UNSUPPORTED && r.needs_whole) s = encode_assembled(&r, &settled, matrix, err);
  drop_piece(&r);
  free(r.seen);
  return s;
}

/* The source's own function runs without traps, too. */
macko_status macko_encode_rows(const macko_row_source *source, const macko_options *options, macko_matrix **matrix,
                               macko_error *err)
{
  fenv_t kept;
  macko_hold_traps(&kept);
  const macko_status s = encode_source(source, options, matrix, err);
  macko_restore_traps(&kept);
  return s;
}
