/* macko-bench --matmul: products with many columns, ours on sparse tensor cores beside cuBLASLt's of the dense matrix. */
#ifndef MATMUL_H
#define MATMUL_H

#include "bench/gpu.h"
#include "macko_cuda.h"

#include <library_types.h>

/* Measures shapes, MxKxN each, separated by commas, and prints a table, to tsv as well unless that is NULL: medians of `repeats`
 * products between two events. library: where cuSPARSELt is, or NULL. Errors: INVALID_ARGUMENT (shapes), those of the library and
 * of CUDA, CORRUPT (a wrong product). */
macko_status bench_matmul(const char *shapes, int repeats, const char *library, FILE *tsv, macko_error *err);

/* A type of operands as cuBLASLt and our library have it. */
typedef struct {
  const char *name;
  macko_operands operands;   /* what our product multiplies in */
  cudaDataType type, result; /* of the dense product */
  macko_type x_type, y_type; /* of ours */
} matmul_type;

/* Sets *us to the median microseconds of run(context), which queues work on the default stream, between two events around each
 * call. */
macko_status matmul_time(macko_status (*run)(void *context, macko_error *err), void *context, int repeats, double *us,
                         macko_error *err);

/* Does the same for the dense product of m x k with k x n by cuBLASLt, the fastest of what it proposes, in memory of its own.
 * Errors: UNSUPPORTED where cuBLASLt has no such product, OUT_OF_MEMORY, DEVICE. */
macko_status matmul_dense(const matmul_type *type, int64_t m, int64_t k, int64_t n, int repeats, double *us, macko_error *err);

#endif
