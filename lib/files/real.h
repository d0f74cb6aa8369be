/* Numbers of text files, correctly rounded and whatever the locale. All functions rely on a byte after the number that is not
 * part of one, such as the 0 at the end of a line. */
#ifndef MACKO_REAL_H
#define MACKO_REAL_H

#include <locale.h>
#include <stdint.h>

/* What a Fortran format adds to the text of a number; all 0 for a number as C writes it. */
typedef struct {
  int fortran;     /* 1: an exponent may go without its letter, "1.5-100" */
  int decimals;    /* digits that are after the point, where the text has no point */
  int scale;       /* the text is 10^scale times the value where it has no exponent */
} macko_number_rule;

/* Reads a decimal integer. Gives its end, NULL if there is none. One beyond 64 bits gives INT64_MAX or INT64_MIN, which callers
 * refuse as out of range. */
static inline const char *macko_parse_integer(const char *p, int64_t *value)
{
  int negative = *p == '-', beyond = 0;
  uint64_t n = 0;
  if (*p == '-' || *p == '+') p++;
  if ((unsigned)(*p - '0') > 9) return 0;
  for (; (unsigned)(*p - '0') <= 9; p++) {
    beyond |= n > INT64_MAX / 10; /* else ten times as many and 9 still fit an unsigned number */
    n = n * 10 + (unsigned)(*p - '0');
  }
  if (beyond || n > INT64_MAX) *value = negative ? INT64_MIN : INT64_MAX;
  else *value = negative ? -(int64_t)n : (int64_t)n;
  return p;
}

/* Reads a decimal number with e, E, d or D before an exponent, or nan, inf, infinity in any case. Gives its end, NULL if there is
 * none. c_locale is the locale "C" for strtod_l. A finite number beyond the range of double gives an infinity. */
const char *macko_parse_real(const char *p, const macko_number_rule *rule, locale_t c_locale, double *value);

#endif
