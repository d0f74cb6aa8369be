/* y = alpha op(A) x + beta y from variants paper and shared of format eccsr: a granule at a time, its columns decoded once for all
 * rows of the block. A bundle has all blocks of its rows, so that their sums are made in one order, without atomics. */
#include "eccsr/eccsr_paper.h"

enum {
  ROWS = MACKO_ECCSR_BUNDLE,
  LANES = MACKO_ECCSR_MOST_LANES,
  VECTOR = MACKO_ECCSR_VECTOR,
  SLOTS = MACKO_ECCSR_MOST_SLOTS,
  SUMS = 8 /* partial sums of a dot product, side by side, as a single one would wait for each addition */
};

#define INLINE static inline __attribute__((always_inline))

/* A granule of a block: the rows that have it, which of the granules of values is that of the first row, the slots that have an
 * entry, and the columns of these. */
typedef struct {
  uint32_t mask;
  int64_t values;
  int size, count; /* all slots, and those with an entry */
  int slots[SLOTS];
  int32_t cols[SLOTS];
} granule;

/* Reads granule number t of a block; bits is a constant. at[lane] is the column of the lane's last slot, which the next granule
 * goes on from. */
INLINE void read_granule_of(const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *b, int64_t t, int bits, int64_t *at,
                            granule *g)
{
  const uint32_t none = macko_eccsr_no_entry(bits);
  const char *codes = (const char *)r->gaps + (b->codes + t) * (g->size * bits / 8);
  g->count = 0;
  for (int i = 0; i < g->size; i++) {
    const int lane = i / VECTOR;
    /* Codes of other widths replace this one; bits is a constant, so that one of the loads is left. */
    uint32_t code = ((const uint8_t *)codes)[i / 2] >> i % 2 * 4 & 15;
    if (bits == 8) code = ((const uint8_t *)codes)[i];
    else if (bits == 16) code = ((const uint16_t *)codes)[i];
    else if (bits == 32) code = ((const uint32_t *)codes)[i];
    if (t == 0 && i % VECTOR == 0) at[lane] = r->bases[b->number * r->lanes + lane];
    else at[lane] += code == none ? macko_eccsr_longest_gap(bits) : (int64_t)code + 1;
    /* A slot without an entry is written, too, and overwritten by the next one: that takes no branch. */
    g->slots[g->count] = i, g->cols[g->count] = (int32_t)at[lane];
    g->count += code != none;
  }
}

/* Calls the same with constant widths. */
static void read_granule(const macko_eccsr_paper_reader *r, const macko_eccsr_paper_block *b, int64_t t, int64_t *at, granule *g)
{
  switch (r->bits) {
  case 4: read_granule_of(r, b, t, 4, at, g); break;
  case 8: read_granule_of(r, b, t, 8, at, g); break;
  case 16: read_granule_of(r, b, t, 16, at, g); break;
  default: read_granule_of(r, b, t, 32, at, g);
  }
}

/* Widens the values of a granule's slots in one row of its block to doubles: `size` of them from `slot` on, with those without an
 * entry. */
static void read_values(const macko_matrix *m, const macko_value_stream *v, int64_t slot, int size, double *to)
{
#define READ(stored) \
  for (int i = 0; i < size; i++) to[i] = macko_value_at(stored, m->value_type, v, slot + i); \
  break
  switch (m->plan.stored_type) {
  case MACKO_F64: READ(MACKO_F64);
  case MACKO_F32: READ(MACKO_F32);
  case MACKO_F16: READ(MACKO_F16);
  case MACKO_BF16: READ(MACKO_BF16);
  case MACKO_U8: READ(MACKO_U8);
  case MACKO_U16: READ(MACKO_U16);
  default: READ(MACKO_I8);
  }
#undef READ
}

/* Multiplies the values of a granule by the elements of x that belong to its entries, and adds up. Only slots with an entry are
 * multiplied: x may be Inf where others lie. The order of additions depends on nothing but the granule. */
static double dot(const granule *g, const double *values, const double *x)
{
  double sums[SUMS] = {0};
  int k = 0;
  if (g->count == g->size) {
    for (; k < g->size; k += SUMS)
      for (int l = 0; l < SUMS; l++) sums[l] += values[k + l] * x[k + l];
  } else {
    for (; k + SUMS <= g->count; k += SUMS)
      for (int l = 0; l < SUMS; l++) sums[l] += values[g->slots[k + l]] * x[k + l];
    for (int l = 0; k < g->count; k++, l++) sums[l] += values[g->slots[k]] * x[k];
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

/* Adds a granule to the sums of its rows, for `group` vectors: elements of x are gathered once for all rows,
 * values are widened once for all vectors. */
INLINE void add_granule(const macko_matrix *m, const macko_value_stream *v, const macko_product *q, const granule *g,
                        macko_type vector, int group, double sums[ROWS][MACKO_GROUP])
{
  double x[MACKO_GROUP][SLOTS], values[SLOTS];
  int j = 0;
  for (int i = 0; i < group; i++)
    for (int k = 0; k < g->count; k++) x[i][k] = macko_x(vector, q, i, g->cols[k]);
  for (uint32_t left = g->mask; left; left &= left - 1, j++) {
    read_values(m, v, (g->values + j) * g->size, g->size, values);
    for (int i = 0; i < group; i++) sums[__builtin_ctz(left)][i] += dot(g, values, x[i]);
  }
}

/* Adds a granule, transposed, to y. of_rows has alpha times the elements of x that belong to the rows of the
 * bundle. */
INLINE void add_to_columns(const macko_matrix *m, const macko_value_stream *v, const macko_product *q, const granule *g,
                           macko_type vector, int group, double of_rows[ROWS][MACKO_GROUP])
{
  double values[SLOTS];
  int j = 0;
  for (uint32_t left = g->mask; left; left &= left - 1, j++) {
    read_values(m, v, (g->values + j) * g->size, g->size, values);
    for (int i = 0; i < group; i++)
      for (int k = 0; k < g->count; k++)
        macko_add_y(vector, q, i, g->cols[k], values[g->slots[k]] * of_rows[__builtin_ctz(left)][i]);
  }
}

/* Multiplies a bundle by `group` vectors. of_rows has, for each of its rows, the sums, or for op T alpha times the elements of x.
 * vector, op and group are constants. */
INLINE void multiply_bundle(const macko_matrix *m, const macko_eccsr_paper_reader *r, const macko_product *q, int64_t bundle,
                            macko_type vector, macko_op op, int group)
{
  const macko_value_stream v = macko_stream_of(m);
  const int32_t *rows = r->rows + bundle * ROWS;
  const int count = (int)macko_eccsr_bundle_rows(r, bundle);
  double of_rows[ROWS][MACKO_GROUP] = {{0}};
  macko_eccsr_paper_block block = {0};
  granule g = {.size = (int)macko_eccsr_granule(r->lanes)};
  for (int j = 0; op == MACKO_OP_T && j < count; j++)
    for (int i = 0; i < group; i++) of_rows[j][i] = q->alpha * macko_x(vector, q, i, rows[j]);
  for (int64_t b = r->bundles[3 * bundle]; b < r->bundles[3 * bundle + 3]; b++) {
    int64_t at[LANES];
    macko_eccsr_next_block(r, bundle, b, &block);
    const int block_rows = __builtin_popcount(block.mask);
    g.mask = block.mask;
    for (int64_t t = 0; t < block.granules; t++) {
      g.values = block.values + t * block_rows;
      read_granule(r, &block, t, at, &g);
      if (op == MACKO_OP_N) add_granule(m, &v, q, &g, vector, group, of_rows);
      else add_to_columns(m, &v, q, &g, vector, group, of_rows);
    }
  }
  for (int j = 0; op == MACKO_OP_N && j < count; j++)
    for (int i = 0; i < group; i++) macko_put_y(vector, q, i, rows[j], of_rows[j][i]);
}

/* Multiplies bundles from .. to - 1, as a macko_pieces. */
static void multiply_bundles(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  const macko_eccsr_paper_reader r = macko_eccsr_paper_open(m);
#define MULTIPLY(vector, op, group) \
  for (int64_t i = from; i < to; i++) multiply_bundle(m, &r, &q, i, vector, op, group)
  MACKO_FOR_GROUPS(p, q, MULTIPLY)
#undef MULTIPLY
}

/* Op T adds to y wherever a column is, so that y is scaled before, and only one thread takes part (macko_share_product). */
macko_status macko_eccsr_paper_multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  const macko_cut cut = {.n = macko_eccsr_bundles(m->nrows)};
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  macko_share_product(m, p, multiply_bundles, &cut);
  return MACKO_OK;
}
