/* Fortran edit descriptors such as (16I5), (1P,4D20.12) or (4(1X,E15.8)): where the fields of a line are. */
#ifndef MACKO_FORTRAN_FORMAT_H
#define MACKO_FORTRAN_FORMAT_H

enum { MACKO_FIELDS = 512 };

typedef struct {
  int begin, width; /* columns of the line, from 0 */
  int decimals;     /* where the text has no point */
  int scale;        /* of a P before it: applies where the text has no exponent */
} macko_field;

typedef struct {
  int count, integer; /* integer: every field is one */
  macko_field fields[MACKO_FIELDS];
} macko_fortran_format;

/* Reads the first format at text; a pointer behind its last parenthesis, NULL if there is none that is understood. */
const char *macko_parse_format(const char *text, macko_fortran_format *format);

#endif
