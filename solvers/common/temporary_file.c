/* Copies of what can be read only once. */
#include "common/temporary_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int temporary_file(const char **folder)
{
  char name[4096];
  *folder = getenv("TMPDIR");
  if (!*folder || !**folder) *folder = "/tmp";
  if (snprintf(name, sizeof name, "%s/macko-XXXXXX", *folder) >= (int)sizeof name) {
    errno = ENAMETOOLONG;
    return -1;
  }
  /* mkstemp makes a file that only this user can read, under a name that nothing else has. */
  const int file = mkstemp(name);
  if (file >= 0) unlink(name);
  return file;
}
