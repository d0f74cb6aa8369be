/* macko_read: which reader, by what the file holds. */
#include "banner.h"
#include "container/container.h"
#include "files/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Tells whether the name ends like those of the collections, .gz apart. Such files have no mark of their own at the beginning. */
static int has_harwell_boeing_suffix(const char *name)
{
  static const char *const suffixes[] = {".hb", ".rb", ".rua", ".rsa", ".rza", ".rra", ".pua", ".psa", ".pra", ".iua", ".isa"};
  size_t length = strlen(name);
  if (length > 3 && !strcasecmp(name + length - 3, ".gz")) length -= 3;
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t n = strlen(suffixes[i]);
    if (length > n && !strncasecmp(name + length - n, suffixes[i], n)) return 1;
  }
  return 0;
}

/* Tells whether the third line starts with a matrix type such as RUA, for files of other names. Only what is in memory anyway is
 * looked at; the first line has been handed out. */
static int has_matrix_type(const macko_input *in)
{
  const char *second = in->text + in->begin, *third = memchr(second, '\n', in->end - in->begin);
  if (!third || in->text + in->end - third < 5) return 0;
  return strchr("RIPCQripcq", third[1]) && strchr("USZHRuszhr", third[2]) && strchr("AEae", third[3]) && macko_is_blank(third[4]);
}

/* Finds the reader by the first line and calls it. */
static macko_status read_input(macko_input *in, macko_csr *csr, macko_file_info *info)
{
  char quote[MACKO_QUOTE];
  if (!macko_next_line(in)) return macko_input_fail(in, MACKO_PARSE, "the file is empty");
  if (macko_is_banner(in->line)) return macko_read_matrix_market(in, csr, info);
  if (has_harwell_boeing_suffix(in->name) || has_matrix_type(in)) return macko_read_harwell_boeing(in, csr, info);
  return macko_input_fail(in, MACKO_PARSE, "'%s' starts neither a Matrix Market file (%%%%MatrixMarket) nor a Harwell-Boeing one",
                          macko_quote_line(quote, in->line));
}

/* Containers come first, as they are no text: the readers of text would refuse their zero bytes. */
macko_status macko_read(const char *path, const macko_progress *progress, macko_csr *csr, macko_file_info *info, macko_error *err)
{
  macko_input in;
  macko_file_info found = {.kind = ""};
  if (!path || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and csr must not be NULL");
  if (macko_is_container(path)) {
    macko_status s = macko_read_container(path, csr, &found, err);
    if (!s && info) *info = found;
    return s;
  }
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
