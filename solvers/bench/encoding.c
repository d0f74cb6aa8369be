/* macko-bench: encodings by their names. */
#include "bench/bench.h"
#include "nearest.h"

#include <stdio.h>
#include <string.h>

/* What a name stands for decides by which option it is set. */
enum { AS_FORMAT, AS_LAYOUT, AS_VARIANT, AS_PREFER, AS_UPDATE };

/* All names before the dot. What the library adds to formats.def comes by itself. */
static const struct {
  const char *name;
  int as;
} known[] = {
#define MACKO_FORMAT(symbol, name, text) {#name, AS_FORMAT},
#include "formats.def"
#undef MACKO_FORMAT
  {"auto", AS_FORMAT}, {"row", AS_LAYOUT}, {"slice", AS_LAYOUT}, {"paper", AS_LAYOUT}, {"memory", AS_PREFER},
  {"eccsr-paper", AS_VARIANT}, {"eccsr-paper-4", AS_VARIANT}, {"eccsr-paper-8", AS_VARIANT}, {"eccsr-paper-16", AS_VARIANT},
  {"eccsr-shared", AS_VARIANT}, {"measured", AS_PREFER}, {"update", AS_UPDATE}};
enum { KNOWN = sizeof known / sizeof *known };

/* Refuses a name, with the nearest one that is known. */
static macko_status unknown(const char *name, macko_error *err)
{
  const char *names[KNOWN];
  for (int i = 0; i < KNOWN; i++) names[i] = known[i].name;
  return bench_fail(err, MACKO_INVALID_ARGUMENT, "encoding \"%.48s\" is unknown; the nearest is \"%s\"", name,
                    names[macko_nearest_name(name, names, KNOWN)]);
}

/* Takes FORMAT-VARIANT or FORMAT-VARIANT-BITS apart, of which the last is the width of gaps. */
static macko_status set_variant(const char *name, macko_options *options, macko_error *err)
{
  char format[16], variant[16], bits[4] = "";
  sscanf(name, "%15[a-z]-%15[a-z]-%3[0-9]", format, variant, bits);
  macko_status s = macko_options_set(options, "format", format, err);
  if (!s) s = macko_options_set(options, "variant", variant, err);
  return s || !bits[0] ? s : macko_options_set(options, "gap_bits", bits, err);
}

/* A layout is one of format macko, which has to be said, or automatic choice could take another format. */
macko_status bench_encoding(const char *name, macko_target target, macko_options *options, macko_error *err)
{
  char text[64], *dot;
  int i = 0;
  macko_status s = MACKO_OK;
  snprintf(text, sizeof text, "%s", name);
  /* The codec behind the dot is set last, since setting up the rest begins with all defaults. */
  dot = strchr(text, '.');
  if (dot) *dot++ = 0;
  while (i < KNOWN && strcmp(text, known[i].name)) i++;
  if (i == KNOWN) return unknown(text, err);
  macko_options_init(options);
  options->target = target;
  if (known[i].as == AS_PREFER) s = macko_options_set(options, "prefer", text, err);
  else if (known[i].as == AS_FORMAT) s = macko_options_set(options, "format", text, err);
  else if (known[i].as == AS_LAYOUT) s = macko_options_set(options, "layout", text, err);
  else if (known[i].as == AS_VARIANT) s = set_variant(text, options, err);
  if (known[i].as == AS_LAYOUT && !s) s = macko_options_set(options, "format", "macko", err);
  /* Values as they are need no work when new ones come. */
  if (known[i].as == AS_UPDATE) options->values = MACKO_VALUES_RAW;
  return s || !dot ? s : macko_options_set(options, "values", dot, err);
}
