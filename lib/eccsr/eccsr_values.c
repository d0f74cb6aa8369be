/* Values of slices written: entries of a csr into the slots of their lanes. */
#include "core/cpu.h"
#include "eccsr/eccsr.h"

enum { STEPS = 64 }; /* steps of a slice that are looked at together */

/* Where a few steps of a slice begin, and how many blocks have them: found once for all lanes. */
typedef struct {
  int64_t slots[STEPS];
  int active[STEPS];
  int steps;
} step_starts;

/* Takes the next steps of an unmasked slice. It needs no columns, as a row's entries are taken in their order. */
static void next_steps(const macko_eccsr_reader *r, macko_eccsr_steps *t, step_starts *next)
{
  for (next->steps = 0; next->steps < STEPS && t->k + 1 < t->s.steps; next->steps++) {
    t->active = macko_eccsr_active(&t->s, r->lengths, r->length_bytes, ++t->k, t->active);
    next->slots[next->steps] = t->slot, next->active[next->steps] = t->active;
    t->slot += (int64_t)t->active * t->s.g * t->s.w;
  }
}

/* Writes the entries from p on of one lane in those steps and returns the entry behind them. The columns of a run are as many
 * slots apart as there are lanes that have the step. */
static int64_t write_lane(macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int lane, int64_t p)
{
  int n = 0;
  while (n < at->steps && at->active[n] > lane / s->g) n++;
  for (int k = 0; k < n; k++, p += s->w) macko_write_values(w, p, s->w, at->slots[k] + lane, at->active[k] * s->g);
  return p;
}

/* Stores 8 bytes past the caches, so that the old bytes are not read first. */
static inline void store_past_caches(uint64_t *to, uint64_t bits)
{
#if MACKO_HAS_X86_64
  __builtin_ia32_movnti64((long long *)to, (long long)bits);
#else
  *to = bits;
#endif
}

/* Does the same for all lanes where values of `size` bytes are stored as they are: slots are written in their order, so that
 * stores are one stream, and the rows' entries are gathered for it. next[l] is the next entry of lane l. */
static inline __attribute__((always_inline)) void copy_steps(const macko_value_writer *w, const macko_eccsr_slice *s,
                                                             const step_starts *at, int64_t *next, int size, int past_caches)
{
  const char *from[MACKO_ECCSR_LANES];
  int64_t done = 0;
  for (int l = 0; l < s->blocks * s->g; l++) from[l] = (const char *)w->values + next[l] * size;
  for (int k = 0; k < at->steps; k++) {
    char *to = (char *)w->stream + at->slots[k] * size;
    const int lanes = at->active[k] * s->g;
    for (int j = 0; j < s->w; j++, done++, to += lanes * size)
      for (int l = 0; l < lanes; l++)
        if (past_caches) store_past_caches((uint64_t *)(void *)to + l, ((const uint64_t *)(const void *)from[l])[done]);
        else memcpy(to + l * size, from[l] + done * size, (size_t)size);
  }
  for (int l = 0; l < s->blocks * s->g; l++) next[l] += done;
}

/* Writes the values of some steps: by plain copies with constant sizes where stored values are the matrix's own, else lane by
 * lane by the codec. */
static void write_steps(macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next)
{
  const int64_t size = w->value_type == w->codec.stored_type && !w->recode ? macko_type_bytes(w->value_type) : 0;
  if (size == 8 && w->past_caches) copy_steps(w, s, at, next, 8, 1);
  else if (size == 8) copy_steps(w, s, at, next, 8, 0);
  else if (size == 4) copy_steps(w, s, at, next, 4, 0);
  else if (size == 2) copy_steps(w, s, at, next, 2, 0);
  else
    for (int l = 0; l < s->blocks * s->g; l++) next[l] = write_lane(w, s, at, l, next[l]);
}

/* Asks for the values of all rows of a slice at once: they lie anywhere in their window, and their cache lines come sooner so. */
static void fetch_rows(const macko_value_writer *w, const macko_eccsr_slice *s, const int64_t *next)
{
  int64_t size = macko_type_bytes(w->value_type), bytes = (int64_t)s->steps * s->w * size;
  for (int l = 0; l < s->blocks * s->g; l++)
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch((const char *)w->values + next[l] * size + at);
}

/* Writes the values of an unmasked slice. Its rows are fetched before only where all their steps are looked at together. */
static void write_slice(const macko_csr *a, const macko_eccsr_reader *r, macko_value_writer *w, int64_t i)
{
  macko_eccsr_steps t = macko_eccsr_open_slice(r, i);
  int64_t next[MACKO_ECCSR_LANES];
  step_starts at;
  for (int l = 0; l < t.s.blocks * t.s.g; l++) next[l] = macko_csr_row(a, macko_eccsr_row(&t.s, r->rows, l));
  if (t.s.steps <= STEPS) fetch_rows(w, &t.s, next);
  for (at.steps = STEPS; at.steps == STEPS;) {
    next_steps(r, &t, &at);
    if (at.steps) write_steps(w, &t.s, &at, next); /* a matrix without entries may have no array of values */
  }
}

/* Writes the values of a slice with masks an entry at a time: slots go lane by lane within a step and column, and each lane has
 * its place in its row. */
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

/* Stores past the caches are ordered with those of others at the end. */
void macko_eccsr_write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to)
{
  macko_eccsr_reader r = macko_eccsr_open(m);
  for (; from < to; from++) {
    macko_eccsr_slice s = macko_eccsr_slice_at(r.slices, from);
    if (s.masked) write_masked(a, &r, w, from);
    else write_slice(a, &r, w, from);
  }
#if MACKO_HAS_X86_64
  if (w->past_caches) __builtin_ia32_sfence();
#endif
}
