/* What lies where in the sections of variants paper and shared of format eccsr (doc/formats/eccsr-paper.md).
 *
 * Sixteen rows, or as many as are left, are a bundle; section "rows" names them. A block is some rows of a bundle, one bit each in
 * section "masks", and the columns that it holds of all of them. Its slots are cut into as many parts as there are lanes:
 * lane l takes part l, whose first slot is in column bases[l] and each later one so many columns behind the slot before. A granule
 * is VECTOR slots of each lane, [lane][slot]; section "granules" says how many a block has. A code of all ones is a slot without an
 * entry; any other code is the distance to the slot before less one, or, of a lane's first slot, 0.
 *
 * Section "gaps" has the codes of a granule after the other, section "values" for every granule the values of the block's rows:
 * [granule][row][lane][slot]. Section "bundles" has three numbers a bundle, and the ends of the last: its first block, and how many
 * granules of codes and of values come before it. */
#ifndef MACKO_ECCSR_PAPER_LAYOUT_H
#define MACKO_ECCSR_PAPER_LAYOUT_H

#include "core/format.h"

/* The sizes of the layout. A bundle has as many rows as a mask has bits. */
enum {
  MACKO_ECCSR_BUNDLE = 16, /* rows */
  MACKO_ECCSR_LEVELS = 4,  /* pairs, pairs of pairs, ... of rows */
  MACKO_ECCSR_ROUNDS = 8,  /* in each of which a row is in one block of every level, at most */
  MACKO_ECCSR_VECTOR = 4,  /* slots of a lane that follow each other in a granule */
  MACKO_ECCSR_MOST_LANES = 32,
  MACKO_ECCSR_MOST_SLOTS = MACKO_ECCSR_VECTOR * MACKO_ECCSR_MOST_LANES, /* of a granule */
  MACKO_ECCSR_BLOCKS = MACKO_ECCSR_ROUNDS * (MACKO_ECCSR_BUNDLE - 1) + MACKO_ECCSR_BUNDLE /* of a bundle, at most */
};

/* What all blocks come to, as plan.params and files have it. */
typedef struct {
  int64_t blocks;
  int64_t granules; /* of codes, of all blocks */
  int64_t rows;     /* granules of values: those of each block times its rows */
  int64_t lanes;    /* 2, 4, ..., 32 */
} macko_eccsr_paper_counts;

/* The numbers as an array for those who copy them, and with names for the format. */
typedef union {
  int64_t all[MACKO_MAX_PARAMS];
  macko_eccsr_paper_counts of;
} macko_eccsr_paper_params;

/* Returns the counts of a plan of these variants, which stay where they are. */
static inline const macko_eccsr_paper_counts *macko_eccsr_paper_counts_of(const macko_plan *plan)
{
  return &((const macko_eccsr_paper_params *)plan->params)->of;
}

/* Returns the fewest lanes that a variant may have: variant paper has as many as a warp, shared is planned for fewer, too, so
 * that short rows are padded less. */
static inline int64_t macko_eccsr_least_lanes(macko_variant variant)
{
  return variant == MACKO_VARIANT_PAPER ? MACKO_ECCSR_MOST_LANES : 2;
}

/* Returns the slots of a granule. */
static inline int64_t macko_eccsr_granule(int64_t lanes)
{
  return lanes * MACKO_ECCSR_VECTOR;
}

/* Returns how many bundles so many rows make. */
static inline int64_t macko_eccsr_bundles(int64_t nrows)
{
  return (nrows + MACKO_ECCSR_BUNDLE - 1) / MACKO_ECCSR_BUNDLE;
}

/* Returns the slots of section "values". */
static inline int64_t macko_eccsr_paper_slots(const macko_eccsr_paper_counts *c)
{
  return c->rows * macko_eccsr_granule(c->lanes);
}

/* Returns what blocks take beside their values, for codes of so many bits: a mask, a number of granules, the first columns of
 * lanes, and codes. */
static inline int64_t macko_eccsr_paper_block_bytes(const macko_eccsr_paper_counts *c, int bits)
{
  return c->blocks * (2 + 4 + 4 * c->lanes) + c->granules * (macko_eccsr_granule(c->lanes) * bits / 8);
}

/* Returns the code, of so many bits, of a slot without an entry; as a gap it leads so many columns further. With 32 bits there
 * are such slots at the ends of blocks only. */
static inline uint32_t macko_eccsr_no_entry(int bits)
{
  return 0xffffffffu >> (32 - bits);
}

/* Returns the longest gap that a slot can stand for; with 32 bits all gaps within a matrix are shorter. */
static inline int64_t macko_eccsr_longest_gap(int bits)
{
  return bits == 32 ? INT32_MAX : (int64_t)macko_eccsr_no_entry(bits);
}

/* Returns how many slots it takes to get from one column to the next one, which has the last of them as its own. */
static inline int64_t macko_eccsr_slots_to(int64_t gap, int bits)
{
  return 1 + (gap - 1) / macko_eccsr_longest_gap(bits);
}

#endif
