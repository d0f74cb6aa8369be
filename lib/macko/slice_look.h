/* Layout slice: one look at all slices of a csr, which planning takes and encoding keeps. */
#ifndef MACKO_SLICE_LOOK_H
#define MACKO_SLICE_LOOK_H

#include "macko/slice_pairs.h"

/* All slices in one order of rows as sections have them: headers, whose values start nowhere yet, equal blocks once, the order. */
typedef struct {
  int sorted, kinds;
  macko_slice_facts facts;
  uint32_t *headers;
  uint16_t *order;   /* NULL: rows in their own order */
  uint32_t *blocks;  /* NULL: not kept, and equal hashes were taken for equal blocks */
  int64_t room;      /* of the blocks, in words */
} macko_slice_look;

/* What the host knows of the slices of a csr, from planning to encoding. */
typedef struct {
  macko_slice_look looks[8]; /* rows in their order, by length; both with pairs; all of these with stencils */
  int sampled[2];            /* rows in their order, by length */
  macko_slice_estimate estimates[2];
} macko_slice_findings;

/* Adds a slice of a csr to the counts. */
void macko_count_csr_slice(const macko_csr *a, const macko_csr_slice *c, macko_slice_facts *p);

/* Looks at all slices of rows with so many entries, look->sorted and kinds being given, and look->facts zero. Blocks are kept in at most `most` words, and not
 * at all where they take more; where they are needed, as many as it takes are. If there are too many pairs, facts.pairs is -1 and
 * nothing is kept. The caller frees what is there by macko_drop_look, also after a failure.
 * Errors: LIMIT, OUT_OF_MEMORY. */
macko_status macko_take_look(macko_rows *rows, int64_t nnz, int64_t most, int needed, macko_slice_look *look, macko_error *err);
void macko_drop_look(macko_slice_look *look);

/* Gives back what its blocks do not need. */
void macko_trim_look(macko_slice_look *look);

/* The look at the slices of that plan with its blocks, if there has been one; else NULL. */
macko_slice_look *macko_look_for(macko_slice_findings *found, const macko_plan *plan);

/* The format's own of what has been found, NULL where there is no memory for it; and how it is freed. */
macko_slice_findings *macko_slice_findings_of(macko_findings *found);
void macko_forget_slices(void *own);

#endif
