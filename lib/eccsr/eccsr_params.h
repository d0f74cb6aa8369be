/* The numbers that a plan of format eccsr keeps, and what planning asks of a matrix besides its values. */
#ifndef MACKO_ECCSR_PARAMS_H
#define MACKO_ECCSR_PARAMS_H

#include "core/facts.h"
#include "eccsr/eccsr_rules.h"

enum { MACKO_ECCSR_APART = 1 };

/* By what rows are put into blocks and columns into runs. */
typedef struct {
  int64_t rows, run; /* rows of a block and columns of a run where both can be chosen: those that most entries have */
  int64_t aligned;   /* 0: blocks are rows of equal columns that follow each other; MACKO_ECCSR_APART: rows of equal columns
                      * wherever they are; else `aligned` rows from a multiple of it on, with masks */
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

/* Of some of the rows: entries by how many rows have equal columns, and by the widest run that those columns are cut into; and what
 * they come to. */
typedef struct {
  unsigned long long rows[MACKO_ECCSR_MOST_EQUAL + 1], run[MACKO_ECCSR_MAX_RUN + 1];
  unsigned long long entries, blocks, runs, reads;
} macko_eccsr_sampled;

/* The most frequent; of equals the smallest. */
static inline int64_t macko_eccsr_most(const unsigned long long *counts, int n)
{
  int best = 1;
  for (int i = 2; i <= n; i++)
    if (counts[i] > counts[best]) best = i;
  return best;
}

static inline macko_eccsr_shape macko_eccsr_usual_shape(const macko_eccsr_sampled *c)
{
  return (macko_eccsr_shape){macko_eccsr_most(c->rows, MACKO_ECCSR_MOST_EQUAL), macko_eccsr_most(c->run, MACKO_ECCSR_MAX_RUN), 0};
}

/* What a matrix of so many entries would come to if all were like the sample. */
static inline void macko_eccsr_scale(const macko_eccsr_sampled *c, int64_t nnz, macko_eccsr_counts *counts, macko_eccsr_work *work)
{
  const double scale = c->entries ? (double)nnz / (double)c->entries : 0;
  memset(counts, 0, sizeof *counts), memset(work, 0, sizeof *work);
  counts->blocks = (int64_t)(scale * (double)c->blocks);
  work->entries = nnz, work->runs = (int64_t)(scale * (double)c->runs), work->reads = (int64_t)(scale * (double)c->reads);
}

/* lib/ counts in host memory, libmacko_cuda in device memory. */
typedef struct {
  /* What rows of equal columns would come to in all, by some of the rows; nothing where that cannot be told. */
  void (*estimate)(void *context, macko_eccsr_counts *counts, macko_eccsr_work *work);
  /* The shape, by some of the rows. */
  macko_status (*sample)(void *context, macko_eccsr_shape *shape, macko_error *err);
  macko_status (*count)(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                        macko_error *err);
  /* Whether there may be blocks of rows that do not follow each other: planned for a CPU. NULL: they are not looked for. */
  macko_status (*apart)(void *context, int *found, macko_error *err);
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
