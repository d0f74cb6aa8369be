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

/* Kernels load whole chunks: so many bytes beyond the end of every section may be read. */
enum { MACKO_SECTION_PAD = 2048, MACKO_SECTION_ALIGN = 256 };

struct macko_device_ops;
struct macko_encoder; /* encoder.h */

struct macko_device_matrix {
  const struct macko_device_ops *ops;
  macko_matrix m; /* the host's description; data of its sections are device pointers */
  int device;
  char *memory; /* all sections, one allocation */
  int64_t bytes;
  void *own; /* the format's */
  int64_t own_bytes;
  struct macko_device_matrix *transpose;
};

/* What prepare looks at in a matrix that was encoded on the device: section "row_ptr", or all that tell of the pattern. */
typedef enum { MACKO_READS_NOTHING, MACKO_READS_ROW_STARTS, MACKO_READS_PATTERN } macko_reads;

typedef struct macko_device_ops {
  /* Once after upload, and again after every refresh; host is the matrix that was uploaded, or, of one that was encoded on the
   * device, what reads asks for. */
  macko_status (*prepare)(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err);
  /* p->op is N: a transpose is a matrix of its own. Arguments checked: k >= 1, alpha != 0, A not empty. */
  macko_status (*multiply)(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err);
  void (*destroy)(macko_device_matrix *d);
  /* The entries (i, i), as macko_device_diagonal. NULL: products are all that it has kernels for. */
  macko_status (*diagonal)(const macko_device_matrix *d, double *diagonal, cudaStream_t stream, macko_error *err);

  /* ---- encoding on the device: NULL from here on where the host does it ---- */

  /* Whether the host must encode a matrix of so many entries (-1: not yet known) by these options, which may name another format
   * or none. NULL: never. */
  int (*on_host)(const macko_options *options, int64_t nnz);
  /* macko_format_ops.facts, of an encoder as context. NULL: plan asks about values only. */
  const void *facts;
  /* *device by m, a plan without sections. */
  macko_status (*encode)(struct macko_encoder *e, const macko_matrix *m, macko_device_matrix **device, macko_error *err);
  /* The same where the format was asked for, planned in one go; but for DEVICE the host may do what fails. NULL: planned first. */
  macko_status (*plan_and_encode)(struct macko_encoder *e, const macko_options *options, macko_device_matrix **device,
                                  macko_error *err);
  /* New values for the same pattern, of which the caller has the proof; *moved as macko_device_refresh. Sets *done unless the host
   * must do it, also to say what is wrong. */
  macko_status (*refresh)(struct macko_encoder *e, macko_device_matrix *d, int *moved, int *done, macko_error *err);
  /* Frees what the format keeps in e->own. NULL: nothing. */
  void (*close)(struct macko_encoder *e);

  /* ---- for macko_encode_sections and macko_refresh_sections (encoder.h), which make the sections that a plan asks for ---- */

  macko_status (*write_pattern)(struct macko_encoder *e, macko_device_matrix *d, macko_error *err);
  macko_status (*write_values)(struct macko_encoder *e, macko_device_matrix *d, macko_error *err);
  /* Of the pattern what says where values start, for elements of another size. NULL: nothing does. */
  macko_status (*move_values)(struct macko_encoder *e, macko_device_matrix *d, macko_error *err);
  /* What prepare reads; asked again with what has been read so far until that is enough. */
  macko_reads (*reads)(const macko_matrix *m);
} macko_device_ops;

/* Weak: a format without kernels has no table. */
#define MACKO_FORMAT(symbol, name, text) extern const macko_device_ops macko_##name##_device_ops __attribute__((weak));
#include "formats.def"
#undef MACKO_FORMAT

/* NULL for a format without kernels. */
const macko_device_ops *macko_device_ops_of(macko_format format);

/* A handle described as *matrix is, without memory. Errors: UNSUPPORTED, OUT_OF_MEMORY, DEVICE. */
macko_status macko_device_new(const macko_matrix *matrix, macko_device_matrix **device, macko_error *err);

/* Zeroed memory for the sections of d->m, whose data it sets. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_device_allocate(macko_device_matrix *d, cudaStream_t stream, macko_error *err);

/* What comes after the sections are written on the device: prepare. Errors: those of prepare; OUT_OF_MEMORY, DEVICE. */
macko_status macko_device_finish(macko_device_matrix *d, cudaStream_t stream, macko_error *err);

/* Copies the sections of matrix to d. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_upload(macko_device_matrix *d, const macko_matrix *matrix, cudaStream_t stream, macko_error *err);

/* *transpose, which may be NULL and then is, takes the place of the one that *d has. */
void macko_put_transpose(macko_device_matrix *d, macko_device_matrix **transpose);

/* Gives *d the number of its pattern, which it has only once somebody asked. Errors: OUT_OF_MEMORY, DEVICE. */
macko_status macko_know_pattern(macko_device_matrix *d, cudaStream_t stream, macko_error *err);

/* The current GPU must be that of the matrix. Errors: INVALID_ARGUMENT, DEVICE. */
macko_status macko_check_device(const macko_device_matrix *d, macko_error *err);

/* The transpose, compressed as matrix was asked to be. Errors: OUT_OF_MEMORY and what encode answers. */
macko_status macko_transpose(const macko_matrix *matrix, macko_matrix **transpose, macko_error *err);

/* Device memory for what; OUT_OF_MEMORY with the bytes wanted and free. */
macko_status macko_device_alloc(int64_t bytes, const char *what, void **memory, macko_error *err);

/* MACKO_OK for cudaSuccess, else MACKO_DEVICE with CUDA's words for what. */
macko_status macko_cuda_status(cudaError_t error, const char *what, macko_error *err);

/* Y = beta Y for k vectors of n elements; beta = 0 does not read Y. */
macko_status macko_device_scale(const macko_product *p, int64_t n, cudaStream_t stream, macko_error *err);

/* Whether kernels get other numbers with their arguments, which a captured graph keeps. */
static inline int macko_parameters_differ(const macko_plan *a, const macko_plan *b)
{
  for (int i = 0; i < MACKO_MAX_PARAMS; i++)
    if (a->params[i] != b->params[i]) return 1;
  return a->table != b->table;
}

/* Data of a section that may be absent. */
static inline void *macko_device_data(const macko_device_matrix *d, const char *name)
{
  const macko_section *s = macko_find_section(&d->m, name);
  return s ? s->data : NULL;
}

#ifdef __cplusplus
}
#endif
#endif
