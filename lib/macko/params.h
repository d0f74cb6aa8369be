/* The numbers that a plan of format macko keeps, by layout and name. */
#ifndef MACKO_PARAMS_H
#define MACKO_PARAMS_H

#include "core/format.h"

typedef union {
  int64_t all[MACKO_MAX_PARAMS]; /* as plan.params and files have them */
  struct {
    int64_t base_mode, base_bias, base_bytes, long_gaps;
  } row;
  struct {
    int64_t window, block_words;
    int64_t value_units[4]; /* for elements of 1, 2, 4 and 8 bytes */
    int64_t stencils;
  } slice;
  struct {
    int64_t marker, stored;
  } paper;
} macko_params;

static inline const macko_params *macko_params_of(const macko_plan *plan)
{
  return (const macko_params *)plan->params;
}

static inline macko_params *macko_set_params(macko_plan *plan)
{
  return (macko_params *)plan->params;
}

#endif
