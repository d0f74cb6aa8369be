/* Text of a matrix file, line by line, through gzip and tar where the file is packed. */
#ifndef MACKO_TEXT_H
#define MACKO_TEXT_H

#include "core/format.h"
#include "files/real.h"

typedef struct macko_input macko_input;

/* Bytes from a file, or from another source unpacked. */
typedef struct macko_source {
  /* Up to room bytes into to: their number, 0 at the end, -1 after a failure, which the input holds then. */
  int64_t (*pull)(macko_input *in, struct macko_source *source, void *to, size_t room);
  void (*close)(struct macko_source *source);
  struct macko_source *below; /* what this one unpacks; NULL for the file */
  void *state;
  unsigned char *ahead; /* read but not yet taken: begin .. end */
  size_t begin, end;
} macko_source;

enum { MACKO_SOURCES = 3, MACKO_AHEAD = 65536, MACKO_LONGEST_LINE = 262144, MACKO_QUOTE = 48 };

struct macko_input {
  char name[320]; /* of the file in sentences; a member of an archive follows the archive's */
  const char *path;
  macko_source sources[MACKO_SOURCES];
  int nsources;
  int file;
  int64_t file_size, file_done;
  const macko_progress *progress;
  char *text; /* begin .. end are not yet handed out as lines */
  size_t begin, end;
  int ended;
  char *line, *line_end; /* the current line without its newline; *line_end is 0 */
  int64_t line_number;
  locale_t c_locale; /* for strtod_l: a decimal point is a point */
  macko_status status; /* of the first failure */
  macko_error *err;
};

/* Opens path and whatever packs it. On failure everything is closed. Errors: IO, PARSE, UNSUPPORTED, OUT_OF_MEMORY. */
macko_status macko_open_input(macko_input *in, const char *path, const macko_progress *progress, macko_error *err);
void macko_close_input(macko_input *in);

/* Reads the next line into in->line; 0 at the end of the text and after a failure (in->status tells which). */
int macko_next_line(macko_input *in);

/* How far the file is read, for progress. */
void macko_report(macko_input *in);

/* Records a failure as "FILE:LINE: sentence", without the line before the first one, unless there was one already. */
macko_status macko_input_fail(macko_input *in, macko_status status, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* The word at text, fit for a sentence: cut short, without control characters. Returns quote. */
const char *macko_quote(char quote[MACKO_QUOTE], const char *text);

/* The same for the rest of a line, blanks included. */
const char *macko_quote_line(char quote[MACKO_QUOTE], const char *text);

/* Reads a value at p, of an integer matrix only what doubles hold exactly: its end, which is a blank or the end of the text; NULL
 * after a failure, which is recorded. */
const char *macko_parse_value(macko_input *in, const char *p, int integer, const macko_number_rule *rule, double *value);

/* bytes.c: makes the source on top of the others. */
macko_status macko_push_file(macko_input *in);
macko_status macko_push_unpackers(macko_input *in);

/* At least want bytes ahead of source if there are as many: the number that are. want is at most MACKO_AHEAD. */
size_t macko_peek(macko_input *in, macko_source *source, size_t want);

/* Up to room bytes, first those ahead; as pull. */
int64_t macko_take(macko_input *in, macko_source *source, void *to, size_t room);

/* The next source slot, with its buffer; NULL when out of memory (recorded). */
macko_source *macko_new_source(macko_input *in);

/* The readers, which find the first line in in->line; on failure *csr is unchanged. */
macko_status macko_read_harwell_boeing(macko_input *in, macko_csr *csr, macko_file_info *info);
macko_status macko_read_matrix_market(macko_input *in, macko_csr *csr, macko_file_info *info);

static inline int macko_is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static inline const char *macko_skip_blanks(const char *p)
{
  while (macko_is_blank(*p)) p++;
  return p;
}

#endif
