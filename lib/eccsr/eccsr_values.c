/* Values of slices written: entries of a csr into the slots of their lanes. */
#include "eccsr/eccsr.h"

enum { STEPS = 64 }; /* looked at together */

/* Of a few steps of a slice: where they begin, and blocks that have them. */
typedef struct {
  int64_t slots[STEPS];
  int active[STEPS];
  int steps;
} step_starts;

/* The next steps of an unmasked slice. */
static void next_steps(const macko_eccsr_reader *r, macko_eccsr_steps *t, step_starts *next)
{
  for (next->steps = 0; next->steps < STEPS && macko_eccsr_next_step(r, t); next->steps++) {
    next->slots[next->steps] = t->slot, next->active[next->steps] = t->active;
    t->slot += (int64_t)t->active * t->s.g * t->s.w;
  }
}

/* The entries from p on of lane `lane` of those steps; answers the one behind them. */
static int64_t write_lane(macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int lane, int64_t p)
{
  int n = 0;
  while (n < at->steps && at->active[n] > lane / s->g) n++;
  for (int k = 0; k < n; k++, p += s->w) macko_write_values(w, p, s->w, at->slots[k] + lane, at->active[k] * s->g);
  return p;
}

/* The same where values are stored as they are, in elements of 8 bytes. */
static int64_t copy_lane(macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int lane, int64_t p)
{
  const double *from = w->values;
  double *to = w->stream;
  for (int k = 0; k < at->steps && at->active[k] > lane / s->g; k++) {
    double *slot = to + at->slots[k] + lane;
    for (int j = 0; j < s->w; j++, slot += at->active[k] * s->g) __builtin_memcpy(slot, from + p++, sizeof *slot);
  }
  return p;
}

static void write_slice(const macko_csr *a, const macko_eccsr_reader *r, macko_value_writer *w, int64_t i)
{
  macko_eccsr_steps t = macko_eccsr_open_slice(r, i);
  int copied = w->value_type == MACKO_F64 && w->codec.stored_type == MACKO_F64 && !w->recode;
  int64_t next[MACKO_ECCSR_LANES];
  step_starts at;
  for (int l = 0; l < t.s.blocks * t.s.g; l++) next[l] = macko_csr_row(a, macko_eccsr_row(&t.s, r->rows, l));
  do {
    next_steps(r, &t, &at);
    for (int l = 0; l < t.s.blocks * t.s.g; l++)
      next[l] = copied ? copy_lane(w, &t.s, &at, l, next[l]) : write_lane(w, &t.s, &at, l, next[l]);
  } while (at.steps == STEPS);
}

/* Lane by lane within a step: an entry at a time. */
static void write_masked(const macko_csr *a, const macko_eccsr_reader *r, macko_value_writer *w, int64_t i)
{
  macko_eccsr_steps t = macko_eccsr_open_slice(r, i);
  int64_t next[MACKO_ECCSR_LANES];
  for (int l = 0; l < t.s.blocks * t.s.g; l++) next[l] = macko_csr_row(a, macko_eccsr_row(&t.s, r->rows, l));
  while (macko_eccsr_next_step(r, &t))
    for (int j = 0; j < t.s.w; j++)
      for (uint32_t lanes = macko_eccsr_lanes(&t, j); lanes; lanes &= lanes - 1)
        macko_write_values(w, next[__builtin_ctz(lanes)]++, 1, t.slot++, 1);
}

void macko_eccsr_write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to)
{
  macko_eccsr_reader r = macko_eccsr_open(m);
  for (; from < to; from++) {
    macko_eccsr_slice s = macko_eccsr_slice_at(r.slices, from);
    if (s.masked) write_masked(a, &r, w, from);
    else write_slice(a, &r, w, from);
  }
}
