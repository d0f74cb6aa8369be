/* macko-bench: encodings by their names. */
#include "bench/bench.h"

#include <string.h>

macko_status bench_encoding(const char *name, macko_target target, macko_options *options, macko_error *err)
{
  char text[64], *dot;
  macko_status s = MACKO_OK;
  snprintf(text, sizeof text, "%s", name);
  dot = strchr(text, '.');
  if (dot) *dot++ = 0;
  macko_options_init(options);
  options->target = target;
  if (!strcmp(text, "row") || !strcmp(text, "slice") || !strcmp(text, "paper")) {
    options->format = MACKO_FORMAT_MACKO;
    s = macko_options_set(options, "layout", text, err);
  } else
    s = macko_options_set(options, "format", text, err);
  return s || !dot ? s : macko_options_set(options, "values", dot, err);
}
