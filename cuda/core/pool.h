/* Pools of device memory that stays mapped when it is given back, as mapping takes 50 us and unmapping 60. */
#ifndef MACKO_POOL_H
#define MACKO_POOL_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a pool on the current device that keeps up to `keep` bytes which nobody uses. It may be called while streams are
 * captured. Errors: UNSUPPORTED (a device without memory pools), DEVICE. */
macko_status macko_pool_new(uint64_t keep, cudaMemPool_t *pool, macko_error *err);

/* Takes memory from the pool that all encodings on the current device share. It may be used on the stream alone, behind what is
 * there by now, and is given back by cudaFreeAsync on that stream. *memory is NULL where the device has no pools, where memory is
 * scarce, and for rooms of which a pool would keep too much: the caller then takes memory in another way. */
void macko_pool_take(int64_t bytes, cudaStream_t stream, void **memory);

#ifdef __cplusplus
}
#endif
#endif
