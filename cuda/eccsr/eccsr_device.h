/* Between the files of cuda/eccsr/: what a matrix has on the GPU besides its sections, and products of its variants. */
#ifndef MACKO_ECCSR_DEVICE_H
#define MACKO_ECCSR_DEVICE_H

#include "core/side_by_side.cuh"

/* This is what d->own is: tables of a dictionary, which come first, and what the GPU has. */
struct device_eccsr {
  device_tables tables;
  int multiprocessors, shared_bytes; /* that a block may have */
  macko_work_space *beside; /* for vectors side by side, without a variant */
};

/* Fails with LIMIT where kernels cannot count the granules of variants paper and shared. */
macko_status macko_eccsr_bundles_check(const macko_device_matrix *d, macko_error *err);

/* Does what multiply of macko_device_ops does for variants paper and shared. */
macko_status macko_eccsr_bundles_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                          macko_error *err);

#endif
