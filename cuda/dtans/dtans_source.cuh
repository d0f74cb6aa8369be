/* A csr in device memory, entry by entry, for the encoder of format dtans. */
#ifndef MACKO_DTANS_SOURCE_CUH
#define MACKO_DTANS_SOURCE_CUH

#include "core/element.cuh"
#include "core/launch.cuh"
#include "dtans/dtans_encode.h"

/* This is a csr in device memory as kernels of this format take it, and whether first gaps count from the diagonal. */
struct device_csr {
  const void *row_ptr, *cols, *values;
  int row_ptr_type, col_type, value_type, base, relative;
  int64_t nrows;
};

/* Gives the arrays of *a, which stay the caller's. */
static inline device_csr source_of(const macko_csr *a, int relative)
{
  return {a->row_ptr, a->cols, a->values, a->row_ptr_type, a->col_type, a->value_type, a->index_base, relative, a->nrows};
}

/* Says where row i begins, and the column of entry p, counted from 0 whatever the arrays count from. */
static __device__ __forceinline__ int64_t row_at(const device_csr &a, int64_t i)
{
  return index_at(a.row_ptr_type, a.row_ptr, i) - a.base;
}

static __device__ __forceinline__ int64_t col_at(const device_csr &a, int64_t p)
{
  return index_at(a.col_type, a.cols, p) - a.base;
}

/* Gives the bits of the value of entry p, zero above its type's. */
static __device__ __forceinline__ uint64_t bits_at(const device_csr &a, int64_t p)
{
  switch (a.value_type) {
  case MACKO_F64: return ((const uint64_t *)a.values)[p];
  case MACKO_F32: return ((const uint32_t *)a.values)[p];
  default: return ((const uint16_t *)a.values)[p];
  }
}

/* Gives the gap of entry p, which is in that row; first: it is the row's first entry, whose gap is its column or, relative, the
 * zig-zag code of its distance from the diagonal. */
static __device__ __forceinline__ uint32_t gap_at(const device_csr &a, int64_t p, int64_t row, bool first)
{
  int64_t col = col_at(a, p);
  if (!first) return (uint32_t)(col - col_at(a, p - 1));
  return a.relative ? macko_dtans_zigzag(col - row) : (uint32_t)col;
}

/* Gives the number of blocks of `size` threads for so many threads. */
static inline unsigned blocks_for(int64_t threads, int size)
{
  return (unsigned)((threads + size - 1) / size);
}

#endif
