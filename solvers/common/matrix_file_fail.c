/* Sentences about files: apart from the readers, because macko-bench needs these and not the libraries that all readers take. */
#include "common/matrix_file.h"

#include <stdarg.h>
#include <stdio.h>

/* The path is cut at 240 characters, so that a long one leaves room for the sentence. It comes before any place. */
macko_status matrix_file_fail(macko_error *err, macko_status status, const char *path, const char *sentence, ...)
{
  char text[256];
  va_list args;
  va_start(args, sentence);
  vsnprintf(text, sizeof text, sentence, args);
  va_end(args);
  snprintf(err->text, sizeof err->text, "%.240s: %s", path, text);
  err->place = 0;
  return err->status = status;
}
