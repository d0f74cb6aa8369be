/* y = alpha op(A) x + beta y from layout slice, compiled for several vector widths and chosen by what the processor has. */
#include "core/cpu.h"
#include "core/product.h"
#include "core/threads.h"
#include "macko/slice.h"

/* What a multiply reads of a slice before its steps. */
typedef struct {
  macko_slice s;
  const uint32_t *gaps;
  int lanes, ordered; /* ordered: rows are those listed, else first_row and on */
  int listed;         /* distances are the same in all rows, which are all there and equally long */
  int uniform;        /* and begin at consecutive columns */
  int look;           /* some lanes begin at columns nearby, so that others may follow */
  int64_t shortest;   /* every lane has at least so many entries */
  int64_t first_row, rows[MACKO_SLICE_ROWS];
  int32_t lengths[MACKO_SLICE_ROWS], cols[MACKO_SLICE_ROWS]; /* base columns */
} open_slice;

enum {
  BLOCK_STEPS = 16,
  NEAR = 16,            /* columns that one permutation of two vectors of x reaches */
  PREFETCH_BYTES = 8192 /* ahead in values and gaps: two pages measured 1.2 to 1.4 times as fast as half a page (Zen 4) */
};

/* How the columns of a vector of lanes lie in every step: anyhow, one after the other, or always at the same distances below NEAR
 * from the first (three unknowns a node: 0 0 0 3 3 3 6 6). */
enum { SCATTERED, CONSECUTIVE, NEARBY };

/* Beside the stored types: what reads all of them as doubles, a block of steps at a time; and codes into a table of at most a
 * vector of values, which stays in a register. */
enum { DOUBLES = 100, FEW_VALUES };

/* Columns of a few steps of all lanes. */
typedef struct {
  int32_t cols[BLOCK_STEPS * MACKO_SLICE_ROWS];
  int run[MACKO_SLICE_ROWS / 2];
} column_block;

typedef struct {
  macko_type stored;
  const void *stream, *start; /* of the slice at hand */
  const void *table;          /* of the matrix's own type */
  macko_type table_type;
  const uint32_t *pair_gaps;  /* of codes of pairs */
  double wide[256];           /* the table as doubles, for codes of 8 bits */
  const double *doubles;      /* values of step `from` on as doubles: the stream itself, or room */
  int64_t from, ahead;        /* ahead: bytes from there to what is to be prefetched */
  double room[BLOCK_STEPS * MACKO_SLICE_ROWS];
} slice_values;

static inline int64_t row_of(const open_slice *o, int lane)
{
  return o->ordered ? o->rows[lane] : o->first_row + lane;
}

static slice_values open_values(const macko_matrix *m)
{
  slice_values v = {.stored = m->plan.stored_type, .stream = macko_section_data(m, "values"),
                    .table = macko_section_data(m, "dict"), .table_type = m->value_type,
                    .pair_gaps = macko_section_data(m, "pair_gaps")};
  for (int64_t i = 0; m->plan.stored_type == MACKO_U8 && i < m->plan.table && i < 256; i++)
    v.wide[i] = macko_float_at(m->value_type, v.table, i);
  return v;
}

/* Adds them; without signs, because lanes without entries may hold anything. */
static void load_numbers(const void *array, int bytes, uint32_t *to)
{
#define ADD(type) for (int l = 0; l < MACKO_SLICE_ROWS; l++) to[l] += ((const type *)array)[l]
  if (bytes == 1) ADD(uint8_t);
  else if (bytes == 2) ADD(uint16_t);
  else ADD(uint32_t);
#undef ADD
}

static inline void load_slice(const slice_reader *r, int64_t slice, open_slice *o)
{
  o->s = macko_slice_at(r->headers, slice);
  o->gaps = macko_slice_gaps(&o->s, r->blocks);
  o->lanes = macko_slice_lanes(r, slice);
  o->ordered = r->order != NULL;
  o->listed = o->s.gap_bits == 0 && o->s.length_bytes == 0 && o->lanes == MACKO_SLICE_ROWS;
  o->uniform = o->listed && o->s.offset_bytes == 0;
  o->first_row = slice * MACKO_SLICE_ROWS;
  for (int l = 0; o->ordered && l < o->lanes; l++) o->rows[l] = macko_slice_row(r, o->first_row + l);
  o->shortest = o->s.steps;
  if (o->uniform) return;
  /* Without signs, because lanes without entries may lie beyond the last column. */
  for (int l = 0; l < MACKO_SLICE_ROWS; l++) o->cols[l] = (int32_t)((uint32_t)o->s.base + (uint32_t)l);
  for (int l = 0; l < MACKO_SLICE_ROWS; l++) o->lengths[l] = o->s.length_bytes || l >= o->lanes ? 0 : (int32_t)o->s.steps;
  if (o->s.offset_bytes) load_numbers(macko_slice_offsets(&o->s, r->blocks), o->s.offset_bytes, (uint32_t *)o->cols);
  if (o->s.length_bytes) load_numbers(macko_slice_lengths(&o->s, r->blocks), o->s.length_bytes, (uint32_t *)o->lengths);
  o->look = o->s.offset_bytes == 0;
  for (int l = 0; l + 8 <= MACKO_SLICE_ROWS; l += 8) o->look |= (uint32_t)o->cols[l + 7] - (uint32_t)o->cols[l] < NEAR;
  for (int l = o->lanes; l < MACKO_SLICE_ROWS; l++) o->lengths[l] = 0;
  for (int l = 0; l < MACKO_SLICE_ROWS; l++)
    if (o->lengths[l] < o->shortest) o->shortest = o->lengths[l];
}

#define KERNEL "macko/slice_simd/kernel.inc"
#include "core/widths.inc"

void macko_slice_multiply(const macko_matrix *m, const macko_product *p)
{
  const macko_section *values = macko_find_section(m, "values");
  int stencils = macko_params_of(&m->plan)->slice.stencils > 0; /* which have no values to go by */
  const macko_cut cut = {macko_slices_of(m->nrows), MACKO_U32, stencils ? NULL : macko_section_data(m, "slices"),
                         MACKO_SLICE_WORDS, values->bytes / MACKO_VALUE_UNIT};
  macko_share_product(m, p, multiply_widest, &cut);
}
