/* y = alpha op(A) x + beta y from layout row. A block of a row at a time: its columns are decoded into a buffer, eight at once
 * where the processor has AVX2, its values widened into another, and then both meet x. */
#include "core/cpu.h"
#include "core/product.h"
#include "core/threads.h"
#include "macko/row.h"

#include <string.h>

/* So many entries have their columns and values decoded together: the buffers lie on the stack. */
enum { BLOCK = 256 };

/* Decodes the columns of entries p .. p + n - 1, which follow column *at, into cols, and moves *at to the last of them;
 * *next_long walks the row's long gaps. The code of a row's first entry is 0, so that it follows the column before its base. */
typedef void (*decode_columns)(const macko_row_reader *r, int64_t p, int n, int32_t *at, uint32_t *next_long, int32_t *cols);

/* Does the same on any processor, an entry at a time. b is a constant in every caller. */
static inline __attribute__((always_inline)) void decode_plain(const macko_row_reader *r, int b, int64_t p, int n, int32_t *at,
                                                               uint32_t *next_long, int32_t *cols)
{
  int32_t col = *at;
  uint32_t next = *next_long;
  for (int k = 0; k < n; k++) cols[k] = col += (int32_t)macko_next_gap(r, b, p + k, &next);
  *at = col, *next_long = next;
}

/* There is a decoder of its own for each width of a code, so that shifts and masks are constants. */
#define FOR_WIDTHS(define) define(1) define(2) define(4) define(8) define(16)
#define DEFINE(b) \
  static void plain_##b(const macko_row_reader *r, int64_t p, int n, int32_t *at, uint32_t *next_long, int32_t *cols) \
  { \
    decode_plain(r, b, p, n, at, next_long, cols); \
  }
FOR_WIDTHS(DEFINE)
#undef DEFINE

#if MACKO_HAS_X86_64
#include <immintrin.h>

/* So many columns are decoded at once by AVX2, and so many doubles are in a vector of AVX-512. */
enum { PACK = 8 };

/* Gives the eight codes from entry p on. It reads 16 bytes for codes of 16 bits and 8 bytes else, which the caller knows to be
 * inside the section. */
static inline __attribute__((always_inline)) MACKO_AVX2 __m256i load_codes(const uint8_t *gaps, int b, int64_t p)
{
  uint64_t bits;
  if (b == 16) return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(gaps + 2 * p)));
  if (b == 8) return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(gaps + p)));
  memcpy(&bits, gaps + (p * b >> 3), sizeof bits);
  __m256i all = _mm256_set1_epi32((int32_t)(bits >> (p * b & 7)));
  return _mm256_and_si256(_mm256_srlv_epi32(all, _mm256_setr_epi32(0, b, 2 * b, 3 * b, 4 * b, 5 * b, 6 * b, 7 * b)),
                          _mm256_set1_epi32((1 << b) - 1));
}

/* Decodes eight columns at a time: the gaps are summed up within the vector, in three steps, and added to the column before.
 * Eight codes with an escape among them go one by one, as the next long gap has to be looked up. So do the last entries if they
 * are fewer than eight, or if their codes would be loaded from beyond the end of the section. */
static inline __attribute__((always_inline)) MACKO_AVX2 void decode_wide(const macko_row_reader *r, int b, int64_t p, int n,
                                                                         int32_t *at, uint32_t *next_long, int32_t *cols)
{
  const __m256i upper = _mm256_setr_epi32(0, 0, 0, 0, -1, -1, -1, -1), escape = _mm256_set1_epi32((1 << b) - 1);
  int32_t col = *at;
  int k = 0;
  for (; k + PACK <= n && ((p + k) * b >> 3) + (b == 16 ? 16 : 8) <= r->gap_bytes; k += PACK) {
    __m256i codes = load_codes(r->gaps, b, p + k);
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(codes, escape))) {
      *at = col;
      decode_plain(r, b, p + k, PACK, at, next_long, cols + k);
      col = *at;
      continue;
    }
    /* A gap is a code plus 1. The shifts sum up within each half of the vector, and the upper half lacks the lower's total. */
    __m256i sums = _mm256_sub_epi32(codes, _mm256_set1_epi32(-1));
    sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 4));
    sums = _mm256_add_epi32(sums, _mm256_slli_si256(sums, 8));
    sums = _mm256_add_epi32(sums, _mm256_and_si256(_mm256_permutevar8x32_epi32(sums, _mm256_set1_epi32(3)), upper));
    _mm256_storeu_si256((__m256i *)(cols + k), _mm256_add_epi32(sums, _mm256_set1_epi32(col)));
    col += _mm256_extract_epi32(sums, 7);
  }
  *at = col;
  decode_plain(r, b, p + k, n - k, at, next_long, cols + k);
}

#define DEFINE(b) \
  static MACKO_AVX2 void wide_##b(const macko_row_reader *r, int64_t p, int n, int32_t *at, uint32_t *next_long, int32_t *cols) \
  { \
    decode_wide(r, b, p, n, at, next_long, cols); \
  }
FOR_WIDTHS(DEFINE)
#undef DEFINE
#endif
#undef FOR_WIDTHS

/* Gives the decoder for codes of b bits that suits the processor. */
static decode_columns decoder(int b)
{
#define OF(kind) (b == 1 ? kind##_1 : b == 2 ? kind##_2 : b == 4 ? kind##_4 : b == 8 ? kind##_8 : kind##_16)
#if MACKO_HAS_X86_64
  if (macko_has_avx2()) return OF(wide);
#endif
  return OF(plain);
#undef OF
}

/* ---- values ---- */

/* These are vectors that every processor has, of four elements. */
typedef uint16_t halves __attribute__((vector_size(8)));
typedef uint32_t words __attribute__((vector_size(16)));
typedef int32_t integers __attribute__((vector_size(16)));
typedef float floats __attribute__((vector_size(16)));

MACKO_HALVES_TO_FLOATS(static inline, halves_to_floats, words, integers, floats)

/* Widens n values of 16 bits, f16 or bf16, to doubles, four at a time. */
static void widen_shorts(macko_type stored, const uint16_t *from, int n, double *to)
{
  int k = 0;
  for (; k + 4 <= n; k += 4) {
    halves h;
    memcpy(&h, from + k, sizeof h);
    words w = __builtin_convertvector(h, words);
    floats f = (floats)(w << 16);
    if (stored == MACKO_F16) halves_to_floats(w, &f);
    for (int l = 0; l < 4; l++) to[k + l] = f[l];
  }
  for (; k < n; k++) to[k] = macko_float_at(stored, from, k);
}

/* Gives values p .. p + n - 1 as doubles: where they lie if they are stored so, else in the buffer. Common types have loops of
 * their own, in which the type is a constant. */
static const double *widen_values(const macko_matrix *m, const macko_value_stream *v, int64_t p, int n, double *buffer)
{
  macko_type stored = m->plan.stored_type, table = m->value_type;
  if (stored == MACKO_F64) return (const double *)v->stream + p;
  if (stored == MACKO_F16 || stored == MACKO_BF16) widen_shorts(stored, (const uint16_t *)v->stream + p, n, buffer);
  else if (stored == MACKO_F32)
    for (int k = 0; k < n; k++) buffer[k] = macko_value_at(MACKO_F32, table, v, p + k);
  else if (stored == MACKO_U8 && table == MACKO_F64)
    for (int k = 0; k < n; k++) buffer[k] = macko_value_at(MACKO_U8, MACKO_F64, v, p + k);
  else if (stored == MACKO_I8)
    for (int k = 0; k < n; k++) buffer[k] = macko_value_at(MACKO_I8, table, v, p + k);
  else
    for (int k = 0; k < n; k++) buffer[k] = macko_value_at(stored, table, v, p + k);
  return buffer;
}

/* ---- rows ---- */

/* Adds the terms of a block: for op N to the sums of the row, for op T to the elements of y in its columns, sum[j] being alpha x
 * of the row then. There are four partial sums, which do not wait for each other. */
static inline __attribute__((always_inline)) void add_block(const macko_product *q, const int32_t *cols, const double *values,
                                                            int n, double *sum, macko_type vector, macko_op op, int group)
{
  if (op == MACKO_OP_T) {
    for (int k = 0; k < n; k++)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) macko_add_y(vector, q, j, cols[k], values[k] * sum[j]);
    return;
  }
#pragma GCC unroll 4
  for (int j = 0; j < group; j++) {
    double s[4] = {0};
    int k = 0;
    for (; k + 4 <= n; k += 4)
      for (int l = 0; l < 4; l++) s[l] += values[k + l] * macko_x(vector, q, j, cols[k + l]);
    for (; k < n; k++) s[0] += values[k] * macko_x(vector, q, j, cols[k]);
    sum[j] += (s[0] + s[1]) + (s[2] + s[3]);
  }
}

#if MACKO_HAS_X86_64
/* These are vectors of AVX-512, of eight elements. */
typedef double pack __attribute__((vector_size(8 * PACK)));
typedef float float_pack __attribute__((vector_size(4 * PACK)));

/* Elements of x are loaded one by one, from columns as they have been stored: then the loads need not wait for a vector of
 * columns to come back from the cache. */
#define GATHER(x, c) {x[c[0]], x[c[1]], x[c[2]], x[c[3]], x[c[4]], x[c[5]], x[c[6]], x[c[7]]}

/* Does what add_block does for op N, eight entries at a time. Vector number j gets the same bits with any number of vectors
 * beside it: the order of its terms does not depend on the group. */
static inline __attribute__((always_inline)) MACKO_AVX512 void wide_block(const macko_product *q, const int32_t *cols,
                                                                          const double *values, int n, double *sums,
                                                                          macko_type vector, int group)
{
  pack sum[MACKO_GROUP] = {0}, a, b;
  double rest[MACKO_GROUP] = {0};
  int k = 0;
  for (; k + PACK <= n; k += PACK) {
    const int32_t *c = cols + k;
    memcpy(&a, values + k, sizeof a);
    __builtin_prefetch(values + k + 512, 0, 2);
#pragma GCC unroll 4
    for (int j = 0; j < group; j++) {
      if (vector == MACKO_F64) b = (pack)GATHER(((const double *)macko_x_of(MACKO_F64, q, j)), c);
      else b = __builtin_convertvector(((float_pack)GATHER(((const float *)macko_x_of(MACKO_F32, q, j)), c)), pack);
      sum[j] += a * b;
    }
  }
  for (; k < n; k++)
#pragma GCC unroll 4
    for (int j = 0; j < group; j++) rest[j] += values[k] * macko_x(vector, q, j, cols[k]);
#pragma GCC unroll 4
  for (int j = 0; j < group; j++)
    sums[j] += rest[j] +
               (((sum[j][0] + sum[j][4]) + (sum[j][1] + sum[j][5])) + ((sum[j][2] + sum[j][6]) + (sum[j][3] + sum[j][7])));
}
#undef GATHER

#define DEFINE(name, vector, group) \
  static MACKO_AVX512 void name##_##group(const macko_product *q, const int32_t *cols, const double *values, int n, double *sums) \
  { \
    wide_block(q, cols, values, n, sums, vector, group); \
  }
DEFINE(wide_f64, MACKO_F64, 1)
DEFINE(wide_f64, MACKO_F64, 2)
DEFINE(wide_f64, MACKO_F64, 4)
DEFINE(wide_f32, MACKO_F32, 1)
DEFINE(wide_f32, MACKO_F32, 2)
DEFINE(wide_f32, MACKO_F32, 4)
#undef DEFINE
#endif

/* Adds the terms of a block to the sums of the vectors of q. */
typedef void (*dot_block)(const macko_product *q, const int32_t *cols, const double *values, int n, double *sums);

/* Gives what a block of 1, 2 or 4 vectors is multiplied by; NULL where the processor has nothing better than add_block. */
static dot_block wide_dot(const macko_product *p, int group)
{
#if MACKO_HAS_X86_64
  static const dot_block of_f64[] = {wide_f64_1, wide_f64_2, wide_f64_4}, of_f32[] = {wide_f32_1, wide_f32_2, wide_f32_4};
  if (p->op == MACKO_OP_N && macko_has_avx512()) return (p->vector_type == MACKO_F64 ? of_f64 : of_f32)[group / 2];
#endif
  (void)p, (void)group;
  return NULL;
}

/* Multiplies rows from .. to - 1 with a group of vectors, whose type, number and op are constants. A row's sums are made in one
 * order, block by block, so that its bits do not depend on how rows are shared among threads. */
static inline __attribute__((always_inline)) void multiply_as(const macko_matrix *m, const macko_product *q, int64_t from,
                                                              int64_t to, dot_block wide, macko_type vector, macko_op op,
                                                              int group)
{
  macko_row_reader r = macko_open_rows(m);
  macko_value_stream v = macko_stream_of(m);
  decode_columns decode = decoder(r.b);
  int32_t cols[BLOCK];
  double buffer[BLOCK];
  for (int64_t i = from; i < to; i++) {
    int64_t p = macko_row_start(&r, i), end = macko_row_start(&r, i + 1);
    int32_t at = (int32_t)(macko_base_column(&r, i) - 1);
    uint32_t next_long = r.long_ptr ? r.long_ptr[i] : 0;
    double sum[MACKO_GROUP] = {0};
    if (op == MACKO_OP_T)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) sum[j] = q->alpha * macko_x(vector, q, j, i);
    for (; p < end; p += BLOCK) {
      int n = end - p < BLOCK ? (int)(end - p) : BLOCK;
      decode(&r, p, n, &at, &next_long, cols);
      const double *values = widen_values(m, &v, p, n, buffer);
      if (wide) wide(q, cols, values, n, sum);
      else add_block(q, cols, values, n, sum, vector, op, group);
    }
    if (op == MACKO_OP_N)
#pragma GCC unroll 4
      for (int j = 0; j < group; j++) macko_put_y(vector, q, j, i, sum[j]);
  }
}

/* As a macko_pieces this multiplies rows from .. to - 1 for all vectors of p. Columns are decoded and values widened once for 4
 * or 2 of them. */
static void multiply_rows(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  for (int64_t j = 0, group; j < p->k; j += group) {
    const macko_product q = macko_product_from(p, j);
    group = p->k - j >= 4 ? 4 : p->k - j >= 2 ? 2 : 1;
    dot_block wide = wide_dot(p, (int)group);
#define GROUPS(vector, op) \
  (group == 4   ? multiply_as(m, &q, from, to, wide, vector, op, 4) \
   : group == 2 ? multiply_as(m, &q, from, to, wide, vector, op, 2) \
                : multiply_as(m, &q, from, to, wide, vector, op, 1))
    if (p->vector_type == MACKO_F64 && p->op == MACKO_OP_N) GROUPS(MACKO_F64, MACKO_OP_N);
    else if (p->vector_type == MACKO_F64) GROUPS(MACKO_F64, MACKO_OP_T);
    else if (p->op == MACKO_OP_N) GROUPS(MACKO_F32, MACKO_OP_N);
    else GROUPS(MACKO_F32, MACKO_OP_T);
#undef GROUPS
  }
}

/* Threads get rows of about as many entries each. */
void macko_row_multiply(const macko_matrix *m, const macko_product *p)
{
  const macko_section *row_ptr = macko_find_section(m, "row_ptr");
  const macko_cut cut = {m->nrows, row_ptr->type, row_ptr->data, 1, m->nnz};
  macko_share_product(m, p, multiply_rows, &cut);
}
