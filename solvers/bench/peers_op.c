/* macko-bench's peers of cuSPARSE's SpMVOp, which compiles a kernel for the matrix while the program runs. It is in cuSPARSE 12.8
 * and later; the versions before it know another interface of that name, or none. */
#define CUSPARSE_ENABLE_EXPERIMENTAL_API
#include "bench/peers.h"

#include <stdio.h>
#include <stdlib.h>

#if CUSPARSE_VERSION >= 12800

/* What a peer has besides its matrix and vectors. */
struct peer_op {
  cusparseSpMVOpDescr_t matrix;
  cusparseSpMVOpPlan_t plan;
};

/* Multiplies. */
static macko_status run_op(const bench_contender *c, int vectors, cudaStream_t stream, macko_error *err)
{
  (void)vectors; /* this peer is for one only */
  const peer *p = c->own;
  cusparseSetStream(p->sparse, stream);
  return peer_sparse(cusparseSpMVOp(p->sparse, p->op->plan, p->alpha, p->beta, p->x, p->y, p->y), c->name, err);
}

/* Makes the plan of an algorithm; a matrix that it does not take is left out. */
static macko_status make(peer *p, const macko_csr *a, cusparseSpMVOpAlg_t algorithm, bench_contender *c, macko_error *err)
{
  const cusparseOperation_t as_it_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  macko_status s = peer_csr(p, a, c, err);
  if (!s) s = peer_vectors(p, c, err);
  if (!s && !(p->op = calloc(1, sizeof *p->op))) s = peer_fail(err, MACKO_OUT_OF_MEMORY, c->name, "no memory");
  if (s) return s;
  const double start = bench_gpu_now();
  cusparseStatus_t done = cusparseSpMVOp_bufferSize(p->sparse, as_it_is, p->matrix, p->x, p->y, p->y, p->compute, algorithm, &bytes);
  if (done == CUSPARSE_STATUS_SUCCESS && (s = bench_cuda(cudaMalloc(&p->buffer, bytes + 256), "the work space", err))) return s;
  if (done == CUSPARSE_STATUS_SUCCESS)
    done = cusparseSpMVOp_createDescr(p->sparse, &p->op->matrix, as_it_is, p->matrix, p->x, p->y, p->y, p->compute, algorithm,
                                      p->buffer);
  if (done == CUSPARSE_STATUS_SUCCESS) done = cusparseSpMVOp_createPlan(p->sparse, p->op->matrix, &p->op->plan, NULL, 0);
  s = bench_cuda(cudaDeviceSynchronize(), "preparing", err);
  if (s || done != CUSPARSE_STATUS_SUCCESS) return snprintf(c->detail, sizeof c->detail, "%s", cusparseGetErrorString(done)), s;
  c->preparation = bench_gpu_now() - start;
  c->run = run_op;
  return MACKO_OK;
}

macko_status peer_op1(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  return make(p, a, CUSPARSE_SPMVOP_ALG1, c, err);
}

macko_status peer_op2(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  return make(p, a, CUSPARSE_SPMVOP_ALG2, c, err);
}

void peer_close_op(peer *p)
{
  if (p->op && p->op->plan) cusparseSpMVOp_destroyPlan(p->op->plan);
  if (p->op && p->op->matrix) cusparseSpMVOp_destroyDescr(p->op->matrix);
  free(p->op);
}

#else

/* Says that this program was built with a cuSPARSE that has no such thing. */
static macko_status say_none(bench_contender *c)
{
  return snprintf(c->detail, sizeof c->detail, "in cuSPARSE 12.8 and later"), MACKO_OK;
}

macko_status peer_op1(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  (void)p, (void)a, (void)err;
  return say_none(c);
}

macko_status peer_op2(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  return peer_op1(p, a, c, err);
}

void peer_close_op(peer *p)
{
  (void)p;
}

#endif
