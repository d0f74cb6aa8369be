/* Blocks extracted from a bundle of rows: in every round rows are paired by the columns that they share, pairs by those that all
 * four share, and so on (EC-SpMV, section 4); what sixteen rows share goes into blocks of sixteen, what is left of that and eight
 * share into blocks of eight, down to pairs. Blocks have whole granules, and are taken where that saves bytes. What no block has
 * taken after the last round is stored row by row. */
#include "eccsr/eccsr_paper.h"

enum { ROWS = MACKO_ECCSR_BUNDLE };

/* What all steps of an extraction need: the shape, the columns that are left, and where blocks go. */
typedef struct {
  const macko_eccsr_paper_shape *shape;
  macko_eccsr_bundle *b;
  macko_eccsr_paper_sink *sink;
} extraction;

/* Items of one level: rows, a bit each, that are put together; no row is in two of them. */
typedef struct {
  int count;
  uint16_t rows[ROWS];
} level;

/* Tells whether all of those rows have a column left, given which have it. */
static int is_in(uint16_t left, uint16_t rows)
{
  return (left & rows) == rows;
}

/* ---- what rows are put together ---- */

/* Counts the columns that every two items of a level share: shared[i][j] for i < j. */
static void count_shared(const macko_eccsr_bundle *b, const level *l, int64_t shared[ROWS][ROWS])
{
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < ROWS; j++) shared[i][j] = 0;
  for (int64_t k = 0; k < b->count; k++) {
    int there[ROWS], n = 0;
    for (int i = 0; i < l->count; i++) there[n] = i, n += is_in(b->left[k], l->rows[i]);
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) shared[there[i]][there[j]]++;
  }
}

/* Puts items together in twos for the next level. The choice is greedy: the two that share most columns come first, of equals the
 * first ones, as long as they share at least as many as a granule has slots. Items that find no other are not in the next
 * level. */
static level put_together(const macko_eccsr_bundle *b, int64_t least, const level *l)
{
  int64_t shared[ROWS][ROWS];
  level next = {0};
  uint32_t taken = 0;
  count_shared(b, l, shared);
  for (;;) {
    int64_t most = least - 1;
    int first = 0, second = 0;
    for (int i = 0; i < l->count; i++)
      for (int j = i + 1; j < l->count; j++)
        if (!(taken >> i & 1) && !(taken >> j & 1) && shared[i][j] > most) most = shared[i][j], first = i, second = j;
    if (!second) return next;
    taken |= 1u << first | 1u << second;
    next.rows[next.count++] = l->rows[first] | l->rows[second];
  }
}

/* ---- what a block is worth ---- */

/* A list of columns that comes a column at a time: only the slots that it takes and its last column are kept. */
typedef struct {
  int64_t slots, last;
} list;

/* Adds a column, which is behind the last one, and the slots that lead to it. */
static void add_column(list *l, int64_t col, int bits)
{
  l->slots += l->slots ? macko_eccsr_slots_to(col - l->last, bits) : 1;
  l->last = col;
}

/* Returns the bits that a block of so many slots and rows takes: codes and values of whole granules, a first column for each
 * lane, its mask, and the number of its granules. Without slots there is no block. Values are taken to be as long as in the
 * matrix, as the codec is not known yet. */
static int64_t size_of(const macko_eccsr_paper_shape *shape, int64_t slots, int rows)
{
  const int64_t granule = macko_eccsr_granule(shape->lanes), all = (slots + granule - 1) / granule * granule;
  return slots ? all * (shape->bits + 8 * shape->value * rows) + 32 * shape->lanes + 16 + 32 : 0;
}

/* Finds, for every item of a level, the column at which the last whole granule of its block ends; -1 where it fills none. What is
 * behind it stays in the rows, or the block would be padded. Slots are counted twice: in all, and as columns come. */
static void find_ends(const extraction *x, const level *l, int64_t ends[ROWS])
{
  const macko_eccsr_bundle *b = x->b;
  const int64_t granule = macko_eccsr_granule(x->shape->lanes);
  list all[ROWS] = {{0, 0}}, part[ROWS] = {{0, 0}};
  for (int i = 0; i < l->count; i++) ends[i] = -1;
  for (int64_t k = 0; k < b->count; k++)
    for (int i = 0; i < l->count; i++)
      if (is_in(b->left[k], l->rows[i])) add_column(&all[i], b->cols[k], x->shape->bits);
  for (int64_t k = 0; k < b->count; k++)
    for (int i = 0; i < l->count; i++) {
      if (!is_in(b->left[k], l->rows[i])) continue;
      add_column(&part[i], b->cols[k], x->shape->bits);
      if (part[i].slots <= all[i].slots / granule * granule) ends[i] = b->cols[k];
    }
}

/* Counts the bits that each block of the level saves: all that its rows have left, as blocks of one row each, against the block
 * and what is then left of its rows. Items of a level have no rows in common, so that each can be counted as if alone. */
static void count_savings(const extraction *x, const level *l, const int64_t ends[ROWS], int64_t saved[ROWS])
{
  const macko_eccsr_bundle *b = x->b;
  const int bits = x->shape->bits;
  list before[ROWS] = {{0, 0}}, after[ROWS] = {{0, 0}}, blocks[ROWS] = {{0, 0}};
  for (int64_t k = 0; k < b->count; k++) {
    const int64_t col = b->cols[k];
    uint32_t left = b->left[k];
    for (uint32_t rows = left; rows; rows &= rows - 1) add_column(&before[__builtin_ctz(rows)], col, bits);
    for (int i = 0; i < l->count; i++)
      if (is_in(b->left[k], l->rows[i]) && col <= ends[i]) add_column(&blocks[i], col, bits), left &= ~(uint32_t)l->rows[i];
    for (; left; left &= left - 1) add_column(&after[__builtin_ctz(left)], col, bits);
  }
  for (int i = 0; i < l->count; i++) {
    saved[i] = -size_of(x->shape, blocks[i].slots, __builtin_popcount(l->rows[i]));
    for (uint32_t rows = l->rows[i]; rows; rows &= rows - 1) {
      const int r = __builtin_ctz(rows);
      saved[i] += size_of(x->shape, before[r].slots, 1) - size_of(x->shape, after[r].slots, 1);
    }
  }
}

/* ---- extraction ---- */

/* Makes a block of the columns up to `end` that all of those rows have left, and takes these from the rows. The arrays for
 * merging are free and serve as room. */
static void extract(const extraction *x, uint16_t rows, int64_t end)
{
  macko_eccsr_bundle *b = x->b;
  int64_t n = 0;
  for (int64_t k = 0; k < b->count && b->cols[k] <= end; k++)
    if (is_in(b->left[k], rows)) b->more_cols[n++] = b->cols[k], b->left[k] &= (uint16_t)~rows;
  if (n) macko_eccsr_put_block(x->sink, x->shape, rows, b->more_cols, n);
}

/* Extracts the blocks of a level that save bits and returns whether any did. */
static int extract_level(const extraction *x, const level *l)
{
  int64_t ends[ROWS], saved[ROWS];
  int any = 0;
  if (!l->count) return 0;
  find_ends(x, l, ends);
  count_savings(x, l, ends, saved);
  for (int i = 0; i < l->count; i++) {
    if (ends[i] < 0 || saved[i] <= 0) continue;
    extract(x, l->rows[i], ends[i]);
    any = 1;
  }
  return any;
}

/* Puts the rows of the bundle together, level by level, and extracts blocks from the highest level down, as a column that sixteen
 * rows share is stored once there. Returns whether any block was worth it. */
static int extract_round(const extraction *x, int rows)
{
  level levels[MACKO_ECCSR_LEVELS + 1] = {{.count = rows}};
  int any = 0;
  for (int i = 0; i < rows; i++) levels[0].rows[i] = (uint16_t)(1 << i);
  for (int i = 0; i < MACKO_ECCSR_LEVELS; i++) levels[i + 1] = put_together(x->b, macko_eccsr_granule(x->shape->lanes), &levels[i]);
  for (int i = MACKO_ECCSR_LEVELS; i > 0; i--) any |= extract_level(x, &levels[i]);
  return any;
}

/* After a round other rows may share most of what is left, so that rounds go on while they find something, up to a limit that
 * bounds the blocks of a row. */
void macko_eccsr_put_bundle(const macko_csr *a, const int32_t *rows, int count, const macko_eccsr_paper_shape *shape,
                            macko_eccsr_bundle *b, macko_eccsr_paper_sink *sink)
{
  const extraction x = {shape, b, sink};
  macko_eccsr_read_bundle(a, rows, count, b);
  for (int round = 0; round < MACKO_ECCSR_ROUNDS; round++)
    if (!extract_round(&x, count)) break;
  for (int i = 0; i < count; i++) extract(&x, (uint16_t)(1 << i), INT32_MAX);
}
