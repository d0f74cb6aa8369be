/* Blocks of rows whose columns are nearly the same, as where some unknowns of a node are not coupled: `aligned` rows from a
 * multiple of that number on, their columns in runs of as many, with masks for the entries that are there. */
#include "core/compare_csr.h"
#include "eccsr/eccsr.h"

#include <stdlib.h>

/* Makes room for so many runs more with masks. Bits have room for the widest runs, whatever the width, so that one array does for
 * all shapes that are tried. */
static macko_status reserve(macko_eccsr_window *w, int64_t more, macko_error *err)
{
  macko_status s = macko_eccsr_reserve_gaps(w, more, err);
  if (s || w->bits_room >= w->used + more) return s;
  uint16_t *bits = realloc(w->bits, (size_t)w->room * MACKO_ECCSR_MAX_RUN * sizeof *bits);
  if (!bits) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for masks of %lld runs", (long long)w->room);
  w->bits = bits, w->bits_room = w->room;
  return MACKO_OK;
}

/* Finds the next run of the rows, whose entries from next[r] on are left, and moves next[r] behind it. *start becomes its first
 * column, a multiple of its width; bit r of bits[j] says that row r has column *start + j. Returns 0 where no entries are
 * left. */
static int merge_run(const macko_csr *a, int64_t *next, const int64_t *past, int rows, int width, int64_t *start, uint16_t *bits)
{
  int64_t least = INT64_MAX;
  for (int r = 0; r < rows; r++)
    if (next[r] < past[r] && macko_csr_col(a, next[r]) < least) least = macko_csr_col(a, next[r]);
  if (least == INT64_MAX) return 0;
  *start = least / width * width;
  for (int j = 0; j < width; j++) bits[j] = 0;
  for (int r = 0; r < rows; r++)
    for (int64_t j; next[r] < past[r] && (j = macko_csr_col(a, next[r]) - *start) < width; next[r]++) bits[j] |= (uint16_t)(1 << r);
  return 1;
}

/* Adds the block without masks and returns 1 where all rows have the same columns and these can be cut into runs of that width,
 * the first of which begins at a multiple of it: masks would only say that all lanes have entries. */
static int add_whole(const macko_csr *a, int64_t row, int width, macko_eccsr_block *b, macko_eccsr_window *w)
{
  const int64_t p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p;
  if (n > 0 && macko_csr_col(a, p) % width) return 0;
  return macko_eccsr_equal_rows(a, NULL, row, row + b->g) == b->g && macko_eccsr_add_runs(a, row, width, b, w);
}

/* Adds the block with masks. Its runs begin at multiples of their width, and so its gaps are multiples of it, too. The first run
 * begins where the base says and has gap 0. */
static void merge_rows(const macko_csr *a, int64_t row, macko_eccsr_block *b, macko_eccsr_window *w)
{
  int64_t next[MACKO_ECCSR_MAX_RUN], past[MACKO_ECCSR_MAX_RUN], start, end = 0;
  for (int r = 0; r < b->g; r++) next[r] = macko_csr_row(a, row + r), past[r] = macko_csr_row(a, row + r + 1);
  b->at = w->used, b->base = 0, b->most = 0;
  for (; merge_run(a, next, past, b->g, b->w, &start, w->bits + w->used * b->w); end = start + b->w) {
    if (w->used == b->at) b->base = (int32_t)start, end = start;
    const uint32_t gap = (uint32_t)(start - end) / b->w;
    if (gap > b->most) b->most = gap;
    w->gaps[w->used++] = gap;
  }
  b->runs = (uint32_t)(w->used - b->at), w->masks += (int64_t)b->runs * b->w;
  w->blocks[w->nblocks++] = *b;
}

int64_t macko_eccsr_count_merged(const macko_csr *a, int64_t row, int rows, int width)
{
  int64_t next[MACKO_ECCSR_MAX_RUN], past[MACKO_ECCSR_MAX_RUN], start, runs = 0;
  uint16_t bits[MACKO_ECCSR_MAX_RUN];
  for (int r = 0; r < rows; r++) next[r] = macko_csr_row(a, row + r), past[r] = macko_csr_row(a, row + r + 1);
  while (merge_run(a, next, past, rows, width, &start, bits)) runs++;
  return runs;
}

/* There are at most as many runs as entries, which is what room is made for. */
macko_status macko_eccsr_add_aligned(const macko_csr *a, int64_t row, int first, int rows, int width, macko_eccsr_window *w,
                                     macko_error *err)
{
  macko_eccsr_block b = {.first = first, .g = (uint8_t)rows, .w = (uint8_t)width, .unit = (uint8_t)width};
  macko_status s = reserve(w, macko_csr_row(a, row + rows) - macko_csr_row(a, row), err);
  if (s || add_whole(a, row, width, &b, w)) return s;
  b.w = b.unit = (uint8_t)width, b.masked = 1;
  merge_rows(a, row, &b, w);
  return MACKO_OK;
}
