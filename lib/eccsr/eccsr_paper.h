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

/* Sets of columns, one after the other: that of item i begins at starts[i]. */
typedef struct {
  int64_t count, *starts;
  int32_t *cols;
} macko_eccsr_sets;

/* Two sets that have so many columns in common. */
typedef struct {
  int32_t first, second, shared;
} macko_eccsr_pair;

/* Pairs of sets that may have many columns in common, at most MACKO_ECCSR_CANDIDATES of a set with sets before it, and how many
 * those are, where at least `least`; sets that have a partner, a number that is not negative, are left out. *pairs is the caller's to
 * free. Errors: OUT_OF_MEMORY. */
enum { MACKO_ECCSR_CANDIDATES = 8 };
macko_status macko_eccsr_find_pairs(const macko_eccsr_sets *sets, int64_t least, const int32_t *partner, macko_eccsr_pair **pairs,
                                    int64_t *count, macko_error *err);

/* Columns that two ascending lists have in common, into `common` where that is not NULL; how many. */
int64_t macko_eccsr_intersect(const int32_t *a, int64_t na, const int32_t *b, int64_t nb, int32_t *common);

/* rows, of as many elements as *a has rows, becomes their order: sixteen that follow each other are a bundle. Rows that share
 * fewer than `least` columns are not put together for that. Errors: OUT_OF_MEMORY. */
macko_status macko_eccsr_order_bundles(const macko_csr *a, int64_t least, int32_t *rows, macko_error *err);

/* ---- blocks of a bundle ---- */

/* How codes and values are stored: what an extraction is worth depends on it. */
typedef struct {
  int bits; /* of a code */
  int64_t lanes;
  int64_t value; /* bytes of one */
} macko_eccsr_paper_shape;

/* The columns of a bundle, and room for them. */
typedef struct {
  int64_t room, count;
  int32_t *cols, *more_cols;
  uint16_t *left, *more_left; /* rows, a bit each, that have the column in no block yet */
} macko_eccsr_bundle;

macko_status macko_eccsr_new_bundle(const macko_csr *a, const int32_t *rows, macko_eccsr_bundle *b, macko_error *err);
void macko_eccsr_free_bundle(macko_eccsr_bundle *b);

/* Its columns become those of `count` rows of *a. */
void macko_eccsr_read_bundle(const macko_csr *a, const int32_t *rows, int count, macko_eccsr_bundle *b);

/* Where blocks go, or with gaps NULL are only counted; `at` counts those that are there. */
typedef struct {
  macko_eccsr_paper_counts at;
  int64_t slots;  /* of values */
  int64_t shared; /* entries of blocks of several rows */
  uint32_t *gaps;
  uint16_t *masks;
  uint32_t *granules;
  int32_t *bases;
} macko_eccsr_paper_sink;

/* Adds the blocks of the bundle of those rows, `count` of them. */
void macko_eccsr_put_bundle(const macko_csr *a, const int32_t *rows, int count, const macko_eccsr_paper_shape *shape,
                            macko_eccsr_bundle *b, macko_eccsr_paper_sink *sink);

/* Adds the block of those columns. */
void macko_eccsr_put_block(macko_eccsr_paper_sink *sink, const macko_eccsr_paper_shape *shape, uint16_t mask,
                           const int32_t *cols, int64_t count);

/* ---- reading ---- */

typedef struct {
  const int64_t *bundles;
  const int32_t *rows, *bases;
  const uint16_t *masks;
  const uint32_t *granules, *gaps;
  int bits;
  int64_t lanes, nrows;
} macko_eccsr_paper_reader;

macko_eccsr_paper_reader macko_eccsr_paper_open(const macko_matrix *m);

/* A block, and how many granules of codes and values come before it. */
typedef struct {
  int64_t number, codes, values, granules;
  uint32_t mask;
} macko_eccsr_paper_block;

/* Block number b of a bundle, whose first one it is or which follows *block. */
static inline void macko_eccsr_next_block(const macko_eccsr_paper_reader *r, int64_t bundle, int64_t b,
                                          macko_eccsr_paper_block *block)
{
  const int64_t *at = r->bundles + 3 * bundle;
  if (b == at[0]) block->codes = at[1], block->values = at[2];
  else block->codes += block->granules, block->values += block->granules * __builtin_popcount(block->mask);
  block->number = b, block->mask = r->masks[b], block->granules = r->granules[b];
}

static inline uint32_t macko_eccsr_paper_code(const macko_eccsr_paper_reader *r, int64_t slot)
{
  return r->gaps[slot * r->bits / 32] >> (slot * r->bits % 32) & macko_eccsr_no_entry(r->bits);
}

/* A place among the columns of a block, in their order. */
typedef struct {
  int64_t col, slot;  /* of the entry at hand; the slot among those of the block's codes */
  int64_t next, past; /* numbers of slots in the order of columns */
  int64_t per;        /* slots of a lane */
} macko_eccsr_cursor;

/* Before the first entry. */
static inline macko_eccsr_cursor macko_eccsr_open_block(const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *block)
{
  const int64_t per = block->granules * MACKO_ECCSR_VECTOR;
  return (macko_eccsr_cursor){.past = per * r->lanes, .per = per};
}

/* To the next entry; 0 where there is none. */
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

/* Slot in section "values" of a slot of codes and row number j of the block. */
static inline int64_t macko_eccsr_value_slot(const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *block, int j,
                                             int64_t slot)
{
  const int64_t size = macko_eccsr_granule(r->lanes);
  return (block->values + slot / size * __builtin_popcount(block->mask) + j) * size + slot % size;
}

/* Which row of the block that bit of its mask is. */
static inline int macko_eccsr_row_of_block(uint32_t mask, int bit)
{
  return __builtin_popcount(mask & ((1u << bit) - 1));
}

/* A row read in the order of its columns: the blocks that it is in. */
typedef struct {
  int count;
  int64_t col, slot; /* of the entry at hand; the slot in section "values" */
  int row[MACKO_ECCSR_BLOCKS];
  macko_eccsr_paper_block block[MACKO_ECCSR_BLOCKS];
  macko_eccsr_cursor at[MACKO_ECCSR_BLOCKS];
} macko_eccsr_row_reader;

/* Row number `bit` of a bundle, before its first entry; to the next one, or 0 where there is none. */
void macko_eccsr_open_row(const macko_eccsr_paper_reader *r, int64_t bundle, int bit, macko_eccsr_row_reader *row);
int macko_eccsr_next_of_row(const macko_eccsr_paper_reader *r, macko_eccsr_row_reader *row);

static inline int64_t macko_eccsr_bundle_rows(const macko_eccsr_paper_reader *r, int64_t bundle)
{
  const int64_t left = r->nrows - bundle * MACKO_ECCSR_BUNDLE;
  return left < MACKO_ECCSR_BUNDLE ? left : MACKO_ECCSR_BUNDLE;
}

/* ---- what eccsr_format.c asks for ---- */

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

/* What planning hands on to encoding: the order of rows, and what each bundle takes (three numbers, as in section "bundles"). The
 * findings own it. */
typedef struct {
  macko_eccsr_kept kept;
  int64_t *bundles;
  int32_t *rows; /* both in the same allocation */
} macko_eccsr_order;

/* What the rows of *a come to by a shape, of every so many bundles, and if bundles is not NULL each of these. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_eccsr_paper_count(const macko_csr *a, const int32_t *rows, const macko_eccsr_paper_shape *shape, int64_t every,
                                     int64_t *bundles, macko_eccsr_paper_sink *sum, macko_error *err);

#endif
