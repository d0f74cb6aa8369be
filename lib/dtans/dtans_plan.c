/* CSR-dtANS: which variant is taken, before a stream is written. */
#include "dtans/dtans_predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  FEW_LANES = 1 << 12, /* more rows a lane are not taken below this: about one warp a multiprocessor */
  LEAST_SLOTS = 16     /* of a symbol where all have powers of two: its number is then looked up in a table of 256 bytes */
};

/* ---- values of SPLIT ---- */

/* Returns the bytes of values beside coded gaps, by that codec: the stream, the dictionary and starts of slices. */
static int64_t beside_bytes(const macko_dtans_planner *p, const macko_codec *codec, int64_t rows)
{
  return p->nnz * macko_type_bytes(codec->stored_type) + codec->table * macko_type_bytes(p->value_type) +
         (macko_dtans_slices(p->nrows, rows) + 1) * macko_type_bytes(macko_index_type(p->nnz));
}

/* Completes a SPLIT plan, of which params say M and rows, with the values' side: the best of the codecs, or a stream of their
 * own, or a single value, by bytes. coder codes the values; with NULL they may not be coded. */
static macko_status add_values(macko_dtans_planner *p, const macko_codec *codecs, int count, macko_dtans_coder *coder,
                               macko_plan *plan, macko_error *err)
{
  int64_t rows = plan->params[MACKO_DTANS_ROWS], best = INT64_MAX, bytes;
  macko_status s = MACKO_OK;
  plan->params[MACKO_DTANS_ONE_VALUE] = 0;
  for (int i = 0; i < count; i++) {
    bytes = beside_bytes(p, &codecs[i], rows);
    if (bytes >= best) continue;
    best = bytes;
    plan->values = codecs[i].values, plan->stored_type = codecs[i].stored_type;
    plan->lossy = codecs[i].lossy, plan->table = codecs[i].table;
  }
  if (coder) {
    const macko_dtans_histogram *h;
    s = macko_dtans_count_symbols(p->in, MACKO_DTANS_VALUES, &h, err);
    int single = !s && h->used == 1 && !h->forgotten;
    if (!s && single) bytes = macko_type_bytes(p->value_type);
    else if (!s) s = macko_dtans_predict(p, plan->params, coder, &bytes, err);
    if (!s && bytes < best) {
      best = bytes;
      plan->values = MACKO_VALUES_CODED, plan->stored_type = p->value_type, plan->lossy = 0, plan->table = 0;
      plan->params[MACKO_DTANS_ONE_VALUE] = single;
    }
  }
  if (s) return s; /* there may be no best */
  plan->params[MACKO_DTANS_VALUE_BYTES] = best;
  plan->bytes += best;
  return MACKO_OK;
}

/* Lists the codecs that may stand beside coded gaps, none where values must be coded, and sets *coded to whether they may be
 * coded. */
static macko_status value_choices(const macko_dtans_input *in, macko_values wanted,
                                  macko_codec codecs[MACKO_MOST_CODECS], int *count, int *coded, macko_error *err)
{
  *coded = wanted == MACKO_VALUES_AUTO || wanted == MACKO_VALUES_CODED;
  *count = 0;
  return wanted == MACKO_VALUES_CODED ? MACKO_OK : macko_codecs_of_rows(in->values, wanted, codecs, count, err);
}

/* ---- variants ---- */

/* Writes the reason of a plan, and its variant, from the params. */
static void describe(macko_plan *plan)
{
  const int64_t *q = plan->params;
  plan->variant = (macko_variant)q[MACKO_DTANS_VARIANT];
  snprintf(plan->reason, sizeof plan->reason, "dtans %s, multiplicity %lld%s, %lld rows a lane, first gap %s, values %s%s",
           macko_variant_name((macko_variant)q[MACKO_DTANS_VARIANT]), (long long)q[MACKO_DTANS_MULTIPLICITY],
           q[MACKO_DTANS_LEAST] ? " in powers of two" : "",
           (long long)q[MACKO_DTANS_ROWS], q[MACKO_DTANS_RELATIVE] ? "from the diagonal" : "absolute",
           q[MACKO_DTANS_ONE_VALUE] ? "all the same" : macko_values_name(plan->values),
           plan->lossy ? " (lossy, as asked for)" : "");
}

/* What may be chosen from: the variant (or AUTO), the codecs that may stand beside coded gaps, and whether values may be
 * coded. */
typedef struct {
  macko_variant variant;
  const macko_codec *codecs;
  int count, coded;
} choice;

/* Counts the bytes of the row lengths and, by the coders, of the streams; plan->params are given, the rows a lane among them. */
static macko_status plan_rows(macko_dtans_planner *p, macko_dtans_coder *streams, const choice *c, macko_plan *plan,
                              macko_error *err)
{
  int64_t bytes;
  macko_status s = macko_dtans_predict(p, plan->params, &streams[0], &bytes, err);
  if (s) return s;
  plan->bytes = bytes + p->in->lengths.bytes;
  plan->values = MACKO_VALUES_CODED, plan->stored_type = p->value_type;
  if (plan->params[MACKO_DTANS_VARIANT] == MACKO_VARIANT_SPLIT)
    s = add_values(p, c->codecs, c->count, c->coded ? &streams[1] : NULL, plan, err);
  return s;
}

/* What plan_variant is asked for. */
typedef struct {
  macko_variant variant;
  int multiplicity, least;
  int64_t rows; /* a lane; 0: the best */
} wish;

/* Returns the most rows a lane that are tried: as many as are wished for, or as leave a GPU enough lanes. Variant paper has
 * one. */
static int64_t most_rows(const macko_dtans_planner *p, const wish *w)
{
  int64_t rows = 1;
  if (w->rows || w->variant == MACKO_VARIANT_PAPER) return w->rows ? w->rows : 1;
  while (rows < MACKO_DTANS_MAX_ROWS && p->nrows / (2 * rows) >= FEW_LANES) rows *= 2;
  return rows;
}

/* Makes the plan of the fewest bytes that a wish takes, where every doubling of the rows a lane, which halves the parallelism,
 * must save 2 %. *best is set on success. The larger number of escapes of a stream is kept for may_join, those of stream 0 for
 * the weight. */
static macko_status plan_variant(macko_dtans_planner *p, wish w, const choice *c, macko_plan *best, macko_error *err)
{
  macko_dtans_coder streams[2];
  macko_plan plan = {0};
  memset(streams, 0, sizeof streams);
  plan.params[MACKO_DTANS_VARIANT] = w.variant;
  plan.params[MACKO_DTANS_MULTIPLICITY] = w.multiplicity, plan.params[MACKO_DTANS_LEAST] = w.least;
  plan.params[MACKO_DTANS_RELATIVE] = p->in->relative;
  macko_status s = macko_dtans_open_coder(p->in, plan.params, 0, &streams[0], err);
  if (!s && w.variant == MACKO_VARIANT_SPLIT && c->coded) s = macko_dtans_open_coder(p->in, plan.params, 1, &streams[1], err);
  for (int i = 0; i < 2; i++)
    if (streams[i].table[0] && streams[i].table[0]->escaped > p->escaped) p->escaped = streams[i].table[0]->escaped;
  if (streams[0].table[0]) p->tried = streams[0].table[0]->escaped;
  double worth = INFINITY;
  for (int64_t rows = w.rows ? w.rows : 1, most = most_rows(p, &w); !s && rows <= most; rows *= 2) {
    plan.params[MACKO_DTANS_ROWS] = rows;
    s = plan_rows(p, streams, c, &plan, err);
    if (!s && (double)plan.bytes < 0.98 * worth) *best = plan, worth = (double)plan.bytes;
    else worth *= 0.98;
  }
  macko_dtans_close_coder(&streams[0]), macko_dtans_close_coder(&streams[1]);
  return s;
}

/* Keeps a plan, the one made last: the time is predicted by its escapes. */
static void keep_plan(macko_dtans_planner *p, const macko_plan *last, macko_plan *plan)
{
  *plan = *last, p->escapes = p->tried;
}

/* Tells whether pairs can be worth a try. A pair is at least as rare as its rarer part, so JOINT has as many escapes as SPLIT or
 * more, of a gap and a value each: often that is enough to know that it loses. */
static int may_join(const macko_dtans_planner *p, const choice *c, int64_t split_bytes)
{
  int64_t escape_bytes = 4 + (macko_type_bytes(p->value_type) > 4 ? 8 : 4);
  return c->variant == MACKO_VARIANT_AUTO && c->coded && p->escaped * escape_bytes < split_bytes;
}

/* Makes the plan of the fewest bytes. Variants are compared with the largest M first, which codes best; what decodes faster is
 * then taken where it costs less than one per cent. */
static macko_status plan_for_memory(macko_dtans_planner *p, const choice *c, macko_plan *plan, macko_error *err)
{
  int paper = c->variant == MACKO_VARIANT_PAPER;
  macko_plan other;
  /* Variants other than paper are first compared with M = 1024 and any multiplicities up to that. */
  wish w = {c->variant ? c->variant : MACKO_VARIANT_SPLIT, paper ? 256 : 1024, 0, 0};
  macko_status s = plan_variant(p, w, c, &other, err);
  if (!s) keep_plan(p, &other, plan);
  if (!s && may_join(p, c, plan->bytes)) {
    w.variant = MACKO_VARIANT_JOINT;
    s = plan_variant(p, w, c, &other, err);
    if (!s && other.bytes < plan->bytes) keep_plan(p, &other, plan);
  }
  w.variant = (macko_variant)plan->params[MACKO_DTANS_VARIANT], w.rows = plan->params[MACKO_DTANS_ROWS];
  if (!s && !paper) { /* two checks a segment instead of three are worth one per cent */
    w.multiplicity = 256;
    s = plan_variant(p, w, c, &other, err);
    if (!s && (double)other.bytes < 1.01 * (double)plan->bytes) keep_plan(p, &other, plan);
  }
  if (!s && !paper) { /* and so are digits that are bits */
    w.multiplicity = (int)plan->params[MACKO_DTANS_MULTIPLICITY], w.least = LEAST_SLOTS;
    s = plan_variant(p, w, c, &other, err);
    if (!s && (double)other.bytes < 1.01 * (double)plan->bytes) keep_plan(p, &other, plan);
  }
  return s;
}

/* Makes the plan that a GPU multiplies with soonest, by its weight. There is one row a lane, so that no lane has a row's end to
 * look for; M is 256. Three kinds of tables are tried, and pairs where they can be worth it. */
static macko_status plan_for_time(macko_dtans_planner *p, const choice *c, macko_plan *plan, macko_error *err)
{
  static const int least[] = {LEAST_SLOTS, MACKO_DTANS_EQUAL_SLOTS, 0};
  macko_variant first = c->variant ? c->variant : MACKO_VARIANT_SPLIT;
  double best = INFINITY;
  macko_status s = MACKO_OK;
  for (int joint = 0; joint < 2 && !s; joint++)
    for (int i = 0; i < 3 && !s; i++) {
      macko_plan other;
      wish w = {joint ? MACKO_VARIANT_JOINT : first, 256, least[i], 1};
      if (joint && !may_join(p, c, plan->bytes)) return MACKO_OK;
      s = plan_variant(p, w, c, &other, err);
      double weight = macko_dtans_weight(&other, p->nnz, p->tried);
      if (s || weight >= best) continue;
      keep_plan(p, &other, plan), best = weight;
    }
  return s;
}

/* Plans what has been chosen again, by a larger sample. */
static macko_status predict_choice(macko_dtans_planner *p, const choice *c, macko_plan *plan, macko_error *err)
{
  const int64_t *q = plan->params;
  wish w = {(macko_variant)q[MACKO_DTANS_VARIANT], (int)q[MACKO_DTANS_MULTIPLICITY], (int)q[MACKO_DTANS_LEAST],
            q[MACKO_DTANS_ROWS]};
  p->sample = MACKO_DTANS_SAMPLE;
  macko_plan sampled;
  macko_status s = plan_variant(p, w, c, &sampled, err);
  if (!s) keep_plan(p, &sampled, plan);
  return s;
}

/* Fails where gaps of 32 bits cannot span all columns. */
static macko_status check(const macko_rows *a, macko_error *err)
{
  if (a->ncols > UINT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format dtans holds at most %lld columns, not %lld", (long long)UINT32_MAX,
                      (long long)a->ncols);
  return MACKO_OK;
}

/* First gaps count from the diagonal wherever a zig-zag code of 32 bits can hold them, but for variant paper. A matrix that the
 * first samples have read as a whole is not predicted again. */
macko_status macko_dtans_plan(macko_dtans_input *in, const macko_options *options, macko_plan *plan, macko_error *err)
{
  int64_t wide = 1LL << 31;
  macko_codec codecs[MACKO_MOST_CODECS];
  int count, coded, paper = options->variant == MACKO_VARIANT_PAPER;
  macko_status s = check(in->rows, err);
  double least = plan->time > 0 ? macko_dtans_least_time(in, options) : 0;
  if (!s && least > 0 && least >= plan->time) return plan->time = least, MACKO_OK;
  in->relative = !paper && in->rows->nrows <= wide && in->rows->ncols <= wide;
  if (!s) s = value_choices(in, options->values, codecs, &count, &coded, err);
  macko_dtans_planner p;
  if (!s) s = macko_dtans_open_planner(in, &p, err);
  if (s) return s;
  choice c = {options->variant, codecs, count, coded};
  int for_time = options->prefer == MACKO_PREFER_TIME && options->target == MACKO_TARGET_GPU && !paper;
  s = for_time ? plan_for_time(&p, &c, plan, err) : plan_for_memory(&p, &c, plan, err);
  if (!s && p.nnz / MACKO_DTANS_TRIED > 1) s = predict_choice(&p, &c, plan, err);
  macko_dtans_close_planner(&p);
  if (!s) plan->time = macko_dtans_time(in, options, plan, p.escapes);
  describe(plan);
  return s;
}

/* M and the rows a lane stay, as the gaps are coded by them. So do the gaps' escapes, so that the time changes by as much as it
 * does without any. */
macko_status macko_dtans_plan_values(macko_dtans_input *in, const macko_options *options, macko_plan *plan, macko_error *err)
{
  macko_codec codecs[MACKO_MOST_CODECS];
  macko_dtans_coder coder = {.flags = NULL};
  const macko_plan old = *plan;
  int count, coded;
  macko_status s = value_choices(in, options->values, codecs, &count, &coded, err);
  macko_dtans_planner p;
  if (!s) s = macko_dtans_open_planner(in, &p, err);
  if (s) return s;
  in->relative = (int)plan->params[MACKO_DTANS_RELATIVE];
  p.sample = MACKO_DTANS_SAMPLE;
  if (coded) s = macko_dtans_open_coder(in, plan->params, 1, &coder, err);
  plan->bytes -= plan->params[MACKO_DTANS_VALUE_BYTES];
  if (!s) s = add_values(&p, codecs, count, coded ? &coder : NULL, plan, err);
  macko_dtans_close_coder(&coder);
  macko_dtans_close_planner(&p);
  if (!s) plan->time += macko_dtans_time(in, options, plan, 0) - macko_dtans_time(in, options, &old, 0);
  describe(plan);
  return s;
}
