/* The numbers that a plan of format eccsr keeps, and what planning asks of a matrix besides its values. */
#ifndef MACKO_ECCSR_PARAMS_H
#define MACKO_ECCSR_PARAMS_H

#include "core/facts.h"
#include "eccsr/eccsr_layout.h"

/* By what rows are put into blocks and columns into runs. */
typedef struct {
  int64_t rows, run; /* rows of a block and columns of a run where both can be chosen: those that most entries have */
  int64_t aligned;   /* 0: blocks are rows of equal columns; else `aligned` rows from a multiple of it on, with masks */
} macko_eccsr_shape;

/* What all slices together are: all that sections need, and what kernels are chosen by. */
typedef struct {
  int64_t slices, blocks;
  int64_t rows;         /* elements of section "rows" */
  int64_t words;        /* of section "gaps" */
  int64_t longest;      /* runs of the longest block */
  int64_t masked;       /* slices */
  int64_t widths;       /* bit w: there are runs of w columns */
} macko_eccsr_counts;

/* As plan.params and files have them. */
typedef union {
  int64_t all[MACKO_MAX_PARAMS];
  struct {
    macko_eccsr_counts counts;
    macko_eccsr_shape shape;
  } of;
} macko_eccsr_params;

static inline const macko_eccsr_params *macko_eccsr_params_of(const macko_plan *plan)
{
  return (const macko_eccsr_params *)plan->params;
}

/* Besides counts, for the time of a product. */
typedef struct {
  int64_t entries;  /* that have been looked at */
  int64_t masked;   /* of them in slices with masks */
  int64_t runs;     /* of all blocks */
  int64_t lanes;    /* slots that there would be without masks */
  int64_t reads;    /* elements of x that blocks read */
} macko_eccsr_work;

/* lib/ counts in host memory, libmacko_cuda in device memory. */
typedef struct {
  /* What rows of equal columns would come to in all, by some of the rows. NULL: as dear as planning. */
  void (*estimate)(void *context, macko_eccsr_counts *counts, macko_eccsr_work *work);
  /* The shape, by some of the rows. */
  macko_status (*sample)(void *context, macko_eccsr_shape *shape, macko_error *err);
  macko_status (*count)(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                        macko_error *err);
} macko_eccsr_facts;

/* Bytes of an element of section "lengths". */
static inline int macko_eccsr_length_bytes(const macko_eccsr_counts *c)
{
  return c->longest > 65535 ? 4 : 2;
}

/* Of all sections but the values. */
static inline int64_t macko_eccsr_pattern_bytes(const macko_eccsr_counts *c)
{
  return c->slices * MACKO_ECCSR_SLICE_WORDS * 4 + c->blocks * (4 + macko_eccsr_length_bytes(c)) + c->rows * 4 + c->words * 4;
}

#endif
