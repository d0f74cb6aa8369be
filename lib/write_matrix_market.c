/* Writing Matrix Market files, under a temporary name until they are whole. */
#include "input.h"
#include "values.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

typedef struct {
  FILE *file;
  void *packed; /* gzFile */
} output;

static int put_text(output *o, const char *text)
{
#ifdef HAVE_ZLIB
  if (o->packed) return gzputs(o->packed, text) < 0;
#endif
  return fputs(text, o->file) < 0;
}

static int close_output(output *o)
{
#ifdef HAVE_ZLIB
  if (o->packed) return gzclose(o->packed) != Z_OK;
#endif
  return o->file && fclose(o->file);
}

/* Fewest of 15 to 17 digits that read back as the same value; a locale's decimal comma becomes a point. */
static void print_double(double value, char *text, size_t size)
{
  for (int digits = 15; digits <= 17; digits++) {
    double back;
    snprintf(text, size, "%.*g", digits, value);
    char *comma = strchr(text, ',');
    if (comma) *comma = '.';
    const char *at = text;
    if (macko_parse_double(&at, &back) && back == value) return;
  }
}

static int write_entries(output *o, const macko_csr *a)
{
  char text[160], number[48];
  int failed = put_text(o, "%%MatrixMarket matrix coordinate real general\n");
  snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %" PRId64 "\n", a->nrows, a->ncols, macko_csr_nnz(a));
  failed |= put_text(o, text);
  for (int64_t i = 0; !failed && i < a->nrows; i++)
    for (int64_t p = macko_csr_row(a, i); !failed && p < macko_csr_row(a, i + 1); p++) {
      print_double(macko_float_at(a->value_type, a->values, p), number, sizeof number);
      snprintf(text, sizeof text, "%" PRId64 " %" PRId64 " %s\n", i + 1, macko_csr_col(a, p) + 1, number);
      failed = put_text(o, text);
    }
  return failed;
}

static macko_status open_output(const char *path, const char *temporary, output *o, macko_error *err)
{
  size_t n = strlen(path);
  if (n > 3 && !strcmp(path + n - 3, ".gz")) {
#ifdef HAVE_ZLIB
    o->packed = gzopen(temporary, "wb");
    return o->packed ? MACKO_OK : macko_fail(err, MACKO_IO, "%s: %s", temporary, strerror(errno));
#else
    return macko_fail(err, MACKO_UNSUPPORTED, "%s: this build cannot write gzip (it was made without zlib)", path);
#endif
  }
  o->file = fopen(temporary, "w");
  return o->file ? MACKO_OK : macko_fail(err, MACKO_IO, "%s: %s", temporary, strerror(errno));
}

macko_status macko_write_matrix_market(const char *path, const macko_csr *csr, macko_error *err)
{
  macko_csr a;
  void *owned;
  output o = {0};
  if (!path || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and csr must not be NULL");
  macko_status s = macko_sort_csr(csr, &a, &owned, err);
  if (s) return s;
  size_t size = strlen(path) + 16;
  char *temporary = malloc(size);
  if (!temporary) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a file name");
  else snprintf(temporary, size, "%s.part", path);
  if (!s) s = open_output(path, temporary, &o, err);
  if (!s) {
    errno = 0;
    int failed = write_entries(&o, &a);
    failed |= close_output(&o);
    if (failed || rename(temporary, path)) {
      s = macko_fail(err, MACKO_IO, "%s: %s", path, errno ? strerror(errno) : "writing failed");
      unlink(temporary);
    }
  }
  free(temporary), free(owned);
  return s;
}
