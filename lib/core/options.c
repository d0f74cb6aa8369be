/* Names from the lists, and options set by name. */
#include "core/format.h"
#include "nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MACKO_OPTION(field, LIST, usual, reader, help) static const char *const field##_names[] = {
#define MACKO_CHOICE(LIST, symbol, name, text) #name,
#define MACKO_OPTION_END(field, LIST) };
#include "options.def"

#define MACKO_OPTION(field, LIST, usual, reader, help) static const int field##_choices[] = {
#define MACKO_CHOICE(LIST, symbol, name, text) MACKO_##LIST##_##symbol,
#define MACKO_NUMBER(LIST, number, name, text) number,
#define MACKO_OPTION_END(field, LIST) };
#include "options.def"

/* All options by their number: name, and names and values of their choices. */
static const struct {
  const char *name, *const *names;
  const int *choices;
  int count;
} known[MACKO_OPTIONS] = {
#define MACKO_OPTION(field, LIST, usual, reader, help) \
  {#field, field##_names, field##_choices, sizeof field##_choices / sizeof *field##_choices},
#include "options.def"
};

/* Element types, in the order of macko_type. */
static const struct {
  const char *name;
  int bytes;
} types[] = {
#define MACKO_ELEMENT_TYPE(symbol, name, bytes) {#name, bytes},
#include "types.def"
#undef MACKO_ELEMENT_TYPE
};

enum { TYPES = sizeof types / sizeof *types };

#define MACKO_OPTION(field, LIST, usual, reader, help) \
  const char *macko_##field##_name(macko_##field field) \
  { \
    return (unsigned)field < sizeof field##_names / sizeof *field##_names ? field##_names[field] : NULL; \
  }
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help)
#include "options.def"

const char *macko_type_name(macko_type type)
{
  return (unsigned)type < TYPES ? types[type].name : NULL;
}

int64_t macko_type_bytes(macko_type type)
{
  return (unsigned)type < TYPES ? types[type].bytes : 0;
}

/* Defaults are in options.def, with the option. */
void macko_options_init(macko_options *options)
{
  if (!options) return;
  *options = (macko_options){
#define MACKO_OPTION(field, LIST, usual, reader, help) .field = MACKO_##LIST##_##usual,
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) .field = usual,
#include "options.def"
  };
}

/* The fields have types of their own, so that a switch goes from number to field. */
int macko_option_value(const macko_options *options, int option)
{
  switch (option) {
#define MACKO_OPTION(field, LIST, usual, reader, help) case MACKO_OPTION_##field: return (int)options->field;
#include "options.def"
  default: return 0;
  }
}

/* Sets the field of an option by its number; what is no option is left alone. */
static void put_value(macko_options *options, int option, int value)
{
  switch (option) {
#define MACKO_OPTION(field, LIST, usual, reader, help) case MACKO_OPTION_##field: options->field = (macko_##field)value; break;
#define MACKO_NUMBER_OPTION(field, LIST, usual, reader, help) case MACKO_OPTION_##field: options->field = value; break;
#include "options.def"
  default: break;
  }
}

const char *macko_option_name(int option)
{
  return known[option].name;
}

const char *macko_option_choice(int option, int choice)
{
  return choice < known[option].count ? known[option].names[choice] : NULL;
}

int macko_option_chosen(const macko_options *options, int option)
{
  int value = macko_option_value(options, option), choice = 0;
  while (choice < known[option].count && known[option].choices[choice] != value) choice++;
  return choice < known[option].count ? choice : -1;
}

/* Sets *found to the place of text among count names; the sentence of a failure names the nearest, as most failures are misspelt.
 * `option` is what the sentence calls the thing. */
static macko_status look_up(const char *option, const char *text, const char *const *names, int count, int *found,
                            macko_error *err)
{
  for (int i = 0; i < count; i++)
    if (!strcmp(text, names[i])) return *found = i, MACKO_OK;
  return macko_fail(err, MACKO_INVALID_ARGUMENT, "%s \"%.64s\" is unknown; the nearest is \"%s\"", option, text,
                    names[macko_nearest_name(text, names, count)]);
}

/* The option is looked up first, then its choice, and the field is set only if both are found. */
macko_status macko_options_set(macko_options *options, const char *name, const char *text, macko_error *err)
{
  const char *names[MACKO_OPTIONS];
  int option = 0, choice = 0;
  if (!options || !name || !text) return macko_fail(err, MACKO_INVALID_ARGUMENT, "options, name and text must not be NULL");
  for (int i = 0; i < MACKO_OPTIONS; i++) names[i] = known[i].name;
  macko_status s = look_up("option", name, names, MACKO_OPTIONS, &option, err);
  if (!s) s = look_up(name, text, known[option].names, known[option].count, &choice, err);
  if (!s) put_value(options, option, known[option].choices[choice]);
  return s;
}

/* Lists the choices of an option for a sentence: "0 (auto), 1, 2, 4, 8 and 16". A name that is its own number is not said
 * twice. */
static void list_choices(int option, char *text, size_t room)
{
  size_t used = 0;
  int count = known[option].count;
  for (int i = 0; i < count && used < room; i++) {
    const char *name = known[option].names[i], *before = i == 0 ? "" : i + 1 < count ? ", " : " and ";
    int choice = known[option].choices[i], named = atoi(name) != choice || !choice;
    used += (size_t)snprintf(text + used, room - used, named ? "%s%d (%s)" : "%s%d", before, choice, name);
  }
}

macko_status macko_check_fields(const macko_options *options, macko_error *err)
{
  char all[256];
  for (int i = 0; i < MACKO_OPTIONS; i++) {
    if (macko_option_chosen(options, i) >= 0) continue;
    list_choices(i, all, sizeof all);
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "%s %d is none of %s", known[i].name, macko_option_value(options, i), all);
  }
  return MACKO_OK;
}
