/* Lines of text from a file, and the sentences about what is wrong in them. */
#include "files/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Only the first failure is kept: it is the cause of those that come after it. */
macko_status macko_input_fail(macko_input *in, macko_status status, const char *sentence, ...)
{
  char text[400];
  va_list args;
  if (in->status) return in->status;
  va_start(args, sentence);
  vsnprintf(text, sizeof text, sentence, args);
  va_end(args);
  in->status = status;
  if (in->line_number) return macko_fail(in->err, status, "%s:%lld: %s", in->name, (long long)in->line_number, text);
  return macko_fail(in->err, status, "%s: %s", in->name, text);
}

/* Sets the name of the input in sentences. A sentence of 511 bytes must keep its end, so that a long path loses its beginning. */
static void name_input(macko_input *in, const char *path)
{
  enum { LONGEST = 160 };
  size_t length = strlen(path);
  if (length <= LONGEST) strcpy(in->name, path);
  else snprintf(in->name, sizeof in->name, "...%s", path + length - LONGEST);
}

/* The locale is made for this one input, because the program's may have a decimal comma and must not be changed. */
macko_status macko_open_input(macko_input *in, const char *path, const macko_progress *progress, macko_error *err)
{
  memset(in, 0, sizeof *in);
  in->path = path, in->file = -1, in->progress = progress, in->err = err;
  name_input(in, path);
  in->text = malloc(MACKO_LONGEST_LINE + 1);
  in->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!in->text || !in->c_locale) macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory for a buffer to read through");
  if (!in->status) macko_push_file(in);
  if (!in->status) macko_push_unpackers(in);
  if (in->status) macko_close_input(in);
  return in->status;
}

/* Sources are closed from the top, as each may still use the one below. */
void macko_close_input(macko_input *in)
{
  while (in->nsources) {
    macko_source *source = &in->sources[--in->nsources];
    if (source->close) source->close(source);
    free(source->ahead);
  }
  if (in->file >= 0) close(in->file);
  if (in->c_locale) freelocale(in->c_locale);
  free(in->text);
}

/* Bytes that only wait in the buffer of the file are not counted as done. */
void macko_report(macko_input *in)
{
  const macko_source *file = &in->sources[0];
  if (in->progress && in->progress->report)
    in->progress->report(in->progress->context, in->file_done - (int64_t)(file->end - file->begin), in->file_size);
}

/* Refuses a zero byte among `count` bytes of text. No text holds one, and what follows may take a 0 for the end of a line. */
static int has_zero_byte(macko_input *in, size_t begin, size_t count)
{
  const char *zero = memchr(in->text + begin, 0, count);
  if (!zero) return 0;
  in->line_number++;
  for (const char *p = in->text; p < zero; p++) in->line_number += *p == '\n';
  macko_input_fail(in, MACKO_PARSE, "a zero byte: this is no text");
  return 1;
}

/* Reads more text behind what is left of the current line, which is moved to the front; gives 0 at the end and after a
 * failure. */
static int refill(macko_input *in)
{
  size_t left = in->end - in->begin;
  memmove(in->text, in->text + in->begin, left);
  in->begin = 0, in->end = left;
  if (left == MACKO_LONGEST_LINE) {
    in->line_number++;
    macko_input_fail(in, MACKO_PARSE, "a line of more than %d bytes is no line of a matrix file", MACKO_LONGEST_LINE);
    return 0;
  }
  int64_t got = macko_take(in, &in->sources[in->nsources - 1], in->text + left, MACKO_LONGEST_LINE - left);
  macko_report(in);
  if (got <= 0) in->ended = 1;
  else if (has_zero_byte(in, left, (size_t)got)) return 0;
  else in->end += (size_t)got;
  return got > 0;
}

/* A newline is looked for only in what has come since the last look, so that a long line is not gone through again with each
 * refill. */
int macko_next_line(macko_input *in)
{
  size_t seen = 0;
  char *newline = NULL;
  if (in->status) return 0;
  for (;;) {
    newline = memchr(in->text + in->begin + seen, '\n', in->end - in->begin - seen);
    seen = in->end - in->begin;
    if (newline || in->ended) break;
    if (!refill(in) && in->status) return 0;
  }
  if (!newline && !seen) return 0;
  if (!newline) newline = in->text + in->end++; /* the last line may lack its newline */
  *newline = 0;
  in->line = in->text + in->begin, in->line_end = newline;
  in->begin = (size_t)(newline - in->text) + 1;
  in->line_number++;
  return 1;
}

/* Reads an integer as a value. One of up to 53 significant bits is itself as a double; any other would be rounded, so it is
 * refused, as are those of more than 63 bits, which are not read. */
static const char *parse_integer_value(macko_input *in, const char *p, double *value)
{
  char quote[MACKO_QUOTE];
  int64_t n = 0;
  const char *end = macko_parse_integer(p, &n);
  if (!end) return NULL;
  uint64_t size = n < 0 ? -(uint64_t)n : (uint64_t)n;
  if (size >> 53 && (n == INT64_MIN || size >> __builtin_ctzll(size) >> 53)) {
    macko_input_fail(in, MACKO_UNSUPPORTED, "the integer %s has no exact value among doubles, or more than 63 bits",
                     macko_quote(quote, p));
    return NULL;
  }
  *value = (double)n;
  return end;
}

/* A name such as inf begins with a letter, which is above '9': an infinity without one is a number that was too large. */
const char *macko_parse_value(macko_input *in, const char *p, int integer, const macko_number_rule *rule, double *value)
{
  char quote[MACKO_QUOTE];
  p = macko_skip_blanks(p);
  const char *end = integer ? parse_integer_value(in, p, value) : macko_parse_real(p, rule, in->c_locale, value);
  int whole = end && (!*end || macko_is_blank(*end)), overflows = whole && isinf(*value) && p[strspn(p, "+-")] <= '9';
  if (whole && !overflows) return end;
  if (!*p) macko_input_fail(in, MACKO_PARSE, "the line ends before the value");
  else if (overflows)
    macko_input_fail(in, MACKO_PARSE, "the value %s is beyond the range of double", macko_quote(quote, p));
  else macko_input_fail(in, MACKO_PARSE, "'%s' is not %s value", macko_quote(quote, p), integer ? "an integer" : "a real");
  return NULL;
}
