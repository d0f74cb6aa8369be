/* Pruned weights whose columns matter unlike, as where pruning goes by the inputs of a layer. */
#ifndef WEIGHTS_H
#define WEIGHTS_H

#include <stdint.h>

/* Weights of so many columns, of which each row keeps as many. Row after row uses the same arrays. */
typedef struct {
  int64_t ncols, kept;
  double *norms;          /* of columns */
  double *scores, *order; /* of the row at hand */
} pruned_weights;

/* Begins weights of which `percent` are dropped. A weight is the sum of eight uniform numbers around 0, which is nearly normal;
 * its score is its size times the norm of its column; and each row keeps those of the largest scores, by which Wanda prunes (Sun
 * et al., arXiv 2306.11695). The logarithms of norms are nearly normal, too, with a standard deviation of 1/2, and one column of
 * 256 has 16 times its norm, as some inputs of language models are far larger than others. All machines agree on what is kept.
 * Returns 0 without memory. weights_close frees the arrays in any case. */
int weights_open(int64_t ncols, int64_t percent, pruned_weights *w);
void weights_close(pruned_weights *w);

/* Makes the scores of row i, and returns the least one that is kept. Of equal ones those of the first columns are, until there are
 * enough. */
double weights_row(pruned_weights *w, int64_t i);

#endif
