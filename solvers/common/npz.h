/* Matrices as scipy.sparse.save_npz writes them: arrays of NumPy in a zip archive. */
#ifndef NPZ_H
#define NPZ_H

#include "macko.h"

#include <stdio.h>

/* A matrix of format csr; floats keep their type, integers and booleans become f64 where that is exact. *csr is sorted and right,
 * its arrays new. Errors: PARSE, UNSUPPORTED (another format, complex values, no libarchive), OUT_OF_MEMORY. */
macko_status npz_read(const char *path, macko_csr *csr, macko_error *err);

/* Sorted and right matrices; bf16, which NumPy does not know, as f32. 0 with *why set to a sentence unless all was written. */
int npz_write(FILE *f, const macko_csr *csr, const char **why);

#endif
