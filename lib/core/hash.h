/* Hashes. Whatever input could choose is hashed under a key that is drawn for the purpose, so that nobody can choose what meets
 * in one place; nothing that is stored depends on keys. */
#ifndef MACKO_HASH_H
#define MACKO_HASH_H

#include "core/inline.h"

#include <stdint.h>

/* The mixing of splitmix64 (Steele, Lea, Flood 2014): a fixed bijection of 64 bits. It is for hashes that must be the same in
 * every run, and for input that nobody gains by choosing. */
MACKO_INLINE uint64_t macko_mix(uint64_t x)
{
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/* A key of macko_hash; factor is odd. */
typedef struct {
  uint64_t mask, factor;
} macko_hash_key;

/* Gives a hash of 64 bits under a key. Every bit of the answer depends on all of `bits`, because the two halves of a product of
 * 128 bits are folded; host and GPU give the same. */
MACKO_INLINE uint64_t macko_hash(macko_hash_key key, uint64_t bits)
{
  uint64_t a = bits ^ key.mask;
#ifdef __CUDA_ARCH__
  return a * key.factor ^ __umul64hi(a, key.factor);
#else
  __extension__ unsigned __int128 product = (unsigned __int128)a * key.factor;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
#endif
}

/* Draws a key that nobody can foresee. */
macko_hash_key macko_new_hash_key(void);

#endif
