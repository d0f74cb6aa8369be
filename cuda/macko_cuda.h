/* macko on NVIDIA GPUs: a compressed matrix is uploaded once and multiplies vectors that stay on the device.
 *
 * The conventions of macko.h hold. A stream is CUDA's (cudaStream_t is struct CUstream_st *; NULL is the default stream); work is
 * queued on it and the host does not wait, unless a function says otherwise. CUDA's own failures are MACKO_DEVICE with CUDA's
 * words; an error that an earlier call of the program left with CUDA stays there and is nobody's here. A device matrix belongs to
 * the device that was current when it was made. */
#ifndef MACKO_CUDA_H
#define MACKO_CUDA_H

#include "macko.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;

typedef struct macko_device_matrix macko_device_matrix;

/* Answers the number of GPUs that can be used: 0 without a GPU or driver, with the reason in *err (may be NULL). */
int macko_device_count(macko_error *err);

/* Copies *matrix, section by section, to the current device, as it was chosen: options->target was to be MACKO_TARGET_GPU for
 * the choice to be a GPU's. *matrix is not kept and stays usable; it must not change or go before the stream has passed the
 * copies. *device is new and freed with macko_device_destroy. Sections are trusted, as in macko_multiply: a matrix whose
 * sections something else than this library wrote must pass macko_validate first, which takes as long as copying them or
 * longer; so must one for macko_device_refresh. Format dtans is decoded once on the host before (macko_validate). Errors:
 * OUT_OF_MEMORY (bytes wanted and free), UNSUPPORTED (a format without a kernel; format dtans: tables larger than a block's
 * shared memory on this GPU), CORRUPT and LIMIT (format dtans: damage; rows of more than 2^31 - 9 entries for one thread;
 * format eccsr: rows of more than 2^26 runs of columns), DEVICE. */
macko_status macko_device_upload(const macko_matrix *matrix, struct CUstream_st *stream, macko_device_matrix **device,
                             macko_error *err);

/* Encodes *csr, whose three arrays are in memory of the current device, there: what macko_encode and macko_device_upload would
 * give of the same arrays on the host, byte for byte, and no copy on the host. The arrays are read until this returns, once the
 * matrix is made; work queued on stream before is waited for. Where options is NULL the choice is made for a GPU, and on it;
 * what macko_options_init sets is for a CPU, and what to choose for one may be found out on the host. Beside the matrix it takes
 * device memory for a while: about half of the arrays' bytes, more where most columns do not repeat; format dtans, which sorts
 * its symbols, up to 40 bytes an entry. At most 64 MB of that stay with the process, a GPU, for the next encodings and new
 * values. Layout paper, and rows that are unsorted or hold duplicates, are copied to the host and encoded there, and so are
 * entries beyond 2^31 - 9 of format dtans. MACKO_PREFER_MEASURED with target gpu multiplies with the likeliest forms, as
 * macko_encode does on a CPU, and remembers the fastest in the same file for a GPU of this name; rows must be sorted then, and
 * two of the forms have room on the GPU. Errors: as macko_encode and macko_device_upload. */
macko_status macko_device_encode(const macko_csr *csr, const macko_options *options, struct CUstream_st *stream,
                                    macko_device_matrix **device, macko_error *err);

/* Copies the matrix to host memory, where *matrix is new and freed with macko_destroy. Waits for the stream. Errors:
 * OUT_OF_MEMORY, DEVICE. */
macko_status macko_device_fetch(const macko_device_matrix *device, struct CUstream_st *stream, macko_matrix **matrix,
                                macko_error *err);

/* Fills *info as macko_get_info does for the matrix in host memory; its reason is owned by the device matrix. Cannot fail. */
void macko_device_get_info(const macko_device_matrix *device, macko_info *info);

/* Makes op T possible: builds the transpose on the host, compressed as *matrix was asked to be, and uploads it as well. *matrix
 * is the matrix that was uploaded. Returns once the copies are done; a transpose that is already there is kept.
 * Errors: INVALID_ARGUMENT (a matrix of another format, type, size or pattern, or on another GPU than the current one); as
 * macko_device_upload and macko_encode. */
macko_status macko_device_add_transpose(macko_device_matrix *device, const macko_matrix *matrix, struct CUstream_st *stream,
                                        macko_error *err);

/* Does the same from the csr that the matrix was encoded from, whose three arrays are in memory of the current device: sorted
 * and compressed there, without the host but where macko_device_encode needs it. The values must be those of the last encode or
 * refresh. For a while it takes 20 bytes an entry, its values and about as much as macko_device_encode. Returns once the
 * transpose is made. Errors: INVALID_MATRIX (another pattern, size or type); as macko_device_encode. */
macko_status macko_device_add_transpose_csr(macko_device_matrix *device, const macko_csr *csr, struct CUstream_st *stream,
                                            macko_error *err);

/* Answers whether *device, which may be NULL, has a transpose. */
int macko_device_has_transpose(const macko_device_matrix *device);

/* Takes the values of *matrix after a macko_refresh; the transpose, if there is one, is built anew. Multiplies queued earlier
 * on the same stream still see the old values. Graphs captured before must be captured again if kernels get other arguments,
 * which happens when the value codec changed, where values are coded (format dtans), where layout paper pads with something else
 * and where stencils got other values; *moved (may be NULL) says so. Errors: as macko_device_upload; INVALID_MATRIX where *matrix
 * has another pattern or type; INVALID_ARGUMENT where *device is not on the current GPU; the old values and the old transpose stay
 * then. */
macko_status macko_device_refresh(macko_device_matrix *device, const macko_matrix *matrix, struct CUstream_st *stream, int *moved,
                                  macko_error *err);

/* Takes the values of *csr, whose three arrays are in memory of the current device, for the same pattern, which is proved there
 * as by macko_refresh: what that and macko_device_refresh would give, byte for byte. *moved (may be NULL) as there. The arrays
 * are read until this returns; a transpose, if there is one, is made anew as by macko_device_add_transpose_csr. Errors: as
 * macko_refresh and macko_device_refresh; the old values and the old transpose stay then, unless the device failed. */
macko_status macko_device_refresh_csr(macko_device_matrix *device, const macko_csr *csr, struct CUstream_st *stream, int *moved,
                                      macko_error *err);

/* Queues Y = alpha op(A) X + beta Y for k vectors in device memory, stored by columns, ldx and ldy elements apart. vector_type
 * is MACKO_F64, MACKO_F32, MACKO_F16 or MACKO_BF16; sums are f64 where values or vectors are, else f32. beta = 0 does not read
 * Y, alpha = 0 does not read A and X. X and Y must not overlap. Nothing is copied to the host or waited for, so that a CUDA
 * graph can capture it, and but for work space nothing is allocated. Same matrix and vectors give the same bits on every run,
 * within the error bound of macko_multiply. Op T is op N of the transpose, alpha (A' x), where the CPU takes A' (alpha x): the
 * two differ where alpha x leaves the range of f64. Any number of streams and threads may multiply with one device matrix at
 * once. Weights of 16 bits in layout row are multiplied by three vectors of 16 bits, and by five or more, on tensor cores, where
 * each column of X begins at a multiple of 16 bytes. Where rows are so long that several blocks of threads add up one, and where format csr multiplies four vectors or more
 * and columns are scattered, that takes work space, of up to 16 MB or, where that is more, 32 bytes a column: the four streams
 * that multiply with the matrix first keep one each, a product on any other takes it from a pool of memory
 * (cudaMallocFromPoolAsync) that keeps what was needed at once. In a graph it becomes a node, so that CUDA lets such a graph
 * have one instance at a time.
 * Errors: INVALID_ARGUMENT (also op T before macko_device_add_transpose), OUT_OF_MEMORY (work space), UNSUPPORTED, DEVICE. */
macko_status macko_device_multiply(const macko_device_matrix *device, macko_op op, macko_type vector_type, int64_t k,
                                   double alpha, const void *x, int64_t ldx, double beta, void *y, int64_t ldy,
                                   struct CUstream_st *stream, macko_error *err);

/* Writes the entries (i, i), i < nrows, to diagonal, nrows doubles in device memory; 0 where there is none. Queued like a
 * multiply. Errors: UNSUPPORTED for anything but format csr and layout slice of format macko; INVALID_ARGUMENT, DEVICE. */
macko_status macko_device_diagonal(const macko_device_matrix *device, double *diagonal, struct CUstream_st *stream,
                                   macko_error *err);

/* Writes the entries (i, first_col + i) in the same way: rows of a larger matrix that are encoded by themselves have its
 * diagonal there. first_col is 0 .. ncols. */
macko_status macko_device_diagonal_from(const macko_device_matrix *device, int64_t first_col, double *diagonal,
                                        struct CUstream_st *stream, macko_error *err);

/* Writes the same of a csr whose arrays are in the current GPU's memory and that nobody has to encode for it: any types and base
 * that macko_device_encode takes. Rows need not be sorted, and are not checked; an entry that occurs twice is one of the two.
 * Errors: INVALID_ARGUMENT, INVALID_MATRIX (a negative size), DEVICE. */
macko_status macko_device_diagonal_csr(const macko_csr *csr, int64_t first_col, double *diagonal, struct CUstream_st *stream,
                                       macko_error *err);

/* Sets *rows to how many rows of a csr have entries, whose arrays are in the current GPU's memory, of any types and base that
 * macko_device_encode takes; columns and values are not read and may be NULL. It waits for the stream. Errors: INVALID_ARGUMENT,
 * INVALID_MATRIX (a negative size), OUT_OF_MEMORY, DEVICE; *rows is 0 then. */
macko_status macko_device_nonempty_rows(const macko_csr *csr, int64_t *rows, struct CUstream_st *stream, macko_error *err);

/* Copies entries of a vector by their numbers: to[i] = x[indices[i]] for i < n, of any type of 2, 4 or 8 bytes, which is what a
 * rank of a distributed matrix sends of its vector. x and indices are in device memory; to may also be pinned host memory,
 * which saves the copy. Queued like a multiply. The indices are not checked. Errors: INVALID_ARGUMENT, DEVICE. */
macko_status macko_device_gather(macko_type type, const void *x, const int64_t *indices, int64_t n, void *to,
                                 struct CUstream_st *stream, macko_error *err);

/* Adds to entries of a vector by their numbers: y[indices[i]] += from[i] for i < n, of type MACKO_F64 or MACKO_F32, everything
 * in device memory; no index may occur twice. Queued like a multiply. The indices are not checked. It is for a matrix most of
 * whose rows are empty: multiply with the others, then add. Errors: INVALID_ARGUMENT, DEVICE. */
macko_status macko_device_add_at(macko_type type, const void *from, const int64_t *indices, int64_t n, void *y,
                                 struct CUstream_st *stream, macko_error *err);

/* ---- matrix times matrix: format slide ---- */

/* Y = A X for a matrix of format slide and dense X and Y of many columns. A macko_matmul is A made ready for that, once; for
 * each number of columns it is then planned, once; products allocate nothing. On sparse tensor cores (SlideSparse, 2026) the
 * windows of A, lifted side by side, are a 2:4 matrix, and elements of X are repeated for the windows that they lie in. That
 * takes cuSPARSELt 0.8.1 or newer, which is opened where it is found when the program runs. A can also be multiplied as a dense
 * matrix, by cuBLASLt, which is opened in the same way, and by a kernel for any GPU, which needs neither. For each number of
 * columns the fastest is taken, and macko_matmul_get_info says which and why. */
typedef struct macko_matmul macko_matmul;

typedef enum {
  MACKO_MATMUL_AUTO,   /* the fastest of those that can, timed when it is planned */
  MACKO_MATMUL_KERNEL, /* the kernel for any GPU */
  MACKO_MATMUL_TENSOR, /* sparse tensor cores, or an error that says why not */
  MACKO_MATMUL_DENSE,  /* tensor cores with A as a dense matrix, likewise */
  MACKO_MATMUL_PATHS
} macko_matmul_path;

/* This says what tensor cores multiply. With I8 and E4M3 values are rounded by a scale for each row of A, which is 1 where they
 * all are such numbers already, and X by a scale for each column, from the largest magnitude there is; Y is scaled back. Nothing of
 * that rounds in the kernel for any GPU, which takes values and X as they are. */
typedef enum {
  MACKO_OPERANDS_EXACT, /* F16 or BF16, as values and X both are; where they are not, the kernel multiplies */
  MACKO_OPERANDS_F16,
  MACKO_OPERANDS_BF16,
  MACKO_OPERANDS_I8,
  MACKO_OPERANDS_E4M3,  /* floats of 8 bits: 4 of exponent, 3 of fraction */
  MACKO_OPERANDS_COUNT
} macko_operands;

typedef struct {
  macko_matmul_path path;  /* default MACKO_MATMUL_AUTO */
  macko_operands operands; /* default MACKO_OPERANDS_EXACT */
  macko_type x_type;       /* F64, F32, F16 or BF16; default: F16 */
  macko_type y_type;       /* as x_type. Tensor cores give F16 from operands F16, BF16 from BF16, any but F64 from the others */
  const char *library;     /* libcusparseLt.so.0, or the folder that holds it; NULL (default): where the loader finds it */
} macko_matmul_options;

/* Sets every field to its default. */
void macko_matmul_options_init(macko_matmul_options *options);

/* Makes *device ready, which must be of format slide, on the current device, and outlive *matmul; after a refresh of its values
 * it is to be made ready again. options may be NULL (defaults). *matmul is new and freed with macko_matmul_close; cuSPARSELt's
 * form of the values is as large as the windows of A, 9 bits a slot for operands of 8 bits, and for a while all of A as a dense
 * matrix is needed as well. Waits for the stream. Errors: INVALID_ARGUMENT (options; another GPU than the current one),
 * UNSUPPORTED (another format; path TENSOR or DENSE where it cannot be, with the reason), OUT_OF_MEMORY, DEVICE. */
macko_status macko_matmul_open(const macko_device_matrix *device, const macko_matmul_options *options, struct CUstream_st *stream,
                               macko_matmul **matmul, macko_error *err);

/* Plans products of n columns, and of as many as tensor cores take for n: the next multiple of 32. `algorithm` is one that
 * macko_matmul_get_info named for an equal matmul on an equal GPU with the same libraries, or -1: then the libraries' are tried,
 * and with path AUTO the forms of A timed against each other, sparse, dense and, for up to 128 columns, the kernel, which takes
 * memory (for a while A as a dense matrix, X and Y) and milliseconds to seconds. The dense form is kept where it is the fastest.
 * A product by every library is checked, all columns of it, by sums over the rows of A, and one that multiplies wrong is passed
 * over. Another algorithm may add in another order, and round otherwise; with one the same bits come on every run. What is
 * planned stays so, and planning it again costs nothing. Must not run beside products of the same matmul. Waits for the stream.
 * Errors: INVALID_ARGUMENT (n; an algorithm that is of another path), UNSUPPORTED (path TENSOR or DENSE where the library has no
 * algorithm, or multiplies wrong), OUT_OF_MEMORY, DEVICE. */
macko_status macko_matmul_plan(macko_matmul *matmul, int64_t n, int64_t algorithm, struct CUstream_st *stream, macko_error *err);

typedef struct {
  macko_matmul_path path;  /* KERNEL, TENSOR or DENSE, whichever multiplies */
  const char *reason;      /* in words: which, why, and the times it was chosen by; owned by the matmul, valid until that plans or
                            * is closed */
  int64_t nrows, ncols;
  int64_t lifted;          /* rows of X as tensor cores see it, those that are repeated included; 0 for the kernel */
  int64_t bytes;           /* device memory besides the matrix */
  int64_t work_bytes;      /* device memory that a product of n columns writes; -1 where it is not planned */
  int64_t algorithm;       /* to hand to macko_matmul_plan another time; -1 for the kernel or where n is not planned */
} macko_matmul_info;

/* Fills *info for products of n columns; cannot fail. */
void macko_matmul_get_info(const macko_matmul *matmul, int64_t n, macko_matmul_info *info);

/* Queues Y = A X + bias: X has ncols rows and n columns, Y nrows rows, all in memory of the matmul's device; columns lie ldx
 * and ldy elements apart. bias, nrows floats, is added to each column; it may be NULL. work is device memory of at least
 * work_bytes bytes, at a multiple of 256, that nothing else uses until the product is done. Queued on the stream and not waited
 * for; nothing is allocated, and a CUDA graph can capture it. Any number of streams may multiply at once, with work of their
 * own. Sums are f32, in i32 for operands I8, and f64 where values or X are; Y is rounded once, but from tensor cores with
 * operands F16 or BF16 also before a bias is added, and with operands of 8 bits and a Y of 16 sums are rounded to f16 (I8) or
 * bf16 (E4M3) before they are scaled. Where X has Inf or NaN the kernel gives what CSR does; tensor cores may
 * give NaN for other elements of such a column, and with operands I8 and E4M3 give NaN for all of it. Errors: INVALID_ARGUMENT
 * (n that is not planned, ldx, ldy, work; another GPU than the current one), DEVICE. */
macko_status macko_device_matmul(const macko_matmul *matmul, int64_t n, const void *x, int64_t ldx, const float *bias, void *y,
                                 int64_t ldy, void *work, int64_t work_bytes, struct CUstream_st *stream, macko_error *err);

/* Frees the matmul and sets *matmul to NULL; NULL is allowed. Waits for the device. */
void macko_matmul_close(macko_matmul **matmul);

/* Answers how much device memory the matrix takes, in bytes, its transpose and the work space of one stream included; 0 for
 * NULL. */
int64_t macko_device_bytes(const macko_device_matrix *device);

/* Frees the matrix and sets *device to NULL; NULL is allowed. Waits for the device. */
void macko_device_destroy(macko_device_matrix **device);

#ifdef __cplusplus
}
#endif
#endif
