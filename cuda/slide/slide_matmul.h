/* Between the files of Y = A X for format slide: a matmul, what it has planned, and the ways to multiply. */
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

/* ---- tensor cores: slide_tensor.c, and around their products slide_expand.cu, slide_lift.cu and slide_back.cu ---- */

typedef struct macko_tensor macko_tensor;           /* A in the form of a library, with its handle */
typedef struct macko_tensor_plan macko_tensor_plan; /* for one number of columns */

/* Makes A ready for tensor cores: sparse ones, which take its windows as a 2:4 matrix, or those that multiply it as a dense one.
 * path is TENSOR or DENSE; *tensor is new and freed with macko_tensor_close. Errors: UNSUPPORTED, saying why, where they cannot
 * multiply by the options; OUT_OF_MEMORY, CORRUPT, DEVICE. */
macko_status macko_tensor_open(const macko_device_matrix *d, macko_matmul_path path, const macko_matmul_options *options,
                               cudaStream_t stream, macko_tensor **tensor, macko_error *err);
void macko_tensor_close(macko_tensor **tensor);

/* Gives the device memory in bytes; rows of X once they are lifted; the version of the library; the name of the operands in use.
 * The strings are owned by *t. */
int64_t macko_tensor_bytes(const macko_tensor *t);
int64_t macko_tensor_lifted(const macko_tensor *t);
const char *macko_tensor_version(const macko_tensor *t);
const char *macko_tensor_operands(const macko_tensor *t);

/* Plans products of n columns, a multiple of MACKO_LIFT_STEP; algorithm is as for macko_matmul_plan. *plan is new and freed
 * with macko_tensor_plan_free. Errors: INVALID_ARGUMENT (algorithm), UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
macko_status macko_tensor_plan_new(const macko_tensor *t, int64_t n, int64_t algorithm, cudaStream_t stream,
                                   macko_tensor_plan **plan, macko_error *err);
void macko_tensor_plan_free(macko_tensor_plan **plan);
/* Gives the number of bytes of work that a product of the plan needs, and the algorithm that it uses. */
int64_t macko_tensor_plan_work(const macko_tensor_plan *plan);
int64_t macko_tensor_plan_algorithm(const macko_tensor_plan *plan);
/* Queues a product of no more columns than the plan has, by what it was planned for. Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
macko_status macko_tensor_multiply(const macko_tensor_plan *plan, const macko_dense_product *p, cudaStream_t stream,
                                   macko_error *err);

/* ---- which form multiplies: slide_choose.c ---- */

/* This is a form of A that can multiply with some number of columns. */
typedef struct {
  macko_matmul_path path;  /* KERNEL, TENSOR or DENSE */
  macko_tensor_plan *plan; /* NULL: the kernel */
  double us;               /* of a product; 0: not timed */
} macko_matmul_form;

/* Times the forms with n columns and answers the number of the fastest; the first, without times, where there is but one or no
 * memory for a trial. work_bytes: what any of them needs. Waits for the stream. */
int macko_matmul_fastest(const macko_device_matrix *d, const macko_matmul_options *options, int64_t n, int64_t work_bytes,
                         macko_matmul_form *forms, int count, cudaStream_t stream);

/* ---- around products on tensor cores ---- */

/* This is A as a dense matrix: rows of `width` operands, lifted or not, and for operands of 8 bits the scale of each row. */
typedef struct {
  int lifts;
  int64_t rows, width;
  float *scales;
  void *data;
} macko_operand_matrix;

/* Writes A so. */
cudaError_t macko_slide_expand(const macko_device_matrix *d, macko_operands operands, const macko_operand_matrix *to,
                               cudaStream_t stream);

/* This is X lifted: `columns` columns of `lifted` operands, of which those beyond the product's n are zero; for operands of 8 bits
 * also the scale of each column. */
typedef struct {
  int block;     /* half the columns of A of a block; 2 where nothing is repeated */
  int64_t ncols; /* of A, elements of a column of X */
  int64_t columns, lifted;
  float *scales;
  void *data;
} macko_lifted_x;

/* Writes the X of a product so. */
cudaError_t macko_slide_lift(macko_operands operands, const macko_dense_product *p, const macko_lifted_x *to, cudaStream_t stream);

/* These are the sums of a product, `rows` elements a column: F16, BF16, F32 or I32. Times unit, the scale of the row and that of
 * the column they are Y; without scales of rows they are it as they are. */
typedef struct {
  macko_type type;
  int64_t rows;
  const void *data;
  const float *row_scales, *column_scales;
  float unit;
} macko_sums;

/* Writes Y from sums: scaled back, and with the bias added. */
cudaError_t macko_slide_back(const macko_dense_product *p, int64_t nrows, const macko_sums *sums, cudaStream_t stream);

/* ---- whether a library multiplies right: slide_check.cu; all arrays are in device memory ---- */

/* Writes the sums of A over its rows, each times a weight: `width` of them; and the bits of the largest magnitude in A, as a
 * float. */
cudaError_t macko_slide_sum_rows(macko_operands operands, const macko_operand_matrix *a, double *sums, unsigned *largest,
                                 cudaStream_t stream);
/* Writes a B of so many elements: operands that are small whole numbers times scale, which is a power of two. */
cudaError_t macko_slide_fill(macko_operands operands, int64_t count, float scale, void *b, cudaStream_t stream);
/* Writes for each of the n columns of the product of A and that B by how much its sum over the rows, weighted as those of A,
 * differs from what the sums of A say (x), and the sum of the squares of what is summed (y). Scales of rows and columns are not
 * looked at. */
cudaError_t macko_slide_compare(const double *sums, int64_t width, double scale, const macko_sums *product, int64_t n,
                                double2 *found, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
