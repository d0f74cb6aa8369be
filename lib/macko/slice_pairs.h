/* Value codec pairs of layout slice: an 8-bit code stands for the gap before an entry and its value. Entries whose column is
 * found without a gap, the first of a row and all of a slice with one list of distances, have gap 0. */
#ifndef MACKO_SLICE_PAIRS_H
#define MACKO_SLICE_PAIRS_H

#include "core/hash.h"
#include "macko/slice_describe.h"

/* A code has 8 bits. The table of hashes has four places a pair, so that probing is short. */
enum { MACKO_PAIR_LIMIT = 256, MACKO_PAIR_HASH = 4 * MACKO_PAIR_LIMIT };

/* This holds pairs in the order of their first appearance, which is their code: the gap and the bits of the value of each. */
typedef struct {
  int used;
  uint32_t gaps[MACKO_PAIR_LIMIT];
  uint64_t bits[MACKO_PAIR_LIMIT];
  uint16_t hash[MACKO_PAIR_HASH]; /* the code + 1, 0 where the place is free */
  macko_hash_key key;
} macko_pair_set;

/* Makes *set empty. It has no memory of its own, so that nothing closes it. */
void macko_open_pairs(macko_pair_set *set);

/* Adds the pairs of a slice that is no stencil, lane after lane; 0 where there is no room for them. */
int macko_count_pairs(const macko_csr *a, const macko_csr_slice *c, macko_pair_set *set);

/* Adds the pairs of another set in their order. codes[i], unless codes is NULL, becomes the code here of the pair that has code i
 * there. 0 where there is no room. */
int macko_add_pairs_of(macko_pair_set *set, const macko_pair_set *more, uint8_t codes[MACKO_PAIR_LIMIT]);

/* Fails with UNSUPPORTED, and says why. */
macko_status macko_too_many_pairs(macko_error *err);

#endif
