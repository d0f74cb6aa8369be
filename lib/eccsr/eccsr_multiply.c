/* y = alpha op(A) x + beta y from format eccsr. */
#include "core/product.h"
#include "core/threads.h"
#include "eccsr/eccsr.h"

/* What a product reads of values: those of a step's column as doubles. */
typedef struct {
  macko_type stored, table_type;
  macko_value_stream v;
  double room[MACKO_ECCSR_LANES];
} slice_values;

static slice_values open_values(const macko_matrix *m)
{
  return (slice_values){.stored = m->plan.stored_type, .table_type = m->value_type, .v = macko_eccsr_stream(m)};
}

/* Slots from `slot` on, n of them: the stream itself, or room. */
static const double *doubles(slice_values *v, int64_t slot, int n)
{
#define WIDEN(stored) \
  for (int i = 0; i < n; i++) v->room[i] = macko_value_at(stored, v->table_type, &v->v, slot + i); \
  break
  switch (v->stored) {
  case MACKO_F64: return (const double *)v->v.stream + slot;
  case MACKO_F32: WIDEN(MACKO_F32);
  case MACKO_F16: WIDEN(MACKO_F16);
  case MACKO_BF16: WIDEN(MACKO_BF16);
  case MACKO_U8: WIDEN(MACKO_U8);
  case MACKO_U16: WIDEN(MACKO_U16);
  default: WIDEN(MACKO_I8);
  }
#undef WIDEN
  return v->room;
}

/* Entries of column j of the runs of a step, which begin at *v: the sums of their lanes for op N, y for op T, where sum has x. */
static inline __attribute__((always_inline)) void add_column(const macko_eccsr_steps *t, const macko_product *q, int j,
                                                             const double *v, double sum[][MACKO_ECCSR_LANES], macko_type vector,
                                                             macko_op op, int group)
{
  for (uint32_t lanes = macko_eccsr_lanes(t, j); lanes; lanes &= lanes - 1) {
    int l = __builtin_ctz(lanes);
    int64_t col = t->cols[l / t->s.g] + j;
    for (int i = 0; i < group; i++)
      if (op == MACKO_OP_N) sum[i][l] += *v * macko_x(vector, q, i, col);
      else macko_add_y(vector, q, i, col, *v * sum[i][l]);
    v++;
  }
}

static inline __attribute__((always_inline)) void multiply_as(const macko_matrix *m, const macko_product *q, macko_type vector,
                                                              macko_op op, int group, int64_t from, int64_t to)
{
  macko_eccsr_reader r = macko_eccsr_open(m);
  slice_values v = open_values(m);
  for (; from < to; from++) {
    macko_eccsr_steps t = macko_eccsr_open_slice(&r, from);
    double sum[MACKO_GROUP][MACKO_ECCSR_LANES] = {{0}};
    for (int l = 0; op == MACKO_OP_T && l < t.s.blocks * t.s.g; l++)
      for (int i = 0; i < group; i++) sum[i][l] = q->alpha * macko_x(vector, q, i, macko_eccsr_row(&t.s, r.rows, l));
    while (macko_eccsr_next_step(&r, &t))
      for (int j = 0; j < t.s.w; j++) {
        int n = __builtin_popcount(macko_eccsr_lanes(&t, j));
        add_column(&t, q, j, doubles(&v, t.slot, n), sum, vector, op, group);
        t.slot += n;
      }
    for (int l = 0; op == MACKO_OP_N && l < t.s.blocks * t.s.g; l++)
      for (int i = 0; i < group; i++) macko_put_y(vector, q, i, macko_eccsr_row(&t.s, r.rows, l), sum[i][l]);
  }
}

static void multiply_slices(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
#define ANY(vector, op, group) multiply_as(m, &q, vector, op, group, from, to)
  MACKO_FOR_GROUPS(p, ANY)
#undef ANY
}

macko_status macko_eccsr_multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  const macko_cut cut = {.n = macko_eccsr_params_of(&m->plan)->of.counts.slices};
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  macko_share_product(m, p, multiply_slices, &cut);
  return MACKO_OK;
}
