/* Fortran formats without a change of line: I, F, E, D and G fields, blanks (X), scale factors (P) and repeated groups. */
#include "files/fortran_format.h"

#include <stddef.h>
#include <string.h>

/* Where parsing has got to: column of the line, and the scale factor that a P has set for the fields behind it. */
typedef struct {
  macko_fortran_format *format;
  int column, scale;
  const char *again; /* what lines behind the first begin with: the last group, with the number before it, or all items */
} place;

/* Most columns of a line and depth of groups: a format comes from a file and must end. */
enum { LONGEST_LINE = 4096, DEEPEST = 4 };

/* Makes a capital letter; toupper would go by the locale. */
static int upper(char c)
{
  return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
}

/* Unlike isdigit this takes any char. */
static int is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* Skips blanks, which stand wherever one likes. */
static const char *skip_blanks(const char *p)
{
  while (*p == ' ') p++;
  return p;
}

/* Skips blanks and commas: between items it does not matter which of them there are. */
static const char *skip(const char *p)
{
  while (*p == ' ' || *p == ',') p++;
  return p;
}

/* Reads a number, which may be missing and is 0 then. It stops growing once it is larger than anything that is allowed, so that
 * it cannot overflow. */
static const char *parse_count(const char *p, int *count)
{
  *count = 0;
  for (; is_digit(*p); p++)
    if (*count <= LONGEST_LINE) *count = *count * 10 + (*p - '0');
  return p;
}

/* Reads what stands behind the letter of a field, w, w.d or w.dEe, and appends the field `repeat` times. NULL: it is no field, or
 * there is no room for it on the line or in the list. */
static const char *parse_fields(const char *p, int letter, int repeat, place *at)
{
  macko_field f = {.scale = at->scale};
  int ignored;
  p = parse_count(p, &f.width);
  if (*p == '.') p = parse_count(p + 1, &f.decimals);
  if (letter != 'I' && upper(*p) == 'E') p = parse_count(p + 1, &ignored);
  if (letter == 'I') f.decimals = 0, f.scale = 0; /* what is after the point is only the least number of digits */
  if (!f.width || f.decimals > LONGEST_LINE) return NULL;
  at->format->integer &= letter == 'I';
  for (int i = 0; i < repeat; i++) {
    f.begin = at->column;
    if (f.width > LONGEST_LINE - at->column || at->format->count == MACKO_FIELDS) return NULL;
    at->column += f.width;
    at->format->fields[at->format->count++] = f;
  }
  return p;
}

static const char *parse_group(const char *p, int depth, place *at);

/* Reads a group `repeat` times, each of which moves on by its columns. One that takes no columns is refused: its repetition would
 * take time and give nothing. */
static const char *repeat_group(const char *p, int repeat, int depth, place *at)
{
  const char *end = NULL;
  for (int i = 0; i < repeat; i++) {
    int column = at->column;
    end = parse_group(p, depth, at);
    if (!end || at->column == column) return NULL;
  }
  return end;
}

/* Reads one item: a field, blanks, a scale factor or a group, with a number before it that repeats it. A P is no field: its
 * number, which may be negative, is the scale. */
static const char *parse_item(const char *p, int depth, place *at)
{
  const char *item = p;
  int negative = *p == '-', number;
  if (*p == '-' || *p == '+') p++;
  int given = is_digit(*p);
  p = skip_blanks(parse_count(p, &number));
  int repeat = given ? number : 1, letter = upper(*p);
  if (letter == 'P' && given) {
    at->scale = negative ? -number : number;
    return p + 1;
  }
  if (!letter || negative || !repeat) return NULL;
  if (letter == '(') {
    if (depth == 0) at->again = item;
    return repeat_group(p + 1, repeat, depth + 1, at);
  }
  if (letter == 'X') {
    at->column += repeat;
    return at->column <= LONGEST_LINE ? p + 1 : NULL;
  }
  if (!strchr("IFEDG", letter)) return NULL;
  p++;
  if (letter == 'E' && (upper(*p) == 'S' || upper(*p) == 'N')) p++;
  return parse_fields(p, letter, repeat, at);
}

/* Reads items up to the closing parenthesis of a group; NULL where one is not understood. */
static const char *parse_group(const char *p, int depth, place *at)
{
  if (depth > DEEPEST) return NULL;
  for (p = skip(p); *p != ')'; p = skip(p)) {
    p = parse_item(p, depth, at);
    if (!p) return NULL;
  }
  return p + 1;
}

const char *macko_parse_format(const char *text, macko_fortran_format *format)
{
  place at = {.format = format};
  format->count = 0, format->integer = 1;
  text = skip(text);
  if (*text != '(') return NULL;
  at.again = text + 1;
  const char *end = parse_group(text + 1, 0, &at);
  format->first = format->count, at.column = 0;
  if (!end || !format->first || !parse_group(at.again, 0, &at)) return NULL;
  return format->count > format->first ? end : NULL;
}
