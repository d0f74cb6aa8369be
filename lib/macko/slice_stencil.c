/* Slices that are stencils: entries at the same distance from the diagonal have the same value in all rows that have one. So are
 * most slices of difference operators with constant coefficients; equal ones are stored once, as all blocks are. Not in the paper
 * (arXiv 2511.13061). */
#include "core/compare_csr.h"
#include "core/threads.h"
#include "macko/slice.h"

#include <string.h>

/* Gives the place of the first of steps[from .. count - 1], which rise, whose distance is not smaller. Columns of a row rise, so
 * that the search goes on where the last one ended. */
static int find_distance(const macko_stencil_step *steps, int from, int count, int64_t distance)
{
  while (from < count && steps[from].distance < distance) from++;
  return from;
}

/* Adds an entry that the lanes have, whose step is at place `at` or belongs there; 0 where another value is at that distance, or
 * there are too many steps. */
static int add_entry(macko_stencil_step *steps, int *count, int at, int64_t distance, uint32_t lanes, uint64_t value)
{
  if (at < *count && steps[at].distance == distance) {
    steps[at].lanes |= lanes;
    return steps[at].value == value;
  }
  if (*count == MACKO_STENCIL_MAX_STEPS) return 0;
  memmove(steps + at + 1, steps + at, (size_t)(*count - at) * sizeof *steps);
  steps[at] = (macko_stencil_step){(int32_t)distance, lanes, value};
  ++*count;
  return 1;
}

/* Gives 1 if rows of that length from entry p on, `more` of them after the first, have the columns of the one before plus 1, and
 * its values. */
static int same_as_before(const macko_csr *a, int64_t p, int64_t length, int64_t more)
{
  return !macko_or_differences(a, p, p + length, length * more, 1) && macko_equal_values(a, p, p + length, length * more);
}

/* Gives how many rows from entry p on, of those lengths, have the same values at the same distances from the diagonal. All of one
 * length are compared at once, where the second is not another one already. */
static int equal_rows(const macko_csr *a, int64_t p, const int64_t *length, int lanes)
{
  int same = 1, n = 1;
  while (same < lanes && length[same] == length[0]) same++;
  if (same == 1 || !same_as_before(a, p, length[0], 1)) return 1;
  if (same_as_before(a, p, length[0], same - 1)) return same;
  while (same_as_before(a, p + n * length[0], length[0], 1)) n++;
  return n + 1;
}

/* Gives 1 if the first entries of the first two rows, at one distance from the diagonal, have different values: of most slices
 * that are no stencils this tells it, and little has been read. */
static int begins_unlike(const macko_csr *a, int64_t p, const int64_t *length, int lanes)
{
  const int64_t q = p + length[0];
  return lanes > 1 && length[0] && length[1] && macko_csr_col(a, q) - macko_csr_col(a, p) == 1 &&
         macko_bits_at(a->value_type, a->values, p) != macko_bits_at(a->value_type, a->values, q);
}

/* These are the rows of a slice while it is tried as a stencil, and the steps that they have so far. */
typedef struct {
  const macko_csr *a;
  int64_t row, begin[MACKO_SLICE_ROWS + 1]; /* the first row, and where each begins in the csr */
  const int64_t *length;
  macko_stencil_step *steps;
  int lanes, count, limit; /* steps so far, and how many there may be */
} stencil_try;

/* Adds the entries of lane l, which are also those of the n - 1 lanes behind it; 0 where they make it no stencil. */
static int add_lanes(stencil_try *t, int l, int n)
{
  const macko_csr *a = t->a;
  const uint32_t mask = (0xffffffffu >> (MACKO_SLICE_ROWS - n)) << l;
  int at = 0;
  for (int64_t p = t->begin[l]; p < t->begin[l + 1]; p++) {
    int64_t distance = macko_csr_col(a, p) - (t->row + l);
    at = find_distance(t->steps, at, t->count, distance);
    if (!add_entry(t->steps, &t->count, at, distance, mask, macko_bits_at(a->value_type, a->values, p)) || t->count > t->limit)
      return 0;
  }
  return 1;
}

/* Gives 1 if lanes l .. l + n - 1 have the columns, as far on as they are, and the values of those k lanes before. */
static int same_as_earlier(const stencil_try *t, int l, int n, int k)
{
  const int64_t p = t->begin[l - k], q = t->begin[l], count = t->begin[l + n] - q;
  return !macko_or_differences(t->a, p, q, count, k) && macko_equal_values(t->a, p, q, count);
}

/* Gives how many lanes from l on, the first of which has entries, are like those k lanes before. A look at the first entry passes
 * over most that are not. All are compared at once, and one by one only where some differ. */
static int repeated_lanes(const stencil_try *t, int l, int k)
{
  const macko_csr *a = t->a;
  const int64_t p = t->begin[l - k], q = t->begin[l];
  int n = 1, same = 0;
  if (t->length[l] != t->length[l - k] || macko_csr_col(a, q) - macko_csr_col(a, p) != k ||
      macko_bits_at(a->value_type, a->values, p) != macko_bits_at(a->value_type, a->values, q) || !same_as_earlier(t, l, 1, k))
    return 0;
  while (l + n < t->lanes && t->length[l + n] && t->length[l + n] == t->length[l + n - k]) n++;
  if (same_as_earlier(t, l, n, k)) return n;
  while (same_as_earlier(t, l + same, 1, k)) same++; /* one of them differs */
  return same;
}

/* Gives how many lanes from l on repeat those some lanes before, and adds them to the steps of these: where a node has several
 * unknowns, the next rows that are alike are those of the next node. */
static int repeat_lanes(stencil_try *t, int l)
{
  int k = 0, n = 0;
  if (t->length[l])
    while (!n && k < l) n = repeated_lanes(t, l, ++k);
  if (!n) return 0;
  uint64_t copies = 0;
  for (int i = 0; i < n; i += k) copies |= (uint64_t)1 << i;
  for (int i = 0; i < t->count; i++) {
    const uint64_t before = t->steps[i].lanes >> (l - k) & (0xffffffffu >> (MACKO_SLICE_ROWS - k));
    t->steps[i].lanes |= (uint32_t)((before * copies & (0xffffffffu >> (MACKO_SLICE_ROWS - n))) << l);
  }
  return n;
}

/* Rows that are equal, as most are, become entries of all their lanes at once, and so do those that repeat rows before them. It
 * gives up where there are more than half as many distances again as the longest row has entries: rows at a boundary lack some of
 * the distances, not most. */
int macko_find_stencil(const macko_csr *a, int64_t row, int lanes, const int64_t *length, macko_stencil_step *steps, macko_slice *s)
{
  stencil_try t = {.a = a, .row = row, .begin = {macko_csr_row(a, row)}, .length = length, .steps = steps, .lanes = lanes,
                   .limit = (int)s->steps + (int)s->steps / 2 + 1};
  if (s->steps == 0 || s->steps > MACKO_STENCIL_MAX_STEPS || begins_unlike(a, t.begin[0], length, lanes)) return 0;
  for (int l = 0; l < lanes; l++) t.begin[l + 1] = t.begin[l] + length[l];
  for (int l = 0, n; l < lanes; l += n) {
    n = repeat_lanes(&t, l);
    if (n) continue;
    n = equal_rows(a, t.begin[l], length + l, lanes - l);
    if (!add_lanes(&t, l, n)) return 0;
  }
  s->stencil = 1;
  s->steps = (uint32_t)t.count;
  s->base = (int32_t)row;
  return 1;
}

/* Goes through the steps once for all lanes, eight lanes in a word, a byte each: a step adds its bit of every lane. */
void macko_stencil_lengths(const slice_reader *r, const macko_slice *s, uint8_t lengths[MACKO_SLICE_ROWS])
{
  const uint64_t ones = 0x0101010101010101u;
  uint64_t sums[MACKO_SLICE_ROWS / 8] = {0};
  for (uint32_t k = 0; k < s->steps; k++) {
    uint32_t lanes = macko_stencil_at(s, r->blocks, k).lanes;
    for (int g = 0; g < MACKO_SLICE_ROWS / 8; g++) {
      uint64_t bits = (lanes >> 8 * g & 0xff) * ones & 0x8040201008040201u; /* in byte l nothing but bit l */
      sums[g] += (bits + 0x7f * ones) >> 7 & ones; /* 1 in the bytes that are not 0 */
    }
  }
  for (int l = 0; l < MACKO_SLICE_ROWS; l++) lengths[l] = (uint8_t)(sums[l / 8] >> 8 * (l % 8));
}

/* An entry of the row is a step that has the lane. */
int64_t macko_stencil_lane(const slice_reader *r, const macko_slice *s, int lane, macko_type type, int64_t *cols, void *values,
                           int64_t p)
{
  int64_t n = 0;
  for (uint32_t k = 0; k < s->steps; k++) {
    macko_stencil_step step = macko_stencil_at(s, r->blocks, k);
    if (!(step.lanes >> lane & 1)) continue;
    if (cols) cols[n] = (int64_t)s->base + lane + step.distance;
    if (values) macko_put_bits(type, values, p + n, step.value);
    n++;
  }
  return n;
}

/* Gives how many entries a lane has, from entry p of the csr on; -1 where one of them has not the value of its step. */
static int64_t lane_holds(const macko_csr *a, const macko_slice *s, const macko_stencil_step *steps, int lane, int64_t p)
{
  int64_t n = 0;
  uint64_t apart = 0;
  for (uint32_t k = 0; k < s->steps; k++)
    if (steps[k].lanes >> lane & 1) apart |= macko_bits_at(a->value_type, a->values, p + n++) ^ steps[k].value;
  return apart ? -1 : n;
}

/* Gives 1 if the lanes of a slice, whose entries begin at p, have the values of its steps. Lanes that have the steps of the one
 * before must have its values, so that a run of such lanes is compared at once. */
static int slice_holds(const macko_csr *a, const macko_slice *s, const macko_stencil_step *steps, int lanes, int64_t p)
{
  uint32_t change = 0;
  for (uint32_t k = 0; k < s->steps; k++) change |= steps[k].lanes ^ steps[k].lanes << 1;
  for (int l = 0, run = 1; l < lanes; l += run) {
    int64_t n = lane_holds(a, s, steps, l, p);
    for (run = 1; l + run < lanes && !(change >> (l + run) & 1);) run++;
    if (n < 0 || !macko_equal_values(a, p, p + n, n * (run - 1))) return 0;
    p += n * run;
  }
  return 1;
}

/* These are slices of which stencils were found to hold, by where their blocks start: another one with the block of one of them
 * holds if it has that one's values. */
enum { HELD = 256 };
typedef struct {
  uint32_t block, steps;
  int64_t begin, entries; /* of the slice in the csr; 0 entries: there is none here */
} held_stencil;

/* Gives 1 if the entries of a stencil, those from p on, have the values of that slice, whose entries lie at the same distances. */
static int as_held(const macko_csr *a, const held_stencil *h, const macko_slice *s, int64_t p, int64_t entries)
{
  return h->entries && h->entries == entries && h->block == s->block && h->steps == s->steps &&
         macko_equal_values(a, h->begin, p, entries);
}

/* This is what parts share while they compare; differ: a part has found a value that is not its step's, and the others may
 * stop. */
typedef struct {
  const macko_csr *a;
  const macko_matrix *m;
  int differ;
} stencil_check;

/* As a macko_part this compares the stencils among slices from .. to - 1. Stencils have rows in their own order, so that entries
 * follow each other. */
static void check_slices(void *context, int part, int64_t from, int64_t to)
{
  stencil_check *c = context;
  slice_reader r = macko_open_slices(c->m);
  macko_stencil_step steps[MACKO_STENCIL_MAX_STEPS];
  held_stencil held[HELD] = {{0}};
  (void)part;
  for (int64_t i = from; i < to && !macko_is_set(&c->differ); i++) {
    const macko_slice s = macko_slice_at(r.headers, i);
    const int lanes = macko_slice_lanes(&r, i);
    const int64_t row = i * MACKO_SLICE_ROWS, p = macko_csr_row(c->a, row), entries = macko_csr_row(c->a, row + lanes) - p;
    held_stencil *h = &held[s.block / MACKO_STENCIL_WORDS % HELD];
    if (!s.stencil || as_held(c->a, h, &s, p, entries)) continue;
    memcpy(steps, r.blocks + s.block, s.steps * sizeof *steps);
    if (!slice_holds(c->a, &s, steps, lanes, p)) macko_set(&c->differ);
    *h = (held_stencil){s.block, s.steps, p, entries};
  }
}

/* Nothing is read where the plan says that there are no stencils. */
int macko_stencils_hold(const macko_csr *a, const macko_matrix *m)
{
  const macko_cut cut = macko_cut_rows(a, MACKO_SLICE_ROWS);
  stencil_check c = {a, m, 0};
  if (macko_params_of(&m->plan)->slice.stencils) macko_do_parts(&cut, macko_parts(m->nnz), check_slices, &c);
  return !c.differ;
}

/* Only the outermost lanes of a step can have a column outside, as columns rise by one from lane to lane. */
macko_status macko_validate_stencil(const macko_matrix *m, const slice_reader *r, int64_t slice, macko_error *err)
{
  macko_slice s = macko_slice_at(r->headers, slice);
  int lanes = macko_slice_lanes(r, slice);
  int64_t before = INT64_MIN;
  if (r->order || s.base != slice * MACKO_SLICE_ROWS || s.block % MACKO_STENCIL_WORDS || s.gap_bits || s.offset_bytes ||
      s.length_bytes)
    return macko_fail(err, MACKO_CORRUPT, "slice %lld is no stencil: base %d, block %u, info %08x", (long long)slice, s.base,
                      s.block, r->headers[slice * MACKO_SLICE_WORDS + 2]);
  if (s.steps > MACKO_STENCIL_MAX_STEPS)
    return macko_fail(err, MACKO_CORRUPT, "slice %lld is a stencil of %u steps; there are at most %d", (long long)slice, s.steps,
                      MACKO_STENCIL_MAX_STEPS);
  for (uint32_t k = 0; k < s.steps; k++) {
    macko_stencil_step step = macko_stencil_at(&s, r->blocks, k);
    int first = step.lanes ? __builtin_ctz(step.lanes) : 0, last = step.lanes ? 31 - __builtin_clz(step.lanes) : -1;
    int64_t low = (int64_t)s.base + first + step.distance, high = (int64_t)s.base + last + step.distance;
    if (step.distance <= before || last < 0 || last >= lanes || low < 0 || high >= m->ncols)
      return macko_fail(err, MACKO_CORRUPT, "step %u of slice %lld: distance %d after %lld, lanes %08x of %d, %lld columns", k,
                        (long long)slice, step.distance, (long long)before, step.lanes, lanes, (long long)m->ncols);
    before = step.distance;
  }
  return MACKO_OK;
}
