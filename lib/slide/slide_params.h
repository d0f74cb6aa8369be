/* The numbers that a plan of format slide keeps. */
#ifndef MACKO_SLIDE_PARAMS_H
#define MACKO_SLIDE_PARAMS_H

#include "core/facts.h"
#include "slide/slide_layout.h"

/* What all blocks of 2n columns of a matrix together are. */
typedef struct {
  int64_t n;
  int64_t cells;    /* blocks that have entries */
  int64_t every;    /* 1: every block of every row */
  int64_t empty;    /* slots of cells that have no entry */
  int64_t patterns; /* section "patterns" has so many; 0: there is none, and codes are positions */
  int64_t bits;     /* of a code */
  int64_t broken;   /* blocks of more than 2n - 2 entries */
  int64_t rest;     /* entries that find no room in these */
} macko_slide_counts;

/* As plan.params and files have them. */
typedef union {
  int64_t all[MACKO_MAX_PARAMS];
  macko_slide_counts of;
} macko_slide_params;

static inline const macko_slide_counts *macko_slide_counts_of(const macko_plan *plan)
{
  return &((const macko_slide_params *)plan->params)->of;
}

static inline int64_t macko_slide_blocks(int64_t ncols, int64_t n)
{
  return (ncols + 2 * n - 1) / (2 * n);
}

#endif
