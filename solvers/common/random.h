/* Random numbers of generated matrices: whatever draws has a generator of its own, so that nothing depends on an order. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

/* Maps numbers to numbers that look random, one to one (the finalizer of splitmix64): it makes a seed of a row's or an edge's
 * number. */
static inline uint64_t mix(uint64_t z)
{
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Returns the next number of the generator in *state, which may begin with any number (splitmix64). */
static inline uint64_t draw(uint64_t *state)
{
  return mix(*state += 0x9e3779b97f4a7c15u);
}

/* Returns a number in [0, 1), of 53 bits, which a double has. */
static inline double uniform(uint64_t *state)
{
  return (double)(draw(state) >> 11) * 0x1p-53;
}

#endif
