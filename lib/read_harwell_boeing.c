/* Harwell-Boeing and Rutherford-Boeing files (I. S. Duff, R. G. Grimes, J. G. Lewis: Users' Guide for the Harwell-Boeing Sparse
 * Matrix Collection, 1992; The Rutherford-Boeing Sparse Matrix Collection, 1997): columns of an assembled matrix in fixed-width
 * Fortran fields. Right-hand sides that may follow are not read. */
#include "entries.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A Fortran edit descriptor such as (16I5), (1P,4D20.12) or (10F8.1): fields a line and their width; scale of the kP prefix, which
 * moves the point of F fields that have no exponent, and digits, which places the point of fields that have none. */
typedef struct {
  int count, width, digits, scale;
  char letter;
} field_format;

typedef struct {
  char type[4];
  int64_t nrows, ncols, nnz;
  field_format pointers, indices, values;
} header;

/* A stream of fields of one format. */
typedef struct {
  macko_input *in;
  field_format format;
  char *line;
  int64_t length;
  int used; /* fields taken from the line */
} fields;

/* ---- the header ---- */

static int parse_format(const char *text, field_format *f)
{
  const char *at = text;
  *f = (field_format){.count = 1};
  while (*at == ' ' || *at == '(') at++;
  for (;;) {
    char *end;
    long number = 1;
    int given = isdigit((unsigned char)*at) || *at == '-';
    if (given) number = strtol(at, &end, 10), at = end;
    char letter = (char)toupper((unsigned char)*at);
    if (letter == 'P') {
      f->scale = (int)number;
      for (at++; *at == ',' || *at == ' ';) at++;
      continue;
    }
    if (letter == '(') {
      f->count = (int)number;
      at++;
      continue;
    }
    if (!letter || !strchr("IEFDG", letter)) return 0;
    if (given && number > 1) f->count = (int)number;
    f->letter = letter;
    f->width = (int)strtol(at + 1, &end, 10);
    if (*end == '.') f->digits = (int)strtol(end + 1, &end, 10);
    return f->width > 0 && f->width < 200 && f->count > 0 && f->count < 10000;
  }
}

static macko_status header_line(macko_input *in, char **line, macko_error *err)
{
  macko_status s = macko_next_line(in, line, err);
  if (!s && !*line) s = macko_fail_line(in, err, "the file ends inside the header");
  return s;
}

/* Text between two columns of a line, without blanks around it. */
static void cut(const char *line, int begin, int width, char *text)
{
  int length = (int)strlen(line), n = 0;
  for (int i = begin; i < begin + width && i < length; i++)
    if (n || line[i] != ' ') text[n++] = line[i];
  while (n && text[n - 1] == ' ') n--;
  text[n] = 0;
}

static macko_status parse_format_line(const macko_input *in, const char *line, int pattern, header *h, macko_error *err)
{
  char text[3][24];
  cut(line, 0, 16, text[0]), cut(line, 16, 16, text[1]), cut(line, 32, 20, text[2]);
  if (!parse_format(text[0], &h->pointers) || h->pointers.letter != 'I')
    return macko_fail_line(in, err, "the format of the column pointers is \"%s\", not one of integers", text[0]);
  if (!parse_format(text[1], &h->indices) || h->indices.letter != 'I')
    return macko_fail_line(in, err, "the format of the row indices is \"%s\", not one of integers", text[1]);
  if (!pattern && !parse_format(text[2], &h->values))
    return macko_fail_line(in, err, "the format of the values is \"%s\", not one of numbers", text[2]);
  return MACKO_OK;
}

static macko_status parse_type(const macko_input *in, const char *line, header *h, macko_error *err)
{
  cut(line, 0, 3, h->type);
  for (int i = 0; i < 3; i++) h->type[i] = (char)tolower((unsigned char)h->type[i]);
  if (strlen(h->type) < 3 || !strchr("ripcq", h->type[0]) || !strchr("suhzr", h->type[1]) || !strchr("ae", h->type[2]))
    return macko_fail_line(in, err, "\"%s\" is no type of a Harwell-Boeing or Rutherford-Boeing matrix", h->type);
  if (h->type[0] == 'c' || h->type[1] == 'h') return macko_fail(err, MACKO_UNSUPPORTED, "%s:%lld: complex matrices are not supported",
                                                                in->path, (long long)in->line);
  if (h->type[0] == 'q' || h->type[2] == 'e')
    return macko_fail(err, MACKO_UNSUPPORTED, "%s:%lld: matrices of type %s (unassembled or without values) are not supported", in->path,
                      (long long)in->line, h->type);
  return MACKO_OK;
}

static macko_status parse_header(macko_input *in, header *h, macko_error *err)
{
  static const char *const names[] = {"rows", "columns", "entries"};
  int64_t cards[5] = {0}, *sizes[] = {&h->nrows, &h->ncols, &h->nnz};
  char *line;
  memset(h, 0, sizeof *h);
  macko_status s = header_line(in, &line, err);
  if (s) return s;
  const char *at = line;
  int counts = 0;
  while (counts < 5 && macko_parse_integer(&at, &cards[counts]) > 0) counts++;
  if (counts < 3) return macko_fail_line(in, err, "no line of card counts: \"%.40s\"", line);
  s = header_line(in, &line, err);
  if (!s) s = parse_type(in, line, h, err);
  if (s) return s;
  at = line + 3;
  for (int i = 0; i < 3; i++)
    if (macko_parse_integer(&at, sizes[i]) <= 0 || *sizes[i] < 0)
      return macko_fail_line(in, err, "the number of %s is missing at \"%.40s\"", names[i], macko_skip_blanks(at));
  if ((double)h->nnz > (double)h->nrows * (double)h->ncols)
    return macko_fail_line(in, err, "%lld entries do not fit a matrix of %lld x %lld", (long long)h->nnz, (long long)h->nrows,
                           (long long)h->ncols);
  if (strchr("sz", h->type[1]) && h->nrows != h->ncols)
    return macko_fail_line(in, err, "a symmetric matrix cannot be %lld x %lld", (long long)h->nrows, (long long)h->ncols);
  s = header_line(in, &line, err);
  if (!s) s = parse_format_line(in, line, h->type[0] == 'p', h, err);
  /* A fifth count above zero announces right-hand sides (Harwell-Boeing) and one more line about them. */
  if (!s && counts == 5 && cards[4] > 0) s = header_line(in, &line, err);
  return s;
}

/* ---- fields ---- */

static macko_status next_field(fields *f, char text[200], macko_error *err)
{
  while (!f->line || f->used == f->format.count || (int64_t)f->used * f->format.width >= f->length) {
    macko_status s = macko_next_line(f->in, &f->line, err);
    if (s) return s;
    if (!f->line) return macko_fail_line(f->in, err, "the file ends inside the data");
    f->length = (int64_t)strlen(f->line);
    while (f->length && f->line[f->length - 1] == ' ') f->length--;
    f->used = 0;
    if (f->length == 0) return macko_fail_line(f->in, err, "a blank line inside the data");
  }
  int64_t begin = (int64_t)f->used++ * f->format.width, width = f->length - begin;
  if (width > f->format.width) width = f->format.width;
  memcpy(text, f->line + begin, (size_t)width);
  text[width] = 0;
  return MACKO_OK;
}

static macko_status next_index(fields *f, const char *what, int64_t low, int64_t high, int64_t *value, macko_error *err)
{
  char text[200];
  macko_status s = next_field(f, text, err);
  if (s) return s;
  const char *at = text;
  if (macko_parse_integer(&at, value) <= 0 || *macko_skip_blanks(at))
    return macko_fail_line(f->in, err, "\"%s\" is no %s", text, what);
  if (*value < low || *value > high)
    return macko_fail_line(f->in, err, "%s %lld is outside %lld..%lld", what, (long long)*value, (long long)low, (long long)high);
  return MACKO_OK;
}

/* The point that Fortran supplies where a field has none, and the scale factor of F fields without exponent, as digits to append. */
static void complete_number(const field_format *f, char text[200])
{
  char exponent[16];
  size_t n = strlen(text);
  while (n && text[n - 1] == ' ') text[--n] = 0;
  int has_exponent = strpbrk(text, "eEdD") != NULL, shift = strchr(text, '.') ? 0 : -f->digits;
  if (has_exponent || strpbrk(text + strspn(text, " +-"), "+-")) return;
  shift -= f->scale;
  if (!shift || !strpbrk(text, "0123456789")) return;
  int length = snprintf(exponent, sizeof exponent, "e%d", shift);
  if (n + (size_t)length < 200) memcpy(text + n, exponent, (size_t)length + 1);
}

static macko_status next_value(fields *f, int integer, double *value, macko_error *err)
{
  char text[200];
  int64_t whole;
  macko_status s = next_field(f, text, err);
  if (s) return s;
  if (!integer && f->format.letter != 'I') complete_number(&f->format, text);
  const char *at = text;
  if (!macko_parse_double(&at, value) || *macko_skip_blanks(at)) return macko_fail_line(f->in, err, "\"%s\" is no number", text);
  at = text;
  if (integer && macko_parse_integer(&at, &whole) && (*value >= 0x1p63 || *value < -0x1p63 || (int64_t)*value != whole))
    return macko_fail_line(f->in, err, "the integer %s has no exact double", text);
  return MACKO_OK;
}

/* ---- the matrix ---- */

static macko_status read_pointers(macko_input *in, const header *h, int64_t **pointers, macko_error *err)
{
  fields f = {.in = in, .format = h->pointers};
  int64_t room = 0, *p = NULL;
  macko_status s = MACKO_OK;
  /* Grown with what the file really holds: the declared size allocates nothing. */
  for (int64_t i = 0; !s && i <= h->ncols; i++) {
    if (i == room) {
      int64_t *larger = realloc(p, (size_t)(room = 2 * room + 1024) * sizeof *p);
      if (!larger) {
        s = macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory for %lld column pointers", in->path, (long long)room);
        break;
      }
      p = larger;
    }
    s = next_index(&f, "column pointer", i ? p[i - 1] : 1, i ? h->nnz + 1 : 1, &p[i], err);
  }
  if (!s && p[h->ncols] != h->nnz + 1)
    s = macko_fail_line(in, err, "the last column pointer is %lld, not %lld", (long long)p[h->ncols], (long long)h->nnz + 1);
  if (s) free(p);
  else *pointers = p;
  return s;
}

/* Row indices come before values, so they wait in memory: rows of the entries in file order. */
static macko_status read_indices(macko_input *in, const header *h, int64_t **rows, macko_error *err)
{
  fields f = {.in = in, .format = h->indices};
  int64_t room = 0, *r = NULL;
  macko_status s = MACKO_OK;
  for (int64_t i = 0; !s && i < h->nnz; i++) {
    if (i == room) {
      int64_t *larger = realloc(r, (size_t)(room = 2 * room + 1024) * sizeof *r);
      if (!larger) {
        s = macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory for %lld row indices", in->path, (long long)room);
        break;
      }
      r = larger;
    }
    s = next_index(&f, "row index", 1, h->nrows, &r[i], err);
  }
  if (s) free(r);
  else *rows = r;
  return s;
}

static macko_status read_values(macko_input *in, const header *h, const int64_t *pointers, const int64_t *rows, macko_entries *e,
                                macko_error *err)
{
  fields f = {.in = in, .format = h->values};
  macko_status s = MACKO_OK;
  for (int64_t col = 0; !s && col < h->ncols; col++)
    for (int64_t p = pointers[col] - 1; !s && p < pointers[col + 1] - 1; p++) {
      double value = 1;
      if (h->type[0] != 'p') s = next_value(&f, h->type[0] == 'i', &value, err);
      if (!s && h->type[1] == 'z' && rows[p] - 1 == col && value != 0)
        s = macko_fail_line(in, err, "a skew-symmetric matrix has %g on its diagonal", value);
      if (!s) s = macko_add_entry(e, rows[p] - 1, col, value, err);
    }
  return s;
}

macko_status macko_read_harwell_boeing(macko_input *in, char *title, macko_csr *csr, macko_file_info *info, macko_error *err)
{
  static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric"};
  header h;
  macko_entries e;
  int64_t *pointers = NULL, *rows = NULL;
  (void)title;
  macko_status s = parse_header(in, &h, err);
  if (s) return s;
  macko_symmetry symmetry = h.type[1] == 's' ? MACKO_SYMMETRIC : h.type[1] == 'z' ? MACKO_SKEW : MACKO_GENERAL;
  macko_open_entries(&e, h.nrows, h.ncols, symmetry);
  s = read_pointers(in, &h, &pointers, err);
  if (!s) s = read_indices(in, &h, &rows, err);
  if (!s) s = read_values(in, &h, pointers, rows, &e, err);
  free(pointers), free(rows);
  snprintf(info->kind, sizeof info->kind, "Harwell-Boeing %s %s", h.type[0] == 'p' ? "pattern" : h.type[0] == 'i' ? "integer" : "real",
           symmetries[symmetry]);
  info->symmetric = symmetry == MACKO_SYMMETRIC;
  info->stored_entries = e.count;
  if (!s) s = macko_entries_to_csr(&e, in->path, csr, err);
  macko_close_entries(&e);
  return s;
}
