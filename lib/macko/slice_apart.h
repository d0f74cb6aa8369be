/* The sample by which a GPU's loads of x are foreseen where slices have rows sorted by length: rows that share columns then lie
 * apart, and ask for their sectors twice. It is the same in host and GPU memory. */
#ifndef MACKO_SLICE_APART_H
#define MACKO_SLICE_APART_H

#include "core/stretches.h"
#include "macko/layout_bits.h"

/* There are at most MACKO_APART_WINDOWS windows, spread over the matrix, and MACKO_APART_PARTS stretches in each. */
enum { MACKO_APART_WINDOWS = 32, MACKO_APART_PARTS = 4 };

/* Window i begins with row i * step. A stretch has at most `most` entries of each of `rows` rows, whole slices that follow each
 * other: about what their warps have on its way at once. */
typedef struct {
  int64_t windows, step, rows, most;
} macko_apart_sample;

/* Gives the sample of a matrix. */
static inline macko_apart_sample macko_apart_sample_of(int64_t nrows, int64_t nnz, macko_type value_type)
{
  const int64_t windows = (nrows + MACKO_SLICE_WINDOW - 1) / MACKO_SLICE_WINDOW;
  const int64_t every = (windows + MACKO_APART_WINDOWS - 1) / MACKO_APART_WINDOWS, slice = MACKO_SLICE_ROWS;
  macko_apart_sample s;
  s.step = (every ? every : 1) * MACKO_SLICE_WINDOW;
  s.windows = (nrows + s.step - 1) / s.step;
  s.rows = (macko_stretches_of(nrows, nnz, value_type).rows + slice - 1) / slice * slice;
  if (s.rows > MACKO_STRETCH) s.rows = MACKO_STRETCH;
  s.most = MACKO_STRETCH / s.rows;
  return s;
}

/* Sets *first and *past to the positions of stretch `part` in a window of so many rows, counted from the window's start. */
MACKO_INLINE void macko_apart_stretch(const macko_apart_sample *s, int64_t rows, int part, int64_t *first, int64_t *past)
{
  const int64_t slices = (rows + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  *first = part * slices / MACKO_APART_PARTS * MACKO_SLICE_ROWS;
  *past = *first + s->rows < rows ? *first + s->rows : rows;
}

/* This is `sorted_sectors` of the facts of a csr in host memory (macko_facts.h). */
double macko_host_sorted_sectors(void *findings);

/* Gives the nanoseconds that a GPU spares where slices, which leave its first-level caches to x, find it there and other formats do
 * not; 0 for a CPU, and for values of 16 bits, whose x is half as large where it has their type. */
double macko_slice_spared(const macko_facts *f, const macko_options *options);

#endif
