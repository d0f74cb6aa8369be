/* Matrices as scipy.sparse.save_npz writes them: arrays of NumPy in a zip archive. */
#ifndef NPZ_H
#define NPZ_H

#include "macko.h"

#include <stdio.h>

/* Reads a matrix of format csr. Floats keep their type; integers and booleans become f64 where that is exact. *csr is sorted and
 * free of duplicates; its arrays are new and freed with macko_free_csr. Errors: PARSE, UNSUPPORTED (another format, complex
 * values, no libarchive), OUT_OF_MEMORY. */
macko_status npz_read(const char *path, macko_csr *csr, macko_error *err);

/* Writes a matrix that is sorted and free of duplicates; values of bf16, a type that NumPy does not know, become f32. Returns 1
 * if all was written; otherwise 0, and *why is a sentence that stays valid until the next call. */
int npz_write(FILE *f, const macko_csr *csr, const char **why);

#endif
