/* Writing Matrix Market files, under another name until they are whole. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "core/convert.h"
#include "core/format.h"
#include "core/new_file.h"
#include "files/real.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if HAVE_ZLIB
#include <zlib.h>
#endif

/* Where text goes: file, or through zlib. Both have a descriptor of their own, so that closing them leaves that of the target
 * open, which must still be synced. */
typedef struct {
  macko_new_file target;
  FILE *file;
  void *gzip;
  locale_t c_locale;
} output;

/* Tells whether the name asks for gzip. */
static int is_gzip(const char *path)
{
  size_t length = strlen(path);
  return length > 3 && !strcmp(path + length - 3, ".gz");
}

/* Opens file or gzip on the new file. */
static macko_status open_stream(const char *path, output *o, macko_error *err)
{
  int file = dup(o->target.file);
  if (file < 0) return macko_file_fail(path, "cannot be written", err);
#if HAVE_ZLIB
  if (is_gzip(path)) o->gzip = gzdopen(file, "wb");
  else
#endif
    o->file = fdopen(file, "w");
  if (o->file || o->gzip) return MACKO_OK;
  close(file);
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory for a buffer", path);
}

/* Opens everything; after a failure close_output closes what there is. */
static macko_status open_output(const char *path, output *o, macko_error *err)
{
#if !HAVE_ZLIB
  if (is_gzip(path)) return macko_fail(err, MACKO_UNSUPPORTED, "%s: this build of macko lacks zlib, so it cannot pack .gz", path);
#endif
  macko_status s = macko_create_file(path, &o->target, err);
  if (s) return s;
  o->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (!o->c_locale) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to write numbers");
  return open_stream(path, o, err);
}

/* Writes so many bytes of text; gives 0 where it cannot. */
static int put(output *o, const char *text, int length)
{
#if HAVE_ZLIB
  if (o->gzip) return gzwrite(o->gzip, text, (unsigned)length) == length;
#endif
  return fwrite(text, 1, (size_t)length, o->file) == (size_t)length;
}

/* Closes file and gzip, and gives 1 if all text is in the file, which only closing tells. */
static int close_stream(output *o)
{
  int closed = 1;
#if HAVE_ZLIB
  if (o->gzip) closed = gzclose(o->gzip) == Z_OK;
#endif
  if (o->file) closed = !fclose(o->file);
  o->file = NULL, o->gzip = NULL;
  return closed;
}

/* Closes everything; the new file goes unless it has been kept. */
static void close_output(output *o)
{
  close_stream(o);
  macko_drop_file(&o->target);
  if (o->c_locale) freelocale(o->c_locale);
}

/* Prints the fewest digits, 15 to 17, that read back as the same value, and gives the length of the text; a NaN loses its sign
 * and payload. They are read back by the function that readers use. */
static int print_value(const output *o, double value, char *text, size_t size)
{
  static const macko_number_rule c_numbers;
  double back;
  int length = 0;
  if (isnan(value)) return snprintf(text, size, "nan");
  for (int digits = 15; digits <= 17; digits++) {
    length = snprintf(text, size, "%.*g", digits, value);
    if (macko_parse_real(text, &c_numbers, o->c_locale, &back) && back == value) break;
  }
  return length;
}

/* Writes banner, sizes and one line an entry, counted from 1; gives 0 where it cannot. */
static int write_matrix(output *o, const macko_csr *a)
{
  char line[128];
  int length = snprintf(line, sizeof line, "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
                        (long long)a->nrows, (long long)a->ncols, (long long)macko_csr_nnz(a));
  if (!put(o, line, length)) return 0;
  for (int64_t i = 0; i < a->nrows; i++)
    for (int64_t p = macko_csr_row(a, i); p < macko_csr_row(a, i + 1); p++) {
      length = snprintf(line, sizeof line, "%lld %lld ", (long long)i + 1, (long long)macko_csr_col(a, p) + 1);
      length += print_value(o, macko_float_at(a->value_type, a->values, p), line + length, sizeof line - (size_t)length);
      line[length++] = '\n';
      if (!put(o, line, length)) return 0;
    }
  return 1;
}

/* Writes all text and puts the file in place. errno is kept over what may change it, as the sentence names it. */
static macko_status write_output(const char *path, output *o, const macko_csr *a, macko_error *err)
{
  locale_t callers = uselocale(o->c_locale); /* of this thread alone: snprintf writes points, not commas */
  errno = 0;
  int written = write_matrix(o, a);
  uselocale(callers);
  int reason = errno, closed = close_stream(o);
  if (!written) errno = reason;
  if (!written || !closed) return macko_file_fail(path, "cannot be written", err);
  return macko_keep_file(&o->target, err);
}

/* The csr is checked as for macko_encode, and sorted if need be, before the file is touched. */
macko_status macko_write_matrix_market(const char *path, const macko_csr *csr, macko_error *err)
{
  macko_csr a;
  void *owned;
  output o = {.target.file = -1};
  if (!path || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and csr must not be NULL");
  if (csr->ncols == INT64_MAX)
    return macko_fail(err, MACKO_LIMIT, "%s: %lld columns are more than can be read back", path, (long long)csr->ncols);
  macko_status s = macko_sort_csr(csr, &a, &owned, err);
  if (s) return s;
  s = open_output(path, &o, err);
  if (!s) s = write_output(path, &o, &a, err);
  close_output(&o);
  free(owned);
  return s;
}
