/* Values of slices written: entries of a csr into the slots of their lanes. */
#include "core/cpu.h"
#include "eccsr/eccsr.h"
#include "eccsr/eccsr_turn.h"

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

/* Copies the values of all lanes where values of `size` bytes are stored as they are: slots are written in their order, so that
 * stores are one stream, and the rows' entries are gathered for it. next[l] is the next entry of lane l. */
static inline __attribute__((always_inline)) void copy_steps(const macko_value_writer *w, const macko_eccsr_slice *s,
                                                             const step_starts *at, int64_t *next, int size)
{
  const char *from[MACKO_ECCSR_LANES];
  int64_t done = 0;
  for (int l = 0; l < s->blocks * s->g; l++) from[l] = (const char *)w->values + next[l] * size;
  for (int k = 0; k < at->steps; k++) {
    char *to = (char *)w->stream + at->slots[k] * size;
    const int lanes = at->active[k] * s->g;
    for (int j = 0; j < s->w; j++, done++, to += lanes * size)
      for (int l = 0; l < lanes; l++) memcpy(to + l * size, from[l] + done * size, (size_t)size);
  }
  for (int l = 0; l < s->blocks * s->g; l++) next[l] += done;
}

#if MACKO_HAS_X86_64
#include <immintrin.h>

enum { SIDE = 4 }; /* doubles of a vector */

/* Writes `count` columns of so many lanes, column after column from that slot on. Lane l has them in from[l], `done` values
 * further on. What will be read later is fetched meanwhile. */
typedef void (*write_stretch)(const macko_value_writer *w, const double *const *from, int lanes, int64_t done, int64_t count,
                              int64_t slot, macko_eccsr_ahead *ahead);

/* Does so where doubles are stored as they are. */
static void turn_stretch(const macko_value_writer *w, const double *const *from, int lanes, int64_t done, int64_t count,
                         int64_t slot, macko_eccsr_ahead *ahead)
{
  macko_eccsr_turn(from, lanes, done, count, (double *)w->stream + slot, w->past_caches, ahead);
}

/* Gives SIDE doubles, all whole numbers of 8 bits, as integers of 32 bits. */
static inline __attribute__((always_inline)) MACKO_AVX2 __m128i integers_at(const double *from)
{
  return _mm256_cvttpd_epi32(_mm256_loadu_pd(from));
}

/* Writes SIDE columns of SIDE rows as bytes: a row is packed into four bytes beside those of the others, and a shuffle puts the
 * bytes of each column together. */
static inline __attribute__((always_inline)) MACKO_AVX2 void turn_bytes(const double *const *from, int64_t done, int8_t *to,
                                                                        int64_t apart)
{
  const __m128i columns = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m128i one = _mm_packs_epi32(integers_at(from[0] + done), integers_at(from[1] + done));
  const __m128i other = _mm_packs_epi32(integers_at(from[2] + done), integers_at(from[3] + done));
  int32_t bytes[SIDE];
  _mm_storeu_si128((__m128i *)bytes, _mm_shuffle_epi8(_mm_packs_epi16(one, other), columns));
  for (int i = 0; i < SIDE; i++) memcpy(to + i * apart, &bytes[i], SIDE);
}

/* Does what turn_stretch does where doubles are stored as integers of 8 bits, which all of them are. */
static MACKO_AVX2 void byte_stretch(const macko_value_writer *w, const double *const *from, int lanes, int64_t done, int64_t count,
                                    int64_t slot, macko_eccsr_ahead *ahead)
{
  int8_t *to = (int8_t *)w->stream + slot;
  int64_t j = 0;
  for (; j + SIDE <= count; j += SIDE, done += SIDE, to += SIDE * lanes) {
    int l = 0;
    macko_eccsr_fetch(ahead, SIDE * lanes * (int64_t)sizeof **from);
    for (; l + SIDE <= lanes; l += SIDE) turn_bytes(from + l, done, to + l, lanes);
    for (; l < lanes; l++)
      for (int i = 0; i < SIDE; i++) to[i * lanes + l] = (int8_t)macko_convert(MACKO_F64, MACKO_I8, from[l], done + i);
  }
  for (; j < count; j++, done++, to += lanes)
    for (int l = 0; l < lanes; l++) to[l] = (int8_t)macko_convert(MACKO_F64, MACKO_I8, from[l], done);
}

/* Does what copy_steps does for doubles, a stretch at a time: steps that the same lanes have, whose columns follow each other in
 * the stream. */
static void write_stretches(const macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next,
                            write_stretch write, macko_eccsr_ahead *ahead)
{
  const double *from[MACKO_ECCSR_LANES];
  int64_t done = 0;
  for (int l = 0; l < s->blocks * s->g; l++) from[l] = (const double *)w->values + next[l];
  for (int k = 0, past; k < at->steps; k = past) {
    for (past = k + 1; past < at->steps && at->active[past] == at->active[k];) past++;
    const int64_t count = (int64_t)(past - k) * s->w;
    write(w, from, at->active[k] * s->g, done, count, at->slots[k], ahead);
    done += count;
  }
  for (int l = 0; l < s->blocks * s->g; l++) next[l] += done;
}
#endif

/* Writes the values of some steps of a matrix of doubles many at a time, and gives 1, where the processor and the codec allow
 * it. */
static int write_wide_steps(const macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next,
                            macko_eccsr_ahead *ahead)
{
#if MACKO_HAS_X86_64
  const macko_type to = w->codec.stored_type;
  if (w->value_type != MACKO_F64 || (to != MACKO_F64 && to != MACKO_I8) || w->recode || !macko_has_avx2()) return 0;
  write_stretches(w, s, at, next, to == MACKO_F64 ? turn_stretch : byte_stretch, ahead);
  return 1;
#else
  (void)w, (void)s, (void)at, (void)next, (void)ahead;
  return 0;
#endif
}

/* Writes the values of some steps: by plain copies with constant sizes where stored values are the matrix's own, else lane by
 * lane by the codec. */
static void write_steps(macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next,
                        macko_eccsr_ahead *ahead)
{
  const int64_t size = w->value_type == w->codec.stored_type && !w->recode ? macko_type_bytes(w->value_type) : 0;
  if (write_wide_steps(w, s, at, next, ahead)) return;
  if (size == 8) copy_steps(w, s, at, next, 8);
  else if (size == 4) copy_steps(w, s, at, next, 4);
  else if (size == 2) copy_steps(w, s, at, next, 2);
  else
    for (int l = 0; l < s->blocks * s->g; l++) next[l] = write_lane(w, s, at, l, next[l]);
}

/* Sets *ahead to the values of an unmasked slice: its rows lie anywhere in their window. */
static void look_ahead(const macko_csr *a, const macko_eccsr_reader *r, const macko_value_writer *w, int64_t i,
                       macko_eccsr_ahead *ahead)
{
  const macko_eccsr_slice s = macko_eccsr_slice_at(r->slices, i);
  const int64_t size = macko_type_bytes(w->value_type);
  macko_eccsr_start_ahead(ahead);
  for (int l = 0; !s.masked && l < s.blocks * s.g; l++) {
    const int64_t row = macko_eccsr_row(&s, r->rows, l), first = macko_csr_row(a, row);
    macko_eccsr_add_ahead(ahead, (const char *)w->values + first * size, (macko_csr_row(a, row + 1) - first) * size);
  }
}

/* Writes the values of an unmasked slice, and fetches all that is ahead. */
static void write_slice(const macko_csr *a, const macko_eccsr_reader *r, macko_value_writer *w, int64_t i,
                        macko_eccsr_ahead *ahead)
{
  macko_eccsr_steps t = macko_eccsr_open_slice(r, i);
  int64_t next[MACKO_ECCSR_LANES];
  step_starts at;
  for (int l = 0; l < t.s.blocks * t.s.g; l++) next[l] = macko_csr_row(a, macko_eccsr_row(&t.s, r->rows, l));
  for (at.steps = STEPS; at.steps == STEPS;) {
    next_steps(r, &t, &at);
    if (!at.steps) break; /* a matrix without entries may have no array of values */
    write_steps(w, &t.s, &at, next, ahead);
  }
  macko_eccsr_fetch(ahead, INT64_MAX);
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

/* Values that are in no cache are fetched two slices before: one is often too late. A piece of rows has just been made, and is in
 * one. Stores past the caches are ordered with those of others at the end. */
void macko_eccsr_write_values(const macko_csr *a, const macko_matrix *m, macko_value_writer *w, int64_t from, int64_t to)
{
  enum { SLICES_AHEAD = 2 };
  macko_eccsr_reader r = macko_eccsr_open(m);
  const int far = !w->in_pieces && m->nnz * macko_type_bytes(w->value_type) > MACKO_CACHED_VALUES;
  macko_eccsr_ahead ahead;
  macko_eccsr_start_ahead(&ahead);
  for (; from < to; from++) {
    macko_eccsr_slice s = macko_eccsr_slice_at(r.slices, from);
    if (far && from + SLICES_AHEAD < to) look_ahead(a, &r, w, from + SLICES_AHEAD, &ahead);
    if (s.masked) write_masked(a, &r, w, from);
    else write_slice(a, &r, w, from, &ahead);
  }
  if (w->past_caches) macko_eccsr_order_stores();
}
