/* Starting kernels. */
#ifndef MACKO_LAUNCH_CUH
#define MACKO_LAUNCH_CUH

#include <cuda_runtime.h>

#include <utility>

/* Starts a kernel on a stream, or nothing where there are no blocks. Answers what starting it says: cudaGetLastError would also
 * give what an earlier call of the program left, and would take that from it. */
template <typename... EXPECTED, typename... GIVEN>
static inline cudaError_t launch(void (*kernel)(EXPECTED...), dim3 blocks, unsigned threads, size_t shared_bytes,
                                 cudaStream_t stream, GIVEN &&...arguments)
{
  cudaLaunchConfig_t config = {};
  if (!blocks.x) return cudaSuccess;
  config.gridDim = blocks, config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes, config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, std::forward<GIVEN>(arguments)...);
}

#endif
