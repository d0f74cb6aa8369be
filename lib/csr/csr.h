/* Between the files of format csr: what lies where in a matrix, and what its table of functions is made of. */
#ifndef MACKO_CSR_H
#define MACKO_CSR_H

#include "core/facts.h"
#include "core/row_source.h"
#include "csr/csr_facts.h"

/* Sections by their place in a matrix. */
enum { ROW_PTR, COLS, VALUES, SECTIONS };

/* LONG_ROWS is how many entries a row must have on average for CSR_WIDTH entries at a time to be faster where the matrix is in a
 * cache; elsewhere half as many are enough. CSR_GROUP is the most vectors of a pass. */
enum { LONG_ROWS = 7, CSR_WIDTH = 4, CSR_GROUP = 4 };

/* These are functions of the format (core/format.h): those that write sections, and the product. */
macko_status macko_csr_encode(macko_findings *found, macko_matrix *m, macko_error *err);
macko_status macko_csr_encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err);
macko_status macko_csr_refresh(const macko_csr *a, macko_matrix *m, macko_error *err);
macko_status macko_csr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

#endif
