/* Between the files of the suite cuda_interface: a matrix whose products are known, in host and in GPU memory. */
#ifndef CUDA_INTERFACE_H
#define CUDA_INTERFACE_H

#include "common.h"
#include "macko_cuda.h"

#include <cuda_runtime_api.h>

enum { N = 4096, FORMATS = MACKO_FORMAT_AUTO };

#define CUDA(call) ck_assert_msg((call) == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()))

/* The arrays of the matrix, a vector to multiply, and where products are brought to. */
extern int32_t row_ptr[N + 1], cols[3 * N];
extern double values[3 * N], x[N], y[N];

/* Tridiagonal, so that the exact result is known: (4 i + 1) on the diagonal, -1 beside it. The arrays are filled anew. */
macko_csr tridiagonal(void);

/* The same csr in GPU memory; and its end. */
macko_csr csr_on_the_gpu(void);
void free_on_the_gpu(const macko_csr *a);

/* Element i of the product. */
double expected(int i);

typedef struct {
  macko_matrix *m;
  macko_device_matrix *d;
  double *x, *y;
  cudaStream_t stream;
} fixture;

/* The matrix encoded in that format and uploaded, and its vectors; d is NULL where there is no kernel. */
fixture open_fixture(int format);
void close_fixture(fixture *f);

/* y = alpha op(A) x + beta y on f->stream. */
macko_status multiply(const fixture *f, macko_op op, double alpha, double beta, macko_error *err);

/* What is chosen; diagonals; errors, and a full GPU. */
void add_choice_tests(TCase *t);
void add_diagonal_tests(TCase *t);
void add_error_tests(TCase *t);

#endif
