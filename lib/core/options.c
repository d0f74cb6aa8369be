/* Names from the lists, and options set by name. */
#include "core/format.h"

#include <string.h>

static const char *const format_names[] = {
#define MACKO_FORMAT(symbol, name, text) #name,
#include "formats.def"
#undef MACKO_FORMAT
    "auto"};

static const char *const layout_names[] = {
#define MACKO_LAYOUT(symbol, name, text) #name,
#include "choices.def"
#undef MACKO_LAYOUT
};

static const char *const values_names[] = {
#define MACKO_VALUES(symbol, name, text) #name,
#include "choices.def"
#undef MACKO_VALUES
};

static const char *const variant_names[] = {
#define MACKO_VARIANT(symbol, name, text) #name,
#include "choices.def"
#undef MACKO_VARIANT
};

static const char *const prefer_names[] = {
#define MACKO_PREFER(symbol, name, text) #name,
#include "choices.def"
#undef MACKO_PREFER
};

static const char *const target_names[] = {
#define MACKO_TARGET(symbol, name, text) #name,
#include "choices.def"
#undef MACKO_TARGET
};

static const char *const delta_names[] = {"auto", "1", "2", "4", "8", "16"};
static const int delta_widths[] = {0, 1, 2, 4, 8, 16};

static const struct {
  const char *name;
  int bytes;
} types[] = {
#define MACKO_ELEMENT_TYPE(symbol, name, bytes) {#name, bytes},
#include "types.def"
#undef MACKO_ELEMENT_TYPE
};

enum {
  FORMATS = sizeof format_names / sizeof *format_names,
  LAYOUTS = sizeof layout_names / sizeof *layout_names,
  VALUES = sizeof values_names / sizeof *values_names,
  VARIANTS = sizeof variant_names / sizeof *variant_names,
  PREFERS = sizeof prefer_names / sizeof *prefer_names,
  TARGETS = sizeof target_names / sizeof *target_names,
  DELTAS = sizeof delta_names / sizeof *delta_names,
  TYPES = sizeof types / sizeof *types
};

const char *macko_format_name(macko_format format)
{
  return (unsigned)format < FORMATS ? format_names[format] : NULL;
}

const char *macko_layout_name(macko_layout layout)
{
  return (unsigned)layout < LAYOUTS ? layout_names[layout] : NULL;
}

const char *macko_values_name(macko_values values)
{
  return (unsigned)values < VALUES ? values_names[values] : NULL;
}

const char *macko_variant_name(macko_variant variant)
{
  return (unsigned)variant < VARIANTS ? variant_names[variant] : NULL;
}

const char *macko_prefer_name(macko_prefer prefer)
{
  return (unsigned)prefer < PREFERS ? prefer_names[prefer] : NULL;
}

const char *macko_target_name(macko_target target)
{
  return (unsigned)target < TARGETS ? target_names[target] : NULL;
}

const char *macko_type_name(macko_type type)
{
  return (unsigned)type < TYPES ? types[type].name : NULL;
}

int64_t macko_type_bytes(macko_type type)
{
  return (unsigned)type < TYPES ? types[type].bytes : 0;
}

void macko_options_init(macko_options *options)
{
  *options = (macko_options){.format = MACKO_FORMAT_AUTO};
}

/* Levenshtein distance, of names short enough for one row of 32 counts. */
static int distance(const char *a, const char *b)
{
  int row[32], n = (int)strlen(b);
  if (n > 30) return 100;
  for (int j = 0; j <= n; j++) row[j] = j;
  for (int i = 0; a[i] && i < 64; i++) {
    int diagonal = row[0];
    row[0] = i + 1;
    for (int j = 1; j <= n; j++) {
      int change = diagonal + (a[i] != b[j - 1]), best = row[j - 1] < row[j] ? row[j - 1] + 1 : row[j] + 1;
      diagonal = row[j];
      row[j] = change < best ? change : best;
    }
  }
  return row[n];
}

static macko_status look_up(const char *option, const char *text, const char *const *names, int count, int *found,
                            macko_error *err)
{
  int nearest = 0;
  for (int i = 0; i < count; i++) {
    if (!strcmp(text, names[i])) return *found = i, MACKO_OK;
    if (distance(text, names[i]) < distance(text, names[nearest])) nearest = i;
  }
  return macko_fail(err, MACKO_INVALID_ARGUMENT, "%s \"%.64s\" is unknown; the nearest is \"%s\"", option, text, names[nearest]);
}

macko_status macko_options_set(macko_options *options, const char *name, const char *text, macko_error *err)
{
  static const char *const option_names[] = {"format", "layout", "delta_bits", "values", "variant", "prefer", "target"};
  int option = 0, i = 0;
  if (!options || !name || !text) return macko_fail(err, MACKO_INVALID_ARGUMENT, "options, name and text must not be NULL");
  macko_status s = look_up("option", name, option_names, sizeof option_names / sizeof *option_names, &option, err);
  if (s) return s;
  switch (option) {
  case 0:
    s = look_up(name, text, format_names, FORMATS, &i, err);
    if (!s) options->format = (macko_format)i;
    break;
  case 1:
    s = look_up(name, text, layout_names, LAYOUTS, &i, err);
    if (!s) options->layout = (macko_layout)i;
    break;
  case 2:
    s = look_up(name, text, delta_names, DELTAS, &i, err);
    if (!s) options->delta_bits = delta_widths[i];
    break;
  case 3:
    s = look_up(name, text, values_names, VALUES, &i, err);
    if (!s) options->values = (macko_values)i;
    break;
  case 4:
    s = look_up(name, text, variant_names, VARIANTS, &i, err);
    if (!s) options->variant = (macko_variant)i;
    break;
  case 5:
    s = look_up(name, text, prefer_names, PREFERS, &i, err);
    if (!s) options->prefer = (macko_prefer)i;
    break;
  default:
    s = look_up(name, text, target_names, TARGETS, &i, err);
    if (!s) options->target = (macko_target)i;
  }
  return s;
}

macko_status macko_check_options(const macko_options *o, macko_error *err)
{
  int known = 0;
  if ((unsigned)o->format >= FORMATS)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "format %d is not one of the %d formats", (int)o->format, MACKO_FORMAT_AUTO);
  if ((unsigned)o->layout >= LAYOUTS) return macko_fail(err, MACKO_INVALID_ARGUMENT, "layout %d is unknown", (int)o->layout);
  if ((unsigned)o->values >= VALUES) return macko_fail(err, MACKO_INVALID_ARGUMENT, "values %d is unknown", (int)o->values);
  if ((unsigned)o->variant >= VARIANTS) return macko_fail(err, MACKO_INVALID_ARGUMENT, "variant %d is unknown", (int)o->variant);
  if ((unsigned)o->prefer >= PREFERS) return macko_fail(err, MACKO_INVALID_ARGUMENT, "prefer %d is unknown", (int)o->prefer);
  if ((unsigned)o->target >= TARGETS) return macko_fail(err, MACKO_INVALID_ARGUMENT, "target %d is unknown", (int)o->target);
  for (int i = 0; i < DELTAS; i++) known |= o->delta_bits == delta_widths[i];
  if (!known)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "delta_bits %d is none of 0 (chosen), 1, 2, 4, 8 and 16", o->delta_bits);
  return MACKO_OK;
}
