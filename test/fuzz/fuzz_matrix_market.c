/* Any bytes through macko_read: a sentence, or a matrix whose indices are in order. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <macko.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int64_t index_at(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* Rows that follow one another, columns that rise inside the matrix. */
static void check_matrix(const macko_csr *c)
{
  if (index_at(c->row_ptr_type, c->row_ptr, 0) != 0) abort();
  for (int64_t i = 0; i < c->nrows; i++) {
    int64_t begin = index_at(c->row_ptr_type, c->row_ptr, i), end = index_at(c->row_ptr_type, c->row_ptr, i + 1), before = -1;
    if (end < begin) abort();
    for (int64_t p = begin; p < end; p++) {
      int64_t col = index_at(c->col_type, c->cols, p);
      if (col <= before || col >= c->ncols) abort();
      before = col;
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  char path[64];
  macko_csr csr;
  macko_error err = {0};
  int file = memfd_create("fuzz", 0);
  if (file < 0 || write(file, bytes, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (!macko_read(path, NULL, &csr, NULL, &err)) {
    check_matrix(&csr);
    macko_free_csr(&csr);
  } else if (!err.text[0]) abort();
  close(file);
  return 0;
}
