/* Plain CSR cut into blocks of about as many entries each, one for a block of threads. */
#ifndef MACKO_CSR_BLOCKS_H
#define MACKO_CSR_BLOCKS_H

#include "core/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Loads start at multiples of ALIGN entries; from there on a block of THREADS threads spans at most ENTRIES, or a few times as many
 * of one row. */
enum { MACKO_CSR_ENTRIES = 1024, MACKO_CSR_ALIGN = 32, MACKO_CSR_THREADS = 128 };

/* Entries begin .. begin + entries - 1: those of whole rows, or a piece of a row that is too long for one block. */
typedef struct {
  int64_t begin, row;      /* first entry and row */
  int16_t entries, rows;   /* rows 0: a piece */
  int16_t log_lanes;       /* 2^log_lanes lanes add up a row */
  int16_t unused;
  int32_t long_row, piece; /* number of the row among the long ones, and of the piece among all pieces */
} macko_csr_block;

/* The sums of pieces first .. first + count - 1 add up to it. */
typedef struct {
  int32_t first, count;
} macko_csr_long_row;

typedef struct {
  int64_t nblocks, nlong, npieces;
  macko_csr_block *blocks;
  macko_csr_long_row *long_rows;
} macko_csr_cut;

/* Cuts a matrix of format csr on the host; free blocks and long_rows. Errors: OUT_OF_MEMORY, LIMIT. */
macko_status macko_csr_cut_blocks(const macko_matrix *host, macko_csr_cut *cut, macko_error *err);

/* What a matrix of format csr does on the device (core/device.h). */
macko_status macko_csr_prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err);
macko_status macko_csr_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream, macko_error *err);
void macko_csr_destroy(macko_device_matrix *d);

#ifdef __cplusplus
}
#endif
#endif
