/* What the suites of containers share. */
#define _GNU_SOURCE
#include "containers.h"
#include "../assertions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if HAVE_ZLIB
#include <zlib.h>
#endif

const test_encoding test_encodings[TEST_ENCODINGS] = {
    {"csr", {{"format", "csr"}}},
    {"macko-row", {{"format", "macko"}, {"layout", "row"}, {"values", "dict"}}},
    {"macko-slice", {{"format", "macko"}, {"layout", "slice"}, {"values", "narrow"}}},
    {"macko-paper", {{"format", "macko"}, {"layout", "paper"}, {"gap_bits", "4"}}},
    {"dtans-split", {{"format", "dtans"}, {"variant", "split"}, {"values", "dict"}}},
    {"dtans-joint", {{"format", "dtans"}, {"variant", "joint"}}},
    {"eccsr", {{"format", "eccsr"}}}};

macko_csr test_golden_csr(void)
{
  const char *source = getenv("srcdir");
  char path[500];
  macko_csr a;
  macko_error err = {0};
  snprintf(path, sizeof path, "%s/test/golden/container/matrix.mtx", source ? source : ".");
  ck_assert_msg(!macko_read(path, NULL, &a, NULL, &err), "%s", err.text);
  return a;
}

macko_matrix *test_encode(const macko_csr *a, const test_encoding *e)
{
  macko_options o;
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_options_init(&o);
  for (int i = 0; i < 4 && e->options[i][0]; i++)
    ck_assert_msg(!macko_options_set(&o, e->options[i][0], e->options[i][1], &err), "%s", err.text);
  ck_assert_msg(!macko_encode(a, &o, &m, &err), "%s: %s", e->name, err.text);
  return m;
}

/* ---- files ---- */

test_file test_file_of(const void *bytes, size_t size)
{
  test_file f = {.file = memfd_create("container", 0), .bytes = malloc(size + 1)};
  ck_assert(f.file >= 0 && f.bytes);
  snprintf(f.name, sizeof f.name, "/proc/self/fd/%d", f.file);
  ck_assert(!ftruncate(f.file, (off_t)size));
  f.size = size;
  test_put(&f, 0, bytes, size);
  return f;
}

void test_put(test_file *f, size_t at, const void *bytes, size_t count)
{
  memcpy(f->bytes + at, bytes, count);
  ck_assert(pwrite(f->file, bytes, count, (off_t)at) == (ssize_t)count);
}

void test_close(test_file *f)
{
  close(f->file), free(f->bytes);
}

test_file test_save(const macko_matrix *m, const macko_origin *origin)
{
  macko_error err = {0};
  const char *path = test_path("saved.macko");
  ck_assert_msg(!macko_save(path, m, origin, &err), "%s", err.text);
  FILE *file = fopen(path, "rb");
  ck_assert(file && !fseek(file, 0, SEEK_END));
  long size = ftell(file);
  char *bytes = malloc((size_t)size);
  rewind(file);
  ck_assert(bytes && fread(bytes, 1, (size_t)size, file) == (size_t)size);
  fclose(file);
  test_file f = test_file_of(bytes, (size_t)size);
  free(bytes);
  return f;
}

/* ---- damage that checksums do not tell ---- */

static uint32_t checksum(const unsigned char *bytes, size_t count)
{
#if HAVE_ZLIB
  return (uint32_t)crc32(crc32(0, NULL, 0), bytes, (unsigned)count);
#else
  return (uint32_t)(bytes[0] + count);
#endif
}

void test_repair(test_file *f)
{
  uint64_t data;
  memcpy(&data, f->bytes + 24, sizeof data);
  if (data > 64 && data <= f->size) {
    uint32_t head = checksum(f->bytes + 64, data - 64);
    test_put(f, 40, &head, sizeof head);
  }
  uint32_t header = checksum(f->bytes, 60);
  test_put(f, 60, &header, sizeof header);
}

int test_replace(test_file *f, const char *from, const char *to)
{
  uint64_t head;
  size_t length = strlen(from), fresh = strlen(to);
  memcpy(&head, f->bytes + 16, sizeof head);
  unsigned char *at = memmem(f->bytes + 64, head, from, length);
  if (!at) return 0;
  ck_assert_msg(fresh <= length, "\"%s\" is longer than \"%s\"", to, from);
  char text[200];
  snprintf(text, sizeof text, "%s%*s", to, (int)(length - fresh), "");
  test_put(f, (size_t)(at - f->bytes), text, length);
  test_repair(f);
  return 1;
}

void test_refused(const test_file *f, const char *words)
{
  macko_matrix *m = NULL;
  macko_error err = {0};
  macko_status s = macko_load(f->name, &m, NULL, &err);
  ck_assert_msg(s == MACKO_CORRUPT || s == MACKO_PARSE || s == MACKO_UNSUPPORTED, "status %d: %s", (int)s, err.text);
  ck_assert_msg(err.status == s && !strncmp(err.text, f->name, strlen(f->name)), "%s", err.text);
  ck_assert_msg(!words || strstr(err.text, words), "\"%s\", not \"%s\"", err.text, words);
  ck_assert_ptr_null(m);
}

/* ---- equal matrices ---- */

static void *multiply(const macko_matrix *m, macko_op op, macko_type type, int64_t k, size_t *bytes)
{
  macko_info info;
  macko_get_info(m, &info);
  int64_t nx = op == MACKO_OP_N ? info.ncols : info.nrows, ny = op == MACKO_OP_N ? info.nrows : info.ncols;
  int64_t size = macko_type_bytes(type);
  char *x = calloc((size_t)(nx * k + 1), (size_t)size), *y = calloc((size_t)(ny * k + 1), (size_t)size);
  for (int64_t i = 0; i < nx * k; i++)
    if (type == MACKO_F64) ((double *)x)[i] = (double)(i * 7 % 11) - 4.5;
    else ((float *)x)[i] = (float)(i * 7 % 11) - 4.5f;
  ck_assert(!macko_multiply(m, op, type, k, 1.25, x, nx ? nx : 1, 0, y, ny ? ny : 1, NULL));
  free(x);
  *bytes = (size_t)(ny * k * size);
  return y;
}

static void same_products(const macko_matrix *a, const macko_matrix *b, const char *what)
{
  for (int i = 0; i < 8; i++) {
    macko_op op = i & 1 ? MACKO_OP_T : MACKO_OP_N;
    macko_type type = i & 2 ? MACKO_F32 : MACKO_F64;
    size_t bytes;
    void *mine = multiply(a, op, type, i & 4 ? 5 : 1, &bytes), *theirs = multiply(b, op, type, i & 4 ? 5 : 1, &bytes);
    ck_assert_msg(!memcmp(mine, theirs, bytes), "%s: product %d differs", what, i);
    free(mine), free(theirs);
  }
}

void test_same(const macko_matrix *a, const macko_matrix *b, const char *what)
{
  macko_info mine, theirs;
  macko_get_info(a, &mine), macko_get_info(b, &theirs);
  ck_assert_msg(!strcmp(mine.reason, theirs.reason), "%s: \"%s\" became \"%s\"", what, mine.reason, theirs.reason);
  mine.reason = theirs.reason = NULL;
  ck_assert_msg(!memcmp(&mine, &theirs, sizeof mine), "%s: info differs", what);
  for (int64_t i = 0; i < mine.nsections; i++) {
    const macko_section *s = macko_get_section(a, i), *t = macko_get_section(b, i);
    ck_assert_msg(!strcmp(s->name, t->name) && s->type == t->type && s->bytes == t->bytes && s->pattern == t->pattern &&
                      s->values == t->values && !memcmp(s->data, t->data, (size_t)s->bytes),
                  "%s: section %s differs", what, s->name);
  }
  same_products(a, b, what);
}
