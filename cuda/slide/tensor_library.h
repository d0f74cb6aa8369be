/* The libraries that multiply on tensor cores, behind one interface: cuSPARSELt a 2:4 matrix (sparselt.c), cuBLASLt a dense one
 * (cublaslt.c). Both are opened when the program runs. They multiply D = A B for a matrix A of rows x k, by rows, and B and D by
 * columns. */
#ifndef MACKO_TENSOR_LIBRARY_H
#define MACKO_TENSOR_LIBRARY_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#include <library_types.h>

/* This is what is multiplied: types of the operands and of D, which is alpha times the product. Sums are i32 for operands of i8,
 * else f32. */
typedef struct {
  int64_t rows, k;
  cudaDataType operands, result;
  float alpha;
} macko_tensor_shape;

/* These are the functions of a library. `library` and `plan` are what open and plan_new have made, which no one else looks into. */
typedef struct {
  const char *name;

  /* Opens the library for the current GPU; *library is new and freed with close. file: the file or the folder that holds it; NULL:
   * where the loader finds it. Errors: UNSUPPORTED (not there, too old, or not for this GPU), OUT_OF_MEMORY, DEVICE. */
  macko_status (*open)(const char *file, void **library, macko_error *err);
  void (*close)(void *library);

  /* Gives the version of the library in words like "0.10.0"; owned by the library. */
  const char *(*version)(const void *library);

  /* Makes A of a dense matrix of the shape, in device memory by rows; *packed is new device memory of *bytes bytes, freed with
   * cudaFree, or that of the dense matrix, of which *dense is NULL then. cuSPARSELt's may have two entries at most of every four
   * columns, which is checked. Waits for the stream. Errors: UNSUPPORTED, OUT_OF_MEMORY, CORRUPT (not 2:4), DEVICE. */
  macko_status (*pack)(const void *library, const macko_tensor_shape *shape, void **dense, void **packed, int64_t *bytes,
                       cudaStream_t stream, macko_error *err);

  /* Plans products of n columns; *plan is new and freed with plan_free. algorithm: one that `algorithm` has named; -1: the
   * library's own choice until they are tried. Errors: INVALID_ARGUMENT (algorithm), UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
  macko_status (*plan_new)(const void *library, const macko_tensor_shape *shape, int64_t n, int64_t algorithm, void **plan,
                           macko_error *err);
  void (*plan_free)(void *plan);

  /* The first tries the algorithms with A packed (a), B and D in device memory, which writes D, and keeps the fastest. The others
   * give the algorithm of the plan, as a number of up to 32 bits to plan with another time, and the bytes of work that a product
   * needs, and queue a product. Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
  macko_status (*search)(void *plan, const void *a, const void *b, void *d, cudaStream_t stream, macko_error *err);
  macko_status (*algorithm)(const void *plan, int64_t *algorithm, macko_error *err);
  macko_status (*work)(const void *plan, int64_t *bytes, macko_error *err);
  macko_status (*multiply)(const void *plan, const void *a, const void *b, void *d, void *work, cudaStream_t stream,
                           macko_error *err);
} macko_tensor_library;

/* These are all of them. */
extern const macko_tensor_library macko_cusparselt, macko_cublaslt;

#ifdef __cplusplus
}
#endif
#endif
