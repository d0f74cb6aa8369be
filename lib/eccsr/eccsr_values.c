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

enum {
  SIDE = 4, LINE = 8, /* doubles of a vector, and of a line of the cache */
  COLUMNS = 32        /* columns that are put together before they are stored past the caches */
};

/* Writes SIDE columns of SIDE rows, the values of a column beside each other, and columns so many values apart. */
static inline __attribute__((always_inline)) MACKO_AVX2 void turn(const double *const *from, int64_t done, double *to, int64_t apart)
{
  const __m256d a = _mm256_loadu_pd(from[0] + done), b = _mm256_loadu_pd(from[1] + done);
  const __m256d c = _mm256_loadu_pd(from[2] + done), d = _mm256_loadu_pd(from[3] + done);
  const __m256d e = _mm256_unpacklo_pd(a, b), f = _mm256_unpackhi_pd(a, b), g = _mm256_unpacklo_pd(c, d), h = _mm256_unpackhi_pd(c, d);
  _mm256_storeu_pd(to, _mm256_permute2f128_pd(e, g, 0x20)), _mm256_storeu_pd(to + apart, _mm256_permute2f128_pd(f, h, 0x20));
  _mm256_storeu_pd(to + 2 * apart, _mm256_permute2f128_pd(e, g, 0x31));
  _mm256_storeu_pd(to + 3 * apart, _mm256_permute2f128_pd(f, h, 0x31));
}

/* Writes `count` columns of so many lanes, column after column. */
static MACKO_AVX2 void turn_columns(const double *const *from, int lanes, int64_t done, int count, double *to)
{
  int j = 0;
  for (; j + SIDE <= count; j += SIDE, done += SIDE, to += SIDE * lanes) {
    int l = 0;
    for (; l + SIDE <= lanes; l += SIDE) turn(from + l, done, to + l, lanes);
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

/* Store `count` values, a multiple of LINE, past the caches to where a line of the cache begins. Lines that are written at once
 * were up to an eighth faster than halves of them. */
static MACKO_AVX2 void store_halves(double *to, const double *from, int64_t count)
{
  for (int64_t i = 0; i < count; i += SIDE) _mm256_stream_pd(to + i, _mm256_loadu_pd(from + i));
}

static MACKO_AVX512 void store_lines(double *to, const double *from, int64_t count)
{
  for (int64_t i = 0; i < count; i += LINE) _mm512_stream_pd(to + i, _mm512_loadu_pd(from + i));
}

/* Stores values past the caches, so that the old bytes are not read first. */
static void store_past_caches(double *to, const double *from, int64_t count)
{
  int64_t i = 0;
  for (; i < count && (uintptr_t)(to + i) % (LINE * sizeof *to); i++) store_one(to + i, from + i);
  const int64_t whole = (count - i) / LINE * LINE;
  (macko_has_avx512() ? store_lines : store_halves)(to + i, from + i, whole);
  for (i += whole; i < count; i++) store_one(to + i, from + i);
}

/* Writes `count` columns, at most COLUMNS, of so many lanes, column after column from that slot on. Lane l has them in from[l],
 * `done` values further on. */
typedef void (*write_stretch)(const macko_value_writer *w, const double *const *from, int lanes, int64_t done, int count,
                              int64_t slot);

/* Does so where doubles are stored as they are. */
static MACKO_AVX2 void turn_stretch(const macko_value_writer *w, const double *const *from, int lanes, int64_t done, int count,
                                    int64_t slot)
{
  double columns[COLUMNS * MACKO_ECCSR_LANES], *to = (double *)w->stream + slot;
  turn_columns(from, lanes, done, count, w->past_caches ? columns : to);
  if (w->past_caches) store_past_caches(to, columns, (int64_t)count * lanes);
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
static MACKO_AVX2 void byte_stretch(const macko_value_writer *w, const double *const *from, int lanes, int64_t done, int count,
                                    int64_t slot)
{
  int8_t *to = (int8_t *)w->stream + slot;
  int j = 0;
  for (; j + SIDE <= count; j += SIDE, done += SIDE, to += SIDE * lanes) {
    int l = 0;
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
                            write_stretch write)
{
  const double *from[MACKO_ECCSR_LANES];
  int64_t done = 0;
  for (int l = 0; l < s->blocks * s->g; l++) from[l] = (const double *)w->values + next[l];
  for (int k = 0, past; k < at->steps; k = past) {
    const int lanes = at->active[k] * s->g;
    int64_t slot = at->slots[k];
    for (past = k + 1; past < at->steps && at->active[past] == at->active[k];) past++;
    for (int left = (past - k) * s->w, n; left; left -= n, done += n, slot += n * lanes) {
      n = left < COLUMNS ? left : COLUMNS;
      write(w, from, lanes, done, n, slot);
    }
  }
  for (int l = 0; l < s->blocks * s->g; l++) next[l] += done;
}
#endif

/* Writes the values of some steps of a matrix of doubles many at a time, and gives 1, where the processor and the codec allow
 * it. */
static int write_wide_steps(const macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next)
{
#if MACKO_HAS_X86_64
  const macko_type to = w->codec.stored_type;
  if (w->value_type != MACKO_F64 || (to != MACKO_F64 && to != MACKO_I8) || w->recode || !macko_has_avx2()) return 0;
  write_stretches(w, s, at, next, to == MACKO_F64 ? turn_stretch : byte_stretch);
  return 1;
#else
  (void)w, (void)s, (void)at, (void)next;
  return 0;
#endif
}

/* Writes the values of some steps: by plain copies with constant sizes where stored values are the matrix's own, else lane by
 * lane by the codec. */
static void write_steps(macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, int64_t *next)
{
  const int64_t size = w->value_type == w->codec.stored_type && !w->recode ? macko_type_bytes(w->value_type) : 0;
  if (write_wide_steps(w, s, at, next)) return;
  if (size == 8) copy_steps(w, s, at, next, 8);
  else if (size == 4) copy_steps(w, s, at, next, 4);
  else if (size == 2) copy_steps(w, s, at, next, 2);
  else
    for (int l = 0; l < s->blocks * s->g; l++) next[l] = write_lane(w, s, at, l, next[l]);
}

/* Reads a byte of each line of the values that the lanes have in those steps: they lie anywhere in their window, and so many reads
 * at once wait for memory together. Prefetches would not do, as some processors drop them where many are under way. */
static void fetch_values(const macko_value_writer *w, const macko_eccsr_slice *s, const step_starts *at, const int64_t *next)
{
  enum { LINE_BYTES = 64 };
  const int64_t size = macko_type_bytes(w->value_type);
  int n = at->steps; /* of the lane, which are no more than those of the lane before it */
  for (int l = 0; l < s->blocks * s->g; l++) {
    const volatile char *row = (const volatile char *)w->values + next[l] * size;
    while (n > 0 && at->active[n - 1] <= l / s->g) n--;
    for (int64_t byte = 0; byte < n * s->w * size; byte += LINE_BYTES) (void)row[byte];
  }
}

/* Writes the values of an unmasked slice. */
static void write_slice(const macko_csr *a, const macko_eccsr_reader *r, macko_value_writer *w, int64_t i)
{
  macko_eccsr_steps t = macko_eccsr_open_slice(r, i);
  int64_t next[MACKO_ECCSR_LANES];
  step_starts at;
  for (int l = 0; l < t.s.blocks * t.s.g; l++) next[l] = macko_csr_row(a, macko_eccsr_row(&t.s, r->rows, l));
  for (at.steps = STEPS; at.steps == STEPS;) {
    next_steps(r, &t, &at);
    if (!at.steps) break; /* a matrix without entries may have no array of values */
    fetch_values(w, &t.s, &at, next);
    write_steps(w, &t.s, &at, next);
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
