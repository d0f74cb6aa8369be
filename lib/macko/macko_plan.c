/* plan of format macko: chooses layout and value codec by exact bytes or predicted time. */
#include "core/cost.h"
#include "macko/row.h"
#include "macko/slice_cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* These are choices of options: all codecs but dtans' own; and the gap widths of layout paper, in which codes do not take two
 * bytes. */
#define ALL_BUT_CODED (MACKO_HAS_ALL & ~MACKO_HAS(VALUES_CODED))
#define PAPER_BITS (MACKO_HAS(GAP_BITS_1) | MACKO_HAS(GAP_BITS_2) | MACKO_HAS(GAP_BITS_4) | MACKO_HAS(GAP_BITS_8))

/* Gap widths can be asked for of row and paper only, as each slice chooses its own; codec pairs is layout slice's alone; paper
 * stores values as they are. */
const macko_form macko_macko_forms[MACKO_MACKO_FORMS] = {
  {.layout = MACKO_HAS(LAYOUT_SLICE), .values = ALL_BUT_CODED, .target = MACKO_HAS_ALL},
  {.layout = MACKO_HAS(LAYOUT_ROW), .gap_bits = MACKO_HAS_ALL, .values = ALL_BUT_CODED & ~MACKO_HAS(VALUES_PAIRS),
   .target = MACKO_HAS_ALL},
  {.layout = MACKO_HAS(LAYOUT_PAPER), .gap_bits = PAPER_BITS, .values = MACKO_HAS(VALUES_RAW), .target = MACKO_HAS_ALL}};

/* The layouts of these forms, in the order in which they are planned. */
static const macko_layout layouts[MACKO_MACKO_FORMS] = {MACKO_LAYOUT_SLICE, MACKO_LAYOUT_ROW, MACKO_LAYOUT_PAPER};

/* Gives the bytes of an entry of the dictionary, which under pairs has a gap beside its value. */
static int64_t entry_bytes(macko_values values, macko_type value_type)
{
  return macko_type_bytes(value_type) + (values == MACKO_VALUES_PAIRS ? 4 : 0);
}

/* Gives the time that a slot takes by a codec: what its bytes take, and what it takes to widen it to a double. */
static double slot_time(const macko_options *options, const macko_codec *codec)
{
  const macko_cost *cost = macko_cost_of(options);
  return (double)macko_type_bytes(codec->stored_type) * cost->byte + macko_codec_cost(cost, codec->stored_type, codec->table);
}

/* Gives the number of values up to which a dictionary can be better than values as they are: counting stops there. Where codes of
 * 16 bits into the smallest table would be slower than raw values, more than 256 need not be told apart; up to 256 they must be,
 * because codec pairs asks that. */
static int64_t most_values(const macko_facts *f, const macko_options *options)
{
  enum { BYTE_CODES = 256 };
  const macko_codec raw = {MACKO_VALUES_RAW, f->csr->value_type, 0, 0}, wide = {MACKO_VALUES_DICT, MACKO_U16, 0, BYTE_CODES + 1};
  int slower = options->prefer == MACKO_PREFER_TIME && slot_time(options, &wide) >= slot_time(options, &raw);
  return slower ? BYTE_CODES : MACKO_DICT_LIMIT;
}

/* Adds what a value stream by that codec takes to *plan, or takes it away (sign -1). The time is set anew, as it is no sum. */
static void add_stream(const macko_facts *f, const macko_options *options, const macko_codec *codec, int sign, macko_plan *plan)
{
  int64_t size = macko_type_bytes(codec->stored_type), slots = macko_layout_of(plan->layout)->value_slots(f->nnz, plan, size);
  int64_t table = codec->table * entry_bytes(codec->values, f->csr->value_type);
  const macko_cost *cost = macko_cost_of(options);
  const double share = f->csr->value_type == MACKO_F64 ? cost->step_bytes : cost->step_bytes_single;
  const double widened = codec->stored_type == MACKO_F32 && f->csr->value_type == MACKO_F64 ? cost->widened : 0;
  plan->bytes += sign * (slots * size + table);
  plan->work += sign * (double)slots * (macko_codec_cost(cost, codec->stored_type, codec->table) + widened);
  if (options->target == MACKO_TARGET_GPU && size == 1) plan->waits *= sign > 0 ? share : 1 / share;
  macko_set_time(options, f, plan);
}

/* Lists the codecs that hold the values, which are looked at unless *count says that they have been. */
static macko_status look_at_values(const macko_facts *f, const macko_options *options, macko_values wanted,
                                   macko_codec codecs[MACKO_MOST_CODECS], int *count, macko_error *err)
{
  const macko_codec_limits limits = {most_values(f, options), ~0u};
  return *count ? MACKO_OK : macko_codecs_by(&f->values, wanted, &limits, codecs, count, err);
}

/* Adds to *plan, which has none, the value stream that suits the options best. *count is 0 until the values have been looked at,
 * which is done once for all layouts. They are not looked at where no values are streamed, as where all slices are stencils: raw
 * would tie with any codec that needs no table. Where no dictionary can be better than raw in this layout they are not counted,
 * and only types that can be better are tried. */
static macko_status choose_codec(const macko_facts *f, const macko_options *options, macko_codec codecs[MACKO_MOST_CODECS],
                                 int *count, macko_plan *plan, macko_error *err)
{
  const macko_layout_ops *ops = macko_layout_of(plan->layout);
  macko_codec uncounted[MACKO_MOST_CODECS] = {{MACKO_VALUES_RAW, f->csr->value_type, 0, 0}};
  macko_values wanted = ops == &macko_paper_layout ? MACKO_VALUES_RAW : options->values;
  int n = 1;
  const int streamed = (wanted != MACKO_VALUES_AUTO && wanted != MACKO_VALUES_RAW) || ops->value_slots(f->nnz, plan, 1) > 0;
  const macko_codec_limits none = {0, 0}, limits = streamed ? macko_useful_codecs(f, options, add_stream, plan) : none;
  const int counted = streamed && (*count || wanted != MACKO_VALUES_AUTO || limits.most > 0);
  macko_status s = MACKO_OK;
  if (counted) s = look_at_values(f, options, wanted, codecs, count, err);
  else if (streamed) s = macko_codecs_by(&f->values, wanted, &limits, uncounted, &n, err);
  if (!s) macko_take_best_codec(f, options, counted ? codecs : uncounted, counted ? *count : n, add_stream, plan);
  return s;
}

/* Tells whether layout row is slower than that time for sure: its entries and rows alone take longer, whatever the width of gaps,
 * which is known before anything is planned. */
static int row_is_slower(const macko_facts *f, const macko_options *options, double time)
{
  const double least = fmin(macko_row_work(options, f->csr, f->nnz, 8), macko_row_work(options, f->csr, f->nnz, 16));
  return options->prefer == MACKO_PREFER_TIME && time <= least;
}

/* Gives the nanoseconds that layout slice takes at the least on a GPU where formats compete for time: looking at all slices is
 * spared where that is too long, which takes as long as a thousand products where one row is far longer than the others. */
static double least_of_slices(const macko_facts *f, const macko_options *options)
{
  const macko_column_facts *ask = macko_columns_of(f);
  const int compete = options->format == MACKO_FORMAT_AUTO && options->prefer == MACKO_PREFER_TIME;
  if (!compete || options->target != MACKO_TARGET_GPU || !ask->longest_row) return 0;
  return macko_slice_least_time(f, options, ask->longest_row(f->context));
}

/* Adds to the reason what layouts slice and row would cost, where both have been planned. */
static void compare_layouts(const macko_options *options, const macko_plan *slice, const macko_plan *row, macko_plan *plan)
{
  size_t end = strlen(plan->reason), room = sizeof plan->reason - end;
  if (options->prefer == MACKO_PREFER_MEMORY)
    snprintf(plan->reason + end, room, "; slice %lld bytes, row %lld bytes", (long long)slice->bytes, (long long)row->bytes);
  else snprintf(plan->reason + end, room, "; slice %.3g us predicted, row %.3g us", 1e-3 * slice->time, 1e-3 * row->time);
}

/* Gives the time in nanoseconds that the sample predicts for an order of rows with that codec, or, with NULL, as if values took
 * nothing. It may be too short, never knowingly too long, as it serves to give up: blocks are not counted where codec pairs may
 * make them smaller, which is where values are few or not known. */
static double time_of(const macko_facts *f, const macko_options *options, const macko_slice_estimate estimates[2], int sorted,
                      const macko_codec *codec)
{
  const macko_slice_estimate *e = &estimates[sorted];
  const macko_cost *cost = macko_cost_of(options);
  macko_plan plan = {.work = e->columns + e->slices, .drag = e->drag};
  macko_slice_add_order(f, cost, e, sorted, &plan);
  if (codec) plan.work += e->slots * macko_codec_cost(cost, codec->stored_type, codec->table);
  if (codec) plan.bytes += (int64_t)e->slots * macko_type_bytes(codec->stored_type);
  if (codec && codec->stored_type != MACKO_U8) plan.bytes += (int64_t)e->blocks;
  macko_set_time(options, f, &plan);
  return plan.time;
}

/* Gives the time of the better of both orders of rows. */
static double estimated_time(const macko_facts *f, const macko_options *options, const macko_slice_estimate estimates[2],
                             const macko_codec *codec)
{
  double unsorted = time_of(f, options, estimates, 0, codec), sorted = time_of(f, options, estimates, 1, codec);
  return unsorted < sorted ? unsorted : sorted;
}

/* Tells whether formats compete for time, and a sample may say that this one has no chance. Not for a GPU, where it is close too
 * often. */
static int may_foresee(const macko_facts *f, const macko_options *options)
{
  return options->format == MACKO_FORMAT_AUTO && options->prefer == MACKO_PREFER_TIME && options->target == MACKO_TARGET_CPU &&
         macko_columns_of(f)->sample != NULL;
}

/* Rows are promised in their order only: sorting those of the sample takes longer. */
macko_status macko_macko_promise(const macko_facts *f, const macko_options *options, double *time, macko_error *err)
{
  const macko_codec raw = {MACKO_VALUES_RAW, f->csr->value_type, 0, 0};
  macko_slice_estimate estimates[2] = {{0}};
  if (!may_foresee(f, options) || f->csr->ncols > INT32_MAX) return MACKO_OK;
  macko_status s = macko_columns_of(f)->sample(f->context, options, 0, &estimates[0], err);
  if (!s) *time = time_of(f, options, estimates, 0, &raw);
  return s;
}

/* Where formats compete for time, a sample of the slices tells whether format macko has no chance against the best so far, whose
 * time plan->time is; a look at all slices is spared then. Sets *hopeless, and plan->time to the time that made it so. It goes
 * from cheap questions to dear ones, and stops at the first that leaves a chance: unsorted rows with raw values; both orders
 * without values; raw values; then the codecs, for which all values have to be looked at. */
static macko_status foresee(const macko_facts *f, const macko_options *options, macko_codec codecs[MACKO_MOST_CODECS], int *count,
                            macko_plan *plan, int *hopeless, macko_error *err)
{
  const macko_codec raw = {MACKO_VALUES_RAW, f->csr->value_type, 0, 0};
  const macko_column_facts *ask = macko_columns_of(f);
  macko_slice_estimate estimates[2];
  *hopeless = 0;
  if (!may_foresee(f, options) || plan->time <= 0 || !row_is_slower(f, options, plan->time)) return MACKO_OK;
  const macko_codec *best = &raw;
  macko_status s = ask->sample(f->context, options, 0, &estimates[0], err);
  if (s || time_of(f, options, estimates, 0, &raw) <= (1 + estimates[0].missed) * plan->time) return s;
  s = ask->sample(f->context, options, 1, &estimates[1], err);
  if (s) return s;
  const double missed = estimates[estimates[1].missed > estimates[0].missed].missed, bound = (1 + missed) * plan->time;
  if (estimated_time(f, options, estimates, NULL) <= bound) {
    if (estimated_time(f, options, estimates, &raw) <= bound) return MACKO_OK;
    s = look_at_values(f, options, options->values, codecs, count, err);
    if (s) return s;
    /* The codecs stay with the caller, so that the values are not looked at a second time. */
    best = &codecs[0];
    for (int i = 1; i < *count; i++)
      if (estimated_time(f, options, estimates, &codecs[i]) < estimated_time(f, options, estimates, best)) best = &codecs[i];
  }
  plan->time = estimated_time(f, options, estimates, best);
  *hopeless = plan->time > bound;
  return MACKO_OK;
}

/* Makes *plan of *pattern, a plan without values, with codec pairs. Errors: those of macko_slice_plan_pairs. */
static macko_status plan_pairs(const macko_facts *f, const macko_options *options, const macko_plan *pattern, macko_plan *plan,
                               macko_error *err)
{
  macko_plan pairs;
  macko_status s = macko_slice_plan_pairs(f, options, pattern, &pairs, err);
  if (s) return s;
  const macko_codec codec = {MACKO_VALUES_PAIRS, MACKO_U8, 0, pairs.table};
  *plan = macko_with_codec(f, options, &codec, add_stream, &pairs);
  return MACKO_OK;
}

/* Puts pairs in place of the codec of *plan, if they are better. They are not looked for where no values are streamed, where there
 * are more of them than codes, or where columns that cost nothing would not be enough: finding them takes another look at all
 * slices. */
static macko_status try_pairs(const macko_facts *f, const macko_options *options, macko_codec codecs[MACKO_MOST_CODECS], int *count,
                              const macko_plan *pattern, macko_plan *plan, macko_error *err)
{
  const macko_codec least = {MACKO_VALUES_PAIRS, MACKO_U8, 0, 1};
  macko_plan pairs = macko_slice_hope_pairs(options, pattern);
  int few_values = 0;
  pairs = macko_with_codec(f, options, &least, add_stream, &pairs);
  if (!macko_slice_value_slots(pattern, 1) || !macko_better(options, &pairs, plan)) return MACKO_OK;
  macko_status s = look_at_values(f, options, options->values, codecs, count, err);
  for (int i = 0; i < *count; i++) few_values |= codecs[i].values == MACKO_VALUES_DICT && codecs[i].stored_type == MACKO_U8;
  if (s || !few_values) return s;
  s = plan_pairs(f, options, pattern, &pairs, err);
  if (s == MACKO_UNSUPPORTED) return MACKO_OK;
  if (!s && macko_better(options, &pairs, plan)) *plan = pairs;
  return s;
}

/* Adds the value stream to *plan, which is a layout's plan of the pattern, and then what else depends on the values. */
static macko_status plan_stream(const macko_facts *f, const macko_options *options, macko_codec codecs[MACKO_MOST_CODECS],
                                int *count, macko_plan *plan, macko_error *err)
{
  const macko_layout_ops *ops = macko_layout_of(plan->layout);
  macko_plan pattern = *plan;
  int slice = plan->layout == MACKO_LAYOUT_SLICE;
  if (slice && options->values == MACKO_VALUES_PAIRS) return plan_pairs(f, options, &pattern, plan, err);
  macko_status s = choose_codec(f, options, codecs, count, plan, err);
  if (!s && slice && options->values == MACKO_VALUES_AUTO) s = try_pairs(f, options, codecs, count, &pattern, plan, err);
  if (s || !ops->plan_values) return s;
  macko_rows whole;
  return ops->plan_values(macko_found_rows(f->context, &whole), plan, err);
}

/* Says whether a layout is to be planned, against the best layout so far, whose time is `time` where there is one, or else the best
 * format so far, which layout slice would not beat where `slower` is set. Layout row is not looked at where it is slower for sure,
 * and layout paper only where it is asked for. */
static int is_planned(const macko_facts *f, const macko_options *options, int i, int found, int slower, double time)
{
  const macko_layout layout = layouts[i];
  if (!macko_form_has(&macko_macko_forms[i], options) || (layout == MACKO_LAYOUT_SLICE && slower)) return 0;
  if ((found || slower) && row_is_slower(f, options, time)) return 0;
  return layout != MACKO_LAYOUT_PAPER || options->layout == MACKO_LAYOUT_PAPER;
}

/* Plans each layout that the options allow and may win, and keeps the best. A layout that cannot hold the matrix is passed over;
 * its refusal is reported if there is no other. */
macko_status macko_macko_plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  macko_codec codecs[MACKO_MOST_CODECS];
  macko_status refused = MACKO_OK;
  int count = 0, found = 0;
  macko_plan plans[MACKO_MACKO_FORMS] = {{0}};
  if (f->csr->ncols > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format macko holds at most %d columns, not %lld", INT32_MAX, (long long)f->csr->ncols);
  int hopeless;
  macko_status s = foresee(f, options, codecs, &count, plan, &hopeless, err);
  if (s || hopeless) return s;
  const double least = plan->time > 0 ? least_of_slices(f, options) : 0;
  const int slower = least > 0 && least >= plan->time;
  for (int i = 0; !s && i < MACKO_MACKO_FORMS; i++) {
    macko_plan candidate = {0};
    if (!is_planned(f, options, i, found, slower, plan->time)) continue;
    s = macko_layout_of(layouts[i])->plan_pattern(f, options, &candidate, err);
    if (s == MACKO_UNSUPPORTED || s == MACKO_LIMIT) refused = s, s = MACKO_OK;
    else if (!s) {
      candidate.layout = layouts[i];
      s = plan_stream(f, options, codecs, &count, &candidate, err);
      plans[i] = candidate;
      if (!found || macko_better(options, &candidate, plan)) *plan = candidate;
      found = 1;
    }
  }
  if (!s && !found && slower) plan->time = least;
  if (s || !found) return s ? s : refused;
  if (plans[0].layout && plans[1].layout) compare_layouts(options, &plans[0], &plans[1], plan);
  macko_describe_values(plan);
  return MACKO_OK;
}

/* Columns stay; the codec is chosen again, because new values may not fit the old one. The old stream is taken away before. */
macko_status macko_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  macko_codec codecs[MACKO_MOST_CODECS], old = macko_codec_of(&m->plan);
  macko_plan next = m->plan;
  int count = 0;
  /* A matrix from a file lacks both, as the first is a fact of the machine; no plan for a CPU has a drag of 0. */
  if (next.layout == MACKO_LAYOUT_SLICE) {
    if (!next.drag) next.drag = macko_cost_of(&m->options)->drag;
    next.scattered = macko_params_of(&next)->slice.window ? m->nrows : 0;
  }
  add_stream(f, &m->options, &old, -1, &next);
  macko_status s = choose_codec(f, &m->options, codecs, &count, &next, err);
  if (s) return s;
  macko_describe_values(&next);
  *plan = next;
  return MACKO_OK;
}

void macko_add_pairs(const macko_matrix *m, int64_t more, macko_plan *plan)
{
  plan->table += more;
  plan->bytes += more * entry_bytes(MACKO_VALUES_PAIRS, m->value_type);
}
