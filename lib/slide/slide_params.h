/* The numbers that a plan of format slide keeps. */
#ifndef MACKO_SLIDE_PARAMS_H
#define MACKO_SLIDE_PARAMS_H

#include "core/facts.h"
#include "slide/slide_layout.h"

/* This is what all blocks of 2n columns of a matrix together are: the numbers of a plan, which files keep in this order. */
typedef struct {
  int64_t n;        /* half the columns of a block */
  int64_t cells;    /* blocks that have entries */
  int64_t every;    /* 1 if these are all blocks of all rows, so that their numbers need not be stored */
  int64_t empty;    /* slots of cells that have no entry */
  int64_t patterns; /* elements of section "patterns"; 0: there is none, and codes are positions */
  int64_t bits;     /* bits of a code */
  int64_t broken;   /* blocks of more than 2n - 2 entries */
  int64_t rest;     /* entries that find no room in the windows of these */
} macko_slide_counts;

/* Those numbers are kept as plan.params and files have them. */
typedef union {
  int64_t all[MACKO_MAX_PARAMS];
  macko_slide_counts of;
} macko_slide_params;

/* Gives the numbers of a plan of format slide. */
static inline const macko_slide_counts *macko_slide_counts_of(const macko_plan *plan)
{
  return &((const macko_slide_params *)plan->params)->of;
}

/* Gives the blocks of a row of so many columns; the last one may lack columns. */
static inline int64_t macko_slide_blocks(int64_t ncols, int64_t n)
{
  return (ncols + 2 * n - 1) / (2 * n);
}

#endif
