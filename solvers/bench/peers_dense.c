/* macko-bench's peers of cuBLAS: the dense matrix times vectors as columns of a matrix, and times one vector. */
#include "bench/peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DENSE_LIMIT 8e9      /* bytes */
static const double sparsest = 0.02; /* share of nonzeros; a dense product that is further from dense is no rival */

/* Multiplies the dense matrix with the vectors as columns of a matrix. */
static macko_status run_gemm(const bench_contender *c, int vectors, cudaStream_t stream, macko_error *err)
{
  const peer *p = c->own;
  int f64 = p->type == CUDA_R_64F, m = (int)p->nrows, k = (int)p->ncols;
  cublasSetStream(p->dense, stream);
  cublasStatus_t s = cublasGemmEx(p->dense, CUBLAS_OP_T, CUBLAS_OP_N, m, vectors, k, p->alpha, p->arrays[0], p->type, k, c->x,
                                  p->type, k, p->beta, c->y, p->type, m, f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F,
                                  CUBLAS_GEMM_DEFAULT);
  return s == CUBLAS_STATUS_SUCCESS ? MACKO_OK : peer_fail(err, MACKO_DEVICE, c->name, cublasGetStatusString(s));
}

/* cuBLAS declares these for C++ only. */
typedef cublasStatus_t gemv_half(cublasHandle_t, cublasOperation_t, int m, int n, const float *alpha, const void *a, int lda,
                                 long long stride_a, const void *x, int incx, long long stride_x, const float *beta, void *y,
                                 int incy, long long stride_y, int count);
gemv_half cublasHSHgemvStridedBatched, cublasTSTgemvStridedBatched;

/* Multiplies the dense matrix with a vector, by the function of cuBLAS for each type; for 16 bits there are only those of
 * batches. */
static macko_status run_gemv(const bench_contender *c, int vectors, cudaStream_t stream, macko_error *err)
{
  (void)vectors; /* this peer is for one only */
  const peer *p = c->own;
  const void *a = p->arrays[0];
  int m = (int)p->ncols, n = (int)p->nrows; /* stored by columns, the matrix is its transpose */
  cublasStatus_t s;
  cublasSetStream(p->dense, stream);
  if (p->type == CUDA_R_64F) s = cublasDgemv(p->dense, CUBLAS_OP_T, m, n, p->alpha, a, m, c->x, 1, p->beta, c->y, 1);
  else if (p->type == CUDA_R_32F) s = cublasSgemv(p->dense, CUBLAS_OP_T, m, n, p->alpha, a, m, c->x, 1, p->beta, c->y, 1);
  else if (p->type == CUDA_R_16F)
    s = cublasHSHgemvStridedBatched(p->dense, CUBLAS_OP_T, m, n, p->alpha, a, m, 0, c->x, 1, 0, p->beta, c->y, 1, 0, 1);
  else s = cublasTSTgemvStridedBatched(p->dense, CUBLAS_OP_T, m, n, p->alpha, a, m, 0, c->x, 1, 0, p->beta, c->y, 1, 0, 1);
  return s == CUBLAS_STATUS_SUCCESS ? MACKO_OK : peer_fail(err, MACKO_DEVICE, c->name, cublasGetStatusString(s));
}

/* Makes the dense matrix row after row, which is its transpose column after column as cuBLAS has it. What is too big or far from
 * dense is left out. */
macko_status peer_dense(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t size = macko_type_bytes(a->value_type);
  if ((double)a->nrows * (double)a->ncols * (double)size > DENSE_LIMIT)
    return snprintf(c->detail, sizeof c->detail, "the dense matrix is too big"), MACKO_OK;
  if (row_ptr[a->nrows] < sparsest * (double)a->nrows * (double)a->ncols)
    return snprintf(c->detail, sizeof c->detail, "far from dense"), MACKO_OK;
  char *dense = calloc((size_t)(a->nrows * a->ncols), (size_t)size);
  if (!dense) return peer_fail(err, MACKO_OUT_OF_MEMORY, "dense", "no memory");
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t q = row_ptr[i]; q < row_ptr[i + 1]; q++)
      memcpy(dense + (i * a->ncols + cols[q]) * size, (const char *)a->values + q * size, (size_t)size);
  macko_status s = peer_upload(p, 0, dense, a->nrows * a->ncols * size, c, err);
  free(dense);
  if (!s && cublasCreate(&p->dense) != CUBLAS_STATUS_SUCCESS) s = peer_fail(err, MACKO_DEVICE, "cuBLAS", "does not start");
  if (!s) c->run = run_gemm;
  return s;
}

/* The same matrix, multiplied by the function for vectors. */
macko_status peer_dense_vector(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  macko_status s = peer_dense(p, a, c, err);
  if (c->run) c->run = run_gemv;
  return s;
}

