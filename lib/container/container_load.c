/* macko_load: a compressed matrix from a file. Sections are read and not mapped: a mapped file that another program cuts short
 * would end this one, a file that changes would not be what was checked, and products read large pages faster. */
#include "container/container.h"

#include "core/convert.h"
#include "core/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every build has this, so that one without containers refuses such a file in a sentence of its own. */
int macko_is_container(const char *path)
{
  unsigned char start[MACKO_CONTAINER_MAGIC];
  struct stat facts;
  if (stat(path, &facts) || !S_ISREG(facts.st_mode)) return 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  int same = pread(file, start, sizeof start, 0) == sizeof start && !memcmp(start, macko_container_magic, sizeof start);
  close(file);
  return same;
}

#if MACKO_HAS_CONTAINER

/* ---- bytes ---- */

/* A file being read from its beginning to its end. */
typedef struct {
  const char *name;
  int file;
  int64_t at, size; /* bytes read so far; bytes of the file, -1 for what is no regular file */
  macko_error *err;
} input;

/* Makes the sentence that the file is CORRUPT. */
static macko_status damaged(const input *in, const char *what)
{
  return macko_fail(in->err, MACKO_CORRUPT, "%s: %s", in->name, what);
}

/* Opens the file; in->file is -1 where that fails. */
static macko_status open_file(const char *path, input *in, macko_error *err)
{
  struct stat facts;
  *in = (input){.name = path, .size = -1, .err = err};
  in->file = open(path, O_RDONLY | O_CLOEXEC);
  if (in->file < 0) return macko_file_fail(path, "cannot be opened", err);
  if (!fstat(in->file, &facts) && S_ISREG(facts.st_mode)) in->size = facts.st_size;
  return MACKO_OK;
}

/* Reads so many bytes, in pieces of at most 1 GiB, as Linux reads no more than 2 GiB at once. Gives how many there were; -1 after
 * an error of the system. */
static int64_t take(input *in, void *to, int64_t bytes)
{
  int64_t got = 0;
  while (got < bytes) {
    ssize_t piece = read(in->file, (char *)to + got, (size_t)(bytes - got < 1 << 30 ? bytes - got : 1 << 30));
    if (piece < 0 && errno == EINTR) continue;
    if (piece < 0) return -1;
    if (piece == 0) break;
    got += piece;
  }
  in->at += got;
  return got;
}

/* Reads so many bytes, all of which must be there. */
static macko_status get(input *in, void *to, int64_t bytes)
{
  int64_t got = take(in, to, bytes);
  if (got == bytes) return MACKO_OK;
  if (got < 0) return macko_file_fail(in->name, "cannot be read", in->err);
  return macko_fail(in->err, MACKO_CORRUPT, "%s: ends at byte %lld, before all of it is there", in->name, (long long)in->at);
}

/* Reads on to byte `to`, where a section begins. What is between sections must be zeros, so that no byte of a file is
 * unchecked. */
static macko_status skip(input *in, int64_t to)
{
  static const char zeros[MACKO_CONTAINER_PAGE];
  char bytes[MACKO_CONTAINER_PAGE];
  int64_t count = to - in->at;
  macko_status s = get(in, bytes, count);
  if (!s && memcmp(bytes, zeros, (size_t)count)) s = damaged(in, "the bytes between two sections are not zero");
  return s;
}

/* ---- header and head ---- */

/* Checks the header, in the order in which its fields can be trusted: whether it is one, whose byte order and version are known,
 * whose checksum is right. Only then do its sizes mean anything; those in the file are compared with each other and with the
 * file. */
static macko_status check_header(const input *in, const macko_container_header *h)
{
  if (memcmp(h->magic, macko_container_magic, sizeof h->magic))
    return macko_fail(in->err, MACKO_PARSE, "%s: is no file of macko_save, which begins with \\x89MACKO", in->name);
  if (h->byte_order == 0x04030201)
    return macko_fail(in->err, MACKO_UNSUPPORTED, "%s: is big-endian, and this version of macko reads little-endian files only",
                      in->name);
  if (h->byte_order != 0x01020304) return damaged(in, "its mark of the byte order is none");
  if (h->version > MACKO_CONTAINER_VERSION)
    return macko_fail(in->err, MACKO_UNSUPPORTED, "%s: is of version %u, and this version of macko reads up to %d", in->name,
                      h->version, MACKO_CONTAINER_VERSION);
  if (h->crc32 != macko_container_crc32(h, offsetof(macko_container_header, crc32)))
    return damaged(in, "its header does not have the checksum that it names");
  if (h->version < 1 || h->zeros[0] || h->zeros[1] || h->zeros[2] || h->zeros[3] || h->file_bytes > INT64_MAX ||
      h->data_offset > h->file_bytes || h->head_bytes > MACKO_CONTAINER_MOST ||
      h->data_offset != (uint64_t)macko_container_align((int64_t)(sizeof *h + h->head_bytes)))
    return damaged(in, "the sizes in its header cannot be");
  if (in->size >= 0 && (uint64_t)in->size != h->file_bytes)
    return macko_fail(in->err, MACKO_CORRUPT, "%s: has %lld bytes, where its header says %lld", in->name, (long long)in->size,
                      (long long)h->file_bytes);
  return MACKO_OK;
}

/* Reads header and head, up to the first section, into m, places and origin. */
static macko_status read_head(input *in, macko_container_header *h, macko_matrix *m, macko_container_place *places,
                              macko_origin *origin)
{
  memset(h, 0, sizeof *h);
  int64_t got = take(in, h, sizeof *h);
  if (got < 0) return macko_file_fail(in->name, "cannot be read", in->err);
  if (got >= MACKO_CONTAINER_MAGIC && got < (int64_t)sizeof *h && !memcmp(h->magic, macko_container_magic, sizeof h->magic))
    return damaged(in, "ends within its header");
  macko_status s = check_header(in, h);
  if (s) return s;
  int64_t bytes = (int64_t)(h->data_offset - sizeof *h);
  char *head = malloc((size_t)bytes);
  if (!head) return macko_fail(in->err, MACKO_OUT_OF_MEMORY, "%s: no memory for its head", in->name);
  s = get(in, head, bytes);
  if (!s && h->head_crc32 != macko_container_crc32(head, bytes))
    s = damaged(in, "its head does not have the checksum that its header names");
  if (!s) s = macko_container_read_head(in->name, head, (int64_t)h->head_bytes, m, places, origin, in->err);
  free(head);
  return s;
}

/* Checks that the last section ends where the header says that the file does. */
static macko_status check_end(const input *in, const macko_container_header *h, const macko_matrix *m,
                              const macko_container_place *places)
{
  const int last = m->nsections - 1;
  const int64_t past = last < 0 ? 0 : places[last].offset + m->sections[last].bytes;
  if (past == (int64_t)(h->file_bytes - h->data_offset)) return MACKO_OK;
  return macko_fail(in->err, MACKO_CORRUPT, "%s: its sections have %lld bytes, where its header says %lld", in->name,
                    (long long)past, (long long)(h->file_bytes - h->data_offset));
}

/* ---- sections ---- */

/* Reads the data of one section. The section owns the array from before it is filled, so that destroying the matrix frees it
 * after a failure. */
static macko_status read_section(input *in, macko_section *section, int64_t begin, const macko_container_place *place)
{
  macko_section fresh;
  macko_status s = skip(in, begin + place->offset);
  if (!s) s = macko_new_section(*section, &fresh, in->err);
  if (s) return s;
  section->data = fresh.data;
  s = get(in, section->data, section->bytes);
  if (!s && macko_container_crc32(section->data, section->bytes) != place->crc32)
    s = macko_fail(in->err, MACKO_CORRUPT, "%s: section %s does not have the checksum that the head names", in->name,
                   section->name);
  return s;
}

/* Reads all of a file and checks it as macko_validate does: checksums prove that it is what was written, not that who wrote it
 * meant well. */
static macko_status read_matrix(input *in, macko_matrix *m, macko_origin *origin)
{
  macko_container_header h;
  macko_container_place places[MACKO_MAX_SECTIONS];
  macko_error why;
  macko_status s = read_head(in, &h, m, places, origin);
  if (!s) s = check_end(in, &h, m, places);
  for (int i = 0; i < m->nsections && !s; i++) s = read_section(in, &m->sections[i], (int64_t)h.data_offset, &places[i]);
  if (s) return s;
  if ((s = macko_validate(m, &why))) return macko_fail(in->err, s, "%s: %.440s", in->name, why.text);
  return macko_prepare(m, in->err);
}

/* Loads a file, or its head alone where sections is 0. Outputs are set at the end, so that a failure leaves them unchanged. */
static macko_status load(const char *path, int sections, macko_matrix **matrix, macko_origin *origin, macko_error *err)
{
  macko_container_header h;
  macko_container_place places[MACKO_MAX_SECTIONS];
  macko_origin found = {{0}, {0}, 0};
  input in;
  macko_matrix *m = calloc(1, sizeof *m);
  if (!m) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a matrix handle of %zu bytes", sizeof *m);
  macko_status s = open_file(path, &in, err);
  if (!s) s = sections ? read_matrix(&in, m, &found) : read_head(&in, &h, m, places, &found);
  if (in.file >= 0) close(in.file);
  if (s) macko_destroy(&m);
  else *matrix = m;
  if (!s && origin) *origin = found;
  return s;
}

macko_status macko_load(const char *path, macko_matrix **matrix, macko_origin *origin, macko_error *err)
{
  if (!path || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and matrix must not be NULL");
  return load(path, 1, matrix, origin, err);
}

/* The matrix that is made for this has no data. What info reports is in its plan, apart from the reason, which goes with the
 * matrix. */
macko_status macko_load_info(const char *path, macko_info *info, macko_origin *origin, macko_error *err)
{
  macko_matrix *m = NULL;
  if (!path || !info) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and info must not be NULL");
  macko_status s = load(path, 0, &m, origin, err);
  if (s) return s;
  macko_get_info(m, info);
  info->reason = NULL;
  macko_destroy(&m);
  return MACKO_OK;
}

#else

/* Builds without containers have both functions, so that programs link and users learn what is missing. */
static macko_status refuse(const char *path, macko_error *err)
{
  return macko_fail(err, MACKO_UNSUPPORTED,
                    "%s: this build of macko reads no .macko files: it lacks zlib or jansson, or is for a big-endian machine",
                    path ? path : "NULL");
}

macko_status macko_load(const char *path, macko_matrix **matrix, macko_origin *origin, macko_error *err)
{
  (void)matrix, (void)origin;
  return refuse(path, err);
}

macko_status macko_load_info(const char *path, macko_info *info, macko_origin *origin, macko_error *err)
{
  (void)info, (void)origin;
  return refuse(path, err);
}

#endif
