/* What layout slice would take, by exact count: the order of rows, stencils, blocks stored once, and codec pairs, which changes
 * the blocks. */
#include "core/cost.h"
#include "core/threads.h"
#include "macko/slice_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_SLICE_WINDOW };

/* Stencils hold values as they are. */
static int stencils_allowed(const macko_csr *a, const macko_options *options)
{
  int as_they_are = options->values == MACKO_VALUES_AUTO || options->values == MACKO_VALUES_RAW;
  return as_they_are && a->nrows <= INT32_MAX ? MACKO_STENCILS : 0;
}

static int64_t plan_bytes(const macko_csr *a, const macko_slice_facts *p)
{
  return macko_slices_of(a->nrows) * 16 + p->block_words * 4 + p->order_bytes;
}

static int some_stencils(const macko_csr *a, const macko_slice_facts *p)
{
  return p->stencils > 0 && p->stencils < macko_slices_of(a->nrows);
}

static int64_t padding(const macko_slice_facts *p)
{
  return p->units[2] * MACKO_SLICE_ROWS - p->streamed;
}

/* Predicted for everything but bytes and values. */
static double plan_work(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  double paired = p->wide_pairs ? cost->wide_paired : cost->paired + (double)p->pairs * cost->pair;
  return cost->product + (double)p->stencil * cost->stencil + (double)p->uniform * cost->uniform + (double)p->run * cost->run + (double)p->listed * cost->listed + (double)p->walked * cost->walked +
         (double)p->paired * paired + (double)p->run_paired * cost->run_paired + (double)padding(p) * cost->padded +
         (double)(macko_slices_of(a->nrows) - p->stencils) * cost->slice + (double)p->longest * cost->step +
         (p->window ? (double)a->nrows * cost->ordered_row : 0) +
         (some_stencils(a, p) ? (double)macko_slices_of(a->nrows) * cost->passed : 0);
}

/* As if values took 4 bytes, to compare two orders of rows. */
static macko_plan with_values(const macko_csr *a, const macko_options *options, const macko_slice_facts *p)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_plan plan = {.bytes = plan_bytes(a, p) + p->units[2] * MACKO_VALUE_UNIT, .work = plan_work(a, cost, p), .drag = cost->drag};
  macko_set_time(options, a, &plan);
  return plan;
}

/* The best that sorted rows could be: no padding, no block, x as it lies everywhere. */
static macko_plan best_sorted(const macko_csr *a, int64_t nnz, const macko_options *options)
{
  macko_slice_facts p = {.window = WINDOW, .order_bytes = 2 * a->nrows, .uniform = nnz};
  p.units[2] = (nnz + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  return with_values(a, options, &p);
}

enum { SAMPLE_EVERY = 16, SAMPLE_PARTS = 16 };

typedef struct {
  const macko_csr *a;
  int sorted;
  int64_t first; /* window */
  macko_slice_facts parts[SAMPLE_PARTS];
} sampling;

static void sample_windows(void *context, int part, int64_t from, int64_t to)
{
  enum { SLICES = WINDOW / MACKO_SLICE_ROWS };
  sampling *s = context;
  macko_slice_facts facts = {0};
  macko_csr_slice c;
  uint16_t order[WINDOW];
  for (; from < to; from++) {
    int64_t w = s->first + from * SAMPLE_EVERY;
    if (s->sorted) macko_sort_window(s->a, w * WINDOW, order);
    for (int64_t i = w * SLICES; i < (w + 1) * SLICES && i * MACKO_SLICE_ROWS < s->a->nrows; i++) {
      macko_look_at_slice(s->a, s->sorted ? order : NULL, s->sorted ? 0 : MACKO_STENCILS, i, &c);
      macko_count_csr_slice(s->a, &c, &facts);
      for (int l = 0; l < c.lanes && c.s.stencil; l++) facts.streamed += c.length[l]; /* those of stencils too */
    }
  }
  s->parts[part] = facts;
}

/* Slots of a few windows of rows without their blocks: every 16th window, or the one in the middle. */
static void sample(const macko_csr *a, int sorted, macko_slice_facts *p)
{
  int64_t windows = (a->nrows + WINDOW - 1) / WINDOW;
  sampling s = {.a = a, .sorted = sorted, .first = windows > SAMPLE_EVERY / 2 ? SAMPLE_EVERY / 2 : windows / 2};
  const macko_cut cut = {.n = (windows - s.first + SAMPLE_EVERY - 1) / SAMPLE_EVERY};
  int parts = macko_parts(macko_csr_nnz(a) / SAMPLE_EVERY);
  if (parts > SAMPLE_PARTS) parts = SAMPLE_PARTS;
  macko_do_parts(&cut, parts, sample_windows, &s);
  memset(p, 0, sizeof *p);
  for (int i = 0; i < parts; i++) macko_add_counts(p, &s.parts[i]);
}

static macko_slice_estimate estimate_by(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  double scale = p->streamed ? (double)macko_csr_nnz(a) / (double)p->streamed : 0;
  double columns = (double)p->stencil * cost->stencil + (double)p->uniform * cost->uniform + (double)p->run * cost->run +
                   (double)p->listed * cost->listed + (double)p->walked * cost->walked;
  return (macko_slice_estimate){scale * columns, scale * (double)(p->uniform + p->run + p->listed + p->walked)};
}

macko_status macko_host_sample(void *context, const macko_options *options, int sorted, macko_slice_estimate *estimate,
                               macko_error *err)
{
  macko_findings *f = context;
  macko_slice_findings *found = macko_slice_findings_of(f);
  macko_slice_facts p;
  if (!found) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for what is known of slices");
  if (!found->sampled[sorted]) {
    sample(f->csr, sorted, &p);
    found->estimates[sorted] = estimate_by(f->csr, macko_cost_of(options), &p);
    found->sampled[sorted] = 1;
  }
  *estimate = found->estimates[sorted];
  return MACKO_OK;
}

/* The part of a plan that is no value's. */
static void fill_plan(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p, macko_plan *plan)
{
  macko_params *params = macko_set_params(plan);
  plan->bytes = plan_bytes(a, p);
  plan->work = plan_work(a, cost, p), plan->drag = cost->drag;
  params->slice.window = p->window, params->slice.block_words = p->block_words, params->slice.stencils = p->stencils;
  for (int e = 0; e < 4; e++) params->slice.value_units[e] = p->units[e];
  snprintf(plan->reason, sizeof plan->reason,
           "layout slice: %lld bytes of gaps for %lld slices, %lld of them stencils%s, %lld of %lld slots padding%s",
           (long long)p->block_words * 4, (long long)macko_slices_of(a->nrows), (long long)p->stencils,
           p->stencils ? " (their values are in their blocks)" : "", (long long)padding(p),
           (long long)p->units[2] * MACKO_SLICE_ROWS, p->window ? ", rows sorted by length in windows of 4096" : "");
}

/* ---- the order of rows by a sample: only for choices that no GPU makes, which looks at all ---- */

static int may_sample(const macko_facts *f, const macko_options *options)
{
  return options->format == MACKO_FORMAT_AUTO && options->prefer == MACKO_PREFER_TIME && options->target == MACKO_TARGET_CPU &&
         macko_columns_of(f)->sample != NULL;
}

/* Of a multiply, but for what depends on the codec, in an order of rows; 0 where the sample is empty. */
static macko_status time_by_sample(const macko_facts *f, const macko_options *options, int sorted, double *time, double *padding,
                                   macko_error *err)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_estimate e;
  macko_status s = macko_columns_of(f)->sample(f->context, options, sorted, &e, err);
  if (s) return s;
  macko_plan plan = {.work = e.columns, .bytes = (int64_t)(e.slots * 4), .drag = cost->drag};
  if (e.slots > (double)f->nnz) plan.work += (e.slots - (double)f->nnz) * cost->padded;
  if (sorted && e.columns > 0) plan.work += (double)f->csr->nrows * cost->ordered_row, plan.bytes += 2 * f->csr->nrows;
  macko_set_time(options, f->csr, &plan);
  *time = e.columns > 0 ? plan.time : 0;
  if (padding) *padding = e.slots - (double)f->nnz;
  return MACKO_OK;
}

/* *sorted: rows sorted by length multiply faster for sure, so that their own order need not be looked at. */
static macko_status surely_sorted(const macko_facts *f, const macko_options *options, int *sorted, macko_error *err)
{
  double time[2], padding;
  *sorted = 0;
  if (!may_sample(f, options)) return MACKO_OK;
  macko_status s = time_by_sample(f, options, 0, &time[0], &padding, err);
  if (s || time[0] == 0 || padding <= (double)f->csr->nrows) return s;
  s = time_by_sample(f, options, 1, &time[1], NULL, err);
  *sorted = !s && time[0] > 1.1 * time[1]; /* a tenth for what the sample missed */
  return s;
}

/* *unsorted: they do not, for sure. */
static macko_status surely_unsorted(const macko_facts *f, const macko_options *options, int *unsorted, macko_error *err)
{
  double time[2];
  *unsorted = 0;
  if (!may_sample(f, options)) return MACKO_OK;
  macko_status s = time_by_sample(f, options, 0, &time[0], NULL, err);
  if (!s) s = time_by_sample(f, options, 1, &time[1], NULL, err);
  *unsorted = !s && time[1] > 1.1 * time[0];
  return s;
}

/* *best as if no slice were a stencil, where that is better: both kinds together cost more than either. */
static macko_status without_stencils(const macko_facts *f, const macko_options *options, macko_slice_facts *best,
                                     macko_error *err)
{
  macko_slice_facts plain;
  macko_status s = macko_columns_of(f)->slices(f->context, 0, 0, &plain, err);
  if (s) return s;
  macko_plan one = with_values(f->csr, options, &plain), both = with_values(f->csr, options, best);
  if (macko_better(options, &one, &both)) *best = plain;
  return MACKO_OK;
}

/* Rows sorted by length in place of *best, where that is better. Sorting pays where it saves more padding, at 4 bytes a slot, than
 * the order of rows costs. */
static macko_status try_sorted(const macko_facts *f, const macko_options *options, macko_slice_facts *best, macko_error *err)
{
  macko_plan hoped = best_sorted(f->csr, f->nnz, options), unsorted = with_values(f->csr, options, best);
  macko_slice_facts sorted;
  int hopeless;
  if (padding(best) <= f->csr->nrows || !macko_better(options, &hoped, &unsorted)) return MACKO_OK;
  macko_status s = surely_unsorted(f, options, &hopeless, err);
  if (!s && !hopeless) s = macko_columns_of(f)->slices(f->context, 1, 0, &sorted, err);
  if (s || hopeless) return s;
  macko_plan one = with_values(f->csr, options, &sorted);
  if (macko_better(options, &one, &unsorted)) *best = sorted;
  return MACKO_OK;
}

macko_status macko_slice_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_facts best;
  int sorted;
  macko_status s = surely_sorted(f, options, &sorted, err);
  if (!s) s = macko_columns_of(f)->slices(f->context, sorted, sorted ? 0 : stencils_allowed(a, options), &best, err);
  if (!s && some_stencils(a, &best) && cost->passed > 0) s = without_stencils(f, options, &best, err);
  if (!s && !sorted) s = try_sorted(f, options, &best, err);
  if (!s) fill_plan(a, cost, &best, plan);
  return s;
}

macko_plan macko_slice_hope_joint(const macko_options *options, const macko_plan *pattern)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_plan hoped = *pattern;
  int64_t block_bytes = macko_params_of(pattern)->slice.block_words * 4, slots = macko_slice_value_slots(pattern, 1);
  hoped.bytes -= block_bytes;
  if (cost->walked > cost->paired) hoped.work -= (double)slots * cost->walked;
  return hoped;
}

macko_status macko_slice_plan_joint(const macko_facts *f, const macko_options *options, const macko_plan *pattern,
                                    macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  macko_slice_facts facts;
  int sorted = macko_params_of(pattern)->slice.window > 0, wide = 0;
  int stencils = macko_params_of(pattern)->slice.stencils > 0 ? MACKO_STENCILS : 0;
  macko_status s = macko_columns_of(f)->slices(f->context, sorted, MACKO_PAIRS | stencils, &facts, err);
  if (!s && facts.pairs >= 0 && a->value_type != MACKO_F16) s = f->values.misfit(f->values.context, MACKO_F16, &wide, err);
  if (s) return s;
  if (facts.pairs < 0) return macko_too_many_pairs(err);
  facts.wide_pairs |= wide;
  *plan = *pattern;
  fill_plan(a, macko_cost_of(options), &facts, plan);
  plan->table = facts.pairs;
  return MACKO_OK;
}
