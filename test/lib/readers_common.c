/* Of the suites of readers: a folder for their files, and what is looked up in a matrix that was read. */
#include "readers.h"
#include "../assertions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

void test_make_folder(void)
{
  /* Where there is a folder in memory, files that are synced wait for no disk. */
  strcpy(folder, access("/dev/shm", W_OK) ? "/tmp/macko-readers-XXXXXX" : "/dev/shm/macko-readers-XXXXXX");
  if (!mkdtemp(folder)) perror(folder), exit(EXIT_FAILURE);
}

void test_remove_folder(void)
{
  char command[100];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command)) fprintf(stderr, "%s could not be removed\n", folder);
}

const char *test_path(const char *name)
{
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

const char *test_write(const char *name, const void *bytes, size_t size)
{
  const char *path = test_path(name);
  FILE *file = fopen(path, "wb");
  ck_assert(file != NULL);
  ck_assert(fwrite(bytes, 1, size, file) == size);
  ck_assert(!fclose(file));
  return path;
}

static int64_t index_at(macko_type type, const void *array, int64_t i)
{
  return type == MACKO_I64 ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

int64_t test_nnz(const macko_csr *c)
{
  return index_at(c->row_ptr_type, c->row_ptr, c->nrows);
}

void test_check_csr(const macko_csr *c)
{
  ck_assert_int_eq(index_at(c->row_ptr_type, c->row_ptr, 0), 0);
  ck_assert_int_eq(c->value_type, MACKO_F64);
  for (int64_t i = 0; i < c->nrows; i++) {
    int64_t begin = index_at(c->row_ptr_type, c->row_ptr, i), end = index_at(c->row_ptr_type, c->row_ptr, i + 1);
    ck_assert_int_le(begin, end);
    for (int64_t p = begin; p < end; p++) {
      int64_t col = index_at(c->col_type, c->cols, p);
      ck_assert(col >= 0 && col < c->ncols && (p == begin || index_at(c->col_type, c->cols, p - 1) < col));
    }
  }
}

double test_entry(const macko_csr *c, int64_t row, int64_t col)
{
  for (int64_t p = index_at(c->row_ptr_type, c->row_ptr, row); p < index_at(c->row_ptr_type, c->row_ptr, row + 1); p++)
    if (index_at(c->col_type, c->cols, p) == col) return ((const double *)c->values)[p];
  return 0;
}
