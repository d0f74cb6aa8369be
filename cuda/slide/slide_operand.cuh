/* What tensor cores multiply: numbers rounded to operands of 16 or 8 bits. */
#ifndef MACKO_SLIDE_OPERAND_CUH
#define MACKO_SLIDE_OPERAND_CUH

#include "core/element.cuh"
#include "core/warp.cuh"
#include "slide/slide_matmul.h"

#include <cuda_fp8.h>

/* This is the largest magnitude that operands of 8 bits hold. */
template <int OPERANDS> constexpr float most = OPERANDS == MACKO_OPERANDS_I8 ? 127.0f : 448.0f;

/* Gives the largest of what the lanes of a warp have: of the bits of magnitudes, by which scales are found. */
static __device__ __forceinline__ unsigned largest_of_lanes(unsigned own)
{
  for (int d = WARP / 2; d > 0; d /= 2) own = max(own, __shfl_xor_sync(EVERY, own, d));
  return own;
}

/* This is the number of bytes of an operand. */
template <int OPERANDS> constexpr int operand_bytes = OPERANDS == MACKO_OPERANDS_F16 || OPERANDS == MACKO_OPERANDS_BF16 ? 2 : 1;

/* Gives the bits of a number, a float or a double, as an operand; inverse is that of its scale, and not looked at for operands of
 * 16 bits. */
template <int OPERANDS, typename NUMBER> static __device__ __forceinline__ uint32_t operand_of(NUMBER x, float inverse)
{
  if constexpr (OPERANDS == MACKO_OPERANDS_I8) return (uint8_t)macko_lift_i8((float)x, inverse);
  else if constexpr (OPERANDS == MACKO_OPERANDS_E4M3) return __nv_cvt_float_to_fp8((float)x * inverse, __NV_SATFINITE, __NV_E4M3);
  else if constexpr (OPERANDS == MACKO_OPERANDS_F16 && sizeof(NUMBER) == 8) return __half_as_ushort(__double2half(x));
  else if constexpr (OPERANDS == MACKO_OPERANDS_F16) return __half_as_ushort(__float2half_rn(x));
  else if constexpr (sizeof(NUMBER) == 8) return __bfloat16_as_ushort(__double2bfloat16(x));
  else return __bfloat16_as_ushort(__float2bfloat16_rn(x));
}

/* Does the same for four numbers and operands of 8 bits, as one word, in fewer instructions. */
template <int OPERANDS> static __device__ __forceinline__ uint32_t four_operands(float a, float b, float c, float d, float inverse)
{
  if constexpr (OPERANDS == MACKO_OPERANDS_E4M3) {
    const uint32_t low = __nv_cvt_float2_to_fp8x2(make_float2(a * inverse, b * inverse), __NV_SATFINITE, __NV_E4M3);
    return low | (uint32_t)__nv_cvt_float2_to_fp8x2(make_float2(c * inverse, d * inverse), __NV_SATFINITE, __NV_E4M3) << 16;
  } else {
    uint32_t word;
    /* Integers are rounded to nearest, ties to even, and NaN to 0, then saturated and packed, the first of two above the second. */
    asm("{ .reg .b32 high; cvt.pack.sat.s8.s32.b32 high, %2, %1, 0; cvt.pack.sat.s8.s32.b32 %0, %4, %3, high; }"
        : "=r"(word)
        : "r"(__float2int_rn(c * inverse)), "r"(__float2int_rn(d * inverse)), "r"(__float2int_rn(a * inverse)),
          "r"(__float2int_rn(b * inverse)));
    return word;
  }
}

#endif
