/* Of macko_slice_kernel.h: steps of the lanes from `first` on that fit into `parts` vectors. */

/* sum[j * parts + p] += a x in the lanes where active is all ones. */
INLINE void NAME(add_masked)(NAME(f64) *sum, NAME(f64) a, NAME(f64) x, NAME(i32) active)
{
#if WIDTH == 8
  *sum = (NAME(f64))_mm512_mask3_fmadd_pd((__m512d)a, (__m512d)x, (__m512d)*sum, _mm256_movepi32_mask((__m256i)active));
#else
  *sum += (NAME(f64))((NAME(i64))(a * x) & CONVERT(i64, active));
#endif
}

/* Steps from to from + steps - 1, whose columns are in *block. look: some vectors of lanes have columns that are consecutive or
 * nearby, in all steps of the block, so that the branch on it is foreseen; such lanes all have these steps. */
INLINE void NAME(block_steps)(const open_slice *o, const column_block *block, const slice_values *v, const macko_product *q,
                              int64_t from, int steps, int masked, int look, int first, NAME(f64) few, NAME(f64) *sum,
                              int parts, int stored, macko_type vector, macko_op op, int group)
{
  NAME(neighbours) near[4];
  for (int p = 0; look && p < parts; p++)
    if (block->run[first / WIDTH + p] == NEARBY) NAME(find_neighbours)(block->cols + first + p * WIDTH, &near[p]);
  for (int k = 0; k < steps; k++)
#pragma GCC unroll 8
    for (int p = 0; p < parts; p++) {
      const int32_t *cols = block->cols + k * MACKO_SLICE_ROWS + first + p * WIDTH;
      NAME(i32) active = {0};
      NAME(f64) a, x;
      int run = look ? block->run[first / WIDTH + p] : SCATTERED;
      NAME(values)(v, stored, from + k, first + p * WIDTH, few, &a);
      if (masked && !run) active = *(const NAME(i32_at) *)(o->lengths + first + p * WIDTH) > (int32_t)(from + k);
#pragma GCC unroll 8
      for (int j = 0; j < group; j++) {
        NAME(f64) *s = &sum[j * parts + p];
        if (op == MACKO_OP_T)
          for (int l = 0; l < WIDTH; l++) {
            if (!masked || active[l]) macko_add_y(vector, q, j, cols[l], a[l] * (*s)[l]);
          }
        else {
          if (run == CONSECUTIVE) NAME(load)(vector, macko_x_of(vector, q, j), cols[0], &x);
          else if (WIDTH == 8 && run == NEARBY) NAME(load_neighbours)(vector, macko_x_of(vector, q, j), cols[0], &near[p], &x);
          else NAME(gather)(vector, macko_x_of(vector, q, j), cols, &x);
          if (masked && !run) NAME(add_masked)(s, a, x, active);
          else *s += a * x;
        }
      }
    }
}

/* All lanes have consecutive columns from col on. */
INLINE void NAME(run_step)(const slice_values *v, const macko_product *q, int64_t k, int64_t col, int first, NAME(f64) few,
                           NAME(f64) *sum, int parts, int stored, macko_type vector, macko_op op, int group)
{
#pragma GCC unroll 8
  for (int p = 0; p < parts; p++) {
    NAME(f64) a, x;
    NAME(values)(v, stored, k, first + p * WIDTH, few, &a);
#pragma GCC unroll 8
    for (int j = 0; j < group; j++) {
      if (op == MACKO_OP_N) {
        NAME(load)(vector, macko_x_of(vector, q, j), col + p * WIDTH, &x);
        sum[j * parts + p] += a * x;
      } else {
        NAME(load)(vector, macko_y_of(vector, q, j), col + p * WIDTH, &x);
        NAME(store)(vector, macko_y_of(vector, q, j), col + p * WIDTH, x + a * sum[j * parts + p]);
      }
    }
  }
}

/* Sums start at 0 (op N) or alpha x of their rows (op T). */
INLINE void NAME(begin)(const open_slice *o, const macko_product *q, int first, NAME(f64) *sum, int parts, macko_type vector,
                        macko_op op, int group)
{
#pragma GCC unroll 16
  for (int i = 0; i < group * parts; i++) sum[i] = (NAME(f64)){0};
  for (int l = 0; op == MACKO_OP_T && l < parts * WIDTH && first + l < o->lanes; l++)
    for (int j = 0; j < group; j++)
      sum[j * parts + l / WIDTH][l % WIDTH] = q->alpha * macko_x(vector, q, j, row_of(o, first + l));
}

INLINE void NAME(finish)(const open_slice *o, const macko_product *q, int first, const NAME(f64) *sum, int parts,
                         macko_type vector, int group)
{
#pragma GCC unroll 8
  for (int p = 0; p < parts; p++)
#pragma GCC unroll 8
    for (int j = 0; j < group; j++) {
      int lane = first + p * WIDTH;
      NAME(f64) y = q->alpha * sum[j * parts + p], old;
      if (o->ordered || lane + WIDTH > o->lanes)
        for (int l = 0; l < WIDTH && lane + l < o->lanes; l++) macko_put_y(vector, q, j, row_of(o, lane + l),
                                                                           sum[j * parts + p][l]);
      else {
        if (q->beta != 0) NAME(load)(vector, macko_y_of(vector, q, j), o->first_row + lane, &old), y += q->beta * old;
        NAME(store)(vector, macko_y_of(vector, q, j), o->first_row + lane, y);
      }
    }
}
