/* Between the files of layout slice: how its slices are read. */
#ifndef MACKO_SLICE_H
#define MACKO_SLICE_H

#include "macko/layouts.h"

typedef struct {
  const uint32_t *headers, *blocks;
  const uint16_t *order; /* row of each position, from the start of its window; NULL: rows in their own order */
  int64_t nrows, window;
  int element_bytes;
  const uint8_t *codes;      /* under codec pairs, with the gaps they stand for */
  const uint32_t *pair_gaps;
} slice_reader;

static inline slice_reader macko_open_slices(const macko_matrix *m)
{
  return (slice_reader){macko_section_data(m, "slices"), macko_section_data(m, "blocks"), macko_section_data(m, "order"),
                        m->nrows, macko_params_of(&m->plan)->slice.window, (int)macko_type_bytes(m->plan.stored_type),
                        macko_section_data(m, "values"), macko_section_data(m, "pair_gaps")};
}

/* Row that lane l of a slice holds; slice * 32 + l < nrows. */
static inline int64_t macko_slice_row(const slice_reader *r, int64_t position)
{
  return r->order ? position / r->window * r->window + r->order[position] : position;
}

static inline int macko_slice_lanes(const slice_reader *r, int64_t slice)
{
  int64_t rest = r->nrows - slice * MACKO_SLICE_ROWS;
  return rest < MACKO_SLICE_ROWS ? (int)rest : MACKO_SLICE_ROWS;
}

/* A row of a stencil back: its length, and its columns and values (of the matrix's type, from element p on) where not NULL. */
int64_t macko_stencil_lane(const slice_reader *r, const macko_slice *s, int lane, macko_type type, int64_t *cols, void *values,
                           int64_t p);

/* The lengths of all its rows. */
void macko_stencil_lengths(const slice_reader *r, const macko_slice *s, uint8_t lengths[MACKO_SLICE_ROWS]);

static inline int64_t macko_lane_length(const slice_reader *r, const macko_slice *s, int lane)
{
  if (s->stencil) return macko_stencil_lane(r, s, lane, MACKO_F64, NULL, NULL, 0);
  return s->length_bytes ? macko_unsigned_at(macko_slice_lengths(s, r->blocks), s->length_bytes, lane) : s->steps;
}

static inline int64_t macko_lane_base(const slice_reader *r, const macko_slice *s, int lane)
{
  return (int64_t)s->base + lane + macko_unsigned_at(macko_slice_offsets(s, r->blocks), s->offset_bytes, lane);
}

/* Column of step k, k >= 1, of a lane, given its base column and the column of the step before. */
static inline int64_t macko_lane_column(const slice_reader *r, const macko_slice *s, const uint32_t *gaps, int64_t base,
                                        int64_t before, int64_t k, int lane)
{
  if (s->gap_bits == MACKO_GAP_PAIRS) return before + r->pair_gaps[r->codes[macko_slice_slot(s->values, 1, k, lane)]];
  return s->gap_bits ? before + macko_slice_gap(gaps, s->gap_bits, k - 1, lane) : base + (int64_t)gaps[k - 1];
}

/* Makes *s and steps the stencil of the rows row .. row + lanes - 1, of those lengths, if they are one; s->steps is the longest. */
int macko_find_stencil(const macko_csr *a, int64_t row, int lanes, const int64_t *length, macko_stencil_step *steps, macko_slice *s);

/* Whether the stencils of m have the values of *a, which has the pattern of m. */
int macko_stencils_hold(const macko_csr *a, const macko_matrix *m);

macko_status macko_validate_stencil(const macko_matrix *m, const slice_reader *r, int64_t slice, macko_error *err);

macko_status macko_slice_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_slice_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
void macko_slice_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values);
macko_status macko_slice_validate(const macko_matrix *m, macko_error *err);
void macko_slice_multiply(const macko_matrix *m, const macko_product *p);

#endif
