/* A matrix from any file that the programs without PETSc take, by what the file holds. */
#ifndef MATRIX_FILE_H
#define MATRIX_FILE_H

#include "macko.h"

/* A matrix that was read, and what is known of its file. */
typedef struct {
  char kind[96];        /* what the file is, in words */
  macko_csr csr;        /* sorted and free of duplicates, whatever the file held */
  macko_matrix *matrix; /* of a .macko file, as it is stored; NULL for others */
  macko_origin origin;  /* of the .macko file; of others their own name and checksum */
  int symmetric;        /* 1 if the file stores one triangle */
} matrix_file;

/* Reads what macko_read takes, .npz of SciPy, Binsparse in HDF5, PETSc binary and .macko files, each known by its first bytes;
 * path "-" is standard input. *f is freed with matrix_file_free; after an error it is empty. Errors: those of macko_read and
 * macko_load. */
macko_status matrix_file_read(const char *path, matrix_file *f, macko_error *err);
void matrix_file_free(matrix_file *f);

/* Says whether the values were rounded: as they are stored in a .macko file, or before they were stored there. */
int matrix_file_lossy(const matrix_file *f);

/* A file that can be opened more than once: path itself or, of a pipe or "-", a copy that goes with the process. */
typedef struct {
  const char *path;
  char name[4096];
} plain_file;
/* Makes f->name what is to be opened for path; path must outlive *f. Errors: IO. */
macko_status plain_file_open(const char *path, plain_file *f, macko_error *err);

/* Makes a sentence about the copy one about what it is a copy of, because the copy's name means nothing to the user. */
void plain_file_rename(const plain_file *f, macko_error *err);

/* Makes *err say "path: sentence", cut to its room, and returns status. The sentence is a format of printf with what it takes. */
macko_status matrix_file_fail(macko_error *err, macko_status status, const char *path, const char *sentence, ...)
    __attribute__((format(printf, 4, 5)));

/* Sorts rows, adds duplicates and refuses what is no matrix. The arrays of *csr, which macko_free_csr must be able to free, are
 * replaced. Errors: those of macko_encode. */
macko_status matrix_file_settle(macko_csr *csr, macko_error *err);

/* Decodes *m into new arrays: values of its own type and 64-bit indices, freed with macko_free_csr. Errors: OUT_OF_MEMORY. */
macko_status matrix_file_decode(const macko_matrix *m, macko_csr *csr, macko_error *err);

#endif
