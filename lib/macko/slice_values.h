/* Layout slice: each value of a matrix at least once. Where most slices are stencils, of which equal ones are stored once, that is
 * far fewer values than there are entries, and questions about values are answered by them. */
#ifndef MACKO_SLICE_VALUES_H
#define MACKO_SLICE_VALUES_H

#include "macko/slice.h"
#include "macko/slice_look.h"

/* Sets *fewer to a csr of one row that has the bits of every value of *a at least once, and no others: those of the steps of all
 * stencils, and the entries of all other slices. *r has the headers and blocks of *a, with rows in their own order, and block_words
 * is how many words of blocks there are, slots how many of those other entries, with padding or without. It is one allocation, for
 * free(); NULL where there are too many values for that to pay. Errors: OUT_OF_MEMORY. */
macko_status macko_fewer_values(const macko_csr *a, const slice_reader *r, int64_t block_words, int64_t slots, macko_csr **fewer,
                                macko_error *err);

/* Adds it to what is known of the values, by a look that has its blocks, where some slices are stencils. Errors: OUT_OF_MEMORY. */
macko_status macko_learn_values(const macko_slice_look *look, macko_findings *found, macko_error *err);

#endif
