/* Options that getopt_long has refused, as one sentence of the program instead of getopt's own. */
#include "common/option.h"
#include "nearest.h"

#include <stdio.h>

/* Finds the known name that is nearest to a word, up to its equals sign. */
static const char *nearest(const char *word, const struct option *known)
{
  const char *names[32];
  char name[64];
  int count = 0;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
  for (; known[count].name && count < 32; count++) names[count] = known[count].name;
  return names[macko_nearest_name(name, names, count)];
}

/* getopt_long leaves optopt 0 for a long option that it does not know, or that may be one of several cut short; the option is then
   the argument before the next one. One that takes no value and was given one has its letter there, as a short option has. */
int option_refuse(const char *program, int c, char **argv, const struct option *known)
{
  const char *word = argv[optind - 1];
  const int is_long = !strncmp(word, "--", 2), name = (int)strcspn(word, "=");
  if (c == ':' && is_long) fprintf(stderr, "%s: %s needs a value; --help tells more\n", program, word);
  else if (c == ':') fprintf(stderr, "%s: -%c needs a value; --help tells more\n", program, optopt);
  else if (is_long && optopt && word[name])
    fprintf(stderr, "%s: %.*s takes no value, and was given %s; --help tells more\n", program, name, word, word + name + 1);
  else if (is_long && !optopt)
    fprintf(stderr, "%s: the option %s is unknown; the nearest is --%s; --help tells more\n", program, word,
            nearest(word + 2, known));
  else fprintf(stderr, "%s: the option -%c is unknown; --help tells more\n", program, optopt);
  return 2;
}
