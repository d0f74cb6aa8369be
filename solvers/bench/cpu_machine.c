/* macko-bench on the CPU: the clock, and what the machine has: its name, its cache, what its memory gives. */
#include "bench/cpu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

/* The clock of bench_now: the wall's, or with --cpu-time that of the process, which counts all threads. */
static clockid_t chosen_clock = CLOCK_MONOTONIC;

/* clock_gettime counts nanoseconds. */
double bench_now(void)
{
  struct timespec t;
  clock_gettime(chosen_clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the bytes of the largest cache that the first core sees, or 0 where the system does not tell. */
static int64_t last_level_cache(void)
{
  int64_t largest = 0;
  for (int i = 0; i < 8; i++) {
    char path[96], unit = 0;
    long long size = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    FILE *f = fopen(path, "r");
    if (!f) break;
    /* Linux writes sizes with a unit. */
    if (fscanf(f, "%lld%c", &size, &unit) >= 1) size *= unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1;
    fclose(f);
    if (size > largest) largest = size;
  }
  return largest;
}

/* Puts the processor's name into text, or "CPU" where the system does not tell. */
static void name_machine(char *text, size_t room)
{
  char line[256], *colon;
  FILE *f = fopen("/proc/cpuinfo", "r");
  snprintf(text, room, "CPU");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, "model name", 10) && (colon = strchr(line, ':'))) {
      line[strcspn(line, "\n")] = 0;
      snprintf(text, room, "%s", colon + 2);
      break;
    }
  if (f) fclose(f);
}

/* Copies in as many threads as the multiplies have, in 64 pieces, as one memcpy would use a single thread. */
static void copy_array(double *to, const double *from, size_t n)
{
#ifdef _OPENMP
#pragma omp parallel for
  for (size_t piece = 0; piece < 64; piece++)
    memcpy(to + n * piece / 64, from + n * piece / 64, (n * (piece + 1) / 64 - n * piece / 64) * sizeof *to);
#else
  memcpy(to, from, n * sizeof *to);
#endif
}

/* Measures what memory gives, in bytes read and written a second: a copy, and the triad of STREAM. The three arrays are eight
 * times the cache together, and at least 256 MB; a cache said to have 1 GB or more counts as unknown. Of one that the cores of a
 * large processor share a core has the use of 80 MB at most, so that the arrays stay below 640 MB. */
static macko_status ceilings(bench_settings *settings, macko_error *err)
{
  enum { TIMES = 9, LEAST = 32 << 20, MOST = 80 << 20, UNKNOWN = 1 << 30 };
  const int64_t known = settings->cache < UNKNOWN ? settings->cache : 0, own = known < MOST ? known : MOST;
  size_t n = (size_t)(own > LEAST ? own : LEAST) / 3;
  double *a = calloc(n, sizeof *a), *b = calloc(n, sizeof *b), *c = calloc(n, sizeof *c), copy[TIMES], triad[TIMES];
  macko_status s = a && b && c ? MACKO_OK : bench_refuse(err, MACKO_OUT_OF_MEMORY, "bandwidth", "no memory");
  for (size_t i = 0; !s && i < n; i++) a[i] = 1, b[i] = 2, c[i] = 3;
  for (int t = 0; !s && t < TIMES; t++) {
    double start = bench_now();
    copy_array(a, b, n);
    /* The triad begins where the copy ends. */
    double middle = bench_now();
    copy[t] = 2. * (double)(n * sizeof *a) / (middle - start);
#ifdef _OPENMP
#pragma omp parallel for
#endif
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
    triad[t] = 3. * (double)(n * sizeof *a) / (bench_now() - middle);
  }
  if (!s) settings->copy = bench_median(copy, TIMES), settings->triad = bench_median(triad, TIMES);
  free(a), free(b), free(c);
  return s;
}

/* Threads are set before anything is measured, as the ceilings are those of as many threads as products have. */
macko_status bench_cpu_open(bench_settings *settings, macko_error *err)
{
  name_machine(settings->machine, sizeof settings->machine);
#ifdef _OPENMP
  size_t named = strlen(settings->machine);
  const char *threads = getenv("OMP_NUM_THREADS");
  if (!threads || strtol(threads, NULL, 10) < 1) omp_set_num_threads(1); /* as macko's */
  int count = omp_get_max_threads();
  snprintf(settings->machine + named, sizeof settings->machine - named, ", %d thread%s", count, count > 1 ? "s" : "");
#endif
  /* The ceilings below are measured by the same clock. */
  if (settings->cpu_time) {
    size_t end = strlen(settings->machine);
    snprintf(settings->machine + end, sizeof settings->machine - end, ", processor time");
    chosen_clock = CLOCK_PROCESS_CPUTIME_ID;
  }
  settings->cache = last_level_cache();
  return ceilings(settings, err);
}
