/* What the suites of the readers share. */
#ifndef TEST_READERS_H
#define TEST_READERS_H

#if HAVE_CONFIG_H
#include <config.h>
#endif

#include <macko.h>

#ifndef HAVE_ZLIB
#define HAVE_ZLIB 0
#endif
#ifndef HAVE_LIBARCHIVE
#define HAVE_LIBARCHIVE 0
#endif

/* The suite's own folder: made before Check forks a process for each test, removed after the last. */
void test_make_folder(void);
void test_remove_folder(void);

/* Writes a file of that name into that folder; its path, valid until the next call. */
const char *test_write(const char *name, const void *bytes, size_t size);

/* The path of a file of that name in that folder. */
const char *test_path(const char *name);

/* Indices in range, columns rising in every row. */
void test_check_csr(const macko_csr *csr);

int64_t test_nnz(const macko_csr *csr);

/* The value at (row, col); 0 where there is no entry. */
double test_entry(const macko_csr *csr, int64_t row, int64_t col);

#endif
