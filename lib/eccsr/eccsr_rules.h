/* The rules by which rows of equal columns become blocks and blocks slices, for host and kernels: both must write the same
 * bytes. */
#ifndef MACKO_ECCSR_RULES_H
#define MACKO_ECCSR_RULES_H

#include "eccsr/eccsr_layout.h"

/* Rows whose blocks are sorted by length together. Slices are full for blocks of 1 to 8 rows, as this is a multiple of what 32
 * lanes hold of each. */
enum { MACKO_ECCSR_WINDOW = 3360 };

/* The most rows of a block of equal columns: with more of them, a gap is shared among more entries than pays. */
enum { MACKO_ECCSR_MOST_EQUAL = 8 };

/* On a GPU these types of stored values and vectors (and accumulators) have kernels for runs of known width, for one vector: those
 * that most matrices have. Of them the second list has those for which several warps may share a slice, and the third those that
 * have such kernels for a group of vectors, too. All expand to f for each. */
#define MACKO_ECCSR_WIDTHS(f) f(F64, F64, double) f(F32, F64, double) f(I8, F64, double) f(U8, F64, double) f(F32, F32, float)
#define MACKO_ECCSR_SHARED(f) f(F64, F64, double) f(F32, F64, double) f(F32, F32, float)
#define MACKO_ECCSR_FREQUENT(f) f(F64, F64, double) f(F32, F32, float)

/* Say whether stored values and vectors are of types in the first list, the second, or the third. */
#define IS(stored, vector, sum) (stored_type == MACKO_##stored && vector_type == MACKO_##vector) ||
MACKO_CONSTANT int macko_eccsr_has_widths(int stored_type, int vector_type)
{
  return MACKO_ECCSR_WIDTHS(IS) 0;
}

MACKO_CONSTANT int macko_eccsr_may_share(int stored_type, int vector_type)
{
  return MACKO_ECCSR_SHARED(IS) 0;
}

MACKO_CONSTANT int macko_eccsr_is_frequent(int stored_type, int vector_type)
{
  return MACKO_ECCSR_FREQUENT(IS) 0;
}
#undef IS

/* A block of threads of a GPU has so many warps. */
enum { MACKO_ECCSR_BLOCK_WARPS = 4 };

/* Returns how many blocks of threads a multiprocessor is to have for one vector and runs of so many columns, or of several widths
 * with 0: 8 leave 64 registers a lane, 7 leave 72 and 5 leave 102. Wide runs without masks need them more than other warps to go on
 * with while one waits. */
MACKO_CONSTANT int macko_eccsr_resident_blocks(int width, int masked)
{
  return width > 4 && !masked ? 5 : width == 4 && !masked ? 7 : 8;
}

/* Of so many windows one is looked at for the shape of blocks. */
enum { MACKO_ECCSR_SAMPLED = 16 };

/* Returns the first window, of so many, that is looked at: one in the middle of its sixteen, or of all where there are fewer. */
MACKO_INLINE int64_t macko_eccsr_first_sampled(int64_t windows)
{
  return windows > MACKO_ECCSR_SAMPLED / 2 ? MACKO_ECCSR_SAMPLED / 2 : (windows - 1) / 2; /* of two the first, which is whole */
}

/* Of a window that is looked at, so many groups of aligned rows are looked at for masks. */
enum { MACKO_ECCSR_GROUPS = 32 };

/* Returns the first row of group number i of those, counted in a window of so many rows, where groups have b rows: they are spread
 * over the window. Windows begin at multiples of all b. */
MACKO_INLINE int64_t macko_eccsr_group(int i, int b, int64_t rows)
{
  return i * (rows / b) / MACKO_ECCSR_GROUPS * b;
}

/* Returns into how many blocks `count` rows of equal columns go: blocks of the usual size where that fits, else as few as can be,
 * of nearly the same size. The first count % pieces of them have a row more than the rest. */
MACKO_INLINE int macko_eccsr_pieces(int count, int usual)
{
  return count % usual == 0 ? count / usual : (count + MACKO_ECCSR_MOST_EQUAL - 1) / MACKO_ECCSR_MOST_EQUAL;
}

/* How many of the lowest bits of a key are the place of its block, and those bits. */
enum { MACKO_ECCSR_PLACE_BITS = 12, MACKO_ECCSR_KEY_PLACE = (1 << MACKO_ECCSR_PLACE_BITS) - 1 };

/* Returns the key by which the blocks of a window are sorted: those of one kind come together, the longest first, else by their
 * places, which are below MACKO_ECCSR_WINDOW. No block is longer than 2^32 - 1 runs. As places differ all keys do, and any way of
 * sorting gives the same order on host and device. */
MACKO_INLINE uint64_t macko_eccsr_key(int masked, int g, int w, uint32_t runs, int place)
{
  return (uint64_t)(masked << 7 | (g - 1) << 3 | (w - 1)) << (32 + MACKO_ECCSR_PLACE_BITS) |
         (uint64_t)(0xffffffffu - runs) << MACKO_ECCSR_PLACE_BITS | (uint64_t)place;
}

/* Returns the fewest bits of 4, 8, 16 and 32 that hold all gaps of a slice, where `any` is the largest of them or all of them
 * or-ed together. */
MACKO_INLINE int macko_eccsr_gap_bits(uint32_t any)
{
  return any < 16 ? 4 : any < 256 ? 8 : any < 65536 ? 16 : 32;
}

#endif
