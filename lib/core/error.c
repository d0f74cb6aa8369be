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

/* Makes *err, unless it is NULL, the failure that a sentence without a place tells of. The sentence is cut where it is longer than
 * err->text. */
static void tell(macko_error *err, macko_status status, const char *sentence, va_list args)
{
  if (!err) return;
  vsnprintf(err->text, sizeof err->text, sentence, args);
  err->status = status, err->place = 0, err->row = err->col = -1;
}

/* Without err only the status is left, which is why it is returned: callers write `return macko_fail(...)`. */
macko_status macko_fail(macko_error *err, macko_status status, const char *sentence, ...)
{
  va_list args;
  va_start(args, sentence);
  tell(err, status, sentence, args);
  va_end(args);
  return status;
}

/* Gives an index as it is counted from base, which may be more than a signed number holds. */
static unsigned long long counted(int64_t index, int base)
{
  return (uint64_t)index + (uint64_t)base;
}

/* Puts a place before the rest of the sentence, which begins at err->place. */
static void place(macko_error *err, int64_t row, int64_t col, int base)
{
  char rest[sizeof err->text], column[40] = "";
  snprintf(rest, sizeof rest, "%s", err->text + err->place);
  if (col >= 0) snprintf(column, sizeof column, ", column %llu", counted(col, base));
  err->place = snprintf(err->text, sizeof err->text, "row %llu%s, counted from %d: ", counted(row, base), column, base);
  snprintf(err->text + err->place, sizeof err->text - (size_t)err->place, "%s", rest);
  err->row = row, err->col = col;
}

macko_status macko_fail_at(macko_error *err, macko_status status, int64_t row, int64_t col, int base, const char *sentence, ...)
{
  va_list args;
  va_start(args, sentence);
  tell(err, status, sentence, args);
  va_end(args);
  if (err) place(err, row, col, base);
  return status;
}

void macko_error_place(macko_error *err, int64_t row, int64_t col, int base)
{
  if (err && err->place) place(err, row, col, base);
}
