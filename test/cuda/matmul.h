/* Between the files of the suite cuda_matmul: what its tests go through. */
#ifndef CUDA_MATMUL_H
#define CUDA_MATMUL_H

#include "matmul_product.h"

/* Patterns of weights, as z and l of a problem; the first WINDOWS are those that sparse tensor cores need. Columns of X. Types. */
enum { PATTERNS = 7, WINDOWS = 4, COUNTS = 5, TYPES = 4 };
extern const struct pattern {
  int z, l;
} patterns[PATTERNS];
extern const int64_t counts[COUNTS];
extern const macko_type types[TYPES];

/* Loops of tests go through patterns twice, the second time for dense tensor cores. */
static inline macko_matmul_path path_of(int i)
{
  return i < WINDOWS ? MACKO_MATMUL_TENSOR : MACKO_MATMUL_DENSE;
}

/* Fails unless a graph captures the product of that path, and is right when it runs. */
void check_graph(macko_matmul_path path);

/* Which way multiplies, and what is refused; tensor cores, where there are sparse ones and the library for them. */
void add_refusals(Suite *s);
void add_tensor_cases(Suite *s);

#endif
