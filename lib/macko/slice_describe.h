/* Between planning and encoding of layout slice: one slice of a csr. */
#ifndef MACKO_SLICE_DESCRIBE_H
#define MACKO_SLICE_DESCRIBE_H

#include "macko/slice.h"
#include "macko/slice_blocks.h"

typedef struct {
  int64_t begin[MACKO_SLICE_ROWS], length[MACKO_SLICE_ROWS], shortest;
  macko_slice s; /* everything but the two starts */
  int lanes, longest;
  macko_stencil_step stencil[MACKO_STENCIL_MAX_STEPS];
} macko_csr_slice;

/* Positions of the window of rows from start on, sorted by falling row length; rows of equal length stay in order. */
void macko_sort_window(const macko_csr *a, int64_t start, uint16_t *order);

/* The rows of a slice: all of *c but how its columns are written. 1 if it is a stencil, and *c complete. order is that of the
 * slice's window, NULL for rows in their own order; kinds: those of macko_facts.h that slices may be. */
int macko_find_slice(const macko_csr *a, const uint16_t *order, int kinds, int64_t slice, macko_csr_slice *c);

/* How the columns of one that is none are best written. */
void macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c);

/* Blocks one after the other, hashed under a key; free(words) gives them back. */
typedef struct {
  uint32_t *words;
  int64_t used, room;
  macko_hash_key key;
} macko_block_buffer;

/* What tells a block from others. */
typedef struct {
  uint64_t hash;
  uint32_t words, align;
} macko_block_key;

/* The slice's block behind the `used` words of the buffer, which stay as they are. Errors: OUT_OF_MEMORY. */
macko_status macko_fill_buffer(const macko_csr *a, const macko_csr_slice *c, macko_block_buffer *buffer, macko_block_key *key,
                               macko_error *err);

/* A block that is known behind them. Errors: OUT_OF_MEMORY. */
macko_status macko_copy_to_buffer(const uint32_t *words, int64_t count, macko_block_buffer *buffer, macko_error *err);

/* First column of a lane that has one, less the lane's number. */
static inline int64_t macko_base_distance(const macko_csr *a, const macko_csr_slice *c, int lane)
{
  return macko_csr_col(a, c->begin[lane]) - lane;
}

#endif
