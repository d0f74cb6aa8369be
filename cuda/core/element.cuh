/* Element types as kernels see them: what is stored, and what it is as an accumulator (float or double). */
#ifndef MACKO_ELEMENT_CUH
#define MACKO_ELEMENT_CUH

#include "core/device.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* These are the types that a kernel learns only when it runs, in place of one that it is compiled for: combinations of types
 * that are too rare for a kernel of their own share one. MACKO_NARROW is any type but f64. The last four are of vectors that lie
 * side by side (side_by_side.cuh). */
enum { MACKO_ANY = 100, MACKO_NARROW, MACKO_BESIDE_F64, MACKO_BESIDE_F32, MACKO_BESIDE_F16, MACKO_BESIDE_BF16 };

/* Says whether a kernel is compiled for that very type. */
template <int TYPE> constexpr bool is_known = TYPE != MACKO_ANY && TYPE != MACKO_NARROW;

/* Says whether vectors of that type lie side by side, and gives the type of their elements. */
template <int VECTOR> constexpr bool is_beside = VECTOR >= MACKO_BESIDE_F64 && VECTOR <= MACKO_BESIDE_BF16;
template <int VECTOR> constexpr int vector_element = VECTOR;
template <> constexpr int vector_element<MACKO_BESIDE_F64> = MACKO_F64;
template <> constexpr int vector_element<MACKO_BESIDE_F32> = MACKO_F32;
template <> constexpr int vector_element<MACKO_BESIDE_F16> = MACKO_F16;
template <> constexpr int vector_element<MACKO_BESIDE_BF16> = MACKO_BF16;

/* This says how an element of a type lies in memory: 16-bit floats as their bits, and types known only at run time as bytes. */
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

/* This is a type as a value, so that a lambda with an auto argument gets it as a constant. */
template <int TYPE> struct type_of { static constexpr int value = TYPE; };

/* Calls f(type_of<T>()) for the type T of vectors, which the kernel knows as VECTOR or is told as `type`. The question is asked
 * once for all that f loads, not once an element. */
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

/* Does the same for types that values are stored as, codes included. MACKO_NARROW leaves the case of f64 out. */
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

/* Gives the number of bytes of a stored element of a type known at run time. */
__device__ __forceinline__ int bytes_of_type(int type)
{
  return type == MACKO_F64 ? 8 : type == MACKO_F32 ? 4 : type == MACKO_U8 || type == MACKO_I8 ? 1 : 2;
}

/* Gives the number that the lowest 8, 16 or 32 bits are as an i8, f16, bf16 or f32; not for codes. A float holds all of them
 * exactly. */
template <int TYPE> __device__ __forceinline__ float number_of(uint32_t bits)
{
  if (TYPE == MACKO_F32) return __uint_as_float(bits);
  if (TYPE == MACKO_F16) return __half2float(__ushort_as_half((unsigned short)bits));
  if (TYPE == MACKO_BF16) return __uint_as_float(bits << 16);
  return (float)(int8_t)bits;
}

/* Gives element i of an array whose type is known at run time, as a number; not for codes. */
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

/* Gives element i of an array of i32 or i64: what macko_index of lib/core/format.h, which kernels cannot call, does on the
 * host. */
static __device__ __forceinline__ int64_t index_at(int type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? __ldg((const long long *)array + i) : (int64_t)__ldg((const int *)array + i);
}

/* ---- vectors ---- */

/* Gives element i of a vector through the read-only cache: as a double for f64, else as a float, which holds it exactly. `any`
 * is the type where TYPE is MACKO_ANY. */
template <int TYPE> __device__ __forceinline__ auto load_vector(const void *x, int64_t i, int any)
{
  static_assert(!is_beside<TYPE>, "load_group loads elements of vectors that lie side by side");
  if constexpr (TYPE == MACKO_F64) return __ldg((const double *)x + i);
  else if constexpr (TYPE == MACKO_F32) return __ldg((const float *)x + i);
  else if constexpr (TYPE == MACKO_ANY) return any_number(any, x, i);
  else return number_of<TYPE>(__ldg((const unsigned short *)x + i));
}

/* Gives element i of y, which the same product writes: loaded without the read-only cache. */
__device__ __forceinline__ double load_y(int type, const void *y, int64_t i)
{
  switch (type) {
  case MACKO_F64: return ((const double *)y)[i];
  case MACKO_F32: return ((const float *)y)[i];
  case MACKO_F16: return number_of<MACKO_F16>(((const unsigned short *)y)[i]);
  default: return number_of<MACKO_BF16>(((const unsigned short *)y)[i]);
  }
}

/* Rounds value to the type of y and stores it as element i. */
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

/* These are the vectors of one pass over the matrix: x and y are the first of them, the others ldx and ldy elements apart. */
struct device_vectors {
  const void *x;
  void *y;
  int64_t ldx, ldy;
  double alpha, beta;
  int type;  /* of elements of x and y */
  int count; /* how many groups, of one vector or more, are multiplied at once, by blocks of their own: gridDim.y */
};

/* Gives those of v from number j on. */
static __host__ __device__ __forceinline__ device_vectors vectors_after(device_vectors v, int64_t j)
{
  const int64_t size = v.type == MACKO_F64 ? 8 : v.type == MACKO_F32 ? 4 : 2;
  v.x = (const char *)v.x + j * v.ldx * size, v.y = (char *)v.y + j * v.ldy * size;
  return v;
}

/* Gives the vectors of the calling block: group number blockIdx.y where the kernel takes several groups (AT_ONCE), else all. */
template <int VECTOR, int GROUP, int AT_ONCE> static __device__ __forceinline__ device_vectors vectors_of_block(device_vectors v)
{
  if (!AT_ONCE) return v;
  if (is_known<VECTOR>) v.type = vector_element<VECTOR>;
  return vectors_after(v, blockIdx.y * GROUP);
}

/* Gives the elements of column col of a group of vectors: those that lie side by side up to 16 bytes at a time, through the
 * read-only cache. */
template <int VECTOR, typename SUM, int GROUP>
static __device__ __forceinline__ void load_group(const device_vectors &v, int64_t col, SUM x[GROUP])
{
  static_assert(!is_beside<VECTOR> || GROUP == 4, "four vectors lie side by side");
  if constexpr (VECTOR == MACKO_BESIDE_F64) {
    const double2 *p = (const double2 *)v.x + 2 * col;
    const double2 low = __ldg(p), high = __ldg(p + 1);
    x[0] = (SUM)low.x, x[1] = (SUM)low.y, x[2] = (SUM)high.x, x[3] = (SUM)high.y;
  } else if constexpr (VECTOR == MACKO_BESIDE_F32) {
    const float4 all = __ldg((const float4 *)v.x + col);
    x[0] = (SUM)all.x, x[1] = (SUM)all.y, x[2] = (SUM)all.z, x[3] = (SUM)all.w;
  } else if constexpr (is_beside<VECTOR>) {
    constexpr int ELEMENT = vector_element<VECTOR>;
    const uint2 all = __ldg((const uint2 *)v.x + col);
    x[0] = (SUM)number_of<ELEMENT>(all.x), x[1] = (SUM)number_of<ELEMENT>(all.x >> 16);
    x[2] = (SUM)number_of<ELEMENT>(all.y), x[3] = (SUM)number_of<ELEMENT>(all.y >> 16);
  } else
#pragma unroll
    for (int g = 0; g < GROUP; g++) x[g] = (SUM)load_vector<VECTOR>(v.x, g * v.ldx + col, v.type);
}

/* This is the stream of values of a matrix as kernels read it, with the table that codes go through. */
struct device_values {
  const void *stream, *table;  /* the table of a dictionary is in the accumulator's type; for load_value<MACKO_ANY> as stored */
  int stored_type, value_type; /* types of the stream's elements, and of the matrix that was encoded */
  int table_entries;
};

/* Gives sum + a b, rounded once. It is written out: which products the compiler fuses depends on the kernel, and so did the bits of
 * a vector on how many others are multiplied with it. */
static __device__ __forceinline__ double add_product(double a, double b, double sum)
{
  return __fma_rn(a, b, sum);
}
static __device__ __forceinline__ float add_product(float a, float b, float sum)
{
  return __fmaf_rn(a, b, sum);
}

/* Ends row i of vector j: y_i = alpha sum + beta y_i, in f64 and rounded once. y_i is not read where beta is 0, so that NaN in
 * it does not survive. Which product is rounded by itself is written out: left to the compiler it depends on the kernel, and so did
 * the bits of a vector on how many others are multiplied with it. */
template <int VECTOR> __device__ __forceinline__ void put_y(const device_vectors &v, int j, int64_t i, double sum)
{
  int type = VECTOR == MACKO_ANY ? v.type : vector_element<VECTOR>;
  int64_t at = j * v.ldy + i;
  store_y(type, v.y, at, v.beta == 0 ? v.alpha * sum : __fma_rn(v.beta, load_y(type, v.y, at), v.alpha * sum));
}

/* Gives a stored element of up to 32 bits as a number: through the table where it is a code. */
template <int STORED, typename SUM> __device__ __forceinline__ SUM value_of(uint32_t bits, const SUM *table)
{
  if constexpr (STORED == MACKO_U8 || STORED == MACKO_U16) return table[bits];
  else return (SUM)number_of<STORED>(bits);
}

/* Gives the value at a slot of the stream. Kernels for known types load it with the hint that it is read once, so that x stays
 * in the caches. */
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
