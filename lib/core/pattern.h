/* A number of 64 bits for a pattern, made of its row starts and columns in blocks: whatever the order, the types of the arrays
 * and the index base, it is the same, and kernels make the same one. Within a block it is the hash NH (Black, Halevi, Krawczyk,
 * Krovetz, Rogaway: UMAC, 1999) with two sets of keys, so that two different blocks have one number in 2^64 cases: a product of
 * 32-bit words for two indices, which is as fast as memory. */
#ifndef MACKO_PATTERN_H
#define MACKO_PATTERN_H

#include "core/format.h"
#include "core/hash.h"

enum { MACKO_PATTERN_PAIRS = 256 }; /* pairs of a block */

/* An array of indices, seen as pairs of 32-bit words: of two indices, or of one where they may need 64 bits. */
typedef struct {
  const void *indices;
  int type, base, wide;
  int64_t count;
  uint64_t places; /* a number by which blocks of row starts differ from those of columns */
} macko_pattern_words;

/* A pair of words, or the keys of a pair. */
typedef struct {
  uint32_t words[2];
} macko_pattern_pair;

/* Give row starts and columns of a sorted csr of nnz entries as such arrays. Whether two words an index are needed depends on the
 * sizes of the matrix alone, so that the types of the caller's arrays make no difference. */
static inline macko_pattern_words macko_pattern_starts(const macko_csr *a, int64_t nnz)
{
  const macko_pattern_words w = {a->row_ptr, (int)a->row_ptr_type, a->index_base, nnz > INT32_MAX, a->nrows + 1, UINT64_MAX};
  return w;
}

static inline macko_pattern_words macko_pattern_columns(const macko_csr *a, int64_t nnz)
{
  const macko_pattern_words w = {a->cols, (int)a->col_type, a->index_base, a->ncols > INT32_MAX, nnz, 0};
  return w;
}

/* How many pairs the array has, and how many blocks of them. */
MACKO_INLINE int64_t macko_pattern_pairs(const macko_pattern_words *w)
{
  return w->wide ? w->count : w->count / 2 + w->count % 2;
}

MACKO_INLINE int64_t macko_pattern_blocks(const macko_pattern_words *w)
{
  return (macko_pattern_pairs(w) + MACKO_PATTERN_PAIRS - 1) / MACKO_PATTERN_PAIRS;
}

/* Gives index i, counted from 0. */
MACKO_INLINE uint64_t macko_pattern_index(const macko_pattern_words *w, int64_t i)
{
  const int64_t index = w->type == MACKO_I64 ? ((const int64_t *)w->indices)[i] : ((const int32_t *)w->indices)[i];
  return (uint64_t)index - (uint64_t)w->base;
}

/* Gives pair number `pair`; an index that is left over at the end has a zero beside it. */
MACKO_INLINE macko_pattern_pair macko_pattern_pair_at(const macko_pattern_words *w, int64_t pair)
{
  macko_pattern_pair p;
  uint64_t index = macko_pattern_index(w, w->wide ? pair : 2 * pair);
  p.words[0] = (uint32_t)index;
  if (w->wide) p.words[1] = (uint32_t)(index >> 32);
  else p.words[1] = 2 * pair + 1 < w->count ? (uint32_t)macko_pattern_index(w, 2 * pair + 1) : 0;
  return p;
}

/* Gives the keys of set 0 or 1 for pair number `place` of a block. They are computed and not drawn, because numbers are compared
 * between runs and between host and GPU. */
MACKO_INLINE macko_pattern_pair macko_pattern_keys(int set, int place)
{
  uint64_t bits = macko_mix((uint64_t)(set * MACKO_PATTERN_PAIRS + place));
  macko_pattern_pair keys;
  keys.words[0] = (uint32_t)bits, keys.words[1] = (uint32_t)(bits >> 32);
  return keys;
}

/* Gives the term of NH for a pair: a product of two sums, each of which wraps at 32 bits. */
MACKO_INLINE uint64_t macko_pattern_product(macko_pattern_pair p, macko_pattern_pair keys)
{
  return (uint64_t)(p.words[0] + keys.words[0]) * (p.words[1] + keys.words[1]);
}

/* Gives what a block adds to the number, from the sums of its products with both sets of keys. Its place is mixed in, so that
 * blocks can be added in any order and yet not be exchanged. */
MACKO_INLINE uint64_t macko_pattern_block(const macko_pattern_words *w, int64_t block, const uint64_t *sums)
{
  return macko_mix(sums[0] ^ macko_mix(sums[1] ^ macko_mix((uint64_t)block ^ w->places)));
}

/* Gives what a matrix keeps: never 0, which says that the number is not known. */
static inline uint64_t macko_pattern_number(uint64_t sum_of_blocks)
{
  return sum_of_blocks ? sum_of_blocks : 1;
}

/* Gives the number of a csr whose rows macko_check_rows lets pass; 0 where a column is not even near the matrix, as it needs more
 * bits than any column inside does. */
uint64_t macko_pattern_of_csr(const macko_csr *a);

/* The keys of all pairs of a block, which every block uses again. */
typedef struct {
  macko_pattern_pair sets[2][MACKO_PATTERN_PAIRS];
} macko_pattern_keys_of_block;

/* For who reads the columns anyway, a few blocks at a time: makes the keys; gives what blocks from .. to - 1 add to the number, and
 * sets *unfit where an index needs more than 32 bits though the sizes say that none does; and gives the number of a csr whose
 * columns have come to that sum. */
void macko_make_pattern_keys(const macko_pattern_words *w, macko_pattern_keys_of_block *keys);
uint64_t macko_add_pattern_blocks(const macko_pattern_words *w, const macko_pattern_keys_of_block *keys, int64_t from, int64_t to,
                                  int *unfit);
uint64_t macko_pattern_with(const macko_csr *a, uint64_t columns);

/* Gives the number of *m, which is decoded for it where it is not known. Errors: OUT_OF_MEMORY. */
macko_status macko_pattern_of(const macko_matrix *m, uint64_t *number, macko_error *err);

/* Tells whether *csr has the pattern of *m, which it does not where the number of *m is not known. *csr has the sizes of *m and
 * rows that macko_check_rows lets pass; nothing need be known of its columns. */
int macko_has_pattern(const macko_matrix *m, const macko_csr *csr);

/* Checks that *a, sorted, right and of the sizes of *m, has the pattern of *m, which keeps its number from then on. Errors:
 * INVALID_MATRIX, naming the first row of another length or else the first column that differs, counted from index_base as the
 * caller counts, as far as there is memory to look for it; OUT_OF_MEMORY. */
macko_status macko_check_pattern(macko_matrix *m, const macko_csr *a, int index_base, macko_error *err);

#endif
