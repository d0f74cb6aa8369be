/* Layout slice: 32 rows interleaved, one lane a row, with a gap width of its own per slice (0: one list of distances shared by all
 * rows). Meshes numbered in order repeat the same few blocks of lengths, base offsets and gaps: equal blocks are stored once.
 * Not in the paper (arXiv 2511.13061), whose rows are long; its alignment of gaps and values is kept. */
#include "cost.h"
#include "differences.h"
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
  return any < 16 ? 4 : any < 256 ? 8 : any < 65536 ? 16 : 32;
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

static void put_unsigned(uint32_t *words, int bytes, int i, uint32_t value)
{
  uint16_t half = (uint16_t)value;
  if (bytes == 1) ((uint8_t *)words)[i] = (uint8_t)value;
  else if (bytes == 2) memcpy((char *)words + 2 * i, &half, sizeof half);
  else if (bytes == 4) words[i] = value;
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
    put_unsigned(words, c->s.length_bytes, l, (uint32_t)c->length[l]);
    if (c->length[l]) put_unsigned(offsets, c->s.offset_bytes, l, (uint32_t)(base_distance(a, c, l) - c->s.base));
    if (!bits) continue;
    if (a->col_type == MACKO_I32) write_gaps(a, MACKO_I32, c->begin[l], c->begin[l] + c->length[l], bits, gaps + l);
    else write_gaps(a, MACKO_I64, c->begin[l], c->begin[l] + c->length[l], bits, gaps + l);
  }
  for (int64_t k = 1; !bits && k < c->s.steps; k++)
    gaps[k - 1] = (uint32_t)(macko_csr_col(a, longest + k) - macko_csr_col(a, longest));
}

/* ---- equal blocks once ---- */

typedef struct {
  uint64_t hash;
  uint32_t start, words;
  int used;
} known_block;

typedef struct {
  uint32_t *buffer; /* the block at hand */
  int64_t room;
  known_block *table;
  uint64_t mask;
  int64_t words; /* of all blocks so far */
} block_set;

static macko_status open_set(int64_t slices, block_set *set, macko_error *err)
{
  uint64_t size = 64;
  while (size < 2 * (uint64_t)slices) size *= 2;
  *set = (block_set){.table = calloc(size, sizeof *set->table), .mask = size - 1};
  if (set->table) return MACKO_OK;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to compare the blocks of %lld slices", (long long)slices);
}

static void close_set(block_set *set)
{
  free(set->buffer), free(set->table);
}

static macko_status fill_buffer(const macko_csr *a, const csr_slice *c, block_set *set, int64_t *words, macko_error *err)
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

/* Start of the block at hand: of an equal one where there is one (*is_new = 0), else the end of all. blocks is what has been
 * written so far; NULL while planning, where equal hashes are taken for equal blocks. */
static uint32_t place_block(block_set *set, int64_t words, int align, const uint32_t *blocks, int *is_new)
{
  uint64_t hash = hash_words(set->buffer, words), at = hash & set->mask;
  *is_new = 0;
  if (!words) return 0;
  for (; set->table[at].used; at = (at + 1) & set->mask) {
    known_block *b = &set->table[at];
    if (b->hash == hash && b->words == words && b->start % (uint32_t)align == 0 &&
        (!blocks || !memcmp(blocks + b->start, set->buffer, (size_t)words * sizeof *blocks)))
      return b->start;
  }
  set->words = (set->words + align - 1) / align * align;
  set->table[at] = (known_block){hash, (uint32_t)set->words, (uint32_t)words, 1};
  set->words += words;
  *is_new = 1;
  return set->table[at].start;
}

/* ---- plan ---- */

typedef struct {
  int64_t window, block_words, order_bytes;
  int64_t units[4]; /* of the value stream, for elements of 1, 2, 4 and 8 bytes */
  int64_t stencils, streamed; /* slices that are stencils; entries in the others */
  int64_t longest;            /* steps of the longest slice */
  int64_t stencil, uniform, run, listed, walked; /* slots by how their columns are found (cost.h) */
} slice_plan;

/* Stencils hold values as they are. */
static int stencils_allowed(const macko_csr *a, const macko_options *options)
{
  return (options->values == MACKO_VALUES_AUTO || options->values == MACKO_VALUES_RAW) && a->nrows <= INT32_MAX;
}

static int block_align(const macko_slice *s)
{
  return s->stencil ? MACKO_STENCIL_WORDS : 1;
}

static int64_t plan_bytes(const macko_csr *a, const slice_plan *p)
{
  return macko_slices_of(a->nrows) * 16 + p->block_words * 4 + p->order_bytes;
}

/* Predicted for everything but the values. */
static double plan_time(const macko_csr *a, const macko_cost *cost, const slice_plan *p)
{
  return (double)plan_bytes(a, p) * cost->byte + (double)p->stencil * cost->stencil + (double)p->uniform * cost->uniform +
         (double)p->run * cost->run + (double)p->listed * cost->listed + (double)p->walked * cost->walked +
         (double)p->longest * cost->step + (p->window ? (double)a->nrows * cost->ordered_row : 0);
}

enum { SIDE_BY_SIDE = 8 };

/* 1 if the rows of those lanes are equally long and begin one column after the other; on meshes the rest follows. */
static int in_line(const macko_csr *a, const csr_slice *c, int first)
{
  for (int l = first; l < first + SIDE_BY_SIDE; l++)
    if (!c->length[l] || c->length[l] != c->length[first] || base_distance(a, c, l) != base_distance(a, c, first)) return 0;
  return 1;
}

static void count_slots(const macko_csr *a, const csr_slice *c, slice_plan *p)
{
  int64_t slots = (int64_t)c->s.steps * SIDE_BY_SIDE;
  int uniform = !c->s.gap_bits && !c->s.offset_bytes && !c->s.length_bytes && c->lanes == MACKO_SLICE_ROWS;
  for (int first = 0; first < MACKO_SLICE_ROWS; first += SIDE_BY_SIDE)
    if (c->s.stencil) p->stencil += slots;
    else if (uniform) p->uniform += slots;
    else if (in_line(a, c, first)) p->run += slots;
    else if (c->s.gap_bits) p->walked += slots;
    else p->listed += slots;
}

static macko_status survey(const macko_csr *a, int sorted, int stencils, slice_plan *p, macko_error *err)
{
  block_set set;
  csr_slice c;
  uint16_t order[WINDOW];
  int is_new;
  int64_t words, slices = macko_slices_of(a->nrows);
  memset(p, 0, sizeof *p);
  p->window = sorted ? WINDOW : 0;
  p->order_bytes = sorted ? a->nrows * 2 : 0;
  macko_status s = open_set(slices, &set, err);
  for (int64_t i = 0; !s && i < slices; i++) {
    if (sorted && i % (WINDOW / MACKO_SLICE_ROWS) == 0) sort_window(a, i * MACKO_SLICE_ROWS, order);
    look_at_slice(a, sorted ? order : NULL, stencils, i, &c);
    if (c.s.steps >= MACKO_SLICE_MAX_STEPS)
      s = macko_fail(err, MACKO_LIMIT, "layout slice holds rows of fewer than %d entries, not %u", MACKO_SLICE_MAX_STEPS, c.s.steps);
    if (!s) s = fill_buffer(a, &c, &set, &words, err);
    if (s) break;
    place_block(&set, words, block_align(&c.s), NULL, &is_new);
    count_slots(a, &c, p);
    if (c.s.steps > p->longest) p->longest = c.s.steps;
    for (int e = 0; e < 4; e++) p->units[e] += macko_slice_value_units(&c.s, 1 << e);
    p->stencils += c.s.stencil;
    for (int l = 0; l < c.lanes && !c.s.stencil; l++) p->streamed += c.length[l];
  }
  if (!s && (set.words > UINT32_MAX || p->units[3] > UINT32_MAX))
    s = macko_fail(err, MACKO_LIMIT, "layout slice holds %u words of gaps and value units, not %lld and %lld", UINT32_MAX,
                   (long long)set.words, (long long)p->units[3]);
  p->block_words = set.words;
  close_set(&set);
  return s;
}

static int64_t padding(const slice_plan *p)
{
  return p->units[2] * MACKO_SLICE_ROWS - p->streamed;
}

/* As if values took 4 bytes, to compare two orders of rows. */
static macko_plan with_values(const macko_csr *a, const macko_cost *cost, const slice_plan *p)
{
  int64_t values = p->units[2] * MACKO_VALUE_UNIT;
  return (macko_plan){.bytes = plan_bytes(a, p) + values, .time = plan_time(a, cost, p) + (double)values * cost->byte};
}

/* The best that sorted rows could be: no padding, no block, x as it lies everywhere. */
static macko_plan best_sorted(const macko_csr *a, const macko_cost *cost)
{
  int64_t nnz = macko_csr_nnz(a);
  slice_plan p = {.window = WINDOW, .order_bytes = 2 * a->nrows, .uniform = nnz};
  p.units[2] = (nnz + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  return with_values(a, cost, &p);
}

/* Slots of a few windows of rows without their blocks: every 16th window, or the one in the middle. */
static void sample(const macko_csr *a, int sorted, slice_plan *p)
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
      count_slots(a, &c, p);
      for (int l = 0; l < c.lanes; l++) p->streamed += c.length[l]; /* those of stencils too */
    }
  }
}

int macko_slice_sample(const macko_csr *a, const macko_options *options, macko_slice_estimate estimates[2])
{
  const macko_cost *cost = macko_cost_of(options);
  for (int sorted = 0; sorted < 2; sorted++) {
    slice_plan p;
    sample(a, sorted, &p);
    if (!p.streamed) return 0;
    double scale = (double)macko_csr_nnz(a) / (double)p.streamed;
    estimates[sorted].columns = scale * ((double)p.stencil * cost->stencil + (double)p.uniform * cost->uniform + (double)p.run * cost->run +
                                         (double)p.listed * cost->listed + (double)p.walked * cost->walked);
    estimates[sorted].slots = scale * (double)(p.uniform + p.run + p.listed + p.walked);
  }
  return 1;
}

static macko_status plan_pattern(const macko_csr *a, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_cost *cost = macko_cost_of(options);
  slice_plan best, sorted;
  if (options->delta_bits)
    return macko_fail(err, MACKO_UNSUPPORTED, "layout slice chooses the bits of a gap per slice; delta_bits %d is for row and paper",
                      options->delta_bits);
  macko_status s = survey(a, 0, stencils_allowed(a, options), &best, err);
  if (s) return s;
  /* Sorting pays where it saves more padding, at 4 bytes a slot, than the order of rows costs. */
  macko_plan hoped = best_sorted(a, cost), unsorted = with_values(a, cost, &best);
  if (padding(&best) > a->nrows && macko_better(options, &hoped, &unsorted)) {
    s = survey(a, 1, 0, &sorted, err);
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

static int64_t value_slots(const macko_csr *a, const macko_plan *plan, int64_t element_bytes)
{
  int e = element_bytes == 1 ? 0 : element_bytes == 2 ? 1 : element_bytes == 4 ? 2 : 3;
  (void)a;
  return plan->params[MACKO_PARAM_VALUE_UNITS + e] * (MACKO_VALUE_UNIT / element_bytes);
}

/* ---- encode ---- */

/* The blocks as planned; a longer array in the one case that planning took two blocks for equal that were not. */
static macko_status append_block(macko_matrix *m, block_set *set, int64_t words, uint32_t start, macko_error *err)
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

static uint32_t width_code(int bytes)
{
  return bytes == 4 ? 3 : (uint32_t)bytes;
}

static void write_header(const macko_slice *s, uint32_t *h)
{
  uint32_t gap_code = s->gap_bits == 0 ? 0 : s->gap_bits == 4 ? 1 : s->gap_bits == 8 ? 2 : s->gap_bits == 16 ? 3 : 4;
  h[0] = s->values;
  h[1] = s->block;
  h[2] = s->steps << 8 | (s->stencil ? MACKO_SLICE_STENCIL : 0) | width_code(s->length_bytes) << 5 | width_code(s->offset_bytes) << 3 | gap_code;
  h[3] = (uint32_t)s->base;
}

static macko_status encode_slices(const macko_csr *a, macko_matrix *m, block_set *set, macko_error *err)
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
    c.s.block = place_block(set, words, block_align(&c.s), macko_section_data(m, "blocks"), &is_new);
    if (is_new) s = append_block(m, set, words, c.s.block, err);
    if (s) return s;
    c.s.values = (uint32_t)units;
    write_header(&c.s, headers + i * MACKO_SLICE_WORDS);
    units += macko_slice_value_units(&c.s, (int)macko_type_bytes(m->plan.stored_type));
  }
  return MACKO_OK;
}

static macko_status encode_pattern(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  block_set set;
  macko_status s = macko_add_section(m, "slices", MACKO_U32, macko_slices_of(m->nrows) * MACKO_SLICE_WORDS, err);
  if (!s) s = macko_add_section(m, "blocks", MACKO_U32, m->plan.params[MACKO_PARAM_BLOCK_WORDS], err);
  if (!s && m->plan.params[MACKO_PARAM_WINDOW]) s = macko_add_section(m, "order", MACKO_U16, m->nrows, err);
  if (!s) s = open_set(macko_slices_of(m->nrows), &set, err);
  if (s) return s;
  s = encode_slices(a, m, &set, err);
  close_set(&set);
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
