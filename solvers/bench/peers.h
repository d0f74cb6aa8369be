/* Between the files of macko-bench's peers on a GPU: how cuSPARSE and cuBLAS have a matrix, and who makes which form. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "bench/gpu.h"

#include <cublas_v2.h>
#include <cusparse.h>

enum { PEER_ARRAYS = 4 };

/* What any of the peers needs to multiply. */
typedef struct {
  cusparseHandle_t sparse;
  cublasHandle_t dense;             /* NULL for peers of cuSPARSE */
  cusparseSpMatDescr_t matrix;      /* NULL for peers of cuBLAS, and for what cannot be taken */
  cusparseDnVecDescr_t x, y;
  cusparseDnMatDescr_t xs, ys;      /* the same and the others; NULL of one vector */
  cudaDataType type, vector, compute; /* of values, of x and y, and of sums */
  const void *alpha, *beta;         /* 1 and 0, of the type of sums */
  cusparseSpMVAlg_t algorithm;
  cusparseSpMMAlg_t of_several;
  int preprocess;                   /* 1: cuSPARSE may look at the matrix before it multiplies */
  int k;
  int64_t nrows, ncols;
  void *arrays[PEER_ARRAYS];             /* the form's; device */
  void *buffer, *buffer_of_several; /* work space; device */
  struct peer_op *op;               /* of SpMVOp, else NULL */
} peer;

/* Fills *err, unless err is NULL, with "what: words", and returns status. */
macko_status peer_fail(macko_error *err, macko_status status, const char *what, const char *words);

/* Makes a status of ours of one of cuSPARSE's. */
macko_status peer_sparse(cusparseStatus_t status, const char *what, macko_error *err);

/* Describes one x and one y for cuSPARSE. Errors: DEVICE. */
macko_status peer_vectors(peer *p, const bench_contender *c, macko_error *err);

/* Copies array i of a form to device memory and counts its bytes as those of the form. Errors: DEVICE. */
macko_status peer_upload(peer *p, int i, const void *host, int64_t bytes, bench_contender *c, macko_error *err);

/* Makes a form of a csr with 32-bit indices in p->arrays and describes it. One that the matrix does not suit leaves p->matrix and
 * c->run NULL, with the reason in c->detail; those of cuBLAS and of SpMVOp set c->run. Errors: OUT_OF_MEMORY, DEVICE. */
typedef macko_status peer_make(peer *p, const macko_csr *a, bench_contender *c, macko_error *err);
peer_make peer_csr, peer_coo, peer_csr_f32, peer_sell, peer_bsr;
peer_make peer_dense, peer_dense_vector; /* peers_dense.c */
peer_make peer_op1, peer_op2;            /* peers_op.c, one for each of its algorithms */

/* Frees what these have made. */
void peer_close_op(peer *p);

#endif
