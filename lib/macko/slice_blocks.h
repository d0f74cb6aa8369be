/* Layout slice: equal blocks are stored once, and what planning counts of each slice. Shared with the encoder on the GPU, which
 * describes slices there and places their blocks here. */
#ifndef MACKO_SLICE_BLOCKS_H
#define MACKO_SLICE_BLOCKS_H

#include "core/hash.h"
#include "macko/layout_bits.h"
#include "macko/macko_facts.h"

/* This is a place of the table: a block that has been stored, by hash and words, and where it starts; free where used is 0. */
typedef struct {
  uint64_t hash;
  uint32_t start, words;
  int used;
} macko_known_block;

/* These are the blocks that have been stored, in a table of hashes with open addressing. */
typedef struct {
  const uint32_t *block; /* the one at hand, which the caller sets where blocks are to be compared */
  macko_known_block *table;
  uint64_t mask;      /* places of the table, a power of two, less 1 */
  macko_hash_key key; /* a place in the table is drawn by it: hashes of blocks that come from a GPU are made without a key */
  int64_t words;      /* words of all blocks so far, with those between them that alignment leaves */
} macko_block_set;

/* Makes an empty set for at most so many slices, which macko_close_blocks frees. Errors: OUT_OF_MEMORY. */
macko_status macko_open_blocks(int64_t slices, macko_block_set *set, macko_error *err);
void macko_close_blocks(macko_block_set *set);

/* Gives the word at which a block of so many words starts: that of an equal one where there is one (*is_new = 0), else the end of
 * all, at a multiple of `align` words. blocks is what has been written so far, to be compared with set->block; with NULL equal
 * hashes are taken for equal blocks. A block of no words starts at 0 and is never new. */
uint32_t macko_place_block(macko_block_set *set, uint64_t hash, int64_t words, int align, const uint32_t *blocks, int *is_new);

/* Gives what the start of a slice's block must be a multiple of, in words. */
MACKO_INLINE int macko_block_align(const macko_slice *s)
{
  return s->stencil ? MACKO_STENCIL_WORDS : 1;
}

/* So many lanes are looked at together when slots are counted: as many as a vector of AVX-512 has doubles. */
enum { MACKO_SIDE_BY_SIDE = 8 };

/* Gives 1 if all 32 lanes are there, equally long, and their columns side by side in every step; also for a stencil of 32
 * lanes. */
MACKO_INLINE int macko_is_uniform(const macko_slice *s, int lanes)
{
  return !s->gap_bits && !s->offset_bytes && !s->length_bytes && lanes == MACKO_SLICE_ROWS;
}

/* Adds a slice with so many entries to the counts. Bit i of in_line says that the rows of lanes 8 i .. 8 i + 7 are equally long
 * and begin one column after the other. Slots are counted eight lanes at a time, because that is how a product finds their
 * columns; the kinds are those of macko_cost. */
MACKO_INLINE void macko_count_slice(macko_slice_facts *p, const macko_slice *s, int lanes, unsigned in_line, int64_t entries)
{
  int64_t slots = (int64_t)s->steps * MACKO_SIDE_BY_SIDE;
  int uniform = macko_is_uniform(s, lanes);
  for (int group = 0; group < MACKO_SLICE_ROWS / MACKO_SIDE_BY_SIDE; group++)
    if (s->stencil) p->stencil += slots;
    else if (uniform || s->gap_bits == MACKO_GAP_MASKED) p->uniform += slots;
    else if (s->gap_bits == MACKO_GAP_PAIRS) *(in_line >> group & 1 ? &p->run_paired : &p->paired) += slots;
    else if (in_line >> group & 1) p->run += slots;
    else if (s->gap_bits) p->walked += slots;
    else p->listed += slots;
  if (s->steps > p->longest) p->longest = s->steps;
  for (int e = 0; e < 4; e++) p->units[e] += macko_slice_value_units(s, 1 << e);
  p->stencils += s->stencil, p->masked += s->gap_bits == MACKO_GAP_MASKED;
  p->streamed += s->stencil ? 0 : entries;
}

/* On a GPU at most MACKO_SLICE_SPLIT warps share a slice, each with MACKO_SLICE_SHARE steps or more in the mean. With every
 * MACKO_SLICE_EACH slices more its steps must be one more to be worth it, and all warps together are at most MACKO_SLICE_WARPS,
 * which is hardly more than run at once: those that have to wait for others took up to 1.4 times as long. These numbers were found
 * by timing 150 matrices with 1, 2 and 4 warps. */
enum { MACKO_SLICE_SPLIT = 4, MACKO_SLICE_SHARE = 3, MACKO_SLICE_WARPS = 6700, MACKO_SLICE_EACH = 380 };

/* Gives the number of warps of a slice on a GPU, a power of two. steps are those of all slices together. */
static inline int macko_slice_split(int64_t slices, int64_t steps)
{
  int split = 1;
  if (slices < 1) return split;
  const int64_t mean = steps / slices, each = slices / MACKO_SLICE_EACH, least = MACKO_SLICE_SHARE;
  const int64_t share = each > least ? each : least;
  while (split < MACKO_SLICE_SPLIT && 2 * split * slices <= MACKO_SLICE_WARPS && mean >= 2 * split * share) split *= 2;
  return split;
}

/* Adds the counts of other slices, which a part has made or a window. Blocks and pairs are not among them, as parts may have the
 * same. */
void macko_add_counts(macko_slice_facts *facts, const macko_slice_facts *more);

/* Fails with LIMIT where a header has no room for starts of blocks or values. */
macko_status macko_check_facts(const macko_slice_facts *facts, macko_error *err);

#endif
