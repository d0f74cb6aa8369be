/* Rows of layouts row and paper that are too long for one group of lanes, cut into pieces that do not depend on each other. */
#ifndef MACKO_ROW_PIECES_H
#define MACKO_ROW_PIECES_H

#include "core/device.h"
#include "macko/params.h"
#include "macko/row_lanes.h"

#ifdef __cplusplus
extern "C" {
#endif

/* This is the most entries of a piece. */
enum { MACKO_PIECE_ENTRIES = 512 };

/* A piece is entries begin .. begin + length - 1 of a row, for one warp. */
typedef struct {
  int64_t begin, row;
  int32_t length;
  int32_t col;        /* column of the entry before; layout row: of the first entry less one, whose code does not count */
  uint32_t next_long; /* first long gap after the first entry */
  int32_t partial;    /* where its sum goes */
} macko_piece;

/* This is a cut row: the sums first .. first + count - 1 add up to it. */
typedef struct {
  int64_t row;
  int32_t first, count;
} macko_cut_row;

typedef struct {
  macko_row_lanes uncut;   /* how rows are taken that are not cut */
  int64_t npieces, nrows;  /* of all cut rows together; cut rows */
  macko_piece *pieces;
  macko_cut_row *rows;
} macko_cut;

/* Says whether macko_cut_rows would cut any row. It looks at section "row_ptr" only, which must be on the host. */
int macko_has_long_rows(const macko_matrix *host);

/* Chooses the lanes of a row and cuts the long rows of a matrix, whose pattern must be on the host where there are any. The
 * caller frees pieces and rows, also after a failure. Errors: OUT_OF_MEMORY, LIMIT (more pieces than 31 bits number). */
macko_status macko_cut_rows(const macko_matrix *host, macko_cut *cut, macko_error *err);

/* These are slots of the table of functions of format macko on the device (core/device.h). */
macko_status macko_columns_prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err);
macko_status macko_columns_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err);
void macko_columns_destroy(macko_device_matrix *d);

/* These queue the product of layouts row and paper, and that of layout slice. */
macko_status macko_rows_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err);
macko_status macko_slices_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err);

/* Sets *longest to the most steps that a slice of *d has: from *host, where that has the slices, else on the GPU, for which it
 * waits for the stream. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_slices_longest(const macko_device_matrix *d, const macko_matrix *host, int64_t *longest, cudaStream_t stream,
                                  macko_error *err);

/* Writes the entries (i, first_col + i) of a matrix of layout slice, nrows doubles in device memory. */
macko_status macko_slices_diagonal(const macko_device_matrix *d, int64_t first_col, double *diagonal, cudaStream_t stream,
                                   macko_error *err);

#ifdef __cplusplus
}
#endif
#endif
