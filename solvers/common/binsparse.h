/* Binsparse files in HDF5 (.bsp.h5; https://graphblas.org/binsparse-specification), which hold the arrays of a matrix and a
 * descriptor that is JSON. */
#ifndef BINSPARSE_H
#define BINSPARSE_H

#include "macko.h"

#include <stdio.h>

/* Returns 1 if a file with these first bytes is HDF5, in which Binsparse files are kept. `count` is how many bytes of the file
 * there are; 8 are needed. */
int binsparse_starts(const unsigned char *bytes, size_t count);

/* Reads a matrix of format CSR, CSC, COO, COOR or COOC. It may be general or one triangle of a symmetric or skew-symmetric
 * matrix; of such a one *triangle is set to 1 and the other triangle is added. float64 and float32 keep their type, other floats
 * become f32, and integers and bint8 become f64 where that is exact. *csr is sorted and free of duplicates; its arrays are new
 * and freed with macko_free_csr. Errors: PARSE, UNSUPPORTED (another format, complex values, no HDF5), IO, OUT_OF_MEMORY. */
macko_status binsparse_read(const char *path, macko_csr *csr, int *triangle, macko_error *err);

enum { BINSPARSE_WORD = 64 }; /* the room of a word of the descriptor, its end included; all that are known are shorter */

/* What the descriptor says. */
typedef struct {
  char format[BINSPARSE_WORD], structure[BINSPARSE_WORD]; /* structure is empty for a general matrix */
  char value_type[BINSPARSE_WORD];                        /* what stands between the brackets of iso[], where there are any */
  int iso;                                                /* 1 if one value stands for all entries */
  long long nrows, ncols, stored;                         /* stored counts the entries in the file; -1 where it does not say */
} binsparse_head;

/* Reads the descriptor alone, and sets head->stored from the length of an array where the descriptor does not say it. Errors:
 * those of binsparse_read. */
macko_status binsparse_read_head(const char *path, binsparse_head *head, macko_error *err);

/* Writes a matrix that is sorted and free of duplicates as CSR; values of f16 and bf16 become float32. The same matrix gives the
 * same file. Returns 1 if all was written; otherwise 0, and *why is a sentence, or NULL where errno tells the reason. */
int binsparse_write(FILE *f, const macko_csr *csr, const char **why);

/* This function is shared by the reader's two files only: it parses the descriptor, which is `length` bytes of JSON, and refuses
 * what the reader does not take. path is for sentences. Errors: PARSE, UNSUPPORTED. */
macko_status binsparse_parse(const char *path, const char *text, size_t length, binsparse_head *head, macko_error *err);

#endif
