/* Between the files of layout slice: how its slices are read. */
#ifndef MACKO_SLICE_H
#define MACKO_SLICE_H

#include "macko/layouts.h"

/* This is a matrix of layout slice as it is read: the data of its sections and the numbers of its plan, looked up once.
 * Everything points into the matrix, so that there is nothing to free. */
typedef struct {
  const uint32_t *headers, *blocks;
  const uint16_t *order; /* row of each position, from the start of its window; NULL: rows in their own order */
  int64_t nrows;
  int element_bytes;         /* bytes of an element of the value stream */
  const uint8_t *codes;      /* section "values", whose elements are codes under codec pairs; below, the gaps they stand for */
  const uint32_t *pair_gaps;
} slice_reader;

/* Gives the reader of a matrix of layout slice. While it is encoded its values need not be there yet. */
static inline slice_reader macko_open_slices(const macko_matrix *m)
{
  return (slice_reader){macko_section_data(m, "slices"), macko_section_data(m, "blocks"), macko_section_data(m, "order"),
                        m->nrows, (int)macko_type_bytes(m->plan.stored_type),
                        macko_section_data(m, "values"), macko_section_data(m, "pair_gaps")};
}

/* Gives the row that stands at a position, below nrows; lane l of a slice is position 32 slice + l. */
static inline int64_t macko_slice_row(const slice_reader *r, int64_t position)
{
  return r->order ? position / MACKO_SLICE_WINDOW * MACKO_SLICE_WINDOW + r->order[position] : position;
}

/* Gives how many lanes of a slice hold a row: 32, but for the last slice. */
static inline int macko_slice_lanes(const slice_reader *r, int64_t slice)
{
  int64_t rest = r->nrows - slice * MACKO_SLICE_ROWS;
  return rest < MACKO_SLICE_ROWS ? (int)rest : MACKO_SLICE_ROWS;
}

/* Reads a row of a stencil back and gives its length. Where they are not NULL, cols gets its columns, from cols[0] on, and values
 * its values, of the matrix's type, from element p on. */
int64_t macko_stencil_lane(const slice_reader *r, const macko_slice *s, int lane, macko_type type, int64_t *cols, void *values,
                           int64_t p);

/* Sets the lengths of all rows of a stencil, which is quicker than to go through its steps once a lane. A byte is enough, as
 * there are at most MACKO_STENCIL_MAX_STEPS steps. */
void macko_stencil_lengths(const slice_reader *r, const macko_slice *s, uint8_t lengths[MACKO_SLICE_ROWS]);

/* Gives the entries of a lane of a masked slice. */
int64_t macko_masked_length(const slice_reader *r, const macko_slice *s, int lane);

/* Gives the entries of a lane's row, of a slice of any kind. */
static inline int64_t macko_lane_length(const slice_reader *r, const macko_slice *s, int lane)
{
  if (s->stencil) return macko_stencil_lane(r, s, lane, MACKO_F64, NULL, NULL, 0);
  if (s->gap_bits == MACKO_GAP_MASKED) return macko_masked_length(r, s, lane);
  return s->length_bytes ? macko_unsigned_at(macko_slice_lengths(s, r->blocks), s->length_bytes, lane) : s->steps;
}

/* Gives the first column of a lane of a slice that is neither a stencil nor masked; means nothing for a lane without entries. */
static inline int64_t macko_lane_base(const slice_reader *r, const macko_slice *s, int lane)
{
  return (int64_t)s->base + lane + macko_unsigned_at(macko_slice_offsets(s, r->blocks), s->offset_bytes, lane);
}

/* Gives the column of step k, k >= 1, of a lane, given its base column and the column of the step before. gaps is
 * macko_slice_gaps. It serves what need not be fast: decoding and checks. */
static inline int64_t macko_lane_column(const slice_reader *r, const macko_slice *s, const uint32_t *gaps, int64_t base,
                                        int64_t before, int64_t k, int lane)
{
  if (s->gap_bits == MACKO_GAP_PAIRS) return before + r->pair_gaps[r->codes[macko_slice_slot(s->values, 1, k, lane)]];
  return s->gap_bits ? before + macko_slice_gap(gaps, s->gap_bits, k - 1, lane) : base + (int64_t)gaps[k - 1];
}

/* Gives 1 if rows row .. row + lanes - 1, which have those lengths, are a stencil, and sets *s and the steps, of which there is
 * room for MACKO_STENCIL_MAX_STEPS. s->steps has to be the length of the longest of them. If they are none *s stays as it is. */
int macko_find_stencil(const macko_csr *a, int64_t row, int lanes, const int64_t *length, macko_stencil_step *steps,
                       macko_slice *s);

/* This is pattern_holds of the layout (layouts.h): whether the stencils of m have the values of *a, which has the pattern of
 * m. */
int macko_stencils_hold(const macko_csr *a, const macko_matrix *m);

/* Checks a stencil of a matrix from outside. CORRUPT unless its widths are 0, its distances rise, and its lanes and columns are
 * those of the matrix. */
macko_status macko_validate_stencil(const macko_matrix *m, const slice_reader *r, int64_t slice, macko_error *err);

/* These are the functions of the layout that other files have, as layouts.h says. */
macko_status macko_slice_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_slice_decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
void macko_slice_decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols,
                             void *values);
macko_status macko_slice_validate(const macko_matrix *m, macko_error *err);
void macko_slice_multiply(const macko_matrix *m, const macko_product *p);

#endif
