/* Keys of hashes. */
#include "core/hash.h"

#include <time.h>
#include <unistd.h>
#if defined(__linux__) || defined(__APPLE__)
#include <sys/random.h>
#endif

/* Fills random where the system gives no random numbers, from what it does not tell others: the time to the nanosecond, and where
 * memory is. */
static void read_surroundings(uint64_t random[2])
{
  struct timespec now = {0};
  macko_hash_key spread = {0x243f6a8885a308d3u, 0x9e3779b97f4a7c15u};
  clock_gettime(CLOCK_MONOTONIC, &now);
  random[0] = macko_hash(spread, (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ (uint64_t)(uintptr_t)random);
  random[1] = macko_hash(spread, random[0] ^ (uint64_t)(uintptr_t)&macko_new_hash_key);
}

/* The factor is made odd, because an even one would lose bits of the product. */
macko_hash_key macko_new_hash_key(void)
{
  uint64_t random[2];
  if (getentropy(random, sizeof random)) read_surroundings(random);
  return (macko_hash_key){random[0], random[1] | 1};
}
