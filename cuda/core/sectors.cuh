/* The sectors of x that a block of threads has met, told apart in a table in shared memory. */
#ifndef MACKO_SECTORS_CUH
#define MACKO_SECTORS_CUH

#include "core/device_csr.cuh"
#include "core/stretches.h"

/* No sector has this number. */
static constexpr unsigned long long FREE = ~0ull;

/* Empties a table of MACKO_SECTOR_SLOTS places; all threads of the block call it. */
static __device__ __forceinline__ void clear_sectors(unsigned long long *table)
{
  for (int i = threadIdx.x; i < MACKO_SECTOR_SLOTS; i += blockDim.x) table[i] = FREE;
  __syncthreads();
}

/* Puts a sector into the table and gives 1 if it was not there. Which thread is first depends on the run; how many are first does
 * not. */
static __device__ __forceinline__ int put_sector(unsigned long long *table, macko_hash_key key, int64_t sector)
{
  for (uint32_t slot = macko_sector_slot(key, sector);; slot = (slot + 1) & (MACKO_SECTOR_SLOTS - 1)) {
    const unsigned long long there = atomicCAS(&table[slot], FREE, (unsigned long long)sector);
    if (there == FREE) return 1;
    if (there == (unsigned long long)sector) return 0;
  }
}

#endif
