/* y = alpha op(A) x + beta y from layout slice: 32 rows at a time, step by step, so that the lanes of a step stand side by side
 * in memory. */
#include "clones.h"
#include "macko_slice.h"
#include "product.h"

typedef struct {
  macko_slice s;
  const uint32_t *gaps;
  int lanes;
  int64_t shortest; /* every lane has at least so many entries */
  int64_t rows[MACKO_SLICE_ROWS], lengths[MACKO_SLICE_ROWS];
  int32_t cols[MACKO_SLICE_ROWS]; /* of the step at hand; base columns where all lanes share one list */
} open_slice;

static inline void load_slice(const slice_reader *r, int64_t slice, open_slice *o)
{
  o->s = macko_slice_at(r->headers, slice);
  o->gaps = macko_slice_gaps(&o->s, r->blocks);
  o->lanes = macko_slice_lanes(r, slice);
  o->shortest = o->s.steps;
  for (int l = 0; l < o->lanes; l++) {
    o->rows[l] = macko_slice_row(r, slice * MACKO_SLICE_ROWS + l);
    o->lengths[l] = macko_lane_length(r, &o->s, l);
    o->cols[l] = (int32_t)macko_lane_base(r, &o->s, l);
    if (o->lengths[l] < o->shortest) o->shortest = o->lengths[l];
  }
}

/* One lane's entry of one step: multiplied in (N: into sum, T: scattered). */
static inline __attribute__((always_inline)) void entry(const macko_product *q, double value, int64_t col, int lane,
                                                        double sum[MACKO_GROUP][MACKO_SLICE_ROWS], macko_type vector, macko_op op,
                                                        int group)
{
  for (int j = 0; j < group; j++)
    if (op == MACKO_OP_N) sum[j][lane] += value * macko_x(vector, q, j, col);
    else macko_add_y(vector, q, j, col, value * sum[j][lane]);
}

/* bits is a constant: the steps of a slice differ in nothing but their gaps. */
static inline __attribute__((always_inline)) void add_step(open_slice *o, int64_t k, int bits, int masked, int element_bytes,
                                                           const macko_value_stream *v, const macko_product *q,
                                                           double sum[MACKO_GROUP][MACKO_SLICE_ROWS], macko_type stored,
                                                           macko_type table, macko_type vector, macko_op op, int group)
{
  int lanes = o->lanes, per = element_bytes < 4 ? 4 / element_bytes : 1;
  int64_t slot = macko_slice_slot(o->s.values, element_bytes, k, 0);
  const uint32_t *words = bits && k ? o->gaps + (k - 1) * bits / 32 * MACKO_SLICE_ROWS : o->gaps;
  int shift = bits && k ? (int)((k - 1) * bits % 32) : 0;
  uint32_t mask = bits ? 0xffffffffu >> (32 - bits) : 0;
  int32_t distance = !bits && k ? (int32_t)o->gaps[k - 1] : 0;
  for (int l = 0; l < lanes; l++) {
    if (masked && k >= o->lengths[l]) continue;
    if (bits && k) o->cols[l] += (int32_t)((words[l] >> shift) & mask) + 1;
    int32_t col = bits ? o->cols[l] : o->cols[l] + distance;
    entry(q, macko_value_at(stored, table, v, slot + l * per), col, l, sum, vector, op, group);
  }
}

static inline __attribute__((always_inline)) void add_steps(open_slice *o, int bits, int element_bytes, const macko_value_stream *v,
                                                            const macko_product *q, double sum[MACKO_GROUP][MACKO_SLICE_ROWS],
                                                            macko_type stored, macko_type table, macko_type vector, macko_op op,
                                                            int group)
{
  for (int64_t k = 0; k < o->shortest; k++) add_step(o, k, bits, 0, element_bytes, v, q, sum, stored, table, vector, op, group);
  for (int64_t k = o->shortest; k < o->s.steps; k++)
    add_step(o, k, bits, 1, element_bytes, v, q, sum, stored, table, vector, op, group);
}

/* Full slices of consecutive base columns that share one list: no index is read per entry. */
static inline __attribute__((always_inline)) void add_uniform_step(const open_slice *o, int64_t k, int element_bytes,
                                                                   const macko_value_stream *v, const macko_product *q,
                                                                   double sum[MACKO_GROUP][MACKO_SLICE_ROWS], macko_type stored,
                                                                   macko_type table, macko_type vector, macko_op op, int group)
{
  int64_t col = o->s.base + (k ? (int64_t)o->gaps[k - 1] : 0);
  int64_t slot = macko_slice_slot(o->s.values, element_bytes, k, 0);
  int per = element_bytes < 4 ? 4 / element_bytes : 1;
  for (int l = 0; l < MACKO_SLICE_ROWS; l++)
    entry(q, macko_value_at(stored, table, v, slot + l * per), col + l, l, sum, vector, op, group);
}

static inline __attribute__((always_inline)) void multiply_as(const macko_matrix *m, const macko_product *q, int element_bytes,
                                                              macko_type stored, macko_type table, macko_type vector, macko_op op,
                                                              int group)
{
  slice_reader r = macko_open_slices(m);
  macko_value_stream v = macko_stream_of(m);
  int64_t slices = macko_slices_of(m->nrows);
  open_slice o;
  for (int64_t slice = 0; slice < slices; slice++) {
    double sum[MACKO_GROUP][MACKO_SLICE_ROWS];
    load_slice(&r, slice, &o);
    for (int j = 0; j < group; j++)
      for (int l = 0; l < MACKO_SLICE_ROWS; l++) sum[j][l] = 0;
    if (op == MACKO_OP_T)
      for (int j = 0; j < group; j++)
        for (int l = 0; l < o.lanes; l++) sum[j][l] = q->alpha * macko_x(vector, q, j, o.rows[l]);
    int plain = o.s.gap_bits == 0 && o.s.offset_bytes == 0 && o.s.length_bytes == 0 && o.lanes == MACKO_SLICE_ROWS;
    if (plain)
      for (int64_t k = 0; k < o.s.steps; k++) add_uniform_step(&o, k, element_bytes, &v, q, sum, stored, table, vector, op, group);
    else switch (o.s.gap_bits) {
      case 0: add_steps(&o, 0, element_bytes, &v, q, sum, stored, table, vector, op, group); break;
      case 4: add_steps(&o, 4, element_bytes, &v, q, sum, stored, table, vector, op, group); break;
      case 8: add_steps(&o, 8, element_bytes, &v, q, sum, stored, table, vector, op, group); break;
      case 16: add_steps(&o, 16, element_bytes, &v, q, sum, stored, table, vector, op, group); break;
      default: add_steps(&o, 32, element_bytes, &v, q, sum, stored, table, vector, op, group);
      }
    if (op == MACKO_OP_N)
      for (int j = 0; j < group; j++)
        for (int l = 0; l < o.lanes; l++) macko_put_y(vector, q, j, o.rows[l], sum[j][l]);
  }
}

/* What solvers do most is a function of its own for every codec, compiled for several instruction sets. */
#define ONE_VECTOR(name, bytes, stored, table) \
  static MACKO_CLONES void name(const macko_matrix *m, const macko_product *q) \
  { \
    multiply_as(m, q, bytes, stored, table, MACKO_F64, MACKO_OP_N, 1); \
  }
ONE_VECTOR(one_f64, 8, MACKO_F64, MACKO_F64)
ONE_VECTOR(one_f32, 4, MACKO_F32, MACKO_F32)
ONE_VECTOR(one_i8, 1, MACKO_I8, MACKO_I8)
ONE_VECTOR(one_u8, 1, MACKO_U8, MACKO_F64)
ONE_VECTOR(one_u16, 2, MACKO_U16, MACKO_F64)

static void multiply_any(const macko_matrix *m, const macko_product *p)
{
#define F64_STREAM(vector, op, group) multiply_as(m, &q, 8, MACKO_F64, MACKO_F64, vector, op, group)
#define ANY_STREAM(vector, op, group) \
  multiply_as(m, &q, (int)macko_type_bytes(m->plan.stored_type), m->plan.stored_type, m->value_type, vector, op, group)
  if (m->plan.stored_type == MACKO_F64) MACKO_FOR_GROUPS(p, F64_STREAM)
  else MACKO_FOR_GROUPS(p, ANY_STREAM)
}

void macko_slice_multiply(const macko_matrix *m, const macko_product *p)
{
  macko_type stored = m->plan.stored_type;
  int plain = p->op == MACKO_OP_N && p->vector_type == MACKO_F64 && p->k == 1;
  if (plain && stored == MACKO_F64) one_f64(m, p);
  else if (plain && stored == MACKO_F32) one_f32(m, p);
  else if (plain && stored == MACKO_I8) one_i8(m, p);
  else if (plain && stored == MACKO_U8 && m->value_type == MACKO_F64) one_u8(m, p);
  else if (plain && stored == MACKO_U16 && m->value_type == MACKO_F64) one_u16(m, p);
  else multiply_any(m, p);
}
