/* The codec of a plan: the best of those that hold the values, by what the format says that their streams take. */
#include "values/codecs.h"

#include <stdio.h>
#include <string.h>

macko_codec macko_codec_of(const macko_plan *plan)
{
  return (macko_codec){plan->values, plan->stored_type, plan->lossy, plan->table};
}

/* Only the format knows how many slots there are and what else depends on the type, so that its function adds bytes, work and
 * time. */
macko_plan macko_with_codec(const macko_facts *f, const macko_options *options, const macko_codec *codec, macko_add_stream add,
                            const macko_plan *plan)
{
  macko_plan p = *plan;
  add(f, options, codec, 1, &p);
  p.values = codec->values, p.stored_type = codec->stored_type, p.lossy = codec->lossy, p.table = codec->table;
  return p;
}

/* A codec replaces an earlier one only where it is better: of equal ones raw, the first, stays. */
void macko_take_best_codec(const macko_facts *f, const macko_options *options, const macko_codec *codecs, int count,
                           macko_add_stream add, macko_plan *plan)
{
  macko_plan best = macko_with_codec(f, options, &codecs[0], add, plan);
  for (int i = 1; i < count; i++) {
    macko_plan p = macko_with_codec(f, options, &codecs[i], add, plan);
    if (macko_better(options, &p, &best)) best = p;
  }
  *plan = best;
}

/* Tells whether that codec is better than raw. */
static int beats_raw(const macko_facts *f, const macko_options *options, macko_add_stream add, const macko_plan *plan,
                     macko_codec codec)
{
  const macko_codec raw = {MACKO_VALUES_RAW, f->values.value_type, 0, 0};
  const macko_plan by_raw = macko_with_codec(f, options, &raw, add, plan), by_it = macko_with_codec(f, options, &codec, add, plan);
  return macko_better(options, &by_it, &by_raw);
}

/* Each size of table that has a cost of its own is tried with the fewest values, as more of them take no less. */
static int64_t most_values(const macko_facts *f, const macko_options *options, macko_add_stream add, const macko_plan *plan)
{
  enum { FEW_CODES = 8, BYTE_CODES = 256 };
  const macko_codec least[] = {{MACKO_VALUES_DICT, MACKO_U8, 0, 1},
                               {MACKO_VALUES_DICT, MACKO_U8, 0, FEW_CODES + 1},
                               {MACKO_VALUES_DICT, MACKO_U16, 0, BYTE_CODES + 1}};
  if (beats_raw(f, options, add, plan, least[2])) return MACKO_DICT_LIMIT;
  return beats_raw(f, options, add, plan, least[0]) || beats_raw(f, options, add, plan, least[1]) ? BYTE_CODES : 0;
}

macko_codec_limits macko_useful_codecs(const macko_facts *f, const macko_options *options, macko_add_stream add,
                                       const macko_plan *plan)
{
  macko_codec_limits limits = {most_values(f, options, add, plan), 0};
  for (int t = MACKO_F32; t <= MACKO_I8; t++)
    if (beats_raw(f, options, add, plan, (macko_codec){MACKO_VALUES_NARROW, (macko_type)t, 0, 0})) limits.types |= 1u << t;
  return limits;
}

/* Sets *narrow to codec narrow by integers of 8 bits, and *found to 1, where the values are such integers and neither a
 * dictionary of one value nor another type would be better: they need not be counted then. */
static macko_status find_bytes(const macko_facts *f, const macko_options *options, macko_add_stream add, const macko_plan *plan,
                               macko_codec *narrow, int *found, macko_error *err)
{
  const macko_codec one = {MACKO_VALUES_DICT, MACKO_U8, 0, 1};
  int misfit = 1;
  *narrow = (macko_codec){MACKO_VALUES_NARROW, MACKO_I8, 0, 0};
  const macko_plan by_narrow = macko_with_codec(f, options, narrow, add, plan);
  const macko_plan by_one = macko_with_codec(f, options, &one, add, plan);
  const macko_plan by_single = macko_with_codec(f, options, &(macko_codec){MACKO_VALUES_NARROW, MACKO_F32, 0, 0}, add, plan);
  macko_status s = MACKO_OK;
  if (options->values == MACKO_VALUES_AUTO && !macko_better(options, &by_one, &by_narrow) &&
      !macko_better(options, &by_single, &by_narrow) && beats_raw(f, options, add, plan, *narrow))
    s = f->values.misfit(f->values.context, MACKO_I8, &misfit, err);
  *found = !s && !misfit;
  return s;
}

macko_status macko_choose_codec(const macko_facts *f, const macko_options *options, macko_add_stream add, macko_plan *plan,
                                macko_error *err)
{
  macko_codec codecs[MACKO_MOST_CODECS];
  int count = 2, found;
  macko_status s = find_bytes(f, options, add, plan, &codecs[1], &found, err);
  codecs[0] = (macko_codec){MACKO_VALUES_RAW, f->values.value_type, 0, 0};
  if (!s && !found) {
    const macko_codec_limits limits = macko_useful_codecs(f, options, add, plan);
    s = macko_codecs_by(&f->values, options->values, &limits, codecs, &count, err);
  }
  if (s) return s;
  macko_take_best_codec(f, options, codecs, count, add, plan);
  macko_describe_values(plan);
  return MACKO_OK;
}

/* What the old stream takes is taken away, and what is left is the plan without one, to which the best of all codecs is added. */
macko_status macko_rechoose_codec(const macko_facts *f, const macko_matrix *m, macko_add_stream add, macko_plan *plan,
                                  macko_error *err)
{
  const macko_codec old = macko_codec_of(&m->plan);
  macko_plan next = m->plan;
  add(f, &m->options, &old, -1, &next);
  macko_status s = macko_choose_codec(f, &m->options, add, &next, err);
  if (!s) *plan = next;
  return s;
}

/* The reason is looked through for where it speaks of values, as that is the last that formats put into it. */
void macko_describe_values(macko_plan *plan)
{
  static const char start[] = "; values ";
  char *end = strstr(plan->reason, start);
  if (!end) end = plan->reason + strlen(plan->reason);
  snprintf(end, (size_t)(plan->reason + sizeof plan->reason - end), "%s%s as %s%s", start, macko_values_name(plan->values),
           macko_type_name(plan->stored_type), plan->lossy ? " (lossy, as asked for)" : "");
}
