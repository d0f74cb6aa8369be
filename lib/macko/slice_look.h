/* Layout slice: one look at all slices of a csr, which planning takes and encoding keeps. */
#ifndef MACKO_SLICE_LOOK_H
#define MACKO_SLICE_LOOK_H

#include "macko/slice_pairs.h"

/* This holds all slices in one order of rows as sections have them: headers, whose values start nowhere yet, as the codec is not
 * chosen; equal blocks once; the order. What is not NULL is owned by the look. */
typedef struct macko_slice_look {
  const struct macko_slice_look *stencils; /* while it is taken: one that has found the stencils among the same slices, or NULL */
  int sorted, kinds;       /* whether rows are sorted by length; which kinds of slices were looked for (macko_facts.h) */
  macko_slice_facts facts; /* what was counted */
  uint32_t *headers;
  uint16_t *order;   /* NULL where rows are in their own order */
  uint32_t *blocks;  /* NULL where they are not kept; equal hashes were taken for equal blocks then */
  int64_t room;      /* words that there is room for in blocks */
} macko_slice_look;

enum { MACKO_SLICE_LOOKS = 16 };

/* This is what the host knows of the slices of a csr, from planning to encoding: format macko's own among the findings. */
typedef struct {
  macko_slice_look looks[MACKO_SLICE_LOOKS]; /* for rows in their order and by length, and all sets of kinds */
  int sampled[2];            /* 1 if there is an estimate, for rows in their order and by length */
  macko_slice_estimate estimates[2];
} macko_slice_findings;

/* Adds a slice of a csr, whose columns have been described, to the counts. */
void macko_count_csr_slice(const macko_csr *a, const macko_csr_slice *c, macko_slice_facts *p);

/* Looks at all slices of rows with so many entries. look->sorted, kinds and stencils are given, and all else is zero. Blocks are
 * kept in at most `most` words, and not at all where they take more; where they are needed, as many are kept as there are. If there
 * are too many pairs, facts.pairs is -1 and nothing is kept. The caller frees what is there by macko_drop_look, also after a
 * failure. Errors: LIMIT, OUT_OF_MEMORY, those of macko_get_rows. */
macko_status macko_take_look(macko_rows *rows, int64_t nnz, int64_t most, int needed, macko_slice_look *look, macko_error *err);
void macko_drop_look(macko_slice_look *look);

/* Gives back memory that its blocks do not need; cannot fail. */
void macko_trim_look(macko_slice_look *look);

/* ---- slice_findings.c: what is kept for encoding ---- */

/* Gives the look at the slices of that plan with its blocks, if there has been one; else NULL. found may be NULL. */
macko_slice_look *macko_look_for(macko_slice_findings *found, const macko_plan *plan);

/* Gives the format's own of what has been found, empty at first, NULL where there is no memory for it. macko_forget_slices frees
 * it. */
macko_slice_findings *macko_slice_findings_of(macko_findings *found);
void macko_forget_slices(void *own);

#endif
