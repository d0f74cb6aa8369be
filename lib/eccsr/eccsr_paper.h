/* Between the files of variants paper and shared of format eccsr: rows put into bundles, blocks extracted from them, and how they
 * are read. */
#ifndef MACKO_ECCSR_PAPER_H
#define MACKO_ECCSR_PAPER_H

#include "core/product.h"
#include "core/threads.h"
#include "eccsr/eccsr.h"
#include "eccsr/eccsr_paper_layout.h"
#include "values/codecs.h"

/* ---- which rows are in a bundle ---- */

/* Sets of columns, one after the other: that of item i has the columns from starts[i] to starts[i + 1], ascending. */
typedef struct {
  int64_t count, *starts;
  int32_t *cols;
} macko_eccsr_sets;

/* Two sets that have so many columns in common. */
typedef struct {
  int32_t first, second, shared;
} macko_eccsr_pair;

/* For how many sets before it a set is compared in full. */
enum { MACKO_ECCSR_CANDIDATES = 8 };
/* Finds pairs of sets that may have many columns in common: at most MACKO_ECCSR_CANDIDATES of a set with sets before it. How many
 * columns they share is counted in full, and pairs of fewer than `least` are left out, as are sets that have a partner already,
 * which is a number that is not negative. *pairs, of *count elements, is the caller's to free. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_find_pairs(const macko_eccsr_sets *sets, int64_t least, const int32_t *partner, macko_eccsr_pair **pairs,
                                    int64_t *count, macko_error *err);

/* Returns how many columns two ascending lists have in common, and writes them to `common` where that is not NULL, which needs
 * room for the shorter list. */
int64_t macko_eccsr_intersect(const int32_t *a, int64_t na, const int32_t *b, int64_t nb, int32_t *common);

/* Sets rows, of as many elements as *a has rows, to their order: sixteen that follow each other are a bundle. Rows that share
 * fewer than `least` columns are not put together for that, as blocks have whole granules. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_order_bundles(const macko_csr *a, int64_t least, int32_t *rows, macko_error *err);

/* ---- blocks of a bundle ---- */

/* How codes and values are stored: whether a block is worth extracting depends on it. */
typedef struct {
  int bits; /* of a code */
  int64_t lanes;
  int64_t value; /* bytes of one */
} macko_eccsr_paper_shape;

/* The columns of a bundle, ascending and each once, and room for them; one bundle after the other uses the same arrays. */
typedef struct {
  int64_t room, count;
  int32_t *cols, *more_cols;
  uint16_t *left, *more_left; /* rows, a bit each, that have the column in no block yet */
} macko_eccsr_bundle;

/* Makes room for the largest bundle of *a in that order of rows. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_new_bundle(const macko_csr *a, const int32_t *rows, macko_eccsr_bundle *b, macko_error *err);
void macko_eccsr_free_bundle(macko_eccsr_bundle *b);

/* Sets its columns to those of `count` rows of *a. */
void macko_eccsr_read_bundle(const macko_csr *a, const int32_t *rows, int count, macko_eccsr_bundle *b);

/* Where blocks go. With gaps NULL they are only counted, so that planning and encoding run the same code; `at` counts those that
 * are there. */
typedef struct {
  macko_eccsr_paper_counts at;
  int64_t slots;  /* of values */
  int64_t shared; /* entries of blocks of several rows */
  uint32_t *gaps;
  uint16_t *masks;
  uint32_t *granules;
  int32_t *bases;
} macko_eccsr_paper_sink;

/* Extracts the blocks of the bundle of those rows, `count` of them, and adds them to the sink. What is extracted depends on
 * nothing but the rows and the shape, so that counting and encoding find the same. */
void macko_eccsr_put_bundle(const macko_csr *a, const int32_t *rows, int count, const macko_eccsr_paper_shape *shape,
                            macko_eccsr_bundle *b, macko_eccsr_paper_sink *sink);

/* Adds the block of those columns, ascending and at least one, and of the rows in the mask. */
void macko_eccsr_put_block(macko_eccsr_paper_sink *sink, const macko_eccsr_paper_shape *shape, uint16_t mask,
                           const int32_t *cols, int64_t count);

/* ---- reading ---- */

/* The sections of a matrix as arrays, for everything that reads blocks. */
typedef struct {
  const int64_t *bundles;
  const int32_t *rows, *bases;
  const uint16_t *masks;
  const uint32_t *granules, *gaps;
  int bits;
  int64_t lanes, nrows;
} macko_eccsr_paper_reader;

/* Finds the sections of m, which must have passed macko_eccsr_paper_validate or come from encoding. */
macko_eccsr_paper_reader macko_eccsr_paper_open(const macko_matrix *m);

/* A block as it is read: its rows, its granules, and how many granules of codes and values come before it. */
typedef struct {
  int64_t number, codes, values, granules;
  uint32_t mask;
} macko_eccsr_paper_block;

/* Sets *block to block number b of a bundle, whose first one it is or which follows *block. Where a block begins is added up, as
 * only bundles have it in their section. */
static inline void macko_eccsr_next_block(const macko_eccsr_paper_reader *r, int64_t bundle, int64_t b,
                                          macko_eccsr_paper_block *block)
{
  const int64_t *at = r->bundles + 3 * bundle;
  if (b == at[0]) block->codes = at[1], block->values = at[2];
  else block->codes += block->granules, block->values += block->granules * __builtin_popcount(block->mask);
  block->number = b, block->mask = r->masks[b], block->granules = r->granules[b];
}

/* Returns the code of a slot, counted over all blocks. */
static inline uint32_t macko_eccsr_paper_code(const macko_eccsr_paper_reader *r, int64_t slot)
{
  return r->gaps[slot * r->bits / 32] >> (slot * r->bits % 32) & macko_eccsr_no_entry(r->bits);
}

/* A place among the columns of a block, in their order: lane after lane, while codes lie granule after granule. */
typedef struct {
  int64_t col, slot;  /* of the entry at hand; the slot among those of the block's codes */
  int64_t next, past; /* numbers of slots in the order of columns */
  int64_t per;        /* slots of a lane */
} macko_eccsr_cursor;

/* Returns the place before the first entry. */
static inline macko_eccsr_cursor macko_eccsr_open_block(const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *block)
{
  const int64_t per = block->granules * MACKO_ECCSR_VECTOR;
  return (macko_eccsr_cursor){.past = per * r->lanes, .per = per};
}

/* Goes to the next entry and returns 0 where there is none. Slots without an entry are passed over; they still move the column
 * on. */
static inline int macko_eccsr_next_entry(const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *block,
                                         macko_eccsr_cursor *c)
{
  const uint32_t none = macko_eccsr_no_entry(r->bits);
  while (c->next < c->past) {
    const int64_t lane = c->next / c->per, k = c->next % c->per;
    c->next++;
    c->slot = k / MACKO_ECCSR_VECTOR * macko_eccsr_granule(r->lanes) + lane * MACKO_ECCSR_VECTOR + k % MACKO_ECCSR_VECTOR;
    const uint32_t code = macko_eccsr_paper_code(r, block->codes * macko_eccsr_granule(r->lanes) + c->slot);
    if (k == 0) c->col = r->bases[block->number * r->lanes + lane];
    else c->col += code == none ? macko_eccsr_longest_gap(r->bits) : (int64_t)code + 1;
    if (code != none) return 1;
  }
  return 0;
}

/* Returns the slot in section "values" that belongs to a slot of codes and to row number j of the block. */
static inline int64_t macko_eccsr_value_slot(const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *block, int j,
                                             int64_t slot)
{
  const int64_t size = macko_eccsr_granule(r->lanes);
  return (block->values + slot / size * __builtin_popcount(block->mask) + j) * size + slot % size;
}

/* Returns which row of the block that bit of its mask is. */
static inline int macko_eccsr_row_of_block(uint32_t mask, int bit)
{
  return __builtin_popcount(mask & ((1u << bit) - 1));
}

/* A row read in the order of its columns, whichever blocks these are in: a place in each block that it is in. */
typedef struct {
  int count;
  int64_t col, slot; /* of the entry at hand; the slot in section "values" */
  int row[MACKO_ECCSR_BLOCKS];
  macko_eccsr_paper_block block[MACKO_ECCSR_BLOCKS];
  macko_eccsr_cursor at[MACKO_ECCSR_BLOCKS];
} macko_eccsr_row_reader;

/* Opens row number `bit` of a bundle before its first entry. macko_eccsr_next_of_row goes to the next one and returns 0 where
 * there is none. */
void macko_eccsr_open_row(const macko_eccsr_paper_reader *r, int64_t bundle, int bit, macko_eccsr_row_reader *row);
int macko_eccsr_next_of_row(const macko_eccsr_paper_reader *r, macko_eccsr_row_reader *row);

/* Returns the rows of a bundle: sixteen, or those that are left. */
static inline int64_t macko_eccsr_bundle_rows(const macko_eccsr_paper_reader *r, int64_t bundle)
{
  const int64_t left = r->nrows - bundle * MACKO_ECCSR_BUNDLE;
  return left < MACKO_ECCSR_BUNDLE ? left : MACKO_ECCSR_BUNDLE;
}

/* ---- what eccsr_format.c asks for ---- */

/* These are the format's functions (core/format.h) for variants paper and shared. */
macko_status macko_eccsr_paper_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_eccsr_paper_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);
int macko_eccsr_paper_sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS]);
macko_status macko_eccsr_paper_encode(macko_findings *found, macko_matrix *m, macko_error *err);
macko_status macko_eccsr_paper_refresh(const macko_csr *a, macko_matrix *m, macko_error *err);
macko_status macko_eccsr_paper_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
void macko_eccsr_paper_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols,
                                   void *values);
macko_status macko_eccsr_paper_validate(const macko_matrix *m, macko_error *err);
macko_status macko_eccsr_paper_multiply(const macko_matrix *m, const macko_product *p, macko_error *err);

/* What planning hands on to encoding: the order of rows, and what each bundle takes, in three numbers as in section "bundles".
 * The findings own it, in one allocation. */
typedef struct {
  macko_eccsr_kept kept;
  int64_t *bundles;
  int32_t *rows; /* both in the same allocation */
} macko_eccsr_order;

/* Sets *sum to what the rows of *a come to by a shape, given their order. Of every so many bundles only one is counted. If
 * bundles is not NULL it gets three numbers for each that is. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_paper_count(const macko_csr *a, const int32_t *rows, const macko_eccsr_paper_shape *shape, int64_t every,
                                     int64_t *bundles, macko_eccsr_paper_sink *sum, macko_error *err);

#endif
