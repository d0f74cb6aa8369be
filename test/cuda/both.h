/* A csr in the memory of the host and of the GPU, and what is encoded from both compared. */
#ifndef CUDA_BOTH_H
#define CUDA_BOTH_H

#include "macko_cuda.h"
#include "../lib/matrices.h"

#include <cuda_runtime_api.h>

#define CUDA(call) ck_assert_msg((call) == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()))

typedef struct {
  macko_csr host, device;
  void *row_ptr, *cols;
} both;

/* Kind 0 .. 3: 64- or 32-bit columns, counted from 0 or 1; row starts the other way round. */
both open_both(const test_matrix *a, int kind);
void close_both(both *b);

/* The values of a to the GPU; the host's are those of a. */
void send_values(const test_matrix *a, const both *b);

/* Section for section: name, type, size and bytes. */
void compare_matrices(const macko_matrix *want, const macko_device_matrix *d, const char *what);

/* Whether products with the transpose that d has are, bit for bit, those with the one that the host builds of m. */
void compare_transposes(const macko_matrix *m, const macko_device_matrix *d, const char *what);

/* Both compared after encoding on the host and on the GPU; what the host refuses the GPU refuses in the same words. */
void encode_both(const test_matrix *a, const both *b, const macko_options *o);

/* The same after each refresh with values of every kind. */
void refresh_both(const test_matrix *a, const macko_options *o);

/* Of format dtans. */
void refresh_variant(const test_matrix *a, macko_variant variant, macko_values values);

/* Several windows, blocks and long rows, in sizes that no small pattern has: the same offsets in every row; up to 39 entries; and
 * few, but some rows of thousands. Without values. */
test_matrix many_rows(int shape);

/* Rows in groups that have their columns in common, several windows of format eccsr: shape 0 .. COUPLED - 1 says how many rows,
 * runs of how many columns, where some entries of a run are missing, and how far runs are apart. Without values. */
enum { COUPLED = 8 };
test_matrix coupled_rows(int shape);

#endif
