/* Layout slice: 32 rows interleaved, one lane a row, with a gap width of its own per slice (0: one list of distances shared by
 * all rows). Meshes numbered in order repeat the same few blocks of lengths, base offsets and gaps: equal blocks are stored once.
 * Not in the paper (arXiv 2511.13061), whose rows are long; its alignment of gaps and values is kept. */
#include "core/convert.h"
#include "core/cost.h"
#include "core/threads.h"
#include "macko/slice_look.h"
#include "macko/slice_turn.h"
#include "macko/slice_values.h"

#include <stdlib.h>
#include <string.h>

/* Lists the sections of the pattern. Where some slices are stencils, headers and blocks tell of values, too, so that refresh may
 * have to write them anew. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_params *params = macko_params_of(&m->plan);
  list[0] = macko_pattern_section("slices", MACKO_U32, macko_slices_of(m->nrows) * MACKO_SLICE_WORDS);
  list[1] = macko_pattern_section("blocks", MACKO_U32, params->slice.block_words);
  list[0].values = list[1].values = params->slice.stencils > 0;
  if (params->slice.window) list[2] = macko_pattern_section("order", MACKO_U16, m->nrows);
  return params->slice.window ? 3 : 2;
}

/* Writes into headers where the values of each slice start, which depends on the size of an element: slices follow each other,
 * and a stencil takes nothing. */
static void put_starts(uint32_t *headers, int64_t slices, int element_bytes)
{
  uint32_t units = 0;
  for (int64_t i = 0; i < slices; i++) {
    macko_slice slice = macko_slice_at(headers, i);
    headers[i * MACKO_SLICE_WORDS] = units;
    units += (uint32_t)macko_slice_value_units(&slice, element_bytes);
  }
}

/* Makes the arrays of the look sections of *m, which owns them then. The look counts exactly; where planning took blocks of equal
 * hashes for equal, there may be more words than it said. */
static void put_look(macko_matrix *m, macko_slice_look *look)
{
  macko_section list[MACKO_MAX_SECTIONS];
  macko_params *params = macko_set_params(&m->plan);
  /* There are more words than planned if planning took blocks of equal hashes for equal that are not. */
  m->plan.bytes += 4 * (look->facts.block_words - params->slice.block_words);
  params->slice.block_words = look->facts.block_words;
  int n = sections(m, list);
  void *all[] = {look->headers, look->blocks, look->order};
  for (int i = 0; i < n; i++) {
    list[i].data = all[i];
    macko_put_section(m, &list[i]);
  }
  look->headers = look->blocks = NULL, look->order = NULL;
}

/* Tells whether the slices are those that were planned: rows that come in pieces may have changed since. */
static int look_is_planned(const macko_slice_look *look, const macko_plan *plan)
{
  const macko_params *params = macko_params_of(plan);
  return look->facts.stencils == params->slice.stencils && look->facts.masked == params->slice.masked && look->facts.pairs >= 0 &&
         !memcmp(look->facts.units, params->slice.value_units, sizeof look->facts.units);
}

/* This is encode_pattern of the layout (layouts.h). Where planning has kept the blocks of a look, that is the result; else all
 * slices are looked at again, with the blocks kept. */
static macko_status encode_pattern(macko_findings *found, macko_matrix *m, macko_error *err)
{
  const macko_params *params = macko_params_of(&m->plan);
  macko_slice_look *look = macko_look_for(found->own[MACKO_FORMAT_MACKO], &m->plan), fresh = {.sorted = params->slice.window > 0};
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_status s = MACKO_OK;
  if (params->slice.stencils > 0) fresh.kinds |= MACKO_STENCILS;
  if (params->slice.masked > 0) fresh.kinds |= MACKO_MASKED;
  if (m->plan.values == MACKO_VALUES_PAIRS) fresh.kinds |= MACKO_PAIRS;
  if (!look) s = macko_take_look(rows, m->nnz, params->slice.block_words, 1, look = &fresh, err);
  if (!s && !look_is_planned(look, &m->plan))
    s = macko_fail(err, MACKO_INVALID_MATRIX, "the rows are not what they were when their slices were counted");
  if (!s) macko_trim_look(look), put_look(m, look);
  macko_drop_look(&fresh);
  if (!s) put_starts(macko_section_data(m, "slices"), macko_slices_of(m->nrows), (int)macko_type_bytes(m->plan.stored_type));
  return s;
}

/* These are the rows of a slice in the csr: first entry and length of each lane, and the least of the lengths. */
typedef struct {
  int lanes;
  int64_t begin[MACKO_SLICE_ROWS], length[MACKO_SLICE_ROWS], shortest;
} slice_rows;

/* Finds the rows of a slice by the order that the matrix has. */
static void find_rows(const macko_csr *a, const slice_reader *r, int64_t slice, slice_rows *rows)
{
  rows->lanes = macko_slice_lanes(r, slice), rows->shortest = INT64_MAX;
  for (int l = 0; l < rows->lanes; l++) {
    const int64_t row = macko_slice_row(r, slice * MACKO_SLICE_ROWS + l);
    rows->begin[l] = macko_csr_row(a, row), rows->length[l] = macko_csr_row(a, row + 1) - rows->begin[l];
    if (rows->length[l] < rows->shortest) rows->shortest = rows->length[l];
  }
}

/* Copies values of `size` bytes, 4 or 8, as they are, into the slots of a slice, but for the first `done` steps. Short rows go step
 * by step, slot after slot: row by row, each value of a slice would go into another line of the cache than the one before. */
static inline __attribute__((always_inline)) void copy_values(const char *values, const slice_rows *rows, size_t size, int64_t done,
                                                              char *slots)
{
  enum { SHORT = 16 };
  const int64_t steps = rows->shortest <= SHORT ? rows->shortest : done;
  for (int64_t k = done; k < steps; k++)
    for (int l = 0; l < rows->lanes; l++)
      memcpy(slots + (size_t)(k * MACKO_SLICE_ROWS + l) * size, values + (size_t)(rows->begin[l] + k) * size, size);
  for (int l = 0; l < rows->lanes; l++)
    for (int64_t k = steps; k < rows->length[l]; k++)
      memcpy(slots + (size_t)(k * MACKO_SLICE_ROWS + l) * size, values + (size_t)(rows->begin[l] + k) * size, size);
}

/* Writes doubles past the caches as far as all lanes of a whole slice have some, and gives how many steps that are. */
static int64_t turn_slice(const double *values, const slice_rows *rows, macko_type to, char *slots)
{
  if (rows->lanes < MACKO_SLICE_ROWS || rows->shortest <= 0) return 0;
  return macko_turn_past_caches(values, rows->begin, rows->shortest, to, slots);
}

/* Copies doubles as they are. */
static void copy_doubles(const void *values, const slice_rows *rows, int past_caches, char *slots)
{
  copy_values(values, rows, 8, past_caches ? turn_slice(values, rows, MACKO_F64, slots) : 0, slots);
}

/* Writes doubles as floats, and gives 1; 0 where they are to be written another way. */
static int write_singles(const void *values, const slice_rows *rows, char *slots)
{
  const double *from = values;
  const int64_t done = turn_slice(from, rows, MACKO_F32, slots);
  if (!done) return 0;
  for (int l = 0; l < rows->lanes; l++)
    for (int64_t k = done; k < rows->length[l]; k++)
      ((float *)(void *)slots)[k * MACKO_SLICE_ROWS + l] = macko_f64_to_f32(from[rows->begin[l] + k]);
  return 1;
}

/* Copies values of 2 bytes as they are; two of them share a word of their lane. */
static void copy_halves(const char *values, const slice_rows *rows, char *slots)
{
  for (int l = 0; l < rows->lanes; l++) {
    int64_t left = rows->length[l];
    if (!left) continue; /* there may be no value at all, and values be NULL */
    const char *from = values + rows->begin[l] * 2;
    char *to = slots + l * 4;
    for (; left > 1; left -= 2, from += 4, to += MACKO_SLICE_ROWS * 4) memcpy(to, from, 4);
    if (left) memcpy(to, from, 2);
  }
}

/* Copies the values of a slice as they are, and gives 1; 0 for elements of one byte, which are never stored so. */
static int copy_slice(const slice_rows *rows, int size, const char *values, int past_caches, char *slots)
{
  if (size == 8) copy_doubles(values, rows, past_caches, slots);
  else if (size == 4) copy_values(values, rows, 4, 0, slots);
  else if (size == 2) copy_halves(values, rows, slots);
  return size > 1;
}

/* Writes the values of a slice, which start so many units into the stream: copied where they are stored as the matrix has them,
 * else through the codec, a row at a time. */
static void write_slice(const slice_rows *rows, int size, uint32_t units, macko_value_writer *w)
{
  const int per = size < 4 ? 4 / size : 1, as_they_are = w->codec.stored_type == w->value_type && !w->recode;
  char *slots = (char *)w->stream + (int64_t)units * MACKO_VALUE_UNIT;
  if (as_they_are && copy_slice(rows, size, w->values, w->past_caches, slots)) return;
  if (w->past_caches && w->value_type == MACKO_F64 && w->codec.stored_type == MACKO_F32 && write_singles(w->values, rows, slots))
    return;
  for (int l = 0; l < rows->lanes; l++) {
    const int64_t slot = macko_slice_slot(units, size, 0, l);
    if (per == 1) macko_write_values(w, rows->begin[l], rows->length[l], slot, MACKO_SLICE_ROWS);
    else macko_write_groups(w, per, rows->begin[l], rows->length[l], slot, MACKO_SLICE_ROWS);
  }
}

/* These are the bits of values of any type. */
typedef uint64_t bits64 __attribute__((may_alias));
typedef uint32_t bits32 __attribute__((may_alias));

/* Copies values to the slots of the steps of a masked slice, 0 where a lane lacks one: entries of each lane from next on. No branch
 * depends on the lanes, as it would not be foreseen: where there is nothing, an entry that is there is read, and not used. */
#define DEFINE_COPY(type) \
  static void copy_masked_##type(const slice_reader *r, const macko_slice *s, int64_t *next, int64_t entry, const void *from, \
                                 void *to) \
  { \
    const type *values = (const type *)from + entry; \
    type *slots = to; \
    for (int l = 0; l < MACKO_SLICE_ROWS; l++) next[l] -= entry; \
    for (uint32_t k = 0; k < s->steps; k++, slots += MACKO_SLICE_ROWS) { \
      const uint32_t lanes = macko_masked_at(s, r->blocks, k).lanes; \
      for (int l = 0; l < MACKO_SLICE_ROWS; l++) { \
        const int64_t there = lanes >> l & 1; \
        slots[l] = values[next[l] & -there] & -(type)there; \
        next[l] += there; \
      } \
    } \
  }
DEFINE_COPY(bits64)
DEFINE_COPY(bits32)
#undef DEFINE_COPY

/* Writes the values of a lane of a masked slice through the codec: a whole row like one of any slice, else run after run of steps
 * that follow each other. next is the row's first entry. */
static void write_masked_lane(const slice_reader *r, const macko_slice *s, int lane, int64_t next, int64_t length,
                              macko_value_writer *w)
{
  const int size = r->element_bytes, per = size < 4 ? 4 / size : 1;
  if (per > 1 && length == s->steps) {
    macko_write_groups(w, per, next, length, macko_slice_slot(s->values, size, 0, lane), MACKO_SLICE_ROWS);
    return;
  }
  for (uint32_t k = 0, run; k < s->steps; k += run ? run : 1, next += run) {
    for (run = 0; k + run < s->steps && (run == 0 || per == 1); run++)
      if (!(macko_masked_at(s, r->blocks, k + run).lanes >> lane & 1)) break;
    if (run) macko_write_values(w, next, run, macko_slice_slot(s->values, size, k, lane), MACKO_SLICE_ROWS);
  }
}

/* Writes the values of a masked slice, each into the slot of its step: copied where they are stored as the matrix has them. */
static void write_masked(const slice_reader *r, const macko_slice *s, const slice_rows *rows, macko_value_writer *w)
{
  const int size = r->element_bytes, as_they_are = w->codec.stored_type == w->value_type && !w->recode;
  char *slots = (char *)w->stream + (int64_t)s->values * MACKO_VALUE_UNIT;
  int64_t next[MACKO_SLICE_ROWS] = {0};
  memcpy(next, rows->begin, (size_t)rows->lanes * sizeof *next);
  int some = 0;
  while (some < rows->lanes && !rows->length[some]) some++;
  if (some == rows->lanes) return;
  if (as_they_are && size == 8) copy_masked_bits64(r, s, next, rows->begin[some], w->values, slots);
  else if (as_they_are && size == 4) copy_masked_bits32(r, s, next, rows->begin[some], w->values, slots);
  else
    for (int l = 0; l < rows->lanes; l++) write_masked_lane(r, s, l, next[l], rows->length[l], w);
}

/* Tells whether the rows are as long as the slice has them. */
static int same_lengths(const slice_reader *r, const macko_slice *s, const slice_rows *rows)
{
  for (int l = 0; l < rows->lanes; l++)
    if (rows->length[l] != macko_lane_length(r, s, l)) return 0;
  return 1;
}

/* This is write_values of the layout. Stencils are passed over, as their values are in their blocks. */
static void write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to)
{
  slice_reader r = macko_open_slices(m);
  slice_rows rows;
  for (int64_t i = from; i < to; i++) {
    macko_slice s = macko_slice_at(r.headers, i);
    if (s.stencil) continue;
    find_rows(a, &r, i, &rows);
    if (w->in_pieces && !same_lengths(&r, &s, &rows)) macko_set(&w->changed);
    else if (s.gap_bits == MACKO_GAP_MASKED) write_masked(&r, &s, &rows, w);
    else write_slice(&rows, r.element_bytes, s.values, w);
  }
  if (w->past_caches) macko_order_stores();
}

/* This is move_values of the layout: headers for elements of another size, in which nothing but the starts of values differs. */
static macko_status move_values(const macko_matrix *m, macko_section *fresh, macko_error *err)
{
  const macko_section *old = macko_find_section(m, "slices");
  macko_status s = macko_new_section(*old, fresh, err);
  if (s) return s;
  memcpy(fresh->data, old->data, (size_t)old->bytes);
  put_starts(fresh->data, macko_slices_of(m->nrows), (int)macko_type_bytes(m->plan.stored_type));
  return MACKO_OK;
}

/* This is fewer_values of the layout. Where nothing is streamed no codec is chosen, and nobody asks. */
static macko_status fewer_values(const macko_csr *a, const macko_matrix *m, macko_fewer_values **fewer, macko_error *err)
{
  const macko_params *params = macko_params_of(&m->plan);
  const slice_reader r = macko_open_slices(m);
  *fewer = NULL;
  if (!params->slice.stencils || !params->slice.value_units[0]) return MACKO_OK;
  return macko_find_fewer_values(a, &r, params->slice.block_words, macko_slice_value_slots(&m->plan, 1), fewer, err);
}

/* This is value_slots of the layout. */
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
  .fewer_values = fewer_values,
  .move_values = move_values,
  .decode = macko_slice_decode,
  .decode_rows = macko_slice_decode_rows,
  .validate = macko_slice_validate,
  .multiply = macko_slice_multiply};
