/* The macko format (Macko & Boza, arXiv 2511.13061): column gaps of a few bits, aligned one to one with the values. This file
 * chooses layout and value codec by exact bytes or predicted time; each layout has a file of its own. */
#include "cost.h"
#include "macko_parts.h"
#include "product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const macko_layout_ops *layout_ops(macko_layout layout)
{
  return layout == MACKO_LAYOUT_ROW ? &macko_row_layout : layout == MACKO_LAYOUT_SLICE ? &macko_slice_layout : &macko_paper_layout;
}

static int64_t stream_bytes(const macko_facts *f, const macko_layout_ops *ops, const macko_plan *plan, const macko_codec *codec)
{
  int64_t size = macko_type_bytes(codec->stored_type);
  return ops->value_slots(f->nnz, plan, size) * size + codec->table * macko_type_bytes(f->csr->value_type);
}

static double stream_time(const macko_facts *f, const macko_options *options, const macko_layout_ops *ops, const macko_plan *plan,
                          const macko_codec *codec)
{
  const macko_cost *cost = macko_cost_of(options);
  double slots = (double)ops->value_slots(f->nnz, plan, macko_type_bytes(codec->stored_type));
  return (double)stream_bytes(f, ops, plan, codec) * cost->byte + slots * macko_codec_cost(cost, codec->stored_type, codec->table);
}

/* *plan with that codec. */
static macko_plan with_codec(const macko_facts *f, const macko_options *options, const macko_layout_ops *ops, const macko_codec *codec,
                             const macko_plan *plan)
{
  macko_plan p = *plan;
  p.bytes += stream_bytes(f, ops, plan, codec);
  p.time += stream_time(f, options, ops, plan, codec);
  p.values = codec->values;
  p.stored_type = codec->stored_type;
  p.lossy = codec->lossy;
  p.table = codec->table;
  return p;
}

/* Adds to *plan the codec that suits the options best. *count is 0 until the values have been looked at, which is once, and not where
 * none are streamed: raw would tie with any codec that needs no table. */
static macko_status choose_codec(const macko_facts *f, const macko_options *options, const macko_layout_ops *ops, macko_codec codecs[3],
                                 int *count, macko_plan *plan, macko_error *err)
{
  const macko_codec raw = {MACKO_VALUES_RAW, f->csr->value_type, 0, 0};
  macko_values wanted = ops == &macko_paper_layout ? MACKO_VALUES_RAW : options->values;
  if ((wanted == MACKO_VALUES_AUTO || wanted == MACKO_VALUES_RAW) && ops->value_slots(f->nnz, plan, 1) == 0) {
    *plan = with_codec(f, options, ops, &raw, plan);
    return MACKO_OK;
  }
  macko_status s = *count ? MACKO_OK : macko_codecs_by(&f->values, wanted, codecs, count, err);
  if (s) return s;
  macko_plan best = with_codec(f, options, ops, &codecs[0], plan);
  for (int i = 1; i < *count; i++) {
    macko_plan p = with_codec(f, options, ops, &codecs[i], plan);
    if (macko_better(options, &p, &best)) best = p;
  }
  *plan = best;
  return MACKO_OK;
}

/* The last part of the reason; refresh may choose another codec. */
static void describe_values(macko_plan *plan)
{
  static const char start[] = "; values ";
  char *end = strstr(plan->reason, start);
  if (!end) end = plan->reason + strlen(plan->reason);
  snprintf(end, (size_t)(plan->reason + sizeof plan->reason - end), "%s%s as %s%s", start, macko_values_name(plan->values),
           macko_type_name(plan->stored_type), plan->lossy ? " (lossy, as asked for)" : "");
}

/* Known before anything is planned: the entries alone take layout row longer. */
static int row_is_slower(const macko_facts *f, const macko_options *options, const macko_plan *other)
{
  return options->prefer == MACKO_PREFER_TIME && other->time <= (double)f->nnz * macko_row_cost(options, f->csr->value_type);
}

static void compare_layouts(const macko_options *options, const macko_plan *slice, const macko_plan *row, macko_plan *plan)
{
  size_t end = strlen(plan->reason), room = sizeof plan->reason - end;
  if (options->prefer == MACKO_PREFER_MEMORY)
    snprintf(plan->reason + end, room, "; slice %lld bytes, row %lld bytes", (long long)slice->bytes, (long long)row->bytes);
  else snprintf(plan->reason + end, room, "; slice %.3g us predicted, row %.3g us", 1e-3 * slice->time, 1e-3 * row->time);
}

static double slot_time(const macko_options *options, const macko_codec *codec)
{
  const macko_cost *cost = macko_cost_of(options);
  return (double)macko_type_bytes(codec->stored_type) * cost->byte + macko_codec_cost(cost, codec->stored_type, codec->table);
}

/* Of the better of both orders of rows. */
static double estimated_time(const macko_slice_estimate estimates[2], double slot)
{
  double unsorted = estimates[0].columns + estimates[0].slots * slot, sorted = estimates[1].columns + estimates[1].slots * slot;
  return unsorted < sorted ? unsorted : sorted;
}

/* Where formats compete, a sample of the slices tells whether format macko has no chance of being faster than csr, before all of them are
 * looked at; plan->time is then what made it so. Values are looked at where their codec decides. Not for a GPU, where the two are close
 * too often. */
static macko_status foresee(const macko_facts *f, const macko_options *options, macko_codec codecs[3], int *count, macko_plan *plan,
                            int *hopeless, macko_error *err)
{
  const macko_codec raw = {MACKO_VALUES_RAW, f->csr->value_type, 0, 0};
  macko_plan csr = {0};
  macko_slice_estimate estimates[2];
  *hopeless = 0;
  if (options->format != MACKO_FORMAT_AUTO || options->layout != MACKO_LAYOUT_AUTO || options->prefer != MACKO_PREFER_TIME ||
      options->target != MACKO_TARGET_CPU || options->delta_bits || macko_csr_ops.plan(f, options, &csr, NULL) ||
      !row_is_slower(f, options, &csr) || !f->sample || !f->sample(f->context, options, estimates))
    return MACKO_OK;
  double bound = 1.1 * csr.time, slot = 0; /* a tenth for what the sample missed */
  if (estimated_time(estimates, 0) <= bound) {
    if (estimated_time(estimates, slot_time(options, &raw)) <= bound) return MACKO_OK;
    macko_status s = macko_codecs_by(&f->values, options->values, codecs, count, err);
    if (s) return s;
    slot = slot_time(options, &codecs[0]);
    for (int i = 1; i < *count; i++) slot = slot_time(options, &codecs[i]) < slot ? slot_time(options, &codecs[i]) : slot;
  }
  plan->time = estimated_time(estimates, slot);
  *hopeless = plan->time > bound;
  return MACKO_OK;
}

static macko_status plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  static const macko_layout automatic[] = {MACKO_LAYOUT_SLICE, MACKO_LAYOUT_ROW};
  macko_codec codecs[3];
  macko_status refused = MACKO_OK;
  int count = 0, found = 0;
  macko_plan both[2] = {{0}};
  if (f->csr->ncols > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "format macko holds at most %d columns, not %lld", INT32_MAX, (long long)f->csr->ncols);
  int hopeless;
  macko_status s = foresee(f, options, codecs, &count, plan, &hopeless, err);
  if (s || hopeless) return s;
  for (int i = 0; !s && i < 2; i++) {
    macko_layout layout = options->layout == MACKO_LAYOUT_AUTO ? automatic[i] : options->layout;
    macko_plan candidate = {0};
    if (i == 1 && (options->layout != MACKO_LAYOUT_AUTO || (found && row_is_slower(f, options, plan)))) break;
    s = layout_ops(layout)->plan_pattern(f, options, &candidate, err);
    if (s == MACKO_UNSUPPORTED || s == MACKO_LIMIT) refused = s, s = MACKO_OK;
    else if (!s) {
      candidate.layout = layout;
      s = choose_codec(f, options, layout_ops(layout), codecs, &count, &candidate, err);
      if (!s && layout_ops(layout)->plan_values) s = layout_ops(layout)->plan_values(f->csr, &candidate, err);
      both[i] = candidate;
      if (!found || macko_better(options, &candidate, plan)) *plan = candidate;
      found = 1;
    }
  }
  if (s || !found) return s ? s : refused;
  if (both[0].layout && both[1].layout) compare_layouts(options, &both[0], &both[1], plan);
  describe_values(plan);
  return MACKO_OK;
}

macko_facts macko_host_facts(const macko_csr *a)
{
  return (macko_facts){a, macko_csr_nnz(a), macko_facts_of_csr(a), macko_host_slices, macko_host_sample, macko_host_rows, (void *)a};
}

/* The value stream of m->plan in fresh sections; nothing of m changes. */
static macko_status new_values(const macko_csr *a, const macko_matrix *m, macko_section *values, macko_section *dict,
                               macko_error *err)
{
  const macko_plan *plan = &m->plan;
  macko_codec codec = {plan->values, plan->stored_type, plan->lossy, plan->table};
  macko_value_writer w = {0};
  int64_t slots = layout_ops(plan->layout)->value_slots(m->nnz, plan, macko_type_bytes(plan->stored_type));
  *dict = (macko_section){0};
  macko_status s = macko_new_section("values", plan->stored_type, slots, values, err);
  if (!s && plan->table) s = macko_new_section("dict", m->value_type, plan->table, dict, err);
  if (!s) s = macko_open_writer(a, &codec, values->data, dict->data, &w, err);
  if (!s) layout_ops(plan->layout)->write_values(a, m, &w);
  macko_close_writer(&w);
  if (s) free(values->data), free(dict->data);
  return s;
}

static void put_values(macko_matrix *m, const macko_section *values, const macko_section *dict)
{
  macko_put_section(m, values);
  if (dict->data) macko_put_section(m, dict);
  else macko_drop_section(m, "dict");
}

static macko_status encode(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_section values = {0}, dict;
  macko_status s = layout_ops(m->plan.layout)->encode_pattern(a, m, err);
  if (!s) s = new_values(a, m, &values, &dict, err);
  if (!s) put_values(m, &values, &dict);
  return s;
}

/* All of m anew, with the options it was made with; on failure m is unchanged. */
static macko_status encode_again(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_options options = m->options;
  macko_matrix *fresh = NULL, old = *m;
  options.format = MACKO_FORMAT_MACKO;
  macko_status s = macko_encode(a, &options, &fresh, err);
  if (s) return s;
  *m = *fresh, *fresh = old;
  m->options = old.options;
  macko_destroy(&fresh);
  return MACKO_OK;
}

/* New values over the old ones of the same codec; cannot fail. */
static void overwrite_values(const macko_csr *a, macko_matrix *m, const macko_codec *codec)
{
  macko_value_writer w;
  macko_open_writer(a, codec, macko_section_data(m, "values"), NULL, &w, NULL);
  layout_ops(m->plan.layout)->write_values(a, m, &w);
}

/* Columns stay; the codec is chosen again, because new values may not fit the old one. */
macko_status macko_plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  const macko_layout_ops *ops = layout_ops(m->plan.layout);
  macko_codec codecs[3], old = {m->plan.values, m->plan.stored_type, m->plan.lossy, m->plan.table};
  macko_plan next = m->plan;
  int count = 0;
  if (m->format == MACKO_FORMAT_CSR && next.stored_type != m->value_type) {
    *plan = next;
    return f->values.misfit(f->values.context, next.stored_type, &plan->lossy, err);
  }
  /* Where all slices are stencils, there is nothing to choose for. */
  if (m->format != MACKO_FORMAT_MACKO || !ops->value_slots(f->nnz, &next, 8)) return *plan = next, MACKO_OK;
  next.bytes -= stream_bytes(f, ops, &m->plan, &old);
  next.time -= stream_time(f, &m->options, ops, &m->plan, &old);
  macko_status s = choose_codec(f, &m->options, ops, codecs, &count, &next, err);
  if (s) return s;
  describe_values(&next);
  *plan = next;
  return MACKO_OK;
}

static macko_status refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  const macko_layout_ops *ops = layout_ops(m->plan.layout);
  const macko_codec old = {m->plan.values, m->plan.stored_type, m->plan.lossy, m->plan.table};
  macko_facts f = macko_host_facts(a);
  macko_section values = {0}, dict = {0}, starts = {0};
  macko_matrix next = *m;
  if (ops->pattern_holds && !ops->pattern_holds(a, m)) return encode_again(a, m, err);
  if (!ops->value_slots(m->nnz, &m->plan, 8)) return MACKO_OK; /* all slices are stencils */
  macko_status s = macko_plan_values(&f, m, &next.plan, err);
  if (s) return s;
  if (!ops->plan_values && old.values != MACKO_VALUES_DICT && next.plan.values == old.values && next.plan.stored_type == old.stored_type) {
    m->plan = next.plan;
    overwrite_values(a, m, &old);
    return MACKO_OK;
  }
  if (ops->plan_values) s = ops->plan_values(a, &next.plan, err);
  if (!s && ops->move_values && macko_type_bytes(m->plan.stored_type) != macko_type_bytes(next.plan.stored_type))
    s = ops->move_values(&next, &starts, err);
  if (!s) s = new_values(a, &next, &values, &dict, err);
  if (s) {
    free(starts.data);
    return s;
  }
  m->plan = next.plan;
  put_values(m, &values, &dict);
  if (starts.data) macko_put_section(m, &starts);
  return MACKO_OK;
}

static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  return layout_ops(m->plan.layout)->decode(m, row_ptr, cols, values, err);
}

macko_status macko_expect_section(const macko_matrix *m, const char *name, macko_type type, int64_t count, macko_error *err)
{
  const macko_section *s = macko_find_section(m, name);
  if (!s && count == 0) return MACKO_OK;
  if (s && s->type == type && s->bytes == count * macko_type_bytes(type)) return MACKO_OK;
  return macko_fail(err, MACKO_CORRUPT, "section %s should hold %lld elements of %s and has %lld bytes", name, (long long)count,
                    macko_type_name(type), s ? (long long)s->bytes : 0LL);
}

/* Every code of a dictionary stream inside the table. */
static macko_status validate_codes(const macko_matrix *m, macko_error *err)
{
  const macko_section *values = macko_find_section(m, "values");
  macko_status s = macko_expect_section(m, "dict", m->value_type, m->plan.table, err);
  if (s || (values->type != MACKO_U8 && values->type != MACKO_U16)) return s;
  int64_t count = values->bytes / macko_type_bytes(values->type);
  for (int64_t i = 0; i < count; i++) {
    int64_t code = macko_unsigned_at(values->data, values->type == MACKO_U8 ? 1 : 2, i);
    if (code >= m->plan.table)
      return macko_fail(err, MACKO_CORRUPT, "value code %lld at slot %lld is beyond the %lld of the dictionary", (long long)code,
                        (long long)i, (long long)m->plan.table);
  }
  return MACKO_OK;
}

static macko_status validate(const macko_matrix *m, macko_error *err)
{
  if (m->plan.layout != MACKO_LAYOUT_ROW && m->plan.layout != MACKO_LAYOUT_SLICE && m->plan.layout != MACKO_LAYOUT_PAPER)
    return macko_fail(err, MACKO_CORRUPT, "layout %d is none of row, slice and paper", (int)m->plan.layout);
  if (m->ncols > INT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "format macko holds at most %d columns, not %lld", INT32_MAX, (long long)m->ncols);
  if ((unsigned)m->plan.stored_type > MACKO_I8 && m->plan.stored_type != MACKO_U8 && m->plan.stored_type != MACKO_U16)
    return macko_fail(err, MACKO_CORRUPT, "values are stored as type %d, which is no codec's", (int)m->plan.stored_type);
  if (m->plan.table < 0 || m->plan.table > MACKO_DICT_LIMIT)
    return macko_fail(err, MACKO_CORRUPT, "a dictionary of %lld values; there is room for %d", (long long)m->plan.table,
                      MACKO_DICT_LIMIT);
  macko_status s = layout_ops(m->plan.layout)->validate(m, err);
  return s ? s : validate_codes(m, err);
}

static macko_status multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  layout_ops(m->plan.layout)->multiply(m, p);
  return MACKO_OK;
}

const macko_format_ops macko_macko_ops = {plan, encode, refresh, decode, validate, multiply, NULL, NULL};
