/* Of macko_slice_kernel.h: vectors of WIDTH lanes, what they are loaded from, and where they are stored to. */

#define INLINE static inline __attribute__((always_inline)) TARGET

typedef double NAME(f64) __attribute__((vector_size(8 * WIDTH)));
typedef float NAME(f32) __attribute__((vector_size(4 * WIDTH)));
typedef int64_t NAME(i64) __attribute__((vector_size(8 * WIDTH)));
typedef int32_t NAME(i32) __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t NAME(u32) __attribute__((vector_size(4 * WIDTH)));
/* The same in memory, at any element. */
typedef double NAME(f64_at) __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
typedef float NAME(f32_at) __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef int32_t NAME(i32_at) __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
typedef uint32_t NAME(u32_at) __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));

#define CONVERT(type, v) __builtin_convertvector(v, NAME(type))

#ifdef __clang__
#define LOOK_UP(to, table, codes) \
  for (int l = 0; l < WIDTH; l++) (to)[l] = (table)[(codes)[l]]
#else
#define LOOK_UP(to, table, codes) (to) = __builtin_shuffle(table, codes)
#endif

/* ---- values ---- */

INLINE void NAME(half_values)(NAME(u32) h, NAME(f64) *to)
{
  /* As macko_f16_to_f32: the exponent is moved by a multiplication; infinities and NaNs, where `big` is all ones, by hand. */
  NAME(u32) rest = h & 0x7fff, sign = (h & 0x8000) << 16, big = (NAME(u32))((NAME(i32))rest >= 0x7c00);
  NAME(u32) scaled = (NAME(u32))((NAME(f32))(rest << 13) * 0x1p112f), special = 0x7f800000u | (rest & 0x3ff) << 13;
  *to = CONVERT(f64, (NAME(f32))(sign | (big & special) | (~big & scaled)));
}

/* Values of step k of WIDTH lanes from `lane` on. */
INLINE void NAME(values)(const slice_values *v, int stored, int64_t k, int lane, NAME(f64) few, NAME(f64) *to)
{
  int64_t byte_row = k / 4 * MACKO_SLICE_ROWS + lane, half_row = k / 2 * MACKO_SLICE_ROWS + lane;
  /* Hardware follows a stream to the end of a page only. Into the second-level cache: the misses that the first level can wait
   * for are needed for x. */
  if (stored == DOUBLES || stored == MACKO_F64) {
    int64_t row = stored == DOUBLES ? k - v->from : k, ahead = stored == DOUBLES ? v->ahead : PREFETCH_BYTES;
    const double *at = (stored == DOUBLES ? v->doubles : (const double *)v->start) + row * MACKO_SLICE_ROWS + lane;
    if (lane % 8 == 0) __builtin_prefetch((const char *)at + ahead, 0, 2);
    *to = *(const NAME(f64_at) *)at;
  } else if (stored == MACKO_F32) {
    const float *at = (const float *)v->start + k * MACKO_SLICE_ROWS + lane;
    if (lane % 16 == 0) __builtin_prefetch((const char *)at + PREFETCH_BYTES, 0, 2);
    *to = CONVERT(f64, *(const NAME(f32_at) *)at);
  } else if (stored == MACKO_I8) {
    NAME(u32) words = *(const NAME(u32_at) *)((const uint32_t *)v->start + byte_row);
    *to = CONVERT(f64, (NAME(i32))(words << (24 - 8 * (int)(k % 4))) >> 24);
  } else if (stored == FEW_VALUES) {
    NAME(u32) words = *(const NAME(u32_at) *)((const uint32_t *)v->start + byte_row);
    LOOK_UP(*to, few, CONVERT(i64, (NAME(i32))(words >> 8 * (int)(k % 4) & (WIDTH - 1))));
  } else if (stored == MACKO_U8 || stored == MACKO_U16) {
    double found[WIDTH];
    for (int l = 0; l < WIDTH; l++)
      found[l] = stored == MACKO_U8 ? v->wide[((const uint8_t *)v->start)[4 * (byte_row + l) + k % 4]]
                                    : macko_float_at(v->table_type, v->table,
                                                     ((const uint16_t *)v->start)[2 * (half_row + l) + k % 2]);
    memcpy(to, found, sizeof *to);
  } else {
    NAME(u32) half = *(const NAME(u32_at) *)((const uint32_t *)v->start + half_row) >> 16 * (int)(k % 2) & 0xffff;
    if (stored == MACKO_BF16) *to = CONVERT(f64, (NAME(f32))(half << 16));
    else NAME(half_values)(half, to);
  }
}

/* Steps of so many lanes from `first` on, put in the room as doubles. */
static __attribute__((noinline)) TARGET void NAME(widen)(slice_values *v, int64_t from, int steps, int first, int lanes)
{
#define WIDEN(stored) \
  for (int k = 0; k < steps; k++) \
    for (int l = first; l < first + lanes; l += WIDTH) { \
      NAME(values)(v, stored, from + k, l, none, &wide); \
      *(NAME(f64_at) *)(v->room + k * MACKO_SLICE_ROWS + l) = wide; \
    }
  NAME(f64) none = {0}, wide;
  switch (v->stored) {
  case MACKO_F32: WIDEN(MACKO_F32); break;
  case MACKO_I8: WIDEN(MACKO_I8); break;
  case MACKO_U8: WIDEN(MACKO_U8); break;
  case MACKO_U16: WIDEN(MACKO_U16); break;
  case MACKO_BF16: WIDEN(MACKO_BF16); break;
  default: WIDEN(MACKO_F16);
  }
#undef WIDEN
}

/* Makes ready the values of steps from `from` on of so many lanes, and answers of how many steps: where they are to be widened a
 * block at the most. */
INLINE int64_t NAME(open_steps)(slice_values *v, int stored, int64_t from, int64_t to, int first, int lanes)
{
  if (stored != DOUBLES) return to - from;
  v->from = from;
  if (v->stored == MACKO_F64) {
    v->doubles = (const double *)v->start + from * MACKO_SLICE_ROWS, v->ahead = PREFETCH_BYTES;
    return to - from;
  }
  if (to - from > BLOCK_STEPS) to = from + BLOCK_STEPS;
  v->doubles = v->room, v->ahead = 0;
  NAME(widen)(v, from, (int)(to - from), first, lanes);
  return to - from;
}

/* ---- x and y ---- */

INLINE void NAME(load)(macko_type vector, const void *array, int64_t i, NAME(f64) *to)
{
  if (vector == MACKO_F64) *to = *(const NAME(f64_at) *)((const double *)array + i);
  else *to = CONVERT(f64, *(const NAME(f32_at) *)((const float *)array + i));
}

INLINE void NAME(store)(macko_type vector, void *array, int64_t i, NAME(f64) v)
{
  if (vector == MACKO_F64) *(NAME(f64_at) *)((double *)array + i) = v;
  else *(NAME(f32_at) *)((float *)array + i) = CONVERT(f32, v);
}

INLINE void NAME(gather)(macko_type vector, const void *array, const int32_t *cols, NAME(f64) *to)
{
#define X(i) (vector == MACKO_F64 ? ((const double *)array)[cols[i]] : (double)((const float *)array)[cols[i]])
#if WIDTH == 8
  *to = (NAME(f64)){X(0), X(1), X(2), X(3), X(4), X(5), X(6), X(7)};
#elif WIDTH == 4
  *to = (NAME(f64)){X(0), X(1), X(2), X(3)};
#else
  *to = (NAME(f64)){X(0), X(1)};
#endif
#undef X
}

/* Where WIDTH lanes whose columns are nearby find x behind that of the first: their distances, and the distances that occur. */
typedef struct {
  NAME(i64) places;
  uint32_t bits;
} NAME(neighbours);

INLINE void NAME(find_neighbours)(const int32_t *cols, NAME(neighbours) *to)
{
  NAME(u32) apart = *(const NAME(u32_at) *)cols - (uint32_t)cols[0], bits = ((NAME(u32)){0} + 1) << apart;
  to->places = CONVERT(i64, apart), to->bits = 0;
  for (int l = 0; l < WIDTH; l++) to->bits |= bits[l];
}

INLINE void NAME(load_neighbours)(macko_type vector, const void *array, int64_t col, const NAME(neighbours) *at, NAME(f64) *to)
{
#if WIDTH == 8
  __m512d low, high;
  if (vector == MACKO_F64) {
    low = _mm512_maskz_loadu_pd((__mmask8)at->bits, (const double *)array + col);
    high = _mm512_maskz_loadu_pd((__mmask8)(at->bits >> 8), (const double *)array + col + 8);
  } else {
    low = _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)at->bits, (const float *)array + col));
    high = _mm512_cvtps_pd(_mm256_maskz_loadu_ps((__mmask8)(at->bits >> 8), (const float *)array + col + 8));
  }
  *to = (NAME(f64))_mm512_permutex2var_pd(low, (__m512i)at->places, high);
#else
  (void)vector, (void)array, (void)col, (void)at, (void)to;
#endif
}

INLINE int NAME(all_lanes)(NAME(i32) lanes)
{
#if WIDTH == 8
  return _mm256_movemask_ps((__m256)lanes) == 255;
#elif WIDTH == 4
  return _mm_movemask_ps((__m128)lanes) == 15;
#else
  return lanes[0] && lanes[1];
#endif
}

/* Of lanes. */
#if WIDTH == 8
static const NAME(u32) NAME(numbers) = {0, 1, 2, 3, 4, 5, 6, 7};
#elif WIDTH == 4
static const NAME(u32) NAME(numbers) = {0, 1, 2, 3};
#else
static const NAME(u32) NAME(numbers) = {0, 1};
#endif

/* How lanes lie whose columns are so far from the first one's in every step. */
INLINE int NAME(how_apart)(NAME(u32) apart)
{
  if (NAME(all_lanes)(apart == NAME(numbers))) return CONSECUTIVE;
  return WIDTH == 8 && NAME(all_lanes)(apart < NEAR) ? NEARBY : SCATTERED;
}
