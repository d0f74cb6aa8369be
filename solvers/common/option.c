/* Options that getopt_long has refused, as one sentence of the program instead of getopt's own. */
#include "common/option.h"
#include "nearest.h"

#include <stdio.h>

enum { MOST = 32 }; /* the most long options of a program */

/* Puts the known names that begin with the first `length` letters of a word into names, and returns how many there are. */
static int beginning(const char *word, int length, const struct option *known, const char *names[MOST])
{
  int count = 0;
  for (; known->name; known++)
    if (count < MOST && !strncmp(known->name, word, (size_t)length)) names[count++] = known->name;
  return count;
}

/* Refuses a long option that is none, or that was cut short and may be one of several. */
static void refuse_long(const char *program, const char *word, const struct option *known)
{
  const char *names[MOST];
  char name[64];
  const int length = (int)strcspn(word + 2, "="), count = beginning(word + 2, length, known, names);
  fprintf(stderr, "%s: the option %.*s ", program, length + 2, word);
  for (int i = 0; i < count; i++) fprintf(stderr, "%s--%s", i == 0 ? "may be " : i < count - 1 ? ", " : " or ", names[i]);
  snprintf(name, sizeof name, "%.*s", length, word + 2);
  const int all = beginning("", 0, known, names);
  if (!count) fprintf(stderr, "is unknown; the nearest is --%s", names[macko_nearest_name(name, names, all)]);
  fputs("; --help tells more\n", stderr);
}

/* Refuses a letter that is no option; a word that it begins may be a long option with a dash too few. */
static void refuse_short(const char *program, const char *word, const struct option *known)
{
  const char *names[MOST], *near = NULL;
  char name[64];
  const int length = (int)strcspn(word + 1, "="), all = beginning("", 0, known, names);
  snprintf(name, sizeof name, "%.*s", length, word + 1);
  if (word[0] == '-' && length > 1) near = macko_near_name(name, names, all);
  if (near) fprintf(stderr, "%s: the option -%s is unknown; the nearest is --%s; --help tells more\n", program, name, near);
  else fprintf(stderr, "%s: the option -%c is unknown; --help tells more\n", program, optopt);
}

/* Whether a word is a long option that takes no value, and was given one. */
static int has_value(const char *word, const struct option *known)
{
  const int length = (int)strcspn(word, "=");
  if (!word[length]) return 0;
  for (; known->name; known++)
    if (length > 2 && known->has_arg == no_argument && !strncmp(known->name, word + 2, (size_t)length - 2)) return 1;
  return 0;
}

/* getopt_long leaves optopt 0 for a long option that it does not know, or that may be one of several cut short; the option is then
   the argument before the next one. One that takes no value and was given one has its letter there, as a short option has. Of a
   short one that has more letters behind it getopt_long has not gone on to the next argument yet. */
int option_refuse(const char *program, int c, char **argv, const struct option *known)
{
  const char *word = argv[optind - 1];
  const int is_long = !strncmp(word, "--", 2), name = (int)strcspn(word, "=");
  if (c == ':' && is_long) fprintf(stderr, "%s: %s needs a value; --help tells more\n", program, word);
  else if (c == ':') fprintf(stderr, "%s: -%c needs a value; --help tells more\n", program, optopt);
  else if (is_long && !optopt) refuse_long(program, word, known);
  else if (is_long && has_value(word, known))
    fprintf(stderr, "%s: %.*s takes no value, and was given %s; --help tells more\n", program, name, word, word + name + 1);
  else refuse_short(program, word[0] == '-' && word[1] == optopt && !word[2] ? word : argv[optind], known);
  return 2;
}
