/* macko: sparse matrices stored in a fraction of CSR's bytes and multiplied straight from the compressed form.
 *
 * Conventions. Every function that can fail returns a macko_status and, on failure, fills *err (which may be NULL) with one
 * sentence that names the offending value and place. Nothing is printed, nothing aborts, there is no global state. On failure
 * outputs are unchanged. All pointers are host memory. A matrix is immutable after encoding, so any number of threads may
 * multiply with it at once. */
#ifndef MACKO_H
#define MACKO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status codes and formats come from the lists status.def and formats.def: MACKO_OK, ..., MACKO_FORMAT_CSR, ... */
typedef enum {
#define MACKO_STATUS_CODE(symbol, text) MACKO_##symbol,
#include "status.def"
#undef MACKO_STATUS_CODE
} macko_status;

typedef enum {
#define MACKO_FORMAT(symbol, name, text) MACKO_FORMAT_##symbol,
#include "formats.def"
#undef MACKO_FORMAT
  MACKO_FORMAT_AUTO
} macko_format;

/* A status and its sentence. */
typedef struct {
  macko_status status;
  char text[512];
} macko_error;

/* Element types of values, vectors and indices. */
typedef enum { MACKO_F64, MACKO_F32, MACKO_I32, MACKO_I64 } macko_type;

typedef enum { MACKO_OP_N, MACKO_OP_T } macko_op;

/* A view of a CSR matrix: nothing is owned or copied by the view itself.
 * row_ptr has nrows + 1 entries, starts at 0 and does not decrease; cols and values have row_ptr[nrows] entries each. */
typedef struct {
  int64_t nrows, ncols;
  macko_type row_ptr_type; /* MACKO_I32 or MACKO_I64 */
  macko_type col_type;     /* MACKO_I32 or MACKO_I64 */
  macko_type value_type;   /* MACKO_F64 or MACKO_F32 */
  const void *row_ptr, *cols, *values;
} macko_csr;

typedef struct macko_matrix macko_matrix;

/* What to encode to. Set defaults with macko_options_init, then change fields. */
typedef struct {
  macko_format format; /* default MACKO_FORMAT_AUTO: the fewest bytes among the formats built in */
} macko_options;

/* Facts about an encoded matrix. bytes counts every array of the compressed form; csr_bytes is the same matrix as CSR with
 * 32-bit columns (64-bit where ncols needs it), 32-bit row pointers (64-bit where nnz needs it) and the same value type. */
typedef struct {
  macko_format format;
  macko_type value_type;
  int64_t nrows, ncols, nnz;
  int64_t bytes, csr_bytes;
  const char *reason; /* why these parameters, owned by the matrix */
} macko_info;

void macko_options_init(macko_options *options);

/* Name of a format ("csr"), NULL if format is not one. */
const char *macko_format_name(macko_format format);

/* Meaning of a status code as a constant string. */
const char *macko_status_text(macko_status status);

/* Encodes *csr, whose arrays are read and not kept. Rows may be unsorted; duplicate entries of a row are added in their order.
 * options may be NULL (defaults). *matrix is new and freed with macko_destroy.
 * Errors: INVALID_MATRIX (row and value named), INVALID_ARGUMENT, OUT_OF_MEMORY. */
macko_status macko_encode(const macko_csr *csr, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* Writes the matrix back as CSR with sorted rows: row_ptr int64[nrows + 1], cols int64[nnz], values of the matrix's own value
 * type, bit for bit what was encoded (explicit zeros, -0.0 and NaN payloads included). Any pointer may be NULL to skip it. */
macko_status macko_decode(const macko_matrix *matrix, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err);

/* Y = alpha op(A) X + beta Y for k vectors stored by columns, ldx and ldy elements apart. vector_type is MACKO_F64 or MACKO_F32;
 * sums are never narrower than the vector type. beta = 0 does not read Y. X and Y must not overlap.
 * Row i of the result differs from the exact one by at most gamma(nnz_i + 2) (|A||x|)_i. */
macko_status macko_multiply(const macko_matrix *matrix, macko_op op, macko_type vector_type, int64_t k, double alpha,
                            const void *x, int64_t ldx, double beta, void *y, int64_t ldy, macko_error *err);

void macko_get_info(const macko_matrix *matrix, macko_info *info);

/* Frees the matrix and sets *matrix to NULL; NULL is allowed. */
void macko_destroy(macko_matrix **matrix);

#ifdef __cplusplus
}
#endif
#endif
