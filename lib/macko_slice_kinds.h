/* Of macko_slice_kernel.h: whole slices of each kind. */

/* Slices of one list of distances whose lanes begin nearby, all of them there and equally long. Returns 0, with nothing done,
 * where lanes are further apart. */
INLINE int NAME(nearby_slice)(const open_slice *o, slice_values *v, const macko_product *q, NAME(f64) few, int parts,
                              int stored, macko_type vector, int group)
{
  NAME(neighbours) near[MACKO_SLICE_ROWS / WIDTH];
  for (int i = 0; i < MACKO_SLICE_ROWS / WIDTH; i++) {
    const int32_t *cols = o->cols + i * WIDTH;
    if (NAME(how_apart)(*(const NAME(u32_at) *)cols - (uint32_t)cols[0]) == SCATTERED) return 0;
    NAME(find_neighbours)(cols, &near[i]);
  }
  for (int first = 0; first < MACKO_SLICE_ROWS; first += parts * WIDTH) {
    NAME(f64) sum[16], a, x;
    NAME(begin)(o, q, first, sum, parts, vector, MACKO_OP_N, group);
    for (int64_t k = 0, end = 0; k < o->s.steps; k++) {
      int64_t distance = k ? (int64_t)o->gaps[k - 1] : 0;
      if (k == end) end += NAME(open_steps)(v, stored, k, o->s.steps, first, parts * WIDTH);
#pragma GCC unroll 8
      for (int p = 0; p < parts; p++) {
        int lane = first + p * WIDTH;
        NAME(values)(v, stored, k, lane, few, &a);
#pragma GCC unroll 8
        for (int j = 0; j < group; j++) {
          NAME(load_neighbours)(vector, macko_x_of(vector, q, j), o->cols[lane] + distance, &near[lane / WIDTH], &x);
          sum[j * parts + p] += a * x;
        }
      }
    }
    NAME(finish)(o, q, first, sum, parts, vector, group);
  }
  return 1;
}

INLINE void NAME(uniform_slice)(const open_slice *o, slice_values *v, const macko_product *q, NAME(f64) few, int parts,
                                int stored, macko_type vector, macko_op op, int group)
{
  for (int first = 0; first < MACKO_SLICE_ROWS; first += parts * WIDTH) {
    NAME(f64) sum[16];
    NAME(begin)(o, q, first, sum, parts, vector, op, group);
    for (int64_t k = 0, end = 0; k < o->s.steps; k++) {
      int64_t col = (int64_t)o->s.base + first + (k ? (int64_t)o->gaps[k - 1] : 0);
      if (k == end) end += NAME(open_steps)(v, stored, k, o->s.steps, first, parts * WIDTH);
      NAME(run_step)(v, q, k, col, first, few, sum, parts, stored, vector, op, group);
    }
    if (op == MACKO_OP_N) NAME(finish)(o, q, first, sum, parts, vector, group);
  }
}

/* Columns col, col + 1, ... of WIDTH lanes, 0 in the lanes that are not in bits, whose columns may be outside. */
INLINE void NAME(load_lanes)(macko_type vector, const void *array, int64_t col, uint32_t bits, NAME(f64) *to)
{
#if WIDTH == 8
  if (vector == MACKO_F64) {
    *to = (NAME(f64))_mm512_maskz_loadu_pd((__mmask8)bits, (const double *)array + col);
    return;
  }
#endif
  double found[WIDTH] = {0};
  for (int l = 0; l < WIDTH; l++)
    if (bits >> l & 1)
      found[l] = vector == MACKO_F64 ? ((const double *)array)[col + l] : (double)((const float *)array)[col + l];
  memcpy(to, found, sizeof *to);
}

INLINE void NAME(stencil_part)(const macko_product *q, NAME(f64) a, int64_t col, uint32_t bits, NAME(f64) *sum, macko_type vector,
                               macko_op op, int j)
{
  int full = bits == (1u << WIDTH) - 1;
  NAME(f64) x;
  if (op == MACKO_OP_T) {
    NAME(f64) terms = a * *sum;
    for (int l = 0; l < WIDTH; l++)
      if (bits >> l & 1) macko_add_y(vector, q, j, col + l, terms[l]);
  } else if (full) {
    NAME(load)(vector, macko_x_of(vector, q, j), col, &x);
    *sum += a * x;
  } else if (bits) {
    NAME(load_lanes)(vector, macko_x_of(vector, q, j), col, bits, &x);
    NAME(add_masked)(sum, a, x, (((NAME(u32)){0} + bits) & ((NAME(u32)){0} + 1) << NAME(numbers)) != 0);
  }
}

/* No index and no value is read per entry. */
INLINE void NAME(stencil_slice)(const open_slice *o, const slice_reader *r, macko_type type, const macko_product *q, int parts,
                                macko_type vector, macko_op op, int group)
{
  for (int first = 0; first < MACKO_SLICE_ROWS; first += parts * WIDTH) {
    NAME(f64) sum[16];
    NAME(begin)(o, q, first, sum, parts, vector, op, group);
    for (uint32_t k = 0; k < o->s.steps; k++) {
      macko_stencil_step step = macko_stencil_at(&o->s, r->blocks, k);
      NAME(f64) a = (NAME(f64)){0} + macko_float_at(type, &step.value, 0);
      int64_t col = (int64_t)o->s.base + step.distance + first;
#pragma GCC unroll 8
      for (int p = 0; p < parts; p++)
#pragma GCC unroll 8
        for (int j = 0; j < group; j++)
          NAME(stencil_part)(q, a, col + p * WIDTH, step.lanes >> (first + p * WIDTH) & ((1u << WIDTH) - 1), &sum[j * parts + p],
                             vector, op, j);
    }
    if (op == MACKO_OP_N) NAME(finish)(o, q, first, sum, parts, vector, group);
  }
}

INLINE void NAME(any_slice)(open_slice *o, slice_values *v, const macko_product *q, NAME(f64) few, int parts, int stored,
                            macko_type vector, macko_op op, int group)
{
  const int passes = MACKO_SLICE_ROWS / WIDTH / parts;
  NAME(f64) sums[MACKO_GROUP * MACKO_SLICE_ROWS / WIDTH];
  column_block block;
  for (int i = 0; i < passes; i++) NAME(begin)(o, q, i * parts * WIDTH, sums + i * parts * group, parts, vector, op, group);
  for (int64_t from = 0, steps; from < o->s.steps; from += steps) {
    int masked = from >= o->shortest;
    int64_t end = masked ? o->s.steps : o->shortest;
    steps = end - from < BLOCK_STEPS ? end - from : BLOCK_STEPS;
    if (o->s.gap_bits == MACKO_GAP_PAIRS) NAME(pair_columns)(o, v, from, (int)steps, masked, o->cols, &block);
    else NAME(columns)(o, from, (int)steps, masked, o->cols, &block);
    NAME(open_steps)(v, stored, from, from + steps, 0, MACKO_SLICE_ROWS);
    for (int i = 0; i < passes; i++) {
      NAME(f64) sum[16];
#pragma GCC unroll 16
      for (int s = 0; s < group * parts; s++) sum[s] = sums[i * parts * group + s];
      int first = i * parts * WIDTH;
#define STEPS(masked, look) \
  NAME(block_steps)(o, &block, v, q, from, (int)steps, masked, look, first, few, sum, parts, stored, vector, op, group)
      if (op == MACKO_OP_N && o->look && masked) STEPS(1, 1);
      else if (op == MACKO_OP_N && o->look) STEPS(0, 1);
      else if (masked) STEPS(1, 0);
      else STEPS(0, 0);
#undef STEPS
#pragma GCC unroll 16
      for (int s = 0; s < group * parts; s++) sums[i * parts * group + s] = sum[s];
    }
  }
  for (int i = 0; op == MACKO_OP_N && i < passes; i++)
    NAME(finish)(o, q, i * parts * WIDTH, sums + i * parts * group, parts, vector, group);
}
