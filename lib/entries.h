/* Entries of a file in any order, collected in pieces and turned into CSR. */
#ifndef MACKO_ENTRIES_H
#define MACKO_ENTRIES_H

#include "input.h"

typedef struct macko_piece macko_piece;

/* How a stored triangle is mirrored. */
typedef enum { MACKO_GENERAL, MACKO_SYMMETRIC, MACKO_SKEW } macko_symmetry;

typedef struct {
  int64_t nrows, ncols, count; /* count: as stored, before mirroring */
  macko_symmetry symmetry;
  int wide; /* indices need 64 bits */
  macko_piece *first, *last;
} macko_entries;

void macko_open_entries(macko_entries *e, int64_t nrows, int64_t ncols, macko_symmetry symmetry);
void macko_close_entries(macko_entries *e);

/* 0-based, inside the matrix: checked by the reader. Errors: OUT_OF_MEMORY. */
macko_status macko_add_entry(macko_entries *e, int64_t row, int64_t col, double value, macko_error *err);

/* Sorted CSR of f64, duplicates added; empties *e on the way, so that both are never in memory whole.
 * Errors: OUT_OF_MEMORY, PARSE if the matrix declares absurdly more rows than it has entries. */
macko_status macko_entries_to_csr(macko_entries *e, const char *path, macko_csr *csr, macko_error *err);

/* Readers of one file type each: the input stands before the first line (which is handed in, for it decided the type). */
macko_status macko_read_matrix_market(macko_input *in, char *banner, macko_csr *csr, macko_file_info *info, macko_error *err);
macko_status macko_read_harwell_boeing(macko_input *in, char *title, macko_csr *csr, macko_file_info *info, macko_error *err);

#endif
