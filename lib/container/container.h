/* Between the files of the container, a compressed matrix as a file: doc/formats/container.md. No format is known by name. */
#ifndef MACKO_CONTAINER_H
#define MACKO_CONTAINER_H

#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "core/format.h"

#if HAVE_ZLIB && HAVE_JANSSON && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MACKO_HAS_CONTAINER 1
#else
#define MACKO_HAS_CONTAINER 0
#endif

enum {
  MACKO_CONTAINER_VERSION = 1,
  MACKO_CONTAINER_PAGE = 4096,     /* sections begin at multiples of it */
  MACKO_CONTAINER_MOST = 1 << 20,  /* bytes of a head */
  MACKO_CONTAINER_MAGIC = 8
};

/* "\x89MACKO\r\n" */
extern const unsigned char macko_container_magic[MACKO_CONTAINER_MAGIC];

/* The first bytes of a file. */
typedef struct {
  unsigned char magic[MACKO_CONTAINER_MAGIC];
  uint32_t byte_order, version; /* 0x01020304 as the writer stores it */
  uint64_t head_bytes, data_offset, file_bytes;
  uint32_t head_crc32; /* of all between this header and the first section */
  uint32_t zeros[4];
  uint32_t crc32; /* of the header before it */
} macko_container_header;

/* What the head says of a section's bytes; offset counts from the first section. */
typedef struct {
  int64_t offset;
  uint32_t crc32;
} macko_container_place;

/* Where the section after one of so many bytes at that offset begins. */
static inline int64_t macko_container_align(int64_t bytes)
{
  return (bytes + MACKO_CONTAINER_PAGE - 1) & ~(int64_t)(MACKO_CONTAINER_PAGE - 1);
}

/* Of a section; it may be longer than zlib counts at a time. */
uint32_t macko_container_crc32(const void *bytes, int64_t count);

/* *symmetry becomes "none", "pattern" or "symmetric" (in values, too). Errors: OUT_OF_MEMORY. */
macko_status macko_container_symmetry(const macko_matrix *m, const char **symmetry, macko_error *err);

/* The head of *m as text, which the caller frees. Errors: UNSUPPORTED, OUT_OF_MEMORY. */
macko_status macko_container_write_head(const macko_matrix *m, const macko_origin *origin, const macko_container_place *places,
                                        const char *symmetry, char **text, macko_error *err);

/* *m of a head, its sections without data; name is the file's in sentences. Errors: CORRUPT, UNSUPPORTED, OUT_OF_MEMORY. */
macko_status macko_container_read_head(const char *name, const char *text, int64_t bytes, macko_matrix *m,
                                       macko_container_place *places, macko_origin *origin, macko_error *err);

/* 1 if path is a regular file that begins like a container. */
int macko_is_container(const char *path);

/* macko_read of a container. */
macko_status macko_read_container(const char *path, macko_csr *csr, macko_file_info *info, macko_error *err);

#endif
