/* y = alpha op(A) x + beta y from format eccsr, compiled for several vector widths and chosen by what the processor has. */
#include "core/beside.h"
#include "core/cpu.h"
#include "eccsr/eccsr.h"

#include <string.h>

enum {
  CHUNK = 32,            /* columns of runs that are looked at together */
  PREFETCH_BYTES = 12288, /* ahead in values, into the first-level cache: hardware follows a stream to the end of a page only */
  DOUBLES = 100          /* beside the stored types: what is read as doubles, widened where it is something else */
};

/* What a product reads of values. The dictionary of codes of 8 bits is widened to doubles once, instead of for each entry. */
typedef struct {
  macko_type stored, table_type;
  macko_value_stream v;
  double wide[256]; /* the dictionary as doubles, for codes of 8 bits */
} slice_values;

/* Finds the stream of values, and widens the dictionary where codes have 8 bits. */
static slice_values open_values(const macko_matrix *m)
{
  slice_values v = {.stored = m->plan.stored_type, .table_type = m->value_type, .v = macko_stream_of(m)};
  for (int64_t i = 0; v.stored == MACKO_U8 && i < m->plan.table; i++) v.wide[i] = macko_float_at(m->value_type, v.v.table, i);
  return v;
}

/* ---- a few steps of a slice at a time ---- */

/* A few steps of a slice whose columns are found together, before anything is multiplied: addresses in x are then ready in
 * memory, and the loads from x do not wait for the gaps one after the other. */
typedef struct {
  macko_eccsr_slice s;
  const int32_t *bases;
  const uint32_t *gaps;
  const uint32_t *masks; /* of the steps of the chunk, [step][column] */
  int64_t k, gap;        /* steps before the chunk, and gaps before those that come next */
  int steps, entries;    /* of the chunk */
  int32_t most;          /* the last column that a run begins in, in slices with masks */
  int active[CHUNK];                        /* blocks that have the step */
  int32_t at[MACKO_ECCSR_LANES];            /* of blocks: where their last runs begin */
  int32_t cols[CHUNK * MACKO_ECCSR_LANES];  /* [step][block]: where runs begin; a column for those without one, too */
} column_chunk;

/* What a loop over chunks is compiled for, as constants (but for g of blocks of many rows): the type that values are stored in, or
 * DOUBLES, the rows of a block, and the type of x; and x, of which `last` is the last element. */
typedef struct {
  int stored, g;
  macko_type vector;
  const void *x;
  int32_t last;
} block_loop;

/* Opens a slice before its first steps; returns the slot of its first entry. */
static inline int64_t open_chunks(const macko_eccsr_reader *r, int64_t slice, column_chunk *c)
{
  c->s = macko_eccsr_slice_at(r->slices, slice);
  c->masks = r->gaps + c->s.words, c->gaps = c->masks + macko_eccsr_mask_words(&c->s);
  c->k = 0, c->gap = 0, c->steps = 0;
  c->bases = r->bases + c->s.block;
  return c->s.values;
}

/* Finds the columns of c->steps steps from c->k on; bits, those of a gap, is a constant. Blocks whose runs are over keep their
 * last column, so that loads from x need no branch. */
static inline __attribute__((always_inline)) void walk(column_chunk *c, int bits)
{
  const int32_t w = c->s.w, unit = c->s.unit;
  int64_t gap = c->gap;
  int32_t most = 0;
  for (int b = 0; c->k == 0 && b < MACKO_ECCSR_LANES; b++) c->at[b] = b < c->s.blocks ? c->bases[b] : 0;
  for (int k = 0; k < c->steps; k++) {
    /* The first step of a slice has no gaps: its runs begin at the bases. */
    for (int b = 0; b < c->active[k] && (c->k || k); b++, gap++) {
      uint32_t code = bits == 16 ? ((const uint16_t *)c->gaps)[gap] : bits == 8 ? ((const uint8_t *)c->gaps)[gap]
                                                                                : macko_eccsr_gap(c->gaps, bits, gap);
      c->at[b] += w + (int32_t)(code * (uint32_t)unit);
    }
    memcpy(c->cols + k * MACKO_ECCSR_LANES, c->at, sizeof c->at);
  }
  for (int b = 0; b < MACKO_ECCSR_LANES; b++) most = c->at[b] > most ? c->at[b] : most; /* columns rise */
  c->gap = gap, c->most = most;
}

/* Goes behind the steps of a chunk and says how many come next: as many as have CHUNK columns at most, which bounds the room for
 * their values. */
static inline void pass_steps(column_chunk *c)
{
  const int64_t most = CHUNK / c->s.w;
  if (c->s.masked) c->masks += c->steps * c->s.w;
  c->k += c->steps;
  c->steps = (int)(c->s.steps - c->k < most ? c->s.steps - c->k : most);
}

/* Counts the blocks that have each of the steps, `active` of which have the one before, and returns the sum. */
static inline int count_active(const macko_eccsr_reader *r, column_chunk *c, int active)
{
  int blocks = 0;
  for (int k = 0; k < c->steps; k++, blocks += active)
    c->active[k] = active = macko_eccsr_active(&c->s, r->lengths, r->length_bytes, c->k + k, active);
  return blocks;
}

/* Sets how many entries the chunk has, of so many blocks together. */
static inline void count_entries(column_chunk *c, int blocks)
{
  c->entries = c->s.masked ? 0 : blocks * c->s.g * c->s.w;
  for (int i = 0; c->s.masked && i < c->steps * c->s.w; i++) c->entries += __builtin_popcount(c->masks[i]);
}

/* Puts the sums of the lanes into vector i of y: each row is in one lane of one slice, so that nothing else adds to it. in_order is
 * a constant, and beta where it is 0. */
static inline __attribute__((always_inline)) void put_rows(const macko_eccsr_slice *s, const int32_t *rows, int in_order,
                                                           macko_type vector, const macko_product *q, double beta, int i,
                                                           const double *sums)
{
  macko_product p = *q; /* so that no element of y is taken for a part of it */
  p.beta = beta, rows += s->row;
  for (int b = 0; b < s->blocks; b++, rows += in_order ? 1 : s->g)
    for (int r = 0; r < s->g; r++) macko_put_y(vector, &p, i, in_order ? (int64_t)rows[0] + r : rows[r], *sums++);
}

static inline __attribute__((always_inline)) void put_sums(const macko_eccsr_slice *s, const int32_t *rows, macko_type vector,
                                                           const macko_product *q, int i, const double *sums)
{
  if (s->in_order && q->beta == 0) put_rows(s, rows, 1, vector, q, 0, i, sums);
  else if (s->in_order) put_rows(s, rows, 1, vector, q, q->beta, i, sums);
  else put_rows(s, rows, 0, vector, q, q->beta, i, sums);
}

/* ---- op N ---- */

#if MACKO_HAS_X86_64
/* For every mask of eight lanes, byte l says which of the values that follow each other lane l takes. */
#define PLACE(m, l) (uint64_t)__builtin_popcount((m) & ((1 << (l)) - 1)) << 8 * (l)
#define PLACES(m) PLACE(m, 1) | PLACE(m, 2) | PLACE(m, 3) | PLACE(m, 4) | PLACE(m, 5) | PLACE(m, 6) | PLACE(m, 7)
#define PLACES_4(m) PLACES(m), PLACES((m) + 1), PLACES((m) + 2), PLACES((m) + 3)
#define PLACES_16(m) PLACES_4(m), PLACES_4((m) + 4), PLACES_4((m) + 8), PLACES_4((m) + 12)
#define PLACES_64(m) PLACES_16(m), PLACES_16((m) + 16), PLACES_16((m) + 32), PLACES_16((m) + 48)
static const uint64_t expanded_places[256] = {PLACES_64(0), PLACES_64(64), PLACES_64(128), PLACES_64(192)};

/* The same for four lanes, for permutations of 32-bit words, and the lanes as bits that are all set. */
#define WORDS(m, l) 2 * __builtin_popcount((m) & ((1 << (l)) - 1)), 2 * __builtin_popcount((m) & ((1 << (l)) - 1)) + 1
#define HALF(m) {WORDS(m, 0), WORDS(m, 1), WORDS(m, 2), WORDS(m, 3)}
#define KEPT(m) {-(int64_t)((m) & 1), -(int64_t)((m) >> 1 & 1), -(int64_t)((m) >> 2 & 1), -(int64_t)((m) >> 3)}
#define ALL_16(f) {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)}
static const _Alignas(32) int32_t expanded_words[16][8] = ALL_16(HALF);
static const _Alignas(32) int64_t kept_lanes[16][4] = ALL_16(KEPT);
#undef WORDS
#undef HALF
#undef KEPT
#undef ALL_16
#undef PLACE
#undef PLACES
#undef PLACES_4
#undef PLACES_16
#undef PLACES_64
#endif

#define KERNEL "eccsr/eccsr_simd/kernel.inc"
#include "core/widths.inc"

/* ---- op T ---- */

/* Adds the entries of column j of the runs of a step, whose values begin at that slot, to y, and returns how many they are. x has
 * alpha times the elements of the lanes' rows. */
static inline __attribute__((always_inline)) int add_column(const macko_eccsr_steps *t, const slice_values *v, macko_type stored,
                                                            const macko_product *q, int j, const double *x, int64_t slot)
{
  uint32_t lanes = macko_eccsr_lanes(t, j);
  int n = __builtin_popcount(lanes);
  for (; lanes; lanes &= lanes - 1) {
    int l = __builtin_ctz(lanes);
    double term = macko_value_at(stored, v->table_type, &v->v, slot++) * x[l];
    macko_add_y(q->vector_type, q, 0, t->cols[l / t->s.g] + j, term);
  }
  return n;
}

/* Multiplies one vector by the transposed slices from .. to - 1; stored is a constant where that pays. */
static inline __attribute__((always_inline)) void transpose_as(const macko_matrix *m, const macko_product *q, macko_type stored,
                                                               int64_t from, int64_t to)
{
  macko_eccsr_reader r = macko_eccsr_open(m);
  slice_values v = open_values(m);
  for (; from < to; from++) {
    macko_eccsr_steps t = macko_eccsr_open_slice(&r, from);
    double x[MACKO_ECCSR_LANES];
    for (int l = 0; l < t.s.blocks * t.s.g; l++)
      x[l] = q->alpha * macko_x(q->vector_type, q, 0, macko_eccsr_row(&t.s, r.rows, l));
    while (macko_eccsr_next_step(&r, &t))
      for (int j = 0; j < t.s.w; j++) t.slot += add_column(&t, &v, stored, q, j, x, t.slot);
  }
}

/* Multiplies a vector at a time, as there is no loop for groups of them. Values that are plain doubles have a loop of their
 * own. */
static void transpose_slices(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  for (int64_t j = 0; j < p->k; j++) {
    macko_product q = macko_product_from(p, j);
    if (m->plan.stored_type == MACKO_F64) transpose_as(m, &q, MACKO_F64, from, to);
    else transpose_as(m, &q, m->plan.stored_type, from, to);
  }
}

/* Gives how few vectors go side by side; 0: none do. It pays where entries would wait for lines of each vector: elsewhere loops
 * that load a run of x at once are as fast, and they are faster with masks. */
static int few_beside(const macko_matrix *m, const macko_product *p)
{
  const int fits = p->vector_type == MACKO_F64 && macko_eccsr_params_of(&m->plan)->of.counts.masked == 0;
  return fits && macko_waits_for_lines(m, p, MACKO_GROUP) ? MACKO_GROUP : 0;
}

/* Op T adds to y wherever a column is, so that y is scaled before, and only one thread takes part (macko_share_product). */
macko_status macko_eccsr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  const macko_cut cut = {.n = macko_eccsr_params_of(&m->plan)->of.counts.slices};
  (void)err;
  if (p->op == MACKO_OP_N) macko_share_vectors(m, p, few_beside(m, p), multiply_widest, &cut);
  else macko_scale(p, m->ncols), macko_share_product(m, p, transpose_slices, &cut);
  return MACKO_OK;
}
