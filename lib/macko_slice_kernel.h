/* The loops of y = alpha op(A) x + beta y from layout slice for one vector width; included once a width, with
 *   WIDTH   f64 elements a vector
 *   TARGET  an attribute that names the instruction set, or nothing
 *   NAME(x) a name of its own for each width
 * which are undefined again at its end.
 * 32 rows at a time, a vector across rows; a pass holds the sums of PARTS vectors of rows in registers. Where the columns of a
 * vector are consecutive x is loaded, elsewhere element by element: a gather instruction is no faster where it was measured. */

#include "macko_slice_vectors.h"
#include "macko_slice_columns.h"
#include "macko_slice_steps.h"
#include "macko_slice_kinds.h"

/* Vectors of rows in a pass, so that the sums of a group of vectors are at most 16. */
#define PARTS(group) ((group) == 1 || WIDTH == 8 ? 4 : 2)

/* Slices from `from` on as long as they are stencils; answers the first that is none. */
#define DEFINE_STENCILS(vector, op, group) \
  static __attribute__((noinline)) TARGET int64_t NAME(stencils##vector##op##group)( \
      const slice_reader *r, macko_type type, const macko_product *q, int64_t from, int64_t to) \
  { \
    open_slice o; \
    for (; from < to; from++) { \
      load_slice(r, from, &o); \
      if (!o.s.stencil) return from; \
      NAME(stencil_slice)(&o, r, type, q, PARTS(group), vector, op, group); \
    } \
    return to; \
  }
DEFINE_STENCILS(MACKO_F64, MACKO_OP_N, 1)
DEFINE_STENCILS(MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE_STENCILS(MACKO_F64, MACKO_OP_T, 1)
DEFINE_STENCILS(MACKO_F64, MACKO_OP_T, MACKO_GROUP)
DEFINE_STENCILS(MACKO_F32, MACKO_OP_N, 1)
DEFINE_STENCILS(MACKO_F32, MACKO_OP_N, MACKO_GROUP)
DEFINE_STENCILS(MACKO_F32, MACKO_OP_T, 1)
DEFINE_STENCILS(MACKO_F32, MACKO_OP_T, MACKO_GROUP)

typedef int64_t NAME(stencils)(const slice_reader *r, macko_type type, const macko_product *q, int64_t from, int64_t to);

INLINE void NAME(slices)(const macko_matrix *m, const macko_product *q, int64_t from, int64_t to, NAME(stencils) *stencils,
                         int stored, macko_type vector, macko_op op, int group)
{
  const int parts = PARTS(group);
  slice_reader r = macko_open_slices(m);
  slice_values v = open_values(m);
  NAME(f64) few = {0};
  open_slice o;
  if (stored == FEW_VALUES) memcpy(&few, v.wide, sizeof few);
  for (int64_t slice = from; slice < to; slice++) {
    load_slice(&r, slice, &o);
    if (o.s.stencil) {
      slice = stencils(&r, m->value_type, q, slice, to) - 1;
      continue;
    }
    v.start = (const char *)v.stream + (int64_t)o.s.values * MACKO_VALUE_UNIT;
    if (o.uniform) NAME(uniform_slice)(&o, &v, q, few, parts, stored, vector, op, group);
    else if (WIDTH < 8 || op == MACKO_OP_T || !o.listed || !NAME(nearby_slice)(&o, &v, q, few, parts, stored, vector, group))
      NAME(any_slice)(&o, &v, q, few, parts, stored, vector, op, group);
  }
}

/* Codecs that solvers meet most have loops of their own with one f64 vector, and f32 with more. All else is read as doubles,
 * which takes at most 1.15 times as long as loops of its own and spares more than half of the compiling. */
#define DEFINE(codec, stored, vector, op, group) \
  static __attribute__((noinline)) TARGET void NAME(codec##vector##op##group)(const macko_matrix *m, const macko_product *q, \
                                                                              int64_t from, int64_t to) \
  { \
    NAME(slices)(m, q, from, to, NAME(stencils##vector##op##group), stored, vector, op, group); \
  }
DEFINE(f64, MACKO_F64, MACKO_F64, MACKO_OP_N, 1)
DEFINE(f32, MACKO_F32, MACKO_F64, MACKO_OP_N, 1)
DEFINE(f32, MACKO_F32, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE(f32, MACKO_F32, MACKO_F32, MACKO_OP_N, 1)
DEFINE(i8, MACKO_I8, MACKO_F64, MACKO_OP_N, 1)
DEFINE(u8, MACKO_U8, MACKO_F64, MACKO_OP_N, 1)
DEFINE(bf16, MACKO_BF16, MACKO_F64, MACKO_OP_N, 1)
DEFINE(few, FEW_VALUES, MACKO_F64, MACKO_OP_N, 1)
DEFINE(any, DOUBLES, MACKO_F64, MACKO_OP_N, 1)
DEFINE(any, DOUBLES, MACKO_F64, MACKO_OP_N, MACKO_GROUP)
DEFINE(any, DOUBLES, MACKO_F64, MACKO_OP_T, 1)
DEFINE(any, DOUBLES, MACKO_F64, MACKO_OP_T, MACKO_GROUP)
DEFINE(any, DOUBLES, MACKO_F32, MACKO_OP_N, 1)
DEFINE(any, DOUBLES, MACKO_F32, MACKO_OP_N, MACKO_GROUP)
DEFINE(any, DOUBLES, MACKO_F32, MACKO_OP_T, 1)
DEFINE(any, DOUBLES, MACKO_F32, MACKO_OP_T, MACKO_GROUP)

static void NAME(multiply)(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to)
{
  for (int64_t done = 0; done < p->k;) {
    macko_product q = macko_product_from(p, done);
    macko_type stored = m->plan.stored_type;
    int whole = p->k - done >= MACKO_GROUP, plain = p->op == MACKO_OP_N, f64 = p->vector_type == MACKO_F64;
    done += whole ? MACKO_GROUP : 1;
#define RUN(codec, vector, op, group) NAME(codec##vector##op##group)(m, &q, from, to)
#define RUN_GROUP(codec, vector, op) (whole ? RUN(codec, vector, op, MACKO_GROUP) : RUN(codec, vector, op, 1))
    if (plain && f64 && stored == MACKO_F32) RUN_GROUP(f32, MACKO_F64, MACKO_OP_N);
    else if (plain && !whole && stored == MACKO_F32) RUN(f32, MACKO_F32, MACKO_OP_N, 1);
    else if (plain && f64 && !whole && stored == MACKO_F64) RUN(f64, MACKO_F64, MACKO_OP_N, 1);
    else if (plain && f64 && !whole && stored == MACKO_I8) RUN(i8, MACKO_F64, MACKO_OP_N, 1);
    else if (plain && f64 && !whole && stored == MACKO_U8 && m->plan.table <= WIDTH && WIDTH == 8)
      RUN(few, MACKO_F64, MACKO_OP_N, 1);
    else if (plain && f64 && !whole && stored == MACKO_U8) RUN(u8, MACKO_F64, MACKO_OP_N, 1);
    else if (plain && f64 && !whole && stored == MACKO_BF16) RUN(bf16, MACKO_F64, MACKO_OP_N, 1);
    else if (plain && f64) RUN_GROUP(any, MACKO_F64, MACKO_OP_N);
    else if (f64) RUN_GROUP(any, MACKO_F64, MACKO_OP_T);
    else if (plain) RUN_GROUP(any, MACKO_F32, MACKO_OP_N);
    else RUN_GROUP(any, MACKO_F32, MACKO_OP_T);
  }
}

#undef RUN
#undef RUN_GROUP
#undef DEFINE
#undef DEFINE_STENCILS
#undef PARTS
#undef LOOK_UP
#undef CONVERT
#undef INLINE
#undef WIDTH
#undef TARGET
#undef NAME
