/* A value as bits, and stored as another type: the arithmetic of the value codecs, shared by the encoders on host and GPU. */
#ifndef MACKO_CONVERT_H
#define MACKO_CONVERT_H

#include "core/half.h"
#include "macko.h"

/* Between float and double a NaN keeps its sign and upper payload bits and becomes quiet. Hosts do so by themselves. A GPU gives
 * one and the same NaN for all, so that kernels move the bits by hand to give what the host gives. */
MACKO_INLINE float macko_f64_to_f32(double v)
{
#ifdef __CUDA_ARCH__
  if (v != v) {
    uint64_t bits = (uint64_t)__double_as_longlong(v);
    return macko_float_from_bits((uint32_t)(bits >> 32 & 0x80000000u) | 0x7fc00000u | (uint32_t)(bits >> 29 & 0x3fffffu));
  }
#endif
  return (float)v;
}

MACKO_INLINE double macko_f32_to_f64(float v)
{
#ifdef __CUDA_ARCH__
  if (v != v) {
    uint64_t bits = macko_bits_from_float(v);
    return __longlong_as_double((long long)((bits & 0x80000000u) << 32 | 0x7ff8000000000000u | (bits & 0x3fffffu) << 29));
  }
#endif
  return v;
}

/* Gives element i of an array of a float type, as bits in the low end of the answer. Values that must come back as they were are
 * moved as bits, because a signalling NaN may change when it passes through a floating-point register. */
MACKO_INLINE uint64_t macko_bits_at(macko_type type, const void *array, int64_t i)
{
  uint64_t bits;
  switch (type) {
  case MACKO_F64: memcpy(&bits, (const double *)array + i, 8); return bits;
  case MACKO_F32: return ((const uint32_t *)array)[i];
  default: return ((const uint16_t *)array)[i];
  }
}

/* Stores such bits as element i. */
MACKO_INLINE void macko_put_bits(macko_type type, void *array, int64_t i, uint64_t bits)
{
  switch (type) {
  case MACKO_F64: memcpy((double *)array + i, &bits, 8); break;
  case MACKO_F32: ((uint32_t *)array)[i] = (uint32_t)bits; break;
  default: ((uint16_t *)array)[i] = (uint16_t)bits;
  }
}

/* Gives element i as double; a type that is no float type is taken for i8. The type is a constant in every caller that is fast,
 * so the switch is gone after inlining. */
MACKO_INLINE double macko_float_at(macko_type type, const void *array, int64_t i)
{
  switch (type) {
  case MACKO_F64: return ((const double *)array)[i];
  case MACKO_F32: return macko_f32_to_f64(((const float *)array)[i]);
  case MACKO_F16: return macko_f32_to_f64(macko_f16_to_f32(((const uint16_t *)array)[i]));
  case MACKO_BF16: return macko_f32_to_f64(macko_bf16_to_f32(((const uint16_t *)array)[i]));
  default: return ((const int8_t *)array)[i];
  }
}

/* Rounds a double to float so that the last bit is odd wherever the result is not exact. A second rounding to 16 bits then gives
 * what one rounding of the double would: an odd last bit keeps what lies just beside a tie from looking like the tie. */
MACKO_INLINE float macko_round_to_odd(double v)
{
  float f = macko_f64_to_f32(v);
  if ((double)f == v || v != v || f - f != 0) return f;
  uint32_t bits = macko_bits_from_float(f);
  int above = f > 0 ? (double)f > v : (double)f < v; /* 1: rounding went away from 0 */
  if (v != 0 && f == 0) return macko_float_from_bits(1u | (v < 0 ? 0x80000000u : 0));
  if (above && !(bits & 1)) bits--;
  else bits |= 1;
  return macko_float_from_bits(bits);
}

/* Gives element i as float, for any type but f64; float holds every value of those. The bits pass unchanged, those of a
 * signalling NaN too. */
MACKO_INLINE float macko_single_at(macko_type type, const void *array, int64_t i)
{
  switch (type) {
  case MACKO_F32: return macko_float_from_bits(((const uint32_t *)array)[i]);
  case MACKO_F16: return macko_f16_to_f32(((const uint16_t *)array)[i]);
  case MACKO_BF16: return macko_bf16_to_f32(((const uint16_t *)array)[i]);
  default: return ((const int8_t *)array)[i];
  }
}

/* Rounds a float to type `to` (f32, f16 or bf16), to nearest even, and gives the bits. */
MACKO_INLINE uint32_t macko_narrow_single(macko_type to, float f)
{
  return to == MACKO_F32 ? macko_bits_from_float(f) : to == MACKO_F16 ? macko_f32_to_f16(f) : macko_f32_to_bf16(f);
}

/* Gives the bits of value i of array once it is stored as type `to`: rounded to a float type, or cut to i8. A value outside -128
 * .. 127 becomes 0, as converting it would be undefined; macko_fits tells whether a value survives. */
MACKO_INLINE uint32_t macko_convert(macko_type from, macko_type to, const void *array, int64_t i)
{
  if (from != MACKO_F64 && to != MACKO_I8) return macko_narrow_single(to, macko_single_at(from, array, i));
  double v = macko_float_at(from, array, i);
  if (to == MACKO_I8) return v >= -128 && v <= 127 ? (uint8_t)(int8_t)v : 0;
  return macko_narrow_single(to, to == MACKO_F32 ? macko_f64_to_f32(v) : macko_round_to_odd(v));
}

/* Gives the bits, in type `to`, of a value stored as type `from`, which is not f64. A finite value stays finite: bf16 rounds the
 * largest values of f16 up to 65536, which f16 does not have and which is given back as 65504, the nearest that it has. */
MACKO_INLINE uint64_t macko_widen(macko_type from, macko_type to, const void *array, int64_t i)
{
  uint64_t bits;
  if (to == MACKO_F16 && from == MACKO_BF16) {
    float f = macko_single_at(from, array, i);
    uint16_t half = macko_f32_to_f16(f);
    return (half & 0x7fff) == 0x7c00 && f - f == 0 ? (uint16_t)(half - 1) : half;
  }
  if (to != MACKO_F64) return macko_narrow_single(to, macko_single_at(from, array, i));
  double v = macko_float_at(from, array, i);
  memcpy(&bits, &v, 8);
  return bits;
}

/* Gives 1 if value i is finite but infinite once it is stored as type `to`, a float type of fewer bits. */
MACKO_INLINE int macko_overflows(macko_type from, macko_type to, const void *array, int64_t i)
{
  double v = macko_float_at(from, array, i);
  uint32_t infinity = to == MACKO_F32 ? 0x7f800000u : to == MACKO_F16 ? 0x7c00u : 0x7f80u;
  return v - v == 0 && (macko_convert(from, to, array, i) & (to == MACKO_F32 ? 0x7fffffffu : 0x7fffu)) == infinity;
}

/* Gives 1 if value i comes back with the same bits after it was stored as type `to`, NaN payloads and the sign of zero
 * included. */
MACKO_INLINE int macko_fits(macko_type from, macko_type to, const void *array, int64_t i)
{
  uint32_t single = macko_convert(from, to, array, i);
  uint16_t half = (uint16_t)single;
  uint8_t byte = (uint8_t)single;
  uint64_t bits = macko_bits_at(from, array, i);
  if (to == MACKO_F32) return macko_widen(to, from, &single, 0) == bits;
  if (to == MACKO_I8) return macko_widen(to, from, &byte, 0) == bits;
  if (from == MACKO_F16) return macko_narrow_single(from, macko_single_at(to, &half, 0)) == bits; /* 65536 is not 65504 */
  return macko_widen(to, from, &half, 0) == bits;
}

#endif
