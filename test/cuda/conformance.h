/* Between the files of the suite cuda_conformance. */
#ifndef CUDA_CONFORMANCE_H
#define CUDA_CONFORMANCE_H

#include "common.h"
#include "macko_cuda.h"
#include "../lib/matrices.h"

typedef struct {
  const macko_device_matrix *d;
  int64_t nrows, ncols;
} on_device;

/* A test_multiply of an on_device: vectors to the device, the multiply, y back. */
macko_status multiply_on_device(const void *matrix, const test_product *q, macko_error *err);

/* Fail the running test unless products on the device are within the bound: those of *p, transposed ones included; one with
 * k 16-bit vectors. */
void check_device(const test_matrix *a, const test_products *p, const macko_matrix *m, macko_device_matrix *d, const char *what);
void check_16_bits(const test_matrix *a, const macko_device_matrix *d, macko_type type, int64_t k, double beta,
                   const char *what);

/* Draws a number of 16 bits of 1 to 2, in steps of the type, or the negative of one. */
uint16_t draw_16_bits(macko_type type);

/* Both for *a under these options, if the host can encode it and there is a kernel. */
void with_options(const test_matrix *a, const test_products *p, const macko_options *o);

void add_large_cases(Suite *suite);
void add_coupled_cases(Suite *suite);
void add_group_cases(Suite *suite);
void add_stencil_cases(Suite *suite);
void add_tile_cases(Suite *suite);

#endif
