/* plan of format eccsr: the bytes by exact counts, the codec of values, and the time. */
#include "core/cost.h"
#include "eccsr/eccsr.h"
#include "eccsr/eccsr_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The codecs that the values can have, and the widths of codes that can be asked for. Coded values and pairs are of other
 * formats; codes of 32 bits are chosen where they take the fewest bytes, but cannot be asked for. */
#define VALUES (MACKO_HAS_ALL & ~MACKO_HAS(VALUES_CODED) & ~MACKO_HAS(VALUES_PAIRS))
#define PAPER_BITS (MACKO_HAS(GAP_BITS_4) | MACKO_HAS(GAP_BITS_8) | MACKO_HAS(GAP_BITS_16))

const macko_form macko_eccsr_forms[2] = {
  {.values = VALUES, .target = MACKO_HAS_ALL},
  {.variant = MACKO_HAS(VARIANT_PAPER) | MACKO_HAS(VARIANT_SHARED), .gap_bits = PAPER_BITS, .values = VALUES,
   .target = MACKO_HAS_ALL}};

static int mostly_masked(const macko_eccsr_counts *c)
{
  return 2 * c->masked > c->slices;
}

/* Predicts the time of a plan of this format, on a GPU with what it hides and on a CPU with what keeps it behind a plain stream.
 * Both depend on masks, whose loads wait for each other, and are set here alone, as files do not tell them. */
static void set_time(const macko_options *options, const macko_facts *f, const macko_eccsr_counts *c, macko_plan *plan)
{
  const macko_cost *cost = macko_cost_of(options);
  const int masked = mostly_masked(c);
  const double drag = c->widths && !macko_eccsr_width(c) ? cost->eccsr_mixed_drag : cost->eccsr_drag;
  plan->hidden = masked ? 0 : cost->eccsr_hidden, plan->drag = masked ? cost->eccsr_masked_drag : drag;
  macko_set_time(options, f, plan);
}

/* Says whether entries stored as a type have fast loops with vectors of the matrix's: on a GPU those for runs of known width, on a
 * CPU those of numbers that need no look-up and no unpacking. Others take several times as long (27-point:24:5:f32 by bytes on a
 * GPU 55 us, slices 17; 27-point:16:3:drop10 by bytes on a CPU 386 us, f64 147). */
static int is_fast(const macko_options *options, macko_type stored, macko_type vector)
{
  return options->target == MACKO_TARGET_GPU ? macko_eccsr_has_widths(stored, vector) : stored == MACKO_F64 || stored == MACKO_F32;
}

/* Gives what an entry stored as that type takes besides its bytes. Loads of x, not values, are what short runs wait for, so that
 * narrow values gain little there. */
static double value_work(const macko_options *options, const macko_csr *a, const macko_eccsr_counts *c, const macko_codec *codec)
{
  const macko_cost *cost = macko_cost_of(options);
  const macko_type type = codec->stored_type;
  const int width = macko_eccsr_width(c), saved = macko_type_bytes(a->value_type) - macko_type_bytes(type);
  const double waits = width == 1 ? 1 : width <= 2 ? 0.5 : 0, rare = is_fast(options, type, a->value_type) ? 0 : cost->eccsr_rare;
  return macko_codec_cost(cost, type, codec->table) + rare + waits * cost->eccsr_narrow * saved;
}

/* Adds what a value stream by that codec takes to *plan, or takes it away (sign -1), as macko_choose_codec tries one codec after
 * the other. */
static void add_stream(const macko_facts *f, const macko_options *options, const macko_codec *codec, int sign, macko_plan *plan)
{
  const macko_eccsr_counts *c = &macko_eccsr_params_of(plan)->of.counts;
  const int64_t size = macko_type_bytes(codec->stored_type), slots = macko_eccsr_slots(f->nnz);
  plan->bytes += sign * (slots * size + codec->table * macko_type_bytes(f->csr->value_type));
  plan->work += sign * (double)slots * value_work(options, f->csr, c, codec);
  set_time(options, f, c, plan);
}

/* Returns the columns of a run in the mean. */
static double width_of(const macko_eccsr_work *work)
{
  return work->runs ? (double)work->reads / (double)work->runs : 1;
}

/* The GPU that costs are of. */
enum { MULTIPROCESSORS = 132 };

/* Returns the steps that a GPU takes one after the other for the longest block, or for the longest part where warps share it, with
 * values as they are; not all types have kernels in which they do. */
static int64_t longest_of(const macko_csr *a, const macko_eccsr_counts *c, const macko_eccsr_work *work)
{
  return macko_eccsr_may_share(a->value_type, a->value_type)
           ? macko_eccsr_longest_part(c, a->nrows, work->entries, MULTIPROCESSORS)
           : c->longest;
}

/* Gives what a GPU takes more where slices are shared, their longest part being that, or do not all run at once. */
static double start_of_slices(const macko_cost *cost, const macko_eccsr_counts *c, int64_t longest)
{
  return (longest < c->longest ? cost->eccsr_shared : 0) +
         ((double)c->slices > macko_eccsr_at_once(c, MULTIPROCESSORS) ? cost->eccsr_waves : 0);
}

/* Gives what a GPU waits for the longest block or part. */
static double wait_for_longest(const macko_cost *cost, double longest, const macko_eccsr_work *work)
{
  return longest * (cost->eccsr_longest + width_of(work) * cost->eccsr_longest_column);
}

/* Gives the same where slices have masks. While columns are loaded other warps, if there are enough of them, have as much to do as
 * blocks are long in the mean, so that only the columns beyond count. */
static double wait_with_masks(const macko_cost *cost, double longest, const macko_eccsr_counts *c, const macko_eccsr_work *work)
{
  const double mean = (double)work->runs / (double)c->blocks;
  const double filled = fmin(1, (double)c->slices / MACKO_ENOUGH_WARPS);
  const double columns = fmax(0, longest - filled * mean) * width_of(work);
  return longest * cost->eccsr_masked_longest + columns * cost->eccsr_masked_column;
}

/* Tells whether blocks of several rows have runs of one width, for which a CPU has loops of constant bounds. An estimate does not
 * know the widths, and takes runs of two columns or more for ones of one width. */
static int has_wide_runs(const macko_options *options, const macko_eccsr_counts *c, const macko_eccsr_work *work)
{
  const int wide = c->widths ? macko_eccsr_width(c) > 1 : work->runs && work->reads >= 2 * work->runs;
  return options->target == MACKO_TARGET_CPU && wide && !work->masked && 2 * work->entries >= 3 * work->reads;
}

/* Predicts, in nanoseconds, what a product takes besides reading bytes and decoding values. Costs are a sum over what is counted:
 * entries, runs, blocks, slots of masks that are empty, as all slots of slices without masks are filled, and the wait for the
 * longest block. Slices with masks have the runs and blocks that are theirs by entries. Loops of floats take a share of it all. */
static double pattern_work(const macko_options *options, const macko_csr *a, const macko_eccsr_counts *c,
                           const macko_eccsr_work *work)
{
  const macko_cost *cost = macko_cost_of(options);
  const double share = work->entries ? (double)work->masked / (double)work->entries : 0;
  const int wide = has_wide_runs(options, c, work);
  const double entry = wide ? cost->eccsr_wide_entry : cost->eccsr_entry;
  const double run = share * cost->eccsr_masked_run + (1 - share) * (wide ? cost->eccsr_wide_run : cost->eccsr_run);
  const double block = cost->eccsr_block + share * cost->eccsr_masked_block;
  const int64_t empty = work->masked ? work->lanes - work->entries : 0;
  const double of_f32 = wide ? cost->eccsr_wide_single : cost->eccsr_single;
  const double single = a->value_type == MACKO_F32 ? of_f32 : 1;
  const double sum = (double)work->entries * entry + (double)work->runs * run + (double)c->blocks * block +
                     (1 - share) * (double)c->slices * cost->eccsr_slice +
                     (double)work->masked * cost->eccsr_masked + (double)empty * cost->eccsr_empty +
                     (double)work->idle * cost->eccsr_idle;
  const int64_t longest = longest_of(a, c, work);
  return cost->product + single * sum + start_of_slices(cost, c, longest) +
         (mostly_masked(c) ? wait_with_masks(cost, (double)longest, c, work) : wait_for_longest(cost, (double)longest, work));
}

/* Gives the nanoseconds that a CPU waits for lines of x that it has not foreseen: blocks of a slice go on together, so that one
 * that waits keeps the others. Where many steps wait it has asked for the next lines before the first are there. */
static double wait_for_lines(const macko_facts *f, const macko_options *options, const macko_eccsr_work *work)
{
  const macko_cost *cost = macko_cost_of(options);
  if (options->target != MACKO_TARGET_CPU || !(cost->eccsr_wait > 0) || !f->lines || !work->runs) return 0;
  const double runs = (double)work->runs, blocks = MACKO_ECCSR_LANES * (double)work->reads / (double)work->entries;
  const double steps = runs / blocks, waiting = macko_steps_that_wait(steps, f->lines(f->context).stray / runs, blocks);
  return waiting * cost->eccsr_wait / (1 + cost->eccsr_overlap * waiting / steps);
}

/* Fails where rows or columns have no 32-bit numbers, as the sections hold them. */
static macko_status check_limits(const macko_csr *a, macko_error *err)
{
  if (a->ncols > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format eccsr holds at most %d columns, not %lld", INT32_MAX, (long long)a->ncols);
  if (a->nrows > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format eccsr holds at most %d rows, not %lld", INT32_MAX, (long long)a->nrows);
  return MACKO_OK;
}

/* Tells whether a search for equal rows that lie apart may pay, which reads the whole matrix: where rows that follow each other
 * make few blocks. Matrices of one window have no room for more. For a GPU such blocks are not planned, as its own encoder does
 * not find them. */
static int may_be_apart(const macko_facts *f, const macko_options *options)
{
  macko_eccsr_shape shape;
  macko_eccsr_counts counts;
  macko_eccsr_work work;
  if (!macko_eccsr_facts_of(f)->apart || options->target != MACKO_TARGET_CPU || f->csr->nrows <= MACKO_ECCSR_WINDOW) return 0;
  (void)macko_eccsr_usual_shape(f, &shape, &counts, &work, NULL);
  /* Blocks have fewer than one and a half rows on average. */
  return 2 * work.entries < 3 * work.reads;
}

/* Sets *shape by a sample, or, where rows that lie apart are found and neither blocks of neighbours nor masks help, for those. */
static macko_status choose_shape(const macko_facts *f, const macko_options *options, macko_eccsr_shape *shape, macko_error *err)
{
  int found = 0;
  macko_eccsr_counts counts;
  macko_eccsr_work work;
  macko_status s = macko_eccsr_choose_shape(f, shape, &counts, &work, err);
  if (s || shape->aligned || !may_be_apart(f, options)) return s;
  s = macko_eccsr_facts_of(f)->apart(f->context, &found, err);
  if (found) *shape = (macko_eccsr_shape){MACKO_ECCSR_MOST_EQUAL, shape->run, MACKO_ECCSR_APART};
  return s;
}

/* The bytes are exact, as it is the slices themselves that are counted; on the host they are kept for encoding if that
 * follows. */
macko_status macko_eccsr_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_eccsr_facts *ask = macko_eccsr_facts_of(f);
  macko_eccsr_params params = {{0}};
  macko_eccsr_work work;
  macko_status s = check_limits(f->csr, err);
  if (s) return s;
  if (!ask) return macko_fail(err, MACKO_UNSUPPORTED, "format eccsr is planned where the host has the matrix");
  s = choose_shape(f, options, &params.of.shape, err);
  if (!s) s = ask->count(f->context, &params.of.shape, &params.of.counts, &work, err);
  if (s) return s;
  const macko_eccsr_counts *c = &params.of.counts;
  *plan = (macko_plan){.bytes = macko_eccsr_pattern_bytes(c), .work = pattern_work(options, f->csr, c, &work),
                       .waits = wait_for_lines(f, options, &work)};
  memcpy(plan->params, params.all, sizeof plan->params);
  snprintf(plan->reason, sizeof plan->reason,
           "blocks of %.3g rows and runs of %.3g columns, %lld blocks in %lld slices (%lld with masks), %lld bytes of gaps "
           "and masks%s",
           work.reads ? (double)work.entries / (double)work.reads : 1, work.runs ? (double)work.reads / (double)work.runs : 1,
           (long long)c->blocks, (long long)c->slices, (long long)c->masked, (long long)c->words * 4,
           params.of.shape.aligned == MACKO_ECCSR_APART ? ", of rows that lie apart" : "");
  return macko_choose_codec(f, options, add_stream, plan, err);
}

/* The pattern stays, and so only the codec is chosen again. */
macko_status macko_eccsr_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  return macko_rechoose_codec(f, m, add_stream, plan, err);
}

/* Returns the type that values would be stored as: where the best form so far stores them narrower, as a type that this format has
 * fast loops for, the same would do here. */
static macko_type type_as_in(const macko_facts *f, const macko_options *options, const macko_plan *best)
{
  const macko_type own = f->csr->value_type;
  if (!best || macko_type_bytes(best->stored_type) >= macko_type_bytes(own)) return own;
  return is_fast(options, best->stored_type, own) ? best->stored_type : own;
}

/* Predicts the time of a product by estimated counts, with values stored as that type. */
static double estimated_time(const macko_facts *f, const macko_options *options, const macko_eccsr_counts *counts,
                             const macko_eccsr_work *work, macko_type stored)
{
  const macko_codec codec = {MACKO_VALUES_RAW, stored, 0, 0};
  const double of_values = (double)f->nnz * value_work(options, f->csr, counts, &codec);
  macko_plan plan = {.bytes = macko_eccsr_pattern_bytes(counts) + f->nnz * macko_type_bytes(stored),
                     .work = pattern_work(options, f->csr, counts, work) + of_values,
                     .waits = wait_for_lines(f, options, work)};
  set_time(options, f, counts, &plan);
  return plan.time;
}

/* Only blocks of rows that follow each other are promised, and only for a CPU, where others stop early. */
macko_status macko_eccsr_promise(const macko_facts *f, const macko_options *options, double *time, macko_error *err)
{
  macko_eccsr_findings *own; /* keeps the sample, for which others ask, too */
  macko_eccsr_shape shape;
  macko_eccsr_counts counts;
  macko_eccsr_work work;
  if (options->prefer != MACKO_PREFER_TIME || options->target != MACKO_TARGET_CPU || check_limits(f->csr, NULL)) return MACKO_OK;
  macko_status s = macko_eccsr_findings_of(f->context, &own, err);
  if (s) return s;
  s = macko_eccsr_usual_shape(f, &shape, &counts, &work, err);
  if (!s) *time = estimated_time(f, options, &counts, &work, f->csr->value_type);
  return s;
}

/* Gives the time that an estimate may have at most where the best so far takes `best`: a little more than what has to be beaten, as
 * windows of the sample are not all. */
static double most_time(const macko_options *options, double best)
{
  const double most = 1.03 * macko_time_to_beat(options, best);
  return most < best ? most : best;
}

/* Whether a plan whose parts are estimated may be better than the best so far, which may be NULL. */
static int beats(const macko_facts *f, const macko_options *options, const macko_eccsr_counts *counts,
                 const macko_eccsr_work *work, const macko_plan *best)
{
  return !best || estimated_time(f, options, counts, work, type_as_in(f, options, best)) < most_time(options, best->time);
}

/* Whether the least that any plan takes may be better: its values as they are, and the work of its entries. */
static int least_beats(const macko_facts *f, const macko_options *options, const macko_plan *best)
{
  const macko_eccsr_counts none = {.slices = 0};
  macko_plan least = {.bytes = f->nnz * macko_type_bytes(type_as_in(f, options, best)),
                      .work = (double)f->nnz * macko_cost_of(options)->eccsr_entry};
  set_time(options, f, &none, &least);
  return !best || least.time < most_time(options, best->time);
}

/* The same for rows that lie apart, if they were in the largest blocks, and whether there are such rows. */
static int rows_apart_may_win(const macko_facts *f, const macko_options *options, const macko_plan *best)
{
  const macko_eccsr_counts counts = {.blocks = f->csr->nrows / MACKO_ECCSR_MOST_EQUAL};
  const int64_t reads = f->nnz / MACKO_ECCSR_MOST_EQUAL;
  const macko_eccsr_work work = {.entries = f->nnz, .runs = reads, .reads = reads};
  int found = 0;
  return beats(f, options, &counts, &work, best) && !macko_eccsr_facts_of(f)->apart(f->context, &found, NULL) && found;
}

/* Spares the planning of matrices for which this format cannot be chosen. By memory it is planned wherever it can, as only then
 * its bytes are known. By time it is planned where rows of equal columns or aligned rows with masks make it faster than the best so
 * far, by a sample and with values stored as there; or, on a CPU, where there are rows of equal columns that lie apart, and the
 * largest blocks would. The least that any plan takes is asked first, as that needs no look at the matrix. On a GPU lanes of
 * rows alone gather as slices do. */
int macko_eccsr_may_win(const macko_facts *f, const macko_options *options, const macko_plan plans[], const macko_plan *best)
{
  const int gpu = options->target == MACKO_TARGET_GPU;
  macko_eccsr_shape shape;
  macko_eccsr_counts counts;
  macko_eccsr_work work;
  (void)plans;
  if (!macko_eccsr_facts_of(f) || options->prefer == MACKO_PREFER_MEMORY) return macko_eccsr_facts_of(f) != NULL;
  if (f->csr->ncols > INT32_MAX || f->csr->nrows > INT32_MAX) return 0;
  if (!least_beats(f, options, best)) return 0;
  (void)macko_eccsr_choose_shape(f, &shape, &counts, &work, NULL);
  if (gpu && !shape.aligned && work.entries < 2 * work.reads) return 0;
  if (beats(f, options, &counts, &work, best)) return 1;
  return may_be_apart(f, options) && rows_apart_may_win(f, options, best);
}
