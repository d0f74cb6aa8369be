/* macko-bench: files that it must not write to. */
#include "banner.h"
#include "bench/bench.h"
#include "common/output_file.h"
#include "common/petsc_binary.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Whether a name ends as those of matrices do. Harwell-Boeing files, of all kinds, have nothing else that tells them. */
static int has_suffix_of_matrix(const char *path)
{
  static const char *const suffixes[] = {".mtx", ".gz", ".tgz", ".tar", ".rb", ".rua", ".rsa", ".pua", ".psa", ".hb", ".npz", ".h5",
                                         ".petsc", ".macko"};
  const size_t length = strlen(path);
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    const size_t n = strlen(suffixes[i]);
    if (length > n && !strcasecmp(path + length - n, suffixes[i])) return 1;
  }
  return 0;
}

/* Whether a regular file is there that holds a matrix, by its name or its first bytes. What cannot be read is none: nobody can have
 * named it as one. */
static int is_matrix(const char *path)
{
  struct stat facts;
  unsigned char start[15] = {0};
  if (stat(path, &facts) || !S_ISREG(facts.st_mode) || !facts.st_size) return 0;
  FILE *f = fopen(path, "rb");
  const size_t count = f ? fread(start, 1, sizeof start - 1, f) : 0;
  if (f) fclose(f);
  return has_suffix_of_matrix(path) || petsc_binary_starts(start, count) || !memcmp(start, "\x89MACKO\r\n", 8) ||
         !memcmp(start, "\x1f\x8b", 2) || macko_is_banner((const char *)start);
}

/* Files are known by what they are, whatever name leads to them. */
int bench_is_input(const char *option, const char *path, const char *const inputs[], int count)
{
  for (int i = 0; i < count; i++)
    if (output_is_same(path, inputs[i]))
      return fprintf(stderr, "macko-bench: %s %s: is read, too, so it is not written\n", option, path), 1;
  return 0;
}

/* An option whose value was forgotten takes the matrix behind it for that. */
int bench_is_matrix(const char *option, const char *path)
{
  if (!is_matrix(path)) return 0;
  return fprintf(stderr, "macko-bench: %s %s: is a matrix, so it is not written over; is the value of %s missing?\n", option, path,
                 option), 1;
}
