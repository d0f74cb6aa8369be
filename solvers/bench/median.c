/* macko-bench: the median, which every time in its tables is. */
#include "bench/bench.h"

#include <stdlib.h>

/* Compares two doubles for qsort. */
static int compare_times(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Of an even number of times it is the larger one of the two in the middle. */
double bench_median(double *times, int count)
{
  qsort(times, (size_t)count, sizeof *times, compare_times);
  return times[count / 2];
}
