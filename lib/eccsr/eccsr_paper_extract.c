/* Blocks extracted from a bundle of rows: in every round rows are paired by the columns that they share, pairs by those that all
 * four share, and so on (EC-SpMV, section 4); what sixteen rows share goes into blocks of sixteen, what is left of that and eight share
 * into blocks of eight, down to pairs. Blocks have whole granules, and are taken where that saves bytes. What no block has taken
 * after the last round is stored row by row. */
#include "eccsr/eccsr_paper.h"

enum { ROWS = MACKO_ECCSR_BUNDLE };

typedef struct {
  const macko_eccsr_paper_shape *shape;
  macko_eccsr_bundle *b;
  macko_eccsr_paper_sink *sink;
} extraction;

/* Rows of one level, a bit each, that are put together; no row is in two of them. */
typedef struct {
  int count;
  uint16_t rows[ROWS];
} level;

static int is_in(uint16_t left, uint16_t rows)
{
  return (left & rows) == rows;
}

/* ---- what rows are put together ---- */

/* Columns that every two of a level share. */
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

/* The greedy choice: the two that share most columns, of equals the first, as long as these are as many as a granule has slots. */
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

/* Slots of a list of columns, as they come. */
typedef struct {
  int64_t slots, last;
} list;

static void add_column(list *l, int64_t col, int bits)
{
  l->slots += l->slots ? macko_eccsr_slots_to(col - l->last, bits) : 1;
  l->last = col;
}

/* Bits of a block of so many slots and rows. */
static int64_t size_of(const macko_eccsr_paper_shape *shape, int64_t slots, int rows)
{
  const int64_t granule = macko_eccsr_granule(shape->lanes), all = (slots + granule - 1) / granule * granule;
  return slots ? all * (shape->bits + 8 * shape->value * rows) + 32 * shape->lanes + 16 + 32 : 0;
}

/* Of every block of a level the column at which its last whole granule ends, -1 without one. */
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

/* Bits that each block of the level saves: of it and what then is left of its rows, against all in those rows. */
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

/* The columns up to `end` that those rows have left become a block. */
static void extract(const extraction *x, uint16_t rows, int64_t end)
{
  macko_eccsr_bundle *b = x->b;
  int64_t n = 0;
  for (int64_t k = 0; k < b->count && b->cols[k] <= end; k++)
    if (is_in(b->left[k], rows)) b->more_cols[n++] = b->cols[k], b->left[k] &= (uint16_t)~rows;
  if (n) macko_eccsr_put_block(x->sink, x->shape, rows, b->more_cols, n);
}

/* Whether any block of the level was worth it. */
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

static int extract_round(const extraction *x, int rows)
{
  level levels[MACKO_ECCSR_LEVELS + 1] = {{.count = rows}};
  int any = 0;
  for (int i = 0; i < rows; i++) levels[0].rows[i] = (uint16_t)(1 << i);
  for (int i = 0; i < MACKO_ECCSR_LEVELS; i++) levels[i + 1] = put_together(x->b, macko_eccsr_granule(x->shape->lanes), &levels[i]);
  for (int i = MACKO_ECCSR_LEVELS; i > 0; i--) any |= extract_level(x, &levels[i]);
  return any;
}

void macko_eccsr_put_bundle(const macko_csr *a, const int32_t *rows, int count, const macko_eccsr_paper_shape *shape,
                            macko_eccsr_bundle *b, macko_eccsr_paper_sink *sink)
{
  const extraction x = {shape, b, sink};
  macko_eccsr_read_bundle(a, rows, count, b);
  for (int round = 0; round < MACKO_ECCSR_ROUNDS; round++)
    if (!extract_round(&x, count)) break;
  for (int i = 0; i < count; i++) extract(&x, (uint16_t)(1 << i), INT32_MAX);
}
