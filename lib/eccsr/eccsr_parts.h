/* Which slices of format eccsr several warps of a GPU share: the rule, for plans and for kernels. */
#ifndef MACKO_ECCSR_PARTS_H
#define MACKO_ECCSR_PARTS_H

#include "eccsr/eccsr_params.h"

#include <math.h>

/* Several warps of a GPU share a slice, at most MACKO_ECCSR_MOST_PARTS of them, where its steps would keep one busy after others
 * are done. If steps were spread evenly each warp that runs at once would have so many. Where all slices fit at once, and are
 * hardly longer than the mean (MACKO_ECCSR_EVEN), each has as many parts as still fit at once; else a part has up to
 * MACKO_ECCSR_FIT times the even share. Where they do not fit it has up to MACKO_ECCSR_SPREAD times that, as long slices begin
 * first, and slices are whole if none is much longer (MACKO_ECCSR_LONGER). Shorter parts than the least take longer to start than
 * they save. */
#define MACKO_ECCSR_EVEN 1.5
#define MACKO_ECCSR_FIT 1.8
#define MACKO_ECCSR_SPREAD 0.7
#define MACKO_ECCSR_LONGER 1.25
enum { MACKO_ECCSR_MOST_PARTS = 4, MACKO_ECCSR_LEAST_FIT = 6, MACKO_ECCSR_LEAST_SPREAD = 24 };

/* Returns how many warps a multiprocessor takes at once of the kernels for one vector and runs of so many columns. */
static inline int macko_eccsr_resident_warps(int width, int masked)
{
  return MACKO_ECCSR_BLOCK_WARPS * macko_eccsr_resident_blocks(width, masked);
}

/* Returns how many warps of a GPU run at once for a matrix. */
static inline double macko_eccsr_at_once(const macko_eccsr_counts *c, int multiprocessors)
{
  return (double)multiprocessors * macko_eccsr_resident_warps(macko_eccsr_width(c), c->masked > 0);
}

/* Returns the most steps of a part where all slices fit at once, by what they have in the mean. */
static inline double macko_eccsr_fitting_steps(const macko_eccsr_counts *c, double mean, double at_once)
{
  const double room = at_once / (double)c->slices, longest = (double)c->longest;
  const double even = longest / (room >= 4 ? 4 : room >= 2 ? 2 : 1), uneven = MACKO_ECCSR_FIT * mean / room;
  const double most = longest <= MACKO_ECCSR_EVEN * mean ? even : uneven;
  return fmax(most, MACKO_ECCSR_LEAST_FIT);
}

/* Returns the most steps that a warp of a GPU takes of a slice, 0 where none is shared: only kernels for runs of one width can. The
 * answer goes by what the plan tells, a row's entries in the mean. */
static inline int64_t macko_eccsr_most_steps(const macko_eccsr_counts *c, int64_t nrows, int64_t nnz, int multiprocessors)
{
  const int width = macko_eccsr_width(c);
  if (!width || !nrows || !c->slices) return 0;
  const double at_once = macko_eccsr_at_once(c, multiprocessors), longest = (double)c->longest;
  const double mean = (double)nnz / (double)nrows / width, share = MACKO_ECCSR_SPREAD * mean * (double)c->slices / at_once;
  const double spread = fmax(share, MACKO_ECCSR_LEAST_SPREAD);
  if ((double)c->slices > at_once) return MACKO_ECCSR_LONGER * spread < longest ? (int64_t)spread : 0;
  const double fitting = ceil(macko_eccsr_fitting_steps(c, mean, at_once));
  return fitting < longest ? (int64_t)fitting : 0;
}

/* Returns the steps of the longest part, where the rest is as above. */
static inline int64_t macko_eccsr_longest_part(const macko_eccsr_counts *c, int64_t nrows, int64_t nnz, int multiprocessors)
{
  const int64_t most = macko_eccsr_most_steps(c, nrows, nnz, multiprocessors);
  const int64_t least = (c->longest + MACKO_ECCSR_MOST_PARTS - 1) / MACKO_ECCSR_MOST_PARTS;
  return !most ? c->longest : most > least ? most : least;
}

#endif
