/* macko-bench: failures as the library tells them. */
#include "bench/bench.h"

#include <stdarg.h>

/* A sentence that is too long for *err is cut. */
macko_status bench_fail(macko_error *err, macko_status status, const char *sentence, ...)
{
  va_list args;
  va_start(args, sentence);
  vsnprintf(err->text, sizeof err->text, sentence, args);
  va_end(args);
  return err->status = status;
}
