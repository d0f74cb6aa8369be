/* Between the files of layout row: how its rows are counted and read. */
#ifndef MACKO_ROW_H
#define MACKO_ROW_H

#include "macko/layouts.h"

/* This is a matrix of layout row as it is read: the data of its sections and the numbers of its plan, looked up once. Everything
 * points into the matrix, so that there is nothing to free. Sections that the matrix does not need are NULL. */
typedef struct {
  const macko_section *row_ptr;
  const void *base;
  const int32_t *block_base;
  const uint8_t *gaps;
  const uint32_t *long_ptr, *long_gaps;
  int64_t bias, gap_bytes;  /* what is added to every base column; bytes of gaps, beyond which vectors must not read */
  int mode, base_bytes, b;  /* base mode, bytes of an element of base, bits of a gap */
} macko_row_reader;

/* Gives the reader of a matrix of layout row that has all its sections. */
static inline macko_row_reader macko_open_rows(const macko_matrix *m)
{
  const macko_section *gaps = macko_find_section(m, "gaps");
  return (macko_row_reader){.row_ptr = macko_find_section(m, "row_ptr"),
                            .base = macko_section_data(m, "base"),
                            .block_base = macko_section_data(m, "block_base"),
                            .gaps = gaps ? gaps->data : NULL,
                            .long_ptr = macko_section_data(m, "long_ptr"),
                            .long_gaps = macko_section_data(m, "long_gaps"),
                            .bias = macko_params_of(&m->plan)->row.base_bias,
                            .gap_bytes = gaps ? gaps->bytes : 0,
                            .mode = (int)macko_params_of(&m->plan)->row.base_mode,
                            .base_bytes = (int)macko_params_of(&m->plan)->row.base_bytes,
                            .b = m->plan.gap_bits};
}

/* Gives the number of the first entry of row i, which is also its slot; i = nrows gives the number of entries. */
static inline int64_t macko_row_start(const macko_row_reader *r, int64_t i)
{
  return macko_index_at(r->row_ptr, i);
}

/* Gives the column of the first entry of row i, counted from 0. For an empty row the answer means nothing. */
static inline int64_t macko_base_column(const macko_row_reader *r, int64_t i)
{
  int64_t reference = r->mode == MACKO_BASE_DIAGONAL ? i : r->mode == MACKO_BASE_BLOCK ? r->block_base[i / MACKO_BASE_ROWS] : 0;
  return reference + r->bias + macko_unsigned_at(r->base, r->base_bytes, i);
}

/* Gives the gap before entry p, in columns. *next_long is the row's next element of the list of long gaps and moves on where the
 * code is an escape. Before the first entry of a row the code is 0 and the gap 1, so that callers who start one column before the
 * base need no special case. b is r->b, handed over as a constant for the compiler. */
static inline __attribute__((always_inline)) int64_t macko_next_gap(const macko_row_reader *r, int b, int64_t p,
                                                                    uint32_t *next_long)
{
  uint32_t code = macko_gap_code(r->gaps, b, p);
  return code == (1u << b) - 1 ? r->long_gaps[(*next_long)++] : code + 1;
}

/* Gives the smallest first column among the MACKO_BASE_ROWS rows of a block, 0 if all are empty: the reference of base mode
 * MACKO_BASE_BLOCK. */
int64_t macko_row_block_first(const macko_csr *a, int64_t block);

/* This is plan_pattern of the layout (layouts.h). It chooses the gap width and the base mode. LIMIT where there would be more
 * long gaps than INT32_MAX. */
macko_status macko_row_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);

/* Gives the nanoseconds that a product takes besides its bytes, with gaps of so many bits; long gaps and codecs come in
 * addition. */
double macko_row_work(const macko_options *options, const macko_csr *a, int64_t nnz, int bits);

/* Multiplies with a matrix of layout row, arguments checked: for op N it computes y, for op T it adds to y, which has been scaled
 * by beta. */
void macko_row_multiply(const macko_matrix *m, const macko_product *p);

#endif
