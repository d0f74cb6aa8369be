/* plan of format eccsr: the bytes by exact counts, the codec of values, and the time. */
#include "core/cost.h"
#include "eccsr/eccsr.h"

#include <stdio.h>
#include <string.h>

const macko_form macko_eccsr_forms[1] = {
  {.values = MACKO_HAS_ALL & ~MACKO_HAS(VALUES_CODED) & ~MACKO_HAS(VALUES_PAIRS), .target = MACKO_HAS_ALL}};

static const macko_eccsr_facts *facts_of(const macko_facts *f)
{
  return (const macko_eccsr_facts *)f->of_format[MACKO_FORMAT_ECCSR];
}

/* Adds a value stream to *plan, or takes it away (sign -1). */
static void add_stream(const macko_facts *f, const macko_options *options, const macko_codec *codec, int sign, macko_plan *plan)
{
  const macko_cost *cost = macko_cost_of(options);
  int64_t size = macko_type_bytes(codec->stored_type), slots = macko_eccsr_slots(f->nnz);
  int64_t bytes = slots * size + codec->table * macko_type_bytes(f->csr->value_type);
  plan->bytes += sign * bytes;
  plan->work += sign * (double)slots * macko_codec_cost(cost, codec->stored_type, codec->table);
  macko_set_time(options, f->csr, plan);
}

static macko_plan with_codec(const macko_facts *f, const macko_options *options, const macko_codec *codec, const macko_plan *plan)
{
  macko_plan p = *plan;
  add_stream(f, options, codec, 1, &p);
  p.values = codec->values, p.stored_type = codec->stored_type, p.lossy = codec->lossy, p.table = codec->table;
  return p;
}

/* Adds to *plan the codec that suits the options best. */
static macko_status choose_codec(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  macko_codec codecs[3];
  int count;
  macko_status s = macko_codecs_by(&f->values, options->values, MACKO_DICT_LIMIT, codecs, &count, err);
  if (s) return s;
  macko_plan best = with_codec(f, options, &codecs[0], plan);
  for (int i = 1; i < count; i++) {
    macko_plan p = with_codec(f, options, &codecs[i], plan);
    if (macko_better(options, &p, &best)) best = p;
  }
  *plan = best;
  return MACKO_OK;
}

/* Predicted for everything but bytes and values. */
static double pattern_work(const macko_options *options, const macko_eccsr_counts *c, const macko_eccsr_work *work)
{
  const macko_cost *cost = macko_cost_of(options);
  return cost->product + (double)work->entries * cost->eccsr_entry + (double)work->reads * cost->eccsr_read +
         (double)work->runs * cost->eccsr_run + (double)c->blocks * cost->eccsr_block +
         (double)work->masked * cost->eccsr_masked + (double)c->longest * cost->step;
}

static macko_status check_limits(const macko_csr *a, macko_error *err)
{
  if (a->ncols > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format eccsr holds at most %d columns, not %lld", INT32_MAX, (long long)a->ncols);
  if (a->nrows > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format eccsr holds at most %d rows, not %lld", INT32_MAX, (long long)a->nrows);
  return MACKO_OK;
}

macko_status macko_eccsr_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_eccsr_facts *ask = facts_of(f);
  macko_eccsr_params params = {{0}};
  macko_eccsr_work work;
  macko_status s = check_limits(f->csr, err);
  if (s) return s;
  if (!ask) return macko_fail(err, MACKO_UNSUPPORTED, "format eccsr is planned where the host has the matrix");
  s = ask->sample(f->context, &params.of.shape, err);
  if (!s) s = ask->count(f->context, &params.of.shape, &params.of.counts, &work, err);
  if (s) return s;
  const macko_eccsr_counts *c = &params.of.counts;
  *plan = (macko_plan){.bytes = macko_eccsr_pattern_bytes(c), .work = pattern_work(options, c, &work)};
  memcpy(plan->params, params.all, sizeof plan->params);
  snprintf(plan->reason, sizeof plan->reason,
           "blocks of %.3g rows and runs of %.3g columns, %lld blocks in %lld slices (%lld with masks), %lld bytes of gaps "
           "and masks",
           work.reads ? (double)work.entries / (double)work.reads : 1, work.runs ? (double)work.reads / (double)work.runs : 1,
           (long long)c->blocks, (long long)c->slices, (long long)c->masked, (long long)c->words * 4);
  s = choose_codec(f, options, plan, err);
  if (!s) macko_describe_values(plan);
  return s;
}

/* Columns stay; the codec is chosen again, because new values may not fit the old one. */
macko_status macko_eccsr_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  const macko_codec old = {m->plan.values, m->plan.stored_type, m->plan.lossy, m->plan.table};
  macko_plan next = m->plan;
  add_stream(f, &m->options, &old, -1, &next);
  macko_status s = choose_codec(f, &m->options, &next, err);
  if (s) return s;
  macko_describe_values(&next);
  *plan = next;
  return MACKO_OK;
}

/* By memory: its bytes are counted. By time where rows of equal columns, by a sample of them and with values as they are, make it
 * faster than the best so far. */
int macko_eccsr_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best)
{
  const macko_eccsr_facts *ask = facts_of(f);
  macko_eccsr_counts counts;
  macko_eccsr_work work;
  (void)plans;
  if (!ask || options->prefer == MACKO_PREFER_MEMORY) return ask != NULL;
  if (options->target == MACKO_TARGET_GPU) return 0; /* until its encoder there has been seen on a GPU */
  if (f->csr->ncols > INT32_MAX || f->csr->nrows > INT32_MAX) return 0;
  ask->estimate(f->context, &counts, &work);
  macko_plan plan = {.bytes = macko_eccsr_pattern_bytes(&counts) + work.runs + f->nnz * macko_type_bytes(f->csr->value_type),
                     .work = pattern_work(options, &counts, &work)};
  macko_set_time(options, f->csr, &plan);
  return !best || plan.time < best->time;
}
