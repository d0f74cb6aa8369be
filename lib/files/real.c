/* Text to double, correctly rounded. Nearly all numbers of matrix files have at most 19 digits and a small exponent: for them
 * 128-bit integers are exact; strtod does the rest. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strtod_l */
#endif
#include "files/real.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A number as read: digits times 10^exponent, the first 19 digits in mantissa. */
typedef struct {
  const char *digits, *digits_end;
  uint64_t mantissa;
  int exponent, negative, inexact; /* inexact: nonzero digits beyond the first 19 */
} decimal;

/* Far beyond any exponent of a double, and small enough that sums of a few fit an int. */
enum { EXPONENT_LIMIT = 100000 };

/* Unlike isdigit this takes any char. */
static int is_digit(char c)
{
  return (unsigned)(c - '0') <= 9;
}

/* Limits an exponent. They add up from the places of digits and the text behind them; beyond the limit a double cannot follow
 * anyway. */
static int clamp(int64_t exponent)
{
  return exponent > EXPONENT_LIMIT ? EXPONENT_LIMIT : exponent < -EXPONENT_LIMIT ? -EXPONENT_LIMIT : (int)exponent;
}

/* Reads an exponent behind its letter; gives its end, NULL where there is no digit. */
static const char *parse_exponent(const char *p, int64_t *exponent)
{
  int negative = *p == '-';
  int64_t n = 0;
  if (*p == '-' || *p == '+') p++;
  if (!is_digit(*p)) return NULL;
  for (; is_digit(*p); p++)
    if (n < EXPONENT_LIMIT) n = n * 10 + (*p - '0');
  *exponent = negative ? -n : n;
  return p;
}

/* Reads the digits, point and exponent of a number without a sign; gives its end, NULL where there are no digits. Zeros before
 * the first other digit do not count as digits, so that 0.000123 has three. */
static const char *parse_decimal(const char *p, const macko_number_rule *rule, decimal *d)
{
  const char *point = NULL, *begin = p;
  int64_t dropped = 0, exponent = 0;
  int digits = 0;
  d->mantissa = 0, d->inexact = 0, d->digits = p;
  for (;; p++) {
    if (is_digit(*p)) {
      if (digits < 19) d->mantissa = d->mantissa * 10 + (unsigned)(*p - '0'), digits += d->mantissa != 0;
      else dropped++, d->inexact |= *p != '0';
    } else if (*p == '.' && !point) point = p;
    else break;
  }
  if (p == begin + (point != NULL)) return NULL;
  d->digits_end = p;
  int letter = *p == 'e' || *p == 'E' || *p == 'd' || *p == 'D';
  if (letter || (rule->fortran && (*p == '+' || *p == '-'))) {
    p = parse_exponent(p + letter, &exponent);
    if (!p) return NULL;
  } else exponent -= rule->scale;
  d->exponent = clamp(exponent + dropped - (point ? d->digits_end - point - 1 : rule->decimals));
  return p;
}

#if defined __SIZEOF_INT128__ && FLT_EVAL_METHOD == 0
__extension__ typedef unsigned __int128 wide;

/* Gives n * 2^exponent, or a bit more than that where sticky is set, rounded to the nearest double, ties to even; n has at least
 * 64 bits unless it is exact, so that what sticky stands for lies below the bits that decide. */
static double round_wide(wide n, int exponent, int sticky)
{
  uint64_t high = (uint64_t)(n >> 64);
  int bits = high ? 128 - __builtin_clzll(high) : 64 - __builtin_clzll((uint64_t)n), shift = bits - 53;
  if (shift > 0) {
    wide tail = n & (((wide)1 << shift) - 1), half = (wide)1 << (shift - 1);
    uint64_t kept = (uint64_t)(n >> shift);
    if (tail > half || (tail == half && (sticky || (kept & 1)))) kept++;
    return ldexp((double)kept, exponent + shift);
  }
  return ldexp((double)(uint64_t)n, exponent);
}

/* 5^27 is the largest power of five in 64 bits. */
static const uint64_t powers_of_5[28] = {1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u,
  244140625u, 1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u, 19073486328125u,
  95367431640625u, 476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u, 298023223876953125u,
  1490116119384765625u, 7450580596923828125u};

/* Gives 1 and the value where the mantissa and a power of ten up to 10^27 decide it exactly. 10^e is 5^e 2^e, so that only the
 * power of five takes arithmetic: a product of 128 bits, or a quotient of at least 64 bits with the remainder as sticky bit. */
static int convert_exactly(const decimal *d, double *value)
{
  static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
                                1e18, 1e19, 1e20, 1e21, 1e22};
  int e = d->exponent;
  if (d->inexact || e < -27 || e > 27) return 0;
  if (d->mantissa >> 53 == 0 && e >= -22 && e <= 22) { /* mantissa and power are doubles: the one operation rounds once */
    *value = e < 0 ? (double)d->mantissa / tens[-e] : (double)d->mantissa * tens[e];
    return 1;
  }
  if (e >= 0) {
    *value = round_wide((wide)d->mantissa * powers_of_5[e], e, 0);
    return 1;
  }
  int shift = __builtin_clzll(d->mantissa);
  wide n = (wide)(d->mantissa << shift) << 64, quotient = n / powers_of_5[-e];
  *value = round_wide(quotient, e - shift - 64, quotient * powers_of_5[-e] != n);
  return 1;
}
#else
static int convert_exactly(const decimal *d, double *value)
{
  (void)d, (void)value;
  return 0;
}
#endif

/* Does the same for all other numbers. The text is written anew without a point, so that the locale does not matter. Digits
 * beyond the 800th cannot change the nearest double except by being there at all, which one more digit stands for. */
static double convert_by_strtod(const decimal *d, locale_t c_locale)
{
  enum { DIGITS = 800 };
  char text[DIGITS + 32];
  int n = 0, more = 0;
  int64_t exponent = d->exponent, places = 0;
  for (const char *p = d->digits; p < d->digits_end; p++) {
    if (*p == '.' || (!n && *p == '0')) continue;
    if (n < DIGITS) text[n++] = *p;
    else more |= *p != '0';
    places++;
  }
  /* d->exponent counts from the end of the first 19 digits; here it counts from the end of those kept. */
  exponent += (places < 19 ? places : 19) - n;
  if (more) text[n++] = '1', exponent--;
  snprintf(text + n, sizeof text - (size_t)n, "e%d", clamp(exponent));
  return strtod_l(text, NULL, c_locale);
}

/* Gives p behind the name, which is in small letters; NULL where the text differs. The comparison of the C library depends on the
 * locale. */
static const char *skip_name(const char *p, const char *name)
{
  for (; *name; p++, name++)
    if ((*p | 32) != *name) return NULL;
  return p;
}

/* Reads an infinity or a NaN; the longer name comes first, as it begins with the shorter one. */
static const char *parse_name(const char *p, double *value)
{
  static const struct {
    const char *name;
    double value;
  } names[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (skip_name(p, names[i].name)) {
      *value = names[i].value;
      return skip_name(p, names[i].name);
    }
  return NULL;
}

/* The sign is put on last: rounding to nearest does not depend on it. */
const char *macko_parse_real(const char *p, const macko_number_rule *rule, locale_t c_locale, double *value)
{
  decimal d;
  int negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  const char *end = parse_decimal(p, rule, &d);
  if (!end) end = parse_name(p, value);
  else if (!d.mantissa) *value = 0;
  else if (!convert_exactly(&d, value)) *value = convert_by_strtod(&d, c_locale);
  if (end && negative) *value = -*value;
  return end;
}
