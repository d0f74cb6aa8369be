/* Runs of the blocks of a slice read from a csr in device memory: a lane a block. */
#ifndef MACKO_ECCSR_RUNS_CUH
#define MACKO_ECCSR_RUNS_CUH

#include "core/device_csr.cuh"
#include "eccsr/eccsr_survey.h"

enum { NO_BLOCK = -1 };

/* This is a block of a csr as a key tells of it (macko_eccsr_key). */
struct found_block {
  int64_t row;   /* its first row */
  unsigned runs; /* how many it has */
  int g, w, masked; /* rows, columns of a run, and whether its slice has masks */
};

/* Takes a key apart; first_row is that of the window, from which the key counts. */
static __device__ __forceinline__ found_block block_of(unsigned long long key, int64_t first_row)
{
  const int kind = (int)(key >> 44), g = (kind >> 3 & 15) + 1, w = (kind & 7) + 1;
  return {first_row + (int64_t)(key & MACKO_ECCSR_KEY_PLACE), 0xffffffffu - (unsigned)(key >> 12), g, w, kind >> 7};
}

/* Gives the runs of a block one after the other, for a block whose rows have the same columns: those of the first row tell
 * all. */
struct equal_runs {
  const macko_device_csr &a;
  int64_t p;
  int w;
  __device__ equal_runs(const macko_device_csr &a, const found_block &b) : a(a), p(row_start(a, b.row)), w(b.w) {}
  /* Gives the column that the next run begins with. It may be called as often as the block has runs; the argument is for
   * merged_runs, which takes the place of this type in templates. */
  __device__ __forceinline__ int64_t next(uint64_t *)
  {
    int64_t start = column(a, p);
    p += w;
    return start;
  }
};

/* Gives the same for a block whose rows need not have the same columns: they are merged, and a run begins at the multiple of
 * its width at or before the least column that is left. */
struct merged_runs {
  const macko_device_csr &a;
  int64_t at[MACKO_ECCSR_MAX_RUN], past[MACKO_ECCSR_MAX_RUN];
  int w;
  __device__ merged_runs(const macko_device_csr &a, const found_block &b) : a(a), w(b.w)
  {
#pragma unroll
    for (int r = 0; r < MACKO_ECCSR_MAX_RUN; r++) {
      at[r] = r < b.g ? row_start(a, b.row + r) : 0;
      past[r] = r < b.g ? row_start(a, b.row + r + 1) : 0;
    }
  }
  /* Gives the beginning of the next run, -1 where there is none; byte j of *bits gets a bit for every row with an entry in
   * column j. */
  __device__ __forceinline__ int64_t next(uint64_t *bits)
  {
    int64_t least = INT64_MAX;
#pragma unroll
    for (int r = 0; r < MACKO_ECCSR_MAX_RUN; r++)
      if (at[r] < past[r] && column(a, at[r]) < least) least = column(a, at[r]);
    *bits = 0;
    if (least == INT64_MAX) return -1;
    const int64_t start = least / w * w;
#pragma unroll
    for (int r = 0; r < MACKO_ECCSR_MAX_RUN; r++)
      for (int64_t j; at[r] < past[r] && (j = column(a, at[r]) - start) < w; at[r]++) *bits |= (uint64_t)1 << (8 * j + r);
    return start;
  }
};

#endif
