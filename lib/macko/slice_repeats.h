/* Layout slice: slices whose lengths and columns are those of an earlier one, some columns further on. On a grid nearly all are, and
 * to compare them takes a fraction of describing them. Stencils, which are found as quickly, are not among them. */
#ifndef MACKO_SLICE_REPEATS_H
#define MACKO_SLICE_REPEATS_H

#include "macko/slice_describe.h"

enum { MACKO_REPEATS = 256, MACKO_REPEAT_WORDS = 512 }; /* slices that are remembered, with blocks of so many words at most */

typedef struct {
  uint64_t signature; /* of the slice that was looked for here last; 0: none */
  int described;      /* the rest is that slice's */
  int64_t begin, length[MACKO_SLICE_ROWS]; /* its first entry, its rows */
  macko_slice s;
  macko_block_key key;
  uint32_t block[MACKO_REPEAT_WORDS];
} macko_known_slice;

/* Where among MACKO_REPEATS a slice like *c is, or is to be remembered; *c has rows and no more. NULL where none is: slices are
 * remembered when they come for the second time. */
macko_known_slice *macko_slice_like(macko_known_slice *known, const macko_csr *a, const macko_csr_slice *c);

/* 1 if *c is like *k, and c->s then what macko_describe_slice would make it. */
int macko_repeats_slice(const macko_csr *a, const macko_known_slice *k, macko_csr_slice *c);

/* *c as it has been described, without pairs. */
void macko_remember_slice(macko_known_slice *k, const macko_csr_slice *c, const macko_block_key *key, const uint32_t *block);

#endif
