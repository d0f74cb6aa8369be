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

/* A slice takes the place of the one before with the same low bits: no place is searched for. */
macko_known_slice *macko_slice_like(macko_known_slice *known, const macko_csr *a, const macko_csr_slice *c)
{
  const uint64_t signature = sign(a, c);
  macko_known_slice *k = &known[signature >> 1 & (MACKO_REPEATS - 1)];
  if (!signature) return NULL;
  if (k->signature == signature) return k;
  k->signature = signature, k->described = 0;
  return NULL;
}

/* Distances of a stencil count from the diagonal, so that rows must be as far on as columns. The rows of both slices follow each
 * other in the csr, so that all columns are compared as one run. */
int macko_repeats_slice(const macko_csr *a, const macko_known_slice *k, int64_t slice, macko_csr_slice *c)
{
  enum { LAST = MACKO_SLICE_ROWS - 1 };
  const int64_t begin = c->begin[0], entries = c->begin[LAST] + c->length[LAST] - begin;
  if (!k->described || memcmp(c->length, k->length, sizeof k->length)) return 0;
  const int64_t shift = macko_csr_col(a, begin) - macko_csr_col(a, k->begin);
  if (k->s.stencil && (shift != slice * MACKO_SLICE_ROWS - k->s.base || !macko_equal_values(a, k->begin, begin, entries))) return 0;
  if (macko_or_differences(a, k->begin, begin, entries, shift)) return 0;
  c->s = k->s;
  c->s.base += (int32_t)shift;
  return 1;
}

/* A block of more words is left out, as the place has no room for it. */
void macko_remember_slice(macko_known_slice *k, const macko_csr_slice *c, const macko_block_key *key, const uint32_t *block)
{
  if (key->words > MACKO_REPEAT_WORDS) return;
  k->described = 1, k->begin = c->begin[0], k->s = c->s, k->key = *key;
  memcpy(k->length, c->length, sizeof k->length);
  if (key->words) memcpy(k->block, block, key->words * sizeof *block);
}
