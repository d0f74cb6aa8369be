/* Rows of a matrix a piece at a time, whether it is in memory as a whole or comes from a macko_row_source. */
#ifndef MACKO_ROWS_H
#define MACKO_ROWS_H

#include "core/format.h"

typedef struct macko_rows {
  int64_t nrows, ncols;
  macko_type value_type;
  const macko_csr *whole;         /* sorted and checked, or NULL: */
  const macko_row_source *source; /* where rows come from */
  void *owned;                    /* of the piece at hand, where it had to be sorted */
  uint32_t *seen;                 /* a hash of every row that has been asked for, 0 before; NULL: each is asked for once */
} macko_rows;

macko_rows macko_rows_of(const macko_csr *whole);

/* Rows a pass should ask for at a time. */
int64_t macko_rows_step(const macko_rows *r);

/* Sets *piece to rows first .. first + count - 1, sorted and checked, until the next call. Its row 0 need not begin at entry 0.
 * Errors: of the source; INVALID_MATRIX (also for a row that has changed), OUT_OF_MEMORY. */
macko_status macko_get_rows(macko_rows *r, int64_t first, int64_t count, macko_csr *piece, macko_error *err);

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

/* As macko_check_overflow, of all rows; counted from 0. */
macko_status macko_check_overflow_of_rows(macko_rows *r, const macko_options *options, macko_error *err);

/* A matrix of a format that has encode_rows, by checked options that name the format. */
macko_status macko_encode_in_pieces(macko_rows *r, const macko_options *options, const macko_format_ops *ops,
                                    macko_matrix **matrix, macko_error *err);

#endif
