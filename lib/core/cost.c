/* The costs and the caches of the machine. */
#include "core/cost.h"

#include "core/cpu.h"

#include <stdio.h>
#include <unistd.h>

/* Bytes that are assumed where the system does not tell, and the most that one core has the use of, whatever the system tells of a
 * cache that all cores of a large processor share: of 480 MB products of one core lost half at 60 MB (Intel Xeon). */
enum { USUAL_MIDDLE = 1 << 20, USUAL_LAST = 32 << 20, MOST_LAST = 80 << 20 };

/* Gives the bytes of the first core's data or common cache of that level, as Linux lists them in /sys; 0 where it does not. An
 * instruction cache exists on level 1 only, which nobody asks for. */
static int64_t listed_cache(int wanted)
{
  for (int i = 0; i < 8; i++) {
    char path[96], unit = 0;
    long long size = 0;
    int level = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    int known = fscanf(f, "%d", &level) == 1 && level == wanted;
    fclose(f);
    if (!known) continue;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    if (!(f = fopen(path, "r"))) return 0;
    int read = fscanf(f, "%lld%c", &size, &unit);
    fclose(f);
    return read < 1 ? 0 : unit == 'M' ? size << 20 : unit == 'K' ? size << 10 : size;
  }
  return 0;
}

/* The C library may count several caches of a level together, so that it is asked only where /sys is silent. */
static int64_t cache_bytes(int level, int64_t usual)
{
  int64_t bytes = listed_cache(level);
#if defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
  if (bytes <= 0) bytes = sysconf(level == 2 ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL3_CACHE_SIZE);
#endif
  return bytes > 0 ? bytes : usual;
}

/* The files are read once. Threads that come at the same time read them twice and store the same numbers, so that no lock is
 * needed. */
macko_caches macko_machine_caches(void)
{
  static int64_t middle, last; /* 0 until they are known */
  macko_caches c = {__atomic_load_n(&middle, __ATOMIC_RELAXED), __atomic_load_n(&last, __ATOMIC_RELAXED)};
  if (c.middle && c.last) return c;
  c.middle = cache_bytes(2, USUAL_MIDDLE), c.last = cache_bytes(3, USUAL_LAST);
  if (c.last > MOST_LAST) c.last = MOST_LAST;
  if (c.last < c.middle) c.last = c.middle;
  __atomic_store_n(&middle, c.middle, __ATOMIC_RELAXED), __atomic_store_n(&last, c.last, __ATOMIC_RELAXED);
  return c;
}

const macko_cost *macko_machine_cost(void)
{
  return macko_cpu_cost(macko_has_avx512(), macko_this_processor());
}

/* What an H200 has, as macko_know_gpu is told it. */
static const double h200_memory = 4917, h200_work = 132 * 1.98;

/* What is known of the GPU: nothing, as it is being written, or all of it. */
enum { UNKNOWN, WRITING, KNOWN };
static macko_cost gpu_cost;
static int gpu_known = UNKNOWN;

const macko_cost *macko_machine_gpu_cost(void)
{
  return __atomic_load_n(&gpu_known, __ATOMIC_ACQUIRE) == KNOWN ? &gpu_cost : &macko_h200_cost;
}

/* All costs but those of bytes are of work; a launch is the host's and the driver's, and a share is a share. */
void macko_know_gpu(double memory, double work)
{
  int unknown = UNKNOWN;
  if (!(memory > 0) || !(work > 0)) return;
  if (!__atomic_compare_exchange_n(&gpu_known, &unknown, WRITING, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
  double *costs = (double *)&gpu_cost;
  gpu_cost = macko_h200_cost;
  for (size_t i = 0; i < sizeof gpu_cost / sizeof *costs; i++) costs[i] *= h200_work / work;
  gpu_cost.byte = macko_h200_cost.byte * h200_memory / memory;
  gpu_cost.launch = macko_h200_cost.launch, gpu_cost.eccsr_hidden = macko_h200_cost.eccsr_hidden;
  gpu_cost.step_ahead = macko_h200_cost.step_ahead, gpu_cost.last_wave = macko_h200_cost.last_wave;
  gpu_cost.step_bytes = macko_h200_cost.step_bytes, gpu_cost.step_bytes_single = macko_h200_cost.step_bytes_single;
  gpu_cost.worth = macko_h200_cost.worth;
  __atomic_store_n(&gpu_known, KNOWN, __ATOMIC_RELEASE);
}

double macko_sectors_of_entry(const macko_matrix *m)
{
  if (m->options.target != MACKO_TARGET_GPU || m->nnz == 0) return 0;
  return m->plan.gathers / macko_machine_gpu_cost()->sector / (double)m->nnz;
}
