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

enum { SIDE = 4, COLUMNS = 32 }; /* a vector's doubles; columns that are put together before they are stored past the caches */

/* Writes SIDE columns of SIDE rows, the values of a column beside each other, and columns so many values apart. What lies `ahead`
 * values behind them is asked for: no hardware follows as many rows at a time. */
static inline __attribute__((always_inline)) MACKO_AVX2 void turn(const double *const *from, int64_t done, int64_t ahead, double *to,
                                                                  int64_t apart)
{
  for (int l = 0; l < SIDE; l++) __builtin_prefetch(from[l] + done + ahead);
  const __m256d a = _mm256_loadu_pd(from[0] + done), b = _mm256_loadu_pd(from[1] + done);
  const __m256d c = _mm256_loadu_pd(from[2] + done), d = _mm256_loadu_pd(from[3] + done);
  const __m256d e = _mm256_unpacklo_pd(a, b), f = _mm256_unpackhi_pd(a, b), g = _mm256_unpacklo_pd(c, d), h = _mm256_unpackhi_pd(c, d);
  _mm256_storeu_pd(to, _mm256_permute2f128_pd(e, g, 0x20)), _mm256_storeu_pd(to + apart, _mm256_permute2f128_pd(f, h, 0x20));
  _mm256_storeu_pd(to + 2 * apart, _mm256_permute2f128_pd(e, g, 0x31));
  _mm256_storeu_pd(to + 3 * apart, _mm256_permute2f128_pd(f, h, 0x31));
}

/* Writes `count` columns of so many lanes, column after column. */
static MACKO_AVX2 void turn_columns(const double *const *from, int lanes, int64_t done, int count, int64_t ahead, double *to)
{
  int j = 0;
  for (; j + SIDE <= count; j += SIDE, done += SIDE, to += SIDE * lanes) {
    int l = 0;
    for (; l + SIDE <= lanes; l += SIDE) turn(from + l, done, ahead, to + l, lanes);
    for (; l < lanes; l++)
      for (int i = 0; i < SIDE; i++) to[i * lanes + l] = from[l][done + i];
  }
  for (; j < count; j++, done++, to += lanes)
    for (int l = 0; l < lanes; l++) to[l] = from[l][done];
}

/* Stores a value past the caches. */
static inline void store_one(double *to, const double *from)
{
  long long bits;
  memcpy(&bits, from, sizeof bits);
  _mm_stream_si64((long long *)(void *)to, bits);
}

/* Stores values past the caches, so that the old bytes are not read first. */
static MACKO_AVX2 void store_past_caches(double *to, const double *from, int64_t count)
{
  int64_t i = 0;
  for (; i < count && (uintptr_t)(to + i) % sizeof(__m256d); i++) store_one(to + i, from + i);
  for (; i + SIDE <= count; i += SIDE) _mm256_stream_pd(to + i, _mm256_loadu_pd(from + i));
  for (; i < count; i++) store_one(to + i, from + i);
}

/* Does what copy_steps does for values of 8 bytes, SIDE rows and columns at a time. Steps that the same lanes have are one
 * stretch of columns, which follow each other in the stream. */
static MACKO_AVX2 void turn_steps(const macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next)
{
  const double *from[MACKO_ECCSR_LANES];
  double columns[COLUMNS * MACKO_ECCSR_LANES];
  const int64_t ahead = (int64_t)s->steps * s->w * s->blocks * s->g; /* where rows follow each other, those of the next slice */
  int64_t done = 0;
  for (int l = 0; l < s->blocks * s->g; l++) from[l] = (const double *)w->values + next[l];
  for (int k = 0, past; k < at->steps; k = past) {
    const int lanes = at->active[k] * s->g;
    double *to = (double *)w->stream + at->slots[k];
    for (past = k + 1; past < at->steps && at->active[past] == at->active[k];) past++;
    for (int left = (past - k) * s->w, n; left; left -= n, done += n, to += n * lanes) {
      n = left < COLUMNS ? left : COLUMNS;
      turn_columns(from, lanes, done, n, ahead, w->past_caches ? columns : to);
      if (w->past_caches) store_past_caches(to, columns, n * lanes);
    }
  }
  for (int l = 0; l < s->blocks * s->g; l++) next[l] += done;
}
#endif

/* Copies values of 8 bytes, in whichever of the two ways the processor has. */
static void copy_wide_steps(const macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next)
{
#if MACKO_HAS_X86_64
  if (macko_has_avx2()) {
    turn_steps(w, s, at, next);
    return;
  }
#endif
  copy_steps(w, s, at, next, 8);
}

/* Writes the values of some steps: by plain copies with constant sizes where stored values are the matrix's own, else lane by
 * lane by the codec. */
static void write_steps(macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next)
{
  const int64_t size = w->value_type == w->codec.stored_type && !w->recode ? macko_type_bytes(w->value_type) : 0;
  if (size == 8) copy_wide_steps(w, s, at, next);
  else if (size == 4) copy_steps(w, s, at, next, 4);
  else if (size == 2) copy_steps(w, s, at, next, 2);
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
