/* Columns and values of a csr compared many at a time, without a branch an entry: what encoding spends its time on. */
#ifndef MACKO_DIFFERENCES_H
#define MACKO_DIFFERENCES_H

#include "format.h"

#include <string.h>

enum { MACKO_PACK = 4 }; /* what every x86-64 and aarch64 has */
typedef int32_t macko_pack __attribute__((vector_size(4 * MACKO_PACK)));

static inline macko_pack macko_load_pack(const int32_t *from)
{
  macko_pack p;
  memcpy(&p, from, sizeof p);
  return p;
}

/* All of cols[q + k] - cols[p + k] - between or-ed together, k < n. Differences must fit the type of the columns, which those of
 * columns inside a matrix do. */
static inline uint64_t macko_or_differences(const macko_csr *a, int64_t p, int64_t q, int64_t n, int64_t between)
{
  if (a->col_type == MACKO_I64) {
    const int64_t *c = a->cols;
    uint64_t any = 0;
    for (int64_t k = 0; k < n; k++) any |= (uint64_t)(c[q + k] - c[p + k] - between);
    return any;
  }
  const int32_t *c = a->cols;
  macko_pack all = {0};
  uint32_t any = 0;
  int64_t k = 0;
  for (; k + MACKO_PACK <= n; k += MACKO_PACK) all |= macko_load_pack(c + q + k) - macko_load_pack(c + p + k) - (int32_t)between;
  for (; k < n; k++) any |= (uint32_t)(c[q + k] - c[p + k] - (int32_t)between);
  for (int l = 0; l < MACKO_PACK; l++) any |= (uint32_t)all[l];
  return any;
}

/* 1 if values p .. p + n - 1 have the bits of values q .. q + n - 1. */
static inline int macko_equal_values(const macko_csr *a, int64_t p, int64_t q, int64_t n)
{
  int64_t size = macko_type_bytes(a->value_type);
  if (size != 8) return !memcmp((const char *)a->values + p * size, (const char *)a->values + q * size, (size_t)(n * size));
  uint64_t apart = 0, one, other;
  for (int64_t k = 0; k < n; k++) {
    memcpy(&one, (const double *)a->values + p + k, 8), memcpy(&other, (const double *)a->values + q + k, 8);
    apart |= one ^ other;
  }
  return apart == 0;
}

#endif
