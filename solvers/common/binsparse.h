/* Binsparse files in HDF5 (.bsp.h5; https://graphblas.org/binsparse-specification): arrays of a matrix, and a descriptor that is JSON. */
#ifndef BINSPARSE_H
#define BINSPARSE_H

#include "macko.h"

#include <stdio.h>

/* 1 if a file with these first bytes is HDF5. */
int binsparse_starts(const unsigned char *bytes, size_t count);

/* A matrix of format CSR, CSC, COO, COOR or COOC, general or one triangle of a symmetric or skew-symmetric one (*triangle = 1), which
 * becomes both. float64 and float32 keep their type, other floats become f32, integers and bint8 f64 where that is exact. *csr is sorted
 * and right, its arrays new. Errors: PARSE, UNSUPPORTED (another format, complex values, no HDF5), IO, OUT_OF_MEMORY. */
macko_status binsparse_read(const char *path, macko_csr *csr, int *triangle, macko_error *err);

enum { BINSPARSE_WORD = 64 };

/* What the descriptor says. */
typedef struct {
  char format[BINSPARSE_WORD], structure[BINSPARSE_WORD]; /* structure is empty for a general matrix */
  char value_type[BINSPARSE_WORD];                        /* without iso[] */
  int iso;                                                /* one value stands for all */
  long long nrows, ncols, stored;                         /* stored: -1 where it is not said */
} binsparse_head;

/* The descriptor alone; head->stored is known then. Errors: the same. */
macko_status binsparse_read_head(const char *path, binsparse_head *head, macko_error *err);

/* Sorted and right matrices, as CSR; f16 and bf16 as float32. The same matrix gives the same file. 0 with *why set to a sentence, or
 * NULL where errno tells, unless all was written. */
int binsparse_write(FILE *f, const macko_csr *csr, const char **why);

/* Between the files of the reader: the descriptor in `length` bytes of text. Errors: PARSE, UNSUPPORTED. */
macko_status binsparse_parse(const char *path, const char *text, size_t length, binsparse_head *head, macko_error *err);

#endif
