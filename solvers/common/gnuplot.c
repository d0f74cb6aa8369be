/* Text as gnuplot takes it. */
#include "common/gnuplot.h"

/* Single quotes, because gnuplot gives what is between backquotes in double ones to a shell. A quote inside stands in double
 * quotes, put beside the rest by dots: gnuplot 5.4 reads doubled quotes wrongly where they come first or follow each other. */
void put_gnuplot_string(FILE *f, const char *text)
{
  putc('\'', f);
  for (; *text; text++)
    if (*text == '\'') fputs("'.\"'\".'", f);
    else putc((unsigned char)*text < ' ' ? ' ' : *text, f);
  putc('\'', f);
}

/* A bar would begin a command of the shell, and a tilde the name of a home folder. */
void put_gnuplot_output(FILE *f, const char *path)
{
  fputs(*path == '|' || *path == '~' ? "set output './'." : "set output ", f);
  put_gnuplot_string(f, path);
  putc('\n', f);
}
