/* plan of format slide: the narrowest blocks that hold to the pattern, the codec of values, bytes and time. */
#include "core/cost.h"
#include "slide/slide.h"

#include <stdio.h>
#include <string.h>

/* Gives the question of format slide among those of all formats; NULL where nobody answers it, as for a csr in device memory. */
static const macko_slide_facts *facts_of(const macko_facts *f)
{
  return (const macko_slide_facts *)f->of_format[MACKO_FORMAT_SLIDE];
}

/* Gives the slots of the value stream, those of the rest included. */
static int64_t slots_of(const macko_slide_counts *c, macko_type stored)
{
  return macko_slide_slots((int)c->n, macko_slide_per(macko_type_bytes(stored)), c->cells) + c->rest;
}

/* Gives the bytes of all sections but those of the values. */
static int64_t pattern_bytes(const macko_csr *a, const macko_slide_counts *c)
{
  int64_t bytes = (a->nrows + 1) * macko_type_bytes(macko_index_type(c->cells));
  if (!c->every) bytes += c->cells * (macko_slide_blocks(a->ncols, c->n) > 65536 ? 4 : 2);
  bytes += macko_slide_words((int)c->bits, c->cells) * 4 + c->patterns * 4;
  return c->rest ? bytes + (a->nrows + 1) * macko_type_bytes(macko_index_type(c->rest)) + c->rest * 4 : bytes;
}

/* Adds what a value stream by that codec takes to *plan, or takes it away (sign -1). The time is set anew, as it is no sum. */
static void add_stream(const macko_facts *f, const macko_options *options, const macko_codec *codec, int sign, macko_plan *plan)
{
  const macko_cost *cost = macko_cost_of(options);
  int64_t slots = slots_of(macko_slide_counts_of(plan), codec->stored_type);
  int64_t bytes = slots * macko_type_bytes(codec->stored_type) + codec->table * macko_type_bytes(f->csr->value_type);
  plan->bytes += sign * bytes;
  plan->work += sign * (double)slots * macko_codec_cost(cost, codec->stored_type, codec->table);
  macko_set_time(options, f, plan);
}

/* Sets the reason to what the numbers say in words. */
static void describe(const macko_csr *a, const macko_slide_counts *c, macko_plan *plan)
{
  char cols[64] = "all blocks of all rows", rest[128] = "";
  if (!c->every) snprintf(cols, sizeof cols, "%lld blocks with their columns", (long long)c->cells);
  if (c->broken)
    snprintf(rest, sizeof rest, "; %lld blocks have more, %lld entries of them beside the pattern", (long long)c->broken,
             (long long)c->rest);
  snprintf(plan->reason, sizeof plan->reason, "%lld:%lld in %s, %lld bits a block for positions, %lld slots empty%s",
           2 * (long long)c->n - 2, 2 * (long long)c->n, a->nrows ? cols : "no rows", (long long)c->bits, (long long)c->empty,
           rest);
}

/* Refuses what has no form: columns have 32 bits in every section. */
static macko_status check_limits(const macko_csr *a, macko_error *err)
{
  if (a->ncols > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format slide holds at most %d columns, not %lld", INT32_MAX, (long long)a->ncols);
  return MACKO_OK;
}

/* Where no pattern covers the matrix: takes the one of the fewest bytes, with raw values, and leaves what is too much to the
 * rest. Variant strict refuses, and names *broken, a block of the widest pattern, by its first column. */
static macko_status cover_most(const macko_facts *f, const macko_options *options, const macko_slide_broken *broken,
                               macko_slide_counts *counts, macko_error *err)
{
  if (options->variant == MACKO_VARIANT_STRICT)
    return macko_fail_at(err, MACKO_UNSUPPORTED, broken->row, broken->block * 2 * MACKO_SLIDE_MOST, f->csr->index_base,
                         "%lld entries in the block of %d columns that begins there; with variant strict a block has at most %d",
                         (long long)broken->entries, 2 * MACKO_SLIDE_MOST, 2 * MACKO_SLIDE_MOST - 2);
  int64_t fewest = -1;
  for (int n = MACKO_SLIDE_LEAST; n <= MACKO_SLIDE_MOST; n++) {
    macko_slide_counts c;
    macko_status s = facts_of(f)->count(f->context, n, &c, NULL, err);
    if (s) return s;
    int64_t bytes = pattern_bytes(f->csr, &c) + slots_of(&c, f->csr->value_type) * macko_type_bytes(f->csr->value_type);
    if (fewest < 0 || bytes < fewest) fewest = bytes, *counts = c;
  }
  return MACKO_OK;
}

/* Takes the narrowest pattern that covers the matrix, as narrower blocks have fewer slots a column. */
static macko_status choose_pattern(const macko_facts *f, const macko_options *options, macko_slide_counts *counts, macko_error *err)
{
  macko_slide_broken broken;
  for (int n = MACKO_SLIDE_LEAST; n <= MACKO_SLIDE_MOST; n++) {
    macko_status s = facts_of(f)->count(f->context, n, counts, &broken, err);
    if (s || !counts->broken) return s;
  }
  return cover_most(f, options, &broken, counts, err);
}

/* The pattern is chosen first, from the columns alone, and then the codec. */
macko_status macko_slide_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_cost *cost = macko_cost_of(options);
  macko_slide_params params = {{0}};
  macko_status s = check_limits(f->csr, err);
  if (s) return s;
  if (!facts_of(f)) return macko_fail(err, MACKO_UNSUPPORTED, "format slide is planned where the host has the matrix");
  s = choose_pattern(f, options, &params.of, err);
  if (s) return s;
  const macko_slide_counts *c = &params.of;
  *plan = (macko_plan){.bytes = pattern_bytes(f->csr, c), .variant = options->variant};
  plan->work = (double)slots_of(c, f->csr->value_type) * cost->slide_slot + (double)f->csr->nrows * cost->csr_row;
  memcpy(plan->params, params.all, sizeof plan->params);
  describe(f->csr, c, plan);
  return macko_choose_codec(f, options, add_stream, plan, err);
}

/* The pattern stays; the codec is chosen again. */
macko_status macko_slide_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  return macko_rechoose_codec(f, m, add_stream, plan, err);
}

/* Where another format has what is asked for, this one may win by memory alone: by time, others multiply sooner on a CPU, and one
 * vector on a GPU about as soon. It may not win for a GPU, because what is encoded there knows nothing of its bytes, and the
 * choice must not depend on where the csr is. */
int macko_slide_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best)
{
  (void)plans;
  return !best || (facts_of(f) && options->prefer == MACKO_PREFER_MEMORY && options->target != MACKO_TARGET_GPU);
}
