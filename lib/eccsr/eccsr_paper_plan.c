/* Plan of variants paper and shared of format eccsr: bits of a code and lanes by a sample of the bundles, then the bytes by
 * extracting all blocks; where no encoding follows, by those of a sample alone. */
#include "core/cost.h"
#include "eccsr/eccsr_paper_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 32,             /* bundles by which a shape is chosen, at least, or all */
       SHAPE_ENTRIES = 1 << 19 }; /* of a sample of more than that, a quarter does for a shape */

/* Returns the bytes of all sections but the values, for codes of so many bits: "bundles", "rows", and what blocks have. */
static int64_t pattern_bytes(const macko_csr *a, const macko_eccsr_paper_counts *c, int bits)
{
  return (macko_eccsr_bundles(a->nrows) + 1) * 24 + a->nrows * 4 + macko_eccsr_paper_block_bytes(c, bits);
}

/* Adds what a value stream by that codec takes to *plan, or takes it away (sign -1), as macko_choose_codec tries one codec after
 * the other. */
static void add_stream(const macko_facts *f, const macko_options *options, const macko_codec *codec, int sign, macko_plan *plan)
{
  const macko_cost *cost = macko_cost_of(options);
  const int64_t slots = macko_eccsr_paper_slots(macko_eccsr_paper_counts_of(plan));
  plan->bytes += sign * (slots * macko_type_bytes(codec->stored_type) + codec->table * macko_type_bytes(f->csr->value_type));
  plan->work += sign * (double)slots * macko_codec_cost(cost, codec->stored_type, codec->table);
  macko_set_time(options, f, plan);
}

/* Chooses width and, but for variant paper, lanes of the fewest bytes, where they are not asked for, by one of every so many
 * bundles. A wide code takes more bits a slot, a narrow one more slots for long gaps; many lanes need long rows. *shape says on
 * entry how many lanes there are at least and how long values are. */
static macko_status choose_shape(const macko_csr *a, const int32_t *rows, const macko_options *options, int64_t every,
                                 macko_eccsr_paper_shape *shape, macko_error *err)
{
  const macko_eccsr_paper_shape asked = *shape;
  int64_t fewest = -1;
  if (asked.bits && asked.lanes == MACKO_ECCSR_MOST_LANES) return MACKO_OK;
  for (int64_t lanes = asked.lanes; lanes <= MACKO_ECCSR_MOST_LANES; lanes *= 4)
    for (int bits = options->gap_bits ? options->gap_bits : 4; bits <= 32; bits *= 2) {
      const macko_eccsr_paper_shape tried = {bits, lanes, asked.value};
      macko_eccsr_paper_sink sum;
      macko_status s = macko_eccsr_paper_count(a, rows, &tried, every, NULL, &sum, err);
      if (s) return s;
      const int64_t bytes = pattern_bytes(a, &sum.at, bits) + macko_eccsr_paper_slots(&sum.at) * asked.value;
      if (fewest < 0 || bytes < fewest) fewest = bytes, *shape = tried;
      if (options->gap_bits) break;
    }
  return MACKO_OK;
}

/* A plan under way: what it is made of, and what its blocks come to. */
typedef struct {
  const macko_csr *a;
  const macko_options *options;
  macko_eccsr_paper_shape shape;
  macko_eccsr_paper_sink sum;
  int64_t sampled; /* bundles by which the sum is estimated; 0: it is exact */
  double error;    /* of the bytes, as a share of them, where it is not */
} planning;

/* Writes the reason of the plan. How many entries are in blocks of several rows a sample does not tell: of what it counts only
 * bytes are made good for how bundles were drawn. */
static void describe(const planning *p, macko_plan *plan)
{
  const macko_eccsr_paper_counts *c = &p->sum.at;
  const int64_t slots = macko_eccsr_paper_slots(c), nnz = macko_csr_nnz(p->a);
  char shared[80] = "", sampled[80] = "";
  if (p->sampled)
    snprintf(sampled, sizeof sampled, "; bytes by a sample of %lld of %lld bundles, to %.2g %%", (long long)p->sampled,
             (long long)macko_eccsr_bundles(p->a->nrows), 100 * p->error);
  else
    snprintf(shared, sizeof shared, "%.3g %% of the entries in blocks of several rows, ",
             100.0 * (double)p->sum.shared / (double)(nnz ? nnz : 1));
  snprintf(plan->reason, sizeof plan->reason,
           "%lld blocks of bundles of %d rows, %s%lld lanes, gaps of %d bits, %.3g %% of the slots without an entry%s",
           (long long)c->blocks, MACKO_ECCSR_BUNDLE, shared, (long long)c->lanes, p->shape.bits,
           slots ? 100.0 * (double)(slots - nnz) / (double)slots : 0.0, sampled);
}

/* Allocates the order of so many rows and the numbers of their bundles, at once, so that `free` frees them. */
static macko_status new_order(int64_t nrows, macko_eccsr_order **order, macko_error *err)
{
  const size_t bundles = (size_t)macko_eccsr_bundles(nrows) * 24;
  *order = malloc(sizeof **order + bundles + (size_t)nrows * 4);
  if (!*order) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the order of %lld rows", (long long)nrows);
  char *room = (char *)(*order + 1);
  **order = (macko_eccsr_order){.kept = {free}, .bundles = (int64_t *)(void *)room, .rows = (int32_t *)(void *)(room + bundles)};
  return MACKO_OK;
}

/* Puts all rows into bundles, chooses a shape, and extracts all blocks, as only that tells the bytes. The order of rows and what
 * each bundle takes stay in *order. */
static macko_status count_all(planning *p, macko_eccsr_order *order, macko_error *err)
{
  const int64_t bundles = macko_eccsr_bundles(p->a->nrows), every = bundles > 2 * SAMPLE ? bundles / SAMPLE : 1;
  macko_status s = macko_eccsr_order_bundles(p->a, macko_eccsr_granule(p->shape.lanes), order->rows, err);
  if (!s) s = choose_shape(p->a, order->rows, p->options, every, &p->shape, err);
  return s ? s : macko_eccsr_paper_count(p->a, order->rows, &p->shape, 1, order->bundles, &p->sum, err);
}

/* Does the same with a sample, and estimates what all bundles come to. */
static macko_status count_sample(planning *p, const macko_eccsr_paper_sample *sample, macko_error *err)
{
  int32_t rows[MACKO_ECCSR_MOST_SAMPLED * MACKO_ECCSR_BUNDLE];
  macko_eccsr_paper_counted c = {.weighed = p->shape};
  p->sampled = sample->bundles;
  for (int i = 0; i < p->sampled * MACKO_ECCSR_BUNDLE; i++) rows[i] = i; /* the sample's own are in order */
  const int64_t every = macko_csr_nnz(&sample->a) > SHAPE_ENTRIES ? 4 : 1;
  macko_status s = choose_shape(&sample->a, rows, p->options, every, &p->shape, err);
  c.shape = p->shape;
  if (!s) s = macko_eccsr_paper_count(&sample->a, rows, &c.shape, 1, c.bundles, &c.sum, err);
  if (!s) p->sum.at = macko_eccsr_paper_scale(sample, &c, macko_csr_nnz(p->a), &p->error);
  return s;
}

/* Allocates the order and makes it, and keeps it where encoding follows. */
static macko_status count_and_keep(planning *p, macko_findings *found, macko_error *err)
{
  macko_eccsr_order *order = NULL;
  macko_status s = new_order(p->a->nrows, &order, err);
  if (!s) s = count_all(p, order, err);
  if (!s && found->handed_on) return macko_eccsr_keep(found, &order->kept, err);
  free(order);
  return s;
}

/* Makes a plan, but for the codec of values, of what has been counted. */
static macko_plan plan_of(const planning *p, macko_variant variant)
{
  macko_eccsr_paper_params params = {{0}};
  params.of = p->sum.at;
  macko_plan plan = {.bytes = pattern_bytes(p->a, &p->sum.at, p->shape.bits), .variant = variant, .gap_bits = p->shape.bits};
  plan.work = (double)macko_eccsr_paper_slots(&p->sum.at) * macko_cost_of(p->options)->eccsr_slot;
  memcpy(plan.params, params.all, sizeof plan.params);
  describe(p, &plan);
  return plan;
}

/* Fails where numbers of rows or columns have more than 32 bits, or where rows come in pieces: they are not in memory together,
 * as they must be, and needs_whole asks for that. */
static macko_status check_input(const macko_facts *f, const macko_findings *found, macko_error *err)
{
  if (f->csr->nrows > INT32_MAX || f->csr->ncols > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format eccsr holds at most %d rows and columns, not %lld x %lld", INT32_MAX,
                      (long long)f->csr->nrows, (long long)f->csr->ncols);
  if (!found->rows) return MACKO_OK;
  found->rows->needs_whole = 1;
  return macko_fail(err, MACKO_UNSUPPORTED, "rows that share columns are looked for in a matrix as a whole");
}

/* Where no encoding follows, a sample does, unless all is hardly more. */
macko_status macko_eccsr_paper_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  macko_findings *found = f->context;
  const macko_variant variant = options->variant == MACKO_VARIANT_PAPER ? MACKO_VARIANT_PAPER : MACKO_VARIANT_SHARED;
  planning p = {.a = f->csr, .options = options};
  macko_status s = check_input(f, found, err);
  if (s) return s;
  p.shape = (macko_eccsr_paper_shape){options->gap_bits, macko_eccsr_least_lanes(variant), macko_type_bytes(p.a->value_type)};
  macko_eccsr_paper_sample sample = {.bundles = 0};
  if (!found->handed_on) s = macko_eccsr_take_sample(p.a, &p.shape, &sample, err);
  if (!s) s = sample.bundles ? count_sample(&p, &sample, err) : count_and_keep(&p, found, err);
  free(sample.room);
  if (s) return s;
  *plan = plan_of(&p, variant);
  return macko_choose_codec(f, options, add_stream, plan, err);
}

/* The pattern stays, and so only the codec is chosen again. */
macko_status macko_eccsr_paper_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  return macko_rechoose_codec(f, m, add_stream, plan, err);
}
