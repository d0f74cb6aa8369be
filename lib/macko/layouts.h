/* What lib/macko/macko_format.c asks of each layout. All layouts read the csr of format.h, which is checked, sorted and without
 * duplicates. Layouts slice and row are planned by facts alone, as the arrays may be out of the host's reach. */
#ifndef MACKO_LAYOUTS_H
#define MACKO_LAYOUTS_H

#include "core/cost.h"
#include "macko/layout_bits.h"
#include "macko/macko_facts.h"
#include "macko/params.h"
#include "values/codecs.h"

/* These are the functions of a layout. Where one reads "items", these are the rows of layouts row and paper and the slices of
 * layout slice. */
typedef struct {
  /* Fills layout, gap_bits and params of *plan, and bytes and time of everything but the value stream, from the pattern alone:
   * the codec is chosen behind it. UNSUPPORTED or LIMIT where the layout or options->gap_bits cannot hold the matrix. */
  macko_status (*plan_pattern)(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
  /* Gives the elements of the value stream, padding included, for elements of that many bytes. */
  int64_t (*value_slots)(int64_t nnz, const macko_plan *plan, int64_t element_bytes);
  /* Lists the sections as in format.h, those of the pattern only, and gives their number. */
  int (*sections)(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS]);
  /* Adds to *plan what depends on the values besides their codec. It is NULL where nothing does. */
  macko_status (*plan_values)(macko_rows *rows, macko_plan *plan, macko_error *err);
  /* Adds the sections of the pattern to m and fills them by m->plan. On failure the caller frees what m has. INVALID_MATRIX where
   * rows that come in pieces are not those that were planned. */
  macko_status (*encode_pattern)(macko_findings *found, macko_matrix *m, macko_error *err);
  /* Writes the values of items from .. to - 1, once the pattern is encoded; rows_of_item is how many rows of the csr an item has.
   * w->changed is set where rows in pieces are not those of the pattern. */
  void (*write_values)(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to);
  int rows_of_item;
  /* Tells whether what encode_pattern took from the values is still so for *a. It is NULL where it took nothing. Where it is not
   * so, refresh encodes the matrix anew. */
  int (*pattern_holds)(const macko_csr *a, const macko_matrix *m);
  /* Sets *fewer, for free(), to what macko_known_values has under that name, NULL where looking at all values is as good; the
   * pattern holds. It is NULL where that is always so. Errors: OUT_OF_MEMORY. */
  macko_status (*fewer_values)(const macko_csr *a, const macko_matrix *m, macko_fewer_values **fewer, macko_error *err);
  /* Serves refresh to elements of another size: makes *fresh, which the caller owns, the section that says where values start, as
   * m->plan has them. It is NULL where no section says so. */
  macko_status (*move_values)(const macko_matrix *m, macko_section *fresh, macko_error *err);
  /* These four are as in format.h, for a matrix of this layout; for op T y has been scaled by beta before multiply is called. */
  macko_status (*decode)(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
  void (*decode_rows)(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values);
  macko_status (*validate)(const macko_matrix *m, macko_error *err);
  void (*multiply)(const macko_matrix *m, const macko_product *p);
} macko_layout_ops;

extern const macko_layout_ops macko_row_layout, macko_slice_layout, macko_paper_layout;

/* Gives the functions of a layout of a plan, which is one of the three. */
static inline const macko_layout_ops *macko_layout_of(macko_layout layout)
{
  if (layout == MACKO_LAYOUT_ROW) return &macko_row_layout;
  return layout == MACKO_LAYOUT_SLICE ? &macko_slice_layout : &macko_paper_layout;
}

/* This is what format macko can be asked for: one form for each layout, in the order in which they are planned. Slice comes
 * first, because its plan is what tells whether layout row need be looked at. */
enum { MACKO_MACKO_FORMS = 3 };
extern const macko_form macko_macko_forms[MACKO_MACKO_FORMS];

/* These are plan, promise and plan_values of format macko (format.h). */
macko_status macko_macko_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_macko_promise(const macko_facts *f, const macko_options *options, double *time, macko_error *err);
macko_status macko_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);

/* ---- value codec pairs, which only layout slice has: its codes stand for pairs of a gap and a value ---- */

/* Makes *plan of *pattern, a plan without the value stream: columns as codec pairs has them, and the number of pairs as the
 * plan's table. Errors: those of the facts; UNSUPPORTED for more than 256 pairs. */
macko_status macko_slice_plan_pairs(const macko_facts *f, const macko_options *options, const macko_plan *pattern,
                                    macko_plan *plan, macko_error *err);

/* Adds to *plan, an estimate of a product, what padding takes by the sample *e, and what rows take that are sorted by length. */
void macko_slice_add_order(const macko_facts *f, const macko_cost *cost, const macko_slice_estimate *e, int sorted,
                           macko_plan *plan);

/* Gives *pattern as no plan of pairs can be better, as yet without the value stream: the look at all slices is spared where even
 * that would not be good enough. */
macko_plan macko_slice_hope_pairs(const macko_options *options, const macko_plan *pattern);

/* These are the sections that hold the values, made apart from a matrix so that nothing of it changes before all has gone well.
 * Where data is NULL there is none of that name. */
typedef struct {
  macko_section values, dict, pair_gaps;
} macko_value_sections;

/* Gives those sections as m->plan asks for them, without data. Where bytes is 0 there is none of that name. */
macko_value_sections macko_values_of(const macko_matrix *m);

/* Changes *plan, that of m, for so many pairs of a gap and a value more (fewer, if negative). libmacko_cuda asks for it, too. */
void macko_add_pairs(const macko_matrix *m, int64_t more, macko_plan *plan);

/* Makes the sections *v of m, whose codec is pairs, for the values of the rows; the caller owns them. With `again` gaps are taken
 * as m has them in its codes, else from the columns of the rows. Errors: UNSUPPORTED for more than 256 pairs, OUT_OF_MEMORY,
 * those of macko_get_rows. */
macko_status macko_new_pairs(macko_rows *rows, const macko_matrix *m, int again, macko_value_sections *v, macko_error *err);

/* Gives the unsigned type of 1, 2 or 4 bytes. */
static inline macko_type macko_unsigned_type(int64_t bytes)
{
  return bytes == 1 ? MACKO_U8 : bytes == 2 ? MACKO_U16 : MACKO_U32;
}

/* Gives how many slices so many rows take. */
static inline int64_t macko_slices_of(int64_t nrows)
{
  return (nrows + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
}

/* Gives how many groups of rows with a common reference so many rows make. */
static inline int64_t macko_base_blocks(int64_t nrows)
{
  return (nrows + MACKO_BASE_ROWS - 1) / MACKO_BASE_ROWS;
}

/* Gives the bytes of section "gaps" for so many codes of b bits. */
static inline int64_t macko_gap_bytes(int64_t nnz, int b)
{
  return (nnz * b + 7) / 8;
}

/* Gives the elements of the value stream of layout slice, padding included, for elements of 1, 2, 4 or 8 bytes. */
static inline int64_t macko_slice_value_slots(const macko_plan *plan, int64_t element_bytes)
{
  int e = element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : element_bytes == 4 ? 2 : 3;
  return macko_params_of(plan)->slice.value_units[e] * (MACKO_VALUE_UNIT / element_bytes);
}

#endif
