/* Slices that repeat an earlier one. */
#include "macko/slice_repeats.h"
#include "core/compare_csr.h"

#include <string.h>

/* Gives a number that tells slices apart which are likely to differ: it mixes all lengths, and how far the first column of the
 * last row and the last column of the first row are from the first column of all. It is 0 where there is nothing to compare: an
 * empty row has no first column, and only the last slice has fewer than 32 rows. */
static uint64_t sign(const macko_csr *a, const macko_csr_slice *c)
{
  enum { TOGETHER = 8, LAST = MACKO_SLICE_ROWS - 1 };
  uint64_t hash = 0;
  if (c->lanes < MACKO_SLICE_ROWS || !c->shortest) return 0;
  for (int l = 0; l < MACKO_SLICE_ROWS; l += TOGETHER) {
    uint64_t lengths = 0;
    for (int k = 0; k < TOGETHER; k++) lengths += (uint64_t)c->length[l + k] << 8 * k;
    hash = macko_mix(hash ^ lengths);
  }
  const int64_t first = macko_csr_col(a, c->begin[0]), end = macko_csr_col(a, c->begin[0] + c->length[0] - 1);
  hash = macko_mix(hash ^ (uint64_t)(macko_csr_col(a, c->begin[LAST]) - first));
  return macko_mix(hash ^ (uint64_t)(end - first)) | 1;
}

/* Gives the place where a slice like *c is, or is to be remembered; NULL where *c comes for the first time, or cannot repeat
 * another. A slice takes the place of the one before with the same low bits: no place is searched for. */
static macko_known_slice *slice_like(macko_known_slice *known, const macko_csr *a, const macko_csr_slice *c)
{
  const uint64_t signature = sign(a, c);
  macko_known_slice *k = &known[signature >> 1 & (MACKO_REPEATS - 1)];
  if (!signature) return NULL;
  if (k->signature == signature) return k;
  k->signature = signature, k->described = 0;
  return NULL;
}

/* Gives 1 if *c, which is that slice, has the lengths and columns of *k, all columns equally far on, and its values where they
 * count. The signature is a guess; this compares every entry. Distances of a stencil count from the diagonal, so that rows must be
 * as far on as columns. The rows of both slices follow each other in the csr, so that all columns are compared as one run. */
static int repeats_slice(const macko_csr *a, const macko_known_slice *k, int64_t slice, macko_csr_slice *c)
{
  enum { LAST = MACKO_SLICE_ROWS - 1 };
  const int64_t begin = c->begin[0], entries = c->begin[LAST] + c->length[LAST] - begin;
  if (!k->described || memcmp(c->length, k->length, sizeof k->length)) return 0;
  const int64_t shift = macko_csr_col(a, begin) - macko_csr_col(a, k->begin);
  if (k->s.stencil && shift != slice * MACKO_SLICE_ROWS - k->s.base) return 0;
  if (k->valued && !macko_equal_values(a, k->begin, begin, entries)) return 0;
  if (macko_or_differences(a, k->begin, begin, entries, shift)) return 0;
  c->s = k->s;
  c->s.base += (int32_t)shift;
  return 1;
}

/* What repeats a stencil is known to be one by that alone; what repeats another slice might be one nevertheless, by its values. */
int macko_is_repeated(macko_known_slice *known, const macko_csr *a, int64_t slice, int stencils, macko_csr_slice *c,
                      macko_known_slice **like)
{
  macko_known_slice *k = *like = known ? slice_like(known, a, c) : NULL;
  const int of_stencil = k && k->s.stencil;
  if (of_stencil && stencils && repeats_slice(a, k, slice, c)) return 1;
  if (stencils && macko_try_stencil(a, slice, c)) return 0;
  return k && !of_stencil && repeats_slice(a, k, slice, c);
}

/* A block of more words is left out, as the place has no room for it. */
void macko_remember_slice(macko_known_slice *k, const macko_csr_slice *c, int pairs, const macko_block_key *key,
                          const uint32_t *block)
{
  if (key->words > MACKO_REPEAT_WORDS) return;
  k->described = 1, k->valued = pairs || c->s.stencil, k->begin = c->begin[0], k->s = c->s, k->key = *key;
  memcpy(k->length, c->length, sizeof k->length);
  if (key->words) memcpy(k->block, block, key->words * sizeof *block);
}
