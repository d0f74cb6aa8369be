/* A csr in device memory, entry by entry; and warps, one of which does a slice or a row. */
#ifndef MACKO_DEVICE_CSR_CUH
#define MACKO_DEVICE_CSR_CUH

#include "core/element.cuh"
#include "core/encode.h"
#include "core/launch.cuh"
#include "core/warp.cuh"

/* This is the number of threads of a block of the encoding kernels. */
enum { ENCODE_THREADS = 256 };

/* Says where row i begins, the column of entry p, and the bits of its value; rows, columns and entries count from 0, whatever
 * the arrays count from. */
__device__ __forceinline__ int64_t row_start(const macko_device_csr &a, int64_t i)
{
  return index_at(a.row_ptr_type, a.row_ptr, i) - a.base;
}

__device__ __forceinline__ int64_t column(const macko_device_csr &a, int64_t p)
{
  return index_at(a.col_type, a.cols, p) - a.base;
}

__device__ __forceinline__ uint64_t value_bits(const macko_device_csr &a, int64_t p)
{
  return macko_bits_at((macko_type)a.value_type, a.values, p);
}

/* Gives the number of a thread in its launch, that of its warp, and that of its lane in the warp. */
__device__ __forceinline__ int64_t thread_number()
{
  return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ int64_t warp_number()
{
  return thread_number() / WARP;
}

__device__ __forceinline__ int lane_number()
{
  return (int)threadIdx.x % WARP;
}

/* Gives the number of blocks of ENCODE_THREADS for so many threads. */
static inline unsigned blocks_for(int64_t threads)
{
  return (unsigned)((threads + ENCODE_THREADS - 1) / ENCODE_THREADS);
}

#endif
