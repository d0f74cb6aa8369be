/* What lib/macko.c asks of each layout. All read the csr of format.h: checked, sorted, without duplicates. */
#ifndef MACKO_PARTS_H
#define MACKO_PARTS_H

#include "format.h"
#include "macko_layout.h"
#include "values.h"

typedef struct {
  /* Pattern only: fills layout, delta_bits and params of *plan, and bytes and time without the value stream. UNSUPPORTED or LIMIT where
   * the layout or options->delta_bits cannot hold the matrix. */
  macko_status (*plan_pattern)(const macko_csr *a, const macko_options *options, macko_plan *plan, macko_error *err);
  /* Elements of the value stream, padding included, for elements of that size. */
  int64_t (*value_slots)(const macko_csr *a, const macko_plan *plan, int64_t element_bytes);
  /* What depends on the values besides their codec; NULL where nothing does. */
  macko_status (*plan_values)(const macko_csr *a, macko_plan *plan, macko_error *err);
  macko_status (*encode_pattern)(const macko_csr *a, macko_matrix *m, macko_error *err);
  void (*write_values)(const macko_csr *a, const macko_matrix *m, macko_value_writer *w);
  /* Whether what encode_pattern took from the values is still so for *a; NULL where it took nothing. If not, the matrix is
   * encoded anew. */
  int (*pattern_holds)(const macko_csr *a, const macko_matrix *m);
  /* refresh to elements of another size: the section that says where values start, for m->plan; NULL where none does. */
  macko_status (*move_values)(const macko_matrix *m, macko_section *fresh, macko_error *err);
  macko_status (*decode)(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);
  macko_status (*validate)(const macko_matrix *m, macko_error *err);
  void (*multiply)(const macko_matrix *m, const macko_product *p);
} macko_layout_ops;

extern const macko_layout_ops macko_row_layout, macko_slice_layout, macko_paper_layout;

/* Of layout slice, by a sample of the slices: nanoseconds for the columns without what their bytes take, and slots of values. */
typedef struct {
  double columns, slots;
} macko_slice_estimate;

/* With rows in their order and sorted; 0 where the sample is empty. */
int macko_slice_sample(const macko_csr *a, const macko_options *options, macko_slice_estimate estimates[2]);

/* Data of a section that may be absent. */
static inline void *macko_section_data(const macko_matrix *m, const char *name)
{
  const macko_section *s = macko_find_section(m, name);
  return s ? s->data : NULL;
}

static inline macko_value_stream macko_stream_of(const macko_matrix *m)
{
  return (macko_value_stream){macko_section_data(m, "values"), macko_section_data(m, "dict")};
}

/* CORRUPT unless the section is there with exactly that type and count (absent and count 0 is right as well). */
macko_status macko_expect_section(const macko_matrix *m, const char *name, macko_type type, int64_t count, macko_error *err);

static inline macko_type macko_unsigned_type(int64_t bytes)
{
  return bytes == 1 ? MACKO_U8 : bytes == 2 ? MACKO_U16 : MACKO_U32;
}

/* Fewest bytes, 0, 1, 2 or 4, that hold numbers up to largest. */
static inline int macko_unsigned_bytes(uint64_t largest)
{
  return largest == 0 ? 0 : largest < 256 ? 1 : largest < 65536 ? 2 : 4;
}

#endif
