/* A matrix from any file that the programs without PETSc take, by what the file holds. */
#ifndef MATRIX_FILE_H
#define MATRIX_FILE_H

#include "macko.h"

typedef struct {
  char kind[96];        /* in words */
  macko_csr csr;        /* sorted and right */
  macko_matrix *matrix; /* of a .macko file, as it is stored; NULL for others */
  macko_origin origin;  /* of the .macko file; of others their own name and checksum */
  int symmetric;        /* 1 if the file stores one triangle */
} matrix_file;

/* Reads what macko_read takes, .npz of SciPy, Binsparse HDF5, PETSc binary and .macko files; path "-" is standard input. Freed by matrix_file_free.
 * Errors: those of macko_read and macko_load. */
macko_status matrix_file_read(const char *path, matrix_file *f, macko_error *err);
void matrix_file_free(matrix_file *f);

/* path itself or, of a pipe or "-", a copy that goes with the process, under a name valid until then. */
typedef struct {
  const char *path;
  char name[4096];
} plain_file;
macko_status plain_file_open(const char *path, plain_file *f, macko_error *err);

/* A sentence about the copy becomes one about what it is a copy of. */
void plain_file_rename(const plain_file *f, macko_error *err);

/* *err says `path: sentence`, cut to its room. */
macko_status matrix_file_fail(macko_error *err, macko_status status, const char *path, const char *sentence, ...)
    __attribute__((format(printf, 4, 5)));

/* Sorts rows, adds duplicates and refuses what is no matrix; arrays of *csr are replaced. Errors: those of macko_encode. */
macko_status matrix_file_settle(macko_csr *csr, macko_error *err);

/* *m as a csr of its own type of values and 64-bit indices. Errors: OUT_OF_MEMORY. */
macko_status matrix_file_decode(const macko_matrix *m, macko_csr *csr, macko_error *err);

#endif
