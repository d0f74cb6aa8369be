/* Between the files of layout row: how its rows are counted and read. */
#ifndef MACKO_ROW_H
#define MACKO_ROW_H

#include "macko/layouts.h"

typedef struct {
  const macko_section *row_ptr;
  const void *base;
  const int32_t *block_base;
  const uint8_t *gaps;
  const uint32_t *long_ptr, *long_gaps;
  int64_t bias, gap_bytes;
  int mode, base_bytes, b;
} macko_row_reader;

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

static inline int64_t macko_row_start(const macko_row_reader *r, int64_t i)
{
  return macko_index_at(r->row_ptr, i);
}

static inline int64_t macko_base_column(const macko_row_reader *r, int64_t i)
{
  int64_t reference = r->mode == MACKO_BASE_DIAGONAL ? i : r->mode == MACKO_BASE_BLOCK ? r->block_base[i / MACKO_BASE_ROWS] : 0;
  return reference + r->bias + macko_unsigned_at(r->base, r->base_bytes, i);
}

/* Gap before entry p, also before the first of a row: the code there is 0. *next_long walks the row's long gaps. */
static inline __attribute__((always_inline)) int64_t macko_next_gap(const macko_row_reader *r, int b, int64_t p,
                                                                    uint32_t *next_long)
{
  uint32_t code = macko_gap_code(r->gaps, b, p);
  return code == (1u << b) - 1 ? r->long_gaps[(*next_long)++] : code + 1;
}

/* Gives the smallest first column among the rows of a block; 0 if all are empty. */
int64_t macko_row_block_first(const macko_csr *a, int64_t block);

/* plan_pattern of the layout (layouts.h). */
macko_status macko_row_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);

void macko_row_multiply(const macko_matrix *m, const macko_product *p);

#endif
