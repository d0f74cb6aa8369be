/* The numbers that a plan of format macko keeps, by layout and name. */
#ifndef MACKO_PARAMS_H
#define MACKO_PARAMS_H

#include "core/format.h"

/* These are the numbers of a plan, once as the array that plan.params and files hold, and once by the names that each layout
 * gives them. Which struct counts follows from plan.layout. doc/formats/macko.md numbers them in this order. */
typedef union {
  int64_t all[MACKO_MAX_PARAMS]; /* as plan.params and files have them */
  struct {
    /* This is how base columns are stored: MACKO_BASE_..., what is added to all of them, bytes of an element of section "base";
     * and the elements of section "long_gaps". */
    int64_t base_mode, base_bias, base_bytes, long_gaps;
  } row;
  struct {
    int64_t window, block_words; /* rows sorted together, 0 for rows in their order; words of section "blocks" */
    int64_t value_units[4];      /* units of 128 bytes for elements of 1, 2, 4 and 8 bytes: refresh may change the codec */
    int64_t stencils, masked;    /* how many slices are stencils, and how many are masked */
  } slice;
  struct {
    int64_t marker, stored; /* the bits of the value of padding; slots, padding included */
  } paper;
} macko_params;

/* Gives the parameters of a plan by name, to be read. */
static inline const macko_params *macko_params_of(const macko_plan *plan)
{
  return (const macko_params *)plan->params;
}

/* Gives the parameters of a plan by name, to be written. */
static inline macko_params *macko_set_params(macko_plan *plan)
{
  return (macko_params *)plan->params;
}

#endif
