/* Starting kernels. */
#ifndef MACKO_LAUNCH_CUH
#define MACKO_LAUNCH_CUH

#include <cuda_runtime.h>

#include <utility>

/* The driver says how much of a first-level cache is shared memory: as much as lets the most blocks run at once. */
enum { DRIVERS_SHARE = -1 };

/* Starts a kernel on a stream, or nothing where there are no blocks, with so many percent of a first-level cache as shared memory
 * where this CUDA has such a wish (12.5). Answers what starting it says: cudaGetLastError would also give what an earlier call of
 * the program left, and would take that from it. */
template <typename... EXPECTED, typename... GIVEN>
static inline cudaError_t launch_sharing(int percent, void (*kernel)(EXPECTED...), dim3 blocks, unsigned threads,
                                         size_t shared_bytes, cudaStream_t stream, GIVEN &&...arguments)
{
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute wish[1];
  if (!blocks.x) return cudaSuccess;
  config.gridDim = blocks, config.blockDim = dim3(threads), config.attrs = wish;
  config.dynamicSmemBytes = shared_bytes, config.stream = stream;
#if CUDART_VERSION >= 12050
  wish[0].id = cudaLaunchAttributePreferredSharedMemoryCarveout, wish[0].val.sharedMemCarveout = (unsigned)percent;
  config.numAttrs = percent != DRIVERS_SHARE;
#else
  (void)percent;
#endif
  return cudaLaunchKernelEx(&config, kernel, std::forward<GIVEN>(arguments)...);
}

/* Does so with the driver's share. */
template <typename... EXPECTED, typename... GIVEN>
static inline cudaError_t launch(void (*kernel)(EXPECTED...), dim3 blocks, unsigned threads, size_t shared_bytes,
                                 cudaStream_t stream, GIVEN &&...arguments)
{
  return launch_sharing(DRIVERS_SHARE, kernel, blocks, threads, shared_bytes, stream, std::forward<GIVEN>(arguments)...);
}

#endif
