/* What macko-bench compares with on a GPU: cuSPARSE's CSR (both algorithms, with and without its preprocessing; f64 matrices also
 * with values in f32), COO, sliced ELL (32 rows) and, where there are blocks, BSR, and cuBLAS on the dense matrix, as a matrix of
 * one column and as a vector. What a peer prepares is not in its times. */
#include "bench/gpu.h"

#include <cublas_v2.h>
#include <cusparse.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 32, ARRAYS = 4 };
#define DENSE_LIMIT 8e9      /* bytes */
static const double sparsest = 0.02; /* share of nonzeros; a dense product that is further from dense is no rival */

/* What any of the peers needs to multiply. */
typedef struct {
  cusparseHandle_t sparse;
  cublasHandle_t dense;             /* NULL for peers of cuSPARSE */
  cusparseSpMatDescr_t matrix;      /* NULL for peers of cuBLAS, and for what cannot be taken */
  cusparseDnVecDescr_t x, y;
  cudaDataType type, vector, compute; /* of values, of x and y, and of sums */
  cusparseSpMVAlg_t algorithm;
  int preprocess;                   /* 1: cuSPARSE may look at the matrix before it multiplies */
  int64_t nrows, ncols;
  void *arrays[ARRAYS], *buffer;    /* the form's arrays, and work space; device */
} peer;

/* Fills *err, unless err is NULL, with "what: words", and returns status. */
static macko_status say(macko_error *err, macko_status status, const char *what, const char *words)
{
  if (err) snprintf(err->text, sizeof err->text, "%s: %s", what, words), err->status = status;
  return status;
}

/* This is where all CUDA calls of macko-bench get their sentences. */
macko_status bench_cuda(cudaError_t error, const char *what, macko_error *err)
{
  return error == cudaSuccess ? MACKO_OK : say(err, MACKO_DEVICE, what, cudaGetErrorString(error));
}

/* Makes a status of ours of one of cuSPARSE's. */
static macko_status sparse(cusparseStatus_t status, const char *what, macko_error *err)
{
  return status == CUSPARSE_STATUS_SUCCESS ? MACKO_OK : say(err, MACKO_DEVICE, what, cusparseGetErrorString(status));
}

/* Copies array i of a form to device memory and counts its bytes as those of the form. */
static macko_status upload(peer *p, int i, const void *host, int64_t bytes, bench_contender *c, macko_error *err)
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

static const double one = 1, zero = 0;
static const float one_f32 = 1, zero_f32 = 0;

/* Multiplies with cuSPARSE. alpha and beta are of the type of sums. */
static macko_status run_sparse(const bench_contender *c, cudaStream_t stream, macko_error *err)
{
  const peer *p = c->own;
  int f64 = p->compute == CUDA_R_64F;
  /* Setting the stream costs nothing beside a product, so that it is done each time. */
  cusparseSetStream(p->sparse, stream);
  return sparse(cusparseSpMV(p->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, f64 ? (const void *)&one : &one_f32, p->matrix, p->x,
                             f64 ? (const void *)&zero : &zero_f32, p->y, p->compute, p->algorithm, p->buffer), c->name, err);
}

/* Multiplies the dense matrix with x as a matrix of one column. */
static macko_status run_gemm(const bench_contender *c, cudaStream_t stream, macko_error *err)
{
  const peer *p = c->own;
  int f64 = p->type == CUDA_R_64F, m = (int)p->nrows, k = (int)p->ncols;
  cublasSetStream(p->dense, stream);
  const void *alpha = f64 ? (const void *)&one : &one_f32, *beta = f64 ? (const void *)&zero : &zero_f32;
  cublasStatus_t s = cublasGemmEx(p->dense, CUBLAS_OP_T, CUBLAS_OP_N, m, 1, k, alpha, p->arrays[0], p->type, k, c->x, p->type, k,
                                  beta, c->y, p->type, m, f64 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  return s == CUBLAS_STATUS_SUCCESS ? MACKO_OK : say(err, MACKO_DEVICE, c->name, cublasGetStatusString(s));
}

/* cuBLAS declares these for C++ only. */
typedef cublasStatus_t gemv_half(cublasHandle_t, cublasOperation_t, int m, int n, const float *alpha, const void *a, int lda,
                                 long long stride_a, const void *x, int incx, long long stride_x, const float *beta, void *y,
                                 int incy, long long stride_y, int count);
gemv_half cublasHSHgemvStridedBatched, cublasTSTgemvStridedBatched;

/* Multiplies the dense matrix with a vector, by the function of cuBLAS for each type; for 16 bits there are only those of
 * batches. */
static macko_status run_gemv(const bench_contender *c, cudaStream_t stream, macko_error *err)
{
  const peer *p = c->own;
  const void *a = p->arrays[0];
  int m = (int)p->ncols, n = (int)p->nrows; /* stored by columns, the matrix is its transpose */
  cublasStatus_t s;
  cublasSetStream(p->dense, stream);
  if (p->type == CUDA_R_64F) s = cublasDgemv(p->dense, CUBLAS_OP_T, m, n, &one, a, m, c->x, 1, &zero, c->y, 1);
  else if (p->type == CUDA_R_32F) s = cublasSgemv(p->dense, CUBLAS_OP_T, m, n, &one_f32, a, m, c->x, 1, &zero_f32, c->y, 1);
  else if (p->type == CUDA_R_16F)
    s = cublasHSHgemvStridedBatched(p->dense, CUBLAS_OP_T, m, n, &one_f32, a, m, 0, c->x, 1, 0, &zero_f32, c->y, 1, 0, 1);
  else s = cublasTSTgemvStridedBatched(p->dense, CUBLAS_OP_T, m, n, &one_f32, a, m, 0, c->x, 1, 0, &zero_f32, c->y, 1, 0, 1);
  return s == CUBLAS_STATUS_SUCCESS ? MACKO_OK : say(err, MACKO_DEVICE, c->name, cublasGetStatusString(s));
}

/* ---- the forms ---- */

/* Each of these makes a form in p->arrays and describes it; the csr itself needs no change. */
static macko_status make_csr(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  int64_t nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  macko_status s = upload(p, 0, a->row_ptr, (a->nrows + 1) * 4, c, err);
  if (!s) s = upload(p, 1, a->cols, nnz * 4, c, err);
  if (!s) s = upload(p, 2, a->values, nnz * macko_type_bytes(a->value_type), c, err);
  if (s) return s;
  return sparse(cusparseCreateCsr(&p->matrix, a->nrows, a->ncols, nnz, p->arrays[0], p->arrays[1], p->arrays[2],
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                        CUSPARSE_INDEX_BASE_ZERO, p->type),
                "describing CSR", err);
}

/* Makes the row of every entry beside its column. */
static macko_status make_coo(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr;
  int64_t nnz = row_ptr[a->nrows];
  int32_t *rows = malloc((size_t)nnz * 4 + 4);
  if (!rows) return say(err, MACKO_OUT_OF_MEMORY, "COO", "no memory");
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t q = row_ptr[i]; q < row_ptr[i + 1]; q++) rows[q] = (int32_t)i;
  macko_status s = upload(p, 0, rows, nnz * 4, c, err);
  free(rows);
  if (!s) s = upload(p, 1, a->cols, nnz * 4, c, err);
  if (!s) s = upload(p, 2, a->values, nnz * macko_type_bytes(a->value_type), c, err);
  if (s) return s;
  return sparse(cusparseCreateCoo(&p->matrix, a->nrows, a->ncols, nnz, p->arrays[0], p->arrays[1], p->arrays[2],
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type), "describing COO", err);
}

/* Rounds values to f32, which is told by c->rounding: a peer for lossy forms of ours. x and y stay f64. */
static macko_status make_csr_f32(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  int64_t nnz = ((const int32_t *)a->row_ptr)[a->nrows];
  macko_csr half = *a;
  if (a->value_type != MACKO_F64) return snprintf(c->detail, sizeof c->detail, "for f64 matrices only"), MACKO_OK;
  float *values = malloc((size_t)nnz * sizeof *values + 4);
  if (!values) return say(err, MACKO_OUT_OF_MEMORY, c->name, "no memory");
  for (int64_t q = 0; q < nnz; q++) values[q] = (float)((const double *)a->values)[q];
  half.values = values, half.value_type = MACKO_F32;
  p->type = CUDA_R_32F;
  c->rounding = bench_unit(MACKO_F32);
  macko_status s = make_csr(p, &half, c, err);
  free(values);
  return s;
}

/* Makes sliced ELL: slots of every slice, column by column; -1 marks padding. A matrix of which that would be mostly padding is
 * left out. */
static macko_status make_sell(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t slices = (a->nrows + SLICE - 1) / SLICE, size = macko_type_bytes(a->value_type), slots = 0;
  int32_t *starts = malloc((size_t)(slices + 1) * 4), *sell_cols = NULL;
  char *values = NULL;
  for (int64_t i = 0; starts && i < slices; i++) {
    int64_t longest = 0;
    for (int64_t r = i * SLICE; r < (i + 1) * SLICE && r < a->nrows; r++)
      if (row_ptr[r + 1] - row_ptr[r] > longest) longest = row_ptr[r + 1] - row_ptr[r];
    starts[i] = (int32_t)slots;
    slots += longest * SLICE;
  }
  /* Most of the memory would be padding, or offsets would not fit. */
  if (slots > INT32_MAX || slots > 8 * (int64_t)row_ptr[a->nrows] + 1000000) {
    free(starts);
    return snprintf(c->detail, sizeof c->detail, "%lld slots of padding", (long long)(slots - row_ptr[a->nrows])), MACKO_OK;
  }
  if (starts) {
    starts[slices] = (int32_t)slots;
    sell_cols = malloc((size_t)slots * 4 + 4), values = calloc((size_t)slots + 1, (size_t)size);
  }
  if (!starts || !sell_cols || !values)
    return free(starts), free(sell_cols), free(values), say(err, MACKO_OUT_OF_MEMORY, "SELL", "no memory");
  /* These bits are -1, which marks padding; the values there are 0. */
  memset(sell_cols, 0xff, (size_t)slots * 4);
  for (int64_t r = 0; r < a->nrows; r++)
    for (int64_t q = row_ptr[r]; q < row_ptr[r + 1]; q++) {
      /* Slot k of all rows of a slice lie together: a warp reads them at once. */
      int64_t slot = starts[r / SLICE] + (q - row_ptr[r]) * SLICE + r % SLICE;
      sell_cols[slot] = cols[q];
      memcpy(values + slot * size, (const char *)a->values + q * size, (size_t)size);
    }
  macko_status s = upload(p, 0, starts, (slices + 1) * 4, c, err);
  if (!s) s = upload(p, 1, sell_cols, slots * 4, c, err);
  if (!s) s = upload(p, 2, values, slots * size, c, err);
  free(starts), free(sell_cols), free(values);
  if (s) return s;
  return sparse(cusparseCreateSlicedEll(&p->matrix, a->nrows, a->ncols, row_ptr[a->nrows], slots, SLICE, p->arrays[0],
                                        p->arrays[1], p->arrays[2], CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                        CUSPARSE_INDEX_BASE_ZERO, p->type),
                "describing SELL", err);
}

/* Compares two int32_t for qsort. */
static int compare_columns(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Puts the block columns of a block row, sorted, into `found` and returns how many there are; where[] of each is its number among
 * them. What where[] holds from earlier rows does no harm, because found[] has to agree. */
static int32_t find_blocks(const macko_csr *a, int block, int64_t row, int32_t *found, int32_t *where)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int32_t count = 0;
  for (int64_t q = row_ptr[row * block]; q < row_ptr[(row + 1) * block]; q++) {
    int32_t col = cols[q] / block;
    if (where[col] < count && found[where[col]] == col) continue;
    where[col] = count, found[count++] = col;
  }
  qsort(found, (size_t)count, sizeof *found, compare_columns);
  for (int32_t k = 0; k < count; k++) where[found[k]] = k;
  return count;
}

/* A matrix in blocks, in host memory. */
typedef struct {
  int block;               /* rows and columns of a block */
  int64_t rows, count;     /* of blocks */
  int32_t *starts, *cols;
  char *values;
} bsr;

/* Makes blocks row after row, and each of them row after row, with zeros where the matrix has no entry. The arrays are the
 * caller's to free. Returns 0 without memory. */
static int fill_bsr(const macko_csr *a, bsr *m)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  const int64_t size = macko_type_bytes(a->value_type), block = m->block, area = block * block;
  int32_t *where = calloc((size_t)(a->ncols / block) + 1, 4);
  m->rows = a->nrows / block;
  m->starts = malloc((size_t)(m->rows + 1) * 4), m->cols = malloc((size_t)row_ptr[a->nrows] * 4 + 4);
  for (int64_t i = 0; where && m->starts && m->cols && i <= m->rows; i++) {
    m->starts[i] = (int32_t)m->count;
    if (i < m->rows) m->count += find_blocks(a, m->block, i, m->cols + m->count, where);
  }
  m->values = calloc((size_t)(m->count * area * size) + 1, 1);
  int there = where && m->starts && m->cols && m->values;
  for (int64_t r = 0; there && r < a->nrows; r++) {
    const int64_t i = r / block;
    /* At the first row of a block row, where[] is set to the places of its blocks. */
    for (int64_t k = m->starts[i]; r % block == 0 && k < m->starts[i + 1]; k++) where[m->cols[k]] = (int32_t)k;
    for (int64_t q = row_ptr[r]; q < row_ptr[r + 1]; q++) {
      int64_t slot = where[cols[q] / block] * area + r % block * block + cols[q] % block;
      memcpy(m->values + slot * size, (const char *)a->values + q * size, (size_t)size);
    }
  }
  free(where);
  return there;
}

/* Makes blocks of the size that suits the matrix, and leaves it out where none does. */
static macko_status make_bsr(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  bsr m = {.block = bench_block_size(a)};
  const int64_t area = m.block * m.block * macko_type_bytes(a->value_type);
  /* c->run stays NULL and detail says why: that is no error. */
  if (m.block == 1) return snprintf(c->detail, sizeof c->detail, "no blocks"), MACKO_OK;
  snprintf(c->detail, sizeof c->detail, "blocks of %d x %d", m.block, m.block);
  macko_status s = fill_bsr(a, &m) ? MACKO_OK : say(err, MACKO_OUT_OF_MEMORY, "BSR", "no memory");
  if (!s) s = upload(p, 0, m.starts, (m.rows + 1) * 4, c, err);
  if (!s) s = upload(p, 1, m.cols, m.count * 4, c, err);
  if (!s) s = upload(p, 2, m.values, m.count * area, c, err);
  free(m.starts), free(m.cols), free(m.values);
  if (s) return s;
  return sparse(cusparseCreateBsr(&p->matrix, m.rows, a->ncols / m.block, m.count, m.block, m.block, p->arrays[0], p->arrays[1],
                                  p->arrays[2], CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, p->type,
                                  CUSPARSE_ORDER_ROW),
                "describing BSR", err);
}

/* Makes the dense matrix row after row, which is its transpose column after column as cuBLAS has it. What is too big or far from
 * dense is left out. */
static macko_status make_dense(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  const int32_t *row_ptr = a->row_ptr, *cols = a->cols;
  int64_t size = macko_type_bytes(a->value_type);
  if ((double)a->nrows * (double)a->ncols * (double)size > DENSE_LIMIT)
    return snprintf(c->detail, sizeof c->detail, "the dense matrix is too big"), MACKO_OK;
  if (row_ptr[a->nrows] < sparsest * (double)a->nrows * (double)a->ncols)
    return snprintf(c->detail, sizeof c->detail, "far from dense"), MACKO_OK;
  char *dense = calloc((size_t)(a->nrows * a->ncols), (size_t)size);
  if (!dense) return say(err, MACKO_OUT_OF_MEMORY, "dense", "no memory");
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t q = row_ptr[i]; q < row_ptr[i + 1]; q++)
      memcpy(dense + (i * a->ncols + cols[q]) * size, (const char *)a->values + q * size, (size_t)size);
  macko_status s = upload(p, 0, dense, a->nrows * a->ncols * size, c, err);
  free(dense);
  if (!s && cublasCreate(&p->dense) != CUBLAS_STATUS_SUCCESS) s = say(err, MACKO_DEVICE, "cuBLAS", "does not start");
  if (!s) c->run = run_gemm;
  return s;
}

/* The same matrix, multiplied by the function for vectors. */
static macko_status make_dense_vector(peer *p, const macko_csr *a, bench_contender *c, macko_error *err)
{
  macko_status s = make_dense(p, a, c, err);
  if (c->run) c->run = run_gemv;
  return s;
}

/* Frees whatever was made before an error as well. */
static void close_peer(bench_contender *c)
{
  peer *p = c->own;
  if (!p) return;
  if (p->matrix) cusparseDestroySpMat(p->matrix);
  if (p->x) cusparseDestroyDnVec(p->x);
  if (p->y) cusparseDestroyDnVec(p->y);
  if (p->sparse) cusparseDestroy(p->sparse);
  if (p->dense) cublasDestroy(p->dense);
  for (int i = 0; i < ARRAYS; i++) cudaFree(p->arrays[i]);
  cudaFree(p->buffer);
  free(p);
  c->own = NULL;
}

/* Describes vectors, gets work space and preprocesses, of which only the last is timed. Then the peer can run. */
static macko_status prepare(peer *p, bench_contender *c, macko_error *err)
{
  size_t bytes = 0;
  int f64 = p->compute == CUDA_R_64F;
  const void *alpha = f64 ? (const void *)&one : &one_f32, *beta = f64 ? (const void *)&zero : &zero_f32;
  macko_status s = sparse(cusparseCreateDnVec(&p->x, p->ncols, c->x, p->vector), "describing x", err);
  if (!s) s = sparse(cusparseCreateDnVec(&p->y, p->nrows, c->y, p->vector), "describing y", err);
  if (!s)
    s = sparse(cusparseSpMV_bufferSize(p->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, p->matrix, p->x, beta, p->y,
                                       p->compute, p->algorithm, &bytes), "sizing the work space", err);
  if (!s) s = bench_cuda(cudaMalloc(&p->buffer, bytes + 256), "the work space", err);
  double start = bench_gpu_now();
  if (!s && p->preprocess) {
    cusparseStatus_t done = cusparseSpMV_preprocess(p->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, p->matrix, p->x, beta, p->y,
                                                    p->compute, p->algorithm, p->buffer);
    if (done != CUSPARSE_STATUS_NOT_SUPPORTED) s = sparse(done, "preprocessing", err); /* not every form has it */
  }
  if (!s) s = bench_cuda(cudaDeviceSynchronize(), "preprocessing", err);
  if (p->preprocess) c->preparation = bench_gpu_now() - start;
  if (!s) c->run = run_sparse;
  return s;
}

/* A peer that takes the matrix has a run when this returns: cuBLAS's set it themselves, those of cuSPARSE are prepared. */
macko_status bench_open_peer(int number, const macko_csr *a, void *x, void *y, bench_contender *c, macko_error *err)
{
  static const struct {
    const char *name;
    cusparseSpMVAlg_t algorithm;
    int preprocess;
    macko_status (*make)(peer *, const macko_csr *, bench_contender *, macko_error *);
  } peers[BENCH_PEERS] = {{"cusparse-csr1", CUSPARSE_SPMV_CSR_ALG1, 1, make_csr},
                          {"cusparse-csr1-plain", CUSPARSE_SPMV_CSR_ALG1, 0, make_csr},
                          {"cusparse-csr2", CUSPARSE_SPMV_CSR_ALG2, 1, make_csr},
                          {"cusparse-csr2-plain", CUSPARSE_SPMV_CSR_ALG2, 0, make_csr},
                          {"cusparse-coo", CUSPARSE_SPMV_COO_ALG1, 1, make_coo},
                          {"cusparse-sell", CUSPARSE_SPMV_SELL_ALG1, 1, make_sell},
                          {"cusparse-bsr", CUSPARSE_SPMV_BSR_ALG1, 1, make_bsr},
                          {"cusparse-csr1-f32", CUSPARSE_SPMV_CSR_ALG1, 1, make_csr_f32},
                          {"cublas-gemm", CUSPARSE_SPMV_ALG_DEFAULT, 0, make_dense},
                          {"cublas-gemv", CUSPARSE_SPMV_ALG_DEFAULT, 0, make_dense_vector}};
  *c = (bench_contender){.close = close_peer, .x = x, .y = y};
  snprintf(c->name, sizeof c->name, "%s", peers[number].name);
  peer *p = c->own = calloc(1, sizeof *p);
  if (!p) return say(err, MACKO_OUT_OF_MEMORY, c->name, "no memory");
  /* Only matrices of f64 are summed in f64; others in f32. */
  *p = (peer){.type = data_type(a->value_type), .vector = data_type(a->value_type),
              .compute = a->value_type == MACKO_F64 ? CUDA_R_64F : CUDA_R_32F, .algorithm = peers[number].algorithm,
              .preprocess = peers[number].preprocess, .nrows = a->nrows, .ncols = a->ncols};
  macko_status s = sparse(cusparseCreate(&p->sparse), "starting cuSPARSE", err);
  if (!s) s = peers[number].make(p, a, c, err);
  return !s && p->matrix ? prepare(p, c, err) : s;
}
