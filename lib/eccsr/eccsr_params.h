/* The numbers that a plan of format eccsr keeps, and what planning asks of a matrix besides its values. */
#ifndef MACKO_ECCSR_PARAMS_H
#define MACKO_ECCSR_PARAMS_H

#include "core/facts.h"
#include "eccsr/eccsr_rules.h"

/* The value of `aligned` that stands for rows of equal columns anywhere in the matrix. It can be no number of aligned rows, as
 * blocks of one row would need no masks. */
enum { MACKO_ECCSR_APART = 1 };

/* The rules by which rows of this matrix are put into blocks and columns into runs. */
typedef struct {
  int64_t rows, run; /* rows of a block and columns of a run where both can be chosen: those that most entries have */
  int64_t aligned;   /* 0: blocks are rows of equal columns that follow each other; MACKO_ECCSR_APART: rows of equal columns
                      * wherever they are; else `aligned` rows from a multiple of it on, with masks */
} macko_eccsr_shape;

/* What all slices together come to: all that the lengths of sections need, and what kernels are chosen by. */
typedef struct {
  int64_t slices, blocks; /* how many there are */
  int64_t rows;         /* elements of section "rows" */
  int64_t words;        /* of section "gaps" */
  int64_t longest;      /* runs of the longest block */
  int64_t masked;       /* slices */
  int64_t widths;       /* bit w: there are runs of w columns */
} macko_eccsr_counts;

/* Returns the width of all runs, 0 where there are several. */
static inline int macko_eccsr_width(const macko_eccsr_counts *c)
{
  for (int w = 1; w <= MACKO_ECCSR_MAX_RUN; w++)
    if (c->widths == (int64_t)1 << w) return w;
  return 0;
}

/* The numbers as plan.params and files have them: an array for those who copy them, names for the format. */
typedef union {
  int64_t all[MACKO_MAX_PARAMS];
  struct {
    macko_eccsr_counts counts;
    macko_eccsr_shape shape;
  } of;
} macko_eccsr_params;

/* Returns the parameters of a plan of this format, which stay where they are. */
static inline const macko_eccsr_params *macko_eccsr_params_of(const macko_plan *plan)
{
  return (const macko_eccsr_params *)plan->params;
}

/* What the time of a product depends on, besides the counts. */
typedef struct {
  int64_t entries;  /* that have been looked at */
  int64_t masked;   /* of them in slices with masks */
  int64_t runs;     /* of all blocks */
  int64_t lanes;    /* slots that there would be without masks */
  int64_t reads;    /* elements of x that blocks read */
  int64_t idle;     /* slots more, if all blocks of a slice had as many runs as the longest; samples count none */
} macko_eccsr_work;

/* What a look at some of the rows has counted: entries by how many rows have equal columns, entries by the widest run that those
 * columns are cut into, and what blocks of equal rows would come to. The types are those that device code can add to
 * atomically. */
typedef struct {
  unsigned long long rows[MACKO_ECCSR_MOST_EQUAL + 1], run[MACKO_ECCSR_MAX_RUN + 1];
  unsigned long long entries, blocks, runs, reads;
} macko_eccsr_sampled;

/* What a look at some groups of b rows from a multiple of b on has counted, for each b: their entries, and the runs of b columns,
 * from multiples of b on, that these lie in. Zeros where the rows of the matrix are no multiple of b. */
typedef struct {
  unsigned long long entries[MACKO_ECCSR_MAX_RUN + 1], runs[MACKO_ECCSR_MAX_RUN + 1];
} macko_eccsr_groups;

/* What planning asks of a matrix besides its values. lib/ counts in host memory, libmacko_cuda in device memory; what is chosen
 * by the answers is the same code. */
typedef struct {
  /* Counts in some of the windows what rows of equal columns come to. */
  macko_status (*sample)(void *context, macko_eccsr_sampled *c, macko_error *err);
  /* Counts in the same windows what some groups of aligned rows come to. */
  macko_status (*groups)(void *context, macko_eccsr_groups *c, macko_error *err);
  /* Counts exactly what slices of that shape come to. */
  macko_status (*count)(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                        macko_error *err);
  /* Tells whether there may be blocks of rows that do not follow each other, which are planned for a CPU only. NULL: they are not
   * looked for. */
  macko_status (*apart)(void *context, int *found, macko_error *err);
} macko_eccsr_facts;

/* Returns the bytes of an element of section "lengths": the fewest that hold the longest block. */
static inline int macko_eccsr_length_bytes(const macko_eccsr_counts *c)
{
  return c->longest > 65535 ? 4 : 2;
}

/* Returns the bytes of all sections but the values. */
static inline int64_t macko_eccsr_pattern_bytes(const macko_eccsr_counts *c)
{
  return c->slices * MACKO_ECCSR_SLICE_WORDS * 4 + c->blocks * (4 + macko_eccsr_length_bytes(c)) + c->rows * 4 + c->words * 4;
}

#endif
