/* Layout slice: 32 rows interleaved, one lane a row, with a gap width of its own per slice (0: one list of distances shared by all
 * rows). Meshes numbered in order repeat the same few blocks of lengths, base offsets and gaps: equal blocks are stored once.
 * Not in the paper (arXiv 2511.13061), whose rows are long; its alignment of gaps and values is kept. */
#include "cost.h"
#include "differences.h"
#include "macko_blocks.h"
#include "macko_slice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_SLICE_WINDOW };

/* ---- the order of rows ---- */

/* Positions of a window sorted by falling row length; rows of equal length stay in order. */
static void sort_window(const macko_csr *a, int64_t start, uint16_t *order)
{
  int64_t count = a->nrows - start < WINDOW ? a->nrows - start : WINDOW;
  uint32_t first[64] = {0}, total = 0;
  uint16_t passes[2][WINDOW], *from = passes[0], *to = passes[1];
  for (int64_t i = 0; i < count; i++) from[i] = (uint16_t)i;
  for (int shift = 0; shift < 30; shift += 6) {
    memset(first, 0, sizeof first);
    for (int64_t i = 0; i < count; i++) {
      int64_t row = start + from[i];
      first[63 - ((macko_csr_row(a, row + 1) - macko_csr_row(a, row)) >> shift & 63)]++;
    }
    total = 0;
    for (int d = 0; d < 64; d++) {
      uint32_t here = first[d];
      first[d] = total, total += here;
    }
    for (int64_t i = 0; i < count; i++) {
      int64_t row = start + from[i];
      to[first[63 - ((macko_csr_row(a, row + 1) - macko_csr_row(a, row)) >> shift & 63)]++] = from[i];
    }
    uint16_t *swap = from;
    from = to, to = swap;
  }
  memcpy(order, from, (size_t)count * sizeof *order);
}

/* ---- one slice of the csr ---- */

typedef struct {
  int64_t begin[MACKO_SLICE_ROWS], length[MACKO_SLICE_ROWS];
  macko_slice s; /* everything but the two starts */
  int lanes, longest;
  macko_stencil_step stencil[MACKO_STENCIL_MAX_STEPS];
} csr_slice;

static int64_t base_distance(const macko_csr *a, const csr_slice *c, int lane)
{
  return macko_csr_col(a, c->begin[lane]) - lane;
}

static void find_base(const macko_csr *a, csr_slice *c)
{
  int64_t low = INT64_MAX, high = INT64_MIN;
  for (int l = 0; l < c->lanes; l++) {
    if (!c->length[l]) continue;
    int64_t d = base_distance(a, c, l);
    if (d < low) low = d;
    if (d > high) high = d;
  }
  c->s.base = low == INT64_MAX ? 0 : (int32_t)low;
  c->s.offset_bytes = low == INT64_MAX ? 0 : macko_unsigned_bytes((uint64_t)(high - low));
}

/* 1 if every row's distances from its base column begin the list of the longest row. */
static int is_uniform(const macko_csr *a, const csr_slice *c)
{
  int64_t longest = c->begin[c->longest], first = macko_csr_col(a, longest);
  for (int l = 0; l < c->lanes; l++)
    if (c->length[l] > 1 &&
        macko_or_differences(a, longest + 1, c->begin[l] + 1, c->length[l] - 1, macko_csr_col(a, c->begin[l]) - first))
      return 0;
  return 1;
}

static int gap_width(const macko_csr *a, const csr_slice *c)
{
  uint64_t any = 0;
  for (int l = 0; l < c->lanes; l++) any |= macko_or_differences(a, c->begin[l], c->begin[l] + 1, c->length[l] - 1, 1);
  return macko_slice_gap_bits(any);
}

/* Values of rows further on, of which a slice that is no stencil reads too few for the hardware to follow. */
static void prefetch_values(const macko_csr *a, int64_t row)
{
  if (row >= a->nrows) return;
  const char *values = (const char *)a->values + macko_csr_row(a, row) * macko_type_bytes(a->value_type);
  for (int line = 0; line < 4; line++) __builtin_prefetch(values + 64 * line);
}

static void look_at_slice(const macko_csr *a, const uint16_t *order, int stencils, int64_t slice, csr_slice *c)
{
  int64_t shortest = INT64_MAX, start = slice * MACKO_SLICE_ROWS;
  c->s = (macko_slice){0};
  c->longest = 0;
  memset(c->length, 0, sizeof c->length);
  c->lanes = a->nrows - start < MACKO_SLICE_ROWS ? (int)(a->nrows - start) : MACKO_SLICE_ROWS;
  for (int l = 0; l < c->lanes; l++) {
    int64_t row = order ? start / WINDOW * WINDOW + order[(start + l) % WINDOW] : start + l;
    c->begin[l] = macko_csr_row(a, row);
    c->length[l] = macko_csr_row(a, row + 1) - c->begin[l];
    if (c->length[l] < shortest) shortest = c->length[l];
    if (c->length[l] > c->length[c->longest]) c->longest = l;
  }
  c->s.steps = (uint32_t)c->length[c->longest];
  if (stencils && !order) prefetch_values(a, start + 8 * MACKO_SLICE_ROWS);
  if (stencils && !order && macko_find_stencil(a, start, c->lanes, c->stencil, &c->s)) return;
  c->s.length_bytes = shortest == c->length[c->longest] ? 0 : macko_unsigned_bytes(c->s.steps);
  find_base(a, c);
  if (c->s.steps > 1 && !is_uniform(a, c)) c->s.gap_bits = gap_width(a, c);
}

/* Codes of the gaps of a row of entries p .. end - 1, a word after the other for its lane. */
static inline __attribute__((always_inline)) void write_gaps(const macko_csr *a, macko_type type, int64_t p, int64_t end, int bits,
                                                             uint32_t *gaps)
{
  uint32_t word = 0;
  int shift = 0;
  for (p++; p < end; p++) {
    word |= (uint32_t)(macko_index(type, a->cols, p) - macko_index(type, a->cols, p - 1) - 1) << shift;
    shift += bits;
    if (shift < 32 && p + 1 < end) continue;
    *gaps = word, gaps += MACKO_SLICE_ROWS;
    word = 0, shift = 0;
  }
}

/* The words of the slice's block, into words (zeroed). */
static void write_block(const macko_csr *a, const csr_slice *c, uint32_t *words)
{
  uint32_t *offsets = words + 8 * c->s.length_bytes, *gaps = offsets + 8 * c->s.offset_bytes;
  int64_t longest = c->begin[c->longest];
  int bits = c->s.gap_bits;
  if (c->s.stencil) {
    memcpy(words, c->stencil, c->s.steps * sizeof *c->stencil);
    return;
  }
  for (int l = 0; l < c->lanes; l++) {
    macko_put_unsigned(words, c->s.length_bytes, l, (uint32_t)c->length[l]);
    if (c->length[l]) macko_put_unsigned(offsets, c->s.offset_bytes, l, (uint32_t)(base_distance(a, c, l) - c->s.base));
    if (!bits) continue;
    if (a->col_type == MACKO_I32) write_gaps(a, MACKO_I32, c->begin[l], c->begin[l] + c->length[l], bits, gaps + l);
    else write_gaps(a, MACKO_I64, c->begin[l], c->begin[l] + c->length[l], bits, gaps + l);
  }
  for (int64_t k = 1; !bits && k < c->s.steps; k++)
    gaps[k - 1] = (uint32_t)(macko_csr_col(a, longest + k) - macko_csr_col(a, longest));
}

/* ---- the block at hand ---- */

static macko_status fill_buffer(const macko_csr *a, const csr_slice *c, macko_block_set *set, int64_t *words, macko_error *err)
{
  *words = macko_slice_block_words(&c->s);
  if (*words == 0) return MACKO_OK;
  if (*words > set->room) {
    uint32_t *larger = realloc(set->buffer, (size_t)(2 * *words) * sizeof *larger);
    if (!larger) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a slice of %lld words", (long long)*words);
    set->buffer = larger, set->room = 2 * *words;
  }
  memset(set->buffer, 0, (size_t)*words * sizeof *set->buffer);
  write_block(a, c, set->buffer);
  return MACKO_OK;
}

/* Two chains of multiplications, which run side by side. */
static uint64_t hash_words(const uint32_t *words, int64_t count)
{
  const uint64_t factor = 0x9e3779b97f4a7c15u;
  uint64_t one = (uint64_t)count, other = ~one, pair[2];
  int64_t i = 0;
  for (; i + 4 <= count; i += 4) {
    memcpy(pair, words + i, sizeof pair);
    one = (one ^ pair[0]) * factor, one ^= one >> 29;
    other = (other ^ pair[1]) * factor, other ^= other >> 29;
  }
  for (; i < count; i++) one = (one ^ words[i]) * factor, one ^= one >> 29;
  one = (one ^ other >> 32 ^ other << 32) * factor;
  return one ^ one >> 29;
}

/* ---- plan ---- */

/* Stencils hold values as they are. */
static int stencils_allowed(const macko_csr *a, const macko_options *options)
{
  return (options->values == MACKO_VALUES_AUTO || options->values == MACKO_VALUES_RAW) && a->nrows <= INT32_MAX;
}

static int64_t plan_bytes(const macko_csr *a, const macko_slice_facts *p)
{
  return macko_slices_of(a->nrows) * 16 + p->block_words * 4 + p->order_bytes;
}

/* Predicted for everything but the values. */
static double plan_time(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  return (double)plan_bytes(a, p) * cost->byte + (double)p->stencil * cost->stencil + (double)p->uniform * cost->uniform +
         (double)p->run * cost->run + (double)p->listed * cost->listed + (double)p->walked * cost->walked +
         (double)(macko_slices_of(a->nrows) - p->stencils) * cost->slice + (double)p->longest * cost->step +
         (p->window ? (double)a->nrows * cost->ordered_row : 0);
}

/* 1 if the rows of those lanes are equally long and begin one column after the other; on meshes the rest follows. */
static int in_line(const macko_csr *a, const csr_slice *c, int first)
{
  for (int l = first; l < first + MACKO_SIDE_BY_SIDE; l++)
    if (!c->length[l] || c->length[l] != c->length[first] || base_distance(a, c, l) != base_distance(a, c, first)) return 0;
  return 1;
}

static void count_slice(const macko_csr *a, const csr_slice *c, macko_slice_facts *p)
{
  unsigned lined = 0;
  int64_t entries = 0;
  for (int group = 0; group < MACKO_SLICE_ROWS / MACKO_SIDE_BY_SIDE && !c->s.stencil; group++)
    lined |= (unsigned)in_line(a, c, group * MACKO_SIDE_BY_SIDE) << group;
  for (int l = 0; l < c->lanes; l++) entries += c->length[l];
  macko_count_slice(p, &c->s, c->lanes, lined, entries);
}

macko_status macko_host_slices(void *csr, int sorted, int stencils, macko_slice_facts *p, macko_error *err)
{
  const macko_csr *a = csr;
  macko_block_set set;
  csr_slice c;
  uint16_t order[WINDOW];
  int is_new;
  int64_t words, slices = macko_slices_of(a->nrows);
  *p = (macko_slice_facts){.window = sorted ? WINDOW : 0, .order_bytes = sorted ? a->nrows * 2 : 0};
  macko_status s = macko_open_blocks(slices, &set, err);
  for (int64_t i = 0; !s && i < slices; i++) {
    if (sorted && i % (WINDOW / MACKO_SLICE_ROWS) == 0) sort_window(a, i * MACKO_SLICE_ROWS, order);
    look_at_slice(a, sorted ? order : NULL, stencils, i, &c);
    if (c.s.steps >= MACKO_SLICE_MAX_STEPS)
      s = macko_fail(err, MACKO_LIMIT, "layout slice holds rows of fewer than %d entries, not %u", MACKO_SLICE_MAX_STEPS, c.s.steps);
    if (!s) s = fill_buffer(a, &c, &set, &words, err);
    if (s) break;
    macko_place_block(&set, hash_words(set.buffer, words), words, macko_block_align(&c.s), NULL, &is_new);
    count_slice(a, &c, p);
  }
  if (!s) s = macko_count_blocks(p, &set, err);
  macko_close_blocks(&set);
  return s;
}

static int64_t padding(const macko_slice_facts *p)
{
  return p->units[2] * MACKO_SLICE_ROWS - p->streamed;
}

/* As if values took 4 bytes, to compare two orders of rows. */
static macko_plan with_values(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  int64_t values = p->units[2] * MACKO_VALUE_UNIT;
  return (macko_plan){.bytes = plan_bytes(a, p) + values, .time = plan_time(a, cost, p) + (double)values * cost->byte};
}

/* The best that sorted rows could be: no padding, no block, x as it lies everywhere. */
static macko_plan best_sorted(const macko_csr *a, int64_t nnz, const macko_cost *cost)
{
  macko_slice_facts p = {.window = WINDOW, .order_bytes = 2 * a->nrows, .uniform = nnz};
  p.units[2] = (nnz + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  return with_values(a, cost, &p);
}

/* Slots of a few windows of rows without their blocks: every 16th window, or the one in the middle. */
static void sample(const macko_csr *a, int sorted, macko_slice_facts *p)
{
  enum { EVERY = 16, SLICES = WINDOW / MACKO_SLICE_ROWS };
  csr_slice c;
  uint16_t order[WINDOW];
  int64_t windows = (a->nrows + WINDOW - 1) / WINDOW;
  memset(p, 0, sizeof *p);
  for (int64_t w = windows > EVERY / 2 ? EVERY / 2 : windows / 2; w < windows; w += EVERY) {
    if (sorted) sort_window(a, w * WINDOW, order);
    for (int64_t i = w * SLICES; i < (w + 1) * SLICES && i * MACKO_SLICE_ROWS < a->nrows; i++) {
      look_at_slice(a, sorted ? order : NULL, !sorted, i, &c);
      count_slice(a, &c, p);
      for (int l = 0; l < c.lanes && c.s.stencil; l++) p->streamed += c.length[l]; /* those of stencils too */
    }
  }
}

int macko_host_sample(void *csr, const macko_options *options, macko_slice_estimate estimates[2])
{
  const macko_csr *a = csr;
  const macko_cost *cost = macko_cost_of(options);
  for (int sorted = 0; sorted < 2; sorted++) {
    macko_slice_facts p;
    sample(a, sorted, &p);
    if (!p.streamed) return 0;
    double scale = (double)macko_csr_nnz(a) / (double)p.streamed;
    estimates[sorted].columns = scale * ((double)p.stencil * cost->stencil + (double)p.uniform * cost->uniform + (double)p.run * cost->run +
                                         (double)p.listed * cost->listed + (double)p.walked * cost->walked);
    estimates[sorted].slots = scale * (double)(p.uniform + p.run + p.listed + p.walked);
  }
  return 1;
}

/* By a sample: 1 where rows sorted by length multiply faster for sure, -1 where they do not, 0 where all of both orders must be
 * looked at. Only for choices that no GPU makes: those look at all. */
static int order_by_sample(const macko_facts *f, const macko_options *options)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_estimate by_order[2];
  double slot = 4 * cost->byte, order = (double)f->csr->nrows * (cost->ordered_row + 2 * cost->byte);
  if (options->format != MACKO_FORMAT_AUTO || options->prefer != MACKO_PREFER_TIME || options->target != MACKO_TARGET_CPU ||
      !f->sample || !f->sample(f->context, options, by_order))
    return 0;
  double unsorted = by_order[0].columns + by_order[0].slots * slot, sorted = by_order[1].columns + by_order[1].slots * slot + order;
  if (sorted > 1.1 * unsorted) return -1; /* a tenth for what the sample missed */
  return unsorted > 1.1 * sorted && by_order[0].slots - (double)f->nnz > (double)f->csr->nrows;
}

static macko_status plan_pattern(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_facts best, sorted;
  if (options->delta_bits)
    return macko_fail(err, MACKO_UNSUPPORTED, "layout slice chooses the bits of a gap per slice; delta_bits %d is for row and paper",
                      options->delta_bits);
  int order = order_by_sample(f, options);
  macko_status s = f->slices(f->context, order > 0, order > 0 ? 0 : stencils_allowed(a, options), &best, err);
  if (s) return s;
  /* Sorting pays where it saves more padding, at 4 bytes a slot, than the order of rows costs. */
  macko_plan hoped = best_sorted(a, f->nnz, cost), unsorted = with_values(a, cost, &best);
  if (padding(&best) > a->nrows && macko_better(options, &hoped, &unsorted) && order == 0) {
    s = f->slices(f->context, 1, 0, &sorted, err);
    if (s) return s;
    macko_plan one = with_values(a, cost, &sorted);
    if (macko_better(options, &one, &unsorted)) best = sorted;
  }
  plan->bytes = plan_bytes(a, &best);
  plan->time = plan_time(a, cost, &best);
  plan->params[MACKO_PARAM_WINDOW] = best.window;
  plan->params[MACKO_PARAM_BLOCK_WORDS] = best.block_words;
  for (int e = 0; e < 4; e++) plan->params[MACKO_PARAM_VALUE_UNITS + e] = best.units[e];
  plan->params[MACKO_PARAM_STENCILS] = best.stencils;
  snprintf(plan->reason, sizeof plan->reason,
           "layout slice: %lld bytes of gaps for %lld slices, %lld of them stencils, %lld of %lld slots padding%s",
           (long long)best.block_words * 4, (long long)macko_slices_of(a->nrows), (long long)best.stencils,
           (long long)padding(&best), (long long)best.units[2] * MACKO_SLICE_ROWS,
           best.window ? ", rows sorted by length in windows of 4096" : "");
  return MACKO_OK;
}

static int64_t value_slots(int64_t nnz, const macko_plan *plan, int64_t element_bytes)
{
  (void)nnz;
  return macko_slice_value_slots(plan, element_bytes);
}

/* ---- encode ---- */

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
  csr_slice c;
  for (int64_t i = 0; i < slices; i++) {
    int64_t window = i * MACKO_SLICE_ROWS / WINDOW * WINDOW;
    int is_new;
    if (order && i * MACKO_SLICE_ROWS == window) sort_window(a, window, order + window);
    look_at_slice(a, order ? order + window : NULL, m->plan.params[MACKO_PARAM_STENCILS] > 0, i, &c);
    macko_status s = fill_buffer(a, &c, set, &words, err);
    if (s) return s;
    c.s.block = macko_place_block(set, hash_words(set->buffer, words), words, macko_block_align(&c.s), macko_section_data(m, "blocks"), &is_new);
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
      int64_t row = macko_slice_row(&r, i * MACKO_SLICE_ROWS + l), p = macko_csr_row(a, row), length = macko_csr_row(a, row + 1) - p;
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

const macko_layout_ops macko_slice_layout = {
  plan_pattern, value_slots,        NULL,                 encode_pattern,      write_values, macko_stencils_hold,
  move_values,  macko_slice_decode, macko_slice_validate, macko_slice_multiply};
