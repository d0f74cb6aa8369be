/* 16-bit floats as bits, converted without compiler or hardware support, so that every platform gives the same bits. */
#ifndef MACKO_HALF_H
#define MACKO_HALF_H

#include "core/inline.h"

#include <stdint.h>
#include <string.h>

/* memcpy is how C moves bits between types without undefined behaviour; compilers make a plain move of it. */
MACKO_INLINE float macko_float_from_bits(uint32_t bits)
{
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

MACKO_INLINE uint32_t macko_bits_from_float(float f)
{
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* A bfloat16 is the upper half of a float, so that this is exact. */
MACKO_INLINE float macko_bf16_to_f32(uint16_t h)
{
  return macko_float_from_bits((uint32_t)h << 16);
}

/* Rounds to nearest even. A NaN stays a NaN: where all payload bits that are kept are 0, which would be infinity, one is set. */
MACKO_INLINE uint16_t macko_f32_to_bf16(float f)
{
  uint32_t bits = macko_bits_from_float(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    uint16_t top = (uint16_t)(bits >> 16);
    return top & 0x7f ? top : (uint16_t)(top | 0x40);
  }
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* This is exact for every number; infinities and NaNs keep their payload. */
MACKO_INLINE float macko_f16_to_f32(uint16_t h)
{
  uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return macko_float_from_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
  /* The exponent is moved by a multiplication, which also normalises denormals exactly. */
  return macko_float_from_bits(sign | macko_bits_from_float(macko_float_from_bits(rest << 13) * 0x1p112f));
}

/* Defines the same for a vector of 32-bit words whose low halves hold 16-bit floats, as a function `name` with those qualifiers;
 * words, integers and floats are vector types of as many lanes. Infinities and NaNs, where `big` is all ones, are put together
 * apart, as the multiplication would make finite numbers of them. */
#define MACKO_HALVES_TO_FLOATS(QUALIFIERS, name, words, integers, floats) \
  QUALIFIERS void name(words h, floats *to) \
  { \
    words rest = h & 0x7fff, sign = (h & 0x8000) << 16, big = (words)((integers)rest >= 0x7c00); \
    words scaled = (words)((floats)(rest << 13) * 0x1p112f), special = 0x7f800000u | (rest & 0x3ff) << 13; \
    *to = (floats)(sign | (big & special) | (~big & scaled)); \
  }

/* Rounds to nearest even; a NaN keeps its upper payload bits and stays a NaN. From 65520 on the answer is infinity. */
MACKO_INLINE uint16_t macko_f32_to_f16(float f)
{
  uint32_t bits = macko_bits_from_float(f), size = bits & 0x7fffffffu;
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000u);
  if (size > 0x7f800000u) {
    uint16_t payload = (uint16_t)(size >> 13 & 0x3ffu);
    return (uint16_t)(sign | 0x7c00u | (payload ? payload : 0x200u));
  }
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
  if (size < 0x38800000u) { /* denormal: adding 0.5 leaves the rounded result in the low bits */
    float sum = macko_float_from_bits(size) + 0.5f;
    return (uint16_t)(sign | (macko_bits_from_float(sum) - 0x3f000000u));
  }
  return (uint16_t)(sign | (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13);
}

#endif
