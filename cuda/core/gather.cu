/* Entries of a vector by their numbers: what a rank of a distributed matrix sends of its own, and what it adds to a few rows. */
#include "core/device.h"
#include "core/launch.cuh"

enum { THREADS = 256 };

/* Copies entries as bits of their size, whatever their type is: to[i] = x[indices[i]], a thread an entry. */
template <typename ENTRY> static __global__ void gather_kernel(const ENTRY *x, const int64_t *indices, int64_t n, ENTRY *to)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < n) to[i] = x[indices[i]];
}

/* Starts the kernel for entries of one size; n is above 0. */
template <typename ENTRY>
static cudaError_t gather(const void *x, const int64_t *indices, int64_t n, void *to, cudaStream_t stream)
{
  return launch(gather_kernel<ENTRY>, (unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, stream, (const ENTRY *)x, indices, n,
                (ENTRY *)to);
}

/* The arguments are checked before the kernel is started; the indices are not, as that would need the host to wait. */
extern "C" macko_status macko_device_gather(macko_type type, const void *x, const int64_t *indices, int64_t n, void *to,
                                            struct CUstream_st *stream, macko_error *err)
{
  int bytes = macko_type_bytes(type);
  if (n < 0) return macko_fail(err, MACKO_INVALID_ARGUMENT, "n is %lld, a count of entries cannot be negative", (long long)n);
  if (n > 0 && (!x || !indices || !to)) return macko_fail(err, MACKO_INVALID_ARGUMENT, "x, indices or to is NULL");
  if (n == 0) return MACKO_OK;
  cudaError_t error;
  if (bytes == 8) error = gather<uint64_t>(x, indices, n, to, stream);
  else if (bytes == 4) error = gather<uint32_t>(x, indices, n, to, stream);
  else if (bytes == 2) error = gather<uint16_t>(x, indices, n, to, stream);
  else return macko_fail(err, MACKO_INVALID_ARGUMENT, "type %d has no entries of 2, 4 or 8 bytes", (int)type);
  return macko_cuda_status(error, "starting a gather", err);
}

/* Adds from[i] to y[indices[i]], a thread an entry. No index occurs twice, so that no atomics are needed and sums have one
 * order. */
template <typename ENTRY> static __global__ void add_kernel(const ENTRY *from, const int64_t *indices, int64_t n, ENTRY *y)
{
  int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
  if (i < n) y[indices[i]] += from[i];
}

extern "C" macko_status macko_device_add_at(macko_type type, const void *from, const int64_t *indices, int64_t n, void *y,
                                            struct CUstream_st *stream, macko_error *err)
{
  unsigned blocks = (unsigned)((n + THREADS - 1) / THREADS);
  if (n < 0) return macko_fail(err, MACKO_INVALID_ARGUMENT, "n is %lld, a count of entries cannot be negative", (long long)n);
  if (n > 0 && (!from || !indices || !y)) return macko_fail(err, MACKO_INVALID_ARGUMENT, "from, indices or y is NULL");
  if (type != MACKO_F64 && type != MACKO_F32)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "type %d is not f64 or f32", (int)type);
  if (n == 0) return MACKO_OK;
  cudaError_t error =
      type == MACKO_F64 ? launch(add_kernel<double>, blocks, THREADS, 0, stream, (const double *)from, indices, n, (double *)y)
                        : launch(add_kernel<float>, blocks, THREADS, 0, stream, (const float *)from, indices, n, (float *)y);
  return macko_cuda_status(error, "starting to add entries", err);
}
