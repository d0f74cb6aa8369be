/* Which formats have what the options ask for, and the sentence where none has. */
#include "core/format.h"

#include <stdio.h>
#include <string.h>

const macko_format_ops *const macko_formats[MACKO_FORMAT_AUTO] = {
#define MACKO_FORMAT(symbol, name, text) &macko_##name##_ops,
#include "formats.def"
#undef MACKO_FORMAT
};

enum { NAMES = 32 }; /* more names than any list has */

/* Gives the set of one option: a set of options is a number with a bit for each. */
static unsigned only(int option)
{
  return 1u << option;
}

/* A form belongs to a format, so that the format is never asked of it. */
static const unsigned all_but_format = ~(1u << MACKO_OPTION_format);

/* Gives the choices of an option that a form has, a bit for each place in the list. The first, which is the automatic choice,
 * always is among them; of an option that all formats go with (reader `choice` in options.def) all are. */
static uint32_t choices_of(const macko_form *form, int option)
{
  switch (option) {
#define MACKO_MASK_choice(field)
#define MACKO_MASK_formats(field) case MACKO_OPTION_##field: return form->field | 1;
#define MACKO_OPTION(field, LIST, usual, reader, help) MACKO_MASK_##reader(field)
#include "options.def"
#undef MACKO_MASK_choice
#undef MACKO_MASK_formats
  default: return ~(uint32_t)0;
  }
}

/* Gives 1 if the form has what those of the options that are in the set ask for. */
static int has(const macko_form *form, const macko_options *o, unsigned set)
{
  for (int i = 0; i < MACKO_OPTIONS; i++)
    if (set >> i & 1 && !(choices_of(form, i) >> macko_option_chosen(o, i) & 1)) return 0;
  return 1;
}

/* Gives the formats that have what the options in the set ask for, a bit for each. One form must have all of it: a format may
 * have two choices and not both at once. */
static unsigned formats_with(const macko_options *o, unsigned set)
{
  unsigned found = 0;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    for (int i = 0; i < macko_formats[f]->nforms; i++)
      if (has(&macko_formats[f]->forms[i], o, set)) found |= 1u << f;
  return found;
}

int macko_form_has(const macko_form *form, const macko_options *options)
{
  return has(form, options, all_but_format);
}

int macko_format_has(macko_format format, const macko_options *options)
{
  return formats_with(options, all_but_format) >> format & 1;
}

/* ---- sentences ---- */

/* Joins names for a sentence: "a", "a and b", "a, b and c", where `last` is the "and". */
static void join(const char *const *names, int count, const char *last, char *text, size_t room)
{
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < count && used < room; i++)
    used += (size_t)snprintf(text + used, room - used, "%s%s%s%s", i == 0 ? "" : i + 1 < count ? ", " : " ",
                             i && i + 1 == count ? last : "", i && i + 1 == count ? " " : "", names[i]);
}

/* Writes "format macko" or "formats macko and dtans" for those in the set, and gives how many they are. */
static int list_formats(unsigned formats, char *text, size_t room)
{
  const char *names[NAMES];
  char joined[96];
  int count = 0;
  for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
    if (formats >> f & 1) names[count++] = macko_format_name((macko_format)f);
  join(names, count, "and", joined, sizeof joined);
  snprintf(text, room, "format%s %s", count == 1 ? "" : "s", joined);
  return count;
}

/* Writes the choices of an option that go with what `other` asks for, in any format, and gives how many they are. The automatic
 * choice, which goes with everything, is left out. */
static int list_choices(const macko_options *o, int option, int other, char *text, size_t room)
{
  const char *names[NAMES];
  int count = 0;
  for (int c = 1; macko_option_choice(option, c); c++) {
    int found = 0;
    for (int f = 0; f < MACKO_FORMAT_AUTO; f++)
      for (int i = 0; i < macko_formats[f]->nforms; i++) {
        const macko_form *form = &macko_formats[f]->forms[i];
        found |= has(form, o, only(other)) && choices_of(form, option) >> c & 1;
      }
    if (found) names[count++] = macko_option_choice(option, c);
  }
  join(names, count, "or", text, room);
  return count;
}

/* Writes what is asked for of one option: "layout slice". */
static void say(const macko_options *o, int option, char text[64])
{
  snprintf(text, 64, "%s %s", macko_option_name(option), macko_option_choice(option, macko_option_chosen(o, option)));
}

/* Makes the sentence where the choices of options i and j cannot be had together in the formats that are allowed. It says which
 * other formats have both, or which formats each is for, or which choices would go. */
static macko_status refuse_pair(const macko_options *o, int i, int j, macko_error *err)
{
  char first[64], second[64], some[128], others[128];
  unsigned both = formats_with(o, only(i) | only(j)), with_first = formats_with(o, only(i)), with_second = formats_with(o, only(j));
  say(o, i, first), say(o, j, second);
  if (both) {
    int count = list_formats(both, some, sizeof some);
    return macko_fail(err, MACKO_UNSUPPORTED, "format %s does not have %s with %s; %s %s", macko_format_name(o->format), first,
                      second, some, count == 1 ? "does" : "do");
  }
  if (!(with_first & with_second)) {
    list_formats(with_first, some, sizeof some), list_formats(with_second, others, sizeof others);
    return macko_fail(err, MACKO_UNSUPPORTED, "%s and %s cannot go together: %s is for %s, %s for %s", first, second, first, some,
                      second, others);
  }
  if (list_choices(o, i, j, some, sizeof some))
    return macko_fail(err, MACKO_UNSUPPORTED, "%s and %s cannot go together: %s goes with %s %s", first, second, second,
                      macko_option_name(i), some);
  list_choices(o, j, i, some, sizeof some);
  return macko_fail(err, MACKO_UNSUPPORTED, "%s and %s cannot go together: %s goes with %s %s", first, second, first,
                    macko_option_name(j), some);
}

/* Makes the sentence where every two choices can be had together and some three cannot. */
static macko_status refuse_three(const macko_options *o, unsigned formats, macko_error *err)
{
  char text[3][64];
  for (int i = 0; i < MACKO_OPTIONS; i++)
    for (int j = i + 1; j < MACKO_OPTIONS; j++)
      for (int k = j + 1; k < MACKO_OPTIONS; k++) {
        if (i == MACKO_OPTION_format || formats_with(o, only(i) | only(j) | only(k)) & formats) continue;
        say(o, i, text[0]), say(o, j, text[1]), say(o, k, text[2]);
        return macko_fail(err, MACKO_UNSUPPORTED, "%s, %s and %s cannot all go together, only two of them", text[0], text[1],
                          text[2]);
      }
  return macko_fail(err, MACKO_UNSUPPORTED, "no format has all that the options ask for; leave one of them out");
}

/* Makes the sentence where no form of the formats in the set has all that the options ask for. It names as few choices as make
 * the conflict, one before two before three, because the others can stay. */
static macko_status refuse(const macko_options *o, unsigned formats, macko_error *err)
{
  char choice[64], others[128];
  for (int i = 0; i < MACKO_OPTIONS; i++) {
    unsigned can = formats_with(o, only(i));
    if (i == MACKO_OPTION_format || can & formats) continue;
    say(o, i, choice);
    int count = list_formats(can, others, sizeof others);
    return macko_fail(err, MACKO_UNSUPPORTED, "format %s has no %s; %s %s", macko_format_name(o->format), choice, others,
                      count == 1 ? "has" : "have");
  }
  for (int i = 0; i < MACKO_OPTIONS; i++)
    for (int j = i + 1; j < MACKO_OPTIONS; j++)
      if (i != MACKO_OPTION_format && !(formats_with(o, only(i) | only(j)) & formats)) return refuse_pair(o, i, j, err);
  return refuse_three(o, formats, err);
}

/* ---- checks ---- */

macko_status macko_options_check(const macko_options *options, macko_error *err)
{
  if (!options) return macko_fail(err, MACKO_INVALID_ARGUMENT, "options must not be NULL");
  macko_status s = macko_check_fields(options, err);
  if (s) return s;
  unsigned formats = options->format == MACKO_FORMAT_AUTO ? ~0u : 1u << options->format;
  return formats_with(options, all_but_format) & formats ? MACKO_OK : refuse(options, formats, err);
}

macko_status macko_settle_options(const macko_options *asked, macko_options *options, macko_error *err)
{
  macko_options_init(options);
  if (asked) *options = *asked;
  return macko_options_check(options, err);
}
