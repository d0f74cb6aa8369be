/* Rows of a csr in device memory in the order of slices. */
#ifndef MACKO_SLICE_ROWS_CUH
#define MACKO_SLICE_ROWS_CUH

#include "core/device_csr.cuh"
#include "macko/slice_kernels.h"

/* This is a row of a csr: entries begin .. begin + length - 1. */
struct lane_row {
  int64_t row, begin; /* row -1: none */
  int length;
};

/* Gives the row at a position in the order of slices, which `order` gives, or which is that of rows where it is NULL; none
 * beyond the last. */
__device__ __forceinline__ lane_row row_at(const macko_device_csr &a, const uint16_t *order, int64_t position)
{
  lane_row r = {-1, 0, 0};
  if (position >= a.nrows) return r;
  r.row = order ? position / MACKO_SLICE_WINDOW * MACKO_SLICE_WINDOW + order[position] : position;
  r.begin = row_start(a, r.row);
  r.length = (int)(row_start(a, r.row + 1) - r.begin);
  return r;
}

#endif
