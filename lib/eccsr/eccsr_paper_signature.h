/* MinHash with one permutation (Li, Owen, Zhang, NIPS 2012): sets of columns that have many of them in common are told by short
 * signatures. */
#ifndef MACKO_ECCSR_PAPER_SIGNATURE_H
#define MACKO_ECCSR_PAPER_SIGNATURE_H

#include "core/hash.h"

#include <stdint.h>
#include <string.h>

enum { MACKO_ECCSR_BANDS = 32 }; /* parts of a signature */

/* The signature of a set: for every band the least hash among its columns whose hashes fall there; all ones where none does. The
 * more columns two sets share, the more bands agree. */
typedef struct {
  uint32_t band[MACKO_ECCSR_BANDS];
} macko_eccsr_signature;

/* Makes it the signature of the empty set, which agrees with nothing. */
static inline void macko_eccsr_sign_nothing(macko_eccsr_signature *s)
{
  memset(s, 0xff, sizeof *s);
}

/* Adds a column to the set. The highest bits of a hash choose the band and the low half is what is compared. */
static inline void macko_eccsr_sign_column(macko_eccsr_signature *s, int64_t col)
{
  const uint64_t hash = macko_mix((uint64_t)col);
  const uint32_t low = (uint32_t)hash;
  if (low < s->band[hash >> 59]) s->band[hash >> 59] = low;
}

#endif
