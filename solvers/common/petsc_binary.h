/* PETSc's binary files of sparse matrices, read and written without PETSc. */
#ifndef PETSC_BINARY_H
#define PETSC_BINARY_H

#include "macko.h"

#include <stdio.h>

/* Returns 1 if a file that begins with these bytes is one of matrices or of vectors, with indices of 32 or 64 bits; `count` is
 * how many bytes there are. Vectors are known too, so that they are refused by their name. */
int petsc_binary_starts(const unsigned char *start, size_t count);

/* Reads a sparse matrix, whose columns are all within it; entries of a row are as the file has them, in any order and perhaps
 * twice. Whole objects of PETSc's may follow it, which are left alone. A complex file is known by its length and refused. The
 * arrays of *csr are new and freed with macko_free_csr, with values of f64 and 64-bit indices; after an error there is nothing to
 * free. Errors: IO, PARSE, UNSUPPORTED (dense matrices, vectors, complex values), OUT_OF_MEMORY. */
macko_status petsc_binary_read(const char *path, macko_csr *csr, macko_error *err);

/* Reads the sizes alone; nnz is the number of stored entries. Errors: IO, PARSE, UNSUPPORTED. */
macko_status petsc_binary_sizes(const char *path, int64_t *nrows, int64_t *ncols, int64_t *nnz, macko_error *err);

/* Checks what petsc_binary_read does, but for the values: sizes, row lengths and columns, reading them some at a time. For those
 * who have PETSc read the file, which believes what it says. Errors: IO, PARSE, UNSUPPORTED. */
macko_status petsc_binary_check(const char *path, macko_error *err);

/* Checks that a file, which begins with a vector's class id, holds one real vector whole and nothing else. Errors: IO, PARSE,
 * UNSUPPORTED. */
macko_status petsc_binary_check_vector(const char *path, macko_error *err);

/* Writes a matrix that is sorted and free of duplicates, of any type of values, which become f64; indices have 32 bits where they
 * fit. Returns 1 if all was written; otherwise errno tells the reason. */
int petsc_binary_write(FILE *f, const macko_csr *csr);

#endif
