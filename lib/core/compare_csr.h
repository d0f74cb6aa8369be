/* Columns and values of a csr compared many at a time, without a branch an entry: what encoding spends its time on. */
#ifndef MACKO_COMPARE_CSR_H
#define MACKO_COMPARE_CSR_H

#include "core/format.h"

#include <string.h>

enum { MACKO_PACK = 4 }; /* lanes of a vector that every x86-64 and aarch64 processor has */
typedef int32_t macko_pack __attribute__((vector_size(4 * MACKO_PACK)));

/* Loads MACKO_PACK columns that need not be aligned. */
static inline macko_pack macko_load_pack(const int32_t *from)
{
  macko_pack p;
  memcpy(&p, from, sizeof p);
  return p;
}

/* Gives all of cols[q + k] - cols[p + k] - between or-ed together, for k from 0 to n - 1: it is 0 exactly if the n columns from
 * entry q on are those from entry p on, each `between` further right. Differences must fit the type of the columns, which those
 * of columns inside a matrix do. */
static inline uint64_t macko_or_differences(const macko_csr *a, int64_t p, int64_t q, int64_t n, int64_t between)
{
  if (a->col_type == MACKO_I64) {
    const int64_t *c = a->cols;
    uint64_t any = 0;
    for (int64_t k = 0; k < n; k++) any |= (uint64_t)(c[q + k] - c[p + k] - between);
    return any;
  }
  const int32_t *one = (const int32_t *)a->cols + p, *other = (const int32_t *)a->cols + q;
  macko_pack all = {0};
  uint32_t any = 0;
  if (n < MACKO_PACK) {
    for (int64_t k = 0; k < n; k++) any |= (uint32_t)(other[k] - one[k] - (int32_t)between);
    return any;
  }
  for (int64_t k = 0; k < n - MACKO_PACK; k += MACKO_PACK)
    all |= macko_load_pack(other + k) - macko_load_pack(one + k) - (int32_t)between;
  one += n - MACKO_PACK, other += n - MACKO_PACK; /* the last pack may take some again */
  all |= macko_load_pack(other) - macko_load_pack(one) - (int32_t)between;
  uint64_t halves[2];
  memcpy(halves, &all, sizeof halves);
  halves[0] |= halves[1];
  return (uint32_t)(halves[0] | halves[0] >> 32);
}

/* Gives 1 if values p .. p + n - 1 have the bits of values q .. q + n - 1. Bits are compared and not numbers, so that -0.0 and
 * NaN payloads come back as they were. Short runs of doubles are compared here, as the call of memcmp would take longer than the
 * work. */
static inline int macko_equal_values(const macko_csr *a, int64_t p, int64_t q, int64_t n)
{
  int64_t size = macko_type_bytes(a->value_type);
  if (size != 8 || n > 32)
    return !memcmp((const char *)a->values + p * size, (const char *)a->values + q * size, (size_t)(n * size));
  uint64_t apart = 0, one, other;
  for (int64_t k = 0; k < n; k++) {
    memcpy(&one, (const double *)a->values + p + k, 8), memcpy(&other, (const double *)a->values + q + k, 8);
    apart |= one ^ other;
  }
  return apart == 0;
}

#endif
