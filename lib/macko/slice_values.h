/* Layout slice: each value of a matrix at least once. Where slices are stencils, of which equal ones are stored once, that is fewer
 * values than there are entries, and questions about values are answered by them. */
#ifndef MACKO_SLICE_VALUES_H
#define MACKO_SLICE_VALUES_H

#include "macko/slice.h"
#include "macko/slice_look.h"

/* Sets *fewer to each value of *a at least once: the values of the steps of all stencils, and the entries of all other slices. *r
 * has the headers and blocks of *a, with rows in their own order; block_words is how many words of blocks there are, slots how many
 * of those other entries, with padding or without. It is for free(), and NULL where stencils are too few for that to pay. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_find_fewer_values(const macko_csr *a, const slice_reader *r, int64_t block_words, int64_t slots,
                                     macko_fewer_values **fewer, macko_error *err);

/* Adds them to what is known of the values, by a look that has its blocks, where some slices are stencils. Errors:
 * OUT_OF_MEMORY. */
macko_status macko_learn_values(const macko_slice_look *look, macko_findings *found, macko_error *err);

#endif
