/* Elements of the arrays of a csr. */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "core/half.h"
#include "macko.h"

#include <string.h>

static inline int64_t index_at(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

static inline double value_at(macko_type type, const void *array, int64_t i)
{
  switch (type) {
  case MACKO_F64: return ((const double *)array)[i];
  case MACKO_F32: return ((const float *)array)[i];
  case MACKO_F16: return macko_f16_to_f32(((const uint16_t *)array)[i]);
  default: return macko_bf16_to_f32(((const uint16_t *)array)[i]);
  }
}

static inline int64_t row_at(const macko_csr *a, int64_t i)
{
  return index_at(a->row_ptr_type, a->row_ptr, i);
}

static inline int64_t col_at(const macko_csr *a, int64_t p)
{
  return index_at(a->col_type, a->cols, p);
}

#endif
