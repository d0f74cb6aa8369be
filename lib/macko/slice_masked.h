/* Layout slice: slices that are masked. */
#ifndef MACKO_SLICE_MASKED_H
#define MACKO_SLICE_MASKED_H

#include "macko/slice_describe.h"

/* Gives 1 if the rows of the slice, whose base and steps are set, have among them no more distances than the longest has entries,
 * and sets c->masked to them; else 0. */
int macko_find_masked(const macko_csr *a, macko_csr_slice *c);

/* Sets cols[0] and so on to the columns of a lane of a masked slice. */
void macko_masked_columns(const slice_reader *r, const macko_slice *s, int lane, int64_t *cols);

/* Checks a masked slice of a matrix from outside, whose block lies inside its section. CORRUPT unless its distances rise, and its
 * lanes and columns are those of the matrix. */
macko_status macko_validate_masked(const macko_matrix *m, const slice_reader *r, int64_t slice, macko_error *err);

#endif
