/* Plain CSR cut into blocks of about as many entries each, one for a block of threads. */
#ifndef MACKO_CSR_BLOCKS_H
#define MACKO_CSR_BLOCKS_H

#include "core/device.h"
#include "core/encode.h"
#include "csr/csr_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block is entries begin .. begin + entries - 1: those of whole rows, or a piece of a row that is too long for one block. */
typedef struct {
  int64_t begin, row;      /* first entry and row */
  int16_t entries, rows;   /* rows 0: a piece */
  int16_t log_lanes;       /* 2^log_lanes lanes add up a row */
  int16_t unused;          /* makes a block 32 bytes, two loads */
  int32_t long_row, piece; /* number of the row among the long ones, and of the piece among all pieces */
} macko_csr_block;

/* A long row is what the sums of pieces first .. first + count - 1 add up to. */
typedef struct {
  int32_t first, count;
} macko_csr_long_row;

typedef struct {
  int items;                       /* entries that a thread multiplies: MACKO_CSR_FEW, SOME or MOST */
  int64_t nblocks, nlong, npieces; /* blocks, long rows, and pieces of all long rows together */
  void *memory;                    /* of the device, which holds both arrays; NULL where cutting failed */
  const macko_csr_block *blocks;
  const macko_csr_long_row *long_rows;
} macko_csr_cut;

/* Gives the bytes of device memory of both arrays. */
static inline int64_t macko_csr_cut_bytes(const macko_csr_cut *cut)
{
  return cut->nblocks * (int64_t)sizeof *cut->blocks + cut->nlong * (int64_t)sizeof *cut->long_rows;
}

/* Cuts a matrix of format csr with entries, whose section "row_ptr" is in device memory or on its way there in the stream, which
 * is waited for; the cut may be under way when this returns. The same rows are cut in the same way on any GPU. The caller frees
 * cut->memory with cudaFree, also after a failure. Errors: OUT_OF_MEMORY, DEVICE, LIMIT (more blocks than a launch has). */
macko_status macko_csr_cut_blocks(const macko_device_matrix *d, cudaStream_t stream, macko_csr_cut *cut, macko_error *err);

/* Adds the lengths of the rows that the host looks at to *lengths, in device memory and zeroed before. */
cudaError_t macko_csr_add_lengths(const macko_device_csr *a, macko_csr_lengths *lengths, cudaStream_t stream);

/* These are slots of the table of functions of format csr on the device (core/device.h). */
macko_status macko_csr_prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err);
macko_status macko_csr_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err);
void macko_csr_destroy(macko_device_matrix *d);

#ifdef __cplusplus
}
#endif
#endif
