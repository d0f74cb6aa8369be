/* Doubles of the rows of a slice written into its slots past the caches. */
#include "macko/slice_turn.h"

#include "core/cpu.h"
#include "macko/layout_bits.h"

#if MACKO_HAS_X86_64
#include <immintrin.h>
#include <string.h>

enum {
  SIDE = 4,           /* doubles of a vector */
  LINE = 64,          /* bytes of a line of the cache */
  STEPS = 32          /* steps that are put together before they are stored */
};

/* Writes the doubles of SIDE lanes of a step into its slots. */
static inline __attribute__((always_inline)) MACKO_AVX2 void put_step(__m256d lanes, macko_type to, char *slots, int64_t slot)
{
  if (to == MACKO_F64) _mm256_storeu_pd((double *)(void *)slots + slot, lanes);
  else _mm_storeu_ps((float *)(void *)slots + slot, _mm256_cvtpd_ps(lanes));
}

/* Writes SIDE steps of SIDE lanes, whose rows are at values[begin[0]] and so on, from that slot on. */
static inline __attribute__((always_inline)) MACKO_AVX2 void turn(const double *values, const int64_t *begin, macko_type to,
                                                                  char *slots, int64_t slot)
{
  const __m256d a = _mm256_loadu_pd(values + begin[0]), b = _mm256_loadu_pd(values + begin[1]);
  const __m256d c = _mm256_loadu_pd(values + begin[2]), d = _mm256_loadu_pd(values + begin[3]);
  const __m256d e = _mm256_unpacklo_pd(a, b), f = _mm256_unpackhi_pd(a, b), g = _mm256_unpacklo_pd(c, d),
                h = _mm256_unpackhi_pd(c, d);
  put_step(_mm256_permute2f128_pd(e, g, 0x20), to, slots, slot);
  put_step(_mm256_permute2f128_pd(f, h, 0x20), to, slots, slot + MACKO_SLICE_ROWS);
  put_step(_mm256_permute2f128_pd(e, g, 0x31), to, slots, slot + 2 * MACKO_SLICE_ROWS);
  put_step(_mm256_permute2f128_pd(f, h, 0x31), to, slots, slot + 3 * MACKO_SLICE_ROWS);
}

/* Writes n steps of all lanes. The last SIDE of them may be some that have been written before. */
static inline __attribute__((always_inline)) MACKO_AVX2 void turn_to(const double *values, const int64_t *begin, int64_t n,
                                                                     macko_type to, char *slots)
{
  for (int64_t k = 0; n >= SIDE && k < n; k += SIDE) {
    if (k > n - SIDE) k = n - SIDE;
    for (int l = 0; l < MACKO_SLICE_ROWS; l += SIDE) turn(values + k, begin + l, to, slots, k * MACKO_SLICE_ROWS + l);
  }
  for (int64_t k = 0; n < SIDE && k < n; k++)
    for (int l = 0; l < MACKO_SLICE_ROWS; l++) {
      const double value = values[begin[l] + k];
      if (to == MACKO_F64) ((double *)(void *)slots)[k * MACKO_SLICE_ROWS + l] = value;
      else ((float *)(void *)slots)[k * MACKO_SLICE_ROWS + l] = (float)value;
    }
}

/* Makes a constant of the type. */
static MACKO_AVX2 void turn_steps(const double *values, const int64_t *begin, int64_t n, macko_type to, char *slots)
{
  if (to == MACKO_F64) turn_to(values, begin, n, MACKO_F64, slots);
  else turn_to(values, begin, n, MACKO_F32, slots);
}

/* Store `count` bytes, a multiple of LINE, past the caches to where a line of the cache begins. */
static MACKO_AVX2 void store_halves(char *to, const char *from, int64_t count)
{
  for (int64_t i = 0; i < count; i += LINE / 2)
    _mm256_stream_si256((__m256i *)(void *)(to + i), _mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
}

static MACKO_AVX512 void store_lines(char *to, const char *from, int64_t count)
{
  for (int64_t i = 0; i < count; i += LINE) _mm512_stream_si512((__m512i *)(void *)(to + i), _mm512_loadu_si512(from + i));
}

/* Stores bytes, whole lines of them past the caches. The others go through the caches, as the next slice writes the rest of their
 * lines: stored past them, lines in part took longer than all the rest. */
static void store_past_caches(char *to, const char *from, int64_t count)
{
  int64_t first = (LINE - (int64_t)((uintptr_t)to % LINE)) % LINE;
  if (first > count) first = count;
  const int64_t whole = (count - first) / LINE * LINE, past = first + whole;
  memcpy(to, from, (size_t)first);
  (macko_has_avx512() ? store_lines : store_halves)(to + first, from + first, whole);
  memcpy(to + past, from + past, (size_t)(count - past));
}
#endif

int64_t macko_turn_past_caches(const double *values, const int64_t *begin, int64_t steps, macko_type to, void *slots)
{
#if MACKO_HAS_X86_64
  const int64_t step = MACKO_SLICE_ROWS * (to == MACKO_F64 ? 8 : 4); /* bytes of it */
  double together[STEPS * MACKO_SLICE_ROWS];
  if (!macko_has_avx2()) return 0;
  for (int64_t k = 0, n; k < steps; k += n) {
    n = steps - k < STEPS ? steps - k : STEPS;
    turn_steps(values + k, begin, n, to, (char *)together);
    store_past_caches((char *)slots + k * step, (const char *)together, n * step);
  }
  return steps;
#else
  (void)values, (void)begin, (void)steps, (void)to, (void)slots;
  return 0;
#endif
}

void macko_order_stores(void)
{
#if MACKO_HAS_X86_64
  __builtin_ia32_sfence();
#endif
}
