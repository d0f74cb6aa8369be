/* Layout slice: slices whose lengths and columns are those of an earlier one, some columns further on, and of a stencil, or where
 * pairs are counted, the values, too. On a grid nearly all are, and to compare them takes a fraction of describing them. */
#ifndef MACKO_SLICE_REPEATS_H
#define MACKO_SLICE_REPEATS_H

#include "macko/slice_describe.h"

/* This is how many slices are remembered at a time, and how many words their blocks have at most. */
enum { MACKO_REPEATS = 256, MACKO_REPEAT_WORDS = 512 };

/* This is a slice that may come again. */
typedef struct {
  uint64_t signature; /* that of the slice that was looked for here last; 0: none */
  int described;      /* 1 if what follows is that slice's */
  int valued;         /* 1 if what repeats it has its values, too: it is a stencil, or its pairs have been counted */
  int64_t begin, length[MACKO_SLICE_ROWS]; /* its first entry in the csr, and the lengths of its rows */
  macko_slice s;      /* its header, to which a repeating slice adds its distance */
  macko_block_key key;
  uint32_t block[MACKO_REPEAT_WORDS];
} macko_known_slice;

/* Gives 1 if *c, of which the rows are known, repeats one of the MACKO_REPEATS slices of `known`, which becomes *like: c->s is then
 * what macko_try_stencil or macko_describe_slice would make it, and block and key are those of *like. Else *like is the place where
 * *c is to be remembered, or NULL: slices are remembered when they come for the second time, so that those that never come again
 * are not copied. With `stencils` *c is tried as one, if need be, and complete if it is one. known may be NULL. */
int macko_is_repeated(macko_known_slice *known, const macko_csr *a, int64_t slice, int stencils, macko_csr_slice *c,
                      macko_known_slice **like);

/* Keeps *c as it has been described, with its block and that one's key. pairs: those of *c have been counted, and of a slice that
 * repeats it they need not be. */
void macko_remember_slice(macko_known_slice *k, const macko_csr_slice *c, int pairs, const macko_block_key *key,
                          const uint32_t *block);

#endif
