/* The rules by which rows of equal columns become blocks and blocks slices, for host and kernels: both must write the same bytes. */
#ifndef MACKO_ECCSR_RULES_H
#define MACKO_ECCSR_RULES_H

#include "eccsr/eccsr_layout.h"

/* Rows whose blocks are sorted by length together: slices are full for blocks of 1 to 8 rows. */
enum { MACKO_ECCSR_WINDOW = 3360 };

/* Of a block of rows of equal columns: more rows share a gap among more entries than pays. */
enum { MACKO_ECCSR_MOST_EQUAL = 8 };

/* One window in so many is looked at for the shape of blocks. */
enum { MACKO_ECCSR_SAMPLED = 16 };

/* The first of so many windows that is looked at. */
MACKO_INLINE int64_t macko_eccsr_first_sampled(int64_t windows)
{
  return windows > MACKO_ECCSR_SAMPLED / 2 ? MACKO_ECCSR_SAMPLED / 2 : windows / 2;
}

/* Into how many blocks `count` rows of equal columns go: of the usual size, or else of nearly the same. The first count % pieces of
 * them have a row more than the rest. */
MACKO_INLINE int macko_eccsr_pieces(int count, int usual)
{
  return count % usual == 0 ? count / usual : (count + MACKO_ECCSR_MOST_EQUAL - 1) / MACKO_ECCSR_MOST_EQUAL;
}

/* Blocks of a window in the order of their keys: those of one kind together, the longest first, else by their places, which are
 * below MACKO_ECCSR_WINDOW. Longer than 2^32 - 1 runs no block is. */
MACKO_INLINE uint64_t macko_eccsr_key(int masked, int g, int w, uint32_t runs, int place)
{
  return (uint64_t)(masked << 7 | (g - 1) << 3 | (w - 1)) << 44 | (uint64_t)(0xffffffffu - runs) << 12 | (uint64_t)place;
}

enum { MACKO_ECCSR_KEY_PLACE = 0xfff };

/* Bits of a gap's code where `any` is all codes or-ed together. */
MACKO_INLINE int macko_eccsr_gap_bits(uint32_t any)
{
  return any < 16 ? 4 : any < 256 ? 8 : any < 65536 ? 16 : 32;
}

#endif
