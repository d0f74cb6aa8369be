/* Text of a file line by line, whatever it is packed in, and the numbers in it. */
#ifndef MACKO_INPUT_H
#define MACKO_INPUT_H

#include "format.h"

enum { MACKO_INPUT_BUFFER = 1 << 20 };

typedef struct {
  const char *path;
  void *handle;     /* of the unpacking library */
  int64_t (*read)(void *handle, void *buffer, int64_t size); /* bytes, 0 at the end, -1 on failure */
  void (*close)(void *handle);
  void (*explain)(void *handle, char *text, size_t size);    /* why read failed */
  int64_t (*position)(void *handle);                         /* bytes of the file consumed, for progress */
  int64_t total, line, reported;
  const macko_progress *progress;
  char *buffer;
  int64_t begin, end;
  int at_end;
} macko_input;

/* Errors: IO, UNSUPPORTED (packed by a method this build lacks), OUT_OF_MEMORY. */
macko_status macko_open_input(const char *path, const macko_progress *progress, macko_input *in, macko_error *err);
void macko_close_input(macko_input *in);

/* The next line without its end (LF or CRLF), valid until the next call; *line is NULL at the end of the file.
 * Errors: IO, PARSE for a line longer than the buffer or one with a zero byte. */
macko_status macko_next_line(macko_input *in, char **line, macko_error *err);

/* A failure at the current line: "PATH:LINE: " and the sentence. */
macko_status macko_fail_line(const macko_input *in, macko_error *err, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* Reads a number at *at and moves *at behind it; 0 if there is none. Correctly rounded, whatever the locale; a Fortran exponent
 * (1.5D+03, 1.5+03) is accepted. */
int macko_parse_double(const char **at, double *value);
int macko_parse_integer(const char **at, int64_t *value); /* -1 if it does not fit 64 bits */

static inline const char *macko_skip_blanks(const char *at)
{
  while (*at == ' ' || *at == '\t') at++;
  return at;
}

#endif
