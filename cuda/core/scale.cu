/* Y = beta Y, for products in which the matrix does not take part. */
#include "core/product.cuh"

/* A thread takes element i of all k vectors. beta = 0 must give 0 even where Y holds NaN, so that Y is not read then. */
static __global__ void scale_kernel(device_vectors v, int64_t n, int64_t k)
{
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int64_t j = 0; j < k; j++) {
    int64_t at = j * v.ldy + i;
    store_y(v.type, v.y, at, v.beta == 0 ? 0 : v.beta * load_y(v.type, v.y, at));
  }
}

macko_status macko_device_scale(const macko_product *p, int64_t n, cudaStream_t stream, macko_error *err)
{
  if (p->beta == 1) return MACKO_OK;
  return macko_cuda_status(launch(scale_kernel, (unsigned)((n + 255) / 256), 256, 0, stream, vectors_from(p, 0), n, p->k),
                           "starting a multiply", err);
}
