/* cuSPARSELt, NVIDIA's library for sparse tensor cores, opened when the program runs: one handle, and plans of D = A B for a 2:4
 * matrix A of rows x k, by rows, and B and D by columns. */
#ifndef MACKO_SPARSELT_H
#define MACKO_SPARSELT_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#include <library_types.h>

typedef struct macko_sparselt macko_sparselt;
typedef struct macko_sparselt_plan macko_sparselt_plan;

/* What is multiplied: types of the operands and of D; sums are i32 for operands of i8, else f32. */
typedef struct {
  int64_t rows, k;
  cudaDataType operands, result;
} macko_sparselt_shape;

/* For the current GPU. library: the file or the folder that holds it; NULL: where the loader finds it. Errors: UNSUPPORTED (not there,
 * older than 0.8.1, or not for this GPU), OUT_OF_MEMORY, DEVICE. */
macko_status macko_sparselt_open(const char *library, macko_sparselt **lt, macko_error *err);
void macko_sparselt_close(macko_sparselt **lt);

/* "0.10.0" */
const char *macko_sparselt_version(const macko_sparselt *lt);

/* cuSPARSELt's form of a dense matrix of the shape that has two entries at most of every four columns, which is checked: new device
 * memory, freed with cudaFree. Waits for the stream. Errors: UNSUPPORTED, OUT_OF_MEMORY, CORRUPT (not 2:4), DEVICE. */
macko_status macko_sparselt_compress(const macko_sparselt *lt, const macko_sparselt_shape *shape, const void *dense, void **compressed,
                                     int64_t *bytes, cudaStream_t stream, macko_error *err);

/* For n columns. algorithm: one that macko_sparselt_algorithm has named; -1: cuSPARSELt's own choice until they are tried.
 * Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
macko_status macko_sparselt_plan_new(const macko_sparselt *lt, const macko_sparselt_shape *shape, int64_t n, int64_t algorithm,
                                     macko_sparselt_plan **plan, macko_error *err);
void macko_sparselt_plan_free(macko_sparselt_plan **plan);

/* Tries the algorithms, which writes D, and keeps the fastest. */
macko_status macko_sparselt_search(macko_sparselt_plan *plan, const void *a, const void *b, void *d, cudaStream_t stream,
                                   macko_error *err);
macko_status macko_sparselt_algorithm(const macko_sparselt_plan *plan, int64_t *algorithm, macko_error *err);
macko_status macko_sparselt_work(const macko_sparselt_plan *plan, int64_t *bytes, macko_error *err);
macko_status macko_sparselt_multiply(const macko_sparselt_plan *plan, const void *a, const void *b, void *d, void *work,
                                     cudaStream_t stream, macko_error *err);

#ifdef __cplusplus
}
#endif
#endif
