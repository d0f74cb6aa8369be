/* Entries of a file in any order, and the CSR matrix made of them. Memory grows with the entries that are there, never with
 * what a file declares. */
#ifndef MACKO_TRIPLES_H
#define MACKO_TRIPLES_H

#include "banner.h"
#include "files/text.h"

/* Entries of a block. */
enum { MACKO_BLOCK_ENTRIES = 65536 };

/* Entries as they were read, in one allocation. */
typedef struct macko_block {
  struct macko_block *next;
  int64_t count;
  void *rows, *cols; /* of the types that macko_entries has, counted from 0 */
  double *values;    /* NULL for a pattern */
} macko_block;

/* All entries that have been read, in a list of blocks in the order of the file. */
typedef struct {
  int64_t nrows, ncols, count; /* as declared, and how many entries there are */
  macko_type row_type, col_type; /* i32 where the size allows */
  int has_values; /* 0: a pattern, whose entries read as ones */
  macko_symmetry symmetry; /* other than general: the entries are one triangle */
  int triangle;            /* of the entries so far: -1 lower, 1 upper, 0 not known yet */
  macko_block *first, *last;
} macko_entries;

/* Make a list without entries, and free the blocks of one. */
void macko_open_entries(macko_entries *entries, int64_t nrows, int64_t ncols, int has_values, macko_symmetry symmetry);
void macko_free_entries(macko_entries *entries);

/* Appends a fresh block. Errors: OUT_OF_MEMORY, recorded in the input. */
macko_status macko_grow_entries(macko_input *in, macko_entries *entries);

/* Makes *csr of the entries, with rows sorted, duplicates added and the other triangle filled in. Its arrays are new and go with
 * macko_free_csr; entries are freed on the way, in failure as well. Errors: LIMIT where the declared rows are out of proportion
 * to the entries, OUT_OF_MEMORY; recorded in the input. */
macko_status macko_build_csr(macko_input *in, macko_entries *entries, macko_csr *csr);

/* Checks an entry, counted from 0, of a file of a symmetric or skew-symmetric matrix. It holds one triangle, as both would count
 * every entry twice; the diagonal of a skew one is 0. Errors: PARSE, recorded in the input. */
macko_status macko_check_triangle(macko_input *in, macko_entries *entries, int64_t row, int64_t col, double value);

/* Appends an entry, counted from 0; whether it is inside the matrix the caller has checked. Errors: PARSE, OUT_OF_MEMORY;
 * recorded in the input. */
static inline macko_status macko_add_entry(macko_input *in, macko_entries *e, int64_t row, int64_t col, double value)
{
  if (e->symmetry != MACKO_GENERAL && macko_check_triangle(in, e, row, col, value)) return in->status;
  if ((!e->last || e->last->count == MACKO_BLOCK_ENTRIES) && macko_grow_entries(in, e)) return in->status;
  macko_block *block = e->last;
  macko_set_index(e->row_type, block->rows, block->count, row);
  macko_set_index(e->col_type, block->cols, block->count, col);
  if (block->values) block->values[block->count] = value;
  block->count++, e->count++;
  return MACKO_OK;
}

#endif
