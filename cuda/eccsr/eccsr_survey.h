/* Blocks and slices of format eccsr found in a csr in device memory, window by window, by the rules of the host's
 * (lib/eccsr/eccsr_rules.h); and what kernels write of them. */
#ifndef MACKO_ECCSR_SURVEY_H
#define MACKO_ECCSR_SURVEY_H

#include "core/encode.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "eccsr/eccsr_params.h"
#include "eccsr/eccsr_rules.h"

/* No window has more slices: a slice holds 28 rows and more, but for the last of each of the 128 kinds of blocks. */
enum { MACKO_ECCSR_WINDOW_SLICES = 256 };

/* This is a slice of a window, as measured. */
typedef struct {
  uint64_t slot, word; /* entries, and words of masks and gaps, of the slices of the window before it */
  uint32_t steps;            /* runs of its longest block */
  uint16_t block;            /* number of its first block, counted in the window */
  uint8_t gap_bits, in_runs; /* bits of a gap; 1: gaps count in runs, not in columns */
} macko_eccsr_found_slice;

/* This is what a window comes to: its slices and blocks, and what these add to the counts and the work of a matrix. */
typedef struct {
  unsigned long long slices, blocks, words, longest, masked, widths;
  unsigned long long masked_entries, runs, lanes, reads, idle;
} macko_eccsr_found_window;

/* This says where a window's own begins. */
typedef struct {
  int64_t slices, blocks, words;
} macko_eccsr_place;

/* These are the windows of a csr put into blocks by a shape; device pointers. */
typedef struct {
  macko_eccsr_shape shape;
  int64_t windows;         /* how many there are */
  const uint8_t *same;     /* a byte for each row of the csr: it has the columns of the row before, in the same window */
  uint8_t *heights;        /* a byte a row: rows of the block that begins there, 0 where none does */
  unsigned long long *keys; /* of those blocks (macko_eccsr_key), in the order of slices once sorted; ~0 where there is none */
  macko_eccsr_found_slice *slices; /* MACKO_ECCSR_WINDOW_SLICES of each window */
  macko_eccsr_found_window *found;
} macko_eccsr_windows;

/* Sets same[i] for the rows of all windows, or of those of the sample, to whether row i has the columns of row i - 1; the first
 * row of a window never has. */
cudaError_t macko_eccsr_compare_rows(const macko_device_csr *a, int sampled, uint8_t *same, cudaStream_t stream);
/* Adds what the windows of the sample come to to *counts, in device memory and zeroed before; same is known for them. */
cudaError_t macko_eccsr_sample_rows(const macko_device_csr *a, const uint8_t *same, macko_eccsr_sampled *counts,
                                    cudaStream_t stream);

/* Adds what groups of aligned rows come to in these windows to *counts, in device memory and zeroed before. */
cudaError_t macko_eccsr_count_groups(const macko_device_csr *a, macko_eccsr_groups *counts, cudaStream_t stream);

/* Puts the rows of the windows into blocks and slices: fills heights, keys, slices and found of *w, whose other fields say
 * how. */
cudaError_t macko_eccsr_find_slices(const macko_device_csr *a, const macko_eccsr_windows *w, cudaStream_t stream);

/* Writes the sections of the pattern of *d, zeroed before. *w has all windows of the csr, and places, in device memory, one for
 * each. */
cudaError_t macko_eccsr_write_slices(const macko_device_csr *a, const macko_eccsr_windows *w, const macko_eccsr_place *places,
                                     const macko_device_matrix *d, cudaStream_t stream);

/* These do for the slots of slices what macko_rank_values and macko_write_stream do for entries in their order. */
cudaError_t macko_eccsr_rank_slots(const macko_device_csr *a, const macko_device_matrix *d, const macko_device_dictionary *set,
                                   cudaStream_t stream);
cudaError_t macko_eccsr_write_slots(const macko_device_csr *a, const macko_device_matrix *d, const macko_device_dictionary *set,
                                    cudaStream_t stream);

/* These are slots of the table of functions (core/device.h), which is in eccsr_encode.c. */
macko_status macko_eccsr_device_prepare(macko_device_matrix *d, const macko_matrix *host, cudaStream_t stream, macko_error *err);
macko_status macko_eccsr_device_multiply(const macko_device_matrix *d, const macko_product *p, cudaStream_t stream,
                                         macko_error *err);
void macko_eccsr_device_destroy(macko_device_matrix *d);

#ifdef __cplusplus
}
#endif
#endif
