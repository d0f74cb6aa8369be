/* Between the files of format csr: what lies where in a matrix, and what its table of functions is made of. */
#ifndef MACKO_CSR_H
#define MACKO_CSR_H

#include "core/cost.h"
#include "core/facts.h"
#include "core/row_source.h"
#include "csr/csr_facts.h"

/* Sections by their place in a matrix. */
enum { ROW_PTR, COLS, VALUES, SECTIONS };

/* LONG_ROWS is how many entries a row must have on average for CSR_WIDTH entries at a time to be faster where the matrix is in a
 * cache; elsewhere half as many are enough, and SHORT_ROWS where rows are uneven. CSR_GROUP is the most vectors of a pass. */
enum { LONG_ROWS = 6, SHORT_ROWS = 2, CSR_WIDTH = 4, CSR_GROUP = 4 };

/* So many rows take the same number of steps of CSR_WIDTH entries, if that is at most CSR_STEPS and all together take at most
 * CSR_WASTE of them in vain, in a matrix of more than CSR_FEW rows: of fewer a processor has learnt how long each is. */
enum { CSR_BLOCK = 32, CSR_STEPS = 4, CSR_WASTE = CSR_BLOCK * 3 / 4, CSR_FEW = MACKO_LEARNT_ROWS * 5 / 4 };

/* Bytes up to which a matrix is taken to stay in a cache between products. */
enum { CSR_CACHED_BYTES = 16 << 20 };

/* Tells whether a block of rows does, whose longest row takes `most` steps and all rows together `all`, and counts what is taken
 * in vain. A row that takes another number of steps than the one before is not foreseen by a processor, which costs more than that;
 * and where memory is waited for (ahead), loads ahead are lost with it. */
static inline int macko_csr_one_number(int64_t most, int64_t all, int ahead, int64_t *waste)
{
  *waste = CSR_BLOCK * most - all;
  return most <= CSR_STEPS && *waste <= CSR_WASTE && (*waste || ahead);
}

/* Tells whether enough blocks of those that were looked at do to look at all of them in a product. */
static inline int macko_csr_in_blocks(int64_t nrows, int64_t looked_at, int64_t one_number)
{
  return nrows > CSR_FEW && 4 * one_number >= looked_at;
}

/* Tells whether rows are uneven of which so many were looked at and the length of so many is not foreseen: then the loops for long
 * rows pay for short ones, too. */
static inline int macko_csr_uneven(int64_t nrows, int64_t nnz, int64_t looked_at, int64_t missed)
{
  return nrows > CSR_FEW && nnz >= SHORT_ROWS * nrows && 4 * missed >= looked_at;
}

/* These are functions of the format (core/format.h): those that write sections, and the product. */
macko_status macko_csr_encode(macko_findings *found, macko_matrix *m, macko_error *err);
macko_status macko_csr_encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err);
macko_status macko_csr_refresh(const macko_csr *a, macko_matrix *m, macko_error *err);
macko_status macko_csr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

#endif
