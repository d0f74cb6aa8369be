/* Any bytes through macko_read: a sentence or a matrix that the rest of the library accepts. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <macko.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_matrix(const macko_csr *csr)
{
  macko_matrix *matrix = NULL;
  macko_options options;
  macko_error err = {0};
  macko_options_init(&options);
  options.format = MACKO_FORMAT_CSR; /* checks every index; the other formats are not what is tested here */
  if (macko_encode(csr, &options, &matrix, &err) || macko_validate(matrix, &err)) {
    fprintf(stderr, "a matrix was read that cannot be encoded: %s\n", err.text);
    abort();
  }
  macko_destroy(&matrix);
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
    /* 2^24 rows need no entry and are read as declared; encoding them at every input would be all the fuzzer does. */
    if (csr.nrows < 100000) check_matrix(&csr);
    macko_free_csr(&csr);
  } else if (!err.text[0]) abort();
  close(file);
  return 0;
}
