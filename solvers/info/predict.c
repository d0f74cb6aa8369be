/* macko-info: what the formats would make of a matrix. */
#include "info/info.h"

#include <math.h>

/* Asks the library for its prediction, which plans and does not encode. */
static void predict(const macko_csr *csr, macko_format format, macko_target target, macko_prefer prefer, prediction *p)
{
  macko_options options;
  macko_options_init(&options);
  options.format = format, options.target = target, options.prefer = prefer;
  p->status = macko_predict(csr, &options, &p->info, &p->why);
}

/* Asks for every format on every target, and for the automatic choice by time on each; the choice of the fewest bytes is asked
 * for on a CPU. */
void predict_all(const macko_csr *csr, int timed, predictions *p)
{
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int t = 0; t < MACKO_TARGET_COUNT; t++)
      predict(csr, (macko_format)f, (macko_target)t, MACKO_PREFER_TIME, &p->of[f][t]);
  for (int t = 0; t < MACKO_TARGET_COUNT; t++) predict(csr, MACKO_FORMAT_AUTO, (macko_target)t, MACKO_PREFER_TIME, &p->chosen[t]);
  predict(csr, MACKO_FORMAT_AUTO, MACKO_TARGET_CPU, MACKO_PREFER_MEMORY, &p->by_memory);
  p->pace = NAN;
  if (timed) (void)macko_measure_pace(csr, &p->pace, NULL);
}
