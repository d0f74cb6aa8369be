/* CSR-dtANS: which variant, and how many bytes it will take, before a stream is written. Row lengths and histograms give all but
 * one number exactly: how many words come out of digits. That is counted on all slices of a small matrix and on slices spread
 * over a big one, and scaled by the bits that all digits carry. */
#include "dtans/dtans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  TRIED = 1 << 16,    /* nonzeros that a forward pass reads to compare a choice with others */
  SAMPLE = 1 << 17,   /* and to predict what is chosen */
  LARGE = 64,         /* a slice that holds more than this part of the nonzeros is counted by itself */
  FEW_LANES = 1 << 12, /* more rows a lane are not taken below this: about one warp a multiprocessor */
  LEAST_SLOTS = 16     /* of a symbol where all have powers of two: its number is then looked up in a table of 256 bytes */
};

typedef struct {
  macko_dtans_input *in;
  macko_dtans_slice slice;
  int64_t nrows, nnz, sample; /* sample: TRIED or SAMPLE */
  macko_type value_type;
  struct {
    int64_t rows, full, returned;
    int domains, short_tail;
  } full; /* what full_size found last; rows: 0 before */
  int64_t escaped; /* the larger number of escapes, of gaps or of values, that SPLIT would have */
  int64_t escapes; /* of stream 0 in the plan made last */
} planner;

static int64_t table_bytes(const macko_dtans_table *t, macko_dtans_part part, int64_t value_size)
{
  return t->symbols * ((part & MACKO_DTANS_GAPS ? 4 : 0) + (part & MACKO_DTANS_VALUES ? value_size : 0)) + 2 * (t->symbols + 1);
}

/* ---- one stream ---- */

/* Words of all segments and symbols whose digits are returned, over all lanes: a matter of row lengths, so that most tries share
 * it. */
static void full_size(planner *p, const macko_dtans_coding *c, int64_t rows, macko_dtans_size *size)
{
  int64_t full = 0, returned = 0;
  int known = p->full.rows == rows && p->full.domains == c->domains && p->full.short_tail == c->short_tail;
  for (int64_t first = 0; first < p->nrows && !known; first += rows * MACKO_DTANS_LANES)
    for (int l = 0; l < MACKO_DTANS_LANES; l++) {
      int64_t count = 0, segments;
      for (int64_t q = 0, row = first + l; q < rows && row < p->nrows; q++, row += MACKO_DTANS_LANES)
        count += macko_dtans_length(&p->in->lengths, row);
      segments = macko_dtans_segments(c, count);
      if (!segments) continue;
      full += MACKO_DTANS_WORDS * (segments - 1) + macko_dtans_words(c, count, segments - 1);
      returned += MACKO_DTANS_SEGMENT * (segments - 1);
    }
  if (!known) p->full.rows = rows, p->full.domains = c->domains, p->full.short_tail = c->short_tail;
  if (!known) p->full.full = full, p->full.returned = returned;
  size->full += p->full.full, size->returned += p->full.returned;
}

static int64_t slice_nonzeros(const planner *p, int64_t rows, int64_t slice)
{
  int64_t first = slice * rows * MACKO_DTANS_LANES, past = first + rows * MACKO_DTANS_LANES, sum = 0;
  for (int64_t row = first; row < past && row < p->nrows; row++) sum += macko_dtans_length(&p->in->lengths, row);
  return sum;
}

/* What has been measured, and how many nonzeros that were. */
typedef struct {
  macko_dtans_size size;
  int64_t nonzeros;
} measured;

static macko_status measure(planner *p, const int64_t *params, macko_dtans_coder *c, int64_t slice, measured *m, macko_error *err)
{
  macko_status s = macko_dtans_gather(p->in, params[MACKO_DTANS_ROWS], slice, &p->slice, err);
  m->nonzeros += p->slice.nonzeros;
  return s ? s : macko_dtans_measure(c, &p->slice, &m->size, err);
}

/* What row lengths and histograms say of all slices. */
static measured known_size(planner *p, const macko_dtans_coder *c, int64_t rows)
{
  measured all = {.nonzeros = p->nnz};
  full_size(p, &c->coding, rows, &all.size);
  for (int k = 0; k < c->coding.domains; k++) {
    const macko_dtans_table *t = c->table[k];
    all.size.raw += t->escaped * (c->coding.gap_words[k] + c->coding.value_words[k]);
    all.size.log2_sum += 12 * (double)t->total - t->bits;
  }
  return all;
}

/* Words of all slices but those in *exact, by a sample of them: what digits give is taken to be in proportion to the number of
 * symbols whose digits are returned and to the bits of a digit. */
static int64_t estimate(const measured *all, const measured *exact, const measured *sample)
{
  double bits = (all->size.log2_sum - exact->size.log2_sum) / (double)(all->nonzeros - exact->nonzeros);
  double sample_bits = sample->size.log2_sum / (double)sample->nonzeros, extracted = 0;
  if (sample->size.returned && sample_bits > 0)
    extracted = (double)sample->size.extracted / (double)sample->size.returned *
                (double)(all->size.returned - exact->size.returned) * bits / sample_bits;
  return all->size.full - exact->size.full + all->size.raw - exact->size.raw - (int64_t)extracted;
}

/* The slices that hold a large part of the matrix; all of them where it is small. */
static macko_status measure_large(planner *p, const int64_t *params, macko_dtans_coder *c, int all, measured *m, macko_error *err)
{
  int64_t rows = params[MACKO_DTANS_ROWS], slices = macko_dtans_slices(p->nrows, rows);
  macko_status s = MACKO_OK;
  if (!all && p->in->longest_row * rows * MACKO_DTANS_LANES <= p->nnz / LARGE) return s;
  for (int64_t i = 0; i < slices && !s; i++)
    if (all || slice_nonzeros(p, rows, i) > p->nnz / LARGE) s = measure(p, params, c, i, m, err);
  return s;
}

/* One of each `part` of the others, not always at the same place, or a regular mesh shows only some of its rows. */
static macko_status measure_sample(planner *p, const int64_t *params, macko_dtans_coder *c, int64_t part, measured *m,
                                   macko_error *err)
{
  int64_t rows = params[MACKO_DTANS_ROWS], slices = macko_dtans_slices(p->nrows, rows);
  macko_status s = MACKO_OK;
  for (int64_t i = 0; i < slices && !s; i += part) {
    int64_t hashed = i + (int64_t)((uint64_t)i * 0x9e3779b97f4a7c15u >> 40) % part, place = hashed < slices ? hashed : i;
    if (slice_nonzeros(p, rows, place) <= p->nnz / LARGE) s = measure(p, params, c, place, m, err);
  }
  return s;
}

/* Words of a stream: exact for a small matrix; else by a sample, beside which the slices that hold a large part of it are counted
 * by themselves, but not while choices are compared. */
static macko_status predict_words(planner *p, const int64_t *params, macko_dtans_coder *c, int64_t *words, macko_error *err)
{
  int64_t part = p->nnz / p->sample;
  measured exact = {.nonzeros = 0}, sample = {.nonzeros = 0}, all;
  macko_status s = part > 1 ? measure_sample(p, params, c, part, &sample, err) : MACKO_OK;
  if (!s && (part <= 1 || p->sample == SAMPLE || !sample.nonzeros)) s = measure_large(p, params, c, part <= 1, &exact, err);
  *words = macko_dtans_size_words(&exact.size);
  if (s || !sample.nonzeros) return s;
  all = known_size(p, c, params[MACKO_DTANS_ROWS]);
  *words += estimate(&all, &exact, &sample);
  return MACKO_OK;
}

/* Bytes of a stream with its tables and slice starts. */
static macko_status predict(planner *p, const int64_t *params, macko_dtans_coder *c, int64_t *bytes, macko_error *err)
{
  int64_t words;
  macko_status s = predict_words(p, params, c, &words, err);
  if (s) return s;
  *bytes = 4 * words + (macko_dtans_slices(p->nrows, params[MACKO_DTANS_ROWS]) + 1) * macko_type_bytes(macko_index_type(words));
  for (int k = 0; k < c->coding.domains; k++)
    *bytes += table_bytes(c->table[k], c->part[k], macko_type_bytes(p->value_type));
  return MACKO_OK;
}

/* ---- values of SPLIT ---- */

static int64_t beside_bytes(const planner *p, const macko_codec *codec, int64_t rows)
{
  return p->nnz * macko_type_bytes(codec->stored_type) + codec->table * macko_type_bytes(p->value_type) +
         (macko_dtans_slices(p->nrows, rows) + 1) * macko_type_bytes(macko_index_type(p->nnz));
}

/* Completes a SPLIT plan, of which params say M and rows, with the values' side. coder codes the values, NULL: not allowed. */
static macko_status add_values(planner *p, const macko_codec *codecs, int count, macko_dtans_coder *coder, macko_plan *plan,
                               macko_error *err)
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
    else if (!s) s = predict(p, plan->params, coder, &bytes, err);
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

/* The codecs that may stand beside coded gaps, none where values must be coded; *coded: whether they may be coded. */
static macko_status value_choices(const macko_dtans_input *in, macko_values wanted, macko_codec codecs[3], int *count, int *coded,
                                  macko_error *err)
{
  *coded = wanted == MACKO_VALUES_AUTO || wanted == MACKO_VALUES_CODED;
  *count = 0;
  return wanted == MACKO_VALUES_CODED ? MACKO_OK : macko_codecs_of_rows(in->values, wanted, codecs, count, err);
}

/* ---- variants ---- */

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

/* Bytes of the row lengths and, by the coders, of the streams; plan->params are given. */
static macko_status plan_rows(planner *p, macko_dtans_coder *streams, const choice *c, macko_plan *plan, macko_error *err)
{
  int64_t bytes;
  macko_status s = predict(p, plan->params, &streams[0], &bytes, err);
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

static int64_t most_rows(const planner *p, const wish *w)
{
  int64_t rows = 1;
  if (w->rows || w->variant == MACKO_VARIANT_PAPER) return w->rows ? w->rows : 1;
  while (rows < MACKO_DTANS_MAX_ROWS && p->nrows / (2 * rows) >= FEW_LANES) rows *= 2;
  return rows;
}

/* The fewest bytes that a wish takes, where every doubling of the rows a lane, which halves the parallelism, must save 2 %. */
static macko_status plan_variant(planner *p, wish w, const choice *c, macko_plan *best, macko_error *err)
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
  if (streams[0].table[0]) p->escapes = streams[0].table[0]->escaped;
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

/* Whether pairs can be worth a try. A pair is at least as rare as its rarer part, so JOINT has as many escapes as SPLIT or more,
 * of a gap and a value each: often that is enough to know that it loses. */
static int may_join(const planner *p, const choice *c, int64_t split_bytes)
{
  int64_t escape_bytes = 4 + (macko_type_bytes(p->value_type) > 4 ? 8 : 4);
  return c->variant == MACKO_VARIANT_AUTO && c->coded && p->escaped * escape_bytes < split_bytes;
}

static macko_status plan_for_memory(planner *p, const choice *c, macko_plan *plan, macko_error *err)
{
  int paper = c->variant == MACKO_VARIANT_PAPER;
  macko_plan other;
  wish w = {c->variant ? c->variant : MACKO_VARIANT_SPLIT, paper ? 256 : 1024, 0, 0};
  macko_status s = plan_variant(p, w, c, plan, err);
  if (!s && may_join(p, c, plan->bytes)) {
    w.variant = MACKO_VARIANT_JOINT;
    s = plan_variant(p, w, c, &other, err);
    if (!s && other.bytes < plan->bytes) *plan = other;
  }
  w.variant = (macko_variant)plan->params[MACKO_DTANS_VARIANT], w.rows = plan->params[MACKO_DTANS_ROWS];
  if (!s && !paper) { /* two checks a segment instead of three are worth one per cent */
    w.multiplicity = 256;
    s = plan_variant(p, w, c, &other, err);
    if (!s && (double)other.bytes < 1.01 * (double)plan->bytes) *plan = other;
  }
  if (!s && !paper) { /* and so are digits that are bits */
    w.multiplicity = (int)plan->params[MACKO_DTANS_MULTIPLICITY], w.least = LEAST_SLOTS;
    s = plan_variant(p, w, c, &other, err);
    if (!s && (double)other.bytes < 1.01 * (double)plan->bytes) *plan = other;
  }
  return s;
}

/* One row a lane, so that no lane has a row's end to look for; then whatever is read and decoded soonest. */
static macko_status plan_for_time(planner *p, const choice *c, macko_plan *plan, macko_error *err)
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
      double weight = macko_dtans_weight(&other, p->nnz, p->escapes); /* of the plan made last */
      if (s || weight >= best) continue;
      *plan = other, best = weight;
    }
  return s;
}

/* The plan that has been chosen, by a larger sample. */
static macko_status predict_choice(planner *p, const choice *c, macko_plan *plan, macko_error *err)
{
  const int64_t *q = plan->params;
  wish w = {(macko_variant)q[MACKO_DTANS_VARIANT], (int)q[MACKO_DTANS_MULTIPLICITY], (int)q[MACKO_DTANS_LEAST],
            q[MACKO_DTANS_ROWS]};
  p->sample = SAMPLE;
  return plan_variant(p, w, c, plan, err);
}

static macko_status check(const macko_rows *a, macko_error *err)
{
  if (a->ncols > UINT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format dtans holds at most %lld columns, not %lld", (long long)UINT32_MAX,
                      (long long)a->ncols);
  return MACKO_OK;
}

static planner planner_of(macko_dtans_input *in)
{
  return (planner){.in = in, .sample = TRIED, .nrows = in->rows->nrows, .nnz = in->nnz, .value_type = in->rows->value_type};
}

macko_status macko_dtans_plan(macko_dtans_input *in, const macko_options *options, macko_plan *plan, macko_error *err)
{
  int64_t wide = 1LL << 31;
  macko_codec codecs[3];
  int count, coded, paper = options->variant == MACKO_VARIANT_PAPER;
  macko_status s = check(in->rows, err);
  double least = plan->time > 0 ? macko_dtans_least_time(in, options) : 0;
  if (!s && least > 0 && least >= plan->time) return plan->time = least, MACKO_OK;
  in->relative = !paper && in->rows->nrows <= wide && in->rows->ncols <= wide;
  if (!s) s = value_choices(in, options->values, codecs, &count, &coded, err);
  if (s) return s;
  planner p = planner_of(in);
  choice c = {options->variant, codecs, count, coded};
  int for_time = options->prefer == MACKO_PREFER_TIME && options->target == MACKO_TARGET_GPU && !paper;
  s = for_time ? plan_for_time(&p, &c, plan, err) : plan_for_memory(&p, &c, plan, err);
  if (!s && p.nnz / TRIED > 1) s = predict_choice(&p, &c, plan, err);
  free(p.slice.symbols);
  if (!s && options->format == MACKO_FORMAT_AUTO) plan->time = macko_dtans_time(in, options, plan, p.escapes);
  describe(plan);
  return s;
}

macko_status macko_dtans_plan_values(macko_dtans_input *in, const macko_options *options, macko_plan *plan, macko_error *err)
{
  macko_codec codecs[3];
  macko_dtans_coder coder = {.flags = NULL};
  int count, coded;
  macko_status s = value_choices(in, options->values, codecs, &count, &coded, err);
  if (s) return s;
  in->relative = (int)plan->params[MACKO_DTANS_RELATIVE];
  planner p = planner_of(in);
  p.sample = SAMPLE;
  if (coded) s = macko_dtans_open_coder(in, plan->params, 1, &coder, err);
  plan->bytes -= plan->params[MACKO_DTANS_VALUE_BYTES];
  if (!s) s = add_values(&p, codecs, count, coded ? &coder : NULL, plan, err);
  macko_dtans_close_coder(&coder);
  free(p.slice.symbols);
  describe(plan);
  return s;
}
