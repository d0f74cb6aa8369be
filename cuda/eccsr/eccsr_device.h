/* Between the files of cuda/eccsr/: what a matrix has on the GPU besides its sections, and products of its variants. */
#ifndef MACKO_ECCSR_DEVICE_H
#define MACKO_ECCSR_DEVICE_H

#include "core/side_by_side.cuh"
#include "eccsr/eccsr_rules.h"

/* This is where a part of a slice begins that is not the first: where the run of the step before begins for every lane, and how
 * many values and gaps of the slice lie before. */
struct eccsr_start {
  int columns[MACKO_ECCSR_LANES];
  int64_t values;
  unsigned gaps;
};

/* This says which warps share slices, in device memory. A block of threads, of MACKO_ECCSR_BLOCK_WARPS warps, has a word: the first
 * of its slices times four, plus 0, 1 or 2 where one, two or four warps take a slice. The first `shared` blocks share slices; each
 * has a start for every warp. */
struct eccsr_parts {
  const uint64_t *blocks;
  const eccsr_start *starts;
  int64_t count, shared; /* of the blocks; 0: a warp takes a slice */
};

/* This is what d->own is: tables of a dictionary, which come first, and what the GPU has. */
struct device_eccsr {
  device_tables tables;
  int listed;               /* parts are known */
  macko_gpu gpu;            /* that holds it */
  eccsr_parts parts;        /* of slices that warps share, without a variant */
  macko_work_space *beside; /* for vectors side by side, without a variant */
};

/* Fails with LIMIT where kernels cannot count the granules of variants paper and shared. */
macko_status macko_eccsr_bundles_check(const macko_device_matrix *d, macko_error *err);

/* Does what multiply of macko_device_ops does for variants paper and shared. */
macko_status macko_eccsr_bundles_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                          macko_error *err);

#endif
