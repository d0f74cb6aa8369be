/* Matrices from files, by what they hold. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "common/binsparse.h"
#include "common/matrix_file.h"
#include "common/npz.h"
#include "common/petsc_binary.h"
#include "common/temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#if HAVE_ZLIB
#include <zlib.h>
#endif

/* Each array gets one element more than it needs, because malloc(0) may return NULL, which would pass for no memory. */
macko_status matrix_file_decode(const macko_matrix *m, macko_csr *csr, macko_error *err)
{
  macko_info info;
  macko_get_info(m, &info);
  int64_t *row_ptr = malloc((size_t)(info.nrows + 1) * sizeof *row_ptr), *cols = malloc((size_t)(info.nnz + 1) * sizeof *cols);
  void *values = malloc((size_t)(info.nnz + 1) * (size_t)macko_type_bytes(info.value_type));
  macko_csr a = {.nrows = info.nrows, .ncols = info.ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                 .value_type = info.value_type, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_status s = MACKO_OUT_OF_MEMORY;
  if (!row_ptr || !cols || !values) snprintf(err->text, sizeof err->text, "no memory for %lld nonzeros", (long long)info.nnz);
  else s = macko_decode(m, row_ptr, cols, values, err);
  if (s) macko_free_csr(&a);
  else *csr = a;
  return s;
}

/* Encoding as format csr and decoding again does what is wanted: macko_encode checks, sorts and adds duplicates for every
 * format. */
macko_status matrix_file_settle(macko_csr *csr, macko_error *err)
{
  macko_options options;
  macko_matrix *m = NULL;
  macko_csr fresh;
  macko_options_init(&options);
  options.format = MACKO_FORMAT_CSR;
  macko_status s = macko_encode(csr, &options, &m, err);
  if (!s) s = matrix_file_decode(m, &fresh, err);
  macko_destroy(&m);
  if (s) return s;
  macko_free_csr(csr);
  *csr = fresh;
  return MACKO_OK;
}

/* ---- pipes ---- */

/* Copies a stream to a temporary file and names that in f->name. The copy stays open until the process ends, because /dev/fd/N is
 * its only name: no folder lists it, so nothing is left behind whatever ends the program. */
static macko_status copy(FILE *from, plain_file *f, macko_error *err)
{
  char bytes[65536];
  size_t count;
  const char *folder;
  const int file = temporary_file(&folder);
  FILE *to = file < 0 ? NULL : fdopen(file, "w+b");
  if (!to) return matrix_file_fail(err, MACKO_IO, f->path, "cannot be copied to %s: %s", folder, strerror(errno));
  while ((count = fread(bytes, 1, sizeof bytes, from)) > 0)
    if (fwrite(bytes, 1, count, to) != count) break;
  /* fread stops in the same way for an error and for the end. */
  if (ferror(from)) return matrix_file_fail(err, MACKO_IO, f->path, "cannot be read: %s", strerror(errno));
  if (ferror(to) || fflush(to))
    return matrix_file_fail(err, MACKO_IO, f->path, "cannot be copied to %s: %s", folder, strerror(errno));
  snprintf(f->name, sizeof f->name, "/dev/fd/%d", fileno(to));
  return MACKO_OK;
}

/* Only what can be read just once is copied; a name that is not there is left to the reader, whose sentence says so. */
macko_status plain_file_open(const char *path, plain_file *f, macko_error *err)
{
  struct stat facts;
  const int standard = !strcmp(path, "-");
  f->path = standard ? "standard input" : path;
  snprintf(f->name, sizeof f->name, "%s", path);
  if (standard) return copy(stdin, f, err);
  /* A device or a folder is left to the reader as well. */
  if (stat(path, &facts) || !S_ISFIFO(facts.st_mode)) return MACKO_OK;
  FILE *pipe = fopen(path, "rb");
  if (!pipe) return matrix_file_fail(err, MACKO_IO, path, "cannot be opened: %s", strerror(errno));
  macko_status s = copy(pipe, f, err);
  fclose(pipe);
  return s;
}

/* ---- reading ---- */

/* Reads up to 8 bytes, and says how many there were; 0 for a file that cannot be opened, which the reader then refuses in its own
 * words. */
static size_t first_bytes(const char *name, unsigned char bytes[8])
{
  FILE *f = fopen(name, "rb");
  size_t count = f ? fread(bytes, 1, 8, f) : 0;
  if (f) fclose(f);
  return count;
}

/* Notes the file's name, without folders, and its checksum (with zlib), as the origin of what is made of it. */
static void note_origin(const plain_file *f, macko_origin *origin)
{
  const char *slash = strrchr(f->path, '/');
  /* Folders are a matter of the machine that the file lay on. */
  snprintf(origin->name, sizeof origin->name, "%s", slash ? slash + 1 : f->path);
#if HAVE_ZLIB
  unsigned char bytes[65536];
  unsigned long sum = crc32(0, NULL, 0);
  size_t count;
  FILE *file = fopen(f->name, "rb");
  while (file && (count = fread(bytes, 1, sizeof bytes, file)) > 0) sum = crc32(sum, bytes, (unsigned)count);
  if (file) snprintf(origin->hash, sizeof origin->hash, "crc32:%08lx", sum), fclose(file);
#endif
}

/* Reads a .macko file. The compressed form is kept beside the csr: macko-convert writes it on as it is. */
static macko_status read_container(const char *name, matrix_file *f, macko_error *err)
{
  macko_status s = macko_load(name, &f->matrix, &f->origin, err);
  if (!s) s = matrix_file_decode(f->matrix, &f->csr, err);
  snprintf(f->kind, sizeof f->kind, "macko file");
  return s;
}

/* Reads what macko_read takes: the readers of text formats are in the library, where PETSc programs use them too. */
static macko_status read_text(const char *name, matrix_file *f, macko_error *err)
{
  macko_file_info info;
  macko_status s = macko_read(name, NULL, &f->csr, &info, err);
  if (s) return s;
  memcpy(f->kind, info.kind, sizeof f->kind);
  f->symmetric = info.symmetric;
  return MACKO_OK;
}

/* Reads a PETSc binary matrix, whose rows may be in any order. */
static macko_status read_petsc_binary(const char *name, macko_csr *csr, macko_error *err)
{
  macko_error why;
  macko_status s = petsc_binary_read(name, csr, err);
  if (s) return s;
  /* The library's sentence does not name the file. */
  s = matrix_file_settle(csr, &why);
  return s ? matrix_file_fail(err, s, name, "%.240s", why.text) : s;
}

/* Chooses the reader by the first bytes, never by the name, which a pipe has not and a download may have wrong. Text comes last:
 * it has no mark that all of its formats share. */
static macko_status read_named(const char *name, matrix_file *f, macko_error *err)
{
  unsigned char start[8] = {0};
  const size_t count = first_bytes(name, start);
  /* A container begins with a byte that is no text, its name, and both bytes of a line's end, as PNG does: a transfer that
   * changes text spoils it. */
  if (count == 8 && !memcmp(start, "\x89MACKO\r\n", 8)) return read_container(name, f, err);
  /* A zip archive of any other kind is refused by its reader. */
  if (count >= 4 && !memcmp(start, "PK\3\4", 4)) {
    snprintf(f->kind, sizeof f->kind, "SciPy npz");
    return npz_read(name, &f->csr, err);
  }
  if (petsc_binary_starts(start, count)) {
    snprintf(f->kind, sizeof f->kind, "PETSc binary");
    return read_petsc_binary(name, &f->csr, err);
  }
  if (binsparse_starts(start, count)) {
    snprintf(f->kind, sizeof f->kind, "Binsparse HDF5");
    return binsparse_read(name, &f->csr, &f->symmetric, err);
  }
  return read_text(name, f, err);
}

/* The name is only at the beginning of a sentence, where every reader puts it. */
void plain_file_rename(const plain_file *f, macko_error *err)
{
  char rest[sizeof err->text];
  const size_t length = strlen(f->name);
  if (!strcmp(f->name, f->path) || strncmp(err->text, f->name, length)) return;
  snprintf(rest, sizeof rest, "%s", err->text + length);
  snprintf(err->text, sizeof err->text, "%.200s%.300s", f->path, rest);
}

/* The origin is noted only after the file was read, since the checksum takes a second pass over it. */
macko_status matrix_file_read(const char *path, matrix_file *f, macko_error *err)
{
  plain_file file;
  memset(f, 0, sizeof *f);
  macko_status s = plain_file_open(path, &file, err);
  if (s) return s;
  s = read_named(file.name, f, err);
  if (s) plain_file_rename(&file, err);
  if (s) matrix_file_free(f);
  else if (!f->matrix) note_origin(&file, &f->origin);
  return s;
}

int matrix_file_lossy(const matrix_file *f)
{
  macko_info info = {0};
  if (f->matrix) macko_get_info(f->matrix, &info);
  return info.lossy || f->origin.lossy;
}

/* Both members are NULL or empty where there is nothing to free. */
void matrix_file_free(matrix_file *f)
{
  macko_destroy(&f->matrix);
  macko_free_csr(&f->csr);
}
