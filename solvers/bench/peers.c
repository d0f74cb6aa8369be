/* What macko-bench compares with on a GPU: cuSPARSE's CSR (both algorithms, with and without its preprocessing; f64 matrices also
 * with values in f32; with SpMVOp where this cuSPARSE has it), COO, sliced ELL (32 rows) and, where there are blocks, BSR, and
 * cuBLAS on the dense matrix, as a matrix of one column and as a vector, and PETSc's types. Of several vectors, which follow each
 * other as columns, there are those that cuSPARSE's SpMM, cuBLAS's gemm and PETSc take. What a peer prepares is not in its times. */
#include "bench/peers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = -1 }; /* no product of several vectors */

/* Fills *err, unless err is NULL, with "what: words", and returns status. */
macko_status peer_fail(macko_error *err, macko_status status, const char *what, const char *words)
{
  if (err) snprintf(err->text, sizeof err->text, "%s: %s", what, words), err->status = status;
  return status;
}

/* This is where all CUDA calls of macko-bench get their sentences. */
macko_status bench_cuda(cudaError_t error, const char *what, macko_error *err)
{
  return error == cudaSuccess ? MACKO_OK : peer_fail(err, MACKO_DEVICE, what, cudaGetErrorString(error));
}

/* Makes a status of ours of one of cuSPARSE's. */
macko_status peer_sparse(cusparseStatus_t status, const char *what, macko_error *err)
{
  return status == CUSPARSE_STATUS_SUCCESS ? MACKO_OK : peer_fail(err, MACKO_DEVICE, what, cusparseGetErrorString(status));
}

/* Copies array i of a form to device memory and counts its bytes as those of the form. */
macko_status peer_upload(peer *p, int i, const void *host, int64_t bytes, bench_contender *c, macko_error *err)
{
  macko_status s = bench_cuda(cudaMalloc(&p->arrays[i], (size_t)bytes + 256), "memory for a peer", err);
  if (!s) s = bench_cuda(cudaMemcpy(p->arrays[i], host, (size_t)bytes, cudaMemcpyHostToDevice), "copying for a peer", err);
  c->bytes += bytes;
  return s;
}

/* The libraries' name of a type of values. */
static cudaDataType data_type(macko_type type)
{
  return type == MACKO_F64 ? CUDA_R_64F : type == MACKO_F32 ? CUDA_R_32F : type == MACKO_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

/* ---- running ---- */

/* Multiplies with cuSPARSE. */
static macko_status run_sparse(const bench_contender *c, int k, cudaStream_t stream, macko_error *err)
{
  const peer *p = c->own;
  const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  /* Setting the stream costs nothing beside a product, so that it is done each time. */
  cusparseSetStream(p->sparse, stream);
  if (k == 1)
    return peer_sparse(cusparseSpMV(p->sparse, as_it_is, p->alpha, p->matrix, p->x, p->beta, p->y, p->compute, p->algorithm,
                                    p->buffer), c->name, err);
  return peer_sparse(cusparseSpMM(p->sparse, as_it_is, as_it_is, p->alpha, p->matrix, p->xs, p->beta, p->ys, p->compute,
                                  p->of_several, p->buffer_of_several), c->name, err);
}

/* Frees whatever was made before an error as well. */
static void close_peer(bench_contender *c)
{
  peer *p = c->own;
  if (!p) return;
  peer_close_op(p);
  if (p->matrix) cusparseDestroySpMat(p->matrix);
  if (p->x) cusparseDestroyDnVec(p->x);
  if (p->y) cusparseDestroyDnVec(p->y);
  if (p->xs) cusparseDestroyDnMat(p->xs);
  if (p->ys) cusparseDestroyDnMat(p->ys);
  if (p->sparse) cusparseDestroy(p->sparse);
  if (p->dense) cublasDestroy(p->dense);
  for (int i = 0; i < PEER_ARRAYS; i++) cudaFree(p->arrays[i]);
  cudaFree(p->buffer), cudaFree(p->buffer_of_several);
  free(p);
  c->own = NULL;
}

macko_status peer_vectors(peer *p, const bench_contender *c, macko_error *err)
{
  macko_status s = peer_sparse(cusparseCreateDnVec(&p->x, p->ncols, c->x, p->vector), "describing x", err);
  return s ? s : peer_sparse(cusparseCreateDnVec(&p->y, p->nrows, c->y, p->vector), "describing y", err);
}

/* Describes one vector, gets work space and preprocesses. Not every form has a preprocessing of its own. */
static macko_status prepare_one(peer *p, const bench_contender *c, macko_error *err)
{
  const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  macko_status s = peer_vectors(p, c, err);
  if (!s)
    s = peer_sparse(cusparseSpMV_bufferSize(p->sparse, as_it_is, p->alpha, p->matrix, p->x, p->beta, p->y, p->compute,
                                            p->algorithm, &bytes), "sizing the work space", err);
  if (!s) s = bench_cuda(cudaMalloc(&p->buffer, bytes + 256), "the work space", err);
  if (s || !p->preprocess) return s;
  const cusparseStatus_t done = cusparseSpMV_preprocess(p->sparse, as_it_is, p->alpha, p->matrix, p->x, p->beta, p->y, p->compute,
                                                        p->algorithm, p->buffer);
  return done == CUSPARSE_STATUS_NOT_SUPPORTED ? MACKO_OK : peer_sparse(done, "preprocessing", err);
}

/* Does the same for k vectors, which are columns, as in dense matrices of PETSc. */
static macko_status prepare_several(peer *p, const bench_contender *c, macko_error *err)
{
  const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  macko_status s = peer_sparse(cusparseCreateDnMat(&p->xs, p->ncols, p->k, p->ncols, c->x, p->vector, CUSPARSE_ORDER_COL),
                               "describing the vectors", err);
  if (!s)
    s = peer_sparse(cusparseCreateDnMat(&p->ys, p->nrows, p->k, p->nrows, c->y, p->vector, CUSPARSE_ORDER_COL),
                    "describing the products", err);
  if (!s)
    s = peer_sparse(cusparseSpMM_bufferSize(p->sparse, as_it_is, as_it_is, p->alpha, p->matrix, p->xs, p->beta, p->ys, p->compute,
                                            p->of_several, &bytes), "sizing the work space", err);
  if (!s) s = bench_cuda(cudaMalloc(&p->buffer_of_several, bytes + 256), "the work space", err);
  if (s || !p->preprocess) return s;
  const cusparseStatus_t done = cusparseSpMM_preprocess(p->sparse, as_it_is, as_it_is, p->alpha, p->matrix, p->xs, p->beta, p->ys,
                                                        p->compute, p->of_several, p->buffer_of_several);
  return done == CUSPARSE_STATUS_NOT_SUPPORTED ? MACKO_OK : peer_sparse(done, "preprocessing", err);
}

/* Makes the peer ready to run, and notes the seconds of that, of one vector or of several, where it preprocesses. */
static macko_status prepare(peer *p, bench_contender *c, macko_error *err)
{
  double start = bench_gpu_now();
  macko_status s = prepare_one(p, c, err);
  if (p->k > 1) start = bench_gpu_now();
  if (!s && p->k > 1) s = prepare_several(p, c, err);
  if (!s) s = bench_cuda(cudaDeviceSynchronize(), "preprocessing", err);
  if (p->preprocess) c->preparation = bench_gpu_now() - start;
  if (!s) c->run = run_sparse;
  return s;
}

/* What a peer of these libraries is. */
typedef struct {
  const char *name;
  cusparseSpMVAlg_t algorithm;
  int of_several; /* a cusparseSpMMAlg_t, or NONE */
  int preprocess;
  peer_make *make;
} library_peer;

/* Opens one in *c, which has a name. */
static macko_status open_library(const library_peer *kind, const macko_csr *a, int k, bench_contender *c, macko_error *err)
{
  if (k > 1 && kind->of_several == NONE) return snprintf(c->detail, sizeof c->detail, "for one vector only"), MACKO_OK;
  static const double one = 1, zero = 0;
  static const float one_f32 = 1, zero_f32 = 0;
  const int f64 = a->value_type == MACKO_F64; /* others are summed in f32 */
  peer *p = c->own = calloc(1, sizeof *p);
  if (!p) return peer_fail(err, MACKO_OUT_OF_MEMORY, c->name, "no memory");
  *p = (peer){.type = data_type(a->value_type), .vector = data_type(a->value_type),
              .compute = f64 ? CUDA_R_64F : CUDA_R_32F, .alpha = f64 ? (const void *)&one : &one_f32,
              .beta = f64 ? (const void *)&zero : &zero_f32, .algorithm = kind->algorithm,
              .of_several = (cusparseSpMMAlg_t)kind->of_several, .preprocess = kind->preprocess, .k = k,
              .nrows = a->nrows, .ncols = a->ncols};
  macko_status s = peer_sparse(cusparseCreate(&p->sparse), "starting cuSPARSE", err);
  if (!s) s = kind->make(p, a, c, err);
  return !s && p->matrix && !p->op ? prepare(p, c, err) : s;
}

/* A peer that takes the matrix has a run when this returns: those of cuBLAS and of SpMVOp set it themselves, the others of cuSPARSE
 * are prepared. Algorithms are of one vector and of several, where there is one. */
macko_status bench_open_peer(int number, const macko_csr *a, int k, void *x, void *y, bench_contender *c, macko_error *err)
{
  static const library_peer peers[] = {{"cusparse-csr1", CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG1, 1, peer_csr},
                                       {"cusparse-csr1-plain", CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG1, 0, peer_csr},
                                       {"cusparse-csr2", CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG2, 1, peer_csr},
                                       {"cusparse-csr2-plain", CUSPARSE_SPMV_CSR_ALG2, CUSPARSE_SPMM_CSR_ALG2, 0, peer_csr},
                                       {"cusparse-coo", CUSPARSE_SPMV_COO_ALG1, CUSPARSE_SPMM_COO_ALG1, 1, peer_coo},
                                       {"cusparse-sell", CUSPARSE_SPMV_SELL_ALG1, NONE, 1, peer_sell},
                                       {"cusparse-bsr", CUSPARSE_SPMV_BSR_ALG1, CUSPARSE_SPMM_BSR_ALG1, 1, peer_bsr},
                                       {"cusparse-csr1-f32", CUSPARSE_SPMV_CSR_ALG1, NONE, 1, peer_csr_f32},
                                       {"cusparse-op1", CUSPARSE_SPMV_ALG_DEFAULT, NONE, 0, peer_op1},
                                       {"cusparse-op2", CUSPARSE_SPMV_ALG_DEFAULT, NONE, 0, peer_op2},
                                       {"cublas-gemm", CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMM_ALG_DEFAULT, 0, peer_dense},
                                       {"cublas-gemv", CUSPARSE_SPMV_ALG_DEFAULT, NONE, 0, peer_dense_vector}};
  static const char *const petsc[] = {"seqaijcusparse", "seqsellcuda"};
  enum { LIBRARIES = sizeof peers / sizeof *peers };
  static_assert(LIBRARIES + sizeof petsc / sizeof *petsc == BENCH_PEERS, "all of them are opened");
  *c = (bench_contender){.close = close_peer, .x = x, .y = y};
  if (number < LIBRARIES) {
    snprintf(c->name, sizeof c->name, "%s", peers[number].name);
    return open_library(&peers[number], a, k, c, err);
  }
  snprintf(c->name, sizeof c->name, "petsc-%s", petsc[number - LIBRARIES] + strlen("seq"));
  return bench_open_petsc_gpu(petsc[number - LIBRARIES], a, k, c, err);
}
