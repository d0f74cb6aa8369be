/* Elements of the arrays of a csr. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "core/half.h"
#include "macko.h"

#include <string.h>

/* Element i of an array of row pointers or columns, whose type is MACKO_I32 or MACKO_I64. The readers take files of either width,
 * so the type is asked for at every element instead of having two copies of each loop. */
static inline int64_t index_at(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* Element i of an array of values of type f64, f32, f16 or bf16, as a double. All of these types are exact in a double. */
static inline double value_at(macko_type type, const void *array, int64_t i)
{
  switch (type) {
  case MACKO_F64: return ((const double *)array)[i];
  case MACKO_F32: return ((const float *)array)[i];
  case MACKO_F16: return macko_f16_to_f32(((const uint16_t *)array)[i]);
  default: return macko_bf16_to_f32(((const uint16_t *)array)[i]);
  }
}

/* Whether an integer of this magnitude is exactly a double: one of up to 53 significant bits is. */
static inline int integer_is_exact(uint64_t magnitude)
{
  return magnitude >> 53 == 0 || magnitude >> __builtin_ctzll(magnitude) >> 53 == 0;
}

/* Where row i begins in the columns and values of a; i may be the number of rows, which gives the number of entries. */
static inline int64_t row_at(const macko_csr *a, int64_t i)
{
  return index_at(a->row_ptr_type, a->row_ptr, i);
}

/* The column, counted from 0, of entry p of a. */
static inline int64_t col_at(const macko_csr *a, int64_t p)
{
  return index_at(a->col_type, a->cols, p);
}

#endif
