/* Doubles of the rows of a slice written into its slots past the caches. */
#include "macko/slice_turn.h"

#include "core/cpu.h"
#include "macko/layout_bits.h"

#if MACKO_HAS_X86_64
#include <immintrin.h>
#include <string.h>

enum {
  SIDE = 4, LINE = 8, /* doubles of a vector, and of a line of the cache */
  STEPS = 32          /* steps that are put together before they are stored */
};

/* Writes SIDE steps of SIDE lanes, whose rows are at values[begin[0]] and so on. */
static inline __attribute__((always_inline)) MACKO_AVX2 void turn(const double *values, const int64_t *begin, double *to)
{
  const __m256d a = _mm256_loadu_pd(values + begin[0]), b = _mm256_loadu_pd(values + begin[1]);
  const __m256d c = _mm256_loadu_pd(values + begin[2]), d = _mm256_loadu_pd(values + begin[3]);
  const __m256d e = _mm256_unpacklo_pd(a, b), f = _mm256_unpackhi_pd(a, b), g = _mm256_unpacklo_pd(c, d),
                h = _mm256_unpackhi_pd(c, d);
  _mm256_storeu_pd(to, _mm256_permute2f128_pd(e, g, 0x20));
  _mm256_storeu_pd(to + MACKO_SLICE_ROWS, _mm256_permute2f128_pd(f, h, 0x20));
  _mm256_storeu_pd(to + 2 * MACKO_SLICE_ROWS, _mm256_permute2f128_pd(e, g, 0x31));
  _mm256_storeu_pd(to + 3 * MACKO_SLICE_ROWS, _mm256_permute2f128_pd(f, h, 0x31));
}

/* Writes n steps of all lanes. The last SIDE of them may be some that have been written before. */
static MACKO_AVX2 void turn_steps(const double *values, const int64_t *begin, int64_t n, double *to)
{
  for (int64_t k = 0; n >= SIDE && k < n; k += SIDE) {
    if (k > n - SIDE) k = n - SIDE;
    for (int l = 0; l < MACKO_SLICE_ROWS; l += SIDE) turn(values + k, begin + l, to + k * MACKO_SLICE_ROWS + l);
  }
  for (int64_t k = 0; n < SIDE && k < n; k++)
    for (int l = 0; l < MACKO_SLICE_ROWS; l++) to[k * MACKO_SLICE_ROWS + l] = values[begin[l] + k];
}

/* Store `count` values, a multiple of LINE, past the caches to where a line of the cache begins. */
static MACKO_AVX2 void store_halves(double *to, const double *from, int64_t count)
{
  for (int64_t i = 0; i < count; i += SIDE) _mm256_stream_pd(to + i, _mm256_loadu_pd(from + i));
}

static MACKO_AVX512 void store_lines(double *to, const double *from, int64_t count)
{
  for (int64_t i = 0; i < count; i += LINE) _mm512_stream_pd(to + i, _mm512_loadu_pd(from + i));
}

/* Stores values, whole lines of them past the caches. The others go through the caches, as the next slice writes the rest of their
 * lines: stored past them, lines in part took longer than all the rest. */
static void store_past_caches(double *to, const double *from, int64_t count)
{
  int64_t first = (LINE - (int64_t)((uintptr_t)to / sizeof *to % LINE)) % LINE;
  if (first > count) first = count;
  const int64_t whole = (count - first) / LINE * LINE, past = first + whole;
  memcpy(to, from, (size_t)first * sizeof *to);
  (macko_has_avx512() ? store_lines : store_halves)(to + first, from + first, whole);
  memcpy(to + past, from + past, (size_t)(count - past) * sizeof *to);
}
#endif

int64_t macko_turn_past_caches(const double *values, const int64_t *begin, int64_t steps, double *slots)
{
#if MACKO_HAS_X86_64
  double together[STEPS * MACKO_SLICE_ROWS];
  if (!macko_has_avx2()) return 0;
  for (int64_t k = 0, n; k < steps; k += n) {
    n = steps - k < STEPS ? steps - k : STEPS;
    turn_steps(values + k, begin, n, together);
    store_past_caches(slots + k * MACKO_SLICE_ROWS, together, n * MACKO_SLICE_ROWS);
  }
  return steps;
#else
  (void)values, (void)begin, (void)steps, (void)slots;
  return 0;
#endif
}

void macko_order_stores(void)
{
#if MACKO_HAS_X86_64
  __builtin_ia32_sfence();
#endif
}
