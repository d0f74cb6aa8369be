/* Plain CSR through cuSPARSE: CSR_ALG2, which gives the same bits on every run, with its preprocessing done at upload. Several vectors at
 * once, and types that cuSPARSE cannot mix, take the kernel of csr_rows.cu. */
#include "device.h"

#include <cusparse.h>
#include <stdlib.h>

/* Descriptors and work space belong to one vector type each: cuSPARSE ties a work space to the operation it was prepared for. */
typedef struct {
  int ready;
  cudaDataType vector_type, compute_type;
  cusparseSpMatDescr_t matrix;
  cusparseDnVecDescr_t x, y;
  void *buffer;
} operation;

enum { F64_VECTORS, F32_VECTORS, F16_VECTORS, BF16_VECTORS, OPERATIONS };

typedef struct {
  cusparseHandle_t handle;
  operation all[OPERATIONS];
} spmv;

static macko_status sparse_status(cusparseStatus_t status, const char *what, macko_error *err)
{
  if (status == CUSPARSE_STATUS_SUCCESS) return MACKO_OK;
  macko_status s = status == CUSPARSE_STATUS_ALLOC_FAILED ? MACKO_OUT_OF_MEMORY : MACKO_DEVICE;
  return macko_fail(err, s, "%s: cuSPARSE says %s (%s)", what, cusparseGetErrorString(status), cusparseGetErrorName(status));
}

static cudaDataType data_type(macko_type type)
{
  return type == MACKO_F64 ? CUDA_R_64F : type == MACKO_F32 ? CUDA_R_32F : type == MACKO_F16 ? CUDA_R_16F : CUDA_R_16BF;
}

static int operation_for(macko_type vector_type)
{
  return vector_type == MACKO_F64 ? F64_VECTORS : vector_type == MACKO_F32 ? F32_VECTORS
         : vector_type == MACKO_F16 ? F16_VECTORS : BF16_VECTORS;
}

/* y = alpha A x + beta y in the compute type of the operation. */
static cusparseStatus_t run(const spmv *s, const operation *o, double alpha, double beta)
{
  float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
  const void *a = o->compute_type == CUDA_R_64F ? (const void *)&alpha : &alpha_f32;
  const void *b = o->compute_type == CUDA_R_64F ? (const void *)&beta : &beta_f32;
  return cusparseSpMV(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, a, o->matrix, o->x, b, o->y, o->compute_type, CUSPARSE_SPMV_CSR_ALG2,
                      o->buffer);
}

static macko_status describe(const macko_device_matrix *d, operation *o, macko_error *err)
{
  const macko_section *row_ptr = macko_find_section(&d->m, "row_ptr"), *cols = macko_find_section(&d->m, "cols");
  cusparseIndexType_t row_index = row_ptr->type == MACKO_I64 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  cusparseIndexType_t col_index = cols->type == MACKO_I64 ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
  cusparseStatus_t status = cusparseCreateCsr(&o->matrix, d->m.nrows, d->m.ncols, d->m.nnz, row_ptr->data, cols->data,
                                              macko_device_data(d, "values"), row_index, col_index, CUSPARSE_INDEX_BASE_ZERO,
                                              data_type(d->m.value_type));
  /* cuSPARSE wants addresses now; the right ones come with every multiply. */
  if (!status) status = cusparseCreateDnVec(&o->x, d->m.ncols, d->memory, o->vector_type);
  if (!status) status = cusparseCreateDnVec(&o->y, d->m.nrows, d->memory, o->vector_type);
  return sparse_status(status, "describing the matrix", err);
}

static macko_status prepare_operation(macko_device_matrix *d, spmv *s, operation *o, macko_error *err)
{
  size_t bytes = 0;
  double one = 1, zero = 0;
  float one_f32 = 1, zero_f32 = 0;
  int f64 = o->compute_type == CUDA_R_64F;
  const void *alpha = f64 ? (const void *)&one : &one_f32, *beta = f64 ? (const void *)&zero : &zero_f32;
  macko_status status = describe(d, o, err);
  if (!status)
    status = sparse_status(cusparseSpMV_bufferSize(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, o->matrix, o->x, beta, o->y,
                                                   o->compute_type, CUSPARSE_SPMV_CSR_ALG2, &bytes), "sizing cuSPARSE's work space", err);
  if (!status && bytes) status = macko_device_alloc((int64_t)bytes, "cuSPARSE's work space", &o->buffer, err);
  if (!status) d->own_bytes += (int64_t)bytes;
  if (!status)
    status = sparse_status(cusparseSpMV_preprocess(s->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha, o->matrix, o->x, beta, o->y,
                                                   o->compute_type, CUSPARSE_SPMV_CSR_ALG2, o->buffer), "preparing cuSPARSE", err);
  if (!status) o->ready = 1;
  return status;
}

/* cuSPARSE multiplies vectors of the matrix's own type, and f32 matrices with f64 vectors. */
static int wanted(const macko_matrix *m, macko_type vector_type)
{
  return vector_type == m->value_type || (m->value_type == MACKO_F32 && vector_type == MACKO_F64);
}

static macko_status prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err)
{
  static const macko_type types[] = {MACKO_F64, MACKO_F32, MACKO_F16, MACKO_BF16};
  (void)host;
  /* Values stay where they are, and the preprocessing looks at the pattern only. */
  if (d->own || d->m.nnz == 0) return MACKO_OK;
  if (macko_find_section(&d->m, "row_ptr")->type != macko_find_section(&d->m, "cols")->type) return MACKO_OK;
  spmv *s = (spmv *)calloc(1, sizeof *s);
  if (!s) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for cuSPARSE's handles");
  d->own = s;
  macko_status status = sparse_status(cusparseCreate(&s->handle), "starting cuSPARSE", err);
  if (!status) status = sparse_status(cusparseSetStream(s->handle, stream), "giving cuSPARSE a stream", err);
  for (int i = 0; !status && i < OPERATIONS; i++) {
    if (!wanted(&d->m, types[i])) continue;
    s->all[i].vector_type = data_type(types[i]);
    s->all[i].compute_type = types[i] == MACKO_F64 ? CUDA_R_64F : CUDA_R_32F;
    status = prepare_operation(d, s, &s->all[i], err);
  }
  return status;
}

static macko_status multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err)
{
  const spmv *s = (const spmv *)d->own;
  const operation *o = s ? &s->all[operation_for(p->vector_type)] : NULL;
  if (p->k > 1 || !o || !o->ready) return macko_csr_rows_multiply(d, p, stream, err);
  cusparseStatus_t status = cusparseSetStream(s->handle, stream);
  if (!status) status = cusparseDnVecSetValues(o->x, (void *)p->x);
  if (!status) status = cusparseDnVecSetValues(o->y, p->y);
  if (!status) status = run(s, o, p->alpha, p->beta);
  return sparse_status(status, "multiplying", err);
}

static void destroy(macko_device_matrix *d)
{
  spmv *s = (spmv *)d->own;
  if (!s) return;
  for (int i = 0; i < OPERATIONS; i++) {
    operation *o = &s->all[i];
    if (o->matrix) cusparseDestroySpMat(o->matrix);
    if (o->x) cusparseDestroyDnVec(o->x);
    if (o->y) cusparseDestroyDnVec(o->y);
    cudaFree(o->buffer);
  }
  if (s->handle) cusparseDestroy(s->handle);
  free(s);
}

extern "C" const macko_device_ops macko_csr_device_ops = {prepare, multiply, destroy};
