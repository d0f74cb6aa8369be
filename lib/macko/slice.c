/* Layout slice: 32 rows interleaved, one lane a row, with a gap width of its own per slice (0: one list of distances shared by
 * all rows). Meshes numbered in order repeat the same few blocks of lengths, base offsets and gaps: equal blocks are stored once.
 * Not in the paper (arXiv 2511.13061), whose rows are long; its alignment of gaps and values is kept. */
#include "macko/slice_look.h"

#include <stdlib.h>
#include <string.h>

/* Stencils are values among what else is the pattern. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_params *params = macko_params_of(&m->plan);
  list[0] = macko_pattern_section("slices", MACKO_U32, macko_slices_of(m->nrows) * MACKO_SLICE_WORDS);
  list[1] = macko_pattern_section("blocks", MACKO_U32, params->slice.block_words);
  list[0].values = list[1].values = params->slice.stencils > 0;
  if (params->slice.window) list[2] = macko_pattern_section("order", MACKO_U16, m->nrows);
  return params->slice.window ? 3 : 2;
}

/* Where the values of a slice start depends on the size of their elements. */
static void put_starts(uint32_t *headers, int64_t slices, int element_bytes)
{
  uint32_t units = 0;
  for (int64_t i = 0; i < slices; i++) {
    macko_slice slice = macko_slice_at(headers, i);
    headers[i * MACKO_SLICE_WORDS] = units;
    units += (uint32_t)macko_slice_value_units(&slice, element_bytes);
  }
}

/* The sections of *m are the arrays of the look, which has nothing then. */
static void put_look(macko_matrix *m, macko_slice_look *look)
{
  macko_section list[MACKO_MAX_SECTIONS];
  macko_params *params = macko_set_params(&m->plan);
  m->plan.bytes += 4 * (look->facts.block_words - params->slice.block_words); /* more if planning mistook blocks for equal */
  params->slice.block_words = look->facts.block_words;
  int n = sections(m, list);
  void *all[] = {look->headers, look->blocks, look->order};
  for (int i = 0; i < n; i++) {
    list[i].data = all[i];
    macko_put_section(m, &list[i]);
  }
  look->headers = look->blocks = NULL, look->order = NULL;
}

static macko_status encode_pattern(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const macko_params *params = macko_params_of(&m->plan);
  macko_slice_look *look = macko_look_for(found->own[MACKO_FORMAT_MACKO], &m->plan), fresh = {.sorted = params->slice.window > 0};
  macko_status s = MACKO_OK;
  if (params->slice.stencils > 0) fresh.kinds |= MACKO_STENCILS;
  if (m->plan.values == MACKO_VALUES_PAIRS) fresh.kinds |= MACKO_PAIRS;
  if (!look) s = macko_take_look(found->csr, params->slice.block_words, 1, look = &fresh, err);
  if (!s) macko_trim_look(look), put_look(m, look);
  macko_drop_look(&fresh);
  if (!s) put_starts(macko_section_data(m, "slices"), macko_slices_of(m->nrows), (int)macko_type_bytes(m->plan.stored_type));
  return s;
}

static void write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to)
{
  slice_reader r = macko_open_slices(m);
  int size = r.element_bytes, per = size < 4 ? 4 / size : 1;
  uint32_t units = macko_units_before(&r, from);
  for (int64_t i = from; i < to; i++) {
    macko_slice s = macko_slice_at(r.headers, i);
    for (int l = 0; l < macko_slice_lanes(&r, i) && !s.stencil; l++) {
      int64_t row = macko_slice_row(&r, i * MACKO_SLICE_ROWS + l), p = macko_csr_row(a, row), length = macko_csr_row(a,
                                                                                                                     row + 1) - p;
      if (per == 1) macko_write_values(w, p, length, macko_slice_slot(units, size, 0, l), MACKO_SLICE_ROWS);
      else macko_write_groups(w, per, p, length, macko_slice_slot(units, size, 0, l), MACKO_SLICE_ROWS);
    }
    units += (uint32_t)macko_slice_value_units(&s, size);
  }
}

/* Headers for elements of another size. */
static macko_status move_values(const macko_matrix *m, macko_section *fresh, macko_error *err)
{
  const macko_section *old = macko_find_section(m, "slices");
  macko_status s = macko_new_section(*old, fresh, err);
  if (s) return s;
  memcpy(fresh->data, old->data, (size_t)old->bytes);
  put_starts(fresh->data, macko_slices_of(m->nrows), (int)macko_type_bytes(m->plan.stored_type));
  return MACKO_OK;
}

static int64_t value_slots(int64_t nnz, const macko_plan *plan, int64_t element_bytes)
{
  (void)nnz;
  return macko_slice_value_slots(plan, element_bytes);
}

const macko_layout_ops macko_slice_layout = {
  .plan_pattern = macko_slice_plan,
  .value_slots = value_slots,
  .sections = sections,
  .encode_pattern = encode_pattern,
  .write_values = write_values,
  .rows_of_item = MACKO_SLICE_ROWS,
  .pattern_holds = macko_stencils_hold,
  .move_values = move_values,
  .decode = macko_slice_decode,
  .validate = macko_slice_validate,
  .multiply = macko_slice_multiply};
