/* Plan of variants paper and shared of format eccsr: bits of a code and lanes by a sample of the bundles, then the bytes by
 * extracting all blocks. */
#include "core/cost.h"
#include "eccsr/eccsr_paper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLE = 32 }; /* bundles that a sample has at least, or all */

/* Returns the slots of section "values". */
static int64_t slots_of(const macko_eccsr_paper_counts *c)
{
  return c->rows * macko_eccsr_granule(c->lanes);
}

/* Returns the bytes of all sections but the values, for codes of so many bits: "bundles", "rows", what each block has, and
 * codes. */
static int64_t pattern_bytes(const macko_csr *a, const macko_eccsr_paper_counts *c, int bits)
{
  return (macko_eccsr_bundles(a->nrows) + 1) * 24 + a->nrows * 4 + c->blocks * (2 + 4 + 4 * c->lanes) +
         c->granules * (macko_eccsr_granule(c->lanes) * bits / 8);
}

/* Adds what a value stream by that codec takes to *plan, or takes it away (sign -1), as macko_choose_codec tries one codec after
 * the other. */
static void add_stream(const macko_facts *f, const macko_options *options, const macko_codec *codec, int sign, macko_plan *plan)
{
  const macko_cost *cost = macko_cost_of(options);
  const int64_t slots = slots_of(macko_eccsr_paper_counts_of(plan));
  plan->bytes += sign * (slots * macko_type_bytes(codec->stored_type) + codec->table * macko_type_bytes(f->csr->value_type));
  plan->work += sign * (double)slots * macko_codec_cost(cost, codec->stored_type, codec->table);
  macko_set_time(options, f->csr, plan);
}

/* Chooses width and, but for variant paper, lanes of the fewest bytes, by a sample of the bundles. A wide code takes more bits a
 * slot, a narrow one more slots for long gaps; many lanes need long rows. *shape says on entry how many lanes there are at least
 * and how long values are. */
static macko_status choose_shape(const macko_csr *a, const int32_t *rows, const macko_options *options,
                                 macko_eccsr_paper_shape *shape, macko_error *err)
{
  const int64_t bundles = macko_eccsr_bundles(a->nrows), every = bundles > 2 * SAMPLE ? bundles / SAMPLE : 1;
  const macko_eccsr_paper_shape asked = *shape;
  int64_t fewest = -1;
  for (int64_t lanes = asked.lanes; lanes <= MACKO_ECCSR_MOST_LANES; lanes *= 4)
    for (int bits = options->gap_bits ? options->gap_bits : 4; bits <= 32; bits *= 2) {
      const macko_eccsr_paper_shape tried = {bits, lanes, asked.value};
      macko_eccsr_paper_sink sum;
      macko_status s = macko_eccsr_paper_count(a, rows, &tried, every, NULL, &sum, err);
      if (s) return s;
      const int64_t bytes = pattern_bytes(a, &sum.at, bits) + slots_of(&sum.at) * asked.value;
      if (fewest < 0 || bytes < fewest) fewest = bytes, *shape = tried;
      if (options->gap_bits) break;
    }
  return MACKO_OK;
}

/* Writes the reason of the plan. */
static void describe(const macko_facts *f, const macko_eccsr_paper_sink *sum, int bits, macko_plan *plan)
{
  const int64_t slots = slots_of(&sum->at), nnz = f->nnz ? f->nnz : 1;
  snprintf(plan->reason, sizeof plan->reason,
           "%lld blocks of bundles of %d rows, %.3g %% of the entries in blocks of several rows, %lld lanes, gaps of %d bits, "
           "%.3g %% of the slots without an entry",
           (long long)sum->at.blocks, MACKO_ECCSR_BUNDLE, 100.0 * (double)sum->shared / (double)nnz, (long long)sum->at.lanes, bits,
           slots ? 100.0 * (double)(slots - f->nnz) / (double)slots : 0.0);
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

/* Plans all but the codec of values: rows are put into bundles, the shape is chosen, and all blocks are extracted, as only that
 * tells the bytes. The order of rows and what each bundle takes stay in *order. */
static macko_status plan_pattern(const macko_facts *f, const macko_options *options, macko_eccsr_order *order, macko_plan *plan,
                                 macko_error *err)
{
  const macko_variant variant = options->variant == MACKO_VARIANT_PAPER ? MACKO_VARIANT_PAPER : MACKO_VARIANT_SHARED;
  const int64_t least_lanes = macko_eccsr_least_lanes(variant);
  macko_eccsr_paper_params params = {{0}};
  macko_eccsr_paper_shape shape = {options->gap_bits, least_lanes, macko_type_bytes(f->csr->value_type)};
  macko_eccsr_paper_sink sum;
  macko_status s = macko_eccsr_order_bundles(f->csr, macko_eccsr_granule(least_lanes), order->rows, err);
  if (!s && (!shape.bits || least_lanes < MACKO_ECCSR_MOST_LANES)) s = choose_shape(f->csr, order->rows, options, &shape, err);
  if (!s) s = macko_eccsr_paper_count(f->csr, order->rows, &shape, 1, order->bundles, &sum, err);
  if (s) return s;
  params.of = sum.at;
  *plan = (macko_plan){.bytes = pattern_bytes(f->csr, &sum.at, shape.bits), .variant = variant, .gap_bits = shape.bits};
  plan->work = (double)slots_of(&sum.at) * macko_cost_of(options)->eccsr_slot;
  memcpy(plan->params, params.all, sizeof plan->params);
  describe(f, &sum, shape.bits, plan);
  return MACKO_OK;
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

/* Only where encoding follows is the order kept. */
macko_status macko_eccsr_paper_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  macko_findings *found = f->context;
  macko_eccsr_order *order = NULL;
  macko_status s = check_input(f, found, err);
  if (!s) s = new_order(f->csr->nrows, &order, err);
  if (!s) s = plan_pattern(f, options, order, plan, err);
  if (!s) s = macko_choose_codec(f, options, add_stream, plan, err);
  if (!s && found->handed_on) return macko_eccsr_keep(found, &order->kept, err);
  free(order);
  return s;
}

/* The pattern stays, and so only the codec is chosen again. */
macko_status macko_eccsr_paper_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  return macko_rechoose_codec(f, m, add_stream, plan, err);
}
