/* Between the files of the suite dtans: its matrices. */
#ifndef TEST_DTANS_H
#define TEST_DTANS_H

#include "core/format.h"
#include "../assertions.h"

typedef struct {
  int64_t rows, *row_ptr, *cols;
  double *values;
} plain;

/* Room for so many rows and entries, its row pointers zero; its end; and the matrix as a csr, to which it lends its arrays. */
plain room(int64_t rows, int64_t nnz);
void release(plain *a);
macko_csr view(const plain *a);

/* 5 points on n x n (depth 1) or 27 on n x n x n. */
plain stencil(int64_t n, int64_t depth);

/* Kind 0: 5 points; 1: 27 points; 2: a band of random values; 3: a graph of few nodes with many neighbours. */
plain kind_of_matrix(int kind);

/* A number with a normal distribution, or nearly. */
double gauss(void);

/* The matrix in that form, or the running test fails. */
macko_matrix *encode(const macko_csr *a, macko_variant variant, macko_values values);

/* Sizes that must be reached, and predictions. */
void add_prediction_tests(TCase *t);

#endif
