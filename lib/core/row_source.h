/* Rows of a matrix a piece at a time, whether it is in memory as a whole or comes from a macko_row_source. */
#ifndef MACKO_ROW_SOURCE_H
#define MACKO_ROW_SOURCE_H

#include "core/facts.h"

typedef struct macko_rows {
  int64_t nrows, ncols;
  macko_type value_type;
  const macko_csr *whole;         /* sorted and checked, or NULL: */
  const macko_row_source *source; /* where rows come from */
  void *owned;                    /* of the piece at hand, where it had to be sorted */
  uint32_t *seen;                 /* a hash of every row that has been asked for, 0 before; NULL: each is asked for once */
  int64_t nnz;                    /* of those that come in pieces, once they have been counted */
  int needs_whole;                /* set by a format that cannot tell what it would do before all rows are put together */
  macko_error failed;             /* of views, where the caller had no room for an error: status 0 until then */
} macko_rows;

macko_rows macko_rows_of(const macko_csr *whole);

/* Rows a pass should ask for at a time. */
int64_t macko_rows_step(const macko_rows *r);

/* Sets *piece to rows first .. first + count - 1, sorted and checked, until the next call. Its row 0 need not begin at entry 0.
 * Errors: of the source; INVALID_MATRIX (also for a row that has changed), OUT_OF_MEMORY. */
macko_status macko_get_rows(macko_rows *r, int64_t first, int64_t count, macko_csr *piece, macko_error *err);

/* How many entries all rows have. Errors: as macko_get_rows. */
macko_status macko_count_entries(macko_rows *r, int64_t *nnz, macko_error *err);

/* Rows put together, with room that is used again. */
typedef struct {
  int64_t *row_ptr, *cols;
  char *values;
  int64_t rows, room; /* rows and entries that there is room for */
} macko_assembly;

/* Sets *rows to rows first .. first + count - 1, more than come in one piece if need be, until the next call with *a, which is zero
 * at first. Errors: as macko_get_rows. */
macko_status macko_assemble(macko_rows *r, int64_t first, int64_t count, macko_assembly *a, macko_csr *rows, macko_error *err);
void macko_free_assembly(macko_assembly *a);

/* All rows in their order, some at a time under the numbers that they have in the matrix: view has rows first .. past - 1 and none
 * behind them. Of a matrix in memory that is all of it. */
typedef struct {
  macko_rows *rows;
  int64_t step, first, past;
  macko_csr view; /* the rows before `first` are not there */
  macko_assembly room;
} macko_view;

/* Before the first rows. first is a multiple of `multiple` in every view. */
macko_view macko_open_view(macko_rows *r, int64_t multiple);

/* 1 if there are rows left, and then the next of them are in the view; 0 also where *s, which may come with a failure, is one then.
 * Errors: as macko_get_rows. */
int macko_next_view(macko_view *v, macko_status *s, macko_error *err);
void macko_close_view(macko_view *v);

/* *view has `count` rows from `first` on, and the room is a's; or it has all rows. Where err is NULL, r->failed keeps what went wrong.
 * Errors: as macko_get_rows. */
macko_status macko_view_rows(macko_rows *r, int64_t first, int64_t count, macko_assembly *a, macko_csr *view, macko_error *err);

/* Entries of the view, of which the first is where its arrays say. */
static inline int64_t macko_view_entries(const macko_view *v)
{
  return macko_csr_row(&v->view, v->past) - macko_csr_row(&v->view, v->first);
}

/* What planning of a csr reads: the rows that it comes in, or *whole, which is made of it; and how many entries it has. */
static inline macko_rows *macko_found_rows(const macko_findings *found, macko_rows *whole)
{
  if (found->rows) return found->rows;
  *whole = macko_rows_of(found->csr);
  return whole;
}

static inline int64_t macko_found_nnz(const macko_findings *found)
{
  return found->rows ? found->rows->nnz : macko_csr_nnz(found->csr);
}

/* As macko_check_overflow, of all rows; counted from 0. */
macko_status macko_check_overflow_of_rows(macko_rows *r, const macko_options *options, macko_error *err);

/* macko_encode_rows of checked options, where the format has no encode_rows or is chosen here. UNSUPPORTED, and r->needs_whole set,
 * where all rows are to be put together. */
macko_status macko_encode_views(macko_rows *r, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* A matrix of a format that has encode_rows, by checked options that name the format. */
macko_status macko_encode_in_pieces(macko_rows *r, const macko_options *options, const macko_format_ops *ops,
                                    macko_matrix **matrix, macko_error *err);

#endif
