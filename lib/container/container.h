/* Between the files of the container, a compressed matrix as a file: doc/formats/container.md. No format is known by name. */
#ifndef MACKO_CONTAINER_H
#define MACKO_CONTAINER_H

#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "core/format.h"

/* A build has containers if it has zlib, for checksums, and jansson, for the head. All numbers in a file are little-endian and
 * are read as they are, so that big-endian machines have none. */
#if HAVE_ZLIB && HAVE_JANSSON && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define MACKO_HAS_CONTAINER 1
#else
#define MACKO_HAS_CONTAINER 0
#endif

enum {
  MACKO_CONTAINER_VERSION = 1, /* of the files that are written, and the latest that are read */
  MACKO_CONTAINER_PAGE = 4096,     /* sections begin at multiples of it, so that they can be mapped */
  MACKO_CONTAINER_MOST = 1 << 20,  /* most bytes of a head: a damaged length must not claim memory */
  MACKO_CONTAINER_MAGIC = 8 /* bytes that say what the file is */
};

/* "\x89MACKO\r\n": a transfer that takes files for text changes the line end, and one of 7 bits the first byte. */
extern const unsigned char macko_container_magic[MACKO_CONTAINER_MAGIC];

/* The first 64 bytes of a file, as they are on disk. There is no padding between the fields. */
typedef struct {
  unsigned char magic[MACKO_CONTAINER_MAGIC];
  uint32_t byte_order, version; /* byte_order: 0x01020304 as the writer stores it */
  uint64_t head_bytes, data_offset, file_bytes; /* of the head; where the first section begins; of the whole file */
  uint32_t head_crc32; /* of all bytes between this header and the first section */
  uint32_t zeros[4];
  uint32_t crc32; /* of the bytes of the header before this field */
} macko_container_header;

/* What the head says of where a section's bytes are; offset counts from the first section. */
typedef struct {
  int64_t offset;
  uint32_t crc32;
} macko_container_place;

/* Gives the first multiple of MACKO_CONTAINER_PAGE that is not below `bytes`: where the section begins that follows so many
 * bytes. */
static inline int64_t macko_container_align(int64_t bytes)
{
  return (bytes + MACKO_CONTAINER_PAGE - 1) & ~(int64_t)(MACKO_CONTAINER_PAGE - 1);
}

/* Gives the CRC-32 of zlib of so many bytes. A section may be longer than the 32 bits in which zlib otherwise counts. */
uint32_t macko_container_crc32(const void *bytes, int64_t count);

/* Sets *symmetry to a constant text: "symmetric" (each entry has a mirror image of the same bits), "pattern" (it has a mirror
 * image), or "none". Errors: OUT_OF_MEMORY. */
macko_status macko_container_symmetry(const macko_matrix *m, const char **symmetry, macko_error *err);

/* Sets *text to the head of *m as JSON, which the caller frees. places has an element for each section, and origin may be NULL.
 * Errors: OUT_OF_MEMORY. */
macko_status macko_container_write_head(const macko_matrix *m, const macko_origin *origin, const macko_container_place *places,
                                        const char *symmetry, char **text, macko_error *err);

/* Fills *m, which is zeroed, and places, with room for MACKO_MAX_SECTIONS, from a head of so many bytes. The sections get no
 * data, and whether they are what the plan asks for is not checked here. name is what sentences call the file. Errors: CORRUPT,
 * UNSUPPORTED, OUT_OF_MEMORY. */
macko_status macko_container_read_head(const char *name, const char *text, int64_t bytes, macko_matrix *m,
                                       macko_container_place *places, macko_origin *origin, macko_error *err);

/* Gives 1 if path is a regular file that begins like a container. Of a pipe nothing could be read twice. */
int macko_is_container(const char *path);

/* Does macko_read of a container: *csr gets new arrays of f64 values, for macko_free_csr. Errors: those of macko_load. */
macko_status macko_read_container(const char *path, macko_csr *csr, macko_file_info *info, macko_error *err);

#endif
