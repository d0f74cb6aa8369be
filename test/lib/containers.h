/* What the suites of containers share: matrices of every format, and files whose bytes are changed. */
#ifndef TEST_CONTAINERS_H
#define TEST_CONTAINERS_H

#include "readers.h"

#include <stddef.h>

#if HAVE_ZLIB && HAVE_JANSSON
enum { HAVE_CONTAINER = 1 };
#else
enum { HAVE_CONTAINER = 0 };
#endif

/* One way of storing a matrix, whose name is that of its golden file. */
typedef struct {
  const char *name, *options[4][2]; /* of macko_options_set */
} test_encoding;
enum { TEST_ENCODINGS = 7 };
extern const test_encoding test_encodings[TEST_ENCODINGS];

/* The matrix of the golden files, freed with macko_free_csr. */
macko_csr test_golden_csr(void);

macko_matrix *test_encode(const macko_csr *a, const test_encoding *e);

/* A file without a folder: what *bytes are, under a name that is valid until the next call. */
typedef struct {
  int file;
  size_t size;
  unsigned char *bytes;
  char name[40];
} test_file;
test_file test_save(const macko_matrix *m, const macko_origin *origin);
test_file test_file_of(const void *bytes, size_t size);
void test_put(test_file *f, size_t at, const void *bytes, size_t count);
void test_close(test_file *f);

/* Makes the checksums of header and head right again. */
void test_repair(test_file *f);

/* Replaces the first `from` of the head by `to`; the head keeps its length. 1 if there was one. */
int test_replace(test_file *f, const char *from, const char *to);

/* Fails the running test unless macko_load refuses f, with a sentence that has `words` in it (NULL: any). */
void test_refused(const test_file *f, const char *words);

/* Fails unless both have the same facts, sections and products, bit for bit. */
void test_same(const macko_matrix *a, const macko_matrix *b, const char *what);

#endif
