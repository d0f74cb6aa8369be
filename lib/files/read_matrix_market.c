/* Matrix Market files: coordinate and array; real, integer and pattern; general, symmetric and skew-symmetric.
 * What the banner says is read in lib/banner.h. */
#include "banner.h"
#include "files/real.h"
#include "files/triples.h"

#include <stdio.h>
#include <string.h>

/* What banner and size line say. */
typedef struct {
  macko_banner banner;
  int64_t nrows, ncols, entries; /* entries: how many lines must follow */
} header;

/* Numbers are as C writes them. */
static const macko_number_rule c_numbers;

/* A file that is being read, with what was read of it. */
typedef struct {
  macko_input *in;
  header h;
  macko_entries entries;
} reader;

/* Reads the first line. */
static macko_status parse_banner(macko_input *in, header *h)
{
  char why[MACKO_BANNER_SENTENCE];
  const macko_status s = macko_read_banner(in->line, &h->banner, why);
  return s ? macko_input_fail(in, s, "%s", why) : MACKO_OK;
}

/* Goes on to the next line that is neither blank nor a comment, as comments may stand anywhere; gives 0 at the end. */
static int next_data_line(macko_input *in)
{
  while (macko_next_line(in)) {
    const char *p = macko_skip_blanks(in->line);
    if (p != in->line_end && *p != '%') return 1;
  }
  return 0;
}

/* Reads a number of the size line and gives its end; NULL after a failure. */
static const char *parse_size(macko_input *in, const char *p, const char *what, int64_t *size)
{
  char quote[MACKO_QUOTE];
  p = macko_skip_blanks(p);
  const char *end = macko_parse_integer(p, size);
  if (p == in->line_end) macko_input_fail(in, MACKO_PARSE, "the size line ends before the number of %s", what);
  else if (!end || (end != in->line_end && !macko_is_blank(*end)))
    macko_input_fail(in, MACKO_PARSE, "'%s' is not a number of %s", macko_quote(quote, p), what);
  else if (*size < 0) macko_input_fail(in, MACKO_PARSE, "%s %s are fewer than none", macko_quote(quote, p), what);
  else if (*size == INT64_MAX) macko_input_fail(in, MACKO_PARSE, "%s %s are beyond 64 bits", macko_quote(quote, p), what);
  return in->status ? NULL : end;
}

/* Reads the size line. */
static macko_status parse_sizes(macko_input *in, header *h)
{
  char quote[MACKO_QUOTE];
  if (!next_data_line(in)) return macko_input_fail(in, MACKO_PARSE, "the file ends before the size line");
  const char *p = parse_size(in, in->line, "rows", &h->nrows);
  if (p) p = parse_size(in, p, "columns", &h->ncols);
  if (p && h->banner.layout == MACKO_COORDINATE) p = parse_size(in, p, "entries", &h->entries);
  if (!p) return in->status;
  p = macko_skip_blanks(p);
  if (p != in->line_end)
    return macko_input_fail(in, MACKO_PARSE, "'%s' follows the sizes of the matrix", macko_quote_line(quote, p));
  if (h->banner.symmetry != MACKO_GENERAL && h->nrows != h->ncols)
    return macko_input_fail(in, MACKO_PARSE, "%lld x %lld is not square, so the matrix cannot be symmetric", (long long)h->nrows,
                            (long long)h->ncols);
  if (h->banner.layout != MACKO_ARRAY || macko_count_array(h->banner.symmetry, h->nrows, h->ncols, &h->entries)) return MACKO_OK;
  return macko_input_fail(in, MACKO_LIMIT, "an array of %lld x %lld values is beyond 64 bits", (long long)h->nrows,
                          (long long)h->ncols);
}

/* Reads a row or column index in 1 .. size, made to count from 0; gives its end, NULL after a failure. What is right is found
 * right by one test, as this runs for every entry; what is wrong is told apart afterwards. */
static inline const char *parse_index(macko_input *in, const char *p, const char *what, int64_t size, int64_t *index)
{
  char quote[MACKO_QUOTE];
  p = macko_skip_blanks(p);
  const char *end = macko_parse_integer(p, index);
  if (end && (macko_is_blank(*end) || end == in->line_end) && *index >= 1 && *index <= size) {
    --*index;
    return end;
  }
  if (p == in->line_end) macko_input_fail(in, MACKO_PARSE, "the line ends before the %s index", what);
  else if (!end || (end != in->line_end && !macko_is_blank(*end)))
    macko_input_fail(in, MACKO_PARSE, "'%s' is not a %s index", macko_quote(quote, p), what);
  else macko_input_fail(in, MACKO_PARSE, "%s %s is outside 1..%lld", what, macko_quote(quote, p), (long long)size);
  return NULL;
}

/* Checks that nothing follows on the line. */
static macko_status end_line(macko_input *in, const char *p)
{
  char quote[MACKO_QUOTE];
  p = macko_skip_blanks(p);
  if (p == in->line_end) return MACKO_OK;
  return macko_input_fail(in, MACKO_PARSE, "'%s' follows the entry", macko_quote_line(quote, p));
}

/* Reads as many entries as the size line says, neither more nor fewer: a file that was cut short must not pass. */
static macko_status read_coordinates(reader *r)
{
  macko_input *in = r->in;
  const int field = r->h.banner.field;
  while (next_data_line(in)) {
    char quote[MACKO_QUOTE];
    int64_t row, col;
    double value = 1;
    if (r->entries.count == r->h.entries)
      return macko_input_fail(in, MACKO_PARSE, "'%s' is one entry more than the %lld declared", macko_quote_line(quote, in->line),
                              (long long)r->h.entries);
    const char *p = parse_index(in, in->line, "row", r->h.nrows, &row);
    if (p) p = parse_index(in, p, "column", r->h.ncols, &col);
    if (p && field != MACKO_PATTERN) p = macko_parse_value(in, p, field == MACKO_INTEGER, &c_numbers, &value);
    if (!p || end_line(in, p)) return in->status;
    if (macko_add_entry(in, &r->entries, row, col, value)) return in->status;
  }
  if (in->status || r->entries.count == r->h.entries) return in->status;
  return macko_input_fail(in, MACKO_PARSE, "the file ends after %lld of %lld entries", (long long)r->entries.count,
                          (long long)r->h.entries);
}

/* Reads the values of an array, by columns and one a line; of a symmetric matrix there is the lower triangle, of a skew one
 * without its diagonal. Zeros are no entries. */
static macko_status read_array(reader *r)
{
  macko_input *in = r->in;
  int64_t count = 0, row = r->h.banner.symmetry == MACKO_SKEW, col = 0;
  for (; next_data_line(in); count++) {
    char quote[MACKO_QUOTE];
    double value;
    if (count == r->h.entries)
      return macko_input_fail(in, MACKO_PARSE, "'%s' is one value more than the %lld of the array",
                              macko_quote_line(quote, in->line), (long long)r->h.entries);
    const char *p = macko_parse_value(in, in->line, r->h.banner.field == MACKO_INTEGER, &c_numbers, &value);
    if (!p || end_line(in, p)) return in->status;
    if (value != 0 && macko_add_entry(in, &r->entries, row, col, value)) return in->status;
    if (++row < r->h.nrows) continue;
    col++;
    row = r->h.banner.symmetry == MACKO_GENERAL ? 0 : col + (r->h.banner.symmetry == MACKO_SKEW);
  }
  if (in->status || count == r->h.entries) return in->status;
  return macko_input_fail(in, MACKO_PARSE, "the file ends after %lld of %lld values", (long long)count, (long long)r->h.entries);
}

/* Fills *info. */
static void describe(const header *h, int64_t stored, macko_file_info *info)
{
  macko_describe_banner(&h->banner, info->kind, sizeof info->kind);
  info->symmetric = h->banner.symmetry == MACKO_SYMMETRIC;
  info->stored_entries = stored;
}

/* The entries of an array are its values: zeros count as stored. */
macko_status macko_read_matrix_market(macko_input *in, macko_csr *csr, macko_file_info *info)
{
  reader r = {.in = in};
  if (parse_banner(in, &r.h) || parse_sizes(in, &r.h)) return in->status;
  macko_open_entries(&r.entries, r.h.nrows, r.h.ncols, r.h.banner.field != MACKO_PATTERN, (macko_symmetry)r.h.banner.symmetry);
  if (r.h.banner.layout == MACKO_ARRAY ? read_array(&r) : read_coordinates(&r)) {
    macko_free_entries(&r.entries);
    return in->status;
  }
  describe(&r.h, r.h.entries, info);
  return macko_build_csr(in, &r.entries, csr);
}
