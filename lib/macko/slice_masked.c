/* Slices that are masked: their rows have some of the distances of one list, whatever the values. So are slices of a grid that
 * touch its boundary: x lies side by side in every step, and no column is told for a lane alone. Not in the paper
 * (arXiv 2511.13061). */
#include "macko/slice_masked.h"

enum { NONE = INT32_MAX }; /* is beyond all columns, which layout slice holds in 32 bits */

/* Goes through all rows at once, from one distance to the next one that any row has. A row that has more entries left than there
 * may be steps tells that it is no such slice, mostly in the first step. The type of columns is a constant in every caller. */
static inline __attribute__((always_inline)) int find_as(macko_type type, const macko_csr *a, macko_csr_slice *c)
{
  const int32_t steps = (int32_t)c->s.steps;
  int32_t at[MACKO_SLICE_ROWS], left[MACKO_SLICE_ROWS];
#define DISTANCE(l) \
  (left[l] ? (int32_t)(macko_index(type, a->cols, c->begin[l] + c->length[l] - left[l]) - a->index_base) - (l) : NONE)
  for (int l = 0; l < MACKO_SLICE_ROWS; l++) left[l] = (int32_t)c->length[l], at[l] = DISTANCE(l);
  for (int32_t k = 0; k < steps; k++) {
    int32_t least = NONE, too_many = 0;
    uint32_t lanes = 0;
    for (int l = 0; l < MACKO_SLICE_ROWS; l++) least = at[l] < least ? at[l] : least;
    for (int l = 0; l < MACKO_SLICE_ROWS; l++) lanes |= (uint32_t)(at[l] == least) << l;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
      const int l = __builtin_ctz(rest);
      left[l]--, at[l] = DISTANCE(l);
    }
    for (int l = 0; l < MACKO_SLICE_ROWS; l++) too_many |= left[l] > steps - k - 1;
    if (too_many) return 0;
    c->masked[k] = (macko_masked_step){(uint32_t)(least - c->s.base), lanes};
  }
#undef DISTANCE
  return 1;
}

int macko_find_masked(const macko_csr *a, macko_csr_slice *c)
{
  if (c->s.steps == 0 || c->s.steps > MACKO_MASKED_MAX_STEPS) return 0;
  return a->col_type == MACKO_I32 ? find_as(MACKO_I32, a, c) : find_as(MACKO_I64, a, c);
}

int64_t macko_masked_length(const slice_reader *r, const macko_slice *s, int lane)
{
  int64_t n = 0;
  for (uint32_t k = 0; k < s->steps; k++) n += macko_masked_at(s, r->blocks, k).lanes >> lane & 1;
  return n;
}

void macko_masked_columns(const slice_reader *r, const macko_slice *s, int lane, int64_t *cols)
{
  for (uint32_t k = 0; k < s->steps; k++) {
    const macko_masked_step step = macko_masked_at(s, r->blocks, k);
    if (step.lanes >> lane & 1) *cols++ = (int64_t)s->base + lane + step.distance;
  }
}

/* Only the outermost lanes of a step can have a column outside, as columns rise by one from lane to lane. */
macko_status macko_validate_masked(const macko_matrix *m, const slice_reader *r, int64_t slice, macko_error *err)
{
  const macko_slice s = macko_slice_at(r->headers, slice);
  const int lanes = macko_slice_lanes(r, slice);
  int64_t before = -1;
  if (s.offset_bytes || s.length_bytes || m->plan.values == MACKO_VALUES_PAIRS)
    return macko_fail(err, MACKO_CORRUPT, "slice %lld is masked and has offsets or lengths, or gaps of codes: info %08x",
                      (long long)slice, r->headers[slice * MACKO_SLICE_WORDS + 2]);
  for (uint32_t k = 0; k < s.steps; k++) {
    const macko_masked_step step = macko_masked_at(&s, r->blocks, k);
    const int first = step.lanes ? __builtin_ctz(step.lanes) : 0, last = step.lanes ? 31 - __builtin_clz(step.lanes) : -1;
    const int64_t low = (int64_t)s.base + first + step.distance, high = (int64_t)s.base + last + step.distance;
    if (step.distance <= before || last < 0 || last >= lanes || low < 0 || high >= m->ncols)
      return macko_fail(err, MACKO_CORRUPT, "step %u of slice %lld: distance %u after %lld, lanes %08x of %d, %lld columns", k,
                        (long long)slice, step.distance, (long long)before, step.lanes, lanes, (long long)m->ncols);
    before = step.distance;
  }
  return MACKO_OK;
}
