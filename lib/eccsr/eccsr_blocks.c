/* Rows of a window put into blocks, their columns cut into runs, blocks put in the order of slices: what the paper's block
 * extraction (arXiv 2507.12205, section 4) comes to where rows that share columns lie together, as on meshes with several unknowns
 * a node. */
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
  if (w) free(w->gaps), free(w->bits);
  free(w);
}

/* ---- runs ---- */

/* Gives the greatest common divisor of two numbers, of which the second may be 0. */
static int64_t common_divisor(int64_t a, int64_t b)
{
  while (b) {
    const int64_t rest = a % b;
    a = b, b = rest;
  }
  return a;
}

/* Gives what the lengths of all runs have in common: one pass, which ends at the first run of one column, as most matrices have at
 * once. Most runs are as long as those before them. */
static inline __attribute__((always_inline)) int64_t common_length(const macko_csr *a, int type, int64_t p, int64_t n)
{
  int64_t common = 0, length = 1;
  for (int64_t k = 1; k <= n; k++, length++) {
    if (k < n && macko_index(type, a->cols, p + k) - macko_index(type, a->cols, p + k - 1) == 1) continue;
    if (length != common) common = common_divisor(length, common);
    if (common == 1) return 1;
    length = 0;
  }
  return common;
}

/* The width divides the lengths of all runs. */
int macko_eccsr_widest_run(const macko_csr *a, int64_t p, int64_t n)
{
  const int64_t common = a->col_type == MACKO_I32 ? common_length(a, MACKO_I32, p, n) : common_length(a, MACKO_I64, p, n);
  int w = MACKO_ECCSR_MAX_RUN;
  while (common % w) w--;
  return w;
}

/* The room at least doubles, so that a window is seldom copied. */
macko_status macko_eccsr_reserve_gaps(macko_eccsr_window *w, int64_t more, macko_error *err)
{
  int64_t room = w->used + more;
  if (room <= w->room) return MACKO_OK;
  if (room < 2 * w->room) room = 2 * w->room;
  uint32_t *gaps = realloc(w->gaps, (size_t)room * sizeof *gaps);
  if (!gaps) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld runs of a window", (long long)room);
  w->gaps = gaps, w->room = room;
  return MACKO_OK;
}

/* What find_gaps has found: whether columns are such runs, the longest gap, and 0 only if all gaps are multiples of the unit. */
typedef struct {
  int are_runs;
  uint32_t most, uneven;
} run_gaps;

/* Finds the gaps between the runs of w columns from the end of one to the beginning of the next, counted in units of so many
 * columns. */
static inline __attribute__((always_inline)) run_gaps find_gaps(const macko_csr *a, int type, int64_t p, int64_t n, uint32_t w,
                                                                uint32_t unit, uint32_t *gaps)
{
  int64_t end = macko_index(type, a->cols, p);
  run_gaps found = {0, 0, 0};
  for (int64_t k = 0, past = p + n; p < past; k++, p += w) {
    const int64_t start = macko_index(type, a->cols, p);
    const uint32_t gap = (uint32_t)(start - end), units = gap / unit;
    if (macko_index(type, a->cols, p + w - 1) - start != w - 1) return found;
    found.uneven |= gap - units * unit;
    if (units > found.most) found.most = units;
    gaps[k] = units;
    end = start + w;
  }
  found.are_runs = 1;
  return found;
}

/* Counts gaps in runs, or, where any is no multiple of runs, all of them in columns. */
static inline __attribute__((always_inline)) int find_runs(const macko_csr *a, int type, int64_t p, int64_t n, uint32_t w,
                                                           uint32_t *gaps, macko_eccsr_block *b)
{
  run_gaps found = find_gaps(a, type, p, n, w, w, gaps);
  if (!found.are_runs) return 0;
  b->unit = (uint8_t)(found.uneven ? 1 : w);
  if (found.uneven) found = find_gaps(a, type, p, n, w, 1, gaps);
  b->most = found.most;
  return 1;
}

/* Calls the same with the width as a constant, as divisions by anything else take most of the time. Runs of 7 and 8 columns, and
 * all with 64-bit columns, go without. */
static int find_runs_of(const macko_csr *a, int64_t p, int64_t n, int w, uint32_t *gaps, macko_eccsr_block *b)
{
  if (a->col_type == MACKO_I64) return find_runs(a, MACKO_I64, p, n, (uint32_t)w, gaps, b);
  switch (w) {
  case 1: return find_runs(a, MACKO_I32, p, n, 1, gaps, b);
  case 2: return find_runs(a, MACKO_I32, p, n, 2, gaps, b);
  case 3: return find_runs(a, MACKO_I32, p, n, 3, gaps, b);
  case 4: return find_runs(a, MACKO_I32, p, n, 4, gaps, b);
  case 5: return find_runs(a, MACKO_I32, p, n, 5, gaps, b);
  case 6: return find_runs(a, MACKO_I32, p, n, 6, gaps, b);
  default: return find_runs(a, MACKO_I32, p, n, (uint32_t)w, gaps, b);
  }
}

/* A row without entries is a block of no runs, whatever the width. */
int macko_eccsr_add_runs(const macko_csr *a, int64_t row, int width, macko_eccsr_block *b, macko_eccsr_window *w)
{
  const int64_t p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p;
  b->w = b->unit = (uint8_t)width, b->runs = (uint32_t)(n / width), b->at = w->used, b->base = 0, b->most = 0;
  if (n % width || (n && !find_runs_of(a, p, n, width, w->gaps + w->used, b))) return 0;
  if (n) b->base = (int32_t)macko_csr_col(a, p);
  w->used += b->runs;
  w->blocks[w->nblocks++] = *b;
  return 1;
}

/* ---- rows of equal columns ---- */

/* Tells whether two rows have the same columns, compared as bytes. */
static int equal_columns(const macko_csr *a, int64_t row, int64_t other)
{
  const int64_t size = macko_type_bytes(a->col_type), p = macko_csr_row(a, row), n = macko_csr_row(a, row + 1) - p;
  const int64_t q = macko_csr_row(a, other);
  if (macko_csr_row(a, other + 1) - q != n) return 0;
  return n == 0 || !memcmp((const char *)a->cols + p * size, (const char *)a->cols + q * size, (size_t)(n * size));
}

/* Returns the row at that place of the order; NULL stands for rows as they are. */
static int64_t row_at(const int32_t *order, int64_t place)
{
  return order ? order[place] : place;
}

/* Each row is compared with the one before it, whose columns are still in the cache. */
int macko_eccsr_equal_rows(const macko_csr *a, const int32_t *order, int64_t row, int64_t past)
{
  int64_t end = row + 1;
  while (end < past && equal_columns(a, row_at(order, end - 1), row_at(order, end))) end++;
  return (int)(end - row);
}

/* Adds a block of g rows with equal columns, in runs of the usual width, or of g, as meshes with g unknowns a node have them, or
 * of 1, which fits always. */
static macko_status add_block(const macko_csr *a, const macko_eccsr_shape *shape, int first, int g, macko_eccsr_window *w,
                              macko_error *err)
{
  const int64_t row = w->rows[first];
  macko_eccsr_block b = {.first = first, .g = (uint8_t)g};
  macko_status s = macko_eccsr_reserve_gaps(w, macko_csr_row(a, row + 1) - macko_csr_row(a, row), err);
  if (!s && !macko_eccsr_add_runs(a, row, (int)shape->run, &b, w) && !macko_eccsr_add_runs(a, row, g, &b, w))
    macko_eccsr_add_runs(a, row, 1, &b, w);
  return s;
}

/* Adds `count` rows of equal columns from place `first` on, in blocks of the usual size or else of nearly the same. */
static macko_status add_equal_rows(const macko_csr *a, const macko_eccsr_shape *shape, int first, int count, macko_eccsr_window *w,
                                   macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int pieces = macko_eccsr_pieces(count, (int)shape->rows); !s && pieces > 0; pieces--) {
    int g = (count + pieces - 1) / pieces;
    s = add_block(a, shape, first, g, w, err);
    first += g, count -= g;
  }
  return s;
}

/* ---- order ---- */

/* Sorts n keys, which come in the order of their places, by counting those of each value of a byte, the lowest byte first. Most
 * bytes are the same in all keys and passed over. room has as many elements as keys. */
static void sort_keys(uint64_t *keys, uint64_t *room, int n)
{
  enum { BYTE = 255 };
  uint64_t *from = keys, *to = room, differ = 0;
  for (int i = 1; i < n; i++) differ |= keys[i] ^ keys[0];
  for (int shift = MACKO_ECCSR_PLACE_BITS; shift < 64; shift += 8) {
    int starts[BYTE + 2] = {0};
    if (!(differ >> shift & BYTE)) continue;
    for (int i = 0; i < n; i++) starts[(from[i] >> shift & BYTE) + 1]++;
    for (int byte = 0; byte < BYTE; byte++) starts[byte + 1] += starts[byte];
    for (int i = 0; i < n; i++) to[starts[from[i] >> shift & BYTE]++] = from[i];
    uint64_t *swap = from;
    from = to, to = swap;
  }
  if (from != keys) memcpy(keys, from, (size_t)n * sizeof *keys);
}

/* Puts blocks of one kind together, the longest first, else in the order of their rows. Sorting is left out where keys rise
 * already. */
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

/* Rows that follow each other make blocks by equal columns, or with `aligned` by their numbers. Rows that lie apart need nothing
 * here but their order. */
macko_status macko_eccsr_fill_window(const macko_csr *a, const macko_eccsr_shape *shape, int64_t first, macko_eccsr_window *w,
                                     macko_error *err)
{
  int64_t past = a->nrows - first < MACKO_ECCSR_WINDOW ? a->nrows : first + MACKO_ECCSR_WINDOW;
  int aligned = shape->aligned == MACKO_ECCSR_APART ? 0 : (int)shape->aligned;
  macko_status s = MACKO_OK;
  w->nblocks = 0, w->used = 0, w->masks = 0;
  for (int64_t row = first; row < past; row++) w->rows[row - first] = (int32_t)row_at(w->order_of_rows, row);
  for (int64_t row = first; row < past && !s;) {
    int count = aligned ? aligned < past - row ? aligned : (int)(past - row)
                        : macko_eccsr_equal_rows(a, w->order_of_rows, row, past);
    if (aligned) s = macko_eccsr_add_aligned(a, row, (int)(row - first), count, aligned, w, err);
    else s = add_equal_rows(a, shape, (int)(row - first), count, w, err);
    row += count;
  }
  if (!s) order_blocks(w);
  return s;
}
