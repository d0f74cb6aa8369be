/* Between the files of Y = A X for format slide: a matmul, what it has planned, and the two ways to multiply. */
#ifndef MACKO_SLIDE_MATMUL_H
#define MACKO_SLIDE_MATMUL_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "slide/slide_lift.h"

/* X and Y of a product, n columns. */
typedef struct {
  int64_t n;
  const void *x;
  int64_t ldx;
  macko_type x_type;
  const float *bias;
  void *y;
  int64_t ldy;
  macko_type y_type;
  void *work;
} macko_dense_product;

/* ---- the kernel for any GPU: slide_kernel.cu ---- */

/* Device memory that it writes besides Y: X by rows. */
int64_t macko_slide_kernel_work(const macko_device_matrix *d, macko_type x_type, int64_t n);
cudaError_t macko_slide_kernel(const macko_device_matrix *d, const macko_dense_product *p, cudaStream_t stream);

/* ---- sparse tensor cores: slide_tensor.c, and around their products slide_lift.cu ---- */

typedef struct macko_tensor macko_tensor;             /* A in cuSPARSELt's form, with its handle */
typedef struct macko_tensor_plan macko_tensor_plan;   /* for one number of columns */

/* UNSUPPORTED, saying why, where tensor cores cannot multiply by the options. Errors: also OUT_OF_MEMORY, CORRUPT, DEVICE. */
macko_status macko_tensor_open(const macko_device_matrix *d, const macko_matmul_options *options, cudaStream_t stream,
                               macko_tensor **tensor, macko_error *err);
void macko_tensor_close(macko_tensor **tensor);

/* Device memory; rows of X once they are lifted; version of cuSPARSELt; operands in use. */
int64_t macko_tensor_bytes(const macko_tensor *t);
int64_t macko_tensor_lifted(const macko_tensor *t);
const char *macko_tensor_version(const macko_tensor *t);
const char *macko_tensor_operands(const macko_tensor *t);

/* For n columns, a multiple of MACKO_LIFT_STEP; algorithm as macko_matmul_plan. Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
macko_status macko_tensor_plan_new(const macko_tensor *t, int64_t n, int64_t algorithm, cudaStream_t stream, macko_tensor_plan **plan,
                                   macko_error *err);
void macko_tensor_plan_free(macko_tensor_plan **plan);
int64_t macko_tensor_plan_work(const macko_tensor_plan *plan);
int64_t macko_tensor_plan_algorithm(const macko_tensor_plan *plan);
macko_status macko_tensor_multiply(const macko_tensor *t, const macko_tensor_plan *plan, const macko_dense_product *p,
                                   cudaStream_t stream, macko_error *err);

/* A as a dense matrix of its lifted windows, rows x lifted, and for operands of 8 bits the scale of each row. */
cudaError_t macko_slide_expand(const macko_device_matrix *d, macko_operands operands, int64_t rows, int64_t lifted, float *scales,
                               void *dense, cudaStream_t stream);

/* X lifted, `columns` columns of `lifted` operands of which those beyond the product's n are zero; for operands of 8 bits the scale of
 * each column. */
cudaError_t macko_slide_lift(const macko_device_matrix *d, macko_operands operands, const macko_dense_product *p, int64_t columns,
                             int64_t lifted, float *scales, void *to, cudaStream_t stream);

/* Y of sums, which have `rows` elements a column: scaled back, and bias added. */
cudaError_t macko_slide_back(macko_operands operands, const macko_dense_product *p, int64_t nrows, int64_t rows, const float *row_scales,
                             const float *column_scales, const void *sums, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
