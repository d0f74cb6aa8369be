/* Forms of a matrix in turn encoded, multiplied with and compared, and what was found remembered; on a CPU. */
#include "core/measure.h"
#include "core/pattern.h"
#include "core/threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Most forms that are listed and that are tried, and how many products all that are tried share. */
enum { FORMS = 16, TRIED = 5, PRODUCTS = 20 };

/* Predictions have been wrong by this factor, both ways together: a form predicted to take so many times as long as the best is
 * not tried. */
static const double hopeless = 4;

/* A form to try: options that leave no choice of format and layout open, and what its products take. */
typedef struct {
  macko_options options;
  double predicted, measured; /* nanoseconds a multiply; measured: of forms that have been tried */
} form;

/* Gives the form as it is remembered: "macko slice", "csr auto". */
static void name_form(const macko_options *o, char name[MACKO_FORM_LENGTH])
{
  snprintf(name, MACKO_FORM_LENGTH, "%s %s", macko_format_name(o->format), macko_layout_name(o->layout));
}

/* ---- the forms ---- */

/* Compares two forms for qsort: the shorter prediction comes first. */
static int by_prediction(const void *a, const void *b)
{
  const double x = ((const form *)a)->predicted, y = ((const form *)b)->predicted;
  return (x > y) - (x < y);
}

/* Lists every format, with each of its layouts where it has any, that goes with what is asked for; the likeliest comes first.
 * Gives how many of them are worth a try. Layouts are gone through from the last, so that AUTO, the first of the list, is seen
 * after them: it then stands only for formats without layouts. */
static int list_forms(const macko_trial *t, const macko_options *asked, form forms[FORMS])
{
  int n = 0, tried = 0;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int layout = MACKO_LAYOUT_COUNT - 1; layout >= 0 && n < FORMS; layout--) {
      form *one = &forms[n];
      one->options = *asked;
      one->options.prefer = MACKO_PREFER_TIME, one->options.format = (macko_format)f, one->options.layout = (macko_layout)layout;
      if (asked->format != MACKO_FORMAT_AUTO && asked->format != one->options.format) continue;
      if (asked->layout != MACKO_LAYOUT_AUTO && asked->layout != one->options.layout) continue;
      if (layout == MACKO_LAYOUT_AUTO && n && forms[n - 1].options.format == one->options.format) continue; /* it has layouts */
      if (macko_options_check(&one->options, NULL) || t->foresee(t->context, &one->options, &one->predicted)) continue;
      n += one->predicted > 0; /* a form whose time is not even predicted is for memory */
    }
  qsort(forms, (size_t)n, sizeof *forms, by_prediction);
  while (tried < n && tried < TRIED && forms[tried].predicted <= hopeless * forms[0].predicted) tried++;
  return tried;
}

/* Times so many products of the form tried last, after one more that warms the caches. The shortest is what the form can do;
 * others were disturbed. */
static macko_status time_products(const macko_trial *t, int products, double *shortest, macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = 0; i <= products && !s; i++) {
    double taken = 0;
    s = t->time_product(t->context, &taken, err);
    if (i == 1 || (i && taken < *shortest)) *shortest = taken;
  }
  return s;
}

/* Tries the first n forms. The fastest is kept, and comes first in the list. Never more than two of them are in memory. */
static macko_status try_forms(const macko_trial *t, form *forms, int n, macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = 0; i < n && !s; i++) {
    s = t->encode(t->context, &forms[i].options, err);
    if (!s) s = time_products(t, PRODUCTS / n, &forms[i].measured, err);
    if (s || (i && forms[i].measured >= forms[0].measured)) {
      t->drop(t->context);
      continue;
    }
    const form faster = forms[i];
    forms[i] = forms[0], forms[0] = faster;
    t->keep(t->context);
  }
  return s;
}

/* ---- what is said and remembered ---- */

/* Writes a choice as it is kept, "macko slice<tab>10 us a multiply (predicted 9), csr auto 12 us ...": the form, its time, and
 * those of the others as far as there is room. */
static void name_choice(const form *forms, int n, char choice[MACKO_CHOICE_LENGTH])
{
  char name[MACKO_FORM_LENGTH], one[160];
  name_form(&forms[0].options, choice);
  for (int i = 0; i < n; i++) {
    name_form(&forms[i].options, name);
    snprintf(one, sizeof one, "%s%s%.3g us a multiply (predicted %.3g)", i ? ", " : "\t", i ? strcat(name, " ") : "",
             1e-3 * forms[i].measured, 1e-3 * forms[i].predicted);
    if (strlen(choice) + strlen(one) < MACKO_CHOICE_LENGTH) strcat(choice, one);
  }
}

/* Adds the times of a choice to the reason of the plan, and `origin`, which says where they come from. */
static void explain(const char *times, const char *origin, macko_plan *plan)
{
  const size_t end = strlen(plan->reason);
  snprintf(plan->reason + end, sizeof plan->reason - end, "; measured %s%s", times, origin);
}

/* Makes the key under which a choice is kept: a version number of the key, and all that a measurement depends on. The pattern is
 * its hash, so that new values for it find the same choice. */
static void make_key(const char *where, uint64_t pattern, macko_type value_type, const macko_options *asked,
                     char key[MACKO_KEY_LENGTH])
{
  int used = snprintf(key, MACKO_KEY_LENGTH, "2\t%.150s\t%016" PRIx64 "\t%s", where, pattern, macko_type_name(value_type));
  for (int i = 0; i < MACKO_OPTIONS; i++)
    used += snprintf(key + used, (size_t)(MACKO_KEY_LENGTH - used), "%c%s", i ? ' ' : '\t',
                     macko_option_choice(i, macko_option_chosen(asked, i)));
}

/* Gives 1 if an earlier choice is known and is still one that *options allow: *options then ask for it, and times are those that
 * were noted with it. The file may have been written by another version or by hand, so that the choice is checked as if a user
 * had typed it. */
static int recall(const char *key, const macko_options *asked, macko_options *options, char times[MACKO_CHOICE_LENGTH])
{
  char choice[MACKO_CHOICE_LENGTH];
  if (!macko_recall(key, choice)) return 0;
  char *layout = strchr(choice, ' '), *noted = strchr(choice, '\t');
  if (!layout) return 0;
  *layout++ = 0;
  if (noted) *noted++ = 0;
  snprintf(times, MACKO_CHOICE_LENGTH, "%s", noted ? noted : "to be the fastest");
  *options = *asked;
  options->prefer = MACKO_PREFER_TIME;
  return !macko_options_set(options, "format", choice, NULL) && options->format != MACKO_FORMAT_AUTO &&
         !macko_options_set(options, "layout", layout, NULL) && !macko_options_check(options, NULL);
}

/* Encodes a form without multiplying, and keeps it. */
static macko_status take_form(const macko_trial *t, const macko_options *options, macko_error *err)
{
  macko_status s = t->encode(t->context, options, err);
  if (s) t->drop(t->context);
  else t->keep(t->context);
  return s;
}

/* A remembered form that can no longer be encoded is measured again, and so replaced. With fewer than two forms there is nothing
 * to compare. */
macko_status macko_choose_measured(const macko_trial *t, const char *where, uint64_t pattern, macko_type value_type,
                                   const macko_options *asked, macko_error *err)
{
  char key[MACKO_KEY_LENGTH], choice[MACKO_CHOICE_LENGTH];
  form forms[FORMS];
  macko_options options;
  make_key(where, pattern, value_type, asked, key);
  if (recall(key, asked, &options, choice) && !take_form(t, &options, NULL)) {
    explain(choice, " in an earlier run", t->plan(t->context));
    return MACKO_OK;
  }
  options = *asked, options.prefer = MACKO_PREFER_TIME;
  int n = list_forms(t, asked, forms);
  if (n < 2) return take_form(t, n ? &forms[0].options : &options, err);
  macko_status s = try_forms(t, forms, n, err);
  if (s) return s;
  name_choice(forms, n, choice);
  int kept = macko_remember(key, choice);
  explain(strchr(choice, '\t') + 1, kept ? "; remembered" : "; not remembered, as no file of the cache can be written",
          t->plan(t->context));
  return MACKO_OK;
}

/* ---- on a CPU ---- */

/* A matrix in host memory and its forms; x and y are there once products have been timed. */
typedef struct {
  const macko_csr *a;
  int lent;
  double others;
  macko_matrix *last, *kept;
  void *x, *y;
} host_trial;

/* This is `foresee` of a trial. */
static macko_status foresee_on_host(void *context, const macko_options *form, double *time)
{
  const host_trial *t = context;
  macko_matrix m;
  macko_status s = macko_foresee(t->a, form, t->others, &m, NULL);
  if (!s) *time = m.plan.time;
  return s;
}

/* Makes a vector of numbers to multiply and one to write to. An element more keeps empty matrices from asking for no memory. */
static macko_status new_vectors(host_trial *t, macko_error *err)
{
  const macko_csr *a = t->a;
  const size_t size = (size_t)macko_type_bytes(macko_vectors_of(a->value_type)), xs = (size_t)(a->ncols + 1) * size;
  t->x = malloc(xs), t->y = malloc((size_t)(a->nrows + 1) * size);
  if (!t->x || !t->y)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for vectors of %lld and %lld elements to measure with",
                      (long long)a->ncols, (long long)a->nrows);
  memset(t->x, 0x3f, xs);
  return MACKO_OK;
}

double macko_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

/* These are the other functions of a trial. */
static macko_status encode_on_host(void *context, const macko_options *form, macko_error *err)
{
  host_trial *t = context;
  return macko_encode_sorted(t->a, form, t->lent, t->others, &t->last, err);
}

static macko_status time_on_host(void *context, double *taken, macko_error *err)
{
  host_trial *t = context;
  const macko_matrix *m = t->last;
  macko_status s = t->x ? MACKO_OK : new_vectors(t, err);
  const double start = macko_now();
  if (!s) s = macko_multiply(m, MACKO_OP_N, macko_vectors_of(m->value_type), 1, 1, t->x, m->ncols, 0, t->y, m->nrows, err);
  *taken = macko_now() - start;
  return s;
}

static void drop_on_host(void *context)
{
  macko_destroy(&((host_trial *)context)->last);
}

static void keep_on_host(void *context)
{
  host_trial *t = context;
  macko_destroy(&t->kept);
  t->kept = t->last, t->last = NULL;
}

static macko_plan *plan_on_host(void *context)
{
  return &((host_trial *)context)->kept->plan;
}

macko_status macko_encode_measured(const macko_csr *a, const macko_options *asked, int lent, double others,
                                   macko_matrix **matrix, macko_error *err)
{
  host_trial t = {.a = a, .lent = lent, .others = others};
  const macko_trial trial = {&t, foresee_on_host, encode_on_host, time_on_host, keep_on_host, drop_on_host, plan_on_host};
  char processor[128], where[MACKO_WHERE_LENGTH];
  macko_name_processor(processor);
  snprintf(where, sizeof where, "%s\t%d parts", processor, macko_parts(macko_csr_nnz(a)));
  macko_status s = macko_choose_measured(&trial, where, macko_pattern_of_csr(a), a->value_type, asked, err);
  free(t.x), free(t.y);
  if (s) macko_destroy(&t.kept);
  else *matrix = t.kept;
  return s;
}
