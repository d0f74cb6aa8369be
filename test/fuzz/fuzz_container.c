/* Any bytes through macko_load, as they are and with checksums made right: a sentence, or a matrix that can be used. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <macko.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

enum { HEADER = 64, PAGE = 4096, LARGE = 1 << 20 };

static void *room(int64_t bytes)
{
  void *memory = calloc(bytes > 0 ? (size_t)bytes : 1, 1);
  if (!memory) abort();
  return memory;
}

static void multiply(const macko_matrix *m, const macko_info *info)
{
  if (info->nrows > LARGE || info->ncols > LARGE) return;
  double *x = room(8 * info->ncols), *y = room(8 * info->nrows);
  if (macko_multiply(m, MACKO_OP_N, MACKO_F64, 1, 1, x, info->ncols, 0, y, info->nrows, NULL)) abort();
  if (macko_multiply(m, MACKO_OP_T, MACKO_F64, 1, 1, y, info->nrows, 0, x, info->ncols, NULL)) abort();
  free(x), free(y);
}

/* Back to CSR, which is in order, and from there into the same matrix. */
static void use(macko_matrix *m)
{
  macko_info info;
  macko_get_info(m, &info);
  multiply(m, &info);
  if (info.nrows > LARGE || info.nnz > LARGE) return;
  int64_t *row_ptr = room(8 * (info.nrows + 1)), *cols = room(8 * info.nnz);
  void *values = room(macko_type_bytes(info.value_type) * info.nnz);
  if (macko_decode(m, row_ptr, cols, values, NULL) || row_ptr[info.nrows] != info.nnz) abort();
  macko_csr c = {.nrows = info.nrows, .ncols = info.ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64,
                 .value_type = info.value_type, .row_ptr = row_ptr, .cols = cols, .values = values};
  macko_refresh(m, &c, NULL);
  macko_get_info(m, &info);
  multiply(m, &info);
  free(row_ptr), free(cols), free(values);
}

static void load(const void *bytes, size_t size)
{
  char path[64];
  macko_matrix *m = NULL;
  macko_error err = {0};
  int file = memfd_create("fuzz", 0);
  if (file < 0 || write(file, bytes, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (!macko_load(path, &m, NULL, &err)) use(m);
  else if (!err.text[0] || m) abort();
  macko_destroy(&m);
  close(file);
}

/* The checksums of sections that are there. */
static void repair_sections(json_t *head, const uint8_t *data, size_t size)
{
  size_t i;
  json_t *section;
  json_array_foreach(json_object_get(head, "sections"), i, section) {
    json_int_t at = json_integer_value(json_object_get(section, "offset"));
    json_int_t count = json_integer_value(json_object_get(section, "bytes"));
    if (at >= 0 && count >= 0 && (size_t)at <= size && (size_t)count <= size - (size_t)at)
      json_object_set_new(section, "crc32", json_integer((json_int_t)crc32(0, data + at, (unsigned)count)));
  }
}

static void put(uint8_t *to, uint64_t number, int bytes)
{
  memcpy(to, &number, (size_t)bytes);
}

/* A file of that head and those sections, whose header is right. */
static void load_whole(const char *head, const uint8_t *data, size_t size)
{
  const size_t length = strlen(head), begin = (HEADER + length + PAGE - 1) / PAGE * PAGE;
  uint8_t *file = room((int64_t)(begin + size));
  memcpy(file, "\x89MACKO\r\n\4\3\2\1\1", 13);
  memcpy(file + HEADER, head, length);
  if (size) memcpy(file + begin, data, size);
  put(file + 16, length, 8), put(file + 24, begin, 8), put(file + 32, begin + size, 8);
  put(file + 40, crc32(0, file + HEADER, (unsigned)(begin - HEADER)), 4);
  put(file + 60, crc32(0, file, 60), 4);
  load(file, begin + size);
  free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  uint64_t length, begin;
  load(bytes, size);
  if (size < HEADER) return 0;
  memcpy(&length, bytes + 16, sizeof length), memcpy(&begin, bytes + 24, sizeof begin);
  if (length > size - HEADER || begin > size) return 0;
  json_t *head = json_loadb((const char *)bytes + HEADER, (size_t)length, 0, NULL);
  if (!head) return 0;
  repair_sections(head, bytes + begin, size - (size_t)begin);
  char *text = json_dumps(head, 0);
  if (text) load_whole(text, bytes + begin, size - (size_t)begin);
  free(text);
  json_decref(head);
  return 0;
}
