/* Layout slice: equal blocks are stored once, and what planning counts of each slice. Shared with the encoder on the GPU, which
 * describes slices there and places their blocks here. */
#ifndef MACKO_SLICE_BLOCKS_H
#define MACKO_SLICE_BLOCKS_H

#include "core/hash.h"
#include "macko/layout_bits.h"
#include "macko/macko_facts.h"

typedef struct {
  uint64_t hash;
  uint32_t start, words;
  int used;
} macko_known_block;

typedef struct {
  const uint32_t *block; /* the one at hand */
  macko_known_block *table;
  uint64_t mask;
  macko_hash_key key; /* hashes of blocks that come from a GPU have none */
  int64_t words; /* of all blocks so far */
} macko_block_set;

/* For at most so many slices. Errors: OUT_OF_MEMORY. */
macko_status macko_open_blocks(int64_t slices, macko_block_set *set, macko_error *err);
void macko_close_blocks(macko_block_set *set);

/* Start of a block: of an equal one where there is one (*is_new = 0), else the end of all. blocks is what has been written so
 * far, to be compared with set->block; NULL where equal hashes are taken for equal blocks. */
uint32_t macko_place_block(macko_block_set *set, uint64_t hash, int64_t words, int align, const uint32_t *blocks, int *is_new);

static inline int macko_block_align(const macko_slice *s)
{
  return s->stencil ? MACKO_STENCIL_WORDS : 1;
}

enum { MACKO_SIDE_BY_SIDE = 8 };

/* 1 if its lanes are all there, equally long, and their columns side by side in every step; or a stencil. */
static inline int macko_is_uniform(const macko_slice *s, int lanes)
{
  return !s->gap_bits && !s->offset_bytes && !s->length_bytes && lanes == MACKO_SLICE_ROWS;
}

/* Adds a slice with so many entries to the counts. Bit i of in_line: the rows of lanes 8 i .. 8 i + 7 are equally long and begin
 * one column after the other. */
void macko_count_slice(macko_slice_facts *facts, const macko_slice *s, int lanes, unsigned in_line, int64_t entries);

/* Adds the counts of other slices. */
void macko_add_counts(macko_slice_facts *facts, const macko_slice_facts *more);

/* The counts complete; LIMIT where a header has no room for them. */
macko_status macko_count_blocks(macko_slice_facts *facts, const macko_block_set *set, macko_error *err);

#endif
