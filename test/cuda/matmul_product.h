/* Between the files of the suite cuda_matmul: a product Y = A X on host and device, and what is right of it. */
#ifndef CUDA_MATMUL_PRODUCT_H
#define CUDA_MATMUL_PRODUCT_H

#include "common.h"
#include "macko_cuda.h"

#include <cuda_runtime_api.h>

#define CUDA(call) ck_assert_msg((call) == cudaSuccess, "%s: %s", #call, cudaGetErrorString(cudaGetLastError()))
#define OK(call) ck_assert_msg(!(call), "%s: %s", #call, err.text)

extern macko_error err;

typedef struct {
  int64_t nrows, ncols, n;
  int z, l; /* pattern; z = 0: entries anywhere, one of l */
  macko_type value_type, x_type, y_type;
  macko_values values;
  int whole; /* values and X are integers from -whole to whole; 0: they are not */
  int bias;
  macko_matmul_path path;
  macko_operands operands;
  int64_t algorithm; /* 0: tried */
  double magnitude; /* that values are multiplied with; 0: 1 */
  int exact; /* all is integers of 8 bits, and a column of X has 127, so that operands I8 round nothing */
} problem;

typedef struct {
  problem p;
  macko_csr a;
  macko_matrix *m;
  macko_device_matrix *d;
  macko_matmul *matmul;
  macko_matmul_info info;
  int64_t ldx, ldy;
  void *x, *y;
  float *bias;
  void *device_x, *device_y, *device_bias, *work;
  cudaStream_t stream;
} fixture;

/* The matrix A of p. */
macko_csr make_matrix(const problem *p);

/* Everything but the product; ldx and ldy leave gaps. */
fixture open_fixture(problem p);
void close_fixture(fixture *f);

/* Y = A X + bias on f->stream, and Y brought to f->y once it is there. */
macko_status multiply(const fixture *f);
void fetch_y(fixture *f);
size_t y_bytes(const fixture *f);

/* Every element of Y against the host's sum in long double, and nothing beside it written. */
void check_all(const fixture *f);

/* The product checked, and twice the same bits. */
void run(problem p);

#endif
