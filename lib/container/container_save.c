/* macko_save: a compressed matrix into a file, which is whole or the old one. */
#include "container/container.h"

#include "core/new_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const unsigned char macko_container_magic[MACKO_CONTAINER_MAGIC] = {0x89, 'M', 'A', 'C', 'K', 'O', '\r', '\n'};

#if MACKO_HAS_CONTAINER

#include <zlib.h>

uint32_t macko_container_crc32(const void *bytes, int64_t count)
{
  return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes, (size_t)count);
}

/* Writes so many bytes, in pieces of at most 1 GiB; gives 0 with errno set if it cannot. */
static int put(int file, const void *bytes, int64_t count)
{
  const char *from = bytes;
  while (count > 0) {
    ssize_t written = write(file, from, (size_t)(count < 1 << 30 ? count : 1 << 30));
    if (written < 0 && errno != EINTR) return 0;
    if (written > 0) from += written, count -= written;
  }
  return 1;
}

/* Writes zeros up to the next section, behind one of so many bytes. */
static int pad(int file, int64_t bytes)
{
  static const char zeros[MACKO_CONTAINER_PAGE];
  return put(file, zeros, macko_container_align(bytes) - bytes);
}

/* Makes header and head in one block, with zeros up to the first section; *bytes is its size, and the caller frees it. file_bytes
 * is what the sections take. The checksums go in last, as that of the header covers the one of the head. NULL: there is no
 * memory. */
static char *first_block(const char *head, int64_t file_bytes, int64_t *bytes)
{
  macko_container_header h = {.byte_order = 0x01020304, .version = MACKO_CONTAINER_VERSION, .head_bytes = strlen(head)};
  *bytes = macko_container_align((int64_t)(sizeof h + h.head_bytes));
  char *block = calloc((size_t)*bytes, 1);
  if (!block) return NULL;
  memcpy(block + sizeof h, head, h.head_bytes);
  memcpy(h.magic, macko_container_magic, sizeof h.magic);
  h.data_offset = (uint64_t)*bytes, h.file_bytes = (uint64_t)(*bytes + file_bytes);
  h.head_crc32 = macko_container_crc32(block + sizeof h, *bytes - (int64_t)sizeof h);
  h.crc32 = macko_container_crc32(&h, offsetof(macko_container_header, crc32));
  memcpy(block, &h, sizeof h);
  return block;
}

/* Says where sections go and what their checksums are, and gives the bytes of all of them. The last one is not padded. */
static int64_t place_sections(const macko_matrix *m, macko_container_place *places)
{
  int64_t past = 0;
  for (int i = 0; i < m->nsections; i++) {
    const macko_section *s = &m->sections[i];
    places[i] = (macko_container_place){macko_container_align(past), macko_container_crc32(s->data, s->bytes)};
    past = places[i].offset + s->bytes;
  }
  return past;
}

/* Writes everything in its order; gives 0 with errno set if it cannot. */
static int put_matrix(int file, const macko_matrix *m, const char *block, int64_t bytes)
{
  int written = put(file, block, bytes);
  for (int i = 0; i < m->nsections && written; i++) {
    written = put(file, m->sections[i].data, m->sections[i].bytes);
    if (written && i + 1 < m->nsections) written = pad(file, m->sections[i].bytes);
  }
  return written;
}

/* Writes the file under another name and puts it in place once it is whole. */
static macko_status write_file(const char *path, const macko_matrix *m, const char *block, int64_t bytes, macko_error *err)
{
  macko_new_file f;
  macko_status s = macko_create_file(path, &f, err);
  if (!s && !put_matrix(f.file, m, block, bytes)) s = macko_file_fail(path, "cannot be written", err);
  if (!s) s = macko_keep_file(&f, err);
  macko_drop_file(&f);
  return s;
}

/* The head is made first, in memory, because it has the places and checksums of sections that follow it. */
macko_status macko_save(const char *path, const macko_matrix *matrix, const macko_origin *origin, macko_error *err)
{
  macko_container_place places[MACKO_MAX_SECTIONS];
  int64_t bytes = 0;
  char *head = NULL, *block = NULL;
  if (!path || !matrix) return macko_fail(err, MACKO_INVALID_ARGUMENT, "path and matrix must not be NULL");
  int64_t past = place_sections(matrix, places);
  const char *symmetry;
  macko_status s = macko_container_symmetry(matrix, &symmetry, err);
  if (!s) s = macko_container_write_head(matrix, origin, places, symmetry, &head, err);
  if (!s && !(block = first_block(head, past, &bytes)))
    s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the head of a file");
  if (!s) s = write_file(path, matrix, block, bytes, err);
  free(head), free(block);
  return s;
}

#else

macko_status macko_save(const char *path, const macko_matrix *matrix, const macko_origin *origin, macko_error *err)
{
  (void)matrix, (void)origin;
  return macko_fail(err, MACKO_UNSUPPORTED,
                    "%s: this build of macko writes no .macko files: it lacks zlib or jansson, or is for a big-endian machine",
                    path ? path : "NULL");
}

#endif
