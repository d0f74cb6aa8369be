/* What layout slice would take, by exact count: the order of rows, stencils, blocks stored once, and codec pairs, which changes
 * the blocks. */
#include "core/cost.h"
#include "core/threads.h"
#include "macko/slice_apart.h"
#include "macko/slice_cost.h"
#include "macko/slice_look.h"
#include "macko/slice_repeats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_SLICE_WINDOW };

/* Gives MACKO_STENCILS if slices may be stencils, else 0: they hold values as they are, and their first row as an int32_t. */
static int stencils_allowed(const macko_csr *a, const macko_options *options)
{
  int as_they_are = options->values == MACKO_VALUES_AUTO || options->values == MACKO_VALUES_RAW;
  return as_they_are && a->nrows <= INT32_MAX ? MACKO_STENCILS : 0;
}

/* Gives MACKO_MASKED if slices may be masked, else 0: on a CPU, where columns of one lane alone take long. */
static int masked_allowed(const macko_options *options)
{
  return options->target == MACKO_TARGET_CPU ? MACKO_MASKED : 0;
}

/* Gives the bytes of all sections but those of the values: headers, blocks, the order. */
static int64_t plan_bytes(const macko_csr *a, const macko_slice_facts *p)
{
  return macko_slices_of(a->nrows) * 16 + p->block_words * 4 + p->order_bytes;
}

/* Gives a plan as if values took 4 bytes: what two orders of rows are compared by, before a codec is chosen. */
static macko_plan with_values(const macko_facts *f, const macko_options *options, const macko_slice_facts *p)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  macko_plan plan = {.bytes = plan_bytes(a, p) + p->units[2] * MACKO_VALUE_UNIT, .work = macko_slice_work(a, cost, p),
                     .waits = macko_slice_wait(a, cost, p), .drag = macko_slice_drag(cost, p),
                     .scattered = p->window ? a->nrows : 0};
  macko_set_time(options, f, &plan);
  return plan;
}

/* Gives the best plan that sorted rows could have: no padding, no block, x as it lies everywhere. */
static macko_plan best_sorted(const macko_facts *f, const macko_options *options)
{
  macko_slice_facts p = {.window = WINDOW, .order_bytes = 2 * f->csr->nrows, .uniform = f->nnz, .streamed = f->nnz};
  p.units[2] = (f->nnz + MACKO_SLICE_ROWS - 1) / MACKO_SLICE_ROWS;
  return with_values(f, options, &p);
}

/* One window in SAMPLE_EVERY is in the sample, at most SAMPLE_PARTS parts look at it, and a window has WINDOW_SLICES slices. */
enum { SAMPLE_EVERY = 16, SAMPLE_PARTS = 16, WINDOW_SLICES = WINDOW / MACKO_SLICE_ROWS };

/* This is a sample under way, which all parts share. */
typedef struct {
  const macko_csr *a; /* the rows at hand */
  int sorted;
  int64_t nrows, nnz;     /* of the matrix */
  int64_t first, windows; /* the sample's first window in the matrix; how many windows it has */
  macko_block_key *keys;  /* those of the blocks of all its slices, 0 words for slices that are not there */
  macko_slice_facts *counts; /* what was counted in each of its windows */
  macko_status status[SAMPLE_PARTS];
} sampling;

/* This is what a part has of its own. */
typedef struct {
  macko_block_buffer buffer;
  macko_known_slice *known; /* NULL where slices that repeat others are not looked for */
} sample_part;

/* Adds a slice to the counts; its block stays in the buffer no longer than until its key is known. Here `streamed` counts the
 * entries of stencils, too: what is scaled up is a share of all entries. */
static macko_status sample_slice(const sampling *s, const uint16_t *order, int64_t slice, sample_part *part,
                                 macko_slice_facts *facts, macko_block_key *key)
{
  macko_csr_slice c;
  macko_known_slice *like;
  macko_status status = MACKO_OK;
  macko_find_slice(s->a, order, slice, &c);
  if (macko_is_repeated(part->known, s->a, slice, !order, &c, &like)) *key = like->key;
  else {
    if (!c.s.stencil) macko_describe_slice(s->a, MACKO_MASKED, &c); /* only CPUs go by samples */
    status = macko_fill_buffer(s->a, &c, &part->buffer, key, NULL);
    if (!status && like) macko_remember_slice(like, &c, 0, key, part->buffer.words);
  }
  macko_count_csr_slice(s->a, &c, facts);
  for (int l = 0; l < c.lanes && c.s.stencil; l++) facts->streamed += c.length[l]; /* those of stencils too */
  return status;
}

/* As a macko_part this looks at windows of the sample. The key of hashes is a fixed one, as only a prediction depends on it.
 * Repeats are looked for where there are several windows. */
static void sample_windows(void *context, int part, int64_t from, int64_t to)
{
  sampling *s = context;
  sample_part own = {.buffer = {.key = {0x243f6a8885a308d3u, 0x9e3779b97f4a7c15u}}};
  uint16_t order[WINDOW];
  const int repeats = !s->sorted && to - from > 1;
  if (repeats) own.known = calloc(MACKO_REPEATS, sizeof *own.known);
  if (repeats && !own.known) s->status[part] = MACKO_OUT_OF_MEMORY;
  for (; from < to && !s->status[part]; from++) {
    const int64_t w = s->first + from * SAMPLE_EVERY, most = macko_slices_of(s->a->nrows) - w * WINDOW_SLICES;
    if (s->sorted) macko_sort_window(s->a, w * WINDOW, order);
    for (int64_t i = 0; i < WINDOW_SLICES && i < most && !s->status[part]; i++)
      s->status[part] = sample_slice(s, s->sorted ? order : NULL, w * WINDOW_SLICES + i, &own, &s->counts[from],
                                     &s->keys[from * WINDOW_SLICES + i]);
  }
  free(own.buffer.words), free(own.known);
}

/* Sets *words to the words of all blocks of the sample where all but one in a hundred differ, else to 0. */
static macko_status count_unlike(const sampling *s, int64_t *words, macko_error *err)
{
  const int64_t slices = s->windows * WINDOW_SLICES;
  macko_block_set set;
  int64_t sampled = 0, differ = 0;
  macko_status status = macko_open_blocks(slices, &set, err);
  for (int64_t i = 0; !status && i < slices; i++) {
    int is_new;
    macko_place_block(&set, s->keys[i].hash, s->keys[i].words, 1, NULL, &is_new);
    sampled += s->keys[i].words > 0, differ += is_new;
  }
  *words = differ > sampled - sampled / 100 - 1 ? set.words : 0;
  if (!status) macko_close_blocks(&set);
  return status;
}

/* Gives the nanoseconds that columns take by these counts, in which there are no pairs. */
static double columns_of(const macko_cost *cost, const macko_slice_facts *p)
{
  return (double)p->stencil * cost->stencil + (double)p->uniform * cost->uniform + (double)p->run * cost->run +
         (double)p->listed * cost->listed + (double)p->walked * cost->walked;
}

/* Gives three standard errors of the mean of n numbers, whose sum and sum of squares those are, as a share of the mean. */
static double error_of_mean(double sum, double squares, double n)
{
  const double mean = sum / n, variance = squares / n - mean * mean;
  return sum > 0 && variance > 0 ? 3 * sqrt(variance / (n - 1)) / mean : 0;
}

/* Gives what the sample may have missed, as a share: as much as its windows tell, at least 2 % and no more than a tenth, which it
 * is where windows are few. */
static double missed_share(const sampling *s, const macko_cost *cost)
{
  enum { FEW = 4 };
  double columns[2] = {0}, slots[2] = {0}, n = 0;
  for (int64_t i = 0; i < s->windows; i++) {
    const macko_slice_facts *p = &s->counts[i];
    if (!p->streamed) continue;
    const double c = columns_of(cost, p) / (double)p->streamed, v = macko_slice_slots(p) / (double)p->streamed;
    columns[0] += c, columns[1] += c * c, slots[0] += v, slots[1] += v * v, n++;
  }
  if (n < FEW) return 0.1;
  const double share = fmax(error_of_mean(columns[0], columns[1], n), error_of_mean(slots[0], slots[1], n));
  return fmin(fmax(share, 0.02), 0.1);
}

/* Scales the sample up to the matrix, by entries, and slices, which do not depend on these, by rows. Its last window may have fewer
 * slices than the others. */
static macko_slice_estimate estimate_by(const sampling *s, const macko_cost *cost, int64_t unlike)
{
  macko_slice_facts p = {0};
  for (int64_t i = 0; i < s->windows; i++) macko_add_counts(&p, &s->counts[i]);
  const double scale = p.streamed ? (double)s->nnz / (double)p.streamed : 0;
  const int64_t before = s->windows - 1, last = macko_slices_of(s->nrows) - (s->first + before * SAMPLE_EVERY) * WINDOW_SLICES;
  const int64_t sampled = before * WINDOW_SLICES + (last < WINDOW_SLICES ? last : WINDOW_SLICES);
  const double others = p.streamed ? 1 - (double)p.stencils / (double)sampled : 0;
  return (macko_slice_estimate){scale * columns_of(cost, &p), scale * macko_slice_slots(&p), scale * 4 * (double)unlike,
                                macko_slice_overhead(cost, &p, others * (double)macko_slices_of(s->nrows)),
                                macko_slice_drag(cost, &p), missed_share(s, cost)};
}

/* Looks at all windows of the sample, in parts where they are in memory, else window by window. */
static macko_status look_at_windows(sampling *s, macko_rows *rows, macko_error *err)
{
  const macko_cut cut = {.n = s->windows};
  int parts = rows->whole ? macko_parts(s->nnz / SAMPLE_EVERY) : 1;
  macko_assembly room = {0};
  macko_csr view;
  macko_status status = MACKO_OK;
  s->a = rows->whole ? rows->whole : &view;
  if (parts > SAMPLE_PARTS) parts = SAMPLE_PARTS;
  if (rows->whole) macko_do_parts(&cut, parts, sample_windows, s);
  for (int64_t i = 0; !rows->whole && i < s->windows && !status && !s->status[0]; i++) {
    const int64_t row = (s->first + i * SAMPLE_EVERY) * WINDOW, left = s->nrows - row;
    status = macko_view_rows(rows, row, left < WINDOW ? left : WINDOW, &room, &view, err);
    if (!status) sample_windows(s, 0, i, i + 1);
  }
  macko_free_assembly(&room);
  for (int i = 0; i < parts && !status; i++)
    if (s->status[i]) status = macko_fail(err, s->status[i], "no memory to sample the slices of %lld rows", (long long)s->nrows);
  return status;
}

/* Makes an estimate from a few windows of rows: every 16th, or the one in the middle where they are few. */
static macko_status sample(macko_rows *rows, int64_t nnz, const macko_cost *cost, int sorted, macko_slice_estimate *estimate,
                           macko_error *err)
{
  int64_t windows = (rows->nrows + WINDOW - 1) / WINDOW, unlike;
  sampling s = {.sorted = sorted, .nrows = rows->nrows, .nnz = nnz};
  s.first = windows > SAMPLE_EVERY / 2 ? SAMPLE_EVERY / 2 : (windows - 1) / 2; /* of two the first, which is whole */
  s.windows = (windows - s.first + SAMPLE_EVERY - 1) / SAMPLE_EVERY;
  s.keys = calloc((size_t)(s.windows * WINDOW_SLICES + 1), sizeof *s.keys);
  s.counts = calloc((size_t)s.windows + 1, sizeof *s.counts);
  macko_status status = s.keys && s.counts ? look_at_windows(&s, rows, err)
                                           : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to sample the slices of %lld rows",
                                                        (long long)rows->nrows);
  if (!status) status = count_unlike(&s, &unlike, err);
  if (!status) *estimate = estimate_by(&s, cost, unlike);
  free(s.keys), free(s.counts);
  return status;
}

/* Each order is sampled once and kept among the findings. */
macko_status macko_host_sample(void *context, const macko_options *options, int sorted, macko_slice_estimate *estimate,
                               macko_error *err)
{
  macko_findings *f = context;
  macko_slice_findings *found = macko_slice_findings_of(f);
  if (!found) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for what is known of slices");
  if (!found->sampled[sorted]) {
    macko_rows whole, *rows = macko_found_rows(f, &whole);
    macko_status s = sample(rows, macko_found_nnz(f), macko_cost_of(options), sorted, &found->estimates[sorted], err);
    if (s) return s;
    found->sampled[sorted] = 1;
  }
  *estimate = found->estimates[sorted];
  return MACKO_OK;
}

/* Sets the part of a plan that does not depend on the codec. */
static void fill_plan(const macko_facts *f, const macko_options *options, const macko_slice_facts *p, macko_plan *plan)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  macko_params *params = macko_set_params(plan);
  plan->bytes = plan_bytes(a, p);
  plan->work = macko_slice_work(a, cost, p), plan->waits = macko_slice_wait(a, cost, p) - macko_slice_spared(f, options);
  plan->drag = macko_slice_drag(cost, p), plan->scattered = p->window ? a->nrows : 0;
  params->slice.window = p->window, params->slice.block_words = p->block_words, params->slice.stencils = p->stencils;
  params->slice.masked = p->masked;
  for (int e = 0; e < 4; e++) params->slice.value_units[e] = p->units[e];
  snprintf(plan->reason, sizeof plan->reason,
           "layout slice: %lld bytes of gaps for %lld slices, %lld of them stencils%s, %lld masked, %lld of %lld slots padding%s",
           (long long)p->block_words * 4, (long long)macko_slices_of(a->nrows), (long long)p->stencils,
           p->stencils ? " (their values are in their blocks)" : "", (long long)p->masked, (long long)macko_slice_padding(p),
           (long long)p->units[2] * MACKO_SLICE_ROWS, p->window ? ", rows sorted by length in windows of 4096" : "");
}

/* ---- the order of rows by a sample: only for choices that no GPU makes, which looks at all ---- */

/* Tells whether a sample may choose the order of rows: only for choices that no GPU makes, which looks at all slices. */
static int may_sample(const macko_facts *f, const macko_options *options)
{
  return options->format == MACKO_FORMAT_AUTO && options->prefer == MACKO_PREFER_TIME && options->target == MACKO_TARGET_CPU &&
         macko_columns_of(f)->sample != NULL;
}

/* The order of sorted rows takes 2 bytes each, and their elements of y lie scattered. */
void macko_slice_add_order(const macko_facts *f, const macko_cost *cost, const macko_slice_estimate *e, int sorted,
                           macko_plan *plan)
{
  const int64_t nrows = f->csr->nrows;
  if (e->slots > (double)f->nnz) plan->work += (e->slots - (double)f->nnz) * cost->padded;
  if (!sorted || e->columns <= 0) return;
  plan->work += (double)nrows * cost->ordered_row, plan->bytes += 2 * nrows, plan->scattered = nrows;
}

/* Sets *time to that of a product in an order of rows, but for what depends on the codec, 0 where the sample is empty; and
 * *padding, if it is not NULL, to the slots of padding. */
static macko_status time_by_sample(const macko_facts *f, const macko_options *options, int sorted, double *time, double *padding,
                                   macko_error *err)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_estimate e;
  macko_status s = macko_columns_of(f)->sample(f->context, options, sorted, &e, err);
  if (s) return s;
  macko_plan plan = {.work = e.columns, .bytes = (int64_t)(e.slots * 4), .drag = e.drag};
  macko_slice_add_order(f, cost, &e, sorted, &plan);
  macko_set_time(options, f, &plan);
  *time = e.columns > 0 ? plan.time : 0;
  if (padding) *padding = e.slots - (double)f->nnz;
  return MACKO_OK;
}

/* Sets *sorted if rows sorted by length multiply faster for sure, so that their own order need not be looked at. */
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

/* Sets *unsorted if rows sorted by length multiply more slowly for sure, so that that order need not be looked at. */
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

/* Looks at slices in one order of rows, and where they are sorted and loads of x cost something also for the sectors of x that they
 * ask for besides. */
static macko_status look(const macko_facts *f, const macko_options *options, int sorted, int kinds, macko_slice_facts *facts,
                         macko_error *err)
{
  const macko_column_facts *ask = macko_columns_of(f);
  if (!(kinds & MACKO_PAIRS)) kinds |= masked_allowed(options);
  macko_status s = ask->slices(f->context, sorted, kinds, facts, err);
  const int asked = sorted && f->sectors && macko_cost_of(options)->apart > 0;
  if (!s && asked && facts->pairs >= 0)
    facts->apart = fmax(0, ask->sorted_sectors(f->context) - f->sectors(f->context));
  return s;
}

/* Makes *best the facts of no slice being a stencil, where that is better: both kinds together cost more than either. */
static macko_status without_stencils(const macko_facts *f, const macko_options *options, macko_slice_facts *best,
                                     macko_error *err)
{
  macko_slice_facts plain;
  macko_status s = look(f, options, 0, 0, &plain, err);
  if (s) return s;
  macko_plan one = with_values(f, options, &plain), both = with_values(f, options, best);
  if (macko_better(options, &one, &both)) *best = plain;
  return MACKO_OK;
}

/* Puts rows sorted by length in place of *best, where that is better. Sorting pays where it saves more padding, at 4 bytes a
 * slot, than the order of rows costs. */
static macko_status try_sorted(const macko_facts *f, const macko_options *options, macko_slice_facts *best, macko_error *err)
{
  macko_plan hoped = best_sorted(f, options), unsorted = with_values(f, options, best);
  macko_slice_facts sorted;
  int hopeless;
  if (macko_slice_padding(best) <= f->csr->nrows || !macko_better(options, &hoped, &unsorted)) return MACKO_OK;
  macko_status s = surely_unsorted(f, options, &hopeless, err);
  if (!s && !hopeless) s = look(f, options, 1, 0, &sorted, err);
  if (s || hopeless) return s;
  macko_plan one = with_values(f, options, &sorted);
  if (macko_better(options, &one, &unsorted)) *best = sorted;
  return MACKO_OK;
}

/* Gives the nanoseconds that slices with gaps of their own wait for x: 32 lanes go on together, so that they do where one of them
 * asks for a line that the processor has not foreseen. */
static double waits_of(const macko_facts *f, const macko_options *options, const macko_slice_facts *p)
{
  const macko_cost *cost = macko_cost_of(options);
  if (!(cost->walked_wait > 0) || !p->walked || !f->lines || options->target != MACKO_TARGET_CPU) return 0;
  const double steps = (double)p->walked / MACKO_SLICE_ROWS, share = f->lines(f->context).stray / (double)f->nnz;
  return macko_steps_that_wait(steps, share, MACKO_SLICE_ROWS) * cost->walked_wait;
}

/* Few looks are taken, as each is at all slices: one at sorted rows where a sample is sure of them, else one at rows in their
 * order, and one more at sorted rows only where these could be better. Stencils are looked for in rows in their order alone;
 * where only some slices are stencils and that costs something, another look tells whether to do without. */
macko_status macko_slice_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  const macko_cost *cost = macko_cost_of(options);
  macko_slice_facts best;
  int sorted;
  macko_status s = surely_sorted(f, options, &sorted, err);
  if (!s) s = look(f, options, sorted, sorted ? 0 : stencils_allowed(a, options), &best, err);
  if (!s && macko_some_stencils(a, &best) && cost->passed > 0) s = without_stencils(f, options, &best, err);
  if (!s && !sorted) s = try_sorted(f, options, &best, err);
  if (!s) fill_plan(f, options, &best, plan), plan->waits += waits_of(f, options, &best);
  return s;
}

/* Blocks take nothing, and a slot whose lanes had gaps of their own saves the time of walking. */
macko_plan macko_slice_hope_pairs(const macko_options *options, const macko_plan *pattern)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_plan hoped = *pattern;
  int64_t block_bytes = macko_params_of(pattern)->slice.block_words * 4, slots = macko_slice_value_slots(pattern, 1);
  hoped.bytes -= block_bytes;
  if (cost->walked > cost->paired) hoped.work -= (double)slots * cost->walked;
  return hoped;
}

/* The order of rows and the stencils stay as *pattern has them. Pairs that a GPU's packed table does not hold, which has f16
 * values and gaps of 16 bits, are told as wide. */
macko_status macko_slice_plan_pairs(const macko_facts *f, const macko_options *options, const macko_plan *pattern,
                                    macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  macko_slice_facts facts;
  int sorted = macko_params_of(pattern)->slice.window > 0, wide = 0;
  int stencils = macko_params_of(pattern)->slice.stencils > 0 ? MACKO_STENCILS : 0;
  macko_status s = look(f, options, sorted, MACKO_PAIRS | stencils, &facts, err);
  if (!s && facts.pairs >= 0 && a->value_type != MACKO_F16) s = f->values.misfit(f->values.context, MACKO_F16, &wide, err);
  if (s) return s;
  if (facts.pairs < 0) return macko_too_many_pairs(err);
  facts.wide_pairs |= wide;
  *plan = *pattern;
  fill_plan(f, options, &facts, plan);
  plan->table = facts.pairs;
  return MACKO_OK;
}
