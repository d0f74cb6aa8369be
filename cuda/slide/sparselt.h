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

/* This is what is multiplied: types of the operands and of D; sums are i32 for operands of i8, else f32. */
typedef struct {
  int64_t rows, k;
  cudaDataType operands, result;
} macko_sparselt_shape;

/* Opens the library for the current GPU; *lt is new and freed with macko_sparselt_close. library: the file or the folder that
 * holds it; NULL: where the loader finds it. Errors: UNSUPPORTED (not there, older than 0.8.1, or not for this GPU),
 * OUT_OF_MEMORY, DEVICE. */
macko_status macko_sparselt_open(const char *library, macko_sparselt **lt, macko_error *err);
void macko_sparselt_close(macko_sparselt **lt);

/* Gives the version of the library in words like "0.10.0"; owned by *lt. */
const char *macko_sparselt_version(const macko_sparselt *lt);

/* Packs a dense matrix of the shape, in device memory by rows, that has two entries at most of every four columns, which is
 * checked. *compressed is new device memory of *bytes bytes, freed with cudaFree. Waits for the stream. Errors: UNSUPPORTED,
 * OUT_OF_MEMORY, CORRUPT (not 2:4), DEVICE. */
macko_status macko_sparselt_compress(const macko_sparselt *lt, const macko_sparselt_shape *shape, const void *dense, void **compressed,
                                     int64_t *bytes, cudaStream_t stream, macko_error *err);

/* Plans products of n columns; *plan is new and freed with macko_sparselt_plan_free. algorithm: one that
 * macko_sparselt_algorithm has named; -1: cuSPARSELt's own choice until they are tried. Errors: UNSUPPORTED, OUT_OF_MEMORY,
 * DEVICE. */
macko_status macko_sparselt_plan_new(const macko_sparselt *lt, const macko_sparselt_shape *shape, int64_t n, int64_t algorithm,
                                     macko_sparselt_plan **plan, macko_error *err);
void macko_sparselt_plan_free(macko_sparselt_plan **plan);

/* The first tries the algorithms with A packed (a), B and D in device memory, which writes D, and keeps the fastest. The others
 * give the algorithm of the plan, as a number to plan with another time, and the bytes of work that a product needs, and queue
 * a product. Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
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
