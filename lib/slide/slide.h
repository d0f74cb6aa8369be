/* Between the files of format slide: how blocks are found in a csr, and how cells are read back. */
#ifndef MACKO_SLIDE_H
#define MACKO_SLIDE_H

#include "core/product.h"
#include "slide/slide_params.h"
#include "values/codecs.h"

/* A block that breaks the pattern. */
typedef struct {
  int64_t row, block, entries;
} macko_slide_broken;

/* lib/ counts in host memory; nothing counts in device memory yet. */
typedef struct {
  /* Of blocks of 2n columns. With first not NULL only as far as a broken one, the first of which is *first. */
  macko_status (*count)(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first, macko_error *err);
} macko_slide_facts;

macko_status macko_slide_host_count(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first,
                                    macko_error *err);

/* The same with rows that come in pieces, macko_rows, as context. */
macko_status macko_slide_count_rows(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first, macko_error *err);

/* ---- blocks of a csr ---- */

/* Entries of the block of 2n columns that entry p, of those before `end`, lies in: a bit each. Answers the entry behind them. */
static inline int64_t macko_slide_next_block(const macko_csr *a, int n, int64_t p, int64_t end, int64_t *block, uint32_t *entries)
{
  int64_t col = macko_csr_col(a, p), width = 2 * n;
  *block = col / width, *entries = 0;
  for (int64_t first = *block * width; col - first < width;) {
    *entries |= 1u << (col - first);
    if (++p == end) break;
    col = macko_csr_col(a, p);
  }
  return p;
}

/* Which entries of blocks occur, a bit each: as many sets as 16 columns have. */
typedef struct {
  uint64_t words[1024];
} macko_slide_set;

static inline void macko_slide_add(macko_slide_set *s, uint32_t entries)
{
  s->words[entries / 64] |= (uint64_t)1 << entries % 64;
}

static inline int macko_slide_has(const macko_slide_set *s, uint32_t entries)
{
  return (int)(s->words[entries / 64] >> entries % 64 & 1);
}

/* ---- reading ---- */

typedef struct {
  int n, per, bits;
  int64_t blocks;      /* of every row where no column is stored, else 0 */
  int64_t first_rest;  /* slot of the first entry of the rest */
  macko_section starts, rest_ptr;
  int wide;            /* block columns are i32, else u16 */
  const void *block_cols;
  const uint32_t *codes, *patterns;
  const int32_t *rest_cols;
} macko_slide_reader;

macko_slide_reader macko_slide_open(const macko_matrix *m);

static inline int64_t macko_slide_start(const macko_slide_reader *r, int64_t row)
{
  return macko_index_at(&r->starts, row);
}

/* Entries of the rest before that row. */
static inline int64_t macko_slide_rest(const macko_slide_reader *r, int64_t row)
{
  return r->rest_cols ? macko_index_at(&r->rest_ptr, row) : 0;
}

/* The block of a cell; `first` is the first cell of its row. */
static inline int64_t macko_slide_block(const macko_slide_reader *r, int64_t first, int64_t cell)
{
  if (r->blocks) return cell - first;
  return r->wide ? ((const int32_t *)r->block_cols)[cell] : ((const uint16_t *)r->block_cols)[cell];
}

static inline uint32_t macko_slide_positions(const macko_slide_reader *r, int64_t cell)
{
  const uint32_t code = macko_slide_code(r->codes, r->bits, cell);
  return r->patterns ? r->patterns[code] : code;
}

/* Entries of one block of a row, in the order of columns; room for those of one that is not valid. */
typedef struct {
  int count;
  int64_t cols[2 * 2 * MACKO_SLIDE_MOST], slots[2 * 2 * MACKO_SLIDE_MOST];
} macko_slide_entries;

/* Those of a cell and of the rest in its block: from number *rest on, which moves behind them, before rest_end. */
void macko_slide_read(const macko_slide_reader *r, int64_t cell, int64_t block, int64_t *rest, int64_t rest_end,
                      macko_slide_entries *e);

macko_status macko_slide_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_slide_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);
int macko_slide_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best);
macko_status macko_slide_encode_rows(struct macko_rows *rows, macko_matrix *m, macko_error *err);
macko_status macko_slide_encode(macko_findings *found, macko_matrix *m, macko_error *err);
macko_status macko_slide_refresh(const macko_csr *a, macko_matrix *m, macko_error *err);
macko_status macko_slide_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
void macko_slide_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values);
macko_status macko_slide_validate(const macko_matrix *m, macko_error *err);
macko_status macko_slide_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

#endif
