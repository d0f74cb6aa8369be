/* Matrix Market files: coordinate and array; real, integer and pattern; general, symmetric and skew-symmetric.
 * Boisvert, Pozo, Remington: The Matrix Market exchange formats, NISTIR 5935, 1996. */
#include "files/real.h"
#include "files/triples.h"

#include <stdio.h>
#include <string.h>

typedef enum { COORDINATE, ARRAY } layout_kind;
typedef enum { REAL, INTEGER, PATTERN, COMPLEX } field_kind;
/* A symmetry that files may have and matrices may not. */
enum { HERMITIAN = MACKO_SKEW + 1 };

/* A word of the banner and what it stands for; lists end with NULL. */
typedef struct {
  const char *word;
  int kind;
} word_kind;

static const word_kind objects[] = {{"matrix", 0}, {NULL, 0}};
static const word_kind layouts[] = {{"coordinate", COORDINATE}, {"array", ARRAY}, {NULL, 0}};
static const word_kind fields[] = {{"real", REAL}, {"double", REAL}, {"integer", INTEGER}, {"pattern", PATTERN},
                                   {"complex", COMPLEX}, {NULL, 0}};
static const word_kind symmetries[] = {{"general", MACKO_GENERAL}, {"symmetric", MACKO_SYMMETRIC},
                                       {"skew-symmetric", MACKO_SKEW}, {"hermitian", HERMITIAN}, {NULL, 0}};

/* What banner and size line say. */
typedef struct {
  int layout, field, symmetry;
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

/* Reads the next word of the banner, in any case, and sets *kind to what it stands for; *p moves behind it. A word that is not in
 * the list is named together with all of them. */
static macko_status banner_word(macko_input *in, const char **p, const word_kind *words, const char *what, int *kind)
{
  char quote[MACKO_QUOTE], list[120] = "";
  *p = macko_skip_blanks(*p);
  size_t length = strcspn(*p, " \t\r\f\v");
  for (const word_kind *w = words; w->word; w++) {
    size_t n = 0;
    while (n < length && w->word[n] && ((*p)[n] | 32) == (w->word[n] | 32)) n++;
    if (n == length && !w->word[n]) {
      *p += length, *kind = w->kind;
      return MACKO_OK;
    }
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", w->word);
  }
  if (!length) return macko_input_fail(in, MACKO_PARSE, "the banner ends before the %s (%s)", what, list);
  return macko_input_fail(in, MACKO_PARSE, "the banner's %s is '%s', none of %s", what, macko_quote(quote, *p), list);
}

/* Reads the first line. Kinds that exist but are not read are told apart from those that do not exist. */
static macko_status parse_banner(macko_input *in, header *h)
{
  char quote[MACKO_QUOTE];
  const char *p = in->line + strcspn(in->line, " \t\r\f\v");
  int object;
  if (banner_word(in, &p, objects, "object", &object) || banner_word(in, &p, layouts, "format", &h->layout) ||
      banner_word(in, &p, fields, "field", &h->field) || banner_word(in, &p, symmetries, "symmetry", &h->symmetry))
    return in->status;
  if (*macko_skip_blanks(p))
    return macko_input_fail(in, MACKO_PARSE, "'%s' follows the banner's symmetry", macko_quote_line(quote, p));
  if (h->field == COMPLEX || h->symmetry == HERMITIAN)
    return macko_input_fail(in, MACKO_UNSUPPORTED, "the values are complex; macko stores real matrices");
  if (h->field == PATTERN && (h->layout == ARRAY || h->symmetry == MACKO_SKEW))
    return macko_input_fail(in, MACKO_PARSE, "a pattern can be neither an array nor skew-symmetric");
  return MACKO_OK;
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

/* Sets h->entries to the number of values in an array file: of a whole matrix, or of one triangle with or without the diagonal.
 * Of two factors of a triangle the even one is halved first, so that the product goes beyond 64 bits only where the number
 * does. */
static macko_status count_array(macko_input *in, header *h)
{
  int64_t n = h->ncols, columns = n;
  int beyond;
  if (h->symmetry == MACKO_GENERAL) beyond = __builtin_mul_overflow(h->nrows, n, &h->entries);
  else {
    int64_t other = h->symmetry == MACKO_SYMMETRIC ? n + 1 : n - 1;
    if (columns % 2 == 0) columns /= 2;
    else other /= 2;
    beyond = __builtin_mul_overflow(columns, other, &h->entries);
  }
  if (!beyond) return MACKO_OK;
  return macko_input_fail(in, MACKO_LIMIT, "an array of %lld x %lld values is beyond 64 bits", (long long)h->nrows,
                          (long long)h->ncols);
}

/* Reads the size line. */
static macko_status parse_sizes(macko_input *in, header *h)
{
  char quote[MACKO_QUOTE];
  if (!next_data_line(in)) return macko_input_fail(in, MACKO_PARSE, "the file ends before the size line");
  const char *p = parse_size(in, in->line, "rows", &h->nrows);
  if (p) p = parse_size(in, p, "columns", &h->ncols);
  if (p && h->layout == COORDINATE) p = parse_size(in, p, "entries", &h->entries);
  if (!p) return in->status;
  p = macko_skip_blanks(p);
  if (p != in->line_end)
    return macko_input_fail(in, MACKO_PARSE, "'%s' follows the sizes of the matrix", macko_quote_line(quote, p));
  if (h->symmetry != MACKO_GENERAL && h->nrows != h->ncols)
    return macko_input_fail(in, MACKO_PARSE, "%lld x %lld is not square, so the matrix cannot be symmetric", (long long)h->nrows,
                            (long long)h->ncols);
  return h->layout == ARRAY ? count_array(in, h) : MACKO_OK;
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
  while (next_data_line(in)) {
    char quote[MACKO_QUOTE];
    int64_t row, col;
    double value = 1;
    if (r->entries.count == r->h.entries)
      return macko_input_fail(in, MACKO_PARSE, "'%s' is one entry more than the %lld declared", macko_quote_line(quote, in->line),
                              (long long)r->h.entries);
    const char *p = parse_index(in, in->line, "row", r->h.nrows, &row);
    if (p) p = parse_index(in, p, "column", r->h.ncols, &col);
    if (p && r->h.field != PATTERN) p = macko_parse_value(in, p, r->h.field == INTEGER, &c_numbers, &value);
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
  int64_t count = 0, row = r->h.symmetry == MACKO_SKEW, col = 0;
  for (; next_data_line(in); count++) {
    char quote[MACKO_QUOTE];
    double value;
    if (count == r->h.entries)
      return macko_input_fail(in, MACKO_PARSE, "'%s' is one value more than the %lld of the array",
                              macko_quote_line(quote, in->line), (long long)r->h.entries);
    const char *p = macko_parse_value(in, in->line, r->h.field == INTEGER, &c_numbers, &value);
    if (!p || end_line(in, p)) return in->status;
    if (value != 0 && macko_add_entry(in, &r->entries, row, col, value)) return in->status;
    if (++row < r->h.nrows) continue;
    col++;
    row = r->h.symmetry == MACKO_GENERAL ? 0 : col + (r->h.symmetry == MACKO_SKEW);
  }
  if (in->status || count == r->h.entries) return in->status;
  return macko_input_fail(in, MACKO_PARSE, "the file ends after %lld of %lld values", (long long)count, (long long)r->h.entries);
}

/* Fills *info. */
static void describe(const header *h, int64_t stored, macko_file_info *info)
{
  static const char *const field_names[] = {"real", "integer", "pattern"};
  snprintf(info->kind, sizeof info->kind, "Matrix Market %s %s %s", layouts[h->layout].word, field_names[h->field],
           symmetries[h->symmetry].word);
  info->symmetric = h->symmetry == MACKO_SYMMETRIC;
  info->stored_entries = stored;
}

/* The entries of an array are its values: zeros count as stored. */
macko_status macko_read_matrix_market(macko_input *in, macko_csr *csr, macko_file_info *info)
{
  reader r = {.in = in};
  if (parse_banner(in, &r.h) || parse_sizes(in, &r.h)) return in->status;
  macko_open_entries(&r.entries, r.h.nrows, r.h.ncols, r.h.field != PATTERN, (macko_symmetry)r.h.symmetry);
  if (r.h.layout == ARRAY ? read_array(&r) : read_coordinates(&r)) {
    macko_free_entries(&r.entries);
    return in->status;
  }
  describe(&r.h, r.h.entries, info);
  return macko_build_csr(in, &r.entries, csr);
}
