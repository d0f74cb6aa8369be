/* Reading a matrix: the file's first line decides which reader takes it. */
#include "entries.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static macko_status read_open(macko_input *in, macko_csr *csr, macko_file_info *info, macko_error *err)
{
  char *line, *first;
  macko_status s = macko_next_line(in, &line, err);
  if (s) return s;
  if (!line) return macko_fail(err, MACKO_PARSE, "%s: the file is empty", in->path);
  if (!strncasecmp(line, "%%MatrixMarket", 14)) return macko_read_matrix_market(in, line, csr, info, err);
  first = line;
  if (*first == '%' || strstr(in->path, ".mtx"))
    return macko_fail_line(in, err, "the first line is \"%.40s\", not a \"%%%%MatrixMarket\" banner", first);
  return macko_read_harwell_boeing(in, line, csr, info, err);
}

macko_status macko_read(const char *path, const macko_progress *progress, macko_csr *csr, macko_file_info *info, macko_error *err)
{
  macko_input in;
  macko_file_info ignored, found = {0};
  if (!path || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and csr must not be NULL");
  if (!info) info = &ignored;
  macko_status s = macko_open_input(path, progress, &in, err);
  if (s) return s;
  s = read_open(&in, csr, &found, err);
  if (!s) *info = found;
  macko_close_input(&in);
  return s;
}

void macko_free_csr(macko_csr *csr)
{
  if (!csr) return;
  free((void *)csr->row_ptr), free((void *)csr->cols), free((void *)csr->values);
  *csr = (macko_csr){0};
}
