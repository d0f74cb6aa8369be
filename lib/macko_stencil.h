/* The multiply of a slice that is a stencil: no index and no value is read per entry. For files compiled as clones. */
#ifndef MACKO_STENCIL_H
#define MACKO_STENCIL_H

#include "macko_slice.h"
#include "product.h"

static inline __attribute__((always_inline)) void macko_stencil_entry(const macko_product *q, double value, int64_t col, int lane,
                                                                      double sum[MACKO_GROUP][MACKO_SLICE_ROWS], macko_type vector,
                                                                      macko_op op, int group)
{
  for (int j = 0; j < group; j++)
    if (op == MACKO_OP_N) sum[j][lane] += value * macko_x(vector, q, j, col);
    else macko_add_y(vector, q, j, col, value * sum[j][lane]);
}

static inline __attribute__((always_inline)) void macko_multiply_stencil(const slice_reader *r, int64_t slice, macko_type type,
                                                                         const macko_product *q, macko_type vector, macko_op op,
                                                                         int group)
{
  macko_slice s = macko_slice_at(r->headers, slice);
  int lanes = macko_slice_lanes(r, slice);
  double sum[MACKO_GROUP][MACKO_SLICE_ROWS];
  for (int j = 0; j < group; j++)
    for (int l = 0; l < MACKO_SLICE_ROWS; l++)
      sum[j][l] = op == MACKO_OP_T && l < lanes ? q->alpha * macko_x(vector, q, j, s.base + l) : 0;
  for (uint32_t k = 0; k < s.steps; k++) {
    macko_stencil_step step = macko_stencil_at(&s, r->blocks, k);
    double value = macko_float_at(type, &step.value, 0);
    int64_t col = (int64_t)s.base + step.distance;
    if (step.lanes == 0xffffffffu)
      for (int l = 0; l < MACKO_SLICE_ROWS; l++) macko_stencil_entry(q, value, col + l, l, sum, vector, op, group);
    else
      for (int l = 0; l < MACKO_SLICE_ROWS; l++)
        if (step.lanes >> l & 1) macko_stencil_entry(q, value, col + l, l, sum, vector, op, group);
  }
  if (op == MACKO_OP_N)
    for (int j = 0; j < group; j++)
      for (int l = 0; l < lanes; l++) macko_put_y(vector, q, j, s.base + l, sum[j][l]);
}

#endif
