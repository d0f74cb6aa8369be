/* What a product takes by the counts of slices. */
#ifndef MACKO_SLICE_COST_H
#define MACKO_SLICE_COST_H

#include "core/cost.h"
#include "macko/macko_facts.h"

/* Tells whether some slices are stencils and others are not, so that a GPU needs both kernels. */
int macko_some_stencils(const macko_csr *a, const macko_slice_facts *p);

/* Give the slots that no entry has, and the slots of values in slices that are no stencils. */
int64_t macko_slice_padding(const macko_slice_facts *p);
double macko_slice_slots(const macko_slice_facts *p);

/* Gives the nanoseconds that so many slices take besides their slots; as many are walked as of the slots. */
double macko_slice_overhead(const macko_cost *cost, const macko_slice_facts *p, double slices);

/* Gives the nanoseconds that a product waits for the longest slice. */
double macko_slice_wait(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p);

/* Gives the nanoseconds that no product on a GPU is predicted to fall below where slices hold a row of so many entries. */
double macko_slice_least_time(const macko_facts *f, const macko_options *options, int64_t longest);

/* Gives the nanoseconds of a product, predicted for everything but bytes, values, and what it waits for. */
double macko_slice_work(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p);

/* Gives the drag (macko_plan in format.h) of slots of all kinds. */
double macko_slice_drag(const macko_cost *cost, const macko_slice_facts *p);

#endif
