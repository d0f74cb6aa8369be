/* Rows of doubles written column by column. */
#include "eccsr/eccsr_turn.h"

#include "core/cpu.h"

#if MACKO_HAS_X86_64
#include <immintrin.h>
#include <string.h>

enum {
  SIDE = 4, LINE = 8, /* doubles of a vector, and of a line of the cache */
  COLUMNS = 8         /* columns that are put together before they are stored past the caches */
};

/* Writes SIDE columns of SIDE rows, the values of a column beside each other, and columns so many values apart. */
static inline __attribute__((always_inline)) MACKO_AVX2 void turn(const double *const *from, int64_t done, double *to,
                                                                  int64_t apart)
{
  const __m256d a = _mm256_loadu_pd(from[0] + done), b = _mm256_loadu_pd(from[1] + done);
  const __m256d c = _mm256_loadu_pd(from[2] + done), d = _mm256_loadu_pd(from[3] + done);
  const __m256d e = _mm256_unpacklo_pd(a, b), f = _mm256_unpackhi_pd(a, b), g = _mm256_unpacklo_pd(c, d),
                h = _mm256_unpackhi_pd(c, d);
  _mm256_storeu_pd(to, _mm256_permute2f128_pd(e, g, 0x20)), _mm256_storeu_pd(to + apart, _mm256_permute2f128_pd(f, h, 0x20));
  _mm256_storeu_pd(to + 2 * apart, _mm256_permute2f128_pd(e, g, 0x31));
  _mm256_storeu_pd(to + 3 * apart, _mm256_permute2f128_pd(f, h, 0x31));
}

/* Writes `count` columns of so many lanes, column after column. */
static MACKO_AVX2 void turn_columns(const double *const *from, int lanes, int64_t done, int64_t count, double *to)
{
  int64_t j = 0;
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

/* Stores values past the caches. */
static void store_past_caches(double *to, const double *from, int64_t count)
{
  int64_t i = 0;
  for (; i < count && (uintptr_t)(to + i) % (LINE * sizeof *to); i++) store_one(to + i, from + i);
  const int64_t whole = (count - i) / LINE * LINE;
  (macko_has_avx512() ? store_lines : store_halves)(to + i, from + i, whole);
  for (i += whole; i < count; i++) store_one(to + i, from + i);
}

/* Does what macko_eccsr_turn does, with AVX2. */
static MACKO_AVX2 void turn_wide(const double *const *from, int lanes, int64_t done, int64_t count, double *to, int past_caches,
                                 macko_eccsr_ahead *ahead)
{
  double columns[COLUMNS * MACKO_ECCSR_LANES];
  for (int64_t n; count; count -= n, done += n, to += n * lanes) {
    n = count < COLUMNS ? count : COLUMNS;
    macko_eccsr_fetch(ahead, n * lanes * (int64_t)sizeof *to);
    turn_columns(from, lanes, done, n, past_caches ? columns : to);
    if (past_caches) store_past_caches(to, columns, n * lanes);
  }
}
#endif

void macko_eccsr_turn(const double *const *from, int lanes, int64_t done, int64_t count, double *to, int past_caches,
                      macko_eccsr_ahead *ahead)
{
#if MACKO_HAS_X86_64
  if (macko_has_avx2()) {
    turn_wide(from, lanes, done, count, to, past_caches, ahead);
    return;
  }
#endif
  (void)past_caches, (void)ahead;
  for (int64_t j = 0; j < count; j++)
    for (int l = 0; l < lanes; l++) *to++ = from[l][done + j];
}

void macko_eccsr_order_stores(void)
{
#if MACKO_HAS_X86_64
  __builtin_ia32_sfence();
#endif
}
