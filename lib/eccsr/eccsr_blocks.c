/* Rows of a window put into blocks, their columns cut into runs, blocks put in the order of slices: what the paper's block
 * extraction (arXiv 2507.12205, section 4) comes to where rows that share columns lie together, as on meshes with several unknowns
 * a node. */
#include "core/compare_csr.h"
#include "eccsr/eccsr.h"

#include <stdlib.h>
#include <string.h>

macko_status macko_eccsr_new_window(macko_eccsr_window **w, macko_error *err)
{
  *w = calloc(1, sizeof **w);
  return *w ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a window of %d rows", MACKO_ECCSR_WINDOW);
}

void macko_eccsr_free_window(macko_eccsr_window *w)
{
  if (w) free(w->starts), free(w->bits);
  free(w);
}

/* ---- runs ---- */

int macko_eccsr_is_cut(const macko_csr *a, int64_t p, int64_t n, int w)
{
  int64_t apart = n % w;
  for (int64_t end = p + n - w; !apart && p <= end; p += w) apart |= macko_csr_col(a, p + w - 1) - macko_csr_col(a, p) - (w - 1);
  return apart == 0;
}

int macko_eccsr_widest_run(const macko_csr *a, int64_t p, int64_t n)
{
  for (int w = MACKO_ECCSR_MAX_RUN; w > 1; w--)
    if (macko_eccsr_is_cut(a, p, n, w)) return w;
  return 1;
}

/* ---- rows of equal columns ---- */

static int equal_columns(const macko_csr *a, int64_t row, int64_t other)
{
  int64_t p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p, q = macko_csr_row(a, other);
  return macko_csr_row(a, other + 1) - q == n && (n == 0 || !macko_or_differences(a, p, q, n, 0));
}

int macko_eccsr_equal_rows(const macko_csr *a, int64_t row, int64_t past)
{
  int64_t end = row + 1;
  while (end < past && equal_columns(a, end - 1, end)) end++;
  return (int)(end - row);
}

static void add_block(const macko_csr *a, const macko_eccsr_shape *shape, int64_t row, int first, int g, macko_eccsr_window *w)
{
  int64_t p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p;
  int width = macko_eccsr_is_cut(a, p, n, (int)shape->run) ? (int)shape->run : macko_eccsr_is_cut(a, p, n, g) ? g : 1;
  macko_eccsr_block b = {.first = first, .runs = (uint32_t)(n / width), .g = (uint8_t)g, .w = (uint8_t)width, .at = p};
  w->blocks[w->nblocks++] = b;
}

/* So many rows of equal columns from place `first` on, in blocks of the usual size or else of nearly the same. */
static void add_equal_rows(const macko_csr *a, const macko_eccsr_shape *shape, int64_t row, int first, int count,
                           macko_eccsr_window *w)
{
  for (int pieces = macko_eccsr_pieces(count, (int)shape->rows); pieces > 0; pieces--) {
    int g = (count + pieces - 1) / pieces;
    add_block(a, shape, row, first, g, w);
    row += g, first += g, count -= g;
  }
}

/* ---- order ---- */

/* Merges runs of rising keys until there is one; the keys are all different. */
static void sort_keys(uint64_t *keys, uint64_t *room, int n)
{
  uint64_t *from = keys, *to = room;
  for (int size = 1; size < n; size *= 2) {
    for (int start = 0; start < n; start += 2 * size) {
      int i = start, middle = start + size < n ? start + size : n, j = middle, end = middle + size < n ? middle + size : n;
      for (int k = start; k < end; k++) to[k] = j >= end || (i < middle && from[i] < from[j]) ? from[i++] : from[j++];
    }
    uint64_t *swap = from;
    from = to, to = swap;
  }
  if (from != keys) memcpy(keys, from, (size_t)n * sizeof *keys);
}

/* Blocks of one kind together, the longest first, else as rows are. */
static void order_blocks(macko_eccsr_window *w)
{
  uint64_t before = 0, rising = 1;
  for (int i = 0; i < w->nblocks; i++) {
    const macko_eccsr_block *b = &w->blocks[i];
    w->order[i] = macko_eccsr_key(b->masked, b->g, b->w, b->runs, i);
    rising &= before <= w->order[i];
    before = w->order[i];
  }
  if (!rising) sort_keys(w->order, w->order + MACKO_ECCSR_WINDOW, w->nblocks);
  for (int i = 0; i < w->nblocks; i++) w->order[i] &= MACKO_ECCSR_KEY_PLACE;
}

macko_status macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                     macko_error *err)
{
  int64_t past = a->nrows - first < MACKO_ECCSR_WINDOW ? a->nrows : first + MACKO_ECCSR_WINDOW;
  int aligned = (int)shape->aligned;
  macko_status s = MACKO_OK;
  w->nblocks = 0, w->used = 0;
  for (int64_t row = first; row < past; row++) w->rows[row - first] = (int32_t)row;
  for (int64_t row = first; row < past && !s;) {
    int count = aligned ? aligned < past - row ? aligned : (int)(past - row) : macko_eccsr_equal_rows(a, row, past);
    if (aligned) s = macko_eccsr_add_aligned(a, row, (int)(row - first), count, aligned, w, err);
    else add_equal_rows(a, shape, row, (int)(row - first), count, w);
    row += count;
  }
  if (!s) order_blocks(w);
  return s;
}
