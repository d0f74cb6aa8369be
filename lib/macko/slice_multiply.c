/* y = alpha op(A) x + beta y from layout slice, compiled for several vector widths and chosen by what the processor has. */
#include "core/beside.h"
#include "core/cpu.h"
#include "macko/slice.h"

#include <string.h>

/* This is what a product reads of a slice before its steps. Columns and lengths are not set where the slice is uniform, nor used
 * of a stencil. */
typedef struct {
  macko_slice s;
  const uint32_t *gaps;
  const uint16_t *order; /* the rows of the lanes, counted from first_row; NULL: one after the other */
  int64_t first_row;
  int lanes;          /* how many have a row */
  int listed;         /* 1 if distances are the same in all rows, which are all there and equally long */
  int uniform;        /* 1 if they also begin at consecutive columns */
  int look;           /* 1 if some lanes begin at columns nearby, so that their later columns may lie so, too */
  int64_t shortest;   /* every lane has at least so many entries, so that so many steps need no mask */
  int32_t lengths[MACKO_SLICE_ROWS], cols[MACKO_SLICE_ROWS]; /* base columns; of gaps, those of the last step done */
} open_slice;

enum {
  BLOCK_STEPS = 16,     /* steps whose columns, and values where they are widened, are decoded together */
  NEAR = 16,            /* columns that one permutation of two vectors of x reaches */
  /* Ahead in values and gaps: two pages measured 1.2 to 1.4 times as fast as half a page (Zen 4). They come into the first-level
   * cache: where they stop at the second one, matrices beyond the caches take up to a third longer (Zen 5). */
  PREFETCH_BYTES = 8192
};

/* This is how the columns of a vector of lanes lie: anyhow, one after the other in every step, or in every step at the same
 * distances below NEAR from the first (three unknowns a node: 0 0 0 3 3 3 6 6). */
enum { SCATTERED, CONSECUTIVE, NEARBY };

/* A kernel may be compiled for the stored types, and for these two: DOUBLES reads any of them, widened to doubles a block of
 * steps at a time; FEW_VALUES reads codes into a table of at most a vector of values, which stays in a register. */
enum { DOUBLES = 100, FEW_VALUES };

/* These are the columns of a few steps of all lanes, 0 in lanes without the step, and for each vector of lanes how they lie. */
typedef struct {
  int32_t cols[BLOCK_STEPS * MACKO_SLICE_ROWS];
  int run[MACKO_SLICE_ROWS / 2];
} column_block;

/* These are steps from .. from + steps - 1 of the lanes from `first` on. masked and look are constants: some lanes may lack a step;
 * some vectors of lanes have columns that are consecutive or nearby, in all of the steps, so that the branch on it is foreseen.
 * Such lanes all have these steps. */
typedef struct {
  int64_t from;
  int steps, first, masked, look;
} step_range;

/* These are the values of a slice as a product reads them. */
typedef struct {
  macko_type stored;
  const void *stream, *start; /* the value stream, and where the values of the slice at hand start in it */
  const void *table;          /* of the matrix's own type */
  macko_type table_type;
  const uint32_t *pair_gaps;  /* the gaps that codes of pairs stand for */
  double wide[256];           /* the table as doubles, for codes of 8 bits */
  const double *doubles;      /* values of step `from` on as doubles: the stream itself, or room */
  int64_t from, ahead;        /* ahead: bytes from there to what is to be prefetched */
  double room[BLOCK_STEPS * MACKO_SLICE_ROWS];
} slice_values;

/* Gives the row of a lane. */
static inline int64_t row_of(const open_slice *o, int lane)
{
  return o->first_row + (o->order ? o->order[lane] : lane);
}

/* Gives the values of a matrix, of no slice yet. A dictionary of up to 256 values is widened once, not at every look-up. */
static slice_values open_values(const macko_matrix *m)
{
  slice_values v = {.stored = m->plan.stored_type, .stream = macko_section_data(m, "values"),
                    .table = macko_section_data(m, "dict"), .table_type = m->value_type,
                    .pair_gaps = macko_section_data(m, "pair_gaps")};
  for (int64_t i = 0; m->plan.stored_type == MACKO_U8 && i < m->plan.table && i < 256; i++)
    v.wide[i] = macko_float_at(m->value_type, v.table, i);
  return v;
}

#define KERNEL "macko/slice_simd/kernel.inc"
#include "core/widths.inc"

/* Says whether vectors may go side by side. Floats have a loop of their own for groups, with AVX-512. Where gathers are fast they
 * are faster (wang4, four vectors: 1.28 and 0.67 times as fast as one after the other), unless entries wait for lines of x and
 * there are enough of them a column (soc-Epinions1, 6.7: 1.05 to 1.18; ct2010, 5: 0.86). */
static int may_go_beside(const macko_matrix *m, const macko_product *p)
{
  enum { ENOUGH_A_COLUMN = 6 };
  if (m->plan.stored_type == MACKO_F32 && p->vector_type == MACKO_F32 && macko_has_avx512()) return 0;
  return !macko_fast_gathers() || (macko_waits_for_lines(m, p, MACKO_GROUP) && m->nnz >= ENOUGH_A_COLUMN * m->ncols);
}

/* Threads get slices with about as many values each. Where there are stencils, which have none to go by, they get as many slices
 * each. */
void macko_slice_multiply(const macko_matrix *m, const macko_product *p)
{
  const macko_section *values = macko_find_section(m, "values");
  int stencils = macko_params_of(&m->plan)->slice.stencils > 0;
  const macko_cut cut = {macko_slices_of(m->nrows), MACKO_U32, stencils ? NULL : macko_section_data(m, "slices"),
                         MACKO_SLICE_WORDS, values->bytes / MACKO_VALUE_UNIT};
  if (p->op == MACKO_OP_N) macko_share_vectors(m, p, may_go_beside(m, p) ? MACKO_GROUP : 0, multiply_widest, &cut);
  else macko_share_product(m, p, multiply_widest, &cut);
}
