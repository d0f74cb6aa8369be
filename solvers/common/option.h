/* Options that getopt_long has refused. */
#ifndef OPTION_H
#define OPTION_H

#include <getopt.h>

/* Says in a sentence, with the nearest name, what is wrong with the option for which getopt_long has just returned c, '?' or ':'.
   The program has set opterr to 0 and begun its short options with a colon. Returns 2, the exit status of wrong usage. */
int option_refuse(const char *program, int c, char **argv, const struct option *known);

#endif
