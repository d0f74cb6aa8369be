/* Blocks of rows whose columns are nearly the same, as where some unknowns of a node are not coupled: `aligned` rows from a
 * multiple of that number on, their columns in runs of as many, with masks for the entries that are there. */
#include "core/compare_csr.h"
#include "eccsr/eccsr.h"

#include <stdlib.h>

/* Room for so many runs more, of at most MACKO_ECCSR_MAX_RUN columns. */
static macko_status reserve(macko_eccsr_window *w, int64_t more, macko_error *err)
{
  int64_t room = w->used + more;
  if (room <= w->room) return MACKO_OK;
  if (room < 2 * w->room) room = 2 * w->room;
  int32_t *starts = realloc(w->starts, (size_t)room * sizeof *starts);
  if (starts) w->starts = starts;
  uint16_t *bits = realloc(w->bits, (size_t)room * MACKO_ECCSR_MAX_RUN * sizeof *bits);
  if (bits) w->bits = bits;
  if (!starts || !bits) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld runs of a window", (long long)room);
  w->room = room;
  return MACKO_OK;
}

/* The next run of the rows, whose entries from next[r] on are left; they go behind it. 0 where none are left. */
static int merge_run(const macko_csr *a, int64_t *next, const int64_t *past, int rows, int width, int32_t *start, uint16_t *bits)
{
  int64_t least = INT64_MAX;
  for (int r = 0; r < rows; r++)
    if (next[r] < past[r] && macko_csr_col(a, next[r]) < least) least = macko_csr_col(a, next[r]);
  if (least == INT64_MAX) return 0;
  *start = (int32_t)(least / width * width);
  for (int j = 0; j < width; j++) bits[j] = 0;
  for (int r = 0; r < rows; r++)
    for (int64_t j; next[r] < past[r] && (j = macko_csr_col(a, next[r]) - *start) < width; next[r]++) bits[j] |= (uint16_t)(1 << r);
  return 1;
}

/* Rows whose columns are the same whole runs, which need no masks. */
static int is_whole(const macko_csr *a, int64_t row, int rows, int width)
{
  int64_t p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p;
  if (!macko_eccsr_is_cut(a, p, n, width) || macko_eccsr_equal_rows(a, row, row + rows) < rows) return 0;
  return n == 0 || macko_csr_col(a, p) % width == 0;
}

macko_status macko_eccsr_add_aligned(const macko_csr *a, int64_t row, int first, int rows, int width, macko_eccsr_window *w,
                                     macko_error *err)
{
  int64_t next[MACKO_ECCSR_MAX_RUN], past[MACKO_ECCSR_MAX_RUN], most = macko_csr_row(a, row + rows) - macko_csr_row(a, row);
  macko_eccsr_block b = {.first = first, .g = (uint8_t)rows, .w = (uint8_t)width, .masked = 1};
  if (is_whole(a, row, rows, width)) {
    int64_t p = macko_csr_row(a, row);
    b.masked = 0, b.at = p, b.runs = (uint32_t)((macko_csr_row(a, row + 1) - p) / width);
    w->blocks[w->nblocks++] = b;
    return MACKO_OK;
  }
  macko_status s = reserve(w, most, err);
  if (s) return s;
  for (int r = 0; r < rows; r++) next[r] = macko_csr_row(a, row + r), past[r] = macko_csr_row(a, row + r + 1);
  b.at = w->used;
  while (merge_run(a, next, past, rows, width, w->starts + w->used, w->bits + w->used * width)) w->used++;
  b.runs = (uint32_t)(w->used - b.at);
  w->blocks[w->nblocks++] = b;
  return MACKO_OK;
}
