/* What lib/macko/macko_format.c asks of each layout. All read the csr of format.h: checked, sorted, without duplicates. Layouts slice and row
 * are planned by facts alone. */
#ifndef MACKO_LAYOUTS_H
#define MACKO_LAYOUTS_H

#include "macko/layout_bits.h"
#include "macko/macko_facts.h"
#include "macko/params.h"
#include "values/codecs.h"

typedef struct {
  /* Pattern only: fills layout, gap_bits and params of *plan, and bytes and time without the value stream. UNSUPPORTED or LIMIT
   * where the layout or options->gap_bits cannot hold the matrix. */
  macko_status (*plan_pattern)(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
  /* Elements of the value stream, padding included, for elements of that size. */
  int64_t (*value_slots)(int64_t nnz, const macko_plan *plan, int64_t element_bytes);
  /* As in format.h, those of the pattern only. */
  int (*sections)(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS]);
  /* What depends on the values besides their codec; NULL where nothing does. */
  macko_status (*plan_values)(macko_rows *rows, macko_plan *plan, macko_error *err);
  macko_status (*encode_pattern)(macko_findings *found, macko_matrix *m, macko_error *err);
  /* Values of slices or rows from .. to - 1, once the pattern is encoded; rows_of_item is how many rows of the csr such an item
   * has. w->changed is set where rows in pieces are not those of the pattern. */
  void (*write_values)(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to);
  int rows_of_item;
  /* Whether what encode_pattern took from the values is still so for *a; NULL where it took nothing. If not, the matrix is
   * encoded anew. */
  int (*pattern_holds)(const macko_csr *a, const macko_matrix *m);
  /* refresh to elements of another size: the section that says where values start, for m->plan; NULL where none does. */
  macko_status (*move_values)(const macko_matrix *m, macko_section *fresh, macko_error *err);
  macko_status (*decode)(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
  void (*decode_rows)(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values);
  macko_status (*validate)(const macko_matrix *m, macko_error *err);
  void (*multiply)(const macko_matrix *m, const macko_product *p);
} macko_layout_ops;

extern const macko_layout_ops macko_row_layout, macko_slice_layout, macko_paper_layout;

static inline const macko_layout_ops *macko_layout_of(macko_layout layout)
{
  if (layout == MACKO_LAYOUT_ROW) return &macko_row_layout;
  return layout == MACKO_LAYOUT_SLICE ? &macko_slice_layout : &macko_paper_layout;
}

/* What format macko can be asked for: one form a layout, in the order in which they are planned. */
enum { MACKO_MACKO_FORMS = 3 };
extern const macko_form macko_macko_forms[MACKO_MACKO_FORMS];

/* plan and plan_values of format macko. */
macko_status macko_macko_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err);
macko_status macko_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err);

/* ---- value codec pairs, which only layout slice has: its codes stand for pairs of a gap and a value ---- */

/* *plan is *pattern, a plan without the value stream, with columns as pairs has them and the number of pairs as its table.
 * Errors: those of the facts; UNSUPPORTED for more than 256 pairs. */
macko_status macko_slice_plan_pairs(const macko_facts *f, const macko_options *options, const macko_plan *pattern,
                                    macko_plan *plan, macko_error *err);

/* *pattern as no plan of pairs can be better, as yet without the value stream. */
macko_plan macko_slice_hope_pairs(const macko_options *options, const macko_plan *pattern);

/* The sections that hold the values, not yet part of a matrix; data NULL: none of that name. */
typedef struct {
  macko_section values, dict, pair_gaps;
} macko_value_sections;

/* As m->plan asks for them, without data; bytes 0: none of that name. */
macko_value_sections macko_values_of(const macko_matrix *m);

/* *plan, that of m, for so many pairs of a gap and a value more. libmacko_cuda asks for it, too. */
void macko_add_pairs(const macko_matrix *m, int64_t more, macko_plan *plan);

/* Those of m, whose codec is pairs, for the values of the rows. again: gaps as m has them, else those of the rows. Errors: UNSUPPORTED
 * for more than 256 pairs, OUT_OF_MEMORY, those of macko_get_rows. */
macko_status macko_new_pairs(macko_rows *rows, const macko_matrix *m, int again, macko_value_sections *v, macko_error *err);

static inline macko_type macko_unsigned_type(int64_t bytes)
{
  return bytes == 1 ? MACKO_U8 : bytes == 2 ? MACKO_U16 : MACKO_U32;
}

static inline int64_t macko_slices_of(int64_t nrows)
{
  return (nrows + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
}

static inline int64_t macko_base_blocks(int64_t nrows)
{
  return (nrows + MACKO_BASE_ROWS - 1) / MACKO_BASE_ROWS;
}

static inline int64_t macko_gap_bytes(int64_t nnz, int b)
{
  return (nnz * b + 7) / 8;
}

/* Elements of the value stream of layout slice, padding included. */
static inline int64_t macko_slice_value_slots(const macko_plan *plan, int64_t element_bytes)
{
  int e = element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : element_bytes == 4 ? 2 : 3;
  return macko_params_of(plan)->slice.value_units[e] * (MACKO_VALUE_UNIT / element_bytes);
}

#endif
