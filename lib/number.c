/* Numbers in text: correctly rounded, fast for what files hold, independent of the locale. */
#include "input.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static inline int is_digit(char c)
{
  return c >= '0' && c <= '9';
}

int macko_parse_integer(const char **at, int64_t *value)
{
  const char *s = macko_skip_blanks(*at);
  int negative = *s == '-', overflow = 0;
  uint64_t v = 0;
  if (*s == '-' || *s == '+') s++;
  if (!is_digit(*s)) return 0;
  for (; is_digit(*s); s++) {
    if (v > (INT64_MAX - 9) / 10) overflow = 1;
    else v = v * 10 + (uint64_t)(*s - '0');
  }
  *at = s;
  *value = negative ? -(int64_t)v : (int64_t)v;
  return overflow ? -1 : 1;
}

typedef struct {
  uint64_t mantissa;
  int exponent, digits, negative, exact; /* exact: no nonzero digit was left out */
} decimal;

/* Sign, digits and exponent of a number; NULL if there is none. */
static const char *scan(const char *s, decimal *d)
{
  int any = 0, point = 0, sign = 0, exponent = 0;
  *d = (decimal){.exact = 1};
  d->negative = *s == '-';
  if (*s == '-' || *s == '+') s++;
  for (; is_digit(*s) || (*s == '.' && !point); s++) {
    if (*s == '.') {
      point = 1;
      continue;
    }
    any = 1;
    if (d->digits < 19) d->mantissa = d->mantissa * 10 + (uint64_t)(*s - '0'), d->digits += d->mantissa != 0, d->exponent -= point;
    else d->exponent += !point, d->exact &= *s == '0';
  }
  if (!any) return NULL;
  /* Fortran writes D for E, and leaves the letter out where the exponent takes three digits. */
  const char *e = s + (*s == 'e' || *s == 'E' || *s == 'd' || *s == 'D');
  if (*e == '+' || *e == '-') sign = *e++ == '-' ? -1 : 1;
  if ((e == s) || !is_digit(*e)) return s;
  for (; is_digit(*e); e++)
    if (exponent < 100000) exponent = exponent * 10 + (*e - '0');
  d->exponent += sign < 0 ? -exponent : exponent;
  return e;
}

/* Mantissa and power of ten both exact in a wider type: one rounding there, one here. The two are one unless the wider result lies
 * in the middle of two doubles, which is left to the caller. */
static int by_wider_type(const decimal *d, double *value)
{
#if LDBL_MANT_DIG == 64
  static const long double powers[] = {1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,  1e10L, 1e11L, 1e12L, 1e13L,
                                       1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
  if (!d->exact || d->exponent < -27 || d->exponent > 27) return 0;
  long double wide = d->exponent < 0 ? (long double)d->mantissa / powers[-d->exponent] : (long double)d->mantissa * powers[d->exponent];
  uint64_t bits;
  memcpy(&bits, &wide, sizeof bits);
  if ((bits & 0x7ff) >= 0x3ff && (bits & 0x7ff) <= 0x401) return 0;
  *value = d->negative ? -(double)wide : (double)wide;
  return 1;
#else
  (void)d, (void)value;
  return 0;
#endif
}

static int by_double(const decimal *d, double *value)
{
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (!d->exact || d->mantissa >> 53 || d->exponent < -22 || d->exponent > 22) return 0;
  double v = d->exponent < 0 ? (double)d->mantissa / powers[-d->exponent] : (double)d->mantissa * powers[d->exponent];
  *value = d->negative ? -v : v;
  return 1;
}

/* strtod on a copy without the decimal point, which a locale may spell otherwise: digits and one exponent. */
static int by_strtod(const char *s, const char *end, double *value)
{
  char copy[800];
  int n = 0, fraction = 0, point = 0;
  long exponent = 0;
  for (; s < end && n < 700; s++) {
    if (*s == '.') point = 1;
    else if (is_digit(*s) || (n == 0 && (*s == '-' || *s == '+'))) copy[n++] = *s, fraction += point;
    else break;
  }
  while (s < end && is_digit(*s)) s++, fraction -= !point; /* beyond 700 digits nothing changes */
  if (s < end) {
    s += *s == 'e' || *s == 'E' || *s == 'd' || *s == 'D';
    exponent = strtol(s, NULL, 10);
  }
  if (exponent > 100000) exponent = 100000;
  if (exponent < -100000) exponent = -100000;
  copy[n++] = 'e';
  exponent -= fraction;
  int negative = exponent < 0;
  unsigned long rest = (unsigned long)(negative ? -exponent : exponent);
  char digits[24];
  int count = 0;
  do digits[count++] = (char)('0' + rest % 10), rest /= 10;
  while (rest);
  copy[n++] = negative ? '-' : '+';
  while (count) copy[n++] = digits[--count];
  copy[n] = 0;
  *value = strtod(copy, NULL);
  return 1;
}

static int is_word(const char *s, const char *word)
{
  for (; *word; s++, word++)
    if ((*s | 32) != *word) return 0;
  return 1;
}

static int by_name(const char **at, const char *s, double *value)
{
  int negative = *s == '-';
  if (*s == '-' || *s == '+') s++;
  if (is_word(s, "nan")) *value = NAN, s += 3;
  else if (is_word(s, "inf")) *value = INFINITY, s += is_word(s, "infinity") ? 8 : 3;
  else return 0;
  if (negative) *value = -*value;
  *at = s;
  return 1;
}

int macko_parse_double(const char **at, double *value)
{
  const char *s = macko_skip_blanks(*at);
  decimal d;
  const char *end = scan(s, &d);
  if (!end) return by_name(at, s, value);
  *at = end;
  if (d.mantissa == 0 && d.exact) {
    *value = d.negative ? -0.0 : 0.0;
    return 1;
  }
  return by_double(&d, value) || by_wider_type(&d, value) || by_strtod(s, end, value);
}
