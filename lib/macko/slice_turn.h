/* Doubles of the rows of a slice written into its slots past the caches. */
#ifndef MACKO_SLICE_TURN_H
#define MACKO_SLICE_TURN_H

#include "macko.h"

#include <stdint.h>

/* Writes the first `steps` doubles of MACKO_SLICE_ROWS rows, which begin at values[begin[0]] and so on, step by step into slots of
 * type `to`, f64 or f32, past the caches, so that the old bytes are not read first. Gives how many steps it has written: all of
 * them, or none where the processor lacks the instructions. Later stores are ordered behind these by macko_order_stores. */
int64_t macko_turn_past_caches(const double *values, const int64_t *begin, int64_t steps, macko_type to, void *slots);
void macko_order_stores(void);

#endif
