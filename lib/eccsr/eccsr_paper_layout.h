/* What lies where in the sections of variants paper and shared of format eccsr (doc/formats/eccsr.md).
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

enum {
  MACKO_ECCSR_BUNDLE = 16, /* rows */
  MACKO_ECCSR_LEVELS = 4,  /* pairs, pairs of pairs, ... of rows */
  MACKO_ECCSR_ROUNDS = 8,  /* in each of which a row is in one block of every level, at most */
  MACKO_ECCSR_VECTOR = 4,  /* slots of a lane that follow each other in a granule */
  MACKO_ECCSR_MOST_LANES = 32,
  MACKO_ECCSR_MOST_SLOTS = MACKO_ECCSR_VECTOR * MACKO_ECCSR_MOST_LANES, /* of a granule */
  MACKO_ECCSR_BLOCKS = MACKO_ECCSR_ROUNDS * (MACKO_ECCSR_BUNDLE - 1) + MACKO_ECCSR_BUNDLE /* of a bundle, at most */
};

/* As plan.params and files have them. */
typedef struct {
  int64_t blocks;
  int64_t granules; /* of codes, of all blocks */
  int64_t rows;     /* granules of values: those of each block times its rows */
  int64_t lanes;    /* 2, 4, ..., 32 */
} macko_eccsr_paper_counts;

typedef union {
  int64_t all[MACKO_MAX_PARAMS];
  macko_eccsr_paper_counts of;
} macko_eccsr_paper_params;

static inline const macko_eccsr_paper_counts *macko_eccsr_paper_counts_of(const macko_plan *plan)
{
  return &((const macko_eccsr_paper_params *)plan->params)->of;
}

/* Variant paper has as many lanes as a warp; shared is planned for fewer, too. */
static inline int64_t macko_eccsr_least_lanes(macko_variant variant)
{
  return variant == MACKO_VARIANT_PAPER ? MACKO_ECCSR_MOST_LANES : 2;
}

/* Slots of a granule. */
static inline int64_t macko_eccsr_granule(int64_t lanes)
{
  return lanes * MACKO_ECCSR_VECTOR;
}

static inline int64_t macko_eccsr_bundles(int64_t nrows)
{
  return (nrows + MACKO_ECCSR_BUNDLE - 1) / MACKO_ECCSR_BUNDLE;
}

/* The code of a slot without an entry, of so many bits; as a gap it leads so many columns further. With 32 bits there are such
 * slots at the ends of blocks only. */
static inline uint32_t macko_eccsr_no_entry(int bits)
{
  return 0xffffffffu >> (32 - bits);
}

static inline int64_t macko_eccsr_longest_gap(int bits)
{
  return bits == 32 ? INT32_MAX : (int64_t)macko_eccsr_no_entry(bits);
}

/* Slots from one column to the next, whose own is the last of them. */
static inline int64_t macko_eccsr_slots_to(int64_t gap, int bits)
{
  return 1 + (gap - 1) / macko_eccsr_longest_gap(bits);
}

#endif
