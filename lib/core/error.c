/* Status codes and the sentence that goes with a failure. */
#include "core/format.h"

#include <stdarg.h>
#include <stdio.h>

/* One text a status, in the order of macko_status. */
static const char *const status_texts[] = {
#define MACKO_STATUS_CODE(symbol, text) text,
#include "status.def"
#undef MACKO_STATUS_CODE
};

const char *macko_status_text(macko_status status)
{
  return (size_t)status < sizeof status_texts / sizeof *status_texts ? status_texts[status] : "unknown status";
}

/* The sentence is cut where it is longer than err->text. Without err only the status is left, which is why it is returned:
 * callers write `return macko_fail(...)`. */
macko_status macko_fail(macko_error *err, macko_status status, const char *sentence, ...)
{
  if (err) {
    va_list args;
    va_start(args, sentence);
    vsnprintf(err->text, sizeof err->text, sentence, args);
    va_end(args);
    err->status = status;
  }
  return status;
}
