/* Text as gnuplot takes it. */
#ifndef GNUPLOT_H
#define GNUPLOT_H

#include <stdio.h>

/* Writes text as a string in a command of gnuplot's, which takes nothing in it for a command of the shell or for its own; control
 * characters become blanks. */
void put_gnuplot_string(FILE *f, const char *text);

/* Writes the line by which gnuplot draws into the file of that name, whatever it begins with. */
void put_gnuplot_output(FILE *f, const char *path);

#endif
