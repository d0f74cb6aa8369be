/* The number of a pattern, and whether a matrix has the pattern that was encoded. */
#include "core/pattern.h"

#include "core/cpu.h"
#include "core/threads.h"

#include <stdlib.h>

typedef macko_pattern_keys_of_block key_table;

/* Sums over the pairs of a block: their products with both sets of keys, and all indices or-ed together. The latter tell by one
 * look at the end whether an index needs more than 32 bits, as none should. */
typedef struct {
  uint64_t products[2], indices;
} pair_sums;

/* Adds pairs from .. to - 1 of the block that begins with pair `block`. */
static void add_pairs(const macko_pattern_words *w, const key_table *keys, int64_t block, int64_t from, int64_t to, pair_sums *sums)
{
  for (int64_t k = from; k < to; k++) {
    const macko_pattern_pair p = macko_pattern_pair_at(w, k);
    for (int set = 0; set < 2; set++) sums->products[set] += macko_pattern_product(p, keys->sets[set][k - block]);
    for (int64_t i = 2 * k; !w->wide && i < 2 * k + 2 && i < w->count; i++) sums->indices |= macko_pattern_index(w, i);
  }
}

#if MACKO_HAS_X86_64
#include <immintrin.h>

enum { WIDTH = 4 }; /* pairs in a vector */

/* Gives the products of WIDTH pairs with their keys, each of 64 bits. */
static inline __attribute__((always_inline)) MACKO_AVX2 __m256i products(__m256i pairs, const macko_pattern_pair *keys)
{
  pairs = _mm256_add_epi32(pairs, _mm256_loadu_si256((const __m256i *)keys));
  return _mm256_mul_epu32(pairs, _mm256_srli_epi64(pairs, 32));
}

/* Gives WIDTH pairs from pair k on, made of the lower halves of 64-bit indices, and ors whole indices into *indices. The shuffle
 * takes halves of both vectors in turn, so that the permutation afterwards puts pairs back in order. */
static inline __attribute__((always_inline)) MACKO_AVX2 __m256i halves_of(const macko_pattern_words *w, int64_t k, __m256i *indices)
{
  const __m256i base = _mm256_set1_epi64x(w->base), *from = (const __m256i *)((const int64_t *)w->indices + 2 * k);
  const __m256i a = _mm256_sub_epi64(_mm256_loadu_si256(from), base), b = _mm256_sub_epi64(_mm256_loadu_si256(from + 1), base);
  const __m256 halves = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88); /* two of a, two of b, again */
  *indices = _mm256_or_si256(*indices, _mm256_or_si256(a, b));
  return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xd8);
}

/* Gives WIDTH pairs from pair k on, made of 32-bit indices. Those always fit, so that nothing is or-ed. */
static inline __attribute__((always_inline)) MACKO_AVX2 __m256i words_of(const macko_pattern_words *w, int64_t k)
{
  const __m256i *from = (const __m256i *)((const int32_t *)w->indices + 2 * k);
  return _mm256_sub_epi32(_mm256_loadu_si256(from), _mm256_set1_epi32(w->base));
}

/* Adds the first pairs of a block, up to pair `to`, which are a multiple of WIDTH and of two indices each. The type of the
 * indices is a constant in both callers. */
static inline __attribute__((always_inline)) MACKO_AVX2 void add_vectors(const macko_pattern_words *w, int type,
                                                                         const key_table *keys, int64_t block, int64_t to,
                                                                         pair_sums *sums)
{
  __m256i added[3] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
  uint64_t lanes[3][WIDTH];
  for (int64_t k = block; k < to; k += WIDTH) {
    macko_fetch_ahead((const char *)w->indices + 2 * k * (type == MACKO_I64 ? 8 : 4));
    const __m256i pairs = type == MACKO_I64 ? halves_of(w, k, &added[2]) : words_of(w, k);
    for (int set = 0; set < 2; set++) added[set] = _mm256_add_epi64(added[set], products(pairs, keys->sets[set] + (k - block)));
  }
  for (int i = 0; i < 3; i++) _mm256_storeu_si256((__m256i *)lanes[i], added[i]);
  for (int lane = 0; lane < WIDTH; lane++) {
    for (int set = 0; set < 2; set++) sums->products[set] += lanes[set][lane];
    sums->indices |= lanes[2][lane];
  }
}

/* These two are functions of their own because what is inlined must have the same instruction set as its caller. */
static MACKO_AVX2 void add_vectors_i32(const macko_pattern_words *w, const key_table *keys, int64_t block, int64_t to,
                                       pair_sums *sums)
{
  add_vectors(w, MACKO_I32, keys, block, to, sums);
}

static MACKO_AVX2 void add_vectors_i64(const macko_pattern_words *w, const key_table *keys, int64_t block, int64_t to,
                                       pair_sums *sums)
{
  add_vectors(w, MACKO_I64, keys, block, to, sums);
}
#endif

/* Does what add_pairs does, by vectors as far as whole vectors of pairs with two indices go. Sums of integers are the same in any
 * order, so that the number does not depend on the processor. */
static void add_block(const macko_pattern_words *w, const key_table *keys, int64_t from, int64_t to, pair_sums *sums)
{
  int64_t begin = from;
#if MACKO_HAS_X86_64
  if (!w->wide && macko_has_avx2()) {
    const int64_t whole = w->count / 2 < to ? w->count / 2 : to;
    begin += (whole - from) / WIDTH * WIDTH;
    (w->type == MACKO_I64 ? add_vectors_i64 : add_vectors_i32)(w, keys, from, begin, sums);
  }
#endif
  add_pairs(w, keys, from, begin, to, sums);
}

/* The context of adding up the blocks of one array, in parts. */
typedef struct {
  const macko_pattern_words *words;
  uint64_t sums[MACKO_MOST_PARTS];
  int unfit; /* 1: an index needs more than the 32 bits that it was given */
} adding;

/* A short array needs few keys only. */
void macko_make_pattern_keys(const macko_pattern_words *w, macko_pattern_keys_of_block *keys)
{
  const int64_t pairs = macko_pattern_pairs(w), most = pairs < MACKO_PATTERN_PAIRS ? pairs : MACKO_PATTERN_PAIRS;
  for (int set = 0; set < 2; set++)
    for (int place = 0; place < most; place++) keys->sets[set][place] = macko_pattern_keys(set, place);
}

uint64_t macko_add_pattern_blocks(const macko_pattern_words *w, const macko_pattern_keys_of_block *keys, int64_t from, int64_t to,
                                  int *unfit)
{
  const int64_t pairs = macko_pattern_pairs(w);
  uint64_t sum = 0, indices = 0;
  for (int64_t block = from; block < to; block++) {
    const int64_t first = block * MACKO_PATTERN_PAIRS, past = first + MACKO_PATTERN_PAIRS;
    pair_sums sums = {0};
    add_block(w, keys, first, past < pairs ? past : pairs, &sums);
    sum += macko_pattern_block(w, block, sums.products);
    indices |= sums.indices;
  }
  if (indices >> 32) macko_set(unfit);
  return sum;
}

/* Adds up the blocks from .. to - 1, as a macko_part. */
static void add_blocks(void *context, int part, int64_t from, int64_t to)
{
  adding *a = context;
  key_table keys;
  macko_make_pattern_keys(a->words, &keys);
  a->sums[part] = macko_add_pattern_blocks(a->words, &keys, from, to, &a->unfit);
}

/* Adds the blocks of an array to *sum; gives 0 where an index does not fit 32 bits though the sizes say that all do, so that the
 * number would mean nothing. */
static int add_words(const macko_pattern_words *words, uint64_t *sum)
{
  const macko_cut cut = {.n = macko_pattern_blocks(words)};
  adding a = {.words = words};
  int parts = macko_parts(words->count);
  macko_do_parts(&cut, parts, add_blocks, &a);
  for (int part = 0; part < parts; part++) *sum += a.sums[part];
  return !a.unfit;
}

uint64_t macko_pattern_with(const macko_csr *a, uint64_t columns)
{
  const macko_pattern_words starts = macko_pattern_starts(a, macko_csr_nnz(a));
  return add_words(&starts, &columns) ? macko_pattern_number(columns) : 0;
}

uint64_t macko_pattern_of_csr(const macko_csr *a)
{
  const macko_pattern_words columns = macko_pattern_columns(a, macko_csr_nnz(a));
  uint64_t sum = 0;
  return add_words(&columns, &sum) ? macko_pattern_with(a, sum) : 0;
}

int macko_has_pattern(const macko_matrix *m, const macko_csr *csr)
{
  return m->pattern && macko_csr_nnz(csr) == m->nnz && macko_pattern_of_csr(csr) == m->pattern;
}

/* Decodes the pattern of *m as a csr without values. Its arrays are new, and the caller frees them, after a failure too. */
static macko_status decode_pattern(const macko_matrix *m, int64_t **row_ptr, int64_t **cols, macko_csr *csr, macko_error *err)
{
  macko_status s = MACKO_OK;
  *row_ptr = malloc((size_t)(m->nrows + 1) * sizeof **row_ptr), *cols = malloc((size_t)(m->nnz + 1) * sizeof **cols);
  if (!*row_ptr || !*cols)
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to compare %lld row lengths and %lld columns", (long long)m->nrows,
                   (long long)m->nnz);
  if (!s) s = m->ops->decode(m, *row_ptr, *cols, NULL, err);
  *csr = (macko_csr){.nrows = m->nrows, .ncols = m->ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                     .value_type = m->value_type, .row_ptr = *row_ptr, .cols = *cols};
  return s;
}

macko_status macko_pattern_of(const macko_matrix *m, uint64_t *number, macko_error *err)
{
  int64_t *row_ptr, *cols;
  macko_csr csr;
  if ((*number = m->pattern)) return MACKO_OK;
  macko_status s = decode_pattern(m, &row_ptr, &cols, &csr, err);
  if (!s) *number = macko_pattern_of_csr(&csr);
  free(row_ptr), free(cols);
  return s;
}

/* Makes the sentence of the first difference between two patterns of the same sizes. Row lengths are compared first: where one
 * differs, columns after it are those of other rows. Where nothing differs it is the sections that do not have the number which
 * the matrix keeps. */
static macko_status name_difference(const macko_csr *encoded, const macko_csr *a, int index_base, macko_error *err)
{
  int64_t i = 0, p = 0, nnz = macko_csr_nnz(a);
  while (i < a->nrows && macko_csr_row(encoded, i + 1) == macko_csr_row(a, i + 1)) i++;
  if (i < a->nrows)
    return macko_fail(err, MACKO_INVALID_MATRIX, "row %lld has %lld entries; %lld were encoded", (long long)i + index_base,
                      (long long)(macko_csr_row(a, i + 1) - macko_csr_row(a, i)),
                      (long long)(macko_csr_row(encoded, i + 1) - macko_csr_row(encoded, i)));
  while (p < nnz && macko_csr_col(encoded, p) == macko_csr_col(a, p)) p++;
  if (p == nnz) return macko_fail(err, MACKO_INVALID_MATRIX, "the sections were changed since the matrix was encoded");
  for (i = 0; macko_csr_row(a, i + 1) <= p;) i++;
  return macko_fail(err, MACKO_INVALID_MATRIX, "row %lld has an entry in column %lld where one in column %lld was encoded",
                    (long long)i + index_base, (long long)macko_csr_col(a, p) + index_base,
                    (long long)macko_csr_col(encoded, p) + index_base);
}

/* Numbers are compared first. Only where they differ is the matrix decoded, to name the place. */
macko_status macko_check_pattern(macko_matrix *m, const macko_csr *a, int index_base, macko_error *err)
{
  int64_t *row_ptr, *cols;
  macko_csr encoded;
  macko_status s = macko_pattern_of(m, &m->pattern, err);
  if (s || macko_pattern_of_csr(a) == m->pattern) return s;
  if (decode_pattern(m, &row_ptr, &cols, &encoded, NULL))
    s = macko_fail(err, MACKO_INVALID_MATRIX, "the rows have other lengths or columns than those that were encoded");
  else s = name_difference(&encoded, a, index_base, err);
  free(row_ptr), free(cols);
  return s;
}
