/* Which format a matrix is stored in: automatic choice plans those that may win and compares them. */
#include "core/cost.h"
#include "core/facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Adds the losers and what they would have cost to the reason, as far as there is room; plans[i] has been made where planned[i]
 * is set. */
static void compare_formats(const macko_options *options, const macko_plan plans[], const int planned[], macko_format winner,
                            macko_plan *plan)
{
  char one[128], first[64];
  snprintf(first, sizeof first, "; predicted %.3g us a multiply", 1e-3 * (plan->time + plan->gathers));
  for (int i = 0, losers = 0; i < MACKO_FORMAT_AUTO; i++) {
    const char *name = macko_format_name((macko_format)i);
    if (!planned[i] || i == (int)winner) continue;
    if (options->prefer == MACKO_PREFER_MEMORY)
      snprintf(one, sizeof one, "; %s takes %lld bytes", name, (long long)plans[i].bytes);
    else snprintf(one, sizeof one, "%s, %s %.3g us", losers ? "" : first, name, 1e-3 * (plans[i].time + plan->gathers));
    if (strlen(plan->reason) + strlen(one) < sizeof plan->reason) strcat(plan->reason, one);
    losers++;
  }
}

/* Tells whether a plan is better than the best of the formats before it. They are planned in the order of formats.def. Before
 * anything is measured, prefer measured goes by time. */
static int replaces(const macko_options *options, const macko_plan *plan, const macko_plan *best)
{
  return options->prefer == MACKO_PREFER_MEMORY ? plan->bytes < best->bytes : plan->time < macko_time_to_beat(options, best->time);
}

/* A choice under way: what has been planned so far, and m, which has the best of it. */
typedef struct {
  const macko_facts *f;
  const macko_options *options;
  macko_matrix *m;
  macko_plan plans[MACKO_FORMAT_AUTO];
  int planned[MACKO_FORMAT_AUTO]; /* 1: plans[i] has been made */
  int sure[MACKO_FORMAT_AUTO];    /* 1: it has shown that another format would lose, so that it has to be compared */
  macko_status refused;           /* the last refusal, and its sentence */
  macko_error refusal;
} choosing;

/* Tells whether a format is to be planned. Automatic choice is of the formats that have what the options ask for, and passes over
 * those that have no chance. */
static int is_candidate(const choosing *c, int i)
{
  const macko_format_ops *ops = macko_formats[i];
  if (c->options->format != MACKO_FORMAT_AUTO) return c->options->format == (macko_format)i;
  if (!macko_format_has((macko_format)i, c->options)) return 0;
  return c->sure[i] || !ops->may_win || ops->may_win(c->f, c->options, c->plans, c->m->ops ? &c->m->plan : NULL);
}

/* Plans format i, which has to beat that time (0: none). One that cannot hold this matrix is passed over, and its sentence kept
 * apart: *err is the caller's, for whom another format may do. */
static macko_status plan_one(choosing *c, int i, double time, macko_error *err)
{
  if (c->planned[i]) return MACKO_OK;
  macko_error why = {0};
  c->plans[i] = (macko_plan){.time = time};
  macko_status s = macko_formats[i]->plan(c->f, c->options, &c->plans[i], &why);
  if (s == MACKO_UNSUPPORTED || s == MACKO_LIMIT) return c->refused = s, c->refusal = why, MACKO_OK;
  c->planned[i] = !s;
  if (s && err) *err = why;
  return s;
}

/* Sets *time to what a product by format i promises to take, to 0 where nothing is promised. */
static macko_status promise_of(const choosing *c, int i, double *time, macko_error *err)
{
  *time = 0;
  return macko_formats[i]->promise ? macko_formats[i]->promise(c->f, c->options, time, err) : MACKO_OK;
}

/* Plans a later format before format i where it promises to replace whatever there is with i, which takes long to plan. Sets
 * *rival to its number and lowers *time, which i has to beat, to where it would; *rival is -1 where there is none. */
static macko_status plan_rival(choosing *c, int i, double *time, int *rival, macko_error *err)
{
  const double share = macko_time_to_beat(c->options, 1);
  double own = 0, likely;
  macko_status s = *time > 0 ? promise_of(c, i, &own, err) : MACKO_OK;
  *rival = -1;
  for (int j = i + 1; own > 0 && j < MACKO_FORMAT_AUTO && !s && *rival < 0; j++) {
    s = promise_of(c, j, &likely, err);
    if (s || likely <= 0 || likely >= *time || likely >= share * own || !is_candidate(c, j)) continue;
    s = plan_one(c, j, *time, err);
    if (!s && c->planned[j] && c->plans[j].time < *time) *rival = j;
  }
  if (*rival >= 0) *time = fmin(*time, c->plans[*rival].time / share);
  return s;
}

/* Plans format i and takes it if it is better than what there is. */
static macko_status try_format(choosing *c, int i, macko_error *err)
{
  macko_matrix *m = c->m;
  const int compared = m->ops && c->options->prefer != MACKO_PREFER_MEMORY;
  double time = compared ? macko_time_to_beat(c->options, m->plan.time) : 0;
  int rival = -1;
  macko_status s = c->planned[i] ? MACKO_OK : plan_rival(c, i, &time, &rival, err);
  if (!s) s = plan_one(c, i, time, err);
  if (s || !c->planned[i]) return s;
  if (rival >= 0 && c->plans[i].time >= time) c->sure[rival] = 1;
  else if (!m->ops || replaces(c->options, &c->plans[i], &m->plan))
    m->format = (macko_format)i, m->ops = macko_formats[i], m->plan = c->plans[i];
  return MACKO_OK;
}

/* Both come after the choice, which they do not change. Format csr itself sets its time, so that it is planned here where it was
 * not compared. */
void macko_complete_plan(const macko_facts *f, const macko_options *options, macko_plan *plan)
{
  macko_options raw;
  macko_plan csr = {0};
  macko_options_init(&raw);
  raw.values = MACKO_VALUES_RAW, raw.target = options->target;
  if (plan->csr_time <= 0 && !macko_csr_ops.plan(f, &raw, &csr, NULL)) plan->csr_time = csr.time;
  const macko_cost *cost = macko_cost_of(options);
  if (options->target == MACKO_TARGET_GPU && f->sectors) plan->gathers = cost->sector * f->sectors(f->context);
  if (options->target == MACKO_TARGET_GPU || !f->lines) return;
  const macko_lines lines = f->lines(f->context);
  plan->gathers = cost->line * lines.all, plan->anywhere = lines.anywhere;
}

/* Formats are compared in the order of formats.def. */
macko_status macko_choose(const macko_facts *f, const macko_options *options, macko_matrix *m, macko_error *err)
{
  choosing c = {.f = f, .options = options, .m = m};
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) {
    const int candidate = is_candidate(&c, i);
    macko_status s = candidate ? try_format(&c, i, err) : MACKO_OK;
    if (s) return s;
    if (!candidate) c.planned[i] = 0;
  }
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++)
    if (c.plans[i].csr_time > 0) m->plan.csr_time = c.plans[i].csr_time;
  if (m->ops) macko_complete_plan(f, options, &m->plan);
  if (m->ops) compare_formats(options, c.plans, c.planned, m->format, &m->plan);
  if (!m->ops && err) *err = c.refusal;
  return m->ops ? MACKO_OK : c.refused;
}
