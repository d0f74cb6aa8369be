/* The loops of y = alpha op(A) x + beta y from layout slice for one vector width; included once a width, with
 *   WIDTH   f64 elements a vector
 *   TARGET  an attribute that names the instruction set, or nothing
 *   NAME(x) a name of its own for each width
 * 32 rows at a time, a vector across rows; a pass holds the sums of PARTS vectors of rows in registers. Where the columns of a
 * vector are consecutive x is loaded, elsewhere element by element: a gather instruction is no faster where it was measured. */

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

/* Codes into a table of at most WIDTH values, which stays in a register. */
enum { NAME(FEW) = 100 };
#define FEW_VALUES NAME(FEW)
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
  int element = stored == MACKO_F64 ? 8 : stored == MACKO_F32 ? 4 : 0;
  if (element && lane * element % 64 == 0)
    __builtin_prefetch((const char *)v->start + element * (k * MACKO_SLICE_ROWS + lane) + PREFETCH_BYTES, 0, 2);
  if (stored == MACKO_F64) *to = *(const NAME(f64_at) *)((const double *)v->start + k * MACKO_SLICE_ROWS + lane);
  else if (stored == MACKO_F32) *to = CONVERT(f64,
                                              *(const NAME(f32_at) *)((const float *)v->start + k * MACKO_SLICE_ROWS + lane));
  else if (stored == MACKO_I8) {
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

/* How lanes lie whose columns are so far from the first one's in every step. */
INLINE int NAME(how_apart)(NAME(u32) apart)
{
#if WIDTH == 8
  static const NAME(u32) count = {0, 1, 2, 3, 4, 5, 6, 7};
#elif WIDTH == 4
  static const NAME(u32) count = {0, 1, 2, 3};
#else
  static const NAME(u32) count = {0, 1};
#endif
  if (NAME(all_lanes)(apart == count)) return CONSECUTIVE;
  return WIDTH == 8 && NAME(all_lanes)(apart < NEAR) ? NEARBY : SCATTERED;
}

/* ---- columns: a block of steps at a time, so that the loads of x find their addresses ready in memory ---- */

/* Columns of steps from `from` on for all lanes; lanes without the step get column 0, which is there. *at holds each lane's
 * column of the step before `from` (its base column where from is 0). look: see how columns lie; a vector one of whose lanes
 * lacks a step counts as scattered. */
INLINE void NAME(columns_as)(const open_slice *o, int64_t from, int steps, int32_t *at, column_block *block, int listed,
                             int masked, int look)
{
  enum { GROUPS = MACKO_SLICE_ROWS / WIDTH, PART = GROUPS < 4 ? GROUPS : 4 };
  int bits = o->s.gap_bits;
  uint32_t mask = listed ? 0 : 0xffffffffu >> (32 - bits);
  for (int first = 0; first < GROUPS; first += PART) {
    NAME(u32) cols[PART], apart[PART];
    NAME(i32) same[PART];
#pragma GCC unroll 8
    for (int g = 0; g < PART; g++) {
      cols[g] = *(const NAME(u32_at) *)(at + (first + g) * WIDTH);
      apart[g] = cols[g] - cols[g][0], same[g] = ~(NAME(i32)){0};
    }
    for (int k = 0; k < steps; k++) {
      int64_t gap = from + k - 1;
      const uint32_t *words = o->gaps + gap * bits / 32 * MACKO_SLICE_ROWS + first * WIDTH;
      int shift = (int)(gap * bits % 32), walk = !listed && gap >= 0;
      uint32_t distance = listed && gap >= 0 ? o->gaps[gap] : 0;
      if (walk && shift == 0)
        for (int line = 0; line < PART * WIDTH / 16; line++)
          __builtin_prefetch((const char *)(words + line * 16) + PREFETCH_BYTES, 0, 2);
#pragma GCC unroll 8
      for (int g = 0; g < PART; g++) {
        NAME(u32) here;
        if (walk) cols[g] += (*(const NAME(u32_at) *)(words + g * WIDTH) >> shift & mask) + 1;
        here = listed ? cols[g] + distance : cols[g];
        if (masked) {
          NAME(i32) active = *(const NAME(i32_at) *)(o->lengths + (first + g) * WIDTH) > (int32_t)(from + k);
          here &= (NAME(u32))active, same[g] &= active;
        }
        *(NAME(u32_at) *)(block->cols + k * MACKO_SLICE_ROWS + (first + g) * WIDTH) = here;
        if (look) same[g] &= here - here[0] == apart[g];
      }
    }
#pragma GCC unroll 8
    for (int g = 0; g < PART; g++) {
      *(NAME(u32_at) *)(at + (first + g) * WIDTH) = cols[g];
      block->run[first + g] = look && NAME(all_lanes)(same[g]) ? NAME(how_apart)(apart[g]) : SCATTERED;
    }
  }
}

static __attribute__((noinline)) TARGET void NAME(columns)(const open_slice *o, int64_t from, int steps, int masked, int32_t *at,
                                                           column_block *block)
{
  switch ((o->s.gap_bits == 0) * 4 + masked * 2 + o->look) {
  case 0: NAME(columns_as)(o, from, steps, at, block, 0, 0, 0); break;
  case 1: NAME(columns_as)(o, from, steps, at, block, 0, 0, 1); break;
  case 2: NAME(columns_as)(o, from, steps, at, block, 0, 1, 0); break;
  case 3: NAME(columns_as)(o, from, steps, at, block, 0, 1, 1); break;
  case 4: NAME(columns_as)(o, from, steps, at, block, 1, 0, 0); break;
  case 5: NAME(columns_as)(o, from, steps, at, block, 1, 0, 1); break;
  case 6: NAME(columns_as)(o, from, steps, at, block, 1, 1, 0); break;
  default: NAME(columns_as)(o, from, steps, at, block, 1, 1, 1);
  }
}

/* Gaps of WIDTH joint codes, four bytes apart. */
INLINE void NAME(pair_gaps)(const uint32_t *gaps, const uint8_t *codes, NAME(u32) *to)
{
#define GAP(i) gaps[codes[4 * (i)]]
#if WIDTH == 8
  *to = (NAME(u32)){GAP(0), GAP(1), GAP(2), GAP(3), GAP(4), GAP(5), GAP(6), GAP(7)};
#elif WIDTH == 4
  *to = (NAME(u32)){GAP(0), GAP(1), GAP(2), GAP(3)};
#else
  *to = (NAME(u32)){GAP(0), GAP(1)};
#endif
#undef GAP
}

/* The same as columns, where the gaps are those of the codes. */
static __attribute__((noinline)) TARGET void NAME(pair_columns)(const open_slice *o, const slice_values *v, int64_t from,
                                                                int steps, int masked, int32_t *at, column_block *block)
{
  for (int first = 0; first < MACKO_SLICE_ROWS; first += WIDTH) {
    NAME(u32) cols = *(const NAME(u32_at) *)(at + first), gap, apart = {0}, here;
    NAME(i32) same = ~(NAME(i32)){0}, there;
    for (int k = 0; k < steps; k++) {
      const uint8_t *codes = (const uint8_t *)v->start + ((from + k) / 4 * MACKO_SLICE_ROWS + first) * 4 + (from + k) % 4;
      NAME(pair_gaps)(v->pair_gaps, codes, &gap);
      there = *(const NAME(i32_at) *)(o->lengths + first) > (int32_t)(from + k);
      cols += gap, here = masked ? cols & (NAME(u32))there : cols;
      *(NAME(u32_at) *)(block->cols + k * MACKO_SLICE_ROWS + first) = here;
      if (k == 0) apart = here - here[0];
      same &= here - here[0] == apart;
      if (masked) same &= there;
    }
    *(NAME(u32_at) *)(at + first) = cols;
    block->run[first / WIDTH] = o->look && NAME(all_lanes)(same) ? NAME(how_apart)(apart) : SCATTERED;
  }
}

/* ---- passes over the lanes from `first` on that fit into `parts` vectors ---- */

/* sum[j * parts + p] += a x in the lanes where active is all ones. */
INLINE void NAME(add_masked)(NAME(f64) *sum, NAME(f64) a, NAME(f64) x, NAME(i32) active)
{
#if WIDTH == 8
  *sum = (NAME(f64))_mm512_mask3_fmadd_pd((__m512d)a, (__m512d)x, (__m512d)*sum, _mm256_movepi32_mask((__m256i)active));
#else
  *sum += (NAME(f64))((NAME(i64))(a * x) & CONVERT(i64, active));
#endif
}

/* Steps from to from + steps - 1, whose columns are in *block. look: some vectors of lanes have columns that are consecutive or
 * nearby, in all steps of the block, so that the branch on it is foreseen; such lanes all have these steps. */
INLINE void NAME(block_steps)(const open_slice *o, const column_block *block, const slice_values *v, const macko_product *q,
                              int64_t from, int steps, int masked, int look, int first, NAME(f64) few, NAME(f64) *sum,
                              int parts, int stored, macko_type vector, macko_op op, int group)
{
  NAME(neighbours) near[4];
  for (int p = 0; look && p < parts; p++)
    if (block->run[first / WIDTH + p] == NEARBY) NAME(find_neighbours)(block->cols + first + p * WIDTH, &near[p]);
  for (int k = 0; k < steps; k++)
#pragma GCC unroll 8
    for (int p = 0; p < parts; p++) {
      const int32_t *cols = block->cols + k * MACKO_SLICE_ROWS + first + p * WIDTH;
      NAME(i32) active = {0};
      NAME(f64) a, x;
      int run = look ? block->run[first / WIDTH + p] : SCATTERED;
      NAME(values)(v, stored, from + k, first + p * WIDTH, few, &a);
      if (masked && !run) active = *(const NAME(i32_at) *)(o->lengths + first + p * WIDTH) > (int32_t)(from + k);
#pragma GCC unroll 8
      for (int j = 0; j < group; j++) {
        NAME(f64) *s = &sum[j * parts + p];
        if (op == MACKO_OP_T)
          for (int l = 0; l < WIDTH; l++) {
            if (!masked || active[l]) macko_add_y(vector, q, j, cols[l], a[l] * (*s)[l]);
          }
        else {
          if (run == CONSECUTIVE) NAME(load)(vector, macko_x_of(vector, q, j), cols[0], &x);
          else if (WIDTH == 8 && run == NEARBY) NAME(load_neighbours)(vector, macko_x_of(vector, q, j), cols[0], &near[p], &x);
          else NAME(gather)(vector, macko_x_of(vector, q, j), cols, &x);
          if (masked && !run) NAME(add_masked)(s, a, x, active);
          else *s += a * x;
        }
      }
    }
}

/* All lanes have consecutive columns from col on. */
INLINE void NAME(run_step)(const slice_values *v, const macko_product *q, int64_t k, int64_t col, int first, NAME(f64) few,
                           NAME(f64) *sum, int parts, int stored, macko_type vector, macko_op op, int group)
{
#pragma GCC unroll 8
  for (int p = 0; p < parts; p++) {
    NAME(f64) a, x;
    NAME(values)(v, stored, k, first + p * WIDTH, few, &a);
#pragma GCC unroll 8
    for (int j = 0; j < group; j++) {
      if (op == MACKO_OP_N) {
        NAME(load)(vector, macko_x_of(vector, q, j), col + p * WIDTH, &x);
        sum[j * parts + p] += a * x;
      } else {
        NAME(load)(vector, macko_y_of(vector, q, j), col + p * WIDTH, &x);
        NAME(store)(vector, macko_y_of(vector, q, j), col + p * WIDTH, x + a * sum[j * parts + p]);
      }
    }
  }
}

/* Sums start at 0 (op N) or alpha x of their rows (op T). */
INLINE void NAME(begin)(const open_slice *o, const macko_product *q, int first, NAME(f64) *sum, int parts, macko_type vector,
                        macko_op op, int group)
{
#pragma GCC unroll 16
  for (int i = 0; i < group * parts; i++) sum[i] = (NAME(f64)){0};
  for (int l = 0; op == MACKO_OP_T && l < parts * WIDTH && first + l < o->lanes; l++)
    for (int j = 0; j < group; j++)
      sum[j * parts + l / WIDTH][l % WIDTH] = q->alpha * macko_x(vector, q, j, row_of(o, first + l));
}

INLINE void NAME(finish)(const open_slice *o, const macko_product *q, int first, const NAME(f64) *sum, int parts,
                         macko_type vector, int group)
{
#pragma GCC unroll 8
  for (int p = 0; p < parts; p++)
#pragma GCC unroll 8
    for (int j = 0; j < group; j++) {
      int lane = first + p * WIDTH;
      NAME(f64) y = q->alpha * sum[j * parts + p], old;
      if (o->ordered || lane + WIDTH > o->lanes)
        for (int l = 0; l < WIDTH && lane + l < o->lanes; l++) macko_put_y(vector, q, j, row_of(o, lane + l),
                                                                           sum[j * parts + p][l]);
      else {
        if (q->beta != 0) NAME(load)(vector, macko_y_of(vector, q, j), o->first_row + lane, &old), y += q->beta * old;
        NAME(store)(vector, macko_y_of(vector, q, j), o->first_row + lane, y);
      }
    }
}

/* Slices of one list of distances whose lanes begin nearby, all of them there and equally long. Returns 0, with nothing done,
 * where lanes are further apart. */
INLINE int NAME(nearby_slice)(const open_slice *o, const slice_values *v, const macko_product *q, NAME(f64) few, int parts,
                              int stored, macko_type vector, int group)
{
  NAME(neighbours) near[MACKO_SLICE_ROWS / WIDTH];
  for (int i = 0; i < MACKO_SLICE_ROWS / WIDTH; i++) {
    const int32_t *cols = o->cols + i * WIDTH;
    if (NAME(how_apart)(*(const NAME(u32_at) *)cols - (uint32_t)cols[0]) == SCATTERED) return 0;
    NAME(find_neighbours)(cols, &near[i]);
  }
  for (int first = 0; first < MACKO_SLICE_ROWS; first += parts * WIDTH) {
    NAME(f64) sum[16], a, x;
    NAME(begin)(o, q, first, sum, parts, vector, MACKO_OP_N, group);
    for (int64_t k = 0; k < o->s.steps; k++) {
      int64_t distance = k ? (int64_t)o->gaps[k - 1] : 0;
#pragma GCC unroll 8
      for (int p = 0; p < parts; p++) {
        int lane = first + p * WIDTH;
        NAME(values)(v, stored, k, lane, few, &a);
#pragma GCC unroll 8
        for (int j = 0; j < group; j++) {
          NAME(load_neighbours)(vector, macko_x_of(vector, q, j), o->cols[lane] + distance, &near[lane / WIDTH], &x);
          sum[j * parts + p] += a * x;
        }
      }
    }
    NAME(finish)(o, q, first, sum, parts, vector, group);
  }
  return 1;
}

INLINE void NAME(uniform_slice)(const open_slice *o, const slice_values *v, const macko_product *q, NAME(f64) few, int parts,
                                int stored, macko_type vector, macko_op op, int group)
{
  for (int first = 0; first < MACKO_SLICE_ROWS; first += parts * WIDTH) {
    NAME(f64) sum[16];
    NAME(begin)(o, q, first, sum, parts, vector, op, group);
    for (int64_t k = 0; k < o->s.steps; k++) {
      int64_t col = (int64_t)o->s.base + first + (k ? (int64_t)o->gaps[k - 1] : 0);
      NAME(run_step)(v, q, k, col, first, few, sum, parts, stored, vector, op, group);
    }
    if (op == MACKO_OP_N) NAME(finish)(o, q, first, sum, parts, vector, group);
  }
}

/* Columns col, col + 1, ... of WIDTH lanes, 0 in the lanes that are not in bits, whose columns may be outside. */
INLINE void NAME(load_lanes)(macko_type vector, const void *array, int64_t col, uint32_t bits, NAME(f64) *to)
{
#if WIDTH == 8
  if (vector == MACKO_F64) {
    *to = (NAME(f64))_mm512_maskz_loadu_pd((__mmask8)bits, (const double *)array + col);
    return;
  }
#endif
  double found[WIDTH] = {0};
  for (int l = 0; l < WIDTH; l++)
    if (bits >> l & 1) found[l] = vector == MACKO_F64 ? ((const double *)array)[col + l] : (double)((const float *)array)[col + l];
  memcpy(to, found, sizeof *to);
}

INLINE void NAME(stencil_part)(const macko_product *q, NAME(f64) a, int64_t col, uint32_t bits, NAME(f64) *sum, macko_type vector,
                               macko_op op, int j)
{
#if WIDTH == 8
  static const NAME(i32) bit_of = {1, 2, 4, 8, 16, 32, 64, 128};
#elif WIDTH == 4
  static const NAME(i32) bit_of = {1, 2, 4, 8};
#else
  static const NAME(i32) bit_of = {1, 2};
#endif
  int full = bits == (1u << WIDTH) - 1;
  NAME(f64) x;
  if (op == MACKO_OP_T) {
    NAME(f64) terms = a * *sum;
    for (int l = 0; l < WIDTH; l++)
      if (bits >> l & 1) macko_add_y(vector, q, j, col + l, terms[l]);
  } else if (full) {
    NAME(load)(vector, macko_x_of(vector, q, j), col, &x);
    *sum += a * x;
  } else if (bits) {
    NAME(load_lanes)(vector, macko_x_of(vector, q, j), col, bits, &x);
    NAME(add_masked)(sum, a, x, (((NAME(i32)){0} + (int32_t)bits) & bit_of) != 0);
  }
}

/* No index and no value is read per entry. */
INLINE void NAME(stencil_slice)(const open_slice *o, const slice_reader *r, macko_type type, const macko_product *q, int parts,
                                macko_type vector, macko_op op, int group)
{
  for (int first = 0; first < MACKO_SLICE_ROWS; first += parts * WIDTH) {
    NAME(f64) sum[16];
    NAME(begin)(o, q, first, sum, parts, vector, op, group);
    for (uint32_t k = 0; k < o->s.steps; k++) {
      macko_stencil_step step = macko_stencil_at(&o->s, r->blocks, k);
      NAME(f64) a = (NAME(f64)){0} + macko_float_at(type, &step.value, 0);
      int64_t col = (int64_t)o->s.base + step.distance + first;
#pragma GCC unroll 8
      for (int p = 0; p < parts; p++)
#pragma GCC unroll 8
        for (int j = 0; j < group; j++)
          NAME(stencil_part)(q, a, col + p * WIDTH, step.lanes >> (first + p * WIDTH) & ((1u << WIDTH) - 1), &sum[j * parts + p],
                             vector, op, j);
    }
    if (op == MACKO_OP_N) NAME(finish)(o, q, first, sum, parts, vector, group);
  }
}

INLINE void NAME(any_slice)(open_slice *o, const slice_values *v, const macko_product *q, NAME(f64) few, int parts, int stored,
                            macko_type vector, macko_op op, int group)
{
  const int passes = MACKO_SLICE_ROWS / WIDTH / parts;
  NAME(f64) sums[MACKO_GROUP * MACKO_SLICE_ROWS / WIDTH];
  column_block block;
  for (int i = 0; i < passes; i++) NAME(begin)(o, q, i * parts * WIDTH, sums + i * parts * group, parts, vector, op, group);
  for (int64_t from = 0, steps; from < o->s.steps; from += steps) {
    int masked = from >= o->shortest;
    int64_t end = masked ? o->s.steps : o->shortest;
    steps = end - from < BLOCK_STEPS ? end - from : BLOCK_STEPS;
    if (o->s.gap_bits == MACKO_GAP_PAIRS) NAME(pair_columns)(o, v, from, (int)steps, masked, o->cols, &block);
    else NAME(columns)(o, from, (int)steps, masked, o->cols, &block);
    for (int i = 0; i < passes; i++) {
      NAME(f64) sum[16];
#pragma GCC unroll 16
      for (int s = 0; s < group * parts; s++) sum[s] = sums[i * parts * group + s];
      int first = i * parts * WIDTH;
#define STEPS(masked, look) \
  NAME(block_steps)(o, &block, v, q, from, (int)steps, masked, look, first, few, sum, parts, stored, vector, op, group)
      if (op == MACKO_OP_N && o->look && masked) STEPS(1, 1);
      else if (op == MACKO_OP_N && o->look) STEPS(0, 1);
      else if (masked) STEPS(1, 0);
      else STEPS(0, 0);
#undef STEPS
#pragma GCC unroll 16
      for (int s = 0; s < group * parts; s++) sums[i * parts * group + s] = sum[s];
    }
  }
  for (int i = 0; op == MACKO_OP_N && i < passes; i++)
    NAME(finish)(o, q, i * parts * WIDTH, sums + i * parts * group, parts, vector, group);
}

INLINE void NAME(slices)(const macko_matrix *m, const macko_product *q, int64_t from, int64_t to, int stored, macko_type vector,
                         macko_op op, int group)
{
  const int parts = group == 1 || WIDTH == 8 ? 4 : 2;
  slice_reader r = macko_open_slices(m);
  slice_values v = open_values(m);
  NAME(f64) few = {0};
  open_slice o;
  if (stored == FEW_VALUES) memcpy(&few, v.wide, sizeof few);
  for (int64_t slice = from; slice < to; slice++) {
    load_slice(&r, slice, &o);
    v.start = (const char *)v.stream + (int64_t)o.s.values * MACKO_VALUE_UNIT;
    if (o.s.stencil) NAME(stencil_slice)(&o, &r, m->value_type, q, parts, vector, op, group);
    else if (o.uniform) NAME(uniform_slice)(&o, &v, q, few, parts, stored, vector, op, group);
    else if (WIDTH < 8 || op == MACKO_OP_T || !o.listed || !NAME(nearby_slice)(&o, &v, q, few, parts, stored, vector, group))
      NAME(any_slice)(&o, &v, q, few, parts, stored, vector, op, group);
  }
}

/* Codecs that solvers meet most have loops of their own with one f64 vector or a group of them; the others share one. */
#define DEFINE(codec, stored, vector, op, group) \
  static __attribute__((noinline)) TARGET void NAME(codec##vector##op##group)(const macko_matrix *m, const macko_product *q, \
                                                                                int64_t from, int64_t to) \
  { \
    NAME(slices)(m, q, from, to, stored, vector, op, group); \
  }
DEFINE(f64, MACKO_F64, MACKO_F64, MACKO_OP_N, 1)
DEFINE(f64, MACKO_F64, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE(f32, MACKO_F32, MACKO_F64, MACKO_OP_N, 1)
DEFINE(f32, MACKO_F32, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE(i8, MACKO_I8, MACKO_F64, MACKO_OP_N, 1)
DEFINE(i8, MACKO_I8, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE(u8, MACKO_U8, MACKO_F64, MACKO_OP_N, 1)
DEFINE(u8, MACKO_U8, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE(few, FEW_VALUES, MACKO_F64, MACKO_OP_N, 1)
DEFINE(few, FEW_VALUES, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
#define ANY_TYPE (int)m->plan.stored_type
DEFINE(any, ANY_TYPE, MACKO_F64, MACKO_OP_N, 1)
DEFINE(any, ANY_TYPE, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE(any, ANY_TYPE, MACKO_F64, MACKO_OP_T, 1)
DEFINE(any, ANY_TYPE, MACKO_F64, MACKO_OP_T, MACKO_GROUP)
DEFINE(any, ANY_TYPE, MACKO_F32, MACKO_OP_N, 1)
DEFINE(any, ANY_TYPE, MACKO_F32, MACKO_OP_N, MACKO_GROUP)
DEFINE(any, ANY_TYPE, MACKO_F32, MACKO_OP_T, 1)
DEFINE(any, ANY_TYPE, MACKO_F32, MACKO_OP_T, MACKO_GROUP)

static void NAME(multiply)(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  int hot = p->op == MACKO_OP_N && p->vector_type == MACKO_F64;
  for (int64_t done = 0; done < p->k;) {
    macko_product q = macko_product_from(p, done);
    int whole = p->k - done >= MACKO_GROUP;
    done += whole ? MACKO_GROUP : 1;
#define RUN(codec, vector, op) \
  (whole ? NAME(codec##vector##op##MACKO_GROUP) : NAME(codec##vector##op##1))(m, &q, from, to)
    macko_type stored = m->plan.stored_type;
    if (hot && stored == MACKO_F64) RUN(f64, MACKO_F64, MACKO_OP_N);
    else if (hot && stored == MACKO_F32) RUN(f32, MACKO_F64, MACKO_OP_N);
    else if (hot && stored == MACKO_I8) RUN(i8, MACKO_F64, MACKO_OP_N);
    else if (hot && stored == MACKO_U8 && m->plan.table <= WIDTH && WIDTH == 8) RUN(few, MACKO_F64, MACKO_OP_N);
    else if (hot && stored == MACKO_U8) RUN(u8, MACKO_F64, MACKO_OP_N);
    else if (hot) RUN(any, MACKO_F64, MACKO_OP_N);
    else if (p->vector_type == MACKO_F64) RUN(any, MACKO_F64, MACKO_OP_T);
    else if (p->op == MACKO_OP_N) RUN(any, MACKO_F32, MACKO_OP_N);
    else RUN(any, MACKO_F32, MACKO_OP_T);
  }
}

#undef RUN
#undef ANY_TYPE
#undef DEFINE
#undef FEW_VALUES
#undef LOOK_UP
#undef CONVERT
#undef INLINE
