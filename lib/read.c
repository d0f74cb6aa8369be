/* macko_read: which reader, by what the file holds. */
#include "read_input.h"

#include <stdlib.h>
#include <string.h>

/* "%%MatrixMarket" in any case; some writers leave out one "%". */
static int is_matrix_market(const char *line)
{
  static const char banner[] = "%matrixmarket";
  line += line[0] == '%' && line[1] == '%';
  size_t n = 0;
  while (banner[n] && (line[n] == banner[n] || (line[n] | 32) == banner[n])) n++;
  return !banner[n];
}

static macko_status read_input(macko_input *in, macko_csr *csr, macko_file_info *info)
{
  char quote[MACKO_QUOTE];
  if (!macko_next_line(in)) return macko_input_fail(in, MACKO_PARSE, "the file is empty");
  if (is_matrix_market(in->line)) return macko_read_matrix_market(in, csr, info);
  return macko_input_fail(in, MACKO_PARSE, "'%s' is not the start of a Matrix Market file (%%%%MatrixMarket)",
                          macko_quote_line(quote, in->line));
}

macko_status macko_read(const char *path, const macko_progress *progress, macko_csr *csr, macko_file_info *info, macko_error *err)
{
  macko_input in;
  macko_file_info found = {.kind = ""};
  if (!path || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and csr must not be NULL");
  if (macko_open_input(&in, path, progress, err)) return in.status;
  macko_status s = read_input(&in, csr, &found);
  macko_close_input(&in);
  if (!s && info) *info = found;
  return s;
}

void macko_free_csr(macko_csr *csr)
{
  if (!csr) return;
  free((void *)csr->row_ptr), free((void *)csr->cols), free((void *)csr->values);
  memset(csr, 0, sizeof *csr);
}
