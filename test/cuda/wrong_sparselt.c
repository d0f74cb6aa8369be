/* A cuSPARSELt that does all it is asked for without a fault and multiplies wrong: every byte of D becomes 0x3c. The functions are
 * those that cuda/slide/sparselt.c opens, declared as it calls them. */
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <string.h>

static int64_t elements; /* of the dense matrix described last, which is D */

#define NOTHING(name) int cusparseLt##name(void) { return 0; }
NOTHING(Init)
NOTHING(Destroy)
NOTHING(StructuredDescriptorInit)
NOTHING(MatDescriptorDestroy)
NOTHING(MatmulDescriptorInit)
NOTHING(MatmulAlgSelectionInit)
NOTHING(MatmulAlgSetAttribute)
NOTHING(MatmulPlanInit)
NOTHING(MatmulPlanDestroy)
NOTHING(MatmulSearch)
NOTHING(SpMMACompress2)

const char *cusparseLtGetErrorString(int status)
{
  return status ? "an error" : "no error";
}

int cusparseLtGetVersion(const void *handle, int *version)
{
  (void)handle;
  *version = 1000;
  return 0;
}

int cusparseLtDenseDescriptorInit(const void *handle, void *matrix, int64_t rows, int64_t cols)
{
  (void)handle, (void)matrix;
  elements = rows * cols;
  return 0;
}

int cusparseLtMatmulAlgGetAttribute(const void *handle, const void *algorithm, int attribute, void *value, size_t bytes)
{
  (void)handle, (void)algorithm;
  memset(value, 0, bytes);
  if (attribute == 3) *(int *)value = 1; /* k is not split */
  return 0;
}

int cusparseLtMatmulGetWorkspace(const void *handle, const void *plan, size_t *bytes)
{
  (void)handle, (void)plan;
  *bytes = 0;
  return 0;
}

int cusparseLtSpMMAPruneCheck2(const void *handle, const void *matrix, int sparse, int op, const void *dense, int *valid,
                               void *stream)
{
  (void)handle, (void)matrix, (void)sparse, (void)op, (void)dense;
  return (int)cudaMemsetAsync(valid, 0, sizeof *valid, stream);
}

int cusparseLtSpMMACompressedSize2(const void *handle, const void *matrix, size_t *bytes, size_t *scratch)
{
  (void)handle, (void)matrix;
  *bytes = *scratch = 256;
  return 0;
}

int cusparseLtMatmul(const void *handle, const void *plan, const void *alpha, const void *a, const void *b, const void *beta,
                     const void *c, void *d, void *work, cudaStream_t *streams, int32_t count)
{
  (void)handle, (void)plan, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)work, (void)count;
  return (int)cudaMemsetAsync(d, 0x3c, (size_t)elements * 2, streams[0]);
}
