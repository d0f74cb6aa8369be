/* Element types as kernels see them: what is stored, and what it is as an accumulator (float or double). */
#ifndef MACKO_ELEMENT_CUH
#define MACKO_ELEMENT_CUH

#include "core/device.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* A kernel's type that is known only when it runs: for the combinations that are too rare for a kernel of their own. NARROW: it
 * is not f64. */
enum { MACKO_ANY = 100, MACKO_NARROW };

template <int TYPE> constexpr bool is_known = TYPE != MACKO_ANY && TYPE != MACKO_NARROW;

template <int TYPE> struct element;
template <> struct element<MACKO_F64> { typedef double type; };
template <> struct element<MACKO_F32> { typedef float type; };
template <> struct element<MACKO_F16> { typedef uint16_t type; };
template <> struct element<MACKO_BF16> { typedef uint16_t type; };
template <> struct element<MACKO_I8> { typedef int8_t type; };
template <> struct element<MACKO_U8> { typedef uint8_t type; };
template <> struct element<MACKO_U16> { typedef uint16_t type; };
template <> struct element<MACKO_ANY> { typedef char type; };
template <> struct element<MACKO_NARROW> { typedef char type; };

template <int TYPE> struct type_of { static constexpr int value = TYPE; };

/* Calls f(type_of<T>()) for the type T of vectors, which a kernel knows or is told: asked once for all that f loads. */
template <int VECTOR, typename F> __device__ __forceinline__ void with_vector(int type, const F &f)
{
  if constexpr (is_known<VECTOR>) return f(type_of<VECTOR>());
  switch (type) {
  case MACKO_F64: return f(type_of<MACKO_F64>());
  case MACKO_F32: return f(type_of<MACKO_F32>());
  case MACKO_F16: return f(type_of<MACKO_F16>());
  default: return f(type_of<MACKO_BF16>());
  }
}

/* The same for what is stored. */
template <int STORED, typename F> __device__ __forceinline__ void with_stored(int type, const F &f)
{
  if constexpr (is_known<STORED>) return f(type_of<STORED>());
  switch (type) {
  case MACKO_F64: if constexpr (STORED != MACKO_NARROW) f(type_of<MACKO_F64>()); return;
  case MACKO_F32: return f(type_of<MACKO_F32>());
  case MACKO_F16: return f(type_of<MACKO_F16>());
  case MACKO_BF16: return f(type_of<MACKO_BF16>());
  case MACKO_I8: return f(type_of<MACKO_I8>());
  case MACKO_U8: return f(type_of<MACKO_U8>());
  default: return f(type_of<MACKO_U16>());
  }
}

/* Bytes of a stored element. */
__device__ __forceinline__ int bytes_of_type(int type)
{
  return type == MACKO_F64 ? 8 : type == MACKO_F32 ? 4 : type == MACKO_U8 || type == MACKO_I8 ? 1 : 2;
}

/* An element of 8, 16 or 32 bits as a number; not for codes. */
template <int TYPE> __device__ __forceinline__ float number_of(uint32_t bits)
{
  if (TYPE == MACKO_F32) return __uint_as_float(bits);
  if (TYPE == MACKO_F16) return __half2float(__ushort_as_half((unsigned short)bits));
  if (TYPE == MACKO_BF16) return __uint_as_float(bits << 16);
  return (float)(int8_t)bits;
}

__device__ __forceinline__ double any_number(int type, const void *array, int64_t i)
{
  switch (type) {
  case MACKO_F64: return __ldg((const double *)array + i);
  case MACKO_F32: return __ldg((const float *)array + i);
  case MACKO_F16: return number_of<MACKO_F16>(__ldg((const unsigned short *)array + i));
  case MACKO_BF16: return number_of<MACKO_BF16>(__ldg((const unsigned short *)array + i));
  default: return __ldg((const signed char *)array + i);
  }
}

/* macko_index of lib/core/format.h, which is the host's. */
static __device__ __forceinline__ int64_t index_at(int type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? __ldg((const long long *)array + i) : (int64_t)__ldg((const int *)array + i);
}

/* ---- vectors ---- */

template <int TYPE> __device__ __forceinline__ auto load_vector(const void *x, int64_t i, int any)
{
  if constexpr (TYPE == MACKO_F64) return __ldg((const double *)x + i);
  else if constexpr (TYPE == MACKO_F32) return __ldg((const float *)x + i);
  else if constexpr (TYPE == MACKO_ANY) return any_number(any, x, i);
  else return number_of<TYPE>(__ldg((const unsigned short *)x + i));
}

__device__ __forceinline__ double load_y(int type, const void *y, int64_t i)
{
  switch (type) {
  case MACKO_F64: return ((const double *)y)[i];
  case MACKO_F32: return ((const float *)y)[i];
  case MACKO_F16: return number_of<MACKO_F16>(((const unsigned short *)y)[i]);
  default: return number_of<MACKO_BF16>(((const unsigned short *)y)[i]);
  }
}

__device__ __forceinline__ void store_y(int type, void *y, int64_t i, double value)
{
  switch (type) {
  case MACKO_F64: ((double *)y)[i] = value; break;
  case MACKO_F32: ((float *)y)[i] = (float)value; break;
  case MACKO_F16: ((__half *)y)[i] = __double2half(value); break;
  default: ((__nv_bfloat16 *)y)[i] = __double2bfloat16(value);
  }
}

/* ---- what a kernel knows of vectors and values ---- */

struct device_vectors {
  const void *x;
  void *y;
  int64_t ldx, ldy;
  double alpha, beta;
  int type;
};

struct device_values {
  const void *stream, *table; /* table of a dictionary: in the accumulator's type, as stored for load_value<MACKO_ANY> */
  int stored_type, value_type; /* of the stream, of the matrix that was encoded */
  int table_entries;
};

/* y_i = alpha sum + beta y_i; y_i is not read where beta is 0. */
template <int VECTOR> __device__ __forceinline__ void put_y(const device_vectors &v, int j, int64_t i, double sum)
{
  int type = VECTOR == MACKO_ANY ? v.type : VECTOR;
  int64_t at = j * v.ldy + i;
  store_y(type, v.y, at, v.beta == 0 ? v.alpha * sum : v.alpha * sum + v.beta * load_y(type, v.y, at));
}

/* A stored element as a number: through the table where it is a code. */
template <int STORED, typename SUM> __device__ __forceinline__ SUM value_of(uint32_t bits, const SUM *table)
{
  if constexpr (STORED == MACKO_U8 || STORED == MACKO_U16) return table[bits];
  else return (SUM)number_of<STORED>(bits);
}

template <int STORED, typename SUM> __device__ __forceinline__ SUM load_value(const device_values &v, int64_t slot)
{
  if constexpr (STORED == MACKO_ANY) {
    if (v.stored_type == MACKO_U8) return any_number(v.value_type, v.table, __ldg((const uint8_t *)v.stream + slot));
    if (v.stored_type == MACKO_U16) return any_number(v.value_type, v.table, __ldg((const uint16_t *)v.stream + slot));
    return any_number(v.stored_type, v.stream, slot);
  } else if constexpr (STORED == MACKO_F64) return (SUM)__ldcs((const double *)v.stream + slot);
  else if constexpr (STORED == MACKO_F32) return (SUM)__ldcs((const float *)v.stream + slot);
  else if constexpr (STORED == MACKO_U8 || STORED == MACKO_I8)
    return value_of<STORED, SUM>(__ldcs((const unsigned char *)v.stream + slot), (const SUM *)v.table);
  else return value_of<STORED, SUM>(__ldcs((const unsigned short *)v.stream + slot), (const SUM *)v.table);
}

#endif
