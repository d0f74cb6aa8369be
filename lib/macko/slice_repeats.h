/* Layout slice: slices whose lengths and columns are those of an earlier one, some columns further on, and of a stencil the values,
 * too. On a grid nearly all are, and to compare them takes a fraction of describing them. */
#ifndef MACKO_SLICE_REPEATS_H
#define MACKO_SLICE_REPEATS_H

#include "macko/slice_describe.h"

/* This is how many slices are remembered at a time, and how many words their blocks have at most. */
enum { MACKO_REPEATS = 256, MACKO_REPEAT_WORDS = 512 };

/* This is a slice that may come again. */
typedef struct {
  uint64_t signature; /* that of the slice that was looked for here last; 0: none */
  int described;      /* 1 if what follows is that slice's */
  int64_t begin, length[MACKO_SLICE_ROWS]; /* its first entry in the csr, and the lengths of its rows */
  macko_slice s;      /* its header, to which a repeating slice adds its distance */
  macko_block_key key;
  uint32_t block[MACKO_REPEAT_WORDS];
} macko_known_slice;

/* Gives the place among the MACKO_REPEATS of `known` where a slice like *c is, or is to be remembered; *c has its rows and no
 * more. NULL where *c comes for the first time, or cannot repeat another: slices are remembered when they come for the second
 * time, so that those that never come again are not copied. */
macko_known_slice *macko_slice_like(macko_known_slice *known, const macko_csr *a, const macko_csr_slice *c);

/* Gives 1 if *c, which is that slice, has the lengths and columns of *k, all columns equally far on, and where *k is a stencil its
 * values; c->s is then what macko_try_stencil or macko_describe_slice would make it. The signature is a guess; this compares every
 * entry. */
int macko_repeats_slice(const macko_csr *a, const macko_known_slice *k, int64_t slice, macko_csr_slice *c);

/* Keeps *c as it has been described, with its block and that one's key. Slices with pairs are not kept, as the pairs of each must
 * be counted. */
void macko_remember_slice(macko_known_slice *k, const macko_csr_slice *c, const macko_block_key *key, const uint32_t *block);

#endif
