/* The banner of a Matrix Market file: one parser for macko_read and for programs that look at no more than the head of a file.
 * Boisvert, Pozo, Remington: The Matrix Market exchange formats, NISTIR 5935, 1996. */
#ifndef MACKO_BANNER_H
#define MACKO_BANNER_H

#include "macko.h"
#include "quote.h"

#include <stdio.h>

/* What a file says of its symmetry: skew is skew-symmetric. Of files that are read, those of
 * real numbers, a hermitian one is taken for symmetric. */
typedef enum { MACKO_GENERAL, MACKO_SYMMETRIC, MACKO_SKEW, MACKO_HERMITIAN } macko_symmetry;

enum { MACKO_COORDINATE, MACKO_ARRAY };
enum { MACKO_REAL, MACKO_INTEGER, MACKO_PATTERN, MACKO_COMPLEX };
enum { MACKO_BANNER_SENTENCE = 200 }; /* bytes that suffice for what is wrong with a banner */

/* What it says: one of each of the lists above. */
typedef struct {
  int layout, field, symmetry;
} macko_banner;

/* A word of the banner and what it stands for; lists end with NULL, and of several words for one kind the first is its name. */
typedef struct {
  const char *word;
  int kind;
} macko_banner_word;

static const macko_banner_word macko_banner_objects[] = {{"matrix", 0}, {NULL, 0}};
static const macko_banner_word macko_banner_layouts[] = {{"coordinate", MACKO_COORDINATE}, {"array", MACKO_ARRAY}, {NULL, 0}};
static const macko_banner_word macko_banner_fields[] = {{"real", MACKO_REAL}, {"double", MACKO_REAL}, {"integer", MACKO_INTEGER},
                                                        {"pattern", MACKO_PATTERN}, {"complex", MACKO_COMPLEX}, {NULL, 0}};
static const macko_banner_word macko_banner_symmetries[] = {{"general", MACKO_GENERAL}, {"symmetric", MACKO_SYMMETRIC},
                                                            {"skew-symmetric", MACKO_SKEW}, {"hermitian", MACKO_HERMITIAN},
                                                            {NULL, 0}};

/* Tells whether a line, or the first 14 bytes of one, begins with "%%MatrixMarket", in any case; some writers leave out one "%". The
 * bit 32 makes small letters of capital ones whatever the locale. */
static inline int macko_is_banner(const char *line)
{
  static const char banner[] = "%matrixmarket";
  line += line[0] == '%' && line[1] == '%';
  size_t n = 0;
  while (banner[n] && (line[n] == banner[n] || (line[n] | 32) == banner[n])) n++;
  return !banner[n];
}

/* Reads the next word, in any case, and sets *kind to what it stands for; *p moves behind it. Returns 0 where it is not in the
 * list; why then names it together with all that are. */
static inline int macko_read_banner_word(const char **p, const macko_banner_word *words, const char *what, int *kind,
                                         char why[MACKO_BANNER_SENTENCE])
{
  char quote[MACKO_QUOTE], list[120] = "";
  *p = macko_skip_blanks(*p);
  size_t length = strcspn(*p, " \t\r\f\v\n");
  for (const macko_banner_word *w = words; w->word; w++) {
    size_t n = 0;
    while (n < length && w->word[n] && ((*p)[n] | 32) == (w->word[n] | 32)) n++;
    if (n == length && !w->word[n]) {
      *p += length, *kind = w->kind;
      return 1;
    }
    snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", list[0] ? ", " : "", w->word);
  }
  if (!length) snprintf(why, MACKO_BANNER_SENTENCE, "the banner ends before the %s (%s)", what, list);
  else snprintf(why, MACKO_BANNER_SENTENCE, "the banner's %s is '%s', none of %s", what, macko_quote(quote, *p), list);
  return 0;
}

/* Reads the first line of a file, with or without its end, of which the first word has been looked at. Kinds that exist but are not
 * read are told apart from those that do not exist. Errors, with a sentence in why: PARSE, UNSUPPORTED. */
static inline macko_status macko_read_banner(const char *line, macko_banner *b, char why[MACKO_BANNER_SENTENCE])
{
  char quote[MACKO_QUOTE];
  const char *p = line + strcspn(line, " \t\r\f\v\n");
  int object;
  if (!macko_read_banner_word(&p, macko_banner_objects, "object", &object, why) ||
      !macko_read_banner_word(&p, macko_banner_layouts, "format", &b->layout, why) ||
      !macko_read_banner_word(&p, macko_banner_fields, "field", &b->field, why) ||
      !macko_read_banner_word(&p, macko_banner_symmetries, "symmetry", &b->symmetry, why))
    return MACKO_PARSE;
  p = macko_skip_blanks(p);
  if (*p && *p != '\n') {
    snprintf(why, MACKO_BANNER_SENTENCE, "'%s' follows the banner's symmetry", macko_quote_line(quote, p));
    return MACKO_PARSE;
  }
  if (b->field == MACKO_COMPLEX) {
    strcpy(why, "the values are complex; macko stores real matrices");
    return MACKO_UNSUPPORTED;
  }
  if (b->symmetry == MACKO_HERMITIAN) b->symmetry = MACKO_SYMMETRIC; /* of real numbers it is the same */
  if (b->field != MACKO_PATTERN || (b->layout != MACKO_ARRAY && b->symmetry != MACKO_SKEW)) return MACKO_OK;
  strcpy(why, "a pattern can be neither an array nor skew-symmetric");
  return MACKO_PARSE;
}

/* Returns the name of a kind. */
static inline const char *macko_banner_name(const macko_banner_word *words, int kind)
{
  while (words->word && words->kind != kind) words++;
  return words->word;
}

/* Writes what the banner says, as macko_file_info has it. */
static inline void macko_describe_banner(const macko_banner *b, char *kind, size_t room)
{
  snprintf(kind, room, "Matrix Market %s %s %s", macko_banner_name(macko_banner_layouts, b->layout),
           macko_banner_name(macko_banner_fields, b->field), macko_banner_name(macko_banner_symmetries, b->symmetry));
}

/* Sets *count to the number of values in an array file: of a whole matrix, or of one triangle with or without the diagonal.
 * Returns 0 where that is beyond 64 bits. Of two factors of a triangle the even one is halved first, so that the product goes
 * beyond 64 bits only where the number does. */
static inline int macko_count_array(int symmetry, int64_t nrows, int64_t ncols, int64_t *count)
{
  int64_t other = nrows;
  if (symmetry != MACKO_GENERAL) {
    other = symmetry == MACKO_SYMMETRIC ? ncols + 1 : ncols - 1;
    if (ncols % 2 == 0) ncols /= 2;
    else other /= 2;
  }
  return !__builtin_mul_overflow(ncols, other, count);
}

#endif
