/* Between the files of Y = A X for format slide: a matmul, what it has planned, and the two ways to multiply. */
#ifndef MACKO_SLIDE_MATMUL_H
#define MACKO_SLIDE_MATMUL_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "slide/slide_lift.h"

/* These are X and Y of a product, n columns. */
typedef struct {
  int64_t n;
  const void *x;
  int64_t ldx;
  macko_type x_type;
  const float *bias; /* of rows; may be NULL */
  void *y;
  int64_t ldy;
  macko_type y_type;
  void *work; /* device memory, the caller's */
} macko_dense_product;

/* ---- the kernel for any GPU: slide_kernel.cu ---- */

/* Gives the number of bytes of device memory that the kernel writes besides Y for n columns: X by rows. */
int64_t macko_slide_kernel_work(const macko_device_matrix *d, macko_type x_type, int64_t n);
/* Queues the product of the kernel; arguments have been checked. */
cudaError_t macko_slide_kernel(const macko_device_matrix *d, const macko_dense_product *p, cudaStream_t stream);

/* ---- sparse tensor cores: slide_tensor.c, and around their products slide_lift.cu ---- */

typedef struct macko_tensor macko_tensor;             /* A in cuSPARSELt's form, with its handle */
typedef struct macko_tensor_plan macko_tensor_plan;   /* for one number of columns */

/* Makes A ready for sparse tensor cores; *tensor is new and freed with macko_tensor_close. Errors: UNSUPPORTED, saying why,
 * where they cannot multiply by the options; OUT_OF_MEMORY, CORRUPT, DEVICE. */
macko_status macko_tensor_open(const macko_device_matrix *d, const macko_matmul_options *options, cudaStream_t stream,
                               macko_tensor **tensor, macko_error *err);
void macko_tensor_close(macko_tensor **tensor);

/* Gives the device memory in bytes; rows of X once they are lifted; the version of cuSPARSELt; the name of the operands in use.
 * The strings are owned by *t. */
int64_t macko_tensor_bytes(const macko_tensor *t);
int64_t macko_tensor_lifted(const macko_tensor *t);
const char *macko_tensor_version(const macko_tensor *t);
const char *macko_tensor_operands(const macko_tensor *t);

/* Plans products of n columns, a multiple of MACKO_LIFT_STEP; algorithm is as for macko_matmul_plan. *plan is new and freed
 * with macko_tensor_plan_free. Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
macko_status macko_tensor_plan_new(const macko_tensor *t, int64_t n, int64_t algorithm, cudaStream_t stream, macko_tensor_plan **plan,
                                   macko_error *err);
void macko_tensor_plan_free(macko_tensor_plan **plan);
/* Gives the number of bytes of work that a product of the plan needs, and the algorithm that it uses. */
int64_t macko_tensor_plan_work(const macko_tensor_plan *plan);
int64_t macko_tensor_plan_algorithm(const macko_tensor_plan *plan);
/* Queues a product of no more columns than the plan has. Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
macko_status macko_tensor_multiply(const macko_tensor *t, const macko_tensor_plan *plan, const macko_dense_product *p,
                                   cudaStream_t stream, macko_error *err);

/* Writes A as a dense matrix of its lifted windows, rows x lifted operands by rows, to dense, and for operands of 8 bits the
 * scale of each row to scales. */
cudaError_t macko_slide_expand(const macko_device_matrix *d, macko_operands operands, int64_t rows, int64_t lifted, float *scales,
                               void *dense, cudaStream_t stream);

/* Writes X lifted to `to`: `columns` columns of `lifted` operands, of which those beyond the product's n are zero; for operands
 * of 8 bits also the scale of each column to scales. */
cudaError_t macko_slide_lift(const macko_device_matrix *d, macko_operands operands, const macko_dense_product *p, int64_t columns,
                             int64_t lifted, float *scales, void *to, cudaStream_t stream);

/* Writes Y from sums, which have `rows` elements a column: scaled back, and with the bias added. */
cudaError_t macko_slide_back(macko_operands operands, const macko_dense_product *p, int64_t nrows, int64_t rows, const float *row_scales,
                             const float *column_scales, const void *sums, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
