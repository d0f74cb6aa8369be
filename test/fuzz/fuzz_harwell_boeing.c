/* The same with a title in front, so that what the fuzzer changes is the header, the formats and the fields. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LLVMFuzzerTestOneInput fuzz_file
#include "fuzz_matrix_market.c"
#undef LLVMFuzzerTestOneInput

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  static const char title[] = "A title\n";
  uint8_t *file = malloc(sizeof title - 1 + size);
  if (!file) abort();
  memcpy(file, title, sizeof title - 1);
  if (size) memcpy(file + sizeof title - 1, bytes, size);
  fuzz_file(file, sizeof title - 1 + size);
  free(file);
  return 0;
}
