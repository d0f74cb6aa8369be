/* Harwell-Boeing and Rutherford-Boeing files: an assembled matrix by columns, in fixed Fortran fields. Right-hand sides that may
 * follow it are not read.
 * Duff, Grimes, Lewis: Users' guide for the Harwell-Boeing sparse matrix collection, 1992; The Rutherford-Boeing sparse matrix
 * collection, 1997. */
#include "files/fortran_format.h"
#include "files/real.h"
#include "files/triples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The header of a file. */
typedef struct {
  char value_kind, shape; /* letters of the type in capitals: of RUA 'R' and 'U' */
  int rutherford;         /* 1: the newer header, which counts no right-hand sides */
  int right_hand_sides; /* 1: some follow the matrix */
  int64_t nrows, ncols, entries;
  macko_fortran_format pointer_format, index_format, value_format;
} header;

/* A reader of the fields of one format, which are taken one after the other, line by line. A number is parsed where it stands: a
 * 0 is put behind its field, as fields need no blanks between them, and taken away before the next one. */
typedef struct {
  macko_input *in;
  const macko_fortran_format *format;
  int next;    /* which field comes next */
  char *cut;   /* where a 0 ends the current field, NULL: nowhere; below: what it replaced */
  char saved;
} field_reader;

/* ---- header ---- */

/* Reads the next line of the header, which a sentence calls `what`. */
static macko_status header_line(macko_input *in, const char *what)
{
  if (macko_next_line(in)) return MACKO_OK;
  return macko_input_fail(in, MACKO_PARSE, "the file ends before the line of %s", what);
}

/* Reads an integer of the header behind blanks at *p, which moves on; gives 0 where there is none. The header is read word by
 * word and not by its columns, to which files do not always keep. */
static int header_integer(const char **p, int64_t *value)
{
  const char *start = macko_skip_blanks(*p), *end = macko_parse_integer(start, value);
  if (!end || (*end && !macko_is_blank(*end))) return 0;
  *p = end;
  return 1;
}

/* Reads the line counts: TOTCRD PTRCRD INDCRD VALCRD and, before Rutherford-Boeing, RHSCRD. Only whether there are right-hand
 * sides matters, which bring a line of their own into the header; how many lines a part has shows when it is read. */
static macko_status parse_line_counts(macko_input *in, header *h)
{
  char quote[MACKO_QUOTE];
  int64_t counts[5] = {0};
  int n = 0;
  if (header_line(in, "line counts")) return in->status;
  const char *p = in->line;
  while (n < 5 && header_integer(&p, &counts[n])) n++;
  if (n < 3 || *macko_skip_blanks(p))
    return macko_input_fail(in, MACKO_PARSE, "'%s' are not the 4 or 5 line counts of a Harwell-Boeing file",
                            macko_quote_line(quote, in->line));
  for (int i = 0; i < n; i++)
    if (counts[i] < 0)
      return macko_input_fail(in, MACKO_PARSE, "the line count %lld is negative", (long long)counts[i]);
  h->rutherford = n < 5, h->right_hand_sides = counts[4] > 0;
  return MACKO_OK;
}

/* Checks that the type, of three capitals, is one that exists and is read. Letters are values (real, integer, pattern, complex,
 * in another file), symmetry (none, symmetric, skew, Hermitian, rectangular), and whether it is assembled. */
static macko_status check_type(macko_input *in, const char type[3])
{
  if (!strchr("RIPCQ", type[0]) || !strchr("USZHR", type[1]) || !strchr("AE", type[2]))
    return macko_input_fail(in, MACKO_PARSE, "the type '%.3s' is none of R I P C Q, then U S Z H R, then A E", type);
  if (type[0] == 'C' || type[1] == 'H')
    return macko_input_fail(in, MACKO_UNSUPPORTED, "the values of type '%.3s' are complex; macko stores real matrices", type);
  if (type[2] == 'E')
    return macko_input_fail(in, MACKO_UNSUPPORTED, "type '%.3s' is a sum of element matrices; assemble it first", type);
  if (type[0] == 'Q')
    return macko_input_fail(in, MACKO_UNSUPPORTED, "type '%.3s' keeps its values in another file, which is not read", type);
  return MACKO_OK;
}

/* Reads the line of type and sizes. The number of element matrices behind them is not looked at. */
static macko_status parse_type_and_sizes(macko_input *in, header *h)
{
  static const char *const names[] = {"rows", "columns", "entries"};
  int64_t *const sizes[] = {&h->nrows, &h->ncols, &h->entries};
  char quote[MACKO_QUOTE], type[4] = "";
  if (header_line(in, "type and sizes")) return in->status;
  const char *p = macko_skip_blanks(in->line);
  for (int i = 0; i < 3 && *p && !macko_is_blank(*p); i++, p++) type[i] = *p >= 'a' && *p <= 'z' ? (char)(*p - 32) : *p;
  if (!type[2]) return macko_input_fail(in, MACKO_PARSE, "'%s' is no matrix type such as RUA", macko_quote(quote, in->line));
  if (check_type(in, type)) return in->status;
  h->value_kind = type[0], h->shape = type[1];
  for (int i = 0; i < 3; i++) {
    if (!header_integer(&p, sizes[i]))
      return macko_input_fail(in, MACKO_PARSE, "'%s' is not a number of %s", macko_quote(quote, p), names[i]);
    if (*sizes[i] < 0 || *sizes[i] == INT64_MAX)
      return macko_input_fail(in, MACKO_PARSE, "the number of %s is negative or beyond 64 bits", names[i]);
  }
  if (strchr("SZ", h->shape) && h->nrows != h->ncols)
    return macko_input_fail(in, MACKO_PARSE, "%lld x %lld is not square, so the matrix cannot be symmetric", (long long)h->nrows,
                            (long long)h->ncols);
  return MACKO_OK;
}

/* Reads one format at p, which must be of integers if `integer` says so, and gives its end. NULL after a failure, of this one or,
 * where p is NULL, of the one before. */
static const char *parse_format(macko_input *in, const char *p, const char *what, int integer, macko_fortran_format *format)
{
  char quote[MACKO_QUOTE];
  const char *end = p ? macko_parse_format(p, format) : NULL;
  if (end && (!integer || format->integer)) return end;
  if (p)
    macko_input_fail(in, MACKO_PARSE, "'%s' is no Fortran format for %s", macko_quote_line(quote, p),
                     integer ? what : "values");
  return NULL;
}

/* Reads the lines of the header behind the title. A pattern has no format of values. */
static macko_status parse_header(macko_input *in, header *h)
{
  if (parse_line_counts(in, h) || parse_type_and_sizes(in, h) || header_line(in, "formats")) return in->status;
  const char *p = parse_format(in, in->line, "column pointers", 1, &h->pointer_format);
  p = parse_format(in, p, "row indices", 1, &h->index_format);
  if (h->value_kind != 'P') parse_format(in, p, "values", h->value_kind == 'I', &h->value_format);
  if (!in->status && h->right_hand_sides) return header_line(in, "right-hand sides");
  return in->status;
}

/* ---- fields ---- */

/* Puts back what the 0 behind a field replaced. */
static void restore_cut(field_reader *f)
{
  if (f->cut) *f->cut = f->saved;
  f->cut = NULL;
}

/* Gives the text of the next field without blanks before it, ended by a 0; NULL after a failure. The line may end before its
 * fields do, and is only then too short if one is asked for. */
static const char *next_field(field_reader *f, const char *what)
{
  restore_cut(f);
  if ((f->next == 0 || f->next == f->format->first) && !macko_next_line(f->in)) {
    macko_input_fail(f->in, MACKO_PARSE, "the file ends before the next %s", what);
    return NULL;
  }
  const macko_field *field = &f->format->fields[f->next];
  const char *text = "";
  if (field->begin < f->in->line_end - f->in->line) {
    text = macko_skip_blanks(f->in->line + field->begin);
    if (field->width < f->in->line_end - f->in->line - field->begin) {
      f->cut = f->in->line + field->begin + field->width;
      f->saved = *f->cut;
      *f->cut = 0;
    }
    if (f->cut && text > f->cut) text = f->cut; /* blanks up to the next field */
  }
  if (!*text) {
    macko_input_fail(f->in, MACKO_PARSE, "columns %d to %d are blank where a %s must be", field->begin + 1,
                     field->begin + field->width, what);
    return NULL;
  }
  if (++f->next == f->format->count) f->next = f->format->first;
  return text;
}

/* Reads the next field as an integer in least .. largest. */
static macko_status next_index(field_reader *f, const char *what, int64_t least, int64_t largest, int64_t *index)
{
  char quote[MACKO_QUOTE];
  const char *text = next_field(f, what);
  if (!text) return f->in->status;
  const char *end = macko_parse_integer(text, index);
  if (!end || *macko_skip_blanks(end))
    return macko_input_fail(f->in, MACKO_PARSE, "'%s' is not a %s", macko_quote_line(quote, text), what);
  if (*index < least || *index > largest)
    return macko_input_fail(f->in, MACKO_PARSE, "%s %s is outside %lld..%lld", what, macko_quote(quote, text), (long long)least,
                            (long long)largest);
  return MACKO_OK;
}

/* Reads the next field as a value, by the rule of its format. */
static macko_status next_value(field_reader *f, int integer, double *value)
{
  const macko_field *field = &f->format->fields[f->next];
  char quote[MACKO_QUOTE];
  macko_number_rule rule = {1, field->decimals, field->scale};
  const char *text = next_field(f, "value");
  if (!text) return f->in->status;
  const char *end = macko_parse_value(f->in, text, integer, &rule, value);
  if (end && *macko_skip_blanks(end))
    return macko_input_fail(f->in, MACKO_PARSE, "'%s' is not a value", macko_quote_line(quote, text));
  return f->in->status;
}

/* ---- matrix ---- */

/* Reads the column pointers, which count from 1, as they are: each is at least the one before and at most one more than the
 * number of entries. The array, which the caller frees, grows with what the file holds. A declared number of columns must not
 * claim memory. */
static macko_status read_pointers(macko_input *in, const header *h, int64_t **pointers)
{
  field_reader f = {.in = in, .format = &h->pointer_format};
  int64_t room = 0, *p = NULL;
  for (int64_t i = 0; i <= h->ncols; i++) {
    if (i == room) {
      room = 2 * room + 1024;
      int64_t *larger = realloc(p, (size_t)room * sizeof *p);
      if (larger) p = larger;
      else macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory for %lld column pointers", (long long)room);
    }
    if (in->status || next_index(&f, "column pointer", i ? p[i - 1] : 1, i ? h->entries + 1 : 1, &p[i])) break;
  }
  restore_cut(&f);
  if (!in->status && p[h->ncols] != h->entries + 1)
    macko_input_fail(in, MACKO_PARSE, "the last column pointer is %lld, not %lld for %lld entries", (long long)p[h->ncols],
                     (long long)h->entries + 1, (long long)h->entries);
  if (in->status) free(p);
  else *pointers = p;
  return in->status;
}

/* Reads the row indices and makes entries of them, with values of 0 that read_values replaces. */
static macko_status read_indices(macko_input *in, const header *h, const int64_t *pointers, macko_entries *entries)
{
  field_reader f = {.in = in, .format = &h->index_format};
  int64_t row;
  for (int64_t col = 0; col < h->ncols; col++)
    for (int64_t p = pointers[col]; p < pointers[col + 1]; p++)
      if (next_index(&f, "row index", 1, h->nrows, &row) || macko_add_entry(in, entries, row - 1, col, 0)) return in->status;
  restore_cut(&f);
  return MACKO_OK;
}

/* Reads the values in the order of the entries. That the diagonal of a skew-symmetric matrix is 0 can be checked only here. */
static macko_status read_values(macko_input *in, const header *h, macko_entries *entries)
{
  field_reader f = {.in = in, .format = &h->value_format};
  for (macko_block *b = entries->first; b; b = b->next)
    for (int64_t k = 0; k < b->count; k++) {
      if (next_value(&f, h->value_kind == 'I', &b->values[k])) return in->status;
      int64_t row = macko_index(entries->row_type, b->rows, k), col = macko_index(entries->col_type, b->cols, k);
      if (entries->symmetry == MACKO_SKEW && macko_check_triangle(in, entries, row, col, b->values[k])) return in->status;
    }
  restore_cut(&f);
  return MACKO_OK;
}

/* Checks that nothing but blank lines follows the matrix, unless right-hand sides do. */
static macko_status check_end(macko_input *in, const header *h)
{
  char quote[MACKO_QUOTE];
  if (h->right_hand_sides) return MACKO_OK;
  while (macko_next_line(in))
    if (macko_skip_blanks(in->line) != in->line_end)
      return macko_input_fail(in, MACKO_PARSE, "'%s' follows the matrix", macko_quote_line(quote, in->line));
  return in->status;
}

/* Reads the parts of the matrix in the order of the file. */
static macko_status read_matrix(macko_input *in, const header *h, macko_entries *entries)
{
  int64_t *pointers = NULL;
  macko_status s = read_pointers(in, h, &pointers);
  if (!s) s = read_indices(in, h, pointers, entries);
  free(pointers);
  if (!s && h->value_kind != 'P') s = read_values(in, h, entries);
  return s ? s : check_end(in, h);
}

/* Fills *info; stored_entries are those of the file. */
static void describe(const header *h, macko_file_info *info)
{
  snprintf(info->kind, sizeof info->kind, "%s-Boeing %s %s", h->rutherford ? "Rutherford" : "Harwell",
           h->value_kind == 'P' ? "pattern" : h->value_kind == 'I' ? "integer" : "real",
           h->shape == 'S' ? "symmetric" : h->shape == 'Z' ? "skew-symmetric" : h->shape == 'R' ? "rectangular" : "unsymmetric");
  info->symmetric = h->shape == 'S';
  info->stored_entries = h->entries;
}

/* The header has three formats of many fields, too much for a small stack. */
macko_status macko_read_harwell_boeing(macko_input *in, macko_csr *csr, macko_file_info *info)
{
  header *h = calloc(1, sizeof *h);
  macko_entries entries;
  if (!h) return macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory for the header of a Harwell-Boeing file");
  if (!parse_header(in, h)) {
    macko_open_entries(&entries, h->nrows, h->ncols, h->value_kind != 'P',
                       h->shape == 'S' ? MACKO_SYMMETRIC : h->shape == 'Z' ? MACKO_SKEW : MACKO_GENERAL);
    if (read_matrix(in, h, &entries)) macko_free_entries(&entries);
    else macko_build_csr(in, &entries, csr);
    describe(h, info);
  }
  free(h);
  return in->status;
}
