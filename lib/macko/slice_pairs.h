/* Value codec pairs of layout slice: an 8-bit code stands for the gap before an entry and its value. Entries whose column is
 * found without a gap, the first of a row and all of a slice with one list of distances, have gap 0. */
#ifndef MACKO_SLICE_PAIRS_H
#define MACKO_SLICE_PAIRS_H

#include "core/hash.h"
#include "macko/slice_describe.h"

enum { MACKO_PAIR_LIMIT = 256, MACKO_PAIR_HASH = 4 * MACKO_PAIR_LIMIT };

/* Pairs in order of first appearance. */
typedef struct {
  int used;
  uint32_t gaps[MACKO_PAIR_LIMIT];
  uint64_t bits[MACKO_PAIR_LIMIT];
  uint16_t hash[MACKO_PAIR_HASH]; /* code + 1, 0 where free */
  macko_hash_key key;
} macko_pair_set;

/* An empty set. */
void macko_open_pairs(macko_pair_set *set);

/* Adds those of a slice that is no stencil, lane after lane; 0 where there is no room. */
int macko_count_pairs(const macko_csr *a, const macko_csr_slice *c, macko_pair_set *set);

/* Adds those of another set; *codes, unless NULL, are what its codes become. 0 where there is no room. */
int macko_add_pairs_of(macko_pair_set *set, const macko_pair_set *more, uint8_t codes[MACKO_PAIR_LIMIT]);

/* UNSUPPORTED, and why. */
macko_status macko_too_many_pairs(macko_error *err);

#endif
