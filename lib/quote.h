/* Words of a line, quoted for sentences. */
#ifndef MACKO_QUOTE_H
#define MACKO_QUOTE_H

#include <string.h>

enum { MACKO_QUOTE = 48 }; /* bytes of a quote with the 0 at its end */

/* Tells whether c is a blank within a line, in any locale; the carriage return of a DOS file is one. */
static inline int macko_is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static inline const char *macko_skip_blanks(const char *p)
{
  while (macko_is_blank(*p)) p++;
  return p;
}

/* Copies text to quote, at most MACKO_QUOTE - 1 characters of it, with "?" for what is not printable ASCII and "..." where it is
 * cut. */
static inline const char *macko_quote_until(char quote[MACKO_QUOTE], const char *text, int stop_at_blank)
{
  int n = 0;
  text = macko_skip_blanks(text);
  for (; *text && *text != '\n' && n < MACKO_QUOTE - 4 && !(stop_at_blank && macko_is_blank(*text)); text++)
    quote[n++] = *text < ' ' || *text > '~' ? '?' : *text;
  strcpy(quote + n, n == MACKO_QUOTE - 4 ? "..." : "");
  return quote;
}

/* Writes the word at text, fit for a sentence: cut short, without control characters. Gives quote. */
static inline const char *macko_quote(char quote[MACKO_QUOTE], const char *text)
{
  return macko_quote_until(quote, text, 1);
}

/* Does the same for the rest of a line, blanks included. */
static inline const char *macko_quote_line(char quote[MACKO_QUOTE], const char *text)
{
  return macko_quote_until(quote, text, 0);
}

#endif
