/* Layout slice: 32 rows interleaved, one lane a row, with a gap width of its own per slice (0: one list of distances shared by
 * all rows). Meshes numbered in order repeat the same few blocks of lengths, base offsets and gaps: equal blocks are stored once.
 * Not in the paper (arXiv 2511.13061), whose rows are long; its alignment of gaps and values is kept. */
#include "cost.h"
#include "macko_csr_slice.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_SLICE_WINDOW };

/* The blocks as planned; a longer array in the one case that planning took two blocks for equal that were not. */
static macko_status append_block(macko_matrix *m, macko_block_set *set, int64_t words, uint32_t start, macko_error *err)
{
  macko_section *blocks = (macko_section *)macko_find_section(m, "blocks");
  int64_t bytes = (int64_t)(start + words) * 4;
  if (bytes > blocks->bytes) {
    void *larger = realloc(blocks->data, (size_t)bytes);
    if (!larger) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld bytes of section blocks", (long long)bytes);
    m->plan.bytes += bytes - blocks->bytes;
    m->plan.params[MACKO_PARAM_BLOCK_WORDS] = bytes / 4;
    blocks->data = larger, blocks->bytes = bytes;
  }
  memcpy((uint32_t *)blocks->data + start, set->buffer, (size_t)words * 4);
  return MACKO_OK;
}

static macko_status encode_slices(const macko_csr *a, macko_matrix *m, macko_block_set *set, macko_error *err)
{
  uint32_t *headers = macko_section_data(m, "slices");
  uint16_t *order = macko_section_data(m, "order");
  int64_t words, units = 0, slices = macko_slices_of(m->nrows);
  int kinds = m->plan.params[MACKO_PARAM_STENCILS] > 0 ? MACKO_STENCILS : 0;
  macko_csr_slice c;
  if (m->plan.values == MACKO_VALUES_JOINT) kinds |= MACKO_PAIRS;
  for (int64_t i = 0; i < slices; i++) {
    int64_t window = i * MACKO_SLICE_ROWS / WINDOW * WINDOW;
    int is_new;
    if (order && i * MACKO_SLICE_ROWS == window) macko_sort_window(a, window, order + window);
    macko_look_at_slice(a, order ? order + window : NULL, kinds, i, &c);
    macko_status s = macko_fill_buffer(a, &c, set, &words, err);
    if (s) return s;
    c.s.block = macko_place_block(set, macko_hash_words(set->buffer, words), words, macko_block_align(&c.s),
                                  macko_section_data(m, "blocks"), &is_new);
    if (is_new) s = append_block(m, set, words, c.s.block, err);
    if (s) return s;
    c.s.values = (uint32_t)units;
    macko_put_slice(&c.s, headers + i * MACKO_SLICE_WORDS);
    units += macko_slice_value_units(&c.s, (int)macko_type_bytes(m->plan.stored_type));
  }
  return MACKO_OK;
}

static macko_status encode_pattern(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_block_set set;
  macko_status s = macko_add_pattern(m, err);
  if (!s) s = macko_open_blocks(macko_slices_of(m->nrows), &set, err);
  if (s) return s;
  s = encode_slices(a, m, &set, err);
  macko_close_blocks(&set);
  return s;
}

static void write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w)
{
  slice_reader r = macko_open_slices(m);
  int size = r.element_bytes, per = size < 4 ? 4 / size : 1;
  uint32_t units = 0;
  for (int64_t i = 0; i < macko_slices_of(m->nrows); i++) {
    macko_slice s = macko_slice_at(r.headers, i);
    for (int l = 0; l < macko_slice_lanes(&r, i) && !s.stencil; l++) {
      int64_t row = macko_slice_row(&r, i * MACKO_SLICE_ROWS + l), p = macko_csr_row(a, row), length = macko_csr_row(a,
                                                                                                                     row + 1) - p;
      if (per == 1) macko_write_values(w, p, length, macko_slice_slot(units, size, 0, l), MACKO_SLICE_ROWS);
      else
        for (int64_t k = 0; k < length; k += per)
          macko_write_values(w, p + k, length - k < per ? length - k : per, macko_slice_slot(units, size, k, l), 1);
    }
    units += (uint32_t)macko_slice_value_units(&s, size);
  }
}

/* Where the values of a slice start depends on the size of their elements. */
static macko_status move_values(const macko_matrix *m, macko_section *fresh, macko_error *err)
{
  const macko_section *old = macko_find_section(m, "slices");
  uint32_t units = 0;
  macko_status s = macko_new_section("slices", MACKO_U32, old->bytes / 4, fresh, err);
  if (s) return s;
  uint32_t *headers = memcpy(fresh->data, old->data, (size_t)old->bytes);
  for (int64_t i = 0; i < macko_slices_of(m->nrows); i++) {
    macko_slice slice = macko_slice_at(headers, i);
    headers[i * MACKO_SLICE_WORDS] = units;
    units += (uint32_t)macko_slice_value_units(&slice, (int)macko_type_bytes(m->plan.stored_type));
  }
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
  .encode_pattern = encode_pattern,
  .write_values = write_values,
  .pattern_holds = macko_stencils_hold,
  .move_values = move_values,
  .decode = macko_slice_decode,
  .validate = macko_slice_validate,
  .multiply = macko_slice_multiply};
