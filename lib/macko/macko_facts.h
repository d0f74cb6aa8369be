/* What planning of format macko asks of a matrix besides its values. lib/ counts in host memory, libmacko_cuda in device memory. */
#ifndef MACKO_MACKO_FACTS_H
#define MACKO_MACKO_FACTS_H

#include "core/facts.h"

/* About the slices of layout slice, in the order of rows or sorted by length. */
typedef struct {
  int64_t window, block_words, order_bytes;
  int64_t units[4]; /* of the value stream, for elements of 1, 2, 4 and 8 bytes */
  int64_t stencils, streamed; /* slices that are stencils; entries in the others */
  int64_t longest;            /* steps of the longest slice */
  int64_t stencil, uniform, run, listed, walked, paired, run_paired; /* slots by how their columns are found (cost.h) */
  int wide_pairs;             /* a gap of a pair has more than 16 bits */
  int64_t pairs;              /* of gap and value, under MACKO_PAIRS; -1: more than MACKO_PAIR_LIMIT, and nothing else is known */
} macko_slice_facts;

/* What slices may be besides lists and gaps of their own: stencils, and, instead of gaps, pairs (macko_layout.h). */
enum { MACKO_STENCILS = 1, MACKO_PAIRS = 2 };

/* About layout slice by a sample: nanoseconds for the columns without what their bytes take, 0 where the sample is empty; slots of
 * values; bytes of blocks where hardly any two are equal, else 0, because a sample does not tell how many there are; and by which share all that may be wrong. */
typedef struct {
  double columns, slots, blocks, missed;
} macko_slice_estimate;

/* About the rows of layout row. */
typedef struct {
  int64_t by_log[33];       /* gaps between neighbours in a row, by their binary logarithm */
  int64_t low[3], high[3];  /* distance of first columns from the reference of each base mode; low > high where there is none */
} macko_row_facts;

typedef struct {
  macko_status (*slices)(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err);
  /* With rows in their order or sorted. NULL: looking at all is as cheap. */
  macko_status (*sample)(void *context, const macko_options *options, int sorted, macko_slice_estimate *estimate,
                         macko_error *err);
  macko_status (*rows)(void *context, macko_row_facts *facts, macko_error *err);
} macko_column_facts;

static inline const macko_column_facts *macko_columns_of(const macko_facts *f)
{
  return (const macko_column_facts *)f->of_format[MACKO_FORMAT_MACKO];
}

/* Those of a csr in host memory; context: macko_findings. */
macko_status macko_host_slices(void *context, int sorted, int kinds, macko_slice_facts *facts, macko_error *err);
macko_status macko_host_sample(void *context, const macko_options *options, int sorted, macko_slice_estimate *estimate,
                               macko_error *err);
macko_status macko_host_rows(void *context, macko_row_facts *facts, macko_error *err);

#endif
