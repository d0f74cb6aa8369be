/* Matrix Market files (R. F. Boisvert, R. Pozo, K. A. Remington: The Matrix Market Exchange Formats, NISTIR 5935): coordinate and
 * array; real, integer and pattern; general, symmetric and skew-symmetric. */
#include "entries.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct {
  int array, pattern, integer;
  macko_symmetry symmetry;
} banner_facts;

static const char *word_of(char **at, char word[32])
{
  int n = 0;
  *at = (char *)macko_skip_blanks(*at);
  while (**at && **at != ' ' && **at != '\t' && n < 31) word[n++] = *(*at)++;
  word[n] = 0;
  return word;
}

static macko_status parse_banner(const macko_input *in, char *line, banner_facts *b, macko_file_info *info, macko_error *err)
{
  char start[32], object[32], format[32], field[32], symmetry[32];
  *b = (banner_facts){0};
  word_of(&line, start), word_of(&line, object), word_of(&line, format), word_of(&line, field), word_of(&line, symmetry);
  if (strcasecmp(object, "matrix")) return macko_fail_line(in, err, "the object is \"%s\", not \"matrix\"", object);
  b->array = !strcasecmp(format, "array");
  if (!b->array && strcasecmp(format, "coordinate"))
    return macko_fail_line(in, err, "the format is \"%s\", neither \"coordinate\" nor \"array\"", format);
  b->pattern = !strcasecmp(field, "pattern"), b->integer = !strcasecmp(field, "integer");
  if (!strcasecmp(field, "complex") || !strcasecmp(symmetry, "hermitian"))
    return macko_fail(err, MACKO_UNSUPPORTED, "%s:1: complex matrices are not supported", in->path);
  if (!b->pattern && !b->integer && strcasecmp(field, "real") && strcasecmp(field, "double"))
    return macko_fail_line(in, err, "the field is \"%s\", none of \"real\", \"integer\" and \"pattern\"", field);
  if (b->array && b->pattern) return macko_fail_line(in, err, "an array cannot be a pattern");
  if (!strcasecmp(symmetry, "symmetric")) b->symmetry = MACKO_SYMMETRIC;
  else if (!strcasecmp(symmetry, "skew-symmetric")) b->symmetry = MACKO_SKEW;
  else if (strcasecmp(symmetry, "general"))
    return macko_fail_line(in, err, "the symmetry is \"%s\", none of \"general\", \"symmetric\" and \"skew-symmetric\"", symmetry);
  snprintf(info->kind, sizeof info->kind, "Matrix Market %s %s %s", b->array ? "array" : "coordinate",
           b->pattern ? "pattern" : b->integer ? "integer" : "real",
           b->symmetry == MACKO_SYMMETRIC ? "symmetric" : b->symmetry == MACKO_SKEW ? "skew-symmetric" : "general");
  info->symmetric = b->symmetry == MACKO_SYMMETRIC;
  return MACKO_OK;
}

/* The next line that is neither blank nor a comment. */
static macko_status next_content(macko_input *in, char **line, macko_error *err)
{
  macko_status s;
  do s = macko_next_line(in, line, err);
  while (!s && *line && (**line == '%' || !*macko_skip_blanks(*line)));
  return s;
}

static macko_status parse_count(const macko_input *in, const char **at, const char *what, int64_t *count, macko_error *err)
{
  int found = macko_parse_integer(at, count);
  if (found == 0) return macko_fail_line(in, err, "the number of %s is missing at \"%.40s\"", what, macko_skip_blanks(*at));
  if (found < 0) return macko_fail_line(in, err, "the number of %s does not fit 64 bits", what);
  if (*count < 0) return macko_fail_line(in, err, "the number of %s is %lld", what, (long long)*count);
  return MACKO_OK;
}

static macko_status parse_end(const macko_input *in, const char *at, macko_error *err)
{
  at = macko_skip_blanks(at);
  return *at && *at != '%' ? macko_fail_line(in, err, "\"%.40s\" follows the last number expected here", at) : MACKO_OK;
}

static macko_status parse_sizes(macko_input *in, const banner_facts *b, int64_t sizes[3], macko_error *err)
{
  static const char *const names[] = {"rows", "columns", "entries"};
  char *line;
  macko_status s = next_content(in, &line, err);
  if (s) return s;
  if (!line) return macko_fail_line(in, err, "the file ends before the line of sizes");
  const char *at = line;
  for (int i = 0; !s && i < (b->array ? 2 : 3); i++) s = parse_count(in, &at, names[i], &sizes[i], err);
  if (!s) s = parse_end(in, at, err);
  if (s) return s;
  if (b->symmetry != MACKO_GENERAL && sizes[0] != sizes[1])
    return macko_fail_line(in, err, "a symmetric matrix cannot be %lld x %lld", (long long)sizes[0], (long long)sizes[1]);
  /* rows * columns is at least the count: catches both swapped and damaged numbers before a long read. */
  if (!b->array && (double)sizes[2] > (double)sizes[0] * (double)sizes[1])
    return macko_fail_line(in, err, "%lld entries do not fit a matrix of %lld x %lld", (long long)sizes[2], (long long)sizes[0],
                           (long long)sizes[1]);
  return MACKO_OK;
}

static macko_status parse_value(const macko_input *in, const banner_facts *b, const char **at, double *value, macko_error *err)
{
  int64_t whole;
  if (b->pattern) {
    *value = 1;
    return MACKO_OK;
  }
  const char *start = macko_skip_blanks(*at);
  if (!b->integer) return macko_parse_double(at, value) ? MACKO_OK : macko_fail_line(in, err, "no value at \"%.40s\"", start);
  int found = macko_parse_integer(at, &whole);
  if (!found) return macko_fail_line(in, err, "no value at \"%.40s\"", start);
  *value = (double)whole;
  if (found < 0 || *value >= 0x1p63 || (int64_t)*value != whole)
    return macko_fail_line(in, err, "the integer %.40s has no exact double", start);
  return MACKO_OK;
}

static macko_status parse_index(const macko_input *in, const char **at, const char *what, int64_t size, int64_t *index, macko_error *err)
{
  const char *start = macko_skip_blanks(*at);
  int found = macko_parse_integer(at, index);
  if (!found) return macko_fail_line(in, err, "no %s number at \"%.40s\"", what, start);
  if (found < 0 || *index < 1 || *index > size)
    return macko_fail_line(in, err, "%s %.*s is outside 1..%lld", what, (int)(*at - start), start, (long long)size);
  --*index;
  return MACKO_OK;
}

static macko_status read_coordinates(macko_input *in, const banner_facts *b, macko_entries *e, int64_t declared, macko_error *err)
{
  char *line;
  int64_t row, col;
  double value;
  while (e->count < declared) {
    macko_status s = next_content(in, &line, err);
    if (s) return s;
    if (!line)
      return macko_fail_line(in, err, "the file ends after %lld of %lld entries", (long long)e->count, (long long)declared);
    const char *at = line;
    s = parse_index(in, &at, "row", e->nrows, &row, err);
    if (!s) s = parse_index(in, &at, "column", e->ncols, &col, err);
    if (!s) s = parse_value(in, b, &at, &value, err);
    if (!s && *at) s = parse_end(in, at, err);
    if (!s && b->symmetry == MACKO_SKEW && row == col && value != 0)
      s = macko_fail_line(in, err, "a skew-symmetric matrix has %g on its diagonal", value);
    if (!s) s = macko_add_entry(e, row, col, value, err);
    if (s) return s;
  }
  return MACKO_OK;
}

/* Column by column, of a symmetric matrix the lower triangle, of a skew one without the diagonal. Zeros are not entries. */
static macko_status read_array(macko_input *in, const banner_facts *b, macko_entries *e, macko_error *err)
{
  char *line;
  double value;
  for (int64_t col = 0; col < e->ncols; col++)
    for (int64_t row = b->symmetry == MACKO_GENERAL ? 0 : col + (b->symmetry == MACKO_SKEW); row < e->nrows; row++) {
      macko_status s = next_content(in, &line, err);
      if (s) return s;
      if (!line) return macko_fail_line(in, err, "the file ends before row %lld of column %lld", (long long)row + 1, (long long)col + 1);
      const char *at = line;
      s = parse_value(in, b, &at, &value, err);
      if (!s) s = parse_end(in, at, err);
      if (!s && value != 0) s = macko_add_entry(e, row, col, value, err);
      if (s) return s;
    }
  return MACKO_OK;
}

macko_status macko_read_matrix_market(macko_input *in, char *banner, macko_csr *csr, macko_file_info *info, macko_error *err)
{
  banner_facts b;
  macko_entries e;
  char *line;
  int64_t sizes[3] = {0};
  macko_status s = parse_banner(in, banner, &b, info, err);
  if (!s) s = parse_sizes(in, &b, sizes, err);
  if (s) return s;
  macko_open_entries(&e, sizes[0], sizes[1], b.symmetry);
  s = b.array ? read_array(in, &b, &e, err) : read_coordinates(in, &b, &e, sizes[2], err);
  if (!s) s = next_content(in, &line, err);
  if (!s && line) s = macko_fail_line(in, err, "\"%.40s\" follows the last entry", line);
  info->stored_entries = e.count;
  if (!s) s = macko_entries_to_csr(&e, in->path, csr, err);
  macko_close_entries(&e);
  return s;
}
