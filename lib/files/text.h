/* Text of a matrix file, line by line, through gzip and tar where the file is packed. */
#ifndef MACKO_TEXT_H
#define MACKO_TEXT_H

#include "core/format.h"
#include "files/real.h"
#include "quote.h"

typedef struct macko_input macko_input;

/* A source of bytes: the file, or what unpacks another source. It has a buffer for bytes that were looked at before they are
 * taken. */
typedef struct macko_source {
  /* Writes up to room bytes to `to`. Gives their number, 0 at the end, -1 after a failure, which the input holds then. */
  int64_t (*pull)(macko_input *in, struct macko_source *source, void *to, size_t room);
  void (*close)(struct macko_source *source); /* frees state; NULL: there is nothing to free */
  struct macko_source *below; /* what this one unpacks; NULL for the file */
  void *state; /* of the unpacker */
  unsigned char *ahead; /* MACKO_AHEAD bytes, of which begin .. end are read but not yet taken */
  size_t begin, end;
} macko_source;

/* Most sources on top of each other, bytes of a buffer, and most bytes of a line. */
enum { MACKO_SOURCES = 3, MACKO_AHEAD = 65536, MACKO_LONGEST_LINE = 262144 };

/* A file being read: its sources, the text from the topmost one, and the first failure. */
struct macko_input {
  char name[320]; /* what sentences call the file; a member of an archive follows the archive */
  const char *path;
  macko_source sources[MACKO_SOURCES];
  int nsources; /* sources[nsources - 1] gives the text */
  int file;
  int64_t file_size, file_done; /* bytes of the file (0: not known), and of those how many have been read */
  const macko_progress *progress; /* NULL: nobody asks */
  char *text; /* MACKO_LONGEST_LINE + 1 bytes; begin .. end are not yet handed out as lines */
  size_t begin, end;
  int ended; /* 1: the source has no more */
  char *line, *line_end; /* the current line without its newline; *line_end is 0 */
  int64_t line_number; /* of the current line, from 1; 0: before the first */
  locale_t c_locale; /* "C", for strtod_l: a decimal point is a point */
  macko_status status; /* of the first failure; OK: none yet */
  macko_error *err;
};

/* Opens path and whatever packs it, for macko_close_input. *in is what the caller has room for; path, progress and err must stay.
 * On failure everything is closed. Errors: IO, PARSE, UNSUPPORTED, OUT_OF_MEMORY. */
macko_status macko_open_input(macko_input *in, const char *path, const macko_progress *progress, macko_error *err);
/* Closes and frees everything but *in. */
void macko_close_input(macko_input *in);

/* Reads the next line into in->line. Gives 0 at the end of the text and after a failure (in->status tells which). */
int macko_next_line(macko_input *in);

/* Tells the program how far the file is read, if it wants to know. */
void macko_report(macko_input *in);

/* Records a failure as "FILE:LINE: sentence", without the line before the first one, unless there was one already. Gives the
 * status of the first failure. */
macko_status macko_input_fail(macko_input *in, macko_status status, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads a value at p, of an integer matrix only what doubles hold exactly. Gives its end, which is a blank or the end of the
 * text; NULL after a failure, which is recorded. */
const char *macko_parse_value(macko_input *in, const char *p, int integer, const macko_number_rule *rule, double *value);

/* Put a source on top of the others (bytes.c): the file itself, then what unpacks it, if anything. Errors: IO, PARSE,
 * UNSUPPORTED, OUT_OF_MEMORY; recorded in the input. */
macko_status macko_push_file(macko_input *in);
macko_status macko_push_unpackers(macko_input *in);

/* Reads until at least `want` bytes are ahead of source, if there are as many, and gives the number that are. want is at most
 * MACKO_AHEAD. */
size_t macko_peek(macko_input *in, macko_source *source, size_t want);

/* Takes up to room bytes, first those that are ahead. The answer is that of pull. */
int64_t macko_take(macko_input *in, macko_source *source, void *to, size_t room);

/* Gives the next source, with its buffer; NULL when out of memory, which is recorded. */
macko_source *macko_new_source(macko_input *in);

/* The readers of text files. The first line has been read and is in->line; on failure *csr is unchanged, and the failure is
 * recorded in the input. */
macko_status macko_read_harwell_boeing(macko_input *in, macko_csr *csr, macko_file_info *info);
macko_status macko_read_matrix_market(macko_input *in, macko_csr *csr, macko_file_info *info);

#endif
