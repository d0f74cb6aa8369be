/* PETSc's binary files of sparse matrices, read and written without PETSc. */
#ifndef PETSC_BINARY_H
#define PETSC_BINARY_H

#include "macko.h"

#include <stdio.h>

/* 1 if a file that begins so is one, or one of vectors, with indices of 32 or 64 bits. */
int petsc_binary_starts(const unsigned char *start, size_t count);

/* *csr is sorted and right, its arrays new. Errors: IO, PARSE, UNSUPPORTED (dense matrices, vectors), OUT_OF_MEMORY. */
macko_status petsc_binary_read(const char *path, macko_csr *csr, macko_error *err);

/* The sizes alone. Errors: IO, PARSE, UNSUPPORTED. */
macko_status petsc_binary_sizes(const char *path, int64_t *nrows, int64_t *ncols, int64_t *nnz, macko_error *err);

/* Sorted and right matrices of any type of values; indices of 32 bits where they fit. 1 if all was written. */
int petsc_binary_write(FILE *f, const macko_csr *csr);

#endif
