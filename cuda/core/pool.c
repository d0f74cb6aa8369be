/* Pools of device memory (pool.h). They are CUDA's; only which one to use is ours. */
#include "core/pool.h"

#include <pthread.h>

/* Encodings share a pool on each of so many devices; on others each maps its own memory. */
enum { DEVICES = 64 };

/* The first is the largest room that comes from a pool, the second what the pool keeps: some rooms of one encoding, and little
 * beside what GPUs have. */
enum { LARGEST = 32 << 20, KEPT = 64 << 20 };

macko_status macko_pool_new(uint64_t keep, cudaMemPool_t *pool, macko_error *err)
{
  struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned, .location = {.type = cudaMemLocationTypeDevice}};
  enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed; /* a capture under way does not mind a pool */
  int supported = 0;
  cudaError_t e = cudaGetDevice(&props.location.id);
  if (!e) e = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, props.location.id);
  if (!e && !supported) return macko_fail(err, MACKO_UNSUPPORTED, "GPU %d has no memory pools", props.location.id);
  if (!e) e = cudaThreadExchangeStreamCaptureMode(&mode);
  if (!e) {
    e = cudaMemPoolCreate(pool, &props);
    if (!e) {
      e = cudaMemPoolSetAttribute(*pool, cudaMemPoolAttrReleaseThreshold, &keep);
      if (e) cudaMemPoolDestroy(*pool);
    }
    cudaThreadExchangeStreamCaptureMode(&mode);
  }
  return macko_cuda_status(e, "making a pool of memory", err);
}

/* The pools live as long as the process, since nothing says that no encoding will come. A device whose pool could not be made is
 * not asked again. */
void macko_pool_take(int64_t bytes, cudaStream_t stream, void **memory)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct {
    cudaMemPool_t pool;
    int tried;
  } of[DEVICES];
  int device = 0;
  *memory = NULL;
  if (bytes > LARGEST || cudaGetDevice(&device) || device >= DEVICES) return;
  pthread_mutex_lock(&lock);
  if (!of[device].tried && macko_pool_new(KEPT, &of[device].pool, NULL)) of[device].pool = NULL;
  of[device].tried = 1;
  cudaMemPool_t pool = of[device].pool;
  pthread_mutex_unlock(&lock);
  if (!pool || !cudaMallocFromPoolAsync(memory, (size_t)bytes, pool, stream)) return;
  cudaGetLastError(); /* another way may do, so that no later call need see this */
  *memory = NULL;
}
