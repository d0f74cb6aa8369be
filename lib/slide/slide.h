/* Between the files of format slide: how blocks are found in a csr, and how cells are read back. */
#ifndef MACKO_SLIDE_H
#define MACKO_SLIDE_H

#include "core/product.h"
#include "slide/slide_params.h"
#include "values/codecs.h"

/* This is a block that breaks the pattern: its row, its number in the row, and how many entries it has. */
typedef struct {
  int64_t row, block, entries;
} macko_slide_broken;

/* This is the question that planning of format slide asks. lib/ counts in host memory; nothing counts in device memory yet. */
typedef struct {
  /* Sets *counts to those of blocks of 2n columns; context is that of macko_facts. With `first` not NULL it counts only as far as
   * a broken block, the first of which is *first: a caller who wants none in any block needs no more. */
  macko_status (*count)(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first, macko_error *err);
} macko_slide_facts;

/* This is that function for a csr in host memory; the context is a macko_findings. Errors: OUT_OF_MEMORY, and those of
 * macko_get_rows. */
macko_status macko_slide_host_count(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first,
                                    macko_error *err);

/* This does the same with the rows themselves, macko_rows, as context. */
macko_status macko_slide_count_rows(void *context, int n, macko_slide_counts *counts, macko_slide_broken *first, macko_error *err);

/* ---- blocks of a csr ---- */

/* Finds the block of 2n columns that entry p lies in: sets *block to its number in the row and *entries to the columns that have
 * an entry, a bit each from the block's first column on. Gives the entry behind them; the row ends before entry `end`. */
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

/* This is a set of patterns, each of which is the columns of a block that have an entry, as a number. 16 columns have as many as
 * there are bits: 65536. */
typedef struct {
  uint64_t words[1024];
} macko_slide_set;

/* Adds a pattern to the set. */
static inline void macko_slide_add(macko_slide_set *s, uint32_t entries)
{
  s->words[entries / 64] |= (uint64_t)1 << entries % 64;
}

/* Tells whether the set has a pattern. */
static inline int macko_slide_has(const macko_slide_set *s, uint32_t entries)
{
  return (int)(s->words[entries / 64] >> entries % 64 & 1);
}

/* ---- reading ---- */

/* This is a matrix of format slide as it is read: the data of its sections and the numbers of its plan, looked up once.
 * Everything points into the matrix, so that there is nothing to free. */
typedef struct {
  int n, per, bits;    /* blocks have 2n columns; cells of a lane in a tile; bits of a code */
  int64_t blocks;      /* blocks of a row, where every row has all and their numbers are not stored; else 0 */
  int64_t first_rest;  /* slot of the first entry of the rest */
  macko_section starts, rest_ptr;
  int wide;            /* 1 if section "blocks" is i32, 0 for u16 */
  const void *block_cols;
  const uint32_t *codes, *patterns; /* patterns: NULL where codes are positions themselves */
  const int32_t *rest_cols;         /* NULL without a rest */
} macko_slide_reader;

/* Gives the reader of a matrix of format slide that has the sections of its pattern. */
macko_slide_reader macko_slide_open(const macko_matrix *m);

/* Gives the first cell of a row, nrows included. */
static inline int64_t macko_slide_start(const macko_slide_reader *r, int64_t row)
{
  return macko_index_at(&r->starts, row);
}

/* Gives how many entries of the rest come before that row; 0 for all rows without a rest. */
static inline int64_t macko_slide_rest(const macko_slide_reader *r, int64_t row)
{
  return r->rest_cols ? macko_index_at(&r->rest_ptr, row) : 0;
}

/* Gives the number in its row of the block that a cell is; `first` is the first cell of the row. */
static inline int64_t macko_slide_block(const macko_slide_reader *r, int64_t first, int64_t cell)
{
  if (r->blocks) return cell - first;
  return r->wide ? ((const int32_t *)r->block_cols)[cell] : ((const uint16_t *)r->block_cols)[cell];
}

/* Gives the positions of a cell: four bits a window (slide_layout.h). */
static inline uint32_t macko_slide_positions(const macko_slide_reader *r, int64_t cell)
{
  const uint32_t code = macko_slide_code(r->codes, r->bits, cell);
  return r->patterns ? r->patterns[code] : code;
}

/* These are the entries of one block of a row, in the order of columns, with the slot of each. There is room for those of a block
 * that is not valid, whose windows and rest hold the same columns. */
typedef struct {
  int count;
  int64_t cols[2 * 2 * MACKO_SLIDE_MOST], slots[2 * 2 * MACKO_SLIDE_MOST];
} macko_slide_entries;

/* Sets *e to the entries of a cell and of the rest in its block. *rest is the first entry of the rest that has not been read of
 * this row, and moves behind those in the block; rest_end is where those of the row end. */
void macko_slide_read(const macko_slide_reader *r, int64_t cell, int64_t block, int64_t *rest, int64_t rest_end,
                      macko_slide_entries *e);

/* These are the functions of the format that other files have, as format.h says. */
macko_status macko_slide_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_slide_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);
int macko_slide_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best);
macko_status macko_slide_encode_rows(struct macko_rows *rows, macko_matrix *m, macko_error *err);
macko_status macko_slide_encode(macko_findings *found, macko_matrix *m, macko_error *err);
macko_status macko_slide_refresh(const macko_csr *a, macko_matrix *m, macko_error *err);
macko_status macko_slide_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
void macko_slide_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols,
                             void *values);
macko_status macko_slide_validate(const macko_matrix *m, macko_error *err);
macko_status macko_slide_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

#endif
