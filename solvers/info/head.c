/* macko-info --dry-run: what the header of a file says. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "info/info.h"

#include "banner.h"
#include "common/binsparse.h"
#include "common/json.h"
#include "common/petsc_binary.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#if HAVE_ZLIB
#include <zlib.h>
#else
/* Without zlib packed files are not read, and nothing else changes. */
typedef FILE *gzFile;
#define gzopen fopen
#define gzclose fclose
#define gzgets(f, line, size) fgets(line, size, f)
#define gzread(f, bytes, size) (int)fread(bytes, 1, size, f)
#define gzrewind(f) rewind(f)
#endif

enum { LINE = 2048 }; /* bytes of a line, more than either text format allows */

/* Takes what the head of a .macko file says of its matrix. */
static void add_info(file_head *h, const macko_info *info)
{
  snprintf(h->kind, sizeof h->kind, "macko file, format %s", macko_format_name(info->format));
  h->nrows = info->nrows, h->ncols = info->ncols, h->stored = info->nnz, h->compressed = 1, h->info = *info;
}

/* Reads the beginning of a line into `line`, which has room for LINE bytes, and passes over the rest of it: comments may be
 * longer. Returns 0 where the file ends. */
static int read_line(gzFile f, char *line)
{
  char rest[LINE];
  const char *end = line;
  if (!gzgets(f, line, LINE)) return 0;
  while (!strchr(end, '\n') && gzgets(f, rest, LINE)) end = rest;
  return 1;
}

/* Whether the bytes of CSR can be counted: up to 8 a row, and 16 for each of twice the entries. Columns take none, and their number
 * only has to be that of the file: what is beyond 64 bits is read as the largest number. */
static int is_countable(const file_head *h)
{
  const int64_t most = INT64_MAX / 64;
  return h->nrows <= most && h->ncols < INT64_MAX && h->stored <= most;
}

/* Refuses sizes in the words of the file, because a number beyond 64 bits is not what was read of it. Changes `line`. */
static macko_status refuse_sizes(const char *path, char *line, macko_error *err)
{
  return matrix_file_fail(err, MACKO_LIMIT, path, "'%.80s' says more rows, columns or entries than can be counted",
                          strtok(line, "\r\n"));
}

/* Returns the entries of a dense matrix, or more than is countable where their number is beyond 64 bits. */
static int64_t dense_entries(int64_t nrows, int64_t ncols)
{
  return ncols && nrows > INT64_MAX / ncols ? INT64_MAX : nrows * ncols;
}

/* Reads the banner, which is in `line`, the comments and the line of sizes. A dense file (array) stores all entries and says no
 * number of them. `line` has room for LINE bytes and is overwritten. */
static macko_status read_matrix_market(const char *path, gzFile f, char *line, file_head *h, macko_error *err)
{
  macko_banner banner;
  char why[MACKO_BANNER_SENTENCE], more[2] = "";
  long long sizes[3] = {0};
  macko_status s = macko_read_banner(line, &banner, why);
  if (s) return matrix_file_fail(err, s, path, "%s", why);
  /* Comments begin with a percent sign, and blank lines may stand among them. */
  do
    if (!read_line(f, line)) return matrix_file_fail(err, MACKO_PARSE, path, "ends before the line of sizes");
  while (line[strspn(line, " \t")] == '%' || !line[strspn(line, " \t\r\n")]);
  /* Only a sparse file says how many entries it has. */
  const int array = banner.layout == MACKO_ARRAY;
  const int count = sscanf(line, "%lld %lld %lld %1s", &sizes[0], &sizes[1], &sizes[2], more);
  if (count != (array ? 2 : 3) || sizes[0] < 0 || sizes[1] < 0 || sizes[2] < 0)
    return matrix_file_fail(err, MACKO_PARSE, path, "'%.40s' is no line of sizes", strtok(line, "\r\n"));
  macko_describe_banner(&banner, h->kind, sizeof h->kind);
  h->one_triangle = banner.symmetry != MACKO_GENERAL;
  h->nrows = sizes[0], h->ncols = sizes[1], h->stored = sizes[2];
  if (h->one_triangle && sizes[0] != sizes[1])
    return matrix_file_fail(err, MACKO_PARSE, path, "a %s matrix is square, not %lld x %lld",
                            macko_banner_name(macko_banner_symmetries, banner.symmetry), sizes[0], sizes[1]);
  if (array && !macko_count_array(banner.symmetry, sizes[0], sizes[1], &h->stored)) return refuse_sizes(path, line, err);
  return is_countable(h) ? MACKO_OK : refuse_sizes(path, line, err);
}

/* Refuses a type that exists and that macko_read does not take. */
static macko_status check_type(const char *path, const char type[3], macko_error *err)
{
  const char values = (char)toupper((unsigned char)type[0]), shape = (char)toupper((unsigned char)type[1]);
  const char *why = values == 'C' || shape == 'H'                 ? "has complex values; macko stores real matrices"
                    : toupper((unsigned char)type[2]) == 'E' ? "is a sum of element matrices; assemble it first"
                    : values == 'Q'                               ? "keeps its values in another file, which is not read"
                                                                  : NULL;
  return why ? matrix_file_fail(err, MACKO_UNSUPPORTED, path, "type '%.3s' %s", type, why) : MACKO_OK;
}

/* Reads type, rows, columns and entries from the third line; `line` holds the first one. Neither of the first two says what the
 * file is, so that the third has to: a file of any other kind is refused here. */
static macko_status read_harwell_boeing(const char *path, gzFile f, char *line, file_head *h, macko_error *err)
{
  char type[8] = "";
  long long sizes[3] = {0};
  /* A file that ends here leaves an empty line, which is refused below. */
  for (int i = 0; i < 2; i++)
    if (!read_line(f, line)) line[0] = 0;
  if (sscanf(line, "%7s %lld %lld %lld", type, &sizes[0], &sizes[1], &sizes[2]) != 4 || strlen(type) != 3 ||
      !strchr("RIPCQ", toupper((unsigned char)type[0])) || !strchr("USZHR", toupper((unsigned char)type[1])) ||
      !strchr("AE", toupper((unsigned char)type[2])) || sizes[0] < 0 || sizes[1] < 0 || sizes[2] < 0)
    return matrix_file_fail(err, MACKO_PARSE, path,
                            "the header is none of Matrix Market, Harwell-Boeing, PETSc binary, Binsparse or .macko");
  snprintf(h->kind, sizeof h->kind, "Harwell-Boeing %s", type);
  h->one_triangle = !strchr("UR", toupper((unsigned char)type[1]));
  h->nrows = sizes[0], h->ncols = sizes[1], h->stored = sizes[2];
  macko_status s = check_type(path, type, err);
  if (!s && strchr("SZ", toupper((unsigned char)type[1])) && h->nrows != h->ncols)
    s = matrix_file_fail(err, MACKO_PARSE, path, "a matrix of type '%.3s' is square, not %lld x %lld", type, sizes[0], sizes[1]);
  return s || is_countable(h) ? s : refuse_sizes(path, line, err);
}

/* Refuses an archive: its first bytes are known without unpacking it, the matrix is not. */
static macko_status refuse_archive(const char *path, macko_error *err)
{
  return matrix_file_fail(err, MACKO_UNSUPPORTED, path, "an archive has to be unpacked to be looked at: leave out --dry-run");
}

/* Whether a tar archive begins here, which says so behind the fields of its first member. The file is rewound. */
static int is_tar(gzFile f)
{
  char block[262];
  const int whole = gzread(f, block, sizeof block) == (int)sizeof block;
  gzrewind(f);
  return whole && !memcmp(block + 257, "ustar", 5);
}

/* Reads the header of a text file, packed by gzip or not: gzgets takes both. A byte order mark is passed over, as macko_read does.
 * The file is not empty, so that one without a line is packed. */
static macko_status read_text(const char *path, file_head *h, macko_error *err)
{
  char line[LINE];
  errno = 0;
  gzFile f = gzopen(path, "rb");
  if (!f) return matrix_file_fail(err, MACKO_IO, path, "cannot be opened: %s", strerror(errno));
  if (is_tar(f)) return gzclose(f), refuse_archive(path, err);
  macko_status s = MACKO_OK;
  int there = read_line(f, line);
  if (there && !strncmp(line, "\xef\xbb\xbf", 3)) memmove(line, line + 3, strlen(line + 3) + 1);
  if (!there)
    s = matrix_file_fail(err, MACKO_PARSE, path, "no header can be read: the gzip data is cut short, damaged or of nothing");
  else if (macko_is_banner(line)) s = read_matrix_market(path, f, line, h, err);
  else s = read_harwell_boeing(path, f, line, h, err);
  gzclose(f);
  return s;
}

/* Reads the descriptor of a Binsparse file, and how long its arrays are, which HDF5 knows without reading them. */
static macko_status read_binsparse(const char *name, file_head *h, macko_error *err)
{
  binsparse_head head;
  macko_status s = binsparse_read_head(name, &head, err);
  if (s) return s;
  snprintf(h->kind, sizeof h->kind, "Binsparse HDF5, %.12s %.20s", head.format, head.structure[0] ? head.structure : "general");
  h->nrows = head.nrows, h->ncols = head.ncols, h->stored = head.stored, h->one_triangle = head.structure[0] != 0;
  if (is_countable(h)) return MACKO_OK;
  return matrix_file_fail(err, MACKO_LIMIT, name, "%lld x %lld with %lld entries is more than can be counted",
                          (long long)h->nrows, (long long)h->ncols, (long long)h->stored);
}

/* Chooses by the first bytes as read_named in matrix_file.c does, whatever the name. */
static macko_status read_named(const char *name, file_head *h, macko_error *err)
{
  unsigned char start[8] = {0};
  macko_info info;
  macko_origin origin;
  FILE *f = fopen(name, "rb");
  if (!f) return matrix_file_fail(err, MACKO_IO, name, "cannot be opened: %s", strerror(errno));
  errno = 0;
  const size_t count = fread(start, 1, sizeof start, f);
  const int bad = ferror(f) ? errno : 0;
  fclose(f);
  if (bad) return matrix_file_fail(err, MACKO_IO, name, "cannot be read: %s", strerror(bad));
  if (!count) return matrix_file_fail(err, MACKO_PARSE, name, "the file is empty");
  if (!memcmp(start, "PK\3\4", 4)) return refuse_archive(name, err);
  if (petsc_binary_starts(start, count)) {
    snprintf(h->kind, sizeof h->kind, "PETSc binary");
    return petsc_binary_sizes(name, &h->nrows, &h->ncols, &h->stored, err);
  }
  if (binsparse_starts(start, count)) return read_binsparse(name, h, err);
  /* Text is what is left. */
  if (memcmp(start, "\x89MACKO\r\n", sizeof start)) return read_text(name, h, err);
  macko_status s = macko_load_info(name, &info, &origin, err);
  if (s) return s;
  info.lossy |= origin.lossy;
  add_info(h, &info);
  return MACKO_OK;
}

/* A pipe is copied whole all the same, because readers open files by their names. */
macko_status head_read(const char *path, file_head *h, macko_error *err)
{
  plain_file file;
  memset(h, 0, sizeof *h);
  macko_status s = plain_file_open(path, &file, err);
  if (s) return s;
  s = read_named(file.name, h, err);
  if (s) plain_file_rename(&file, err);
  return s;
}

/* The most entries that the matrix can have: both triangles, which are twice the stored ones if none of these is on the
 * diagonal, but no more than all places, if the head does not say more itself. */
static int64_t most_nonzeros(const file_head *h)
{
  const int64_t all = dense_entries(h->nrows, h->ncols);
  if (!h->one_triangle) return h->stored;
  return all >= h->stored && all < 2 * h->stored ? all : 2 * h->stored;
}

/* The bytes of CSR with values of f64 and indices of 32 bits where these suffice. */
static int64_t csr_bytes(const file_head *h)
{
  const int64_t nnz = most_nonzeros(h);
  if (h->compressed) return h->info.csr_bytes;
  return (h->nrows + 1) * (nnz > INT32_MAX ? 8 : 4) + nnz * ((h->ncols > INT32_MAX ? 8 : 4) + 8);
}

/* Of one triangle the bytes of CSR are a bound, because nobody has counted the diagonal. */
void head_print(FILE *f, const char *path, const file_head *h)
{
  fprintf(f, "%s: %s\nsize           %lld x %lld, %lld entries stored%s\n", path, h->kind, (long long)h->nrows, (long long)h->ncols,
          (long long)h->stored, h->one_triangle ? ", of one triangle" : "");
  fprintf(f, "as CSR         %s%lld bytes\n", h->one_triangle ? "at most " : "", (long long)csr_bytes(h));
  if (h->compressed)
    fprintf(f, "compressed     %s, %lld bytes%s, %.4g us a product as predicted\n", macko_format_name(h->info.format),
            (long long)h->info.bytes, h->info.lossy ? ", LOSSY values" : "", 1e6 * h->info.seconds);
}

/* Has the names of the whole report, as far as they are known here. */
void head_json(FILE *f, const char *path, const file_head *h)
{
  fputs("{\n  \"file\": ", f), put_json_string(f, path), fputs(",\n  \"kind\": ", f), put_json_string(f, h->kind);
  fprintf(f, ",\n  \"problem\": {\"rows\": %lld, \"columns\": %lld},\n  \"stored_entries\": %lld, \"one_triangle\": %s, ",
          (long long)h->nrows, (long long)h->ncols, (long long)h->stored, h->one_triangle ? "true" : "false");
  if (h->compressed) fprintf(f, "\"bytes\": %lld, \"lossy\": %s, ", (long long)h->info.bytes, h->info.lossy ? "true" : "false");
  fprintf(f, "\"csr_bytes\": %lld\n}\n", (long long)csr_bytes(h));
}
