/* Rows of a matrix a piece at a time, whether it is in memory as a whole or comes from a macko_row_source. */
#ifndef MACKO_ROW_SOURCE_H
#define MACKO_ROW_SOURCE_H

#include "core/facts.h"

/* Rows that passes ask for a piece at a time, and what is known about them. Exactly one of whole and source is not NULL. */
typedef struct macko_rows {
  int64_t nrows, ncols;
  macko_type value_type;
  const macko_csr *whole;         /* the matrix in memory, sorted and checked; or NULL: */
  const macko_row_source *source; /* where rows come from */
  void *owned;                    /* the sorted copy of the piece at hand, where one had to be made */
  uint32_t *seen;                 /* a hash of every row that has been asked for, 0 before; NULL: each is asked for once */
  int64_t nnz;                    /* entries of rows that come in pieces, once they have been counted */
  int needs_whole;                /* 1: the format wants all rows put together before it encodes, or tells what it would do */
  macko_error failed;             /* why a view failed whose caller had no room for an error; status 0: none has */
} macko_rows;

/* Gives the rows of a csr in memory, sorted and checked, which must outlive them. There is nothing to free. */
macko_rows macko_rows_of(const macko_csr *whole);

/* Gives the number of rows that a pass should ask for at a time: all of a matrix in memory. */
int64_t macko_rows_step(const macko_rows *r);

/* Sets *piece to rows first .. first + count - 1, sorted and checked, until the next call. Its row 0 need not begin at entry 0.
 * Errors: of the source; INVALID_MATRIX (also for a row that has changed), OUT_OF_MEMORY. */
macko_status macko_get_rows(macko_rows *r, int64_t first, int64_t count, macko_csr *piece, macko_error *err);

/* Sets *nnz to the entries of all rows, in one pass. Errors: as macko_get_rows. */
macko_status macko_count_entries(macko_rows *r, int64_t *nnz, macko_error *err);

/* Rows that are put together, in arrays that are used again and grow; all zero at first. */
typedef struct {
  int64_t *row_ptr, *cols;
  char *values;
  int64_t rows, room; /* how many rows and entries there is room for */
} macko_assembly;

/* Sets *rows to rows first .. first + count - 1, which may be more than come in one piece, until the next call with *a, which is
 * all zero at first. Errors: as macko_get_rows. */
macko_status macko_assemble(macko_rows *r, int64_t first, int64_t count, macko_assembly *a, macko_csr *rows, macko_error *err);
/* Frees the room; *a may be used again. */
void macko_free_assembly(macko_assembly *a);

/* A walk over all rows in their order, some at a time under the numbers that they have in the matrix: view has rows first .. past
 * - 1 and none behind them. Of a matrix in memory it is all rows at once. Formats so read rows in pieces with the code for whole
 * matrices. */
typedef struct {
  macko_rows *rows;
  int64_t step, first, past;
  macko_csr view; /* the rows before `first` are not there and must not be read */
  macko_assembly room;
} macko_view;

/* Begins the walk before the first rows. In every view `first` is a multiple of `multiple`, such as the rows of a slice, for
 * which pieces may be put together. */
macko_view macko_open_view(macko_rows *r, int64_t multiple);

/* Gives 1 if there are rows left, which then are in the view, and 0 behind the last. It also gives 0 where *s is a failure, of
 * this call or from before, so that a loop needs no other test. Errors: as macko_get_rows. */
int macko_next_view(macko_view *v, macko_status *s, macko_error *err);
/* Frees what views were put together in. */
void macko_close_view(macko_view *v);

/* Sets *view to `count` rows from `first` on under their own numbers, put together in *a where they are more than a piece; of a
 * matrix in memory it is all rows. Where err is NULL, r->failed keeps what went wrong. Errors: as macko_get_rows. */
macko_status macko_view_rows(macko_rows *r, int64_t first, int64_t count, macko_assembly *a, macko_csr *view, macko_error *err);

/* Gives the number of entries of the view, of which the first is where its row starts say. */
static inline int64_t macko_view_entries(const macko_view *v)
{
  return macko_csr_row(&v->view, v->past) - macko_csr_row(&v->view, v->first);
}

/* Give the rows that planning reads, in pieces or *whole, which is made of the csr and must last as long; and how many entries
 * they have. */
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

/* Does what macko_check_overflow does, for all rows; sentences count from 0. Errors: also those of macko_get_rows. */
macko_status macko_check_overflow_of_rows(macko_rows *r, const macko_options *options, macko_error *err);

/* Does macko_encode_rows of checked options, where the format has no encode_rows or is chosen here. Errors: UNSUPPORTED, with
 * r->needs_whole set, where all rows are to be put together first; as macko_encode_rows. */
macko_status macko_encode_views(macko_rows *r, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* Makes a matrix of a format that has encode_rows, by checked options that name the format. Errors: as macko_encode_rows. */
macko_status macko_encode_in_pieces(macko_rows *r, const macko_options *options, const macko_format_ops *ops, double others,
                                    macko_matrix **matrix, macko_error *err);

#endif
