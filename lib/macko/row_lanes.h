/* How a GPU takes the rows of layouts row and paper: kernels are started so, and predictions count so. */
#ifndef MACKO_ROW_LANES_H
#define MACKO_ROW_LANES_H

#include "macko.h"

/* Gives the number of entries that a lane of a GPU takes at once: enough for loads of 16 bytes of values, or of 8 bytes where a
 * value has one. */
static inline int macko_lane_entries(int stored_type)
{
  return stored_type == MACKO_F64 ? 4 : 8;
}

/* This is how a GPU takes rows of layouts row and paper. */
typedef struct {
  int lanes;       /* of a row that is not cut: 2, 4, 8, 16 or 32 */
  int wide;        /* the mean row fills a warp's chunks */
  int64_t longest; /* entries of the longest row that is not cut */
} macko_row_lanes;

/* Says how it takes `nrows` rows of `stored` entries in all, padding included, where a lane takes so many at once. A row of mean
 * length fits one chunk where 32 lanes reach that far; half a lane's entries are added, which are lost to alignment. A row is long
 * where it takes several chunks of fewer lanes than a warp's, or many of a warp's, unless all warps have as much to do. */
static inline macko_row_lanes macko_lanes_of_rows(int64_t nrows, int64_t stored, int entries)
{
  enum { WARPS = 4096 }; /* that a GPU has at work, roughly */
  macko_row_lanes rows = {2, 0, 0};
  while (rows.lanes < 32 && rows.lanes * entries * nrows < stored + entries / 2 * nrows) rows.lanes *= 2;
  const int64_t chunk = rows.lanes * entries;
  rows.wide = stored >= 2 * chunk * nrows, rows.longest = chunk * (rows.lanes < 32 ? 4 : 32);
  if (rows.lanes == 32 && rows.longest < stored / WARPS) rows.longest = stored / WARPS;
  return rows;
}

#endif
