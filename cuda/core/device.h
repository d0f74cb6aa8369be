/* Between the files of cuda/: a matrix on the device, and what a format must supply. One static const table a format, in its
 * folder. */
#ifndef MACKO_DEVICE_H
#define MACKO_DEVICE_H

#include "macko_cuda.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "core/format.h"

/* Kernels load whole chunks without asking where a section ends, so that so many bytes behind the end of every section may be
 * read; they are zero. Every section begins at a multiple of MACKO_SECTION_ALIGN bytes, as the widest loads want it. */
enum { MACKO_SECTION_PAD = 2048, MACKO_SECTION_ALIGN = 256 };

/* Rounds bytes up to where the next section, or another array in one allocation, may begin. */
static inline int64_t macko_aligned(int64_t bytes)
{
  return (bytes + MACKO_SECTION_ALIGN - 1) / MACKO_SECTION_ALIGN * MACKO_SECTION_ALIGN;
}

struct macko_device_ops;
struct macko_encoder; /* encoder.h */

/* This is a matrix on a GPU. It is not changed by products, so that any number of streams may multiply with it at the same
 * time. */
struct macko_device_matrix {
  const struct macko_device_ops *ops; /* NULL until the sections are there */
  macko_matrix m; /* the host's description; data of its sections are device pointers */
  int device;   /* the GPU that holds it, which must be the current one for products */
  char *memory; /* all sections, one allocation */
  int64_t bytes; /* of memory, the padding of sections included */
  void *own; /* what the format keeps besides, made by prepare and freed by destroy; NULL before */
  int64_t own_bytes; /* device memory that own holds */
  int64_t by_value; /* goes up when prepare changes what kernels are given by value, which captured graphs keep as it was */
  struct macko_device_matrix *transpose; /* multiplies for op T; NULL until it is asked for */
};

/* This is what prepare looks at in the host's memory of a matrix that was encoded on the device: no section at all, section
 * "row_ptr", or all sections that tell of the pattern. A later one includes the earlier ones. */
typedef enum { MACKO_READS_NOTHING, MACKO_READS_ROW_STARTS, MACKO_READS_PATTERN } macko_reads;

/* This is what a format does on a GPU: one table of functions a format, with all slots named in the same order, NULL for what
 * it lacks. */
typedef struct macko_device_ops {
  /* Makes d->own. It is called once after the upload and again after every refresh. host is the matrix that was uploaded, or,
   * of one that was encoded on the device, a matrix with the sections that reads asks for. */
  macko_status (*prepare)(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err);
  /* Queues a product on the stream. p->op is always N, because a transpose is a matrix of its own. The arguments have been
   * checked: k >= 1, alpha is not 0, A is not empty. */
  macko_status (*multiply)(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err);
  /* Frees d->own, which may be NULL or half made where prepare failed. */
  void (*destroy)(macko_device_matrix *d);
  /* Writes the entries (i, first_col + i), as macko_device_diagonal_from has it. NULL: products are all that the format has
   * kernels for. */
  macko_status (*diagonal)(const macko_device_matrix *d, int64_t first_col, double *diagonal, cudaStream_t stream,
                           macko_error *err);

  /* ---- encoding on the device: NULL from here on where the host does it ---- */

  /* Says whether the host must encode a matrix of so many entries (-1: it is not yet known how many) by these options, which
   * may name another format or none. NULL: it never must. */
  int (*on_host)(const macko_options *options, int64_t nnz);
  /* This is the table of functions that answer what plan asks (macko_format_ops.facts), with an encoder as their context. NULL:
   * plan asks about values only. */
  const void *facts;
  /* Makes *device by m, which holds a plan and no sections yet. */
  macko_status (*encode)(struct macko_encoder *e, const macko_matrix *m, macko_device_matrix **device, macko_error *err);
  /* Does the same where the options ask for this format, planned and encoded in one go, so that what planning counts is counted
   * once. What fails with it the host may do instead, unless the failure is DEVICE. NULL: the plan is made first, then encode
   * is called. */
  macko_status (*plan_and_encode)(struct macko_encoder *e, const macko_options *options, macko_device_matrix **device,
                                  macko_error *err);
  /* Stores new values for the same pattern, of which the caller has the proof; *moved is set as by macko_device_refresh. It
   * sets *done unless the host must do it, also to say what is wrong; *done is 0 when it is called. */
  macko_status (*refresh)(struct macko_encoder *e, macko_device_matrix *d, int *moved, int *done, macko_error *err);
  /* Frees what the format keeps in e->own. NULL: it keeps nothing there. */
  void (*close)(struct macko_encoder *e);

  /* ---- for macko_encode_sections and macko_refresh_sections (encoder.h), which make the sections that a plan asks for ---- */

  /* Writes the sections that tell of the pattern, which are zeroed before. */
  macko_status (*write_pattern)(struct macko_encoder *e, macko_device_matrix *d, macko_error *err);
  /* Writes sections "values" and "dict" for the plan of *d. The pattern of *d has been written, and it is that of the encoder's
   * csr. */
  macko_status (*write_values)(struct macko_encoder *e, macko_device_matrix *d, macko_error *err);
  /* Changes what the pattern's sections say of where values start, for elements of another size. NULL: they do not say that. */
  macko_status (*move_values)(struct macko_encoder *e, macko_device_matrix *d, macko_error *err);
  /* Gives what prepare reads. It is asked again with what has been read so far, until that is enough. */
  macko_reads (*reads)(const macko_matrix *m);
} macko_device_ops;

/* The tables are weak symbols, so that a format without kernels, which has no table, links as NULL. */
#define MACKO_FORMAT(symbol, name, text) extern const macko_device_ops macko_##name##_device_ops __attribute__((weak));
#include "formats.def"
#undef MACKO_FORMAT

/* Gives the table of a format, which must be one of the list; NULL for a format without kernels. */
const macko_device_ops *macko_device_ops_of(macko_format format);

/* Makes a handle for the current GPU, described as *matrix is, with no device memory yet. *device is new and freed with
 * macko_device_destroy. Errors: UNSUPPORTED (a format without kernels), OUT_OF_MEMORY, DEVICE. */
macko_status macko_device_new(const macko_matrix *matrix, macko_device_matrix **device, macko_error *err);

/* Takes zeroed device memory for the sections that d->m lists, side by side in one allocation, and sets their data pointers.
 * Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_device_allocate(macko_device_matrix *d, cudaStream_t stream, macko_error *err);

/* Does what is left to do once kernels have written the sections: sets d->ops and calls prepare, with those sections copied to
 * the host that it reads. Errors: those of prepare; OUT_OF_MEMORY, DEVICE. */
macko_status macko_device_finish(macko_device_matrix *d, cudaStream_t stream, macko_error *err);

/* Takes device memory for the sections of matrix and copies them there. The copies may be under way when this returns. Errors:
 * OUT_OF_MEMORY, DEVICE. */
macko_status macko_upload(macko_device_matrix *d, const macko_matrix *matrix, cudaStream_t stream, macko_error *err);

/* Makes *transpose, which may be NULL, the transpose of *d in place of the one that it has, which is freed. *transpose is NULL
 * then: d owns it. */
void macko_put_transpose(macko_device_matrix *d, macko_device_matrix **transpose);

/* Sets d->m.pattern, the number of the pattern (lib/core/pattern.h). Decoding on the host is what that takes, so that it is
 * done only once somebody asks. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_know_pattern(macko_device_matrix *d, cudaStream_t stream, macko_error *err);

/* Checks that the current GPU is the one that holds the matrix. Errors: INVALID_ARGUMENT, DEVICE. */
macko_status macko_check_device(const macko_device_matrix *d, macko_error *err);

/* Makes the transpose on the host, compressed as matrix was asked to be, or as automatic choice likes it where that format
 * cannot hold it. *transpose is new and freed with macko_destroy. Errors: OUT_OF_MEMORY and those of macko_encode. */
macko_status macko_transpose(const macko_matrix *matrix, macko_matrix **transpose, macko_error *err);

/* This is what a GPU has: multiprocessors, bytes of shared memory that a block may have, bytes of the second-level cache. */
typedef struct {
  int multiprocessors, shared_bytes, cache_bytes;
} macko_gpu;

/* Sets *gpu. Errors: DEVICE. */
macko_status macko_ask_gpu(int device, macko_gpu *gpu, macko_error *err);

/* Tells libmacko how fast the current GPU is, by which plans are made. */
void macko_know_current_gpu(void);

/* Takes device memory, freed with cudaFree; `what` names its use in the sentence of a failure. Errors: OUT_OF_MEMORY (with the
 * bytes wanted and free), DEVICE. */
macko_status macko_device_alloc(int64_t bytes, const char *what, void **memory, macko_error *err);

/* Answers MACKO_OK for cudaSuccess, else MACKO_DEVICE with CUDA's words; `what` says in the sentence what was being done. */
macko_status macko_cuda_status(cudaError_t error, const char *what, macko_error *err);

/* Queues Y = beta Y for the k vectors of *p, of n elements each; beta = 0 does not read Y. Errors: DEVICE. */
macko_status macko_device_scale(const macko_product *p, int64_t n, cudaStream_t stream, macko_error *err);

/* Says whether kernels get other numbers with their arguments under plan b than under plan a. A captured graph keeps its
 * arguments, so that it must be captured again where they differ. */
static inline int macko_parameters_differ(const macko_plan *a, const macko_plan *b)
{
  for (int i = 0; i < MACKO_MAX_PARAMS; i++)
    if (a->params[i] != b->params[i]) return 1;
  return a->table != b->table;
}

/* Gives the device pointer of a section; NULL where the matrix has no section of that name. */
static inline void *macko_device_data(const macko_device_matrix *d, const char *name)
{
  const macko_section *s = macko_find_section(&d->m, name);
  return s ? s->data : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
