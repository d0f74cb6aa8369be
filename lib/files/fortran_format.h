/* Fortran edit descriptors such as (16I5), (1P,4D20.12) or (4(1X,E15.8)): where the fields of lines are. */
#ifndef MACKO_FORTRAN_FORMAT_H
#define MACKO_FORTRAN_FORMAT_H

/* Most fields of a format. */
enum { MACKO_FIELDS = 1024 };

/* One field of a line of text. */
typedef struct {
  int begin, width; /* where it begins, counted from 0, and how many characters it has */
  int decimals;     /* digits after the point, where the text has no point */
  int scale;        /* that of a P before it, which applies where the text has no exponent */
} macko_field;

/* The fields of the first line in their order, then those of every other one: Fortran begins these with the last group of the
 * format, as in (2X,4(F10.2)), or anew where it has none, under the scale that the line before has left. */
typedef struct {
  int count, first; /* how many; those of the first line, at least 1 and fewer than all */
  int integer;      /* 1: all are integers */
  macko_field fields[MACKO_FIELDS];
} macko_fortran_format;

/* Reads the first format at text. Gives a pointer behind its last parenthesis, or NULL if there is none that is understood;
 * *format is then of no use. */
const char *macko_parse_format(const char *text, macko_fortran_format *format);

#endif
