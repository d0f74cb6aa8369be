/* Between planning and encoding of layout slice: one slice of a csr. */
#ifndef MACKO_SLICE_DESCRIBE_H
#define MACKO_SLICE_DESCRIBE_H

#include "macko/slice.h"
#include "macko/slice_blocks.h"

/* This is a slice of a csr with its rows, and how its columns are best written. */
typedef struct {
  /* These are the first entry of each lane's row, its length (0 for lanes without a row), and the least of the lengths. */
  int64_t begin[MACKO_SLICE_ROWS], length[MACKO_SLICE_ROWS], shortest;
  macko_slice s; /* the header, everything but where its values and its block start */
  int lanes, longest; /* how many lanes hold a row; a lane that holds the longest */
  union { /* s.steps of them, if it is a stencil or masked */
    macko_stencil_step stencil[MACKO_STENCIL_MAX_STEPS];
    macko_masked_step masked[MACKO_MASKED_MAX_STEPS];
  };
} macko_csr_slice;

/* Sets order to the rows of the window that begins with row `start`, counted from there, sorted by falling length; rows of equal
 * length stay in order. The window is MACKO_SLICE_WINDOW rows, or as many as are left. */
void macko_sort_window(const macko_csr *a, int64_t start, uint16_t *order);

/* Finds the rows of a slice: sets all of *c but how its columns are written. order is that of the slice's window, NULL for rows in
 * their own order. */
void macko_find_slice(const macko_csr *a, const uint16_t *order, int64_t slice, macko_csr_slice *c);

/* Prefetches columns and values of a slice further on, which may be none of the matrix: where slices are stencils all of both are
 * read, in stretches too short for the hardware to be far ahead. */
void macko_fetch_slice(const macko_csr *a, int64_t slice);

/* Gives 1 if the slice, whose rows have been found in their own order, is a stencil; *c is then complete. It comes before
 * macko_describe_slice, which is wasted on stencils. */
int macko_try_stencil(const macko_csr *a, int64_t slice, macko_csr_slice *c);

/* Sets c->s for a slice that is no stencil: how its columns are best written. All of its rows have been found. */
void macko_describe_slice(const macko_csr *a, int kinds, macko_csr_slice *c);

/* This holds blocks one after the other: `used` words of `room` are taken. Blocks are hashed under the key. free(words) gives the
 * memory back. */
typedef struct {
  uint32_t *words;
  int64_t used, room;
  macko_hash_key key;
} macko_block_buffer;

/* This is what tells a block from others: the hash of its words, how many there are, and what its start must be a multiple of. */
typedef struct {
  uint64_t hash;
  uint32_t words, align;
} macko_block_key;

/* Writes the slice's block behind the `used` words of the buffer and sets *key. The caller adds its words to `used`, if the block
 * is to stay. Errors: OUT_OF_MEMORY. */
macko_status macko_fill_buffer(const macko_csr *a, const macko_csr_slice *c, macko_block_buffer *buffer, macko_block_key *key,
                               macko_error *err);

/* Writes a block that is known behind them, in the same way. Errors: OUT_OF_MEMORY. */
macko_status macko_copy_to_buffer(const uint32_t *words, int64_t count, macko_block_buffer *buffer, macko_error *err);

/* Writes the block of *s, which is known, behind them and sets *key, as macko_fill_buffer does. Errors: OUT_OF_MEMORY. */
macko_status macko_refill_buffer(const macko_slice *s, const uint32_t *block, macko_block_buffer *buffer, macko_block_key *key,
                                 macko_error *err);

/* Gives the first column of a lane that has one, less the lane's number: equal for lanes whose first columns are consecutive, so
 * that they need no offsets. */
static inline int64_t macko_base_distance(const macko_csr *a, const macko_csr_slice *c, int lane)
{
  return macko_csr_col(a, c->begin[lane]) - lane;
}

#endif
