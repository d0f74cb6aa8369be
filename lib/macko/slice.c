/* Layout slice: 32 rows interleaved, one lane a row, with a gap width of its own per slice (0: one list of distances shared by
 * all rows). Meshes numbered in order repeat the same few blocks of lengths, base offsets and gaps: equal blocks are stored once.
 * Not in the paper (arXiv 2511.13061), whose rows are long; its alignment of gaps and values is kept. */
#include "core/cost.h"
#include "core/threads.h"
#include "macko/slice_describe.h"

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
    macko_set_params(&m->plan)->slice.block_words = bytes / 4;
    blocks->data = larger, blocks->bytes = bytes;
  }
  memcpy((uint32_t *)blocks->data + start, set->block, (size_t)words * 4);
  return MACKO_OK;
}

/* ---- slices in rounds: looked at in parts, then placed in their order, so that few blocks wait to be placed ---- */

enum { ROUNDS = 16, ROUND_ENTRIES = 1 << 20 }; /* at least so many rounds; at most so many entries of a part in one */

typedef struct {
  macko_slice s;
  macko_block_key key;
  const macko_block_buffer *buffer; /* where its block is, from word `block` on */
  int64_t block;
} seen_slice;

typedef struct {
  macko_block_buffer buffer;
  macko_status status;
  macko_error err;
} round_part;

typedef struct {
  const macko_csr *a;
  macko_matrix *m;
  uint32_t *headers;
  uint16_t *order;
  int kinds, parts;
  int64_t first, count; /* slices of the round */
  int64_t *entries;     /* of the round before each of them */
  seen_slice *seen;
  round_part *of_parts;
  int64_t units;        /* of values, placed so far */
} slice_round;

static void sort_windows(void *context, int part, int64_t from, int64_t to)
{
  const slice_round *r = context;
  (void)part;
  for (; from < to; from++) macko_sort_window(r->a, from * WINDOW, r->order + from * WINDOW);
}

static void look_at_part(void *context, int number, int64_t from, int64_t to)
{
  slice_round *r = context;
  round_part *part = &r->of_parts[number];
  macko_csr_slice c;
  part->buffer.used = 0;
  for (; from < to && !part->status; from++) {
    seen_slice *seen = &r->seen[from];
    int64_t slice = r->first + from, window = slice * MACKO_SLICE_ROWS / WINDOW * WINDOW;
    macko_look_at_slice(r->a, r->order ? r->order + window : NULL, r->kinds, slice, &c);
    part->status = macko_fill_buffer(r->a, &c, &part->buffer, &seen->key, &part->err);
    seen->s = c.s, seen->buffer = &part->buffer, seen->block = part->buffer.used;
    part->buffer.used += seen->key.words;
  }
}

static int64_t entries_of(const slice_round *r, int64_t slice)
{
  int64_t row = slice * MACKO_SLICE_ROWS, end = row + MACKO_SLICE_ROWS, n = 0;
  if (end > r->m->nrows) end = r->m->nrows;
  if (!r->order) return macko_csr_row(r->a, end) - macko_csr_row(r->a, row);
  for (; row < end; row++) {
    int64_t i = row / WINDOW * WINDOW + r->order[row];
    n += macko_csr_row(r->a, i + 1) - macko_csr_row(r->a, i);
  }
  return n;
}

/* In one part slices are placed one by one. */
static int64_t most_slices(const slice_round *r)
{
  return r->parts > 1 ? macko_slices_of(r->m->nrows) / ROUNDS + 1 : 1;
}

/* Slices of the next round, at least one; the number of their entries. */
static int64_t gather_round(slice_round *r, int64_t first)
{
  int64_t slices = macko_slices_of(r->m->nrows), total = 0, most = (int64_t)r->parts * ROUND_ENTRIES;
  if (most > r->m->nnz / ROUNDS) most = r->m->nnz / ROUNDS;
  r->first = first, r->count = 0;
  while (first + r->count < slices && r->count < most_slices(r)) {
    int64_t more = r->parts > 1 ? entries_of(r, first + r->count) : 0;
    if (r->count && total + more > most) break;
    r->entries[r->count++] = total;
    total += more;
  }
  return total;
}

static macko_status place_slice(slice_round *r, macko_block_set *set, int64_t i, macko_error *err)
{
  seen_slice *seen = &r->seen[i];
  const macko_block_key *key = &seen->key;
  macko_status s = MACKO_OK;
  int is_new;
  set->block = key->words ? seen->buffer->words + seen->block : NULL;
  seen->s.block = macko_place_block(set, key->hash, key->words, (int)key->align, macko_section_data(r->m, "blocks"), &is_new);
  if (is_new) s = append_block(r->m, set, key->words, seen->s.block, err);
  seen->s.values = (uint32_t)r->units;
  macko_put_slice(&seen->s, r->headers + (r->first + i) * MACKO_SLICE_WORDS);
  r->units += macko_slice_value_units(&seen->s, (int)macko_type_bytes(r->m->plan.stored_type));
  return s;
}

static macko_status encode_rounds(slice_round *r, macko_block_set *set, macko_error *err)
{
  const macko_cut windows = macko_cut_rows(r->a, WINDOW);
  if (r->order) macko_do_parts(&windows, r->parts, sort_windows, r);
  for (int64_t first = 0; first < macko_slices_of(r->m->nrows); first += r->count) {
    int64_t entries = gather_round(r, first);
    const macko_cut cut = {r->count, MACKO_I64, r->entries, 1, entries};
    macko_do_parts(&cut, r->parts, look_at_part, r);
    for (int i = 0; i < r->parts; i++)
      if (r->of_parts[i].status) return macko_fail(err, r->of_parts[i].status, "%s", r->of_parts[i].err.text);
    for (int64_t i = 0; i < r->count; i++) {
      macko_status s = place_slice(r, set, i, err);
      if (s) return s;
    }
  }
  return MACKO_OK;
}

static macko_status encode_slices(const macko_csr *a, macko_matrix *m, macko_block_set *set, macko_error *err)
{
  slice_round r = {.a = a, .m = m, .headers = macko_section_data(m, "slices"), .order = macko_section_data(m, "order"),
                   .parts = macko_parts(m->nnz)};
  macko_status s = MACKO_OK;
  r.entries = calloc((size_t)most_slices(&r), sizeof *r.entries);
  r.seen = calloc((size_t)most_slices(&r), sizeof *r.seen);
  r.of_parts = calloc((size_t)r.parts, sizeof *r.of_parts);
  if (macko_params_of(&m->plan)->slice.stencils > 0) r.kinds |= MACKO_STENCILS;
  if (m->plan.values == MACKO_VALUES_PAIRS) r.kinds |= MACKO_PAIRS;
  if (!r.entries || !r.seen || !r.of_parts)
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look at %lld slices", (long long)macko_slices_of(m->nrows));
  const macko_hash_key key = macko_new_hash_key();
  for (int i = 0; !s && i < r.parts; i++) r.of_parts[i].buffer.key = key;
  if (!s) s = encode_rounds(&r, set, err);
  for (int i = 0; r.of_parts && i < r.parts; i++) free(r.of_parts[i].buffer.words);
  free(r.entries), free(r.seen), free(r.of_parts);
  return s;
}

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

static macko_status encode_pattern(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_block_set set;
  macko_status s = macko_add_sections(m, 1, err);
  if (!s) s = macko_open_blocks(macko_slices_of(m->nrows), &set, err);
  if (s) return s;
  s = encode_slices(a, m, &set, err);
  macko_close_blocks(&set);
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
  macko_status s = macko_new_section(*old, fresh, err);
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
  .sections = sections,
  .encode_pattern = encode_pattern,
  .write_values = write_values,
  .rows_of_item = MACKO_SLICE_ROWS,
  .pattern_holds = macko_stencils_hold,
  .move_values = move_values,
  .decode = macko_slice_decode,
  .validate = macko_slice_validate,
  .multiply = macko_slice_multiply};
