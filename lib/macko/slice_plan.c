/* What layout slice would take, by exact count: the order of rows, stencils, blocks stored once, and codec pairs, which changes
 * the blocks. */
#include "core/cost.h"
#include "core/threads.h"
#include "macko/slice_pairs.h"

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

/* Predicted for everything but the values. */
static double plan_time(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  double paired = p->wide_pairs ? cost->wide_paired : cost->paired + (double)p->pairs * cost->pair;
  return (double)plan_bytes(a, p) * cost->byte + (double)p->stencil * cost->stencil + (double)p->uniform * cost->uniform +
         (double)p->run * cost->run + (double)p->listed * cost->listed + (double)p->walked * cost->walked +
         (double)p->paired * paired + (double)p->run_paired * cost->run_paired +
         (double)(macko_slices_of(a->nrows) - p->stencils) * cost->slice + (double)p->longest * cost->step +
         (p->window ? (double)a->nrows * cost->ordered_row : 0) +
         (some_stencils(a, p) ? (double)macko_slices_of(a->nrows) * cost->passed : 0);
}

/* 1 if the rows of those lanes are equally long and begin one column after the other; on meshes the rest follows. */
static int in_line(const macko_csr *a, const macko_csr_slice *c, int first)
{
  for (int l = first; l < first + MACKO_SIDE_BY_SIDE; l++)
    if (!c->length[l] || c->length[l] != c->length[first] || macko_base_distance(a, c, l) != macko_base_distance(a, c,
                                                                                                                 first)) return 0;
  return 1;
}

static void count_slice(const macko_csr *a, const macko_csr_slice *c, macko_slice_facts *p)
{
  unsigned lined = 0;
  int64_t entries = 0;
  int alike = c->s.stencil || macko_is_uniform(&c->s, c->lanes);
  for (int group = 0; group < MACKO_SLICE_ROWS / MACKO_SIDE_BY_SIDE && !alike; group++)
    lined |= (unsigned)in_line(a, c, group * MACKO_SIDE_BY_SIDE) << group;
  for (int l = 0; l < c->lanes; l++) entries += c->length[l];
  macko_count_slice(p, &c->s, c->lanes, lined, entries);
}

/* ---- all slices, in parts ---- */

typedef struct {
  macko_slice_facts facts;
  macko_pair_set pairs;
  macko_block_buffer buffer; /* for a block at a time */
  macko_status status;
  macko_error err;
} part_of_slices;

typedef struct {
  const macko_csr *a;
  int sorted, kinds;
  macko_block_key *keys; /* of all slices */
  part_of_slices *parts;
  int full; /* there are too many pairs */
} all_slices;

static macko_status look_at_next(all_slices *all, part_of_slices *part, const uint16_t *order, int64_t i)
{
  macko_csr_slice c;
  macko_look_at_slice(all->a, order, all->kinds, i, &c);
  if (all->kinds & MACKO_PAIRS && !c.s.stencil && !macko_count_pairs(all->a, &c, &part->pairs)) {
    macko_set(&all->full);
    return MACKO_OK;
  }
  if (c.s.steps >= MACKO_SLICE_MAX_STEPS)
    return macko_fail(&part->err, MACKO_LIMIT, "layout slice holds rows of fewer than %d entries, not %u", MACKO_SLICE_MAX_STEPS,
                      c.s.steps);
  macko_status s = macko_fill_buffer(all->a, &c, &part->buffer, &all->keys[i], &part->err);
  if (!s) count_slice(all->a, &c, &part->facts);
  return s;
}

/* Items are slices or, where rows are sorted, windows. */
static void look_at_part(void *context, int number, int64_t from, int64_t to)
{
  all_slices *all = context;
  part_of_slices *part = &all->parts[number];
  uint16_t order[WINDOW];
  int64_t slices = macko_slices_of(all->a->nrows), per = all->sorted ? WINDOW / MACKO_SLICE_ROWS : 1;
  for (int64_t i = from * per; i < to * per && i < slices && !part->status && !macko_is_set(&all->full); i++) {
    if (all->sorted && i % per == 0) macko_sort_window(all->a, i * MACKO_SLICE_ROWS, order);
    part->status = look_at_next(all, part, all->sorted ? order : NULL, i);
  }
}

/* Blocks stored once, by their hashes. */
static macko_status place_blocks(const all_slices *all, macko_slice_facts *p, macko_error *err)
{
  macko_block_set set;
  int64_t slices = macko_slices_of(all->a->nrows);
  int is_new;
  macko_status s = macko_open_blocks(slices, &set, err);
  if (s) return s;
  for (int64_t i = 0; i < slices; i++)
    macko_place_block(&set, all->keys[i].hash, all->keys[i].words, (int)all->keys[i].align, NULL, &is_new);
  s = macko_count_blocks(p, &set, err);
  macko_close_blocks(&set);
  return s;
}

/* The first part that failed speaks for all. */
static macko_status add_parts(all_slices *all, int parts, macko_slice_facts *p, macko_error *err)
{
  macko_pair_set *pairs = &all->parts[0].pairs;
  for (int i = 0; i < parts; i++) {
    if (all->parts[i].status) return macko_fail(err, all->parts[i].status, "%s", all->parts[i].err.text);
    macko_add_counts(p, &all->parts[i].facts);
    if (i && !macko_add_pairs_of(pairs, &all->parts[i].pairs, NULL)) all->full = 1;
  }
  p->pairs = all->full ? -1 : pairs->used;
  for (int i = 0; i < pairs->used; i++) p->wide_pairs |= pairs->gaps[i] >> 16 != 0;
  return all->full ? MACKO_OK : place_blocks(all, p, err);
}

macko_status macko_host_slices(void *csr, int sorted, int kinds, macko_slice_facts *p, macko_error *err)
{
  const macko_csr *a = csr;
  const macko_cut cut = macko_cut_rows(a, sorted ? WINDOW : MACKO_SLICE_ROWS);
  int parts = macko_parts(macko_csr_nnz(a));
  all_slices all = {.a = a, .sorted = sorted, .kinds = kinds, .parts = calloc((size_t)parts, sizeof *all.parts),
                    .keys = calloc((size_t)macko_slices_of(a->nrows) + 1, sizeof *all.keys)};
  macko_status s = MACKO_OK;
  *p = (macko_slice_facts){.window = sorted ? WINDOW : 0, .order_bytes = sorted ? a->nrows * 2 : 0};
  if (!all.keys || !all.parts)
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look at %lld slices", (long long)macko_slices_of(a->nrows));
  const macko_hash_key key = macko_new_hash_key();
  for (int i = 0; !s && i < parts; i++) all.parts[i].buffer.key = key, macko_open_pairs(&all.parts[i].pairs);
  if (!s) macko_do_parts(&cut, parts, look_at_part, &all);
  if (!s) s = add_parts(&all, parts, p, err);
  for (int i = 0; all.parts && i < parts; i++) free(all.parts[i].buffer.words);
  free(all.parts), free(all.keys);
  return s;
}

static int64_t padding(const macko_slice_facts *p)
{
  return p->units[2] * MACKO_SLICE_ROWS - p->streamed;
}

/* As if values took 4 bytes, to compare two orders of rows. */
static macko_plan with_values(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p)
{
  int64_t values = p->units[2] * MACKO_VALUE_UNIT;
  return (macko_plan){.bytes = plan_bytes(a, p) + values, .time = plan_time(a, cost, p) + (double)values * cost->byte};
}

/* The best that sorted rows could be: no padding, no block, x as it lies everywhere. */
static macko_plan best_sorted(const macko_csr *a, int64_t nnz, const macko_cost *cost)
{
  macko_slice_facts p = {.window = WINDOW, .order_bytes = 2 * a->nrows, .uniform = nnz};
  p.units[2] = (nnz + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  return with_values(a, cost, &p);
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
      count_slice(s->a, &c, &facts);
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

int macko_host_sample(void *csr, const macko_options *options, macko_slice_estimate estimates[2])
{
  const macko_csr *a = csr;
  const macko_cost *cost = macko_cost_of(options);
  for (int sorted = 0; sorted < 2; sorted++) {
    macko_slice_facts p;
    sample(a, sorted, &p);
    if (!p.streamed) return 0;
    double scale = (double)macko_csr_nnz(a) / (double)p.streamed;
    estimates[sorted].columns = scale * ((double)p.stencil * cost->stencil + (double)p.uniform * cost->uniform +
                                         (double)p.run * cost->run + (double)p.listed * cost->listed +
                                         (double)p.walked * cost->walked);
    estimates[sorted].slots = scale * (double)(p.uniform + p.run + p.listed + p.walked);
  }
  return 1;
}

/* The part of a plan that is no value's. */
static void fill_plan(const macko_csr *a, const macko_cost *cost, const macko_slice_facts *p, macko_plan *plan)
{
  macko_params *params = macko_set_params(plan);
  plan->bytes = plan_bytes(a, p);
  plan->time = plan_time(a, cost, p);
  params->slice.window = p->window, params->slice.block_words = p->block_words, params->slice.stencils = p->stencils;
  for (int e = 0; e < 4; e++) params->slice.value_units[e] = p->units[e];
  snprintf(plan->reason, sizeof plan->reason,
           "layout slice: %lld bytes of gaps for %lld slices, %lld of them stencils, %lld of %lld slots padding%s",
           (long long)p->block_words * 4, (long long)macko_slices_of(a->nrows), (long long)p->stencils, (long long)padding(p),
           (long long)p->units[2] * MACKO_SLICE_ROWS, p->window ? ", rows sorted by length in windows of 4096" : "");
}

/* By a sample: 1 where rows sorted by length multiply faster for sure, -1 where they do not, 0 where all of both orders must be
 * looked at. Only for choices that no GPU makes: those look at all. */
static int order_by_sample(const macko_facts *f, const macko_options *options)
{
  const macko_cost *cost = macko_cost_of(options);
  const macko_column_facts *ask = macko_columns_of(f);
  macko_slice_estimate by_order[2];
  double slot = 4 * cost->byte, order = (double)f->csr->nrows * (cost->ordered_row + 2 * cost->byte);
  if (options->format != MACKO_FORMAT_AUTO || options->prefer != MACKO_PREFER_TIME || options->target != MACKO_TARGET_CPU ||
      !ask->sample || !ask->sample(f->context, options, by_order))
    return 0;
  double unsorted = by_order[0].columns + by_order[0].slots * slot;
  double sorted = by_order[1].columns + by_order[1].slots * slot + order;
  if (sorted > 1.1 * unsorted) return -1; /* a tenth for what the sample missed */
  return unsorted > 1.1 * sorted && by_order[0].slots - (double)f->nnz > (double)f->csr->nrows;
}

/* *best as if no slice were a stencil, where that is better: both kinds together cost more than either. */
static macko_status without_stencils(const macko_facts *f, const macko_options *options, macko_slice_facts *best,
                                     macko_error *err)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_facts plain;
  macko_status s = macko_columns_of(f)->slices(f->context, 0, 0, &plain, err);
  if (s) return s;
  macko_plan one = with_values(f->csr, cost, &plain), both = with_values(f->csr, cost, best);
  if (macko_better(options, &one, &both)) *best = plain;
  return MACKO_OK;
}

macko_status macko_slice_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_facts best, sorted;
  int order = order_by_sample(f, options);
  macko_status s = macko_columns_of(f)->slices(f->context, order > 0, order > 0 ? 0 : stencils_allowed(a, options), &best, err);
  if (!s && some_stencils(a, &best) && cost->passed > 0) s = without_stencils(f, options, &best, err);
  if (s) return s;
  /* Sorting pays where it saves more padding, at 4 bytes a slot, than the order of rows costs. */
  macko_plan hoped = best_sorted(a, f->nnz, cost), unsorted = with_values(a, cost, &best);
  if (padding(&best) > a->nrows && macko_better(options, &hoped, &unsorted) && order == 0) {
    s = macko_columns_of(f)->slices(f->context, 1, 0, &sorted, err);
    if (s) return s;
    macko_plan one = with_values(a, cost, &sorted);
    if (macko_better(options, &one, &unsorted)) best = sorted;
  }
  fill_plan(a, cost, &best, plan);
  return MACKO_OK;
}

macko_plan macko_slice_hope_joint(const macko_options *options, const macko_plan *pattern)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_plan hoped = *pattern;
  int64_t block_bytes = macko_params_of(pattern)->slice.block_words * 4, slots = macko_slice_value_slots(pattern, 1);
  hoped.bytes -= block_bytes;
  hoped.time -= (double)block_bytes * cost->byte;
  if (cost->walked > cost->paired) hoped.time -= (double)slots * cost->walked;
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
