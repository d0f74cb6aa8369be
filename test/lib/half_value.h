/* What 16-bit floats stand for, from the definition of the types and not by what is tested. */
#ifndef TEST_HALF_VALUE_H
#define TEST_HALF_VALUE_H

#include "macko.h"

#include <math.h>

/* Gives the number that 16 bits are as an f16 or bf16. */
static inline double test_half_value(macko_type type, uint16_t bits)
{
  const int digits = type == MACKO_F16 ? 10 : 7, exponents = 15 - digits, bias = (1 << (exponents - 1)) - 1;
  const int exponent = bits >> digits & ((1 << exponents) - 1), fraction = bits & ((1 << digits) - 1);
  double size = exponent ? ldexp(1 + ldexp(fraction, -digits), exponent - bias) : ldexp(fraction, 1 - bias - digits);
  if (exponent == (1 << exponents) - 1) size = fraction ? NAN : INFINITY;
  return bits >> 15 ? -size : size;
}

#endif
