/* What a product takes by the counts of slices, for every kind of slot and for the longest slice, besides bytes and values. */
#include "macko/slice_cost.h"

#include "macko/layouts.h"
#include "macko/slice_apart.h"
#include "macko/slice_blocks.h"

#include <math.h>

int macko_some_stencils(const macko_csr *a, const macko_slice_facts *p)
{
  return p->stencils > 0 && p->stencils < macko_slices_of(a->nrows);
}

int64_t macko_slice_padding(const macko_slice_facts *p)
{
  return p->units[2] * MACKO_SLICE_ROWS - p->streamed;
}

double macko_slice_slots(const macko_slice_facts *p)
{
  return (double)(p->uniform + p->run + p->listed + p->walked);
}

double macko_slice_overhead(const macko_cost *cost, const macko_slice_facts *p, double slices)
{
  const double slots = macko_slice_slots(p), walked = slots > 0 ? (double)p->walked / slots : 0;
  return slices * (cost->slice + walked * cost->walked_slice);
}

/* Gives the share, 0 to 1, of the warps that run at once on a GPU that is missing in the last wave of so many, which may be the
 * only one: it hides less of its waits then. */
static double missing_of_last_wave(int64_t warps)
{
  const double waves = (double)warps / MACKO_SLICE_WARPS;
  return ceil(waves) - waves;
}

/* Gives the steps of the longest slice up to twice the mean. */
static double even_steps(const macko_slice_facts *p, int64_t slices)
{
  const double twice = slices > p->stencils ? 2 * (double)p->units[2] / (double)(slices - p->stencils) : (double)p->longest;
  return fmin((double)p->longest, twice);
}

/* In each round of its steps a product waits for the gaps first, as far as they are not loaded ahead, and then for x. Rounds of
 * values of two bytes have twice the steps. Warps that share a slice each go through the gaps before their own steps, so that two
 * of them spare less than half, and are more warps. Where a GPU has room for more warps than there are, steps take longer. Steps
 * beyond twice the mean come when most other slices are done. */
double macko_slice_wait(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  const int64_t slices = macko_slices_of(a->nrows);
  const double slots = macko_slice_slots(p);
  const int split = macko_slice_split(slices, p->units[2]);
  double step = slots > 0 ? (4 * cost->step_gap * (double)p->block_words + cost->step_listed * (double)p->listed) / slots : 0;
  if (a->value_type != MACKO_F64) step *= 1 - cost->step_ahead / split;
  const double missing = missing_of_last_wave(slices * split);
  const int alone = slices * split <= MACKO_SLICE_WARPS;
  step += cost->step + (alone ? missing * cost->step_alone : 0);
  if (macko_type_bytes(a->value_type) <= 2) step /= 2;
  const double waits = step * (alone ? 1 : 1 + cost->last_wave * missing);
  const double single = cost->step_uneven_single / (macko_type_bytes(a->value_type) <= 2 ? 2 : 1);
  const double uneven = a->value_type == MACKO_F64 ? cost->step_uneven : single, even = even_steps(p, slices);
  return (even * waits + ((double)p->longest - even) * fmax(waits, uneven)) / sqrt(split);
}

/* Of what such a row waits for this has the least: no gaps, all warps there at once, values of 8 bits, and all that x in a cache
 * spares. */
double macko_slice_least_time(const macko_facts *f, const macko_options *options, int64_t longest)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  const double step = macko_type_bytes(a->value_type) <= 2 ? cost->step / 2 : cost->step;
  const int split = macko_slice_split(macko_slices_of(a->nrows), INT64_MAX);
  return (double)longest * step * fmin(cost->step_bytes, cost->step_bytes_single) / sqrt(split) - macko_slice_spared(f, options);
}

/* Gives the nanoseconds that warps take which share a slice with others. */
static double warps_time(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  const int64_t slices = macko_slices_of(a->nrows);
  return (double)slices * (macko_slice_split(slices, p->units[2]) - 1) * cost->slice_warp;
}

double macko_slice_work(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  double paired = p->wide_pairs ? cost->wide_paired : cost->paired + (double)p->pairs * cost->pair;
  double single = a->value_type == MACKO_F32 ? cost->slot_single : 0;
  const double slices = (double)macko_slices_of(a->nrows);
  return cost->product + macko_slice_slots(p) * single + (double)p->stencil * cost->stencil +
         (double)p->stencils * cost->stencil_slice + (double)p->uniform * cost->uniform + (double)p->run * cost->run +
         (double)p->listed * cost->listed +
         (double)p->walked * cost->walked + (double)p->paired * paired + (double)p->run_paired * cost->run_paired +
         (double)macko_slice_padding(p) * cost->padded +
         macko_slice_overhead(cost, p, slices - (double)p->stencils) + warps_time(a, cost, p) +
         (p->window ? (double)a->nrows * cost->ordered_row : 0) + p->apart * cost->apart +
         (macko_some_stencils(a, p) ? slices * cost->passed + (double)p->longest * cost->stencil_step : 0);
}

/* Lanes side by side have gaps of their own, too, where slices are not uniform, and so have those whose gaps are looked up by codes
 * of pairs. */
double macko_slice_drag(const macko_cost *cost, const macko_slice_facts *p)
{
  const double gaps = (double)(p->walked + p->run + p->paired + p->run_paired), all = gaps + (double)(p->uniform + p->listed);
  return cost->even_drag + (cost->drag - cost->even_drag) * (all > 0 ? gaps / all : 0);
}
